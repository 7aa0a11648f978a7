"""Models with other names and other orders of axes are fed and compared as what they are."""

from __future__ import annotations

import numpy as np
import pytest

import graphir
from graphir.analysis.channels import channel_order
from graphir.graph import Graph
from graphir.ops.convolution import Conv
from graphir.ops.elementwise import Add, Mul, Sub
from graphir.ops.pooling import GlobalAveragePool
from graphir.ops.shape import Transpose
from graphir.types import DType, TensorType
from graphir.verification.regions.parts import typed
from graphir.verification.running.layouts import Fitting, fit_inputs, fitted_feeds, order_inside, order_outside
from tests.typed import present

WEIGHT = np.random.default_rng(0).standard_normal((5, 3, 2, 2)).astype(np.float32)


def network(
    name: str, *, last: bool, result_last: bool | None = None, factor: float = 1.0, pooled: bool = False
) -> Graph:
    """A convolution over channels in the last or the second place."""
    graph = Graph("net")
    shape = (1, 6, 7, 3) if last else (1, 3, 6, 7)
    value = graph.add_input(name, TensorType(DType.FLOAT32, shape))
    if last:
        value = graph.add(Transpose((0, 3, 1, 2)), value)
    value = graph.add(Conv((2, 2)), value, graph.constant(WEIGHT * np.float32(factor), name="w"))
    if pooled:
        value = graph.add(GlobalAveragePool(), value)
    if last if result_last is None else result_last:
        value = graph.add(Transpose((0, 2, 3, 1)), value)
    graph.set_outputs([graph.add(Mul(), value, graph.constant(np.float32(2)), name=f"{name}_result")])
    return graph


SAME = [
    (network("x", last=True), network("data", last=False)),
    (network("x", last=False), network("x", last=True)),
    (network("x", last=True, result_last=False), network("y", last=False, result_last=True)),
    (network("x", last=True, pooled=True), network("x", last=False, pooled=True)),
]


@pytest.mark.parametrize(("reference", "candidate"), SAME)
@pytest.mark.parametrize("swapped", [False, True])
def test_the_same_network_in_another_layout_is_verified(reference: Graph, candidate: Graph, swapped: bool) -> None:
    pair = (candidate, reference) if swapped else (reference, candidate)
    report = graphir.verify(*pair)
    assert report.ok
    assert any("channels" in note for note in report.notes)


@pytest.mark.parametrize(("reference", "candidate"), SAME)
def test_another_network_is_not(reference: Graph, candidate: Graph) -> None:
    last = present(candidate.inputs[0].shape)[-1] == 3
    other = network(candidate.inputs[0].name, last=last, factor=1.001)
    assert not graphir.verify(network("x", last=True), other).ok


def test_inputs_of_other_names_go_by_position_and_are_told() -> None:
    feeds = {"a": np.zeros((2, 8, 9, 3)), "b": np.zeros((4,))}
    fitting, notes = fit_inputs(feeds, {"x": ("N", 3, 8, 9), "y": (4,)})
    assert fitting == {"x": ("a", (0, 3, 1, 2)), "y": ("b", ())}
    assert notes == [
        "inputs of different names were fed by position: a to x, b to y",
        "a was fed to x with its channels in the second place",
    ]
    assert {name: feed.shape for name, feed in fitted_feeds(fitting, feeds).items()} == {"x": (2, 3, 8, 9), "y": (4,)}


ORDERS = [
    ((1, 8, 9, 3), (1, 3, 8, 9), (0, 3, 1, 2)),
    ((1, 3, 8, 9), (1, 8, 9, 3), (0, 2, 3, 1)),
    ((1, 8, 3), (1, 3, 8), (0, 2, 1)),
    ((1, 4, 8, 9, 3), (1, 3, 4, 8, 9), (0, 4, 1, 2, 3)),
    ((1, 3, 3, 3), (1, 3, 3, 3), ()),
    ((1, 3, 8, 9), ("N", 3, "H", "W"), ()),
    ((1, 3, 8, 9), (1, 9, 8, 3), ()),
    ((8, 3), (3, 8), ()),
    ((1, 3, 8), (1, 3, 8, 1), ()),
]

TURNED: Fitting = {"x": ("x", (0, 2, 3, 1))}


@pytest.mark.parametrize(("shape", "wanted", "order"), ORDERS)
def test_channels_move_only_where_that_fits(
    shape: tuple[int, ...], wanted: tuple[int | str, ...], order: tuple[int, ...]
) -> None:
    assert channel_order(shape, wanted) == order


def test_results_come_into_the_expected_order_where_an_input_was_turned() -> None:
    array = np.arange(24.0).reshape(1, 2, 3, 4)
    found = array.transpose(0, 2, 3, 1)
    assert np.array_equal(found.transpose(order_outside(found, array, TURNED)), array)
    assert order_outside(found, array, {"x": ("x", ())}) == ()


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 3, 1), (0, 3, 1, 2)])
@pytest.mark.parametrize("shape", [(2, 3, 3, 3), (1, 4, 4, 4)])
def test_values_inside_come_into_the_expected_order_where_sizes_do_not_tell(
    shape: tuple[int, ...], order: tuple[int, ...]
) -> None:
    array = np.arange(float(np.prod(shape))).reshape(shape)
    found = array.transpose(order)
    chosen = order_inside(found, array)
    assert np.array_equal(found.transpose(chosen) if chosen else found, array)


@pytest.mark.parametrize("seed", range(8))
def test_numbers_that_are_apart_in_every_order_stay_as_they_are(seed: int) -> None:
    """Masks whose rows stand in another order tell no layout."""
    expected = np.random.default_rng(seed).normal(size=(9, 7, 7))
    assert order_inside(expected[::-1], expected) == ()


def test_outputs_of_equal_sizes_are_not_turned() -> None:
    array = np.arange(27.0).reshape(1, 3, 3, 3)
    assert order_outside(array.transpose(0, 2, 3, 1), array, TURNED) == ()


def test_whole_numbers_that_rounding_moved_are_rounded_back() -> None:
    like = Graph("g").add_input("x", TensorType(DType.INT64, (3,)))
    moved = np.nextafter(np.array([3, -2, 7], np.float32), np.float32(0))
    assert typed(moved, like).tolist() == [3, -2, 7]


def silenced(*, last: bool, subtracted: bool) -> Graph:
    """A map of equal sizes that is multiplied with nothing, and a bias, added or its negative subtracted."""
    graph = Graph("net")
    value = graph.add_input("x", TensorType(DType.FLOAT32, (1, 4, 4, 4)))
    shape = (4,) if last else (4, 1, 1)
    if last:
        value = graph.add(Transpose((0, 2, 3, 1)), value, name="moved")
    value = graph.add(Mul(), value, graph.constant(np.float32(0)), name="silent")
    bias = np.arange(1, 5, dtype=np.float32).reshape(shape)
    if subtracted:
        value = graph.add(Sub(), value, graph.constant(-bias), name="shifted")
    else:
        value = graph.add(Add(), value, graph.constant(bias), name="shifted")
    square = graph.add(Mul(), value, value, name="square")
    graph.set_outputs([graph.add(Transpose((0, 3, 1, 2)), square, name="y") if last else square])
    return graph


@pytest.mark.parametrize("last", [False, True])
def test_where_no_number_tells_the_layout_none_is_made_up(last: bool) -> None:
    report = graphir.verify(silenced(last=last, subtracted=False), silenced(last=not last, subtracted=True))
    assert not report.verdict.differs, str(report)
    assert not any("by itself" in said for said in report.unproven), report.unproven
