"""Functions spelled out node by node, as Python expressions, and what a rule makes of them judged by onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.converters.onnx import to_model
from graphir.graph import Graph, Value
from graphir.ops import elementwise as ew
from graphir.ops import reduction
from graphir.ops.base import Operator
from graphir.passes.fusions import fusions
from graphir.passes.outcome import Outcome
from graphir.passes.rewrite import apply_rules
from graphir.types import Dim, DType, TensorType
from tests.building import run_model
from tests.contract import held

Arrays = dict[str, NDArray[Any]]
SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 3.0, -3.0, 6.0, 90.0, -90.0, 1e-40)
TOLERANCE = {DType.FLOAT16: 1e-2, DType.FLOAT32: 2e-5, DType.FLOAT64: 1e-10}
OPSET = 23


class Term:
    """A value in an expression: `x * 0.5` adds a node to its graph; numbers become constants of its dtype."""

    __array_ufunc__ = None  # numpy's arrays leave their operators to this class

    def __init__(self, value: Value) -> None:
        self.value = value

    def apply(self, op: Operator, *operands: Any) -> Term:
        """The result of an operator over this and further terms, numbers, arrays, integers or None."""
        return Term(self.value.graph.add(op, self.value, *map(self._operand, operands)))

    def _operand(self, operand: Any) -> Value | None:
        if isinstance(operand, Term):
            return operand.value
        if operand is None:
            return None
        dtype = self.value.dtype
        assert dtype is not None
        is_index = isinstance(operand, np.ndarray) and operand.dtype == np.int64
        array = operand if is_index else np.asarray(operand).astype(dtype.numpy())
        return self.value.graph.constant(array, name="c")

    def __add__(self, other: Any) -> Term:
        return self.apply(ew.Add(), other)

    def __sub__(self, other: Any) -> Term:
        return self.apply(ew.Sub(), other)

    def __mul__(self, other: Any) -> Term:
        return self.apply(ew.Mul(), other)

    def __truediv__(self, other: Any) -> Term:
        return self.apply(ew.Div(), other)

    def __pow__(self, other: Any) -> Term:
        return self.apply(ew.Pow(), other)

    def __neg__(self) -> Term:
        return self.apply(ew.Neg())

    def __radd__(self, other: Any) -> Term:
        return Term(self.value.graph.add(ew.Add(), self._operand(other), self.value))

    def __rmul__(self, other: Any) -> Term:
        return Term(self.value.graph.add(ew.Mul(), self._operand(other), self.value))

    def __rtruediv__(self, other: Any) -> Term:
        return Term(self.value.graph.add(ew.Div(), self._operand(other), self.value))

    def cast(self, dtype: DType) -> Term:
        """The term in another dtype."""
        return self.apply(ew.Cast(dtype))

    def reduce(self, name: str, *axes: int) -> Term:
        """A reduction over axes, which stay as 1."""
        return self.apply(getattr(reduction, f"Reduce{name}")(), np.array(axes, np.int64))


Spelling = Callable[[Term], Term]


def spelled(spelling: Spelling, shape: tuple[Dim | str, ...], dtype: DType = DType.FLOAT32) -> Graph:
    """The graph of an expression over its input x."""
    graph = Graph("spelled")
    x = graph.add_input("x", TensorType(dtype, shape))
    graph.set_outputs([spelling(Term(x)).value])
    return graph


def fuse(graph: Graph, operators: Collection[type[Operator]] = ()) -> Outcome:
    """Apply the rules until they change nothing more, each time under the contract of passes."""
    whole = Outcome()
    rules = fusions(operators)
    while changes := held("fusions", lambda changed: apply_rules(changed, rules=rules), graph):
        whole |= changes
    return whole


def run(graph: Graph, feeds: Arrays) -> Arrays:
    """The outputs of one run, without onnxruntime's optimisations."""
    return run_model(to_model(graph, opset=OPSET), feeds, optimize=False)


def numbers(shape: tuple[int, ...], dtype: DType, seed: int = 0, *, special: bool = True) -> NDArray[Any]:
    """Random numbers of a shape, with the special ones at its beginning."""
    array = np.random.default_rng(seed).normal(scale=3, size=shape)
    if special:
        array.reshape(-1)[: len(SPECIAL)] = SPECIAL[: array.size]
    with np.errstate(over="ignore"):
        return array.astype(dtype.numpy())


def assert_equal(before: Arrays, after: Arrays, tolerance: float) -> None:
    """The same names, dtypes and shapes; numbers within a tolerance, NaN and infinities in the same places."""
    assert before.keys() == after.keys()
    for name, array in before.items():
        assert (array.dtype, array.shape) == (after[name].dtype, after[name].shape)
        np.testing.assert_allclose(after[name].astype(float), array.astype(float), rtol=tolerance, atol=tolerance)


def operators_of(graph: Graph) -> list[str]:
    """The names of the nodes' operators, in order."""
    return [node.op.name for node in graph.nodes]
