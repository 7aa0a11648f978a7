"""A Pad in front of a convolution or pooling becomes part of its padding."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from graphir.graph import Graph, Node, Value
from graphir.ops.activation import Relu, Sigmoid, Softmax
from graphir.ops.base import Operator
from graphir.ops.convolution import Conv
from graphir.ops.pooling import AveragePool, MaxPool
from graphir.ops.shape import Pad, PadMode, Transpose
from graphir.padding import Explicit, Same, valid

from .dead_code import remove_dead_code
from .explicit_padding import kernel_of
from .outcome import Outcome

NOT_NEGATIVE: tuple[type[Operator], ...] = (Relu, Sigmoid, Softmax)


def fold_pads(graph: Graph) -> Outcome:
    """Merge a Pad of spatial axes with constants into the convolution or pooling behind it, where that is exact.

    A convolution takes zeros; average pooling zeros, which its divisor then counts; max pooling the lowest number or
    minus infinity, or zeros in front of data that are never negative if every window touches the data. A Pad that has
    other users stays for them. A Transpose between the two stays too, if nothing else reads it. Linear in
    nodes.
    """
    outcome = Outcome()
    for node in list(graph.nodes):
        for inner in node.subgraphs:
            outcome |= fold_pads(inner)
        if not isinstance(node.op, Conv | AveragePool | MaxPool):
            continue
        before, order = pad_in_front(node)
        merged = None if before is None else _merge_padding(node, before, order)
        if before is not None and merged is not None:
            _without_pad(node, merged, before, order)
            outcome.note(node.name, f"the Pad {before.name} in front became part of its padding")
    if outcome:
        outcome |= remove_dead_code(graph)
    return outcome


def pad_in_front(node: Node) -> tuple[Node | None, tuple[int, ...]]:
    """Return the Pad that makes a window's data, None if there is none, and the order of a Transpose between them, ()
    if there is none. A Transpose that others read too does not count."""
    order: tuple[int, ...] = ()
    value, graph = node.inputs[0], node.graph
    if value is None or graph is None or value.producer is None or value.producer.graph is not graph:
        return None, ()
    maker = value.producer
    if isinstance(maker.op, Transpose) and len(value.uses) == 1 and not graph.is_output(value):
        order = maker.op.perm or tuple(reversed(range(value.rank or 0)))
        source = maker.inputs[0]
        if source is None or source.producer is None or source.producer.graph is not graph:
            return None, ()
        maker = source.producer
    return (maker, order) if isinstance(maker.op, Pad) else (None, ())


def _without_pad(node: Node, merged: Operator, before: Node, order: tuple[int, ...]) -> None:
    """`merged` in place of the node, reading what the Pad reads."""
    graph, data, rest = node.graph, before.inputs[0], node.inputs[1:]
    assert graph is not None
    if not order:
        graph.replace(node, merged, (data, *rest))
        return
    old = node.inputs[0]
    assert old is not None
    assert old.producer is not None
    name, turned = old.name, old.producer
    transposed = graph.add(Transpose(order), data, name=turned.name, output=graph.fresh_name(name), before=node)
    graph.replace(node, merged, (transposed, *rest))
    graph.erase(turned)
    graph.rename(transposed, name)


def _merge_padding(node: Node, before: Node, order: tuple[int, ...]) -> Operator | None:
    """Return the operator with the padding of the Pad in front of it, None where that would change numbers."""
    op, kernel = node.op, kernel_of(node)
    assert isinstance(op, Conv | AveragePool | MaxPool)
    pads = spatial_pads(before, order)
    if pads is None or kernel is None or len(kernel) != len(pads) or isinstance(op.padding, Same):
        return None
    fill = fill_of(before)
    own_pads = op.padding.pads or ((0, 0),) * len(pads)
    whole = Explicit(tuple((a + c, b + d) for (a, b), (c, d) in zip(own_pads, pads, strict=True)))
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


def spatial_pads(
    node: Node, order: tuple[int, ...] = (), modes: Container[PadMode] = (PadMode.CONSTANT,)
) -> tuple[tuple[int, int], ...] | None:
    """Return the (before, after) of the spatial axes of a Pad that pads nothing else, crops nothing and has one of the
    modes; `order` is that of a Transpose behind it."""
    op = node.op
    assert isinstance(op, Pad)
    data, numbers = node.inputs[0], node.integers(1)
    if op.mode not in modes or numbers is None or data is None or data.rank is None:
        return None
    chosen = tuple(range(data.rank))
    if node.operand(3) is not None:
        stated = node.integers(3)
        if stated is None:
            return None
        chosen = tuple(axis % data.rank for axis in stated)
    half = len(numbers) // 2
    pairs = [(0, 0)] * data.rank
    for axis, first, last in zip(chosen, numbers[:half], numbers[half:], strict=True):
        pairs[axis] = first, last
    pairs = [pairs[axis] for axis in order] if order else pairs
    if any(number < 0 for pair in pairs for number in pair) or any(map(any, pairs[:2])):
        return None
    return tuple(pairs[2:])


def fill_is_neutral(op: Operator, before: Node) -> bool:
    """Return whether what a Pad with constants pads with is what the window behind it takes its own padding for; an
    average counts it."""
    fill = fill_of(before)
    return fill is not None and (_is_lowest(fill, before) if isinstance(op, MaxPool) else fill == 0)


def fill_of(node: Node) -> float | None:
    """Return what a Pad pads with, None if that is computed."""
    value: Value | None = node.operand(2)
    if value is None:
        return 0.0
    if value.tensor is None or value.tensor.size != 1:
        return None
    return float(value.tensor.numpy().reshape(-1)[0])


def _is_lowest(fill: float, before: Node) -> bool:
    """Return whether no number is smaller: max pooling's own padding."""
    import numpy as np

    data = before.inputs[0]
    if fill == -np.inf:
        return True
    if data is None or data.dtype is None or not data.dtype.is_float:
        return False
    return bool(fill <= float(np.finfo(data.dtype.numpy()).min))


def _is_harmless(op: MaxPool, before: Node, fill: float) -> bool:
    """Return whether zeros change no maximum: the data are never negative, and every window holds some of them."""
    data = before.inputs[0]
    if fill != 0 or data is None or data.producer is None or not isinstance(data.producer.op, NOT_NEGATIVE):
        return False
    return op.padding in (Explicit(), valid(len(op.kernel_shape))) and all(dilation == 1 for dilation in op.dilations)
