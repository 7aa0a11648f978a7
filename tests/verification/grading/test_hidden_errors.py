"""Wrong models whose outputs do not show it, or hardly: found before the head, inside, or above the noise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import graphir
from graphir.graph import Graph
from graphir.ops.activation import Relu, Sigmoid, Softmax, Tanh
from graphir.ops.base import Operator
from graphir.ops.convolution import Conv
from graphir.ops.elementwise import Add, Mul
from graphir.ops.linear import Gemm
from graphir.ops.normalization import BatchNormalization
from graphir.ops.pooling import GlobalAveragePool
from graphir.ops.shape import Flatten
from graphir.padding import Explicit, symmetric
from graphir.types import DType, TensorType
from graphir.verification.running.heads import scores
from tests.typed import present

RANDOM = np.random.default_rng(0)
DENSE = RANDOM.standard_normal((6, 6)).astype(np.float32)


def classifier(
    prefix: str,
    weight: NDArray[Any] = DENSE,
    *,
    head: type[Operator] = Softmax,
    scale: float = 200.0,
    shift: float = 0.0,
) -> Graph:
    """Scores that are so large that the head is sure, under names of their own."""
    graph = Graph(prefix)
    x = graph.add_input(f"{prefix}x", TensorType(DType.FLOAT32, (3, 6)))
    value = graph.add(Gemm(), x, graph.constant(weight, name=f"{prefix}w"), name=f"{prefix}fc")
    value = graph.add(Mul(), value, graph.constant(np.float32(scale)), name=f"{prefix}scores")
    if shift:
        value = graph.add(Add(), value, graph.constant(np.float32(shift)), name=f"{prefix}shifted")
    graph.set_outputs([graph.add(head(), value, name=f"{prefix}y")])
    return graph


OTHER = DENSE.copy()
OTHER[2, 3] += 0.01
HEADS = [
    (classifier("b"), True),
    (classifier("b", shift=3), True),
    (classifier("b", OTHER), False),
    (classifier("b", scale=220), False),
    (classifier("b", DENSE.T.copy()), False),
]


@pytest.mark.parametrize(("candidate", "same"), HEADS)
def test_behind_a_sure_softmax_the_scores_are_compared(candidate: Graph, same: bool) -> None:
    report = graphir.verify(classifier("a"), candidate)
    assert report.ok == same
    assert [found.name for found in report.outputs] == ["ay", "ascores (before the head)"]


@pytest.mark.parametrize("head", [Sigmoid, Tanh])
@pytest.mark.parametrize(("shift", "same"), [(0, True), (3, False)])
def test_a_head_of_single_numbers_sees_what_is_added(head: type[Operator], shift: int, same: bool) -> None:
    report = graphir.verify(classifier("a", head=head), classifier("b", head=head, shift=shift))
    assert report.ok == same


def test_heads_of_other_kinds_are_no_pair(tmp_path: Path) -> None:
    x = RANDOM.standard_normal((3, 6)).astype(np.float32)
    (y,) = graphir.Session(classifier("a")).run({"ax": x}).values()
    np.savez(tmp_path / "capture.npz", **{"input:ax": x, "output:0:ay": y})
    report = graphir.verify(tmp_path / "capture.npz", classifier("b", head=Sigmoid))
    assert not report.ok
    assert any("hides errors" in note for note in report.notes)


def test_heads_of_other_kinds_are_the_cause_where_graphs_tell() -> None:
    report = graphir.verify(classifier("a"), classifier("b", head=Sigmoid))
    assert not report.ok
    assert [found.verdict.passes for found in report.outputs] == [False, True]
    assert [cause.what for cause in report.causes] == ["ay / by: Softmax(axis=1) -> Sigmoid"]


ROWS = np.array([[1.0, 3.0], [5.0, 2.0]])
SCORES = [
    ("Softmax", ROWS, [[-2, 0], [0, -3]]),
    ("Softmax", ROWS[:, :, None, None], [[-2, 0], [0, -3]]),
    ("Sigmoid", ROWS, ROWS),
    ("Softmax", np.ones((1, 2, 3)), np.ones((1, 2, 3))),
    ("Softmax", np.ones(3), np.ones(3)),
]


@pytest.mark.parametrize(("kind", "array", "wanted"), SCORES)
def test_scores(kind: str, array: NDArray[Any], wanted: list[list[int]] | NDArray[Any]) -> None:
    assert np.array_equal(scores(kind, array), wanted)


def network(
    *,
    weight: Callable[..., Any] | None = None,
    pads: tuple[tuple[int, ...], ...] = ((1, 1), (1, 1)),
    epsilon: float = 1e-5,
    bias: float = 0.0,
    depth: int = 4,
    numb: bool = False,
) -> Graph:
    """Convolutions with normalizations; `numb` ends in a mean of sigmoids that are all 1."""
    random = np.random.default_rng(1)
    graph = Graph("net")
    value = graph.add_input("x", TensorType(DType.FLOAT32, (1, 8, 12, 12)))
    for layer in range(depth):
        kernel = (random.standard_normal((8, 8, 3, 3)) / 6).astype(np.float32)
        offset = random.standard_normal(8).astype(np.float32) / 10
        own: Any = pads if layer == 1 else symmetric((1, 1)).pads
        if layer == 1:
            kernel = kernel if weight is None else weight(kernel)
            offset = offset + np.float32(bias) * np.eye(8, dtype=np.float32)[3]
        value = graph.add(
            Conv((3, 3), padding=Explicit(own)), value, graph.constant(kernel), graph.constant(offset), name=f"c{layer}"
        )
        rows = [random.uniform(0.5, 1.5, 8).astype(np.float32) for _ in range(4)]
        step = BatchNormalization(epsilon=epsilon if layer == 1 else 1e-5)
        value = graph.add(step, value, *map(graph.constant, rows), name=f"n{layer}")
        value = graph.add(Relu(), value, name=f"r{layer}")
    if numb:
        value = graph.add(Add(), value, graph.constant(np.float32(50)), name="raised")
        value = graph.add(Sigmoid(), value, name="sure")
    value = graph.add(Flatten(), graph.add(GlobalAveragePool(), value, name="mean"), name="y")
    graph.set_outputs([value])
    return graph


def one_weight(kernel: NDArray[Any]) -> NDArray[Any]:
    changed = kernel.copy()
    changed[5, 2, 1, 1] += np.abs(kernel).mean()
    return changed


def one_filter(kernel: NDArray[Any]) -> NDArray[Any]:
    return kernel * np.where(np.arange(8) == 5, 1.01, 1).astype(np.float32)[:, None, None, None]


def turned(kernel: NDArray[Any]) -> NDArray[Any]:
    return kernel.transpose(1, 0, 2, 3).copy()


BROKEN = [
    {"weight": one_weight},
    {"weight": one_filter},
    {"weight": turned},
    {"pads": ((2, 0), (1, 1))},
    {"epsilon": 1e-3},
    {"epsilon": 1e-4},
    {"bias": 0.01},
]


@pytest.mark.one_of(8)
@pytest.mark.parametrize("numb", [False, True])
@pytest.mark.parametrize("change", BROKEN, ids=lambda change: getattr(change.get("weight"), "__name__", str(change)))
def test_a_small_fault_is_no_noise(change: dict[str, Any], numb: bool) -> None:
    assert graphir.verify(network(numb=numb), network(numb=numb)).ok
    report = graphir.verify(network(numb=numb), network(numb=numb, **change))
    assert not report.ok


def test_inputs_of_the_reference_are_what_is_fed(tmp_path: Path) -> None:
    paths = [tmp_path / "a.onnx", tmp_path / "b.graphir.json"]
    for prefix, path in zip("ab", paths, strict=True):
        graphir.save(classifier(prefix, scale=1), path)
    report = graphir.verify(*paths)
    assert report.ok
    assert list(report.feeds) == ["ax"]


def test_a_capture_goes_to_inputs_of_other_names(tmp_path: Path) -> None:
    x = RANDOM.standard_normal((3, 6)).astype(np.float32)
    (y,) = graphir.Session(classifier("a", scale=1)).run({"ax": x}).values()
    np.savez(tmp_path / "capture.npz", **{"input:ax": x, "output:0:ay": y})
    assert graphir.verify(tmp_path / "capture.npz", classifier("b", scale=1)).ok
    assert not graphir.verify(tmp_path / "capture.npz", classifier("b", OTHER, scale=1)).ok


@pytest.mark.parametrize("heads", [(Softmax, Sigmoid), (Sigmoid, Softmax), (Softmax, Softmax)])
def test_scores_of_two_heads_are_compared_once(heads: tuple[type[Operator], ...]) -> None:
    def two(prefix: str, shift: float = 0.0) -> Graph:
        graph = classifier(prefix, scale=1, shift=shift)
        value = present(graph.outputs[0].producer).inputs[0]
        graph.set_outputs([graph.add(head(), value, name=f"{prefix}{place}") for place, head in enumerate(heads)])
        return graph

    same = graphir.verify(two("a"), two("b"))
    assert same.ok
    assert [found.name for found in same.outputs] == ["a0", "a1", "ascores (before the head)"]
    assert graphir.verify(two("a"), two("b", shift=3)).ok == (Sigmoid not in heads)
