"""Operators that graphir does not convert, with others whose results have the same shapes: enough for `infer_shape`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from graphir.converters.mxnet.files.records import NNVMGraph, NNVMNode


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
