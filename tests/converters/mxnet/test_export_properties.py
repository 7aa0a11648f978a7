"""Products, lookups and scattered elements of any shape, written for MXNet and computed by the reference evaluator."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as some
from numpy.typing import NDArray

from graphir.converters.mxnet import to_symbol
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.graph import Graph
from graphir.ops.base import Operator
from graphir.ops.indexing import GatherElements, GatherND, OneHot, Reduction, ScatterElements
from graphir.ops.linear import Einsum, MatMul
from graphir.ops.reduction import TopK
from graphir.types import DType, TensorType

Array = NDArray[Any]
SIZE = some.integers(1, 4)


def computed(op: Operator, *arrays: Array, constants: tuple[Array, ...] = ()) -> list[Array]:
    """What the written symbol of one operator gives for these inputs and then these constants."""
    graph = Graph()
    feeds = {f"x{slot}": array for slot, array in enumerate(arrays)}
    values = [
        graph.add_input(name, TensorType(DType.of(array.dtype.name), array.shape)) for name, array in feeds.items()
    ]
    held = [graph.constant(array) for array in constants]
    graph.set_outputs(graph.add_node(op, (*values, *held), name="y").outputs)
    text, params = to_symbol(graph)
    symbol = read_symbol(text)
    wanted = {node.name for node in symbol.nodes if node.op == "null"}
    given_arrays = {name.partition(":")[2]: array for name, array in params.items()} | feeds
    return list(evaluate(symbol, {name: array for name, array in given_arrays.items() if name in wanted}).values())


def numbers(*shape: int) -> Array:
    """Small integers as float64: their sums and products are exact."""
    return np.random.default_rng(shape or None).integers(-4, 5, shape).astype(np.float64)


@some.composite
def equations(draw: some.DrawFn) -> tuple[str, list[tuple[int, ...]]]:
    """An equation of one to three terms, labels that come several times among them, and the operands' shapes."""
    sizes = {label: draw(SIZE) for label in "abcde"}
    label = some.sampled_from("abcde")
    terms = draw(some.lists(some.lists(label, min_size=1, max_size=4), min_size=1, max_size=3))
    known = sorted({label for term in terms for label in term})
    result = draw(some.permutations(known))[: draw(some.integers(0, len(known)))]
    text = ",".join("".join(term) for term in terms) + "->" + "".join(result)
    return text, [tuple(sizes[label] for label in term) for term in terms]


@given(equations())
def test_einsum(entry: tuple[str, list[tuple[int, ...]]]) -> None:
    equation, shapes = entry
    arrays = [numbers(*shape) for shape in shapes]
    (found,) = computed(Einsum(equation), *arrays)
    expected = np.einsum(equation, *arrays)
    assert found.shape == expected.shape
    assert np.array_equal(found, expected)


@given(some.lists(SIZE, max_size=3), some.data())
def test_matmul(batch: list[int], data: some.DataObject) -> None:
    rows, inner, columns = (data.draw(SIZE) for _ in range(3))
    shapes = []
    for last in ((rows, inner), (inner, columns)):
        own = batch[data.draw(some.integers(0, len(batch))) :]
        own = [1 if data.draw(some.booleans()) else size for size in own]
        shapes.append((*own, *last))
    if not batch and data.draw(some.booleans()):
        shapes[0] = (inner,)
    left, right = (numbers(*shape) for shape in shapes)
    (found,) = computed(MatMul(), left, right)
    assert np.array_equal(found, np.matmul(left, right))


def lines(data: some.DataObject, rank: int) -> tuple[Array, Array, int]:
    """Data, indices of its rank, and the axis that they are for."""
    sizes = [data.draw(SIZE) for _ in range(rank)]
    axis = data.draw(some.integers(0, rank - 1))
    limits = [5 if place == axis else sizes[place] for place in range(rank)]
    shape = [data.draw(some.integers(1, limit)) for limit in limits]
    chosen = np.random.default_rng(data.draw(some.integers(0, 99))).integers(-sizes[axis], sizes[axis], shape)
    return numbers(*sizes), chosen.astype(np.int64), axis


@given(some.integers(1, 4), some.data())
def test_gather_elements(rank: int, data: some.DataObject) -> None:
    array, chosen, axis = lines(data, rank)
    (found,) = computed(GatherElements(axis), array, chosen)
    places = list(np.indices(chosen.shape))
    places[axis] = chosen
    assert np.array_equal(found, array[tuple(places)])


COMBINE: dict[Reduction, np.ufunc] = {
    Reduction.ADD: np.add,
    Reduction.MUL: np.multiply,
    Reduction.MAX: np.maximum,
    Reduction.MIN: np.minimum,
}


@given(some.integers(1, 3), some.sampled_from(sorted(COMBINE, key=str)), some.data())
def test_scatter_elements(rank: int, reduction: Reduction, data: some.DataObject) -> None:
    array, chosen, axis = lines(data, rank)
    updates = numbers(*chosen.shape)
    (found,) = computed(ScatterElements(axis, reduction), array, chosen, updates)
    expected = array.copy()
    places = list(np.indices(chosen.shape))
    places[axis] = chosen
    COMBINE[reduction].at(expected, tuple(places), updates)
    assert np.array_equal(found, expected)


@given(some.integers(0, 2), some.data())
def test_gather_nd(batch: int, data: some.DataObject) -> None:
    sizes = [data.draw(SIZE) for _ in range(batch + data.draw(some.integers(1, 2)))]
    length = data.draw(some.integers(1, len(sizes) - batch))
    between = [data.draw(SIZE) for _ in range(data.draw(some.integers(0, 2)))]
    generator = np.random.default_rng(data.draw(some.integers(0, 99)))
    shape = (*sizes[:batch], *between)
    vectors = np.stack([generator.integers(-size, size, shape) for size in sizes[batch : batch + length]], -1)
    array = numbers(*sizes)
    (found,) = computed(GatherND(batch), array, vectors.astype(np.int64))
    letters = np.indices(shape)[:batch]
    assert np.array_equal(found, array[(*letters, *np.moveaxis(vectors, -1, 0))])


@given(some.lists(SIZE, min_size=1, max_size=3), some.integers(1, 5), some.data())
def test_one_hot(shape: list[int], depth: int, data: some.DataObject) -> None:
    axis = data.draw(some.integers(-len(shape) - 1, len(shape)))
    chosen = np.random.default_rng(depth).integers(-depth - 1, depth + 1, shape)
    (found,) = computed(OneHot(axis), chosen, constants=(np.array([depth]), np.array([-2.0, 3.0])))
    hit = (chosen[..., None] == np.arange(depth)) | (chosen[..., None] + depth == np.arange(depth))
    assert np.array_equal(found, np.moveaxis(np.where(hit, 3.0, -2.0), -1, axis))


@given(some.integers(1, 40), some.integers(1, 3), some.booleans(), some.data())
def test_top_k_keeps_the_order_of_equals(size: int, rows: int, largest: bool, data: some.DataObject) -> None:
    count = data.draw(some.integers(1, size))
    array = np.random.default_rng(size).integers(0, 4, (rows, size)).astype(np.float64)
    values, places = computed(TopK(largest=largest), array, constants=(np.array([count]),))
    order = np.argsort(-array if largest else array, axis=1, kind="stable")[:, :count]
    assert np.array_equal(places, order)
    assert np.array_equal(values, np.take_along_axis(array, order, 1))


