"""How each operator works on operands whose axes are in another order.

`find_move` says what a node becomes when operands come transposed: the operator with its axes renamed, what other
operands become, and whether the results are transposed in the same way (elementwise operators, Concat, Pad...), or are
what they were (a reduction that keeps the order of what is left, a Reshape over axes of size 1).
`order[i]` is the old axis that stands at the new place i.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from graphir.graph import Node, Value
from graphir.ops import activation as act
from graphir.ops import reduction as red
from graphir.ops.base import Operator
from graphir.ops.indexing import CumProd, CumSum, Gather
from graphir.ops.resize import Resize
from graphir.ops.shape import Expand, Flatten, Pad, Reshape, Shape, Squeeze, Tile, Unsqueeze
from graphir.ops.shape_parts import Concat, Slice, Split
from graphir.ops.traits import Elementwise
from graphir.types import Dim

Order = tuple[int, ...]


@dataclass(frozen=True)
class Move:
    """What a node becomes over transposed operands.

    `slots` are the operands that come transposed, `vectors` the new elements of integer operands by slot. With `moves`
    the results are transposed too; otherwise they are the same as before, `picks` of them if it is given: the elements
    of the result in the order in which they are wanted (Shape gives sizes in the new order).
    """

    op: Operator
    slots: tuple[int, ...]
    vectors: dict[int, tuple[int, ...]] = field(default_factory=dict)
    moves: bool = True
    picks: tuple[int, ...] = ()


Rule = Callable[[Node, Order], Move | None]


def find_move(node: Node, order: Order) -> Move | None:
    """Return what the node becomes; None if it has to see (and give) the axes as they are."""
    if node.subgraphs:
        return None
    if node.op.elementwise is Elementwise.ALONE:
        return Move(node.op, (0,)) if _has_rank(node.inputs[0], order) else None
    if node.op.elementwise is Elementwise.BROADCAST:
        return _broadcasting(node, order)
    rule = RULES.get(type(node.op))
    return None if rule is None else rule(node, order)


def _has_rank(value: Value | None, order: Order) -> bool:
    return value is not None and value.rank == len(order)


def _front(axis: int, order: Order) -> int:
    """Return the axis counted from the front."""
    return axis + len(order) if axis < 0 else axis


def _new_axis(axis: int, order: Order) -> int:
    """Return where an old axis stands now."""
    return order.index(_front(axis, order))


def _keeps_order(order: Order, without: Iterable[int] = ()) -> bool:
    """Return whether the axes besides those stand in the same order as before."""
    gone = set(without)
    left = [axis for axis in order if axis not in gone]
    return left == sorted(left)


def _only_ones_move(shape: Sequence[Dim] | None, order: Order) -> bool:
    """Return whether the transposition of such a tensor moves no element: all axes that change order have size 1."""
    return shape is not None and _keeps_order(order, [axis for axis, dim in enumerate(shape) if dim == 1])


def is_spreadable(value: Value, order: Order) -> bool:
    """Return whether an operand of a broadcasting operator is a parameter, which can be stored in any order."""
    shape = value.shape
    static = shape is not None and all(isinstance(dim, int) for dim in shape)
    return value.producer is None and value.tensor is not None and static and len(shape or ()) <= len(order)


def _broadcasting(node: Node, order: Order) -> Move | None:
    slots = []
    for slot, value in enumerate(node.inputs):
        if value is None:
            return None
        if value.shape == ():
            continue
        if value.rank != len(order) and not is_spreadable(value, order):
            return None
        slots.append(slot)
    ranks = {value.rank for value in node.inputs if value is not None}
    return Move(node.op, tuple(slots)) if len(order) in ranks else None


def _axis_attribute(node: Node, order: Order) -> Move | None:
    """Operators with an attribute `axis` whose results have it too."""
    values = node.inputs if isinstance(node.op, Concat) else node.inputs[:1]
    if not all(_has_rank(value, order) for value in values):
        return None
    op: Any = node.op
    op = replace(op, axis=_new_axis(op.axis, order))
    return Move(op, tuple(range(len(values))))


def _arg_reduce(node: Node, order: Order) -> Move | None:
    op = node.op
    assert isinstance(op, red.ArgMax | red.ArgMin)
    if not _has_rank(node.inputs[0], order):
        return None
    if not op.keepdims and not _keeps_order(order, [_front(op.axis, order)]):
        return None
    return Move(replace(op, axis=_new_axis(op.axis, order)), (0,), moves=op.keepdims)


def _reduce(node: Node, order: Order) -> Move | None:
    if not _has_rank(node.inputs[0], order):
        return None
    keepdims: bool = node.op.keepdims  # type: ignore[attr-defined]
    if node.operand(1) is None:
        whole = not node.op.noop_with_empty_axes  # type: ignore[attr-defined]
        return Move(node.op, (0,), moves=keepdims) if whole else None
    axes = node.integers(1)
    if not axes:
        return None
    if not keepdims and not _keeps_order(order, [_front(axis, order) for axis in axes]):
        return None
    moved = tuple(sorted(_new_axis(axis, order) for axis in axes))
    return Move(node.op, (0,), {1: moved}, moves=keepdims)


def _pad(node: Node, order: Order) -> Move | None:
    pads = node.integers(1)
    if not _has_rank(node.inputs[0], order) or pads is None:
        return None
    if node.operand(3) is not None:
        axes = node.integers(3)
        return None if axes is None else Move(node.op, (0,), {3: tuple(_new_axis(axis, order) for axis in axes)})
    count = len(order)
    begins, ends = pads[:count], pads[count:]
    return Move(node.op, (0,), {1: tuple(part[axis] for part in (begins, ends) for axis in order)})


def _slice(node: Node, order: Order) -> Move | None:
    starts = node.inputs[1]
    if not _has_rank(node.inputs[0], order) or starts is None or not starts.shape:
        return None
    count = starts.shape[0]
    axes = node.integers(3) if node.operand(3) is not None else tuple(range(count)) if isinstance(count, int) else None
    return None if axes is None else Move(node.op, (0,), {3: tuple(_new_axis(axis, order) for axis in axes)})


def _cumulative(node: Node, order: Order) -> Move | None:
    axis = node.integers(1)
    if not axis or not _has_rank(node.inputs[0], order):
        return None
    return Move(node.op, (0,), {1: (_new_axis(axis[0], order),)})


def _each_axis(node: Node, order: Order) -> Move | None:
    """Expand and Tile: an operand with a number for each axis."""
    numbers = node.integers(1)
    if not _has_rank(node.inputs[0], order) or numbers is None or len(numbers) > len(order):
        return None
    whole = (1,) * (len(order) - len(numbers)) + numbers
    return Move(node.op, (0,), {1: tuple(whole[axis] for axis in order)})


def _resize(node: Node, order: Order) -> Move | None:
    op = node.op
    assert isinstance(op, Resize)
    if not _has_rank(node.inputs[0], order) or node.operand(1) is not None:
        return None
    if op.axes:
        return Move(replace(op, axes=tuple(_new_axis(axis, order) for axis in op.axes)), (0,))
    if node.operand(2) is not None:
        return None
    if node.operand(3) is None:
        return Move(replace(op, factors=tuple(op.factors[axis] for axis in order)), (0,))
    sizes = node.integers(3)
    return None if sizes is None else Move(op, (0,), {3: tuple(sizes[axis] for axis in order)})


def _squeeze(node: Node, order: Order) -> Move | None:
    axes = node.integers(1)
    if not _has_rank(node.inputs[0], order) or axes is None:
        return None
    if not _keeps_order(order, [_front(axis, order) for axis in axes]):
        return None
    return Move(node.op, (0,), {1: tuple(sorted(_new_axis(axis, order) for axis in axes))}, moves=False)


def _unsqueeze(node: Node, order: Order) -> Move | None:
    axes = node.integers(1)
    if not _has_rank(node.outputs[0], order) or axes is None:
        return None
    if not _keeps_order(order, [_front(axis, order) for axis in axes]):
        return None
    return Move(node.op, (), {1: tuple(sorted(_new_axis(axis, order) for axis in axes))})


def _reshape(node: Node, order: Order) -> Move | None:
    op, value, result = node.op, node.inputs[0], node.outputs[0]
    assert isinstance(op, Reshape)
    sizes = node.integers(1)
    if sizes is None or (0 in sizes and not op.allowzero):
        return None
    if _has_rank(value, order) and value is not None and _only_ones_move(value.shape, order):
        return Move(op, (0,), moves=False)
    if _has_rank(result, order) and _only_ones_move(result.shape, order):
        return Move(op, (), {1: tuple(sizes[axis] for axis in order)})
    return None


def _flatten(node: Node, order: Order) -> Move | None:
    op, value = node.op, node.inputs[0]
    assert isinstance(op, Flatten)
    fits = value is not None and _has_rank(value, order) and _only_ones_move(value.shape, order)
    return Move(op, (0,), moves=False) if fits and op.axis == 1 and order[0] == 0 else None


def _shape(node: Node, order: Order) -> Move | None:
    op = node.op
    assert isinstance(op, Shape)
    if not _has_rank(node.inputs[0], order):
        return None
    indices = [order.index(axis) for axis in range(len(order))[slice(op.start, op.end)]]
    if not indices:
        return None
    if indices == list(range(indices[0], indices[0] + len(indices))):
        return Move(Shape(indices[0], indices[0] + len(indices)), (0,), moves=False)
    return Move(Shape(), (0,), moves=False, picks=tuple(indices))


def _gather(node: Node, order: Order) -> Move | None:
    op, indices = node.op, node.inputs[1]
    assert isinstance(op, Gather)
    if not _has_rank(node.inputs[0], order) or indices is None or indices.rank not in (0, 1):
        return None
    if indices.rank == 0 and not _keeps_order(order, [_front(op.axis, order)]):
        return None
    return Move(Gather(_new_axis(op.axis, order)), (0,), moves=indices.rank == 1)


RULES: dict[type[Operator], Rule] = {
    **dict.fromkeys((Concat, Split, act.Softmax, act.LogSoftmax, act.Hardmax, red.TopK), _axis_attribute),
    **dict.fromkeys((red.ArgMax, red.ArgMin), _arg_reduce),
    **dict.fromkeys(
        (cls for cls in red.OPERATORS if cls.__name__.startswith("Reduce")), _reduce
    ),
    **dict.fromkeys((CumSum, CumProd), _cumulative),
    **dict.fromkeys((Expand, Tile), _each_axis),
    Flatten: _flatten,
    Gather: _gather,
    Pad: _pad,
    Reshape: _reshape,
    Resize: _resize,
    Shape: _shape,
    Slice: _slice,
    Squeeze: _squeeze,
    Unsqueeze: _unsqueeze,
}
