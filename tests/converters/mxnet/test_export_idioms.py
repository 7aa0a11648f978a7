"""What MXNet has one operator for is written as that operator: MXNet's own cases come back as themselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from graphir.converters.mxnet import to_symbol
from graphir.graph import Graph, Value
from graphir.ops import elementwise as ew
from graphir.ops.indexing import GatherElements, GatherND
from graphir.ops.shape import Reshape, Shape, Squeeze, Transpose, Unsqueeze
from graphir.ops.shape_parts import Slice
from graphir.types import DType, TensorType, symbol
from tests.converters.mxnet.exporting import operators
from tests.converters.mxnet.test_exporter import imported
from tests.equivalence.case import Case
from tests.equivalence.table import CASES

SAME = (
    *("Embedding", "FullyConnected", "RNN", "SequenceLast", "SequenceMask", "_linalg_det", "batch_dot", "dot"),
    *("gather_nd", "one_hot", "pick", "reverse", "take"),
)
OTHERWISE = {
    "RNN-lstm_projected": "its projection is a product behind it",
    "RNN-lstm_projected_bidirectional": "its projection is a product behind it",
    "RNN-lstm_projected_two_layers": "its projection is a product behind it",
    "SequenceLast-off": "a slice",
    "SequenceMask-off": "nothing",
    "dot-transpose_b": "a FullyConnected is the same",
    "pick-vector": "a take is the same",
    "reverse-twice": "an axis reversed twice stays",
    "take-raise_inside": "indices are converted",
    "take-scalar_rows": "rows of a matrix of weights are an Embedding",
}
BACK = tuple(case for case in CASES if case.op in SAME and case.name not in OTHERWISE and not case.np_shape)


@pytest.mark.parametrize("case", BACK, ids=lambda case: case.name)
def test_comes_back_as_itself(case: Case) -> None:
    assert operators(to_symbol(imported(case)[0])[0]) == [case.op]


def test_the_exceptions_exist() -> None:
    assert set(OTHERWISE) <= {case.name for case in CASES}


def inputs(graph: Graph, *types: tuple[DType, tuple[int, ...]]) -> list[Value]:
    """Inputs of these types."""
    return [graph.add_input(f"x{slot}", TensorType(dtype, shape)) for slot, (dtype, shape) in enumerate(types)]


def vector(graph: Graph, *numbers: int) -> Value:
    """A constant int64 vector."""
    return graph.constant(list(numbers), DType.INT64)


FLOAT, INT = DType.FLOAT32, DType.INT64


def hot(places: list[int], axis: int = -1) -> Graph:
    """Indices compared with these places."""
    graph = Graph()
    (indices,) = inputs(graph, (INT, (4,)))
    apart = graph.add(Unsqueeze(), indices, vector(graph, axis))
    equal = graph.add(ew.Equal(), apart, vector(graph, *places))
    graph.set_outputs([graph.add(ew.Cast(FLOAT), equal)])
    return graph


def masked(shape: tuple[int, ...], positions: tuple[int, ...], count: int, unsqueezed: tuple[int, ...]) -> Graph:
    """Data where positions, 0 and on in this shape, are below lengths with new axes; 7 elsewhere."""
    graph = Graph()
    data, lengths = inputs(graph, (FLOAT, shape), (INT, (count,)))
    places = graph.constant(np.arange(int(np.prod(positions))).reshape(positions))
    lengths = graph.add(Unsqueeze(), lengths, vector(graph, *unsqueezed)) if unsqueezed else lengths
    inside = graph.add(ew.Less(), places, lengths)
    graph.set_outputs([graph.add(ew.Where(), inside, data, graph.constant(7.0, FLOAT))])
    return graph


def last(less: int) -> Graph:
    """Of each row of (3, 5, 2) the place that a length less a number says."""
    graph = Graph()
    data, lengths = inputs(graph, (FLOAT, (3, 5, 2)), (INT, (3,)))
    index = graph.add(ew.Sub(), lengths, graph.constant(less, INT))
    graph.set_outputs([graph.add(GatherND(1), data, graph.add(Unsqueeze(), index, vector(graph, 1)))])
    return graph


def backwards(start: int, end: int, step: int) -> Graph:
    """A slice of the second axis of (2, 5)."""
    graph = Graph()
    (data,) = inputs(graph, (FLOAT, (2, 5)))
    numbers = [vector(graph, number) for number in (start, end, 1, step)]
    graph.set_outputs([graph.add(Slice(), data, *numbers)])
    return graph


def picked(squeezed: int) -> Graph:
    """One element a row of (3, 4, 2), and one of the two axes of one element dropped."""
    graph = Graph()
    data, indices = inputs(graph, (FLOAT, (1, 4, 2)), (INT, (1, 1, 2)))
    found = graph.add(GatherElements(1), data, indices)
    graph.set_outputs([graph.add(Squeeze(), found, vector(graph, squeezed))])
    return graph


def counted() -> Graph:
    """Data masked by a range that is not constant."""
    graph = Graph()
    data, lengths, steps = inputs(graph, (FLOAT, (4, 3)), (INT, (3,)), (INT, (4,)))
    column = graph.add(Unsqueeze(), steps, vector(graph, 1))
    inside = graph.add(ew.Less(), column, lengths)
    graph.set_outputs([graph.add(ew.Where(), inside, data, graph.constant(7.0, FLOAT))])
    return graph


def moved() -> Graph:
    """Index vectors along the first axis, moved to the last."""
    graph = Graph()
    data, indices = inputs(graph, (FLOAT, (3, 4)), (INT, (2, 5)))
    graph.set_outputs([graph.add(GatherND(), data, graph.add(Transpose((1, 0)), indices))])
    return graph


def restored(open_: bool) -> Graph:
    """A vector of each sample, with the shape that it had before."""
    graph = Graph()
    sizes = (symbol("N"), 4, symbol("H"), symbol("W")) if open_ else (symbol("N"), 4, 5, 6)
    data = graph.add_input("x0", TensorType(FLOAT, sizes))
    flat = graph.add(ew.Exp(), graph.add(Reshape(), data, vector(graph, 0, -1)))
    graph.set_outputs([graph.add(Reshape(), flat, graph.add(Shape(), data))])
    return graph


FOUND: tuple[tuple[str, Callable[[], Graph], str, bool], ...] = (
    ("places from 0", lambda: hot([0, 1, 2]), "one_hot", True),
    ("other places", lambda: hot([1, 2, 3]), "one_hot", False),
    ("another axis", lambda: hot([0, 1, 2, 3], 0), "one_hot", False),
    ("time first", lambda: masked((4, 3, 2), (4, 1, 1), 3, (1,)), "SequenceMask", True),
    ("time second", lambda: masked((3, 4, 2), (4, 1), 3, (1, 2)), "SequenceMask", True),
    ("matrix", lambda: masked((4, 3), (4, 1), 3, ()), "SequenceMask", True),
    ("time last", lambda: masked((2, 3, 4), (4,), 3, (1,)), "SequenceMask", False),
    ("given positions", counted, "SequenceMask", False),
    ("length less 1", lambda: last(1), "SequenceLast", True),
    ("length less 2", lambda: last(2), "SequenceLast", False),
    ("whole axis", lambda: backwards(-1, -9, -1), "reverse", True),
    ("whole axis, far", lambda: backwards(99, -(1 << 62), -1), "reverse", True),
    ("not to its end", lambda: backwards(-1, 0, -1), "reverse", False),
    ("not from its end", lambda: backwards(3, -9, -1), "reverse", False),
    ("every second", lambda: backwards(-1, -9, -2), "reverse", False),
    ("two open sizes", lambda: restored(True), "reshape_like", True),
    ("no open size but the first", lambda: restored(False), "reshape_like", False),
    ("vectors first", moved, "transpose", False),
)


@pytest.mark.parametrize("build, op, written", [entry[1:] for entry in FOUND], ids=[entry[0] for entry in FOUND])
def test_what_is_found(build: Callable[[], Graph], op: str, written: bool) -> None:
    assert (op in operators(to_symbol(build())[0])) is written


@pytest.mark.parametrize("axis, expected", [(1, ["pick"]), (0, ["pick", "squeeze"])])
def test_pick_drops_its_own_axis_only(axis: int, expected: list[str]) -> None:
    assert operators(to_symbol(picked(axis))[0]) == expected
