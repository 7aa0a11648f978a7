"""Random programs that compute with sizes, as exporters write them, and tensors shaped by what they compute.

A program has one float input `x`. Its integers start as the sizes of tensors; what they become shapes more tensors.
Steps are drawn so that a runtime accepts them for the sizes that `x` has in the program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from hypothesis import strategies as st

from graphir.errors import ShapeError
from graphir.graph import Graph, Value
from graphir.ops import creation, indexing, reduction, resize, shape_parts
from graphir.ops import elementwise as ew
from graphir.ops import shape as sh
from graphir.ops.bitwise import CastLike
from graphir.ops.linear import Einsum
from graphir.tensor import Tensor
from graphir.types import DType, TensorType

MAX_ELEMENTS = 2000
LARGEST = 2000
Grow = Callable[[st.DrawFn, Graph, Value], Sequence[Value]]


def vector(graph: Graph, *elements: int) -> Value:
    """An int64 constant."""
    return graph.constant(np.array(elements, np.int64))


def numbers(value: Value) -> tuple[int, ...] | None:
    """The elements of a tensor of int64, where inference knows them all and none is large."""
    found = None if value.known is None or value.dtype is not DType.INT64 else value.known.integers()
    return found if found is not None and all(abs(number) <= LARGEST for number in found) else None


def sizes_of(value: Value) -> tuple[int, ...]:
    """The shape, which is known in these programs."""
    assert value.shape is not None
    return value.shape


def operand(draw: st.DrawFn, graph: Graph, value: Value) -> Value:
    """Another integer tensor that broadcasts with the value, or a small constant."""
    shape = sizes_of(value)
    others = [
        other
        for other in graph.values
        if other.producer and numbers(other) is not None and sizes_of(other) in (shape, (), (1,))
    ]
    chosen: bool = bool(others) and draw(st.booleans())
    if chosen:
        return draw(st.sampled_from(others))
    return graph.constant(draw(st.integers(-3, 5)), DType.INT64)


def grow_arithmetic(draw: st.DrawFn, graph: Graph, value: Value) -> Sequence[Value]:
    kinds = [ew.Add(), ew.Sub(), ew.Mul(), ew.Max(), ew.Min()]
    return [graph.add(draw(st.sampled_from(kinds)), value, operand(draw, graph, value))]


def grow_division(draw: st.DrawFn, graph: Graph, value: Value) -> Sequence[Value]:
    divisor = operand(draw, graph, value)
    found = numbers(divisor) or (0,)
    if 0 in found:
        divisor = graph.constant(draw(st.sampled_from([2, 3, -2])), DType.INT64)
    kinds = [ew.Div(), ew.Mod(), ew.Mod(fmod=True)]
    return [graph.add(draw(st.sampled_from(kinds)), value, divisor)]


def grow_unary(draw: st.DrawFn, graph: Graph, value: Value) -> Sequence[Value]:
    return [graph.add(draw(st.sampled_from([ew.Neg(), ew.Abs(), ew.Sign(), ew.Identity()])), value)]


def grow_fraction(draw: st.DrawFn, graph: Graph, value: Value) -> Sequence[Value]:
    """A size scaled by a factor in float32, and rounded."""
    real = graph.add(ew.Cast(DType.FLOAT32), value)
    factor = graph.constant(draw(st.sampled_from([0.5, 2.0, 1.5, 0.1, 0.6, 3.0])), DType.FLOAT32)
    scaled = graph.add(draw(st.sampled_from([ew.Mul(), ew.Div()])), real, factor)
    rounded = graph.add(draw(st.sampled_from([ew.Floor(), ew.Ceil(), ew.Round(), ew.Identity()])), scaled)
    return [graph.add(ew.Cast(DType.INT64), rounded)]


def grow_choice(draw: st.DrawFn, graph: Graph, value: Value) -> Sequence[Value]:
    kinds = [ew.Equal(), ew.Greater(), ew.GreaterOrEqual(), ew.Less(), ew.LessOrEqual()]
    condition = graph.add(draw(st.sampled_from(kinds)), value, operand(draw, graph, value))
    if draw(st.booleans()):
        condition = graph.add(ew.Not(), condition)
    return [graph.add(ew.Where(), condition, value, operand(draw, graph, value))]


def grow_pick(draw: st.DrawFn, graph: Graph, value: Value) -> Sequence[Value]:
    size = sizes_of(value)[0]
    places = draw(st.lists(st.integers(-size, size - 1), min_size=1, max_size=4))
    if draw(st.booleans()):
        scalar = graph.add(indexing.Gather(), value, graph.constant(places[0], DType.INT64))
        return [scalar, graph.add(sh.Unsqueeze(), scalar, vector(graph, 0))]
    return [graph.add(indexing.Gather(), value, vector(graph, *places))]


def grow_cut(draw: st.DrawFn, graph: Graph, value: Value) -> Sequence[Value]:
    start, end, step = draw(st.integers(-4, 4)), draw(st.integers(-4, 5)), draw(st.sampled_from([1, 2, -1]))
    if not range(sizes_of(value)[0])[start:end:step]:
        start, end, step = 0, shape_parts.BEYOND, 1
    return [graph.add(shape_parts.Slice(), value, *(vector(graph, bound) for bound in (start, end, 0, step)))]


def grow_joined(draw: st.DrawFn, graph: Graph, value: Value) -> Sequence[Value]:
    others = [other for other in graph.values if other.dtype is DType.INT64 and other.rank == 1 and other.producer]
    return [graph.add(shape_parts.Concat(0), value, draw(st.sampled_from([*others, vector(graph, 2)])))]


def grow_parts(draw: st.DrawFn, graph: Graph, value: Value) -> Sequence[Value]:
    size = sizes_of(value)[0]
    first = draw(st.integers(1, max(size - 1, 1)))
    if first == size:
        return [graph.add(sh.Tile(), value, vector(graph, 2))]
    return graph.add_node(shape_parts.Split(2), [value, vector(graph, first, size - first)]).outputs


def grow_written(draw: st.DrawFn, graph: Graph, value: Value) -> Sequence[Value]:
    place = vector(graph, draw(st.integers(0, sizes_of(value)[0] - 1)))
    update = vector(graph, draw(st.integers(1, 4)))
    reduction_kind = draw(st.sampled_from([indexing.Reduction.NONE, indexing.Reduction.ADD, indexing.Reduction.MAX]))
    if draw(st.booleans()):
        return [graph.add(indexing.ScatterElements(0, reduction_kind), value, place, update)]
    rows = graph.add(sh.Unsqueeze(), place, vector(graph, 1))
    return [graph.add(indexing.ScatterND(reduction_kind), value, rows, update)]


def grow_folded(draw: st.DrawFn, graph: Graph, value: Value) -> Sequence[Value]:
    kinds = [reduction.ReduceProd, reduction.ReduceSum, reduction.ReduceMax, reduction.ReduceMin]
    return [graph.add(draw(st.sampled_from(kinds))(keepdims=draw(st.booleans())), value)]


def grow_running(draw: st.DrawFn, graph: Graph, value: Value) -> Sequence[Value]:
    op = indexing.CumSum(draw(st.booleans()), draw(st.booleans()))
    return [graph.add(op, value, graph.constant(0, DType.INT64))]


def grow_matrix(draw: st.DrawFn, graph: Graph, value: Value) -> Sequence[Value]:
    """Two rows of the vector, turned around, padded, and flattened again."""
    wide = graph.add(sh.Expand(), value, vector(graph, 2, 1))
    turned = graph.add(sh.Transpose(), wide)
    fill = graph.constant(draw(st.integers(1, 3)), DType.INT64)
    padded = graph.add(sh.Pad(), turned, vector(graph, 0, 1, 0, 0), fill)
    return [turned, graph.add(sh.Reshape(), padded, vector(graph, -1))]


def grow_true_places(draw: st.DrawFn, graph: Graph, value: Value) -> Sequence[Value]:
    return [graph.add(sh.Reshape(), graph.add(indexing.NonZero(), value), vector(graph, -1))]


def grow_range(draw: st.DrawFn, graph: Graph, value: Value) -> Sequence[Value]:
    """The numbers up to a scalar."""
    (limit,) = numbers(value) or (0,)
    start, step = draw(st.integers(-2, 2)), draw(st.sampled_from([1, 2, -1]))
    if abs(limit) > 50:
        return []
    return [graph.add(creation.Range(), graph.constant(start, DType.INT64), value, graph.constant(step, DType.INT64))]


def grow_filled(draw: st.DrawFn, graph: Graph, value: Value) -> Sequence[Value]:
    """A tensor shaped by the vector."""
    wanted = numbers(value) or (-1,)
    if min(wanted) < 0 or len(wanted) > 5 or prod(wanted) > MAX_ELEMENTS:
        return []
    dtype = draw(st.sampled_from([DType.FLOAT32, DType.INT64]))
    return [graph.add(creation.ConstantOfShape(2.0, dtype), value)]


def grow_reshaped(draw: st.DrawFn, graph: Graph, value: Value) -> Sequence[Value]:
    """A tensor of as many elements reshaped to the vector, or to its last element and the rest."""
    wanted = numbers(value)
    tensors = [other for other in graph.values if other.dtype is DType.FLOAT32 and other.rank and other.producer]
    source = draw(st.sampled_from([graph["x"], *tensors]))
    count = prod(sizes_of(source))
    if wanted is None or min(wanted) < 1 or not count:
        return []
    if prod(wanted) == count:
        return [graph.add(sh.Reshape(), source, value)]
    if count % wanted[-1] == 0:
        last = graph.add(shape_parts.Slice(), value, *(vector(graph, bound) for bound in (-1, shape_parts.BEYOND, 0)))
        parts = draw(st.permutations([last, vector(graph, -1)]))
        return [graph.add(sh.Reshape(), source, graph.add(shape_parts.Concat(0), *parts))]
    return []


def grow_cut_tensor(draw: st.DrawFn, graph: Graph, value: Value) -> Sequence[Value]:
    """x cut at a bound that was computed."""
    ends = [graph.add(sh.Reshape(), value, vector(graph, 1)), vector(graph, shape_parts.BEYOND)]
    start, end = ends if draw(st.booleans()) else [vector(graph, 0), ends[0]]
    axis, step = draw(st.integers(0, len(sizes_of(graph["x"])) - 1)), draw(st.sampled_from([1, 2]))
    return [graph.add(shape_parts.Slice(), graph["x"], start, end, vector(graph, axis), vector(graph, step))]


def grow_resized(draw: st.DrawFn, graph: Graph, value: Value) -> Sequence[Value]:
    """A resized tensor: by constant factors, or to sizes that are computed."""
    shape = sizes_of(value)
    factors = tuple(draw(st.sampled_from([1.0, 2.0, 0.5, 1.5, 0.6])) for _ in shape)
    if len(shape) > 4 or min(shape, default=0) < 1 or min(map(lambda s, f: int(s * f), shape, factors), default=0) < 1:
        return []
    if prod(shape) * prod(factors) > MAX_ELEMENTS:
        return []
    return [graph.add(resize.Resize(coordinates=resize.Coordinates.ASYMMETRIC, factors=factors), value)]


def grow_tensor(draw: st.DrawFn, graph: Graph, value: Value) -> Sequence[Value]:
    """Operators with rules of their own, on a float tensor."""
    rank = len(sizes_of(value))
    axis = draw(st.integers(-rank, rank - 1))
    kind = draw(st.sampled_from(["topk", "onehot", "einsum", "added", "where", "like", "squeezed", "elements"]))
    if kind == "topk":
        count = draw(st.integers(1, max(sizes_of(value)[axis], 1)))
        if count > sizes_of(value)[axis]:
            return []
        return graph.add_node(reduction.TopK(axis), [value, vector(graph, count)]).outputs[:1]
    if kind == "onehot":
        found = graph.add(reduction.ArgMax(axis), value) if 0 not in sizes_of(value) else None
        held = graph.constant([0.0, 1.0], DType.FLOAT32)
        depth = graph.constant(draw(st.integers(1, 4)), DType.INT64)
        return [] if found is None or rank > 4 else [graph.add(indexing.OneHot(axis), found, depth, held)]
    if kind == "einsum":
        letters = "abcde"[:rank]
        return [graph.add(Einsum(f"{letters},{letters}->{letters[::-1][: draw(st.integers(0, rank))]}"), value, value)]
    if kind == "added":
        last = sizes_of(value)[-1]
        bias = graph.add_parameter(graph.fresh_name("w"), Tensor.of(np.ones((draw(st.sampled_from([1, last])),), "f")))
        return [graph.add(draw(st.sampled_from([ew.Add(), ew.Mul(), ew.Max()])), value, bias)]
    if kind == "where":
        return [graph.add(ew.Where(), graph.add(ew.Greater(), value, value), value, value)]
    if kind == "like":
        return [graph.add(CastLike(), graph.add(sh.Shape(), value), value)]
    if kind == "squeezed":
        wide = graph.add(sh.Unsqueeze(), value, vector(graph, axis))
        return [wide] if draw(st.booleans()) else [graph.add(sh.Squeeze(), wide)]
    places = graph.add(reduction.ArgMin(axis), value) if 0 not in sizes_of(value) else None
    return [] if places is None else [graph.add(indexing.GatherElements(axis), value, places)]


def grow_sizes(draw: st.DrawFn, graph: Graph, value: Value) -> Sequence[Value]:
    rank = len(sizes_of(value))
    start = draw(st.integers(0, max(rank - 1, 0)))
    if draw(st.integers(0, 3)) == 0:
        return [graph.add(sh.Size(), value)]
    return [graph.add(sh.Shape(start, draw(st.sampled_from([None, rank, start + 1]))), value)]


ON_NUMBERS: tuple[Grow, ...] = (grow_arithmetic, grow_division, grow_unary, grow_fraction, grow_choice)
ON_VECTORS: tuple[Grow, ...] = (
    *(grow_pick, grow_cut, grow_joined, grow_parts, grow_written, grow_folded, grow_running, grow_matrix),
    *(grow_true_places, grow_filled, grow_reshaped),
)
ON_SCALARS: tuple[Grow, ...] = (grow_range, grow_cut_tensor)
ON_TENSORS: tuple[Grow, ...] = (grow_sizes, grow_sizes, grow_tensor, grow_resized)


def fitting(value: Value) -> tuple[Grow, ...]:
    """The steps that may go on from a value."""
    shape = sizes_of(value)
    if value.dtype is DType.FLOAT32:
        return ON_TENSORS if 0 < len(shape) <= 5 and prod(shape) <= MAX_ELEMENTS else ()
    if value.dtype is not DType.INT64 or numbers(value) is None:
        return ()
    if not shape:
        return ON_NUMBERS + ON_SCALARS
    return ON_NUMBERS + ON_VECTORS if len(shape) == 1 and 0 < shape[0] <= 12 else ()


@st.composite
def programs(draw: st.DrawFn, most: int = 12) -> Graph:
    """A program of up to `most` steps; the outputs are all its results."""
    graph = Graph("program")
    sizes = tuple(draw(st.integers(1, 6)) for _ in range(draw(st.integers(1, 4))))
    graph.add_input("x", TensorType(DType.FLOAT32, sizes))
    open_values = [graph["x"], *grow_sizes(draw, graph, graph["x"])]
    for _ in range(draw(st.integers(1, most))):
        value = draw(st.sampled_from(open_values[-6:]))
        steps = fitting(value)
        if not steps:
            continue
        try:
            made = draw(st.sampled_from(steps))(draw, graph, value)
        except ShapeError:
            continue  # a step that its operator refuses for these sizes
        open_values.extend(result for result in made if result.shape is not None and fits(result))
    graph.set_outputs([value for value in graph.values if value.producer is not None])
    return graph


def fits(value: Value) -> bool:
    """Whether the value's sizes are numbers, as they must be to draw further steps."""
    return all(isinstance(size, int) for size in value.shape or ())


__all__ = ["programs"]
