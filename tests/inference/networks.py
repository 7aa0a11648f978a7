"""Random networks of valid operators over one float input of known shape, for properties."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import strategies as st

from graphir.errors import ShapeError
from graphir.graph import Graph, Value
from graphir.ops import activation, pooling, reduction
from graphir.ops import elementwise as ew
from graphir.ops.convolution import Conv, ConvTranspose
from graphir.ops.indexing import Gather
from graphir.ops.linear import Gemm, MatMul
from graphir.ops.normalization import BatchNormalization, InstanceNormalization
from graphir.ops.shape import Expand, Flatten, Pad, Reshape, Shape, Squeeze, Tile, Transpose, Unsqueeze
from graphir.ops.shape_parts import Concat, Slice, Split
from graphir.padding import Explicit, Padding, Same, SameMode
from graphir.tensor import Tensor
from graphir.types import DType, TensorType

MAX_ELEMENTS = 3000
Grow = Callable[[st.DrawFn, Graph, Value], Sequence[Value]]


def sizes_of(value: Value) -> tuple[int, ...]:
    """The shape, which is known in these networks."""
    assert value.shape is not None
    return value.shape


def weight(graph: Graph, *shape: int) -> Value:
    """A parameter of small fixed numbers."""
    elements = np.cos(np.arange(int(np.prod(shape)), dtype=np.float32)).reshape(shape) / 2
    return graph.add_parameter(graph.fresh_name("w"), Tensor.of(elements))


def vector(graph: Graph, *elements: int) -> Value:
    """A shared int64 constant."""
    return graph.constant(np.array(elements, np.int64))


UNARY = (ew.Neg(), ew.Abs(), ew.Identity(), ew.Floor(), ew.Exp(), ew.Cast(DType.FLOAT32), activation.Relu(),
         activation.Sigmoid(), activation.Tanh(), activation.LeakyRelu(0.2), activation.Softplus())  # fmt: skip


def grow_unary(draw: st.DrawFn, graph: Graph, x: Value) -> Sequence[Value]:
    return [graph.add(draw(st.sampled_from(UNARY)), x)]


def grow_clip(draw: st.DrawFn, graph: Graph, x: Value) -> Sequence[Value]:
    bounds = [graph.constant(bound, DType.FLOAT32) if draw(st.booleans()) else None for bound in (-1.0, 2.0)]
    return [graph.add(ew.Clip(), x, *bounds)]


def grow_binary(draw: st.DrawFn, graph: Graph, x: Value) -> Sequence[Value]:
    shape = sizes_of(x)
    others = [value for value in graph.values if value.dtype is DType.FLOAT32 and broadcasts(shape, sizes_of(value))]
    others.append(weight(graph, *[size if draw(st.booleans()) else 1 for size in shape[draw(st.integers(0, 2)) :]]))
    operands = [x, draw(st.sampled_from(others))]
    return [graph.add(draw(st.sampled_from([ew.Add(), ew.Sub(), ew.Mul(), ew.Max(), ew.Sum()])), *operands)]


def broadcasts(left: tuple[int, ...], right: tuple[int, ...]) -> bool:
    try:
        return int(np.prod(np.broadcast_shapes(left, right))) <= MAX_ELEMENTS
    except ValueError:
        return False


def grow_where(draw: st.DrawFn, graph: Graph, x: Value) -> Sequence[Value]:
    zero = graph.constant(0.0, DType.FLOAT32)
    condition = graph.add(draw(st.sampled_from([ew.Greater(), ew.Less(), ew.Equal()])), x, zero)
    return [graph.add(ew.Where(), condition, x, zero)]


def paddings(draw: st.DrawFn, rank: int) -> Padding:
    if draw(st.booleans()):
        return Same(draw(st.sampled_from(SameMode)))
    return Explicit(tuple((draw(st.integers(0, 1)), draw(st.integers(0, 1))) for _ in range(rank)))


def strides_of(draw: st.DrawFn, rank: int) -> tuple[int, ...]:
    return tuple(draw(st.integers(1, 3)) for _ in range(rank))


def grow_conv(draw: st.DrawFn, graph: Graph, x: Value) -> Sequence[Value]:
    channels, *space = sizes_of(x)[1:]
    kernel = tuple(draw(st.integers(1, 3)) for _ in space)
    group = channels if draw(st.booleans()) else 1
    filters = group * draw(st.integers(1, 2))
    padding = paddings(draw, len(space))
    dilations = () if isinstance(padding, Same) else tuple(draw(st.integers(1, 2)) for _ in space)
    op = Conv(kernel, strides_of(draw, len(space)), dilations, padding, group)
    bias = [weight(graph, filters)] if draw(st.booleans()) else []
    return [graph.add(op, x, weight(graph, filters, channels // group, *kernel), *bias)]


def grow_conv_transpose(draw: st.DrawFn, graph: Graph, x: Value) -> Sequence[Value]:
    channels, *space = sizes_of(x)[1:]
    kernel = tuple(draw(st.integers(1, 3)) for _ in space)
    op = ConvTranspose(kernel, strides_of(draw, len(space)))
    return [graph.add(op, x, weight(graph, channels, 2, *kernel))]


def grow_pool(draw: st.DrawFn, graph: Graph, x: Value) -> Sequence[Value]:
    space = sizes_of(x)[2:]
    kernel = tuple(draw(st.integers(2, 3)) for _ in space)
    kind = draw(st.sampled_from([pooling.MaxPool, pooling.AveragePool]))
    padding = paddings(draw, len(space))
    ceil_mode, strides = False, strides_of(draw, len(space))
    if isinstance(padding, Explicit) and draw(st.booleans()):
        # onnx infers a window that begins behind the data, onnxruntime computes none: with these strides none does
        limits = (size - after for size, (_, after) in zip(kernel, padding.pads, strict=True))
        ceil_mode, strides = True, tuple(map(min, strides, limits))
    return graph.add_node(kind(kernel, strides, (), padding, ceil_mode), [x]).outputs[:1]


def grow_global_pool(draw: st.DrawFn, graph: Graph, x: Value) -> Sequence[Value]:
    return [graph.add(draw(st.sampled_from([pooling.GlobalMaxPool(), pooling.GlobalAveragePool()])), x)]


def grow_norm(draw: st.DrawFn, graph: Graph, x: Value) -> Sequence[Value]:
    shape = sizes_of(x)
    if draw(st.booleans()):
        return [graph.add(InstanceNormalization(), x, weight(graph, shape[1]), weight(graph, shape[1]))]
    variance = graph.add_parameter(graph.fresh_name("var"), Tensor.of(np.ones(shape[1], np.float32)))
    return [graph.add(BatchNormalization(), x, *(weight(graph, shape[1]) for _ in range(3)), variance)]


def grow_matmul(draw: st.DrawFn, graph: Graph, x: Value) -> Sequence[Value]:
    shape, columns = sizes_of(x), draw(st.integers(1, 4))
    if len(shape) == 2 and draw(st.booleans()):
        return [graph.add(Gemm(transB=True), x, weight(graph, columns, shape[1]), weight(graph, columns))]
    return [graph.add(MatMul(), x, weight(graph, shape[-1], columns))]


def grow_transpose(draw: st.DrawFn, graph: Graph, x: Value) -> Sequence[Value]:
    perm = draw(st.permutations(range(len(sizes_of(x)))))
    return [graph.add(Transpose(tuple(perm)), x)]


def grow_reshape(draw: st.DrawFn, graph: Graph, x: Value) -> Sequence[Value]:
    shape = sizes_of(x)
    forms = [(-1,), (0, -1), (*shape[:-2], -1), (1, *shape), (*shape[::-1],), (shape[0], -1, 1), (0, 0, -1)]
    return [graph.add(Reshape(), x, vector(graph, *draw(st.sampled_from(forms))))]


def grow_flatten(draw: st.DrawFn, graph: Graph, x: Value) -> Sequence[Value]:
    return [graph.add(Flatten(draw(st.integers(0, len(sizes_of(x))))), x)]


def grow_computed_reshape(draw: st.DrawFn, graph: Graph, x: Value) -> Sequence[Value]:
    """The shape by way of Shape, Gather or Slice, and Concat, as exporters write it."""
    shape = graph.add(Shape(), x)
    if draw(st.booleans()):
        first = graph.add(Gather(), shape, vector(graph, 0))
    else:
        first = graph.add(Slice(), shape, vector(graph, 0), vector(graph, 1))
    if draw(st.booleans()):
        scalar = graph.add(Gather(), shape, graph.constant(0, DType.INT64))
        first = graph.add(Unsqueeze(), scalar, vector(graph, 0))
    wanted = graph.add(Concat(0), first, vector(graph, -1))
    return [graph.add(Reshape(), x, wanted)]


def grow_squeezed(draw: st.DrawFn, graph: Graph, x: Value) -> Sequence[Value]:
    axis = draw(st.integers(0, len(sizes_of(x))))
    wide = graph.add(Unsqueeze(), x, vector(graph, axis))
    return [wide, graph.add(Squeeze(), wide, vector(graph, axis))]


def grow_parts(draw: st.DrawFn, graph: Graph, x: Value) -> Sequence[Value]:
    shape = sizes_of(x)
    axis = draw(st.integers(0, len(shape) - 1))
    first = draw(st.integers(1, max(shape[axis] - 1, 1)))
    if first == shape[axis]:
        return [graph.add(Concat(axis), x, x)]
    parts = graph.add_node(Split(2, axis), [x, vector(graph, first, shape[axis] - first)]).outputs
    return [*parts, graph.add(Concat(axis), parts[1], parts[0])]


def grow_slice(draw: st.DrawFn, graph: Graph, x: Value) -> Sequence[Value]:
    shape = sizes_of(x)
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    size = shape[axis]
    start, end = draw(st.integers(-size, size - 1)), draw(st.integers(-size, size + 3))
    step = draw(st.sampled_from([1, 2, 3]))
    if not range(size)[start:end:step]:
        start, end = 0, size
    return [graph.add(Slice(), x, *(vector(graph, number) for number in (start, end, axis, step)))]


def grow_padded(draw: st.DrawFn, graph: Graph, x: Value) -> Sequence[Value]:
    amounts = [draw(st.integers(0, 2)) for _ in range(2 * len(sizes_of(x)))]
    return [graph.add(Pad(), x, vector(graph, *amounts))]


def grow_tiled(draw: st.DrawFn, graph: Graph, x: Value) -> Sequence[Value]:
    return [graph.add(Tile(), x, vector(graph, *[draw(st.integers(1, 2)) for _ in sizes_of(x)]))]


def grow_expanded(draw: st.DrawFn, graph: Graph, x: Value) -> Sequence[Value]:
    return [graph.add(Expand(), x, vector(graph, 2, *(1 for _ in sizes_of(x))))]


def grow_reduced(draw: st.DrawFn, graph: Graph, x: Value) -> Sequence[Value]:
    rank = len(sizes_of(x))
    axes = draw(st.lists(st.integers(0, rank - 1), unique=True, max_size=rank))
    kind = draw(st.sampled_from([reduction.ReduceSum, reduction.ReduceMax, reduction.ReduceMean]))
    stated = [vector(graph, *(axis - rank for axis in axes))] if axes else []
    return [graph.add(kind(keepdims=draw(st.booleans()) or len(axes) in (0, rank)), x, *stated)]


def grow_indices(draw: st.DrawFn, graph: Graph, x: Value) -> Sequence[Value]:
    axis = draw(st.integers(0, len(sizes_of(x)) - 1))
    found = graph.add(reduction.ArgMax(axis, keepdims=draw(st.booleans())), x)
    graph.add(ew.Cast(DType.FLOAT16), found)
    return [graph.add(Gather(axis), x, vector(graph, 0, -1, 0))]


def grow_softmax(draw: st.DrawFn, graph: Graph, x: Value) -> Sequence[Value]:
    return [graph.add(activation.Softmax(draw(st.integers(-len(sizes_of(x)), -1))), x)]


def is_handy(shape: tuple[int, ...]) -> bool:
    """Whether a tensor of that shape may be grown further."""
    return 0 < len(shape) <= 5 and 0 < math.prod(shape) <= MAX_ELEMENTS


ANY_RANK: tuple[Grow, ...] = (
    *(grow_unary, grow_clip, grow_binary, grow_where, grow_transpose, grow_reshape, grow_flatten),
    *(grow_computed_reshape, grow_squeezed, grow_parts, grow_slice, grow_padded, grow_tiled, grow_expanded),
    *(grow_reduced, grow_indices, grow_softmax, grow_matmul),
)
SPATIAL: tuple[Grow, ...] = (grow_conv, grow_conv_transpose, grow_pool, grow_global_pool, grow_norm)


@st.composite
def networks(draw: st.DrawFn, most: int = 8) -> Graph:
    """A network of up to `most` steps over the input `x`; the outputs are the results that nothing uses."""
    graph = Graph("network")
    rank = draw(st.integers(2, 4))
    shape = tuple(draw(st.integers(1, 7)) for _ in range(rank))
    ends = [graph.add_input("x", TensorType(DType.FLOAT32, shape))]
    for _ in range(draw(st.integers(1, most))):
        x = draw(st.sampled_from(ends[-4:]))
        rank = len(sizes_of(x))
        usable = (*ANY_RANK, *SPATIAL) if 3 <= rank <= 4 else ANY_RANK
        try:
            made = draw(st.sampled_from(usable))(draw, graph, x)
        except ShapeError:  # a window that does not fit, an axis that is not there: refused, as it should be
            continue
        ends += [value for value in made if is_handy(sizes_of(value))]
    results = [value for value in graph.values if value.producer is not None]
    graph.set_outputs([value for value in results if not value.uses])
    return graph
