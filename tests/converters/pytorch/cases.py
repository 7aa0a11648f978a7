"""One operator, its operands and its attributes: written as a module, run by torch, compared with onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphir.graph import Graph, Value
from graphir.ops.base import Operator
from graphir.tensor import Tensor
from graphir.types import Dim, DType, TensorType, symbol
from tests.converters.pytorch.running import run_module, run_session

# Relative differences that rounding explains, by the bits of the narrowest float.
TOLERANCES = {8: 0.1, 16: 4e-3, 32: 1e-5, 64: 1e-12}


@dataclass(frozen=True)
class Constant:
    """An operand that the graph holds."""

    elements: Any


class Case:
    """An operator of operands: arrays are inputs of the graph, `Constant` its parameters, None absent ones.

    With `batch` the first size of every input that has axes is the name N, but for the slots `closed`.
    `text` stands in the module. `expected` are the results where onnxruntime has no such operator. The first `results`
    of the operator are read.
    """

    def __init__(
        self, op: Operator, *operands: Any, batch: bool = False, text: str | None = None,
        expected: Sequence[Any] | None = None, tolerance: float | None = None, closed: Sequence[int] = (),
        results: int | None = None,
    ) -> None:  # fmt: skip
        self.op = op
        self.operands = operands
        self.batch = batch
        self.text = text
        self.expected = expected
        self.tolerance = tolerance
        self.closed = closed
        self.results = results

    def __str__(self) -> str:
        kinds = ",".join(_label(operand) for operand in self.operands)
        return f"{self.op}-{kinds}{'-batch' * self.batch}"

    def graph(self) -> Graph:
        """The graph of this one node."""
        graph = Graph("case")
        values: list[Value | None] = []
        for number, operand in enumerate(self.operands):
            if operand is None or isinstance(operand, Constant):
                values.append(None if operand is None else graph.constant(np.asarray(operand.elements), name="c"))
                continue
            array = np.asarray(operand)
            shape: tuple[Dim, ...] = array.shape
            if self.batch and shape and number not in self.closed:
                shape = (symbol("N"), *shape[1:])
            values.append(graph.add_input(f"in{number}", TensorType(DType.of(array.dtype.name), shape)))
        node = graph.add_node(self.op, values, name="y")
        graph.set_outputs(node.outputs[: self.results])
        return graph

    def run(self) -> str:
        """Raise AssertionError unless the module gives what onnxruntime gives; its text."""
        graph = self.graph()
        feeds = [np.asarray(value) for value in self.operands if value is not None and not isinstance(value, Constant)]
        found, text = run_module(graph, feeds)
        names = [value.name for value in graph.inputs]
        expected = self.expected
        if expected is None:
            expected = run_session(graph, dict(zip(names, feeds, strict=True)))
        for value, ours, theirs in zip(graph.outputs, found, expected, strict=True):
            theirs = np.asarray(theirs)
            assert ours.dtype == theirs.dtype, f"{value.name}: {ours.dtype}, expected {theirs.dtype}\n{text}"
            assert ours.shape == theirs.shape, f"{value.name}: {ours.shape}, expected {theirs.shape}\n{text}"
            _assert_close(ours, theirs, self.tolerance, text)
        assert self.text is None or self.text in text, text
        return text


def _assert_close(ours: Any, theirs: Any, tolerance: float | None, text: str) -> None:
    dtype = DType.of(ours.dtype.name)
    if not dtype.is_float:
        np.testing.assert_array_equal(ours, theirs, err_msg=text)
        return
    bound = TOLERANCES[dtype.bits] if tolerance is None else tolerance
    left, right = (array.astype(np.float64) for array in (ours, theirs))
    np.testing.assert_allclose(left, right, rtol=bound, atol=bound / 10, err_msg=text)


def _label(operand: Any) -> str:
    if operand is None:
        return "-"
    if isinstance(operand, Constant):
        return f"constant {Tensor.of(np.asarray(operand.elements)).type}"
    array = np.asarray(operand)
    return f"{array.dtype}{list(array.shape)}".replace(" ", "")


Check = Callable[[Case], str]


def uniform(*shape: int, low: float = -3, high: float = 3, dtype: str = "float32", seed: int = 0) -> Any:
    """Numbers drawn from a range; integers are rounded."""
    import ml_dtypes  # noqa: F401  gives numpy the narrow floats by name

    drawn = np.random.default_rng(seed).uniform(low, high, shape)
    return (np.rint(drawn) if np.dtype(dtype).kind in "iu" else drawn).astype(dtype)


__all__ = ["Case", "Check", "Constant", "uniform"]
