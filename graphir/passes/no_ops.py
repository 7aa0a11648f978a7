"""Further rules of `simplify`, for targets that lack an operator: an operand stands for a result that equals it.

Dropped are Dropout at inference, a Slice of everything, a Pad by nothing, Expand to the shape that is there, Tile by
ones, Concat, Sum, Mean, Max and Min of one operand, Split into one part, Clip without bounds and a Where whose
condition is a constant that is the same everywhere; CastLike becomes a Cast, and a Cast skips one that widens. A Slice
of a Slice becomes one, and a Concat of all parts of a value in order is the value. Exact: no number changes.

`NEUTRAL` are the rules for operands that change nothing: x * 1, x + 0, x and True, and a recurrent layer that starts at
0, as it does anyway. Exact, but for the sign of a zero: -0.0 + 0.0 is 0.0. So a zero is added on where the sum is an
output or what reads it divides by it; a zero whose sign shows further down may have the other one. By `KEPT_AXES` a
reduction keeps its axes where what follows only puts them back as axes of size 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from graphir.graph import Graph, Node, Value
from graphir.ops import elementwise as ew
from graphir.ops.activation import Dropout
from graphir.ops.base import Operator, normalize_axis
from graphir.ops.bitwise import CastLike
from graphir.ops.creation import ConstantOfShape
from graphir.ops.recurrent import GRU, LSTM, RNN
from graphir.ops.reduction import Reduce
from graphir.ops.shape import Expand, Pad, Reshape, Shape, Squeeze, Tile, Transpose, Unsqueeze
from graphir.ops.shape_parts import Concat, Slice, Split
from graphir.ops.slicing import BEYOND, places_taken
from graphir.types import DType, Unknown

from .inline import take_place
from .rewrite import Accepted, Rule, Rules, bypass

SMALL = 1 << 16
FLOATS = frozenset({DType.FLOAT16, DType.FLOAT32, DType.FLOAT64})
INTEGERS = frozenset({
    DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64,
})  # fmt: skip


def _drop(graph: Graph, node: Node) -> Accepted:
    """Return the first operand in place of the result. Not where an output would become a copy: that is a node too."""
    value = node.inputs[0]
    if value is None or graph.is_output(node.outputs[0]):
        return False
    take_place(graph, node, [value], [])
    return True


def _drop_if_same_shape(graph: Graph, node: Node) -> Accepted:
    """Right for operators that move nothing when they keep the shape."""
    operand, result = node.inputs[0], node.outputs[0]
    same = operand is not None and operand.shape is not None and operand.shape == result.shape
    if not same or any(isinstance(dim, Unknown) for dim in result.shape or ()):
        return False
    return _drop(graph, node)


def _drop_slice(graph: Graph, node: Node) -> Accepted:
    """A step backwards keeps the shape and turns the order round."""
    steps = node.operand(4)
    forwards = steps is None or all(step > 0 for step in steps.integers or (0,))
    return forwards and (_drop_if_same_shape(graph, node) or (_has_no_bounds(node, steps) and _drop(graph, node)))


def _has_no_bounds(node: Node, steps: Value | None) -> bool:
    """Return whether a Slice takes each axis from 0 to beyond its end in steps of 1, whatever the sizes are."""
    starts, ends = node.integers(1), node.integers(2)
    if starts is None or ends is None or any(starts) or any(end < BEYOND for end in ends):
        return False
    return steps is None or set(steps.integers or (0,)) == {1}


def _cuts(node: Node) -> dict[int, tuple[int, int, int]] | None:
    """Return start, end and step by axis of a Slice whose bounds are constants, else None."""
    data, starts, ends = node.inputs[0], node.integers(1), node.integers(2)
    axes, steps = (*node.inputs[3:], None, None)[:2]
    if data is None or data.rank is None or starts is None or ends is None:
        return None
    stated = tuple(range(len(starts))) if axes is None else axes.integers
    strides = (1,) * len(starts) if steps is None else steps.integers
    if stated is None or strides is None:
        return None
    rank = data.rank
    cuts = zip(starts, ends, strides, strict=True)
    by_axis = dict(zip((normalize_axis(axis, rank) for axis in stated), cuts, strict=True))
    return by_axis if len(by_axis) == len(stated) else None


def _places(value: Value, axis: int, cut: tuple[int, int, int]) -> range | None:
    """Return the places of an axis that a cut takes, None where its size is open or the step is backwards."""
    size = None if value.shape is None else value.shape[axis]
    return places_taken(size, *cut) if isinstance(size, int) and cut[2] > 0 else None


def _join_slices(graph: Graph, node: Node) -> Accepted:
    """Both have constant bounds; an axis that both cut has a known size and is cut forwards."""
    middle = node.inputs[0]
    before = None if middle is None else middle.producer
    if middle is None or before is None or not isinstance(before.op, Slice):
        return False
    source, first, second = before.inputs[0], _cuts(before), _cuts(node)
    if source is None or first is None or second is None:
        return False
    joined = {**first, **second}
    for axis in first.keys() & second.keys():
        outer, inner = _places(source, axis, first[axis]), _places(middle, axis, second[axis])
        if outer is None or inner is None:
            return False
        places = outer[inner.start : inner.stop : inner.step]
        joined[axis] = places.start, places.stop, min(places.step, BEYOND)  # int64 holds it
    axes = sorted(joined)
    rows = (*zip(*(joined[axis] for axis in axes), strict=True),)
    if not rows:
        return False
    starts, ends, steps = (graph.constant(np.array(row, np.int64)) for row in rows)
    graph.replace(node, node.op, (source, starts, ends, graph.constant(np.array(axes, np.int64)), steps))
    return True


def _join_parts(graph: Graph, node: Node) -> Accepted:
    """The operands are all parts of a Split along the axis, or Slices of it that follow each other from end to end."""
    makers = [None if value is None else value.producer for value in node.inputs]
    source = makers[0].inputs[0] if makers and makers[0] is not None and makers[0].inputs else None
    op, rank = node.op, node.outputs[0].rank
    assert isinstance(op, Concat)
    if source is None or makers[0] is None or rank is None:
        return False
    axis, first = normalize_axis(op.axis, rank), makers[0]
    if isinstance(first.op, Split):
        whole = tuple(first.outputs) == tuple(node.inputs) and normalize_axis(first.op.axis, rank) == axis
        return whole and bypass(graph, node, source)
    end = 0
    for maker in makers:
        cuts = _cuts(maker) if maker is not None and isinstance(maker.op, Slice) and maker.inputs[0] is source else None
        places = _places(source, axis, cuts[axis]) if cuts is not None and [*cuts] == [axis] else None
        if places is None or (places.start, places.step) != (end, 1):
            return False
        end = max(places.stop, end)
    return source.shape is not None and source.shape[axis] == end and bypass(graph, node, source)


def _drop_pad(graph: Graph, node: Node) -> Accepted:
    """Amounts of opposite sign keep the shape and move the elements."""
    pads = node.integers(1)
    return pads is not None and not any(pads) and _drop(graph, node)


def _drop_dropout(graph: Graph, node: Node) -> Accepted:
    training = node.operand(2)
    if training is not None and training.integers not in ((0,), (False,)):
        return False
    data, mask = node.inputs[0], node.outputs[1]
    assert data is not None
    if graph.is_output(node.outputs[0]) and not mask.is_needed:
        return False
    nodes: list[Node] = []
    if mask.is_needed:
        if data.shape is not None and all(isinstance(dim, int) for dim in data.shape):
            sizes = graph.constant(np.array(data.shape, np.int64))
        else:
            sizes = graph.add(Shape(), data, name=f"{node.name}_shape", before=node)
        op = ConstantOfShape(1.0, DType.BOOL)
        nodes.append(graph.add_node(op, (sizes,), name=f"{node.name}_mask", before=node))
    take_place(graph, node, [data, nodes[0].outputs[0] if nodes else data], nodes)
    return True


def _drop_if(holds: Callable[[Node], bool]) -> Callable[[Graph, Node], Accepted]:
    return lambda graph, node: holds(node) and _drop(graph, node)


def _cast_like(graph: Graph, node: Node) -> Accepted:
    value, like = node.inputs[0], node.inputs[1]
    if like is None or like.dtype in (None, DType.FLOAT8E8M0):  # of whose rounding a Cast says nothing
        return False
    assert isinstance(node.op, CastLike)
    assert like.dtype is not None
    graph.replace(node, ew.Cast(like.dtype, node.op.saturate), (value,))
    return True


def _skip_cast(graph: Graph, node: Node) -> Accepted:
    """Let a Cast read what a Cast in front of it widens within floats or within integers: no number is another then."""
    before = node.inputs[0].producer if node.inputs[0] is not None else None
    if before is None or not isinstance(before.op, ew.Cast) or not isinstance(node.op, ew.Cast):
        return False
    source = before.inputs[0]
    if source is None or source.dtype is None:
        return False
    dtypes = {source.dtype, before.op.to, node.op.to}
    if not (dtypes <= FLOATS or dtypes <= INTEGERS) or not np.can_cast(source.dtype.numpy(), before.op.to.numpy()):
        return False
    graph.replace(node, node.op, (source,))
    return True


def _drop_where(graph: Graph, node: Node) -> Accepted:
    """Return a condition that is the same everywhere chooses one operand, if that has the result's shape already."""
    condition, result = node.inputs[0], node.outputs[0]
    if condition is None or condition.tensor is None or not 0 < condition.tensor.size <= SMALL:
        return False
    values = condition.tensor.numpy()
    if values.any() != values.all() or graph.is_output(result):
        return False
    chosen = node.inputs[1 if values.all() else 2]
    if chosen is None or chosen.shape is None or chosen.shape != result.shape:
        return False
    if any(isinstance(dim, Unknown) for dim in chosen.shape):
        return False
    take_place(graph, node, [chosen], [])
    return True


LONE = Rule("it has one operand", _drop_if(lambda node: len(node.inputs) == 1))
NO_OPS: Rules = {
    **dict.fromkeys((Expand, Tile), (Rule("the shape is there already", _drop_if_same_shape),)),
    **dict.fromkeys((ew.Sum, ew.Mean, ew.Max, ew.Min), (LONE,)),
    Concat: (LONE, Rule("it joins all parts of a value in order", _join_parts)),
    Slice: (Rule("it takes everything", _drop_slice), Rule("it joins the Slice in front of it", _join_slices)),
    Pad: (Rule("it pads by nothing", _drop_pad),),
    Dropout: (Rule("it drops nothing at inference", _drop_dropout),),
    Split: (Rule("it makes one part", _drop_if(lambda node: len(node.outputs) == 1)),),
    ew.Clip: (Rule("it has no bounds", _drop_if(lambda node: all(bound is None for bound in node.inputs[1:]))),),
    ew.Where: (Rule("its condition is the same everywhere", _drop_where),),
    ew.Cast: (Rule("a Cast in front of it widens", _skip_cast),),
    CastLike: (Rule("the dtype that it takes over is known", _cast_like),),
}

# The same for training, which needs Dropout.
NO_OPS_OF_TRAINING: Rules = {kind: rules for kind, rules in NO_OPS.items() if kind is not Dropout}


# By operator: the number that changes nothing, and in which slots.
NUMBERS: dict[type[Operator], tuple[float, tuple[int, ...]]] = {
    ew.Mul: (1, (0, 1)),
    ew.Div: (1, (1,)),
    ew.Add: (0, (0, 1)),
    ew.Sub: (0, (1,)),
    ew.Pow: (1, (1,)),
    ew.And: (1, (0, 1)),
    ew.Or: (0, (0, 1)),
    ew.Xor: (0, (0, 1)),
}
LARGEST = 1 << 16
ARRANGING = (Expand, Reshape, Slice, Squeeze, Tile, Transpose, Unsqueeze)


def _drop_neutral(graph: Graph, node: Node) -> Accepted:
    number, slots = NUMBERS[type(node.op)]
    for slot in slots:
        neutral, value = node.inputs[slot], node.inputs[1 - slot]
        if neutral is None or value is None or neutral.tensor is None or value.shape is None:
            continue
        if value.shape != node.output.shape or any(isinstance(dim, Unknown) for dim in value.shape):
            continue
        if value.dtype is not node.output.dtype or not _is_all(neutral, number):
            continue
        if isinstance(node.op, ew.Add) and _shows_sign_of_zero(node):
            continue
        return bypass(graph, node, value)
    return False


def _is_all(value: Value, number: float) -> bool:
    """Return whether the value is a parameter whose elements are all this number, a zero without its sign."""
    tensor = value.tensor
    if tensor is None or not 0 < tensor.size <= LARGEST or tensor.dtype is DType.STRING:
        return False
    array = tensor.numpy()
    return bool((array == number).all()) and not (tensor.dtype.is_float and np.signbit(array).any())


def _shows_sign_of_zero(node: Node) -> bool:
    result = node.output
    if result.dtype is None or not result.dtype.is_float:
        return False
    return result.is_held or any(_divides_by(user, slot) for user, slot in result.uses)


def _divides_by(node: Node, slot: int) -> bool:
    """Return whether the node may tell the sign of a zero in this slot: 1 / -0.0 is another infinity than 1 / 0.0."""
    if isinstance(node.op, ew.Pow) and slot == 0:
        exponent = node.inputs[1]
        tensor = None if exponent is None else exponent.tensor
        return tensor is None or tensor.size > LARGEST or bool((tensor.numpy() <= 0).any())
    return isinstance(node.op, ew.Reciprocal) or (isinstance(node.op, ew.Div) and slot == 1)


def _is_zero(value: Value | None) -> bool:
    """Return whether all elements are 0, whatever the shape: a parameter, or made by operators that compute
    nothing."""
    while value is not None and value.tensor is None:
        node = value.producer
        if node is None:
            return False
        if isinstance(node.op, ConstantOfShape):
            return node.op.value == 0
        if not isinstance(node.op, ARRANGING):
            return False
        value = node.inputs[0]
    return value is not None and _is_all(value, 0)


def _start_at_zero(graph: Graph, node: Node) -> Accepted:
    """Return a recurrent layer without initial states that are 0."""
    slots = [slot for slot in (5, 6) if slot < len(node.inputs) and node.op.inputs[slot].startswith("initial")]
    zeros = [slot for slot in slots if node.inputs[slot] is not None and _is_zero(node.inputs[slot])]
    for slot in zeros:
        graph.replace_input(node, slot, None)
    return bool(zeros)


ADDED = Rule("its other operand changes nothing", _drop_neutral)
NEUTRAL: Rules = {
    **dict.fromkeys(NUMBERS, (ADDED,)),
    **dict.fromkeys((GRU, LSTM, RNN), (Rule("it starts at 0 without being told", _start_at_zero),)),
}


def _keep_axes(graph: Graph, node: Node) -> Accepted:
    """Return whether a reduction that keeps its axes took the place of one that does not and of the node behind it."""
    (result,), reduced = node.outputs, node.inputs[0]
    before = None if reduced is None else reduced.producer
    if reduced is None or before is None or graph.is_output(reduced) or len(reduced.uses) > 1:
        return False
    op = before.op
    if not isinstance(op, Reduce) or op.keepdims or before.graph is not graph or graph.is_output(result):
        return False
    operands = [value for value in before.inputs if value is not None]
    known = operands[1].known if len(operands) > 1 else None
    axes, shape = None if known is None else known.integers(), operands[0].shape
    if not axes or shape is None or any(isinstance(dim, Unknown) for dim in shape):
        return False
    kept = tuple(1 if axis in axes or axis - len(shape) in axes else dim for axis, dim in enumerate(shape))
    if result.shape != kept:
        return False
    kept_op: Reduce = replace(op, keepdims=True)  # type: ignore[type-var]
    name = graph.fresh_name(f"{before.name}_kept")
    added = graph.add_node(kept_op, before.inputs, name=before.name, output_names=[name], before=node)
    take_place(graph, node, list(added.outputs), [])
    return True


KEPT_AXES: Rules = dict.fromkeys((Reshape, Unsqueeze), (Rule("the reduction keeps its axes", _keep_axes),))
