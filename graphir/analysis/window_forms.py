"""Windows that a target made of several nodes are one node again: pads, crops, divisors and policies of their own.

Exporters lay out what their target has no attribute for: a Pad in front, a Slice behind a transposed convolution, a
sum that is divided by how many data each window holds, padding computed from the data's shape. All of it is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from graphir.graph import Graph, Node, Value
from graphir.ops.convolution import Conv, ConvTranspose
from graphir.ops.creation import ConstantOfShape
from graphir.ops.elementwise import Div, Max, Mul
from graphir.ops.pooling import AveragePool, LpPool, MaxPool
from graphir.ops.shape import Expand, Pad, PadMode, Squeeze, Unsqueeze
from graphir.ops.slicing import Slice
from graphir.padding import Explicit, Same, SameMode, same_total, valid
from graphir.passes.dead_code import remove_dead_code
from graphir.passes.explicit_padding import kernel_of
from graphir.passes.fold_pad import fill_is_neutral, fold_pads, pad_in_front
from graphir.passes.rewrite import bypass
from graphir.types import Dim, DType, Sym


def unite_windows(graph: Graph) -> None:
    """Rewrite the graph so. Subgraphs included. Linear in nodes."""
    for node in list(graph.nodes):
        if isinstance(node.op, Squeeze):
            _take_narrow_pad(graph, node)
    fold_pads(graph)
    for node in list(graph.nodes):
        for inner in node.subgraphs:
            unite_windows(inner)
        if isinstance(node.op, Conv | MaxPool | AveragePool | LpPool):
            _take_policy(graph, node, node.op)
        elif isinstance(node.op, ConvTranspose):
            _take_crop(graph, node, node.op)
    for node in list(graph.nodes):
        if isinstance(node.op, Div):
            _take_divisor(graph, node)
    remove_dead_code(graph)


def drop_lowest(graph: Graph) -> None:
    """Pads without the maximum with the lowest number that keeps a runtime from fusing them. Subgraphs included."""
    for node in list(graph.nodes):
        for inner in node.subgraphs:
            drop_lowest(inner)
        if isinstance(node.op, Max) and len(node.inputs) == 2:
            _take_lowest(graph, node)


def _take_lowest(graph: Graph, node: Node) -> None:
    data, minimum = node.inputs
    if data is None or data.producer is None or data.dtype is None or not isinstance(data.producer.op, Pad):
        return
    if minimum is None or minimum.tensor is None or minimum.shape != ():
        return
    lowest = -math.inf if data.dtype.is_float else np.iinfo(data.dtype.numpy()).min
    if minimum.tensor.numpy() == lowest and bypass(graph, node, data):
        data.producer.name = node.name


def _take_narrow_pad(graph: Graph, node: Node) -> None:
    """A Pad of three axes, for one of four with an axis that is put in before and taken out behind."""
    value = node.inputs[0]
    pad = None if value is None else value.producer
    wide = None if pad is None or pad.inputs[0] is None else pad.inputs[0].producer
    if pad is None or wide is None or not isinstance(pad.op, Pad) or not isinstance(wide.op, Unsqueeze):
        return
    data = wide.inputs[0]
    axes, same = wide.integers(1), node.integers(1)
    amounts = pad.integers(1)
    if data is None or data.rank is None or axes is None or len(axes) != 1:
        return
    if amounts is None or len(pad.inputs) > 3:
        return
    rank, index = data.rank, axes[0] % (data.rank + 1)
    if same is None or [axis % (rank + 1) for axis in same] != [index]:
        return
    if len(amounts) != 2 * (rank + 1) or amounts[index] or amounts[index + rank + 1]:
        return
    kept = [number for axis, number in enumerate(amounts) if axis % (rank + 1) != index]
    narrow = graph.constant(kept, DType.INT64)
    graph.replace(node, pad.op, (data, narrow, *pad.inputs[2:])).name = pad.name


def _take_policy(graph: Graph, node: Node, op: Conv | MaxPool | AveragePool | LpPool) -> None:
    """SAME for a Pad whose amounts are computed from the data's shape as SAME has them."""
    before, order = pad_in_front(node)
    kernel = kernel_of(node)
    if before is None or order or kernel is None or not isinstance(op.padding, Explicit) or not op.padding.is_zero:
        return
    amounts, data = before.inputs[1], before.inputs[0]
    if amounts is None or amounts.known is None or data is None or data.shape is None or len(before.inputs) > 3:
        return
    rank = len(kernel)
    sizes = amounts.known.dims()
    if len(sizes) != 2 * (rank + 2) or not isinstance(before.op, Pad) or before.op.mode is not PadMode.CONSTANT:
        return
    if not any(isinstance(size, Sym) for size in sizes) or not fill_is_neutral(op, before):
        return
    ones = (1,) * rank
    spans = data.shape[2:], kernel, op.strides or ones, op.dilations or ones
    for mode in SameMode:
        pairs = [_halves(same_total(*axis), mode) for axis in zip(*spans, strict=True)]
        if sizes == (0, 0, *(first for first, _ in pairs), 0, 0, *(last for _, last in pairs)):
            operator = replace(op, padding=Same(mode))
            if isinstance(operator, AveragePool):
                operator = replace(operator, count_include_pad=True)
            graph.replace(node, operator, (data, *node.inputs[1:]))
            return


def _halves(total: Dim, mode: SameMode) -> tuple[Dim, Dim]:
    less = total // 2
    return (less, total - less) if mode is SameMode.UPPER else (total - less, less)


def _take_crop(graph: Graph, node: Node, op: ConvTranspose) -> None:
    """A Slice of the spatial axes behind becomes part of what is cropped."""
    result = node.outputs[0]
    users = result.users()
    if len(users) != 1 or graph.is_output(result) or not isinstance(users[0].op, Slice) or users[0].graph is not graph:
        return
    kernel = kernel_of(node)
    if kernel is None or not isinstance(op.padding, Explicit) or op.output_shape or users[0].inputs[0] is not result:
        return
    crops = _crops(users[0], len(kernel))
    if crops is None:
        return
    pads = op.padding.pads or ((0, 0),) * len(kernel)
    whole = Explicit(tuple((a + c, b + d) for (a, b), (c, d) in zip(pads, crops, strict=True)))
    cut = graph.replace(users[0], replace(op, padding=whole), node.inputs)
    graph.erase(node)
    cut.name = node.name


def _crops(node: Node, rank: int) -> tuple[tuple[int, int], ...] | None:
    """Return what a Slice takes off at both ends of each spatial axis, None if it does something else or is not
    constant."""
    data, shape = node.inputs[0], node.outputs[0].shape
    if data is None or data.rank != rank + 2 or data.shape is None or shape is None:
        return None
    starts, ends, axes, steps = (node.integers(slot) for slot in range(1, 5))
    if starts is None or ends is None or (node.operand(4) is not None and steps is None):
        return None
    if node.operand(3) is not None and axes is None:
        return None
    pairs = [(0, 0)] * (rank + 2)
    chosen = [axis % (rank + 2) for axis in axes] if axes else range(len(starts))
    for index, axis in enumerate(chosen):
        pair = _ends(data.shape[axis], starts[index], ends[index])
        if pair is None or (steps and steps[index] != 1):
            return None
        pairs[axis] = pair
    return None if any(map(any, pairs[:2])) else tuple(pairs[2:])


def _ends(size: Dim, start: int, end: int) -> tuple[int, int] | None:
    """Return what [start:end] takes off an axis, None if its size would have to be known."""
    if isinstance(size, int):
        first, last, _ = slice(start, end).indices(size)
        return (first, size - last) if first < last else None
    after = 0 if end > 1 << 30 else -end
    return (start, after) if start >= 0 and after >= 0 else None


def _take_divisor(graph: Graph, node: Node) -> None:
    """An average over data only, for one that counts its padding and is divided by the share of data among it."""
    value, divisor = node.inputs
    scale = 1.0
    if value is not None and value.producer is not None and isinstance(value.producer.op, Mul):
        value, factor = value.producer.inputs
        number = _scalar(factor)
        if number is None:
            return
        scale = number
    if value is None or value.producer is None or divisor is None or value.producer.graph is not graph:
        return
    pool = value.producer
    op = pool.op
    counts_all = isinstance(op, AveragePool) and (op.count_include_pad or op.padding in (Explicit(), _none(op)))
    if not isinstance(op, AveragePool) or not counts_all:
        return
    if _is_share(divisor, pool, scale):
        graph.replace(node, replace(op, count_include_pad=False), pool.inputs).name = pool.name


def _none(op: AveragePool) -> Explicit:
    return valid(len(op.kernel_shape))


def _is_share(divisor: Value, pool: Node, scale: float) -> bool:
    """Return whether the divisor is the share of data in each window, times `scale`."""
    import numpy as np

    op = pool.op
    assert isinstance(op, AveragePool)
    if divisor.producer is not None:
        return scale == 1 and isinstance(divisor.producer.op, AveragePool) and _pools_ones(divisor.producer, pool)
    counts = data_counts(pool, op)
    if divisor.tensor is None or counts is None:
        return False
    shares = np.ones((1, 1))
    for axis in counts:
        shares = shares[..., None] * np.asarray(axis, np.float64)
    wanted = shares * scale / math.prod(op.kernel_shape)
    divisors = divisor.tensor.numpy().astype(np.float64)
    if divisors.ndim != wanted.ndim:
        return False
    return np.allclose(np.broadcast_arrays(divisors, wanted)[0], wanted, rtol=1e-6, atol=0)


def _pools_ones(share: Node, pool: Node) -> bool:
    """Return whether the first does to ones, padded with zeros, what the second does to its data."""
    import numpy as np

    op, other, ones, data = pool.op, share.op, share.inputs[0], pool.inputs[0]
    assert isinstance(op, AveragePool)
    assert isinstance(other, AveragePool)
    if ones is None or data is None or ones.shape is None or data.shape is None or len(ones.shape) != len(data.shape):
        return False
    if replace(other, padding=op.padding, count_include_pad=op.count_include_pad) != op:
        return False
    if ones.tensor is None:
        return other == op and ones.shape == data.shape and _is_ones(ones)
    if not isinstance(op.padding, Explicit) or not isinstance(other.padding, Explicit):
        return False
    none = ((0, 0),) * len(op.kernel_shape)
    around = [
        (before - first, after - last)
        for (before, after), (first, last) in zip(op.padding.pads or none, other.padding.pads or none, strict=True)
    ]
    sizes = data.shape[2:]
    if not all(isinstance(size, int) for size in sizes) or any(number < 0 for pair in around for number in pair):
        return False
    wanted = np.pad(np.ones(sizes), around)
    values = ones.tensor.numpy()
    return values.shape[2:] == wanted.shape and bool((values == wanted).all())


def data_counts(node: Node, op: AveragePool) -> list[list[int]] | None:
    """For each spatial axis, how many data each window holds; None where sizes are open."""
    rank = len(op.kernel_shape)
    shape, result, ones = node.inputs[0], node.outputs[0].shape, (1,) * rank
    if shape is None or shape.shape is None or result is None or not isinstance(op.padding, Explicit):
        return None
    pads = op.padding.pads or ((0, 0),) * rank
    counts = []
    for axis, (before, _) in enumerate(pads):
        size, count = shape.shape[axis + 2], result[axis + 2]
        if not isinstance(size, int) or not isinstance(count, int):
            return None
        counts.append(
            counted(
                *(size, count, op.kernel_shape[axis], (op.strides or ones)[axis], (op.dilations or ones)[axis]), before
            )
        )
    return counts


def counted(
    size: int, windows: int, kernel: int, stride: int, dilation: int, before: int, around: Sequence[int] = (0, 0)
) -> list[int]:
    """Return how many elements of each window lie in the data, or in `around` (before, after) them.

    >>> counted(5, 3, 3, 2, 1, 1), counted(5, 3, 3, 2, 1, 1, (1, 1))
    ([2, 3, 2], [3, 3, 3])
    """
    starts = [window * stride - before for window in range(windows)]
    return [
        sum(-around[0] <= start + step * dilation < size + around[1] for step in range(kernel)) for start in starts
    ]


def _scalar(value: Value | None) -> float | None:
    if value is None or value.tensor is None or value.tensor.size != 1:
        return None
    return float(value.tensor.numpy().reshape(-1)[0])


def _is_ones(value: Value) -> bool:
    """Return whether every element is 1."""
    maker = value.producer
    if maker is not None and isinstance(maker.op, Expand):
        return _scalar(maker.inputs[0]) == 1
    return maker is not None and isinstance(maker.op, ConstantOfShape) and maker.op.value == 1
