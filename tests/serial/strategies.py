"""Random graphs over every operator, and the parts that they are made of."""

from __future__ import annotations

import enum
import types
import typing
from dataclasses import MISSING
from typing import Any

import numpy as np
from hypothesis import strategies as st

from graphir.decisions import Decision, DecisionKind
from graphir.errors import GraphError, ShapeError
from graphir.graph import Graph, Value
from graphir.inference.rules import infer_outputs, infer_values
from graphir.ops import Operator, operator_table
from graphir.padding import Explicit, Same
from graphir.serial.attributes import fields_of
from graphir.tensor import Tensor, byte_size
from graphir.types import (
    UNKNOWN,
    Dim,
    DType,
    MapType,
    OptionalType,
    SequenceType,
    SparseTensorType,
    Sym,
    TensorType,
    dim_max,
    dim_min,
    symbol,
)

REFUSALS = (ArithmeticError, AssertionError, AttributeError, GraphError, LookupError, ShapeError, TypeError, ValueError)


def _exists(dtype: DType) -> bool:
    try:
        dtype.numpy()
    except ShapeError:
        return False
    return True


DTYPES = [dtype for dtype in DType if _exists(dtype)]
OPERATORS = sorted(operator_table())
ODD_NAMES = ["conv0", "a/b", "..", "__metadata__", 'quo"te', "back\\slash", "new\nline", "\u2028", "\U0001f600", "\0"]

texts = st.text(max_size=8)
names = st.one_of(
    st.text(min_size=1, max_size=6),
    st.sampled_from(ODD_NAMES),
)
floats = st.one_of(st.floats(), st.sampled_from([0.0, -0.0, 1e-5, 5e-324, 1 / 3, float("nan"), -float("nan")]))
small = st.integers(-3, 6)


def _combine(parts: st.SearchStrategy[Dim]) -> st.SearchStrategy[Dim]:
    return st.one_of(
        st.builds(lambda a, b: a + b, parts, parts),
        st.builds(lambda a, b: a - b, parts, parts),
        st.builds(lambda a, b: a * b, parts, parts),
        st.builds(lambda a, b: a // b, parts, st.integers(1, 7)),
        st.builds(lambda a: 5 // a if isinstance(a, Sym) else a, parts),
        st.builds(dim_max, parts, parts),
        st.builds(dim_min, parts, parts),
    )


symbols = st.sampled_from(["N", "H", "a.b:c", "_1", "max", "min"]).map(symbol)
dims = st.one_of(st.recursive(st.one_of(symbols, st.integers(-3, 9)), _combine, max_leaves=9), st.just(UNKNOWN))
sizes = dims.map(lambda dim: abs(dim) if isinstance(dim, int) else dim)
shapes = st.none() | st.lists(st.integers(0, 9) | sizes, max_size=4).map(tuple)
tensor_types = st.builds(TensorType, st.none() | st.sampled_from(DType), shapes)
keys = st.sampled_from([DType.INT64, DType.STRING])
value_types = st.recursive(
    st.one_of(tensor_types, tensor_types, st.builds(SparseTensorType, st.sampled_from(DType), shapes)),
    lambda inner: st.one_of(
        st.builds(SequenceType, inner), st.builds(OptionalType, inner), st.builds(MapType, keys, inner)
    ),
    max_leaves=3,
)


def array_of(dtype: DType, shape: tuple[int, ...], data: bytes) -> np.ndarray[Any, Any]:
    """Elements with these bits, repeated as needed."""
    count = int(np.prod(shape, dtype=int))
    if dtype is DType.BOOL:
        return (np.resize(np.frombuffer(data, np.uint8), count) % 2 == 1).reshape(shape)
    if dtype.bits >= 8:
        raw = np.resize(np.frombuffer(data, np.uint8), byte_size(dtype, shape))
        return raw.view(dtype.numpy()).reshape(shape)
    codes = np.resize(np.frombuffer(data, np.uint8), count) & ((1 << dtype.bits) - 1)
    if dtype.value.startswith("int"):
        codes = codes.astype(np.int8) - (1 << (dtype.bits - 1))
    return (codes.view(dtype.numpy()) if dtype.is_float else codes.astype(dtype.numpy())).reshape(shape)


@st.composite
def tensors(draw: st.DrawFn, dtypes: tuple[DType, ...] = tuple(DTYPES), most: int = 5) -> Tensor:
    """Arrays and computed tensors of every dtype."""
    dtype = draw(st.sampled_from(dtypes))
    shape = tuple(draw(st.lists(st.integers(0, most), max_size=3)))
    if dtype is DType.STRING:
        count = int(np.prod(shape, dtype=int))
        array = np.empty(count, object)
        array[:] = draw(st.lists(texts | st.binary(max_size=4), min_size=count, max_size=count))
        array = array.reshape(shape)
    else:
        array = array_of(dtype, shape, draw(st.binary(min_size=1, max_size=40)))
    return Tensor.computed(dtype, shape, lambda: array) if draw(st.booleans()) else Tensor.of(array, dtype)


@st.composite
def small_integers(draw: st.DrawFn) -> Tensor:
    """Vectors that rules read as shapes, axes and the like; small, so that no rule makes a huge shape of them."""
    elements = draw(st.lists(small, max_size=4))
    return Tensor.of(np.array(elements, np.int64))


# Integers in the graphs are small for the same reason; `tensors` alone has them all.
weights = tensors(tuple(dtype for dtype in DTYPES if not (dtype.is_integer and dtype.bits >= 8)))

loose = st.recursive(
    st.one_of(
        *(st.none(), st.booleans(), st.integers(), floats, texts, st.binary(max_size=5), st.sampled_from(DType)),
        *(tensors(), dims, value_types),
    ),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=6,
)


def attribute(annotation: Any) -> st.SearchStrategy[Any]:
    """Values of an operator's field, after its annotation."""
    plain = {bool: st.booleans(), int: small, float: floats, str: texts, types.NoneType: st.none(), object: loose}
    if annotation in plain:
        return plain[annotation]
    if annotation is TensorType:
        return tensor_types
    if annotation in (SparseTensorType, SequenceType, OptionalType, MapType):
        return value_types.filter(lambda type_: isinstance(type_, annotation))
    if annotation is Explicit:
        return st.builds(Explicit, st.lists(st.tuples(small, small), max_size=3).map(tuple))
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(attribute(arguments[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(attribute, arguments))
    if origin in (typing.Union, types.UnionType):
        return st.one_of(*map(attribute, arguments))
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return st.sampled_from(annotation)
    return st.from_type(Same if annotation is Same else annotation)


@st.composite
def operators(draw: st.DrawFn, name: str | None = None) -> Operator:
    """An operator with random attributes, or with its defaults where it refuses these."""
    cls = operator_table()[name or draw(st.sampled_from(OPERATORS))]
    hints = typing.get_type_hints(cls)
    fields = fields_of(cls)
    values = {field.name: draw(attribute(hints[field.name])) for field in fields if draw(st.booleans())}
    if cls.__name__ == "Foreign":
        values["results"] = draw(st.integers(0, 3))
    needed = [field.name for field in fields if field.default is MISSING]
    for attempt in (values, {}):
        required = {name: draw(attribute(hints[name])) for name in needed}
        try:
            return cls(**required | attempt)
        except REFUSALS:
            continue
    return operator_table()["Foreign"]()


@st.composite
def graphs(draw: st.DrawFn, parent: Graph | None = None, depth: int = 0) -> Graph:
    """Graphs of a few nodes: any operator, operands from here and from the graphs around, subgraphs, decisions."""
    graph = Graph(draw(texts), parent=parent)
    graph.metadata = draw(st.dictionaries(texts, texts, max_size=2))
    graph.decisions = draw(st.lists(st.builds(Decision, st.sampled_from(DecisionKind), texts, texts), max_size=2))
    for name in draw(st.lists(names, max_size=3, unique=True)):
        graph.add_input(name, draw(value_types))
    for wanted in draw(st.lists(names, max_size=3)):
        name = graph.fresh_name(wanted)
        if draw(st.booleans()):
            graph.add_parameter(name, draw(st.one_of(weights, small_integers())))
        else:
            graph.add_parameter(name, None, draw(value_types))
    for value in graph.values:
        _told(draw, value)
    graph.add_input(graph.fresh_name("anything"))
    for op in draw(st.lists(operators(), min_size=2, max_size=8)):
        _add(draw, graph, op, depth)
    graph.set_outputs(draw(st.lists(st.sampled_from(_visible(graph)), max_size=3)))
    return graph


def _visible(graph: Graph | None) -> list[Value]:
    found: list[Value] = []
    while graph is not None:
        found += graph.values
        graph = graph.parent
    return found


def _told(draw: st.DrawFn, value: Value) -> None:
    value.sources = tuple(draw(st.lists(texts, max_size=2)))
    if value.tensor is None and draw(st.integers(0, 3)) == 0:
        value.declared = draw(value_types)


def _add(draw: st.DrawFn, graph: Graph, op: Operator, depth: int) -> None:
    """A node on operands that its rule takes: any at first, then values of which nothing is known."""
    most = op.least_inputs + 2 if op.most_inputs is None else op.most_inputs
    count = draw(st.integers(op.least_inputs, most))
    inner = [draw(graphs(graph, depth + 1))] if depth < 2 and draw(st.integers(0, 4)) == 0 else []
    loose = [value for value in _visible(graph) if value.type == TensorType()]
    for pool in (_visible(graph), loose):
        operands = [draw(_operand(op, slot, pool)) for slot in range(count)]
        if _is_taken(op, operands):
            break
    else:
        return
    wanted = draw(st.lists(names, min_size=op.output_count, max_size=op.output_count, unique=True))
    results = [graph.fresh_name(name) for name in wanted]
    if len(set(results)) != len(results):
        return
    name = draw(names)
    try:
        node = graph.add_node(op, operands, name=name, output_names=results, subgraphs=inner)
    except ShapeError:  # of random declarations inside, which contradict each other
        node = graph.add_node(op, operands, name=name, output_names=results)
    for value in node.outputs:
        _told(draw, value)
        if value.type == TensorType() and draw(st.booleans()):
            value.graph.retype(value, draw(value_types))


def _operand(op: Operator, slot: int, pool: list[Value]) -> st.SearchStrategy[Value | None]:
    optional = op.may_leave_gaps or op.inputs[min(slot, len(op.inputs) - 1)].endswith("?")
    return st.none() | st.sampled_from(pool) if optional else st.sampled_from(pool)


def _is_taken(op: Operator, operands: list[Value | None]) -> bool:
    types_ = tuple([None if value is None else value.type for value in operands])
    knowns = tuple([None if value is None else value.known for value in operands])
    try:
        found = infer_outputs(op, types_, knowns)
        infer_values(op, types_, knowns)
    except REFUSALS:
        return False
    dims_ = [dim for type_ in found for dim in getattr(type_, "shape", None) or ()]
    return op.output_count >= 0 and not any(isinstance(dim, int) and dim < 0 for dim in dims_)
