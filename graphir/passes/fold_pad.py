"""A Pad in front of a convolution or pooling becomes part of its padding."""

from __future__ import annotations

from dataclasses import replace

from ..graph import Graph, Node, Value
from ..ops.activation import Relu, Sigmoid, Softmax
from ..ops.base import Operator
from ..ops.convolution import Conv
from ..ops.pooling import AveragePool, MaxPool
from ..ops.shape import Pad, PadMode
from ..padding import Explicit, Same, valid
from .dead_code import remove_dead_code
from .explicit_padding import kernel_of
from .rewrite import replace_node

NOT_NEGATIVE: tuple[type[Operator], ...] = (Relu, Sigmoid, Softmax)


def fold_pads(graph: Graph) -> bool:
    """Merge a Pad of spatial axes with constants into the convolution or pooling behind it, where that is exact.

    A convolution takes zeros; average pooling zeros, which its divisor then counts; max pooling the lowest number or
    minus infinity, or zeros in front of data that are never negative if every window touches the data. A Pad that has
    other users stays for them. Returns whether anything changed. Linear in nodes.
    """
    changed = False
    for node in list(graph.nodes):
        for inner in node.subgraphs:
            changed |= fold_pads(inner)
        value = node.inputs[0] if node.inputs else None
        if not isinstance(node.op, Conv | AveragePool | MaxPool) or value is None or value.producer is None:
            continue
        before = value.producer
        if isinstance(before.op, Pad) and before.graph is graph:
            merged = _merged(node, before)
            if merged is not None:
                replace_node(graph, node, merged, (before.inputs[0], *node.inputs[1:]))
                changed = True
    if changed:
        remove_dead_code(graph)
    return changed


def _merged(node: Node, before: Node) -> Operator | None:
    """The operator with the padding of the Pad in front of it, None where that would change numbers."""
    op, kernel = node.op, kernel_of(node)
    assert isinstance(op, Conv | AveragePool | MaxPool)
    pads = spatial_pads(before)
    if pads is None or kernel is None or len(kernel) != len(pads) or isinstance(op.padding, Same):
        return None
    fill = _fill(before)
    own = op.padding.pads or ((0, 0),) * len(pads)
    whole = Explicit(tuple((a + c, b + d) for (a, b), (c, d) in zip(own, pads, strict=True)))
    if fill is None:
        return None
    if isinstance(op, Conv):
        return replace(op, padding=whole) if fill == 0 else None
    if op.ceil_mode or any(max(pair) >= width for pair, width in zip(whole.pads, kernel, strict=True)):
        return None  # runtimes refuse windows that would hold padding only
    if isinstance(op, AveragePool):
        if fill != 0 or not (op.count_include_pad or op.padding.is_zero):
            return None
        return replace(op, padding=whole, count_include_pad=True)
    return replace(op, padding=whole) if _is_lowest(fill, before) or _is_harmless(op, before, fill) else None


def spatial_pads(node: Node) -> tuple[tuple[int, int], ...] | None:
    """The (before, after) of the spatial axes of a Pad with constants that pads nothing else and crops nothing."""
    op = node.op
    assert isinstance(op, Pad)
    data, amounts = node.inputs[0], node.inputs[1]
    axes = node.inputs[3] if len(node.inputs) > 3 else None
    numbers = None if amounts is None or amounts.known is None else amounts.known.integers()
    if op.mode is not PadMode.CONSTANT or numbers is None or data is None or data.rank is None:
        return None
    chosen = tuple(range(data.rank))
    if axes is not None:
        stated = None if axes.known is None else axes.known.integers()
        if stated is None:
            return None
        chosen = tuple(axis % data.rank for axis in stated)
    half = len(numbers) // 2
    found = [(0, 0)] * data.rank
    for axis, first, last in zip(chosen, numbers[:half], numbers[half:], strict=True):
        found[axis] = first, last
    if any(number < 0 for pair in found for number in pair) or any(map(any, found[:2])):
        return None
    return tuple(found[2:])


def _fill(node: Node) -> float | None:
    """What a Pad pads with, None if that is computed."""
    value: Value | None = node.inputs[2] if len(node.inputs) > 2 else None
    if value is None:
        return 0.0
    if value.tensor is None or value.tensor.size != 1:
        return None
    return float(value.tensor.numpy().reshape(-1)[0])


def _is_lowest(fill: float, before: Node) -> bool:
    """Whether no number is smaller: max pooling's own padding."""
    import numpy as np

    data = before.inputs[0]
    if fill == -np.inf:
        return True
    if data is None or data.dtype is None or not data.dtype.is_float:
        return False
    return bool(fill <= float(np.finfo(data.dtype.numpy()).min))


def _is_harmless(op: MaxPool, before: Node, fill: float) -> bool:
    """Whether zeros change no maximum: the data are never negative, and every window holds some of them."""
    data = before.inputs[0]
    if fill != 0 or data is None or data.producer is None or not isinstance(data.producer.op, NOT_NEGATIVE):
        return False
    return op.padding in (Explicit(), valid(len(op.kernel_shape))) and all(dilation == 1 for dilation in op.dilations)


__all__ = ["fold_pads", "spatial_pads"]
