"""`Symbol.infer_shape` and `infer_type`: what arguments, outputs and states are, from some of them, by the graph's own
inference.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph
from graphir.converters.mxnet.importing.symbol_types import SymbolTypes, infer_symbol, unmarked_shape
from graphir.converters.mxnet.mx.base import MXNetError, mxnet_errors
from graphir.converters.mxnet.mx.symbol.node import Entry, SymbolNode, post_order, variable_names
from graphir.converters.mxnet.mx.symbol.node_types import InferenceGoal, SymbolInference, infer_nodes, stand_in
from graphir.converters.mxnet.mx.util import is_np_shape
from graphir.errors import ShapeError
from graphir.safety.collector import paused_collector
from graphir.types import ANYTHING, UNKNOWN, DType, TensorType

if TYPE_CHECKING:
    from graphir.converters.mxnet.mx.symbol.symbol import Symbol


# Operators that infer nothing, weights neither, while the number of axes of their data is unknown.
FORWARD_ONLY = frozenset((
    "BatchNorm", "BatchNorm_v1", "Convolution", "Convolution_v1", "Deconvolution", "Embedding", "FullyConnected",
    "GroupNorm", "InstanceNorm", "LRN", "LayerNorm", "Pooling", "Pooling_v1", "RNN", "SoftmaxOutput", "UpSampling",
    "_contrib_BatchNormWithReLU", "_contrib_DeformableConvolution", "_contrib_SyncBatchNorm",
))  # fmt: skip


def reached(entries: Sequence[Entry], given: Iterable[str]) -> set[tuple[int, int]]:
    """Return the outputs of nodes, as (identity, number), of whose shapes MXNet knows the number of axes.

    `given` are the variables whose shapes are given; those that state one in an attribute are known too. It runs
    forwards and backwards until nothing more is learned, as MXNet does.
    """
    order = post_order(entries)
    stated = set(given)
    known = {(id(node), 0) for node in order
             if not node.inputs and (not node.is_variable or node.name in stated or "__shape__" in node.attrs)}
    open_nodes = [_values(node) for node in order if not node.is_variable]
    learned = True
    while learned:
        learned = False
        for way in (open_nodes, open_nodes[::-1]):
            for deciding, values in way:
                if not known.isdisjoint(deciding) and not known.issuperset(values):
                    known.update(values)
                    learned = True
    return known


def _values(node: SymbolNode) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the inputs and outputs of which one that is known makes the others known, and all of them."""
    inputs = [(id(producer), slot) for producer, slot, _ in node.inputs]
    values = inputs + [(id(node), slot) for slot in range(node.outputs)]
    return inputs[:1] if node.op in FORWARD_ONLY else values, values


SIZES = (int, np.integer)
MOST_NAMED = 10
Shape = tuple[int, ...] | None
Shapes = tuple[list[Shape], list[Shape], list[Shape]]
Types = tuple[list[type | None], list[type | None], list[type | None]]


def shapes_of(symbol: Symbol, args: Sequence[object], kwargs: Mapping[str, object]) -> Shapes:
    """Return what is known of every argument, output and state: () where the number of axes is not, 0 for an open size.

    In what is given 0, -1 and None leave a size open, and () a shape. With numpy's shapes 0 and () are sizes, and None
    and -1 the unknown, also in what is given back. Raises TypeError for what is no shape, and MXNetError for names that
    are no variables and for shapes that contradict each other.
    """
    order = post_order(symbol.entries)
    arguments, states = variable_names(order)
    given = _given("shapes", arguments, args, kwargs)
    shapes: dict[str, tuple[int | None, ...]] = {}
    for name, shape in given.items():
        if not isinstance(shape, tuple) or not all(size is None or isinstance(size, SIZES) for size in shape):
            raise TypeError(f"the shape of {name} is {shape!r}, expected a tuple of sizes")
        shapes[name] = tuple(None if size is None else int(size) for size in shape)
    _check_names(shapes, arguments, states)
    np_shape = symbol.np_shape or is_np_shape()
    unmarked = {name: unmarked_shape(shape, np_shape) for name, shape in shapes.items()}
    known_shapes = {name: shape for name, shape in unmarked.items() if shape is not None}
    with mxnet_errors(), paused_collector():
        quick = infer_nodes(
            order, symbol.entries, states, SymbolInference(InferenceGoal.SHAPES, symbol.np_shape), known_shapes, {}
        )
        types = quick or infer_symbol(stand_in(_undeclared(symbol, shapes, "__shape__")), shapes, np_shape=np_shape)
    by_name, outputs = types.arguments | types.auxiliary, types.outputs
    if quick is None:
        known = reached(symbol.entries, known_shapes)
        by_name = {node.name: by_name.get(node.name) or _given_type(shapes.get(node.name))
                   for node in order if (id(node), 0) in known}  # fmt: skip
        outputs = [type_ if (id(node), slot) in known else ANYTHING
                   for type_, (node, slot, _) in zip(outputs, symbol.entries, strict=True)]  # fmt: skip
    rows = [[_plain(by_name.get(name, ANYTHING), np_shape) for name in names] for names in (arguments, states)]
    return rows[0], [_plain(type_, np_shape) for type_ in outputs], rows[1]


def _given_type(shape: tuple[int | None, ...] | None) -> TensorType:
    """Return the type of an argument that no result depends on: what was given."""
    return TensorType(None, None if shape is None else tuple(UNKNOWN if size is None else size for size in shape))


def _undeclared(symbol: Symbol, given: Mapping[str, object], key: str) -> NNVMGraph:
    """Return the records of the symbol, where variables for which something is given state nothing of their own."""
    records = symbol.records()
    for record in records.nodes:
        if record.op == VARIABLE and given.get(record.name):
            record.annotations.pop(key, None)
    return records


def _leave_zeros_open(records: NNVMGraph) -> None:
    """Make variables of zeros that state no dtype: theirs is that of what reads them, and not known otherwise."""
    for record in records.nodes:
        if record.op == "_zeros_without_dtype" and record.attrs.get("dtype", "-1") == "-1":
            record.op, record.annotations = VARIABLE, {"__shape__": record.attrs.get("shape", "()")}
            record.attrs = {}


def is_complete(shapes: Shapes) -> bool:
    """Return whether every shape is there and no size open."""
    if is_np_shape():
        return all(shape is not None and -1 not in shape for group in shapes for shape in group)
    return all(shape and 0 not in shape for group in shapes for shape in group)


def warn_of_open(what: str, values: Iterable[tuple[str, object]]) -> None:
    """Warn of the arguments whose shape or type stays open, ten of them."""
    unknown = [f"{name}: {value}" for name, value in values if not value or (isinstance(value, tuple) and 0 in value)]
    shown = unknown[:MOST_NAMED] + ["..."] * (len(unknown) > MOST_NAMED)
    marks = " (0s in shape means unknown dimensions)" if what == "shape" else ""
    text = f"Cannot decide {what} for the following arguments{marks}. Consider providing them as input:\n\t"
    warnings.warn(text + "\n\t".join(shown), stacklevel=3)


def types_of(symbol: Symbol, args: Sequence[object], kwargs: Mapping[str, object]) -> Types:
    """Return the class that numpy has for the dtype of every argument, output and state, None where it is not known.

    Raises TypeError for what is no dtype, and MXNetError for names that are no variables and for dtypes that contradict
    each other.
    """
    order = post_order(symbol.entries)
    arguments, states = variable_names(order)
    given = _given("dtypes", arguments, args, kwargs)
    dtypes = {name: _dtype(name, dtype) for name, dtype in given.items() if dtype is not None}
    _check_names(dtypes, arguments, states)
    # an input for which nothing states a dtype gets one for inference: what depends on it is not known
    with mxnet_errors(), paused_collector():
        assumed = [_types_with(symbol, order, states, dtypes, DType.FLOAT32)]
        if assumed[0].assumes_dtype or any(node.subgraphs for node in order):
            assumed.append(_types_with(symbol, order, states, dtypes, DType.FLOAT64))
    groups = zip(*(_classes(types, arguments, states) for types in assumed), strict=True)
    found = [[each[0] if len({*each}) == 1 else None for each in zip(*group, strict=True)] for group in groups]
    return found[0], found[1], found[2]


def _types_with(
    symbol: Symbol, order: Sequence[SymbolNode], states: Sequence[str], dtypes: Mapping[str, DType], assumed: DType
) -> SymbolTypes:
    """Return the types from dtypes, where inputs for which nothing states one have the assumed one."""
    quick = infer_nodes(
        order, symbol.entries, states, SymbolInference(InferenceGoal.DTYPES, symbol.np_shape, assumed), {}, dtypes
    )
    if quick is not None:
        return quick
    records = _undeclared(symbol, dtypes, "__dtype__")
    _leave_zeros_open(records)
    return infer_symbol(records, None, dtypes, np_shape=False, assumed=assumed)


def _given(
    what: str, arguments: Sequence[str], args: Sequence[object], kwargs: Mapping[str, object]
) -> dict[str, object]:
    """Return what was given by name or in order, by name; in order None gives nothing."""
    if args and kwargs:
        raise ValueError(f"give {what} by name or in order, not both")
    if len(args) > len(arguments):
        raise MXNetError(f"{len(args)} {what} are given, the symbol has {len(arguments)} arguments")
    return {name: value for name, value in zip(arguments, args, strict=False) if value is not None} | dict(kwargs)


def _check_names(given: Iterable[str], arguments: Sequence[str], states: Sequence[str]) -> None:
    unknown = next(iter(dict.fromkeys(given).keys() - {*arguments, *states}), None)
    if unknown is not None:
        shown = ", ".join(arguments) or "none"
        raise MXNetError(f"keyword argument name {unknown} not found; candidate arguments are {shown}")


def _classes(types: SymbolTypes, arguments: Sequence[str], states: Sequence[str]) -> Types:
    known = types.arguments | types.auxiliary
    classes = {id(type_): _class(type_) for type_ in {id(type_): type_ for type_ in known.values()}.values()}
    rows = [[classes[id(known[name])] if name in known else None for name in names] for names in (arguments, states)]
    return rows[0], [_class(type_) for type_ in types.outputs], rows[1]


def _dtype(name: str, stated: object) -> DType:
    try:
        return DType.of(stated)
    except ShapeError as error:
        raise TypeError(f"the dtype of {name}: {error}") from error


def _class(type_: TensorType) -> type | None:
    return None if type_.dtype is None else type_.dtype.numpy().type


def _plain(type_: TensorType, np_shape: bool) -> Shape:
    if type_.shape is None:
        return None if np_shape else ()
    return tuple(size if isinstance(size, int) else -np_shape for size in type_.shape)
