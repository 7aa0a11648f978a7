"""Inference over a symbol in MXNet's own form: arguments, outputs and auxiliary states in MXNet's order.

The shapes are those that graphir infers over the imported graph, which may be more than MXNet finds: it also infers
data from parameters. MXNet's marks of the unknown apply: without numpy shapes 0 is an unknown size and () an unknown
rank, with them -1 and None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.importing.heads import LOSS_HEADS
from graphir.converters.mxnet.importing.importer import Choices, Importer
from graphir.converters.mxnet.schema.operators import state_variables, typed_attributes
from graphir.converters.mxnet.source import open_source
from graphir.decisions import DecisionKind
from graphir.errors import ShapeError
from graphir.graph import Graph
from graphir.inference import infer_graph
from graphir.types import ANYTHING, UNKNOWN, DType, Shape, TensorType, product, unify, unify_shape

MXNetShape = tuple[int, ...] | None

UNREAD: Mapping[str, Callable[[Shape | None], Shape | None]] = {
    "IdentityAttachKLSparseReg": lambda data: data[1:2] if data else None,
    "_identity_with_attr_like_rhs": lambda data: data,
}
"""Operators with a second input that nothing depends on, and its shape by that of the first."""


@dataclass(frozen=True)
class SymbolTypes:
    """The types of a symbol's arguments and auxiliary states by name, and of its outputs, in MXNet's order.

    `assumes_dtype` says that an input took the `assumed` dtype, since nothing states one.
    """

    arguments: dict[str, TensorType]
    outputs: list[TensorType]
    auxiliary: dict[str, TensorType]
    assumes_dtype: bool

    def shapes(self, *, np_shape: bool = False) -> tuple[list[MXNetShape], list[MXNetShape], list[MXNetShape]]:
        """Return what `infer_shape_partial` gives: arguments, outputs, auxiliary states, unknown sizes marked."""
        result = [[_marked(type_.shape, np_shape) for type_ in types] for types in self._lists()]
        return result[0], result[1], result[2]

    def dtypes(self) -> tuple[list[DType | None], list[DType | None], list[DType | None]]:
        """Return what `infer_type_partial` gives."""
        result = [[type_.dtype for type_ in types] for types in self._lists()]
        return result[0], result[1], result[2]

    def _lists(self) -> tuple[Sequence[TensorType], Sequence[TensorType], Sequence[TensorType]]:
        return list(self.arguments.values()), self.outputs, list(self.auxiliary.values())


def infer_symbol(
    symbol: object,
    shapes: Mapping[str, Sequence[int | None]] | None = None,
    dtypes: Mapping[str, object] | None = None,
    *,
    np_shape: bool | None = None,
    assumed: DType = DType.FLOAT32,
) -> SymbolTypes:
    """Return the types that follow from shapes and dtypes of any arguments, given by name.

    `symbol` is what `open_source` takes, or records; `np_shape` says how unknown sizes are marked (None: as the symbol
    states), `assumed` the dtype of inputs for which nothing states one.
    Where an operator's import needs a rank or a size that nothing fixes, what follows from its results stays unknown.
    Raises ImportFailure or UnsupportedOpError with everything that is wrong, contradictions among it.
    """
    source = symbol if isinstance(symbol, NNVMGraph) else open_source(symbol).symbol
    marked = source.np_shape if np_shape is None else np_shape
    known = {name: unmarked_shape(shape, marked) for name, shape in (shapes or {}).items()}
    wanted = {name: shape for name, shape in known.items() if shape is not None}
    choices = Choices(keep_loss=True, settle=False, gaps=True, assumed=assumed)
    graph = Importer(source, None, wanted, choices, dtypes=dtypes).run()
    result = _by_source(graph)
    if _add_labels(source, graph, result, wanted):
        infer_graph(graph)
        result |= _by_source(graph)
    _add_unread(source, result, wanted)
    arguments: dict[str, TensorType] = {}
    auxiliary: dict[str, TensorType] = {}
    states = state_variables(source)
    for index in source.variables():
        name = source.nodes[index].name
        (auxiliary if index in states else arguments)[name] = result.get(name, ANYTHING)
    outputs = [value.type for value in graph.outputs]
    assumes = any(decision.kind is DecisionKind.INPUT_DTYPE for decision in graph.decisions)
    return SymbolTypes(arguments, [type_ for type_ in outputs if isinstance(type_, TensorType)], auxiliary, assumes)


def unmarked_shape(shape: Sequence[int | None], np_shape: bool) -> Shape | None:
    """Return a shape of MXNet's without its marks of the unknown, None for an unknown rank."""
    if not np_shape and not shape:
        return None
    unknown = (None, -1) if np_shape else (None, -1, 0)
    return tuple(UNKNOWN if dim is None or dim in unknown else dim for dim in shape)


def _marked(shape: Shape | None, np_shape: bool) -> MXNetShape:
    if shape is None:
        return None if np_shape else ()
    return tuple(dim if isinstance(dim, int) else (-1 if np_shape else 0) for dim in shape)


def _by_source(graph: Graph) -> dict[str, TensorType]:
    """Return the types of variables by the names that the symbol has for them."""
    results: dict[str, TensorType] = {}
    for value in graph.values:
        if isinstance(value.type, TensorType):
            results |= dict.fromkeys(value.sources, value.type)
    return results


def _add_labels(
    source: NNVMGraph, graph: Graph, result: dict[str, TensorType], given: Mapping[str, Shape]
) -> bool:
    """Return the labels of loss heads: MXNet infers them from the predictions. True if the graph, too, learned of one.

    A loss head's label is in the graph only where something else reads it. Raises ShapeError where a label is given
    that does not fit.
    """
    learned = False
    for record in source.nodes:
        if record.op not in LOSS_HEADS or len(record.inputs) < 2:
            continue
        label = source.nodes[record.inputs[1][0]]
        if label.op != VARIABLE:
            continue
        stored = result.get(label.name) or TensorType(None, given.get(label.name))
        data = result.get(source.nodes[record.inputs[0][0]].name) or result.get(f"{record.name}_output") or ANYTHING
        try:
            type_ = unify(TensorType(data.dtype, label_shape(record, data.shape, stored.shape)), stored)
        except ShapeError as error:
            raise ShapeError(f"{record.name} ({record.op}): its label {label.name}: {error}") from error
        assert isinstance(type_, TensorType)
        if label.name in graph and type_ != stored:
            graph.refine(graph[label.name], type_)
            learned = True
        result[label.name] = type_
    return learned


def _add_unread(source: NNVMGraph, result: dict[str, TensorType], given: Mapping[str, Shape]) -> None:
    """Inputs that no result depends on, which the graph does not hold either."""
    for record in source.nodes:
        if record.op not in UNREAD or len(record.inputs) < 2:
            continue
        unread, data = (source.nodes[record.inputs[slot][0]] for slot in (1, 0))
        if unread.op != VARIABLE or unread.name in result:
            continue
        stored = result.get(data.name) or result.get(f"{data.name}_output") or ANYTHING
        shape = UNREAD[record.op](stored.shape)
        try:
            result[unread.name] = TensorType(stored.dtype, unify_shape(shape, given.get(unread.name)))
        except ShapeError as error:
            raise ShapeError(f"{record.name} ({record.op}): its input {unread.name}: {error}") from error


def label_shape(record: NNVMNode, data: Shape | None, given: Shape | None = None) -> Shape | None:
    """Return the shape of a loss head's label: MXNet 1.9.1's rules of SoftmaxOutput, SVMOutput and the regressions.

    A SoftmaxOutput takes class numbers, or where the `given` label has the prediction's shape probabilities.
    """
    if data is None or not data:
        return None
    if record.op == "SVMOutput":
        return data[:1]
    if record.op != "SoftmaxOutput":
        if len(data) == 2 and not isinstance(data[1], int):
            return given
        column = len(data) == 2 and data[1] == 1
        return given if given is not None and column and len(given) == 1 else data[:1] if column and not given else data
    if given is not None and len(given) == len(data) and given[0] == data[0] and given[1:] == data[1:]:
        return data
    if not typed_attributes(record)["multi_output"]:
        return data[:-1]
    if given is not None and len(given) == len(data) - 1:
        return (data[0], *data[2:])
    if given is not None and len(given) == len(data):
        return (data[0], 1, *data[2:])
    return (data[0], product(data[2:]))
