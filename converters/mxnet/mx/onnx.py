"""`mx.onnx`: MXNet's exporter by its own signature, names and argument forms, on graphir's conversion.

What the conversion decided is logged by this module's logger at level INFO; what cannot be honoured is an error.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.files.params import open_params
from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph
from graphir.converters.mxnet.importing.heads import LOSS_HEADS
from graphir.converters.mxnet.importing.ops import import_table
from graphir.converters.mxnet.mx.ndarray import tensor_of
from graphir.converters.mxnet.mx.symbol.symbol import Symbol
from graphir.converters.mxnet.source import MXNetSource, plain_names
from graphir.decisions import DecisionKind
from graphir.errors import ExportFailure, GraphirError, ImportFailure
from graphir.graph import Graph
from graphir.ops.elementwise import Identity
from graphir.tensor import Tensor
from graphir.types import TensorType

Shape = tuple[int | str | None, ...]

logger = logging.getLogger(__name__)


def export_model(
    sym: Any,
    params: Any,
    in_shapes: Any = None,
    in_types: Any = np.float32,
    onnx_file_path: str = "model.onnx",
    verbose: bool = False,
    dynamic: bool = False,
    dynamic_input_shapes: Any = None,
    run_shape_inference: bool = False,
    input_type: Any = None,
    input_shape: Any = None,
    *,
    opset_version: int | None = None,
) -> str:
    """Write an MXNet model as an ONNX file; returns the file's path as it was given.

    `sym` is a symbol of MXNet or of this package, or the path of one; `params` a mapping of arrays by name, with or
    without `arg:` and `aux:`, a pair of such mappings, or a path. `in_shapes` and `in_types` belong to the symbol's
    inputs that have no parameter, in the order of `list_inputs`, which is that of the file's inputs: a list, or one for
    all; `input_shape` and `input_type` are their old names. Labels of losses may be left out; those that have a shape
    stay inputs of the file, which nothing uses. Under `dynamic` the sizes are those of `dynamic_input_shapes`, where
    None or a name leaves one open, and all are open without them. `run_shape_inference` writes the types of inner
    values into the file too, and `verbose` logs every node.

    Inputs and outputs have the names that MXNet 1.9.1 gives them: an output is named after its node, without
    `_output`. Without `opset_version` the opset is graphir's default. Raises GraphirError, naming all that is wrong.
    """
    symbol = _records(sym)
    tensors = _parameters(params)
    stated = _one_of("in_shapes", in_shapes, "input_shape", input_shape)
    types = in_types if input_type is None else input_type
    variables = _open_variables(symbol, tensors)
    shapes = _bind_shapes(variables, stated, dynamic, dynamic_input_shapes)
    dtypes = _bind_types(variables, types)
    source = MXNetSource(symbol, tensors, name="mxnet_converted_model")
    try:
        kept = {name: dtype for name, dtype in dtypes.items() if name not in variables.labels or name in (shapes or {})}
        graph = source.to_graph(shapes, dtypes=kept, keep_given=True)
    except GraphirError as error:
        if dynamic:
            error.add_note("dynamic=True left sizes open; dynamic_input_shapes can state those that must be numbers")
        raise
    _rename_outputs(graph)
    _log(graph, verbose)
    _write(graph, onnx_file_path, opset_version, with_types=run_shape_inference)
    return onnx_file_path


def get_operator_support(opset_version: int | None = None) -> list[str]:
    """Return the MXNet operators that can be converted, sorted; they are the same at every opset that graphir writes.

    Raises ExportFailure for an opset that it does not write.
    """
    from graphir.converters.onnx.exporting.exporter import OLDEST_OPSET, newest_opset

    if opset_version is not None and not OLDEST_OPSET <= opset_version <= newest_opset():
        raise ExportFailure(f"opset {opset_version} is out of range: {OLDEST_OPSET} to {newest_opset()}")
    return sorted(import_table())


def _records(sym: Any) -> NNVMGraph:
    if isinstance(sym, Symbol):
        return sym.records(remove_amp_cast=True)
    return read_symbol(sym)


def _parameters(params: Any) -> dict[str, Tensor]:
    if isinstance(params, str | os.PathLike):
        return plain_names(open_params(params).tensors())
    parts = params if isinstance(params, list | tuple) else [params]
    if not parts or len(parts) > 2 or not all(isinstance(part, Mapping) for part in parts):
        raise ImportFailure(
            f"params is a {type(params).__name__}; expected a path, a mapping of arrays by name, "
            "or a list of two: arguments and auxiliary states"
        )
    return plain_names({str(name): tensor_of(array) for part in parts for name, array in part.items()})


def _one_of(name: str, value: Any, old_name: str, old_value: Any) -> Any:
    """Return what was given under one of two names. Raises ImportFailure if both were given and differ."""
    if value is not None and old_value is not None and list(value) != list(old_value):
        raise ImportFailure(f"{name} is {value} and {old_name}, its old name, {old_value}; give one of them")
    return value if old_value is None else old_value


class _OpenVariables(NamedTuple):
    """Inputs without a parameter in MXNet's order, and which of them are nothing but labels of losses."""

    names: list[str]
    labels: list[str]


def _open_variables(symbol: NNVMGraph, tensors: Mapping[str, Tensor]) -> _OpenVariables:
    read: set[int] = set()
    for node in symbol.nodes:
        operands = node.inputs[:1] if node.op in LOSS_HEADS else node.inputs
        read.update(producer for producer, _ in operands)
    read.update(index for index, _ in symbol.heads)
    used = {symbol.nodes[index].name for index in read if symbol.nodes[index].op == VARIABLE}
    names = [name for name in dict.fromkeys(symbol.variable_names()) if name not in tensors]
    return _OpenVariables(names, [name for name in names if name not in used])


def _bind_shapes(
    variables: _OpenVariables, stated: Any, dynamic: bool, dynamic_shapes: Any
) -> dict[str, Shape] | None:
    """Return the shape of each input by name; None if none was given."""
    fixed = None if stated is None else _per_input("in_shapes", _shape_list(stated), variables)
    if not dynamic:
        if dynamic_shapes is not None:
            raise ImportFailure("dynamic_input_shapes is given, but dynamic is not True")
        return fixed
    if dynamic_shapes is None:
        return None if fixed is None else {name: (None,) * len(shape) for name, shape in fixed.items()}
    shapes = _per_input("dynamic_input_shapes", _shape_list(dynamic_shapes), variables)
    for name, shape in shapes.items():
        example = shape if fixed is None else fixed.get(name, shape)
        fits = len(shape) == len(example) and all(
            size == other or not (isinstance(size, int) and isinstance(other, int))
            for size, other in zip(shape, example, strict=True)
        )
        if not fits:
            raise ImportFailure(f"{name}: dynamic_input_shapes says {shape}, in_shapes {example}; they do not fit")
    return shapes


def _shape_list(stated: Any) -> list[Shape]:
    """Shapes one by one; one shape alone is a list of it. Raises ImportFailure for what is no shape."""
    entries = [stated] if isinstance(stated, str) else list(stated)
    if entries and all(size is None or isinstance(size, int | np.integer | str) for size in entries):
        entries = [entries]
    shapes: list[Shape] = []
    for shape in entries:
        sizes = tuple(int(size) if isinstance(size, np.integer) else size for size in shape)
        for size in sizes:
            if not (size is None or (isinstance(size, int) and size > 0) or (isinstance(size, str) and size)):
                raise ImportFailure(f"{size!r} in the shape {sizes} is no size; None or a name leaves a size open")
        shapes.append(sizes)
    return shapes


def _per_input(what: str, given: Sequence[Any], variables: _OpenVariables) -> dict[str, Any]:
    """Return what was given by name of the input that it is for, with entries for labels or without."""
    inputs, labels = variables
    wanted = [name for name in inputs if name not in labels]
    if len(given) == len(inputs):
        return dict(zip(inputs, given, strict=True))
    if len(given) == len(wanted):
        return dict(zip(wanted, given, strict=True))
    shown = ", ".join(wanted) or "none"
    others = f" and the label(s) {', '.join(labels)}" if labels else ""
    raise ImportFailure(
        f"{what} has {len(given)} entries: {list(given)}; the inputs that have no parameter are {shown}{others}"
    )


def _bind_types(variables: _OpenVariables, types: Any) -> dict[str, str]:
    """Return the dtype of each input by name. Raises ImportFailure for what is none."""
    stated = types if isinstance(types, list | tuple) else [types] * len(variables.names)
    try:
        return {name: np.dtype(type_).name for name, type_ in _per_input("in_types", stated, variables).items()}
    except TypeError as error:
        raise ImportFailure(f"in_types is {types!r}: {error}") from error


def exported_name(name: str) -> str:
    """Return the name that mx2onnx gives an output which MXNet calls `name`.

    >>> exported_name("fc1_output"), exported_name("split_output1"), exported_name("rnn0_state_output")
    ('fc1', 'split1', 'rnn01')
    """
    for ending, number in (("_state_output", "1"), ("_statecell_output", "2"), ("_output", "")):
        if name.endswith(ending):
            return name[: -len(ending)] + number
    numbered = re.fullmatch(r"(.*)_output([0-9])", name)
    return numbered[1] + numbered[2] if numbered else name


def _rename_outputs(graph: Graph) -> None:
    """Give outputs the names that the old exporter gave them; one whose name is taken stays as it is, and says so."""
    outputs = list(graph.outputs)
    waiting = {place: name for place, value in enumerate(outputs) if (name := exported_name(value.name)) != value.name}
    while free := {place: name for place, name in waiting.items() if name not in graph}:
        place, name = next(iter(free.items()))
        del waiting[place]
        value = outputs[place]
        if value.producer is None:  # a parameter, which came out as a constant
            outputs[place] = graph.add(Identity(), value, name=name, output=name)
        else:
            graph.rename(value, name)
    for place, name in waiting.items():
        text = f"{name}, which mx2onnx would use, is another value's name"
        graph.decide(DecisionKind.OUTPUT_NAME, outputs[place].name, text)
    graph.set_outputs(outputs)


def _log(graph: Graph, verbose: bool) -> None:
    for decision in graph.decisions:
        logger.info("%s", decision)
    if verbose:
        from graphir.structure.text import format_node

        for node in graph.nodes:
            logger.info("Converting: %s", format_node(node))


def _write(graph: Graph, path: str, opset: int | None, *, with_types: bool) -> None:
    from graphir.converters.onnx.exporting.exporter import export_graph
    from graphir.converters.onnx.files.writer import write_model

    model = export_graph(graph, opset=opset)
    if with_types:
        computed = {name for node in model.nodes for name in node.outputs} - {name for name, _ in model.outputs}
        model.value_info = [
            (value.name, value.type)
            for value in graph.values
            if value.name in computed and isinstance(value.type, TensorType) and value.dtype is not None
        ]
    files = write_model(model, path)
    logger.info("Exported ONNX file %s (opset %s)", ", ".join(map(str, files)), model.opset)


__all__ = ["export_model", "exported_name", "get_operator_support"]
