"""Types of a symbol's values from node to node, where each node's operands say enough: what one node gives is kept.

A node is inferred by importing a graph of that node alone. Whole graphs know more: where this gives nothing, they are
inferred by `infer_symbol`, which also finds the words for what is wrong.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, NamedTuple

from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.importing.input_dtypes import stated_dtype
from graphir.converters.mxnet.importing.input_shapes import declared_shape
from graphir.converters.mxnet.importing.symbol_types import SymbolTypes, infer_symbol
from graphir.converters.mxnet.mx.symbol.node import Entry, SymbolNode
from graphir.converters.mxnet.schema.operators import canonical_name, result_count
from graphir.errors import GraphirError
from graphir.types import ANYTHING, UNKNOWN, DType, Shape, TensorType


class StandIn(NamedTuple):
    """The operator, its attributes, and how many of the node's inputs it reads."""

    op: str
    attrs: Mapping[str, str]
    inputs: int = 1


_SAME = StandIn("_copy", {})
_BROADCAST = StandIn("broadcast_add", {}, 2)
_UNARY = (
    "Cast",
    "_CrossDeviceCopy", "_contrib_round_ste", "_contrib_sign_ste", "_copyto", "_linalg_inverse", "_linalg_potrf",
    "_linalg_potri", "_np_copy", "_npi_cholesky", "_npi_full_like", "_npx_relu", "_npx_sigmoid", "_random_gamma_like",
    "_random_generalized_negative_binomial_like", "_random_negative_binomial_like", "_random_poisson_like",
    "_scatter_minus_scalar", "_scatter_plus_scalar", "_shuffle", "cast_storage", "erfinv", "gamma", "gammaln",
)  # fmt: skip
_NUMPY_UNARY = (
    "absolute", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil", "cos", "cosh", "degrees",
    "exp", "expm1", "fix", "floor", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "log", "log10", "log1p",
    "log2", "logical_not", "nan_to_num", "negative", "radians", "reciprocal", "rint", "sign", "sin", "sinh", "sqrt",
    "square", "tan", "tanh", "trunc",
)  # fmt: skip
_NUMPY_BINARY = (
    "add", "arctan2", "copysign", "equal", "greater", "greater_equal", "hypot", "lcm", "ldexp", "less", "less_equal",
    "mod", "multiply", "not_equal", "power", "subtract", "true_divide",
)  # fmt: skip

STAND_INS: Mapping[str, StandIn] = {
    **dict.fromkeys(_UNARY, _SAME),
    **dict.fromkeys((f"_npi_{name}" for name in _NUMPY_UNARY), _SAME),
    **dict.fromkeys((f"_npi_{name}_scalar" for name in _NUMPY_BINARY), _SAME),
    **dict.fromkeys((f"_npi_r{name}_scalar" for name in _NUMPY_BINARY), _SAME),
    **dict.fromkeys((f"_npi_{name}" for name in _NUMPY_BINARY), _BROADCAST),
    "CTCLoss": StandIn("max", {"axis": "(0, 2)"}),
    "_scatter_elemwise_div": StandIn("elemwise_add", {}, 2),
}


def stand_in(graph: NNVMGraph) -> NNVMGraph:
    """Return the graph with the operators that have a stand-in replaced, and without dtypes.

    Shapes stay the same. MXNet infers them alone: no dtype makes it refuse one.
    """
    nodes = [_replaced(node, STAND_INS.get(node.op)) for node in graph.nodes]
    return NNVMGraph(nodes, graph.heads, graph.version, graph.np_shape)


def _replaced(node: NNVMNode, other: StandIn | None) -> NNVMNode:
    if other is not None:
        return NNVMNode(other.op, node.name, dict(other.attrs), node.annotations, node.inputs[: other.inputs])
    annotations = {key: text for key, text in node.annotations.items() if key != "__dtype__"}
    attrs = {key: text for key, text in node.attrs.items() if key != "dtype"}
    return NNVMNode(node.op, node.name, attrs, annotations, node.inputs, node.subgraphs)


MOST_KEPT = 1 << 14
TRAINED = "__lr_mult__"
WHOLE_GRAPH = frozenset(("Custom", "_zeros_without_dtype"))
"""Operators whose types one node does not tell: of plugins, which may change, and by those that read them."""


class InferenceGoal(Enum):
    """What is inferred: with SHAPES no dtype counts, with DTYPES a shape may stay open."""

    SHAPES = auto()
    DTYPES = auto()
    BOTH = auto()


class KnownValue:
    """What is known of a value. There is one object of each content, which is equal to itself alone.

    `given` says that the caller gave the shape, `trained` that a variable states how it is trained.
    """

    __slots__ = ("given", "is_whole", "trained", "type")

    def __init__(self, type_: TensorType, given: bool, trained: bool) -> None:
        self.type = type_
        self.given = given
        self.trained = trained
        shape = type_.shape
        self.is_whole = type_.dtype is not None and shape is not None and all(isinstance(size, int) for size in shape)


NOTHING = KnownValue(ANYTHING, False, False), KnownValue(ANYTHING, False, True)
"""Of variables of which nothing is known, by whether they are trained."""


class InferredNode(NamedTuple):
    """What is known of a node's operands and results once the node was inferred."""

    operands: tuple[KnownValue, ...]
    results: tuple[KnownValue, ...]
    assumes_dtype: bool


OPEN = InferredNode((), (), False)
"""Of a node that does not say enough by itself."""


@dataclass(frozen=True)
class SymbolInference:
    """One inference: what is wanted, numpy's shapes or MXNet's, and the dtype of inputs that state none."""

    wanted: InferenceGoal
    np_shape: bool
    assumed: DType = DType.FLOAT32


_known: dict[tuple[TensorType, bool, bool], KnownValue] = {}
_outcomes: dict[SymbolInference, dict[tuple[object, ...], InferredNode]] = {}


def infer_nodes(
    order: Sequence[SymbolNode],
    entries: Sequence[Entry],
    states: Sequence[str],
    inference: SymbolInference,
    shapes: Mapping[str, Shape],
    dtypes: Mapping[str, DType],
) -> SymbolTypes | None:
    """Return the types of variables and outputs; None where they do not follow from node to node.

    `order` are the nodes that the entries depend on, each behind its inputs; `states` names the auxiliary states.
    """
    variables = [node for node in order if node.op == VARIABLE]
    if len({node.name for node in variables}) < len(variables):
        return None
    states_dtype = inference.wanted is not InferenceGoal.SHAPES and (
        bool(dtypes) or any("dtype" in node.attrs or "__dtype__" in node.attrs for node in order)
    )
    types: dict[SymbolNode, tuple[KnownValue, ...]] = {}
    try:
        for node in variables:
            types[node] = (_variable(node, inference, (shapes, dtypes), states_dtype),)
        assumes = _infer_operators(order, types, inference)
        outputs = [] if assumes is None else [types[node][slot].type for node, slot, _ in entries]
    except (GraphirError, IndexError):  # the inference of the whole graph says what is wrong
        return None
    if assumes is None or (assumes and states_dtype):
        return None  # which variables have the dtype that is stated the whole graph tells
    stateful, is_enough = set(states), _is_enough(inference.wanted)
    rows: tuple[dict[str, TensorType], dict[str, TensorType]] = ({}, {})
    for node in variables:
        (known,) = types[node]
        if not is_enough(known):
            return None
        rows[node.name in stateful][node.name] = known.type
    return SymbolTypes(rows[0], outputs, rows[1], not states_dtype)


def _infer_operators(
    order: Sequence[SymbolNode], types: dict[SymbolNode, tuple[KnownValue, ...]], inference: SymbolInference
) -> bool | None:
    """Write the operators' results into the types; return whether a dtype was assumed, None for what stays open."""
    outcomes = _outcomes.setdefault(inference, {})
    keeps_shape, is_enough = inference.wanted is not InferenceGoal.DTYPES, _is_enough(inference.wanted)
    assumes = False
    for node in order:
        if node.op == VARIABLE:
            continue
        operands = tuple([types[producer][slot] for producer, slot, _ in node.inputs])
        if keeps_shape and operands and not operands[0].is_whole:
            return None
        attrs = tuple([item for item in node.attrs.items() if item[0][:2] != "__"])
        key = node.op, attrs, operands
        outcome = outcomes.get(key)
        if outcome is None:
            if len(outcomes) >= MOST_KEPT:
                outcomes.clear()
            outcome = outcomes[key] = _outcome(node, operands, inference)
        if outcome is OPEN:
            return None
        types[node] = outcome.results
        assumes = assumes or outcome.assumes_dtype
        if outcome.operands is operands:
            continue
        for (producer, _, _), before, after in zip(node.inputs, operands, outcome.operands, strict=True):
            if after is before:
                continue
            if producer.op != VARIABLE or not is_enough(after):
                return None
            types[producer] = (after,)
    return assumes


def _is_enough(wanted: InferenceGoal) -> Any:
    return operator.attrgetter("type.dtype" if wanted is InferenceGoal.DTYPES else "is_whole")


def _intern(type_: TensorType, given: bool = False, trained: bool = False) -> KnownValue:
    key = type_, given, trained
    known = _known.get(key)
    if known is None:
        if len(_known) >= MOST_KEPT:
            _known.clear()
        known = _known[key] = KnownValue(*key)
    return known


def _variable(
    node: SymbolNode,
    inference: SymbolInference,
    given: tuple[Mapping[str, Shape], Mapping[str, DType]],
    states_dtype: bool,
) -> KnownValue:
    """Return what is known of a variable by itself, with the shapes and dtypes that are given. Raises GraphirError for
    a shape that contradicts what it states."""
    shape, dtype = given[0].get(node.name), given[1].get(node.name)
    trained, stated = False, None
    if "__shape__" in node.attrs:
        trained = TRAINED in node.attrs
        stated = declared_shape(NNVMGraph([], [], np_shape=inference.np_shape), node.record([]))
    if inference.wanted is not InferenceGoal.SHAPES and dtype is None and "__dtype__" in node.attrs:
        dtype = stated_dtype(node.record([]))
    if shape is None and stated is None and dtype is None:
        return NOTHING[trained]
    if shape is None:
        return _intern(TensorType(dtype, stated), False, trained)
    if stated not in (None, shape) and (inference.wanted is InferenceGoal.BOTH or not shape):
        raise GraphirError(f"{node.name} states {stated}")
    if not states_dtype:
        dtype = inference.assumed
    return _intern(TensorType(dtype, shape), True, trained)


def _outcome(node: SymbolNode, operands: tuple[KnownValue, ...], inference: SymbolInference) -> InferredNode:
    """Return what is known once the node was inferred, OPEN where that says too little or a whole graph is needed for
    it."""
    if node.subgraphs or node.op in WHOLE_GRAPH or canonical_name(node.op) is None:
        return OPEN
    try:
        return _infer_node(node, operands, inference)
    except GraphirError:
        return OPEN


def _infer_node(node: SymbolNode, operands: tuple[KnownValue, ...], inference: SymbolInference) -> InferredNode:
    """Return what a graph of the node and a variable for each operand knows. Raises what `infer_symbol` raises."""
    record = node.record([(slot, 0) for slot in range(len(operands))])
    names = [f"operand{slot}" for slot in range(len(operands))]
    variables = [_stand_in_variable(name, known, inference.np_shape)
                 for name, known in zip(names, operands, strict=True)]  # fmt: skip
    heads = [(len(operands), slot) for slot in range(result_count(record))]
    graph = NNVMGraph([*variables, record], heads, np_shape=inference.np_shape)
    types = infer_symbol(
        stand_in(graph) if inference.wanted is InferenceGoal.SHAPES else graph,
        {name: tuple(size if isinstance(size, int) else None for size in known.type.shape)
         for name, known in zip(names, operands, strict=True) if known.type.shape is not None and known.given},
        {name: known.type.dtype for name, known in zip(names, operands, strict=True) if known.type.dtype},
        np_shape=True, assumed=inference.assumed,
    )  # fmt: skip
    by_name = types.arguments | types.auxiliary
    after = [by_name.get(name, ANYTHING) for name in names]
    if ANYTHING in after or len(types.outputs) < len(heads):
        return OPEN
    keeps_shape = inference.wanted is not InferenceGoal.DTYPES
    results = tuple(_intern(_without_names(type_), True) for type_ in types.outputs)
    if not all(map(_is_enough(inference.wanted), results)):
        return OPEN
    if not keeps_shape:
        after = [TensorType(type_.dtype, known.type.shape) for type_, known in zip(after, operands, strict=True)]
    refined = tuple(known if known.type == type_ else _intern(type_, True, known.trained)
                    for type_, known in zip(after, operands, strict=True))  # fmt: skip
    return InferredNode(operands if refined == operands else refined, results, types.assumes_dtype)


def _without_names(type_: TensorType) -> TensorType:
    """Return the type where sizes that are no numbers are unknown: their names mean nothing outside their graph."""
    shape = type_.shape
    return TensorType(type_.dtype, shape and tuple(size if isinstance(size, int) else UNKNOWN for size in shape))


def _stand_in_variable(name: str, known: KnownValue, np_shape: bool) -> NNVMNode:
    """Return a variable that states what is known of an operand and was not given by the caller."""
    annotations = {TRAINED: "1.0"} if known.trained else {}
    if known.type.shape is not None and not known.given:
        sizes = [size if isinstance(size, int) else -int(np_shape) for size in known.type.shape]
        annotations["__shape__"] = str(tuple(sizes))
    elif known.trained:
        annotations["__shape__"] = "None" if np_shape else "()"
    return NNVMNode(VARIABLE, name, {}, annotations)
