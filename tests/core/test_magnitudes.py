"""How large the numbers in a graph are: one run, whatever the sizes, and every value once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import graphir
from graphir.graph import Graph
from graphir.magnitudes import measure
from graphir.ops.activation import Relu
from graphir.ops.elementwise import Div, Mul, Neg
from graphir.ops.linear import MatMul
from graphir.ops.slicing import Slice
from graphir.runtime.session import OnnxSession
from graphir.tensor import Tensor
from graphir.types import DType, TensorType

Array = NDArray[Any]
FLOAT32 = DType.FLOAT32


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of results of each run."""
    seen: list[int] = []
    run = OnnxSession.run

    def counted(self: OnnxSession, feeds: Any, outputs: Any = None) -> Any:
        results = run(self, feeds, outputs)
        seen.append(len(results))
        return results

    monkeypatch.setattr(OnnxSession, "run", counted)
    return seen


def chain(*shape: int, count: int) -> Graph:
    graph = Graph("chain")
    value = graph.add_input("data", TensorType(FLOAT32, shape))
    for step in range(count):
        value = graph.add(Neg() if step else Relu(), value, name=f"step_{step}", output=f"step_{step}")
    graph.set_outputs([value])
    return graph


def test_one_run_measures_all_values(runs: list[int]) -> None:
    """Twelve values of 32 MB each: together more than are kept at a time."""
    graph = chain(8, 1 << 20, count=12)
    data = np.zeros((8, 1 << 20), np.float32)
    data[3, 5] = 7
    data[0, 0] = -9
    largest = measure(graph, {"data": data})
    assert len(runs) == 1
    assert largest == {"data": 9.0} | {f"step_{step}": 7.0 for step in range(12)}


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("position", [0, 1, 2])
def test_numbers_that_are_not_finite_do_not_count(special: float, position: int) -> None:
    data = np.insert(np.array([100, -3], np.float32), position, special)
    assert measure(chain(3, count=1), {"data": data}) == {"data": 100.0, "step_0": 100.0}


def test_a_sum_beyond_the_range_is_none_of_the_numbers() -> None:
    assert measure(chain(4, count=1), {"data": np.full(4, 3e38, np.float32)})["step_0"] == pytest.approx(3e38)


def test_values_without_elements() -> None:
    graph = chain(4, count=1)
    ends = [graph.constant(np.array([number])) for number in (4, 9)]
    empty = graph.add(Slice(), graph["step_0"], *ends, name="empty", output="empty")
    graph.set_outputs([graph["step_0"], empty])
    assert measure(graph, {"data": np.ones(4, np.float32)}) == {"data": 1.0, "step_0": 1.0, "empty": 0.0}


def test_quotients_by_zero() -> None:
    graph = chain(2, count=1)
    zero = graph.add(Mul(), graph["step_0"], graph.constant(np.float32(0)), output="zero")
    graph.set_outputs([graph.add(Div(), graph["data"], zero, output="quotient")])
    largest = measure(graph, {"data": np.ones(2, np.float32)})
    assert (largest["zero"], largest["quotient"]) == (0.0, 0.0)


def test_weights_stay_in_their_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights that a file holds are not written once more."""
    graph = Graph("product")
    data = graph.add_input("data", TensorType(FLOAT32, (1, 64)))
    weight = graph.add_parameter("weight", Tensor.of(np.eye(64, dtype=np.float32) * 3))
    graph.set_outputs([graph.add(MatMul(), data, weight, output="product")])
    graphir.save(graph, tmp_path / "model.onnx")
    written: list[str] = []
    write_to = Tensor.write_to

    def counted(self: Tensor, *arguments: Any) -> int:
        written.append(str(self.shape))
        return write_to(self, *arguments)

    monkeypatch.setattr(Tensor, "write_to", counted)
    largest = measure(graphir.load(tmp_path / "model.onnx"), {"data": np.full((1, 64), 2, np.float32)})
    assert largest["product"] == 6.0
    assert "(64, 64)" not in written
