"""The inverse error function, gamma, and its logarithm."""

from __future__ import annotations

from functools import partial

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops.integers import Composition, on_integers
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.base import Operator
from graphir.ops.elementwise import Abs, LessOrEqual, Where
from graphir.ops.special_functions import ErfInv, Gamma, LogGamma

# Measured against mpmath over the whole range, poles' neighbours included: 7.1e-16, 5.5e-15; gammaln 2.5e-15 absolute
# near its zeros. Results of float32 are those rounded once.
ERRORS = {"erfinv": "1e-15", "gamma": "1e-14", "gammaln": "1e-14 (near its zeros an absolute one)"}


def _function(op: Operator, node: ImportNode) -> Value:
    """Import a function that ONNX composes in float64."""
    node.decide(
        DecisionKind.COMPOSITION,
        f"ONNX has no {node.op}: its model composes it in float64, with a relative error below {ERRORS[node.op]}",
    )
    return node.emit(op, node.input(0))


def _erfinv_of_whole(node: ImportNode, data: Value) -> Value:
    """Of whole numbers: infinite at -1 and 1; what is beyond, not a number in floats, is 0 in integers."""
    inside = node.step(LessOrEqual(), node.step(Abs(), data), node.scalar_like(data, 1.0))
    return node.step(Where(), inside, node.step(ErfInv(), data), node.scalar_like(data, 0.0), suffix="inside")


def _with_integers(op: Operator, composition: Composition | None = None) -> ImportFunction:
    return partial(on_integers, partial(_function, op), composition)


IMPORTS: dict[str, ImportFunction] = {
    "erfinv": _with_integers(ErfInv(), _erfinv_of_whole),
    "gamma": _with_integers(Gamma()),
    "gammaln": _with_integers(LogGamma()),
}
