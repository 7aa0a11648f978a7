"""Parts of values from around a loop's body, found behind what its nodes cut, join, turn and convert."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphir.errors import GraphirError
from graphir.graph import Graph, Node, Value
from graphir.ops import elementwise as ew
from graphir.ops.base import normalize_axis
from graphir.ops.shape import Squeeze, Transpose, Unsqueeze
from graphir.ops.shape_parts import Concat, Slice, Split
from graphir.types import DType

Range = tuple[int, int]


class Unlike(GraphirError):
    """Why a body is not that of a recurrent layer."""


@dataclass(frozen=True)
class View:
    """A part of a value from around the body, converted to `dtype`.

    `ranges` are (start, stop) on the value's axes; `axes` those of its axes that are the part's, in the part's order.
    The other ranges have size 1.
    """

    value: Value
    ranges: tuple[Range, ...]
    axes: tuple[int, ...]
    dtype: DType

    @property
    def shape(self) -> tuple[int, ...]:
        """The part's shape."""
        return tuple(self.ranges[axis][1] - self.ranges[axis][0] for axis in self.axes)

    def reader(self) -> Callable[[], np.ndarray[Any, Any]]:
        """Return what gives the part's elements, of a value that is a parameter with elements; it holds the tensor
        alone."""
        tensor, ranges, axes, shape = self.value.tensor, self.ranges, self.axes, self.shape
        assert tensor is not None
        is_plain, dtype = tensor.dtype is self.dtype, self.dtype.numpy()
        others = [axis for axis in range(len(ranges)) if axis not in axes]

        def read() -> np.ndarray[Any, Any]:
            part = tensor.numpy()[tuple(slice(*bounds) for bounds in ranges)]
            array = part.transpose([*axes, *others]).reshape(shape)
            return array if is_plain else array.astype(dtype)

        return read


def number_of(value: Value | None) -> float | None:
    """Return the only element of a value that is known."""
    known = None if value is None else value.known
    if known is None or len(known.elements) != 1:
        return None
    (element,) = known.elements
    return float(element) if isinstance(element, int | float) else None


def through(value: Value) -> Value:
    """Return the value that this one is a copy of."""
    while value.producer is not None and isinstance(value.producer.op, ew.Identity) and value.producer.inputs[0]:
        value = value.producer.inputs[0]
    return value


def view_of(body: Graph, value: Value, *bounds: Range) -> View | None:
    """Return the part of a value that lies in these bounds of its last axes, if it comes from around the body.

    The axes before those have size 1. None for what changes from step to step or is not followed.
    """
    shape = value.shape
    if shape is None or value.dtype is None or not all(isinstance(size, int) for size in shape):
        return None
    lead = len(shape) - len(bounds)
    ranges = [(0, 1)] * lead + list(bounds)
    return _follow_source(body, View(value, tuple(ranges), tuple(range(lead, len(shape))), value.dtype))


def _follow_source(body: Graph, view: View) -> View | None:
    """Return the view where its elements come from: a parameter, or a value that is computed around the body."""
    while True:
        node = view.value.producer
        if node is None:
            return None if view.value in body.inputs else view
        before = _before_view(node, view)
        if before is None:
            return None if node.graph is body else view
        view = before


def _before_view(node: Node, view: View) -> View | None:
    """Return the same part as one of an operand, None if the node computes something."""
    op, value = node.op, node.inputs[0] if node.inputs else None
    shape = None if value is None else value.shape
    if value is None or shape is None or value.dtype is None or not all(isinstance(size, int) for size in shape):
        return None
    ranges, axes = list(view.ranges), view.axes
    if isinstance(op, ew.Cast):
        is_first = view.dtype is view.value.dtype
        return View(value, view.ranges, axes, view.dtype) if is_first and value.dtype.is_float else None
    if isinstance(op, ew.Identity):
        pass
    elif isinstance(op, Transpose):
        perm = op.perm or tuple(reversed(range(len(shape))))
        ranges = [view.ranges[perm.index(axis)] for axis in range(len(shape))]
        axes = tuple(perm[axis] for axis in axes)
    elif isinstance(op, Squeeze | Unsqueeze):
        return _before_reshaped(node, view)
    elif isinstance(op, Split | Slice):
        offsets = slice_starts(node)
        if isinstance(op, Split):
            axis = normalize_axis(op.axis, len(shape))
            offsets = {axis: offset_of(node, view.value, axis)}
        if offsets is None:
            return None
        ranges = [(low + offsets.get(axis, 0), high + offsets.get(axis, 0)) for axis, (low, high) in enumerate(ranges)]
    elif isinstance(op, Concat):
        return _before_joined(node, view)
    else:
        return None
    return View(value, tuple(ranges), axes, view.dtype)


def _before_reshaped(node: Node, view: View) -> View | None:
    """Return a part of what Squeeze or Unsqueeze gives as part of its operand."""
    value = node.inputs[0]
    assert value is not None
    assert value.rank is not None
    is_squeeze = isinstance(node.op, Squeeze)
    rank = max(value.rank, len(view.ranges))
    stated = node.integers(1)
    if stated is None and (not is_squeeze or len(node.inputs) > 1):
        return None
    if stated is None:
        stated = tuple(axis for axis, size in enumerate(value.shape or ()) if size == 1)
    gone = {normalize_axis(axis, rank) for axis in stated}
    kept = [axis for axis in range(rank) if axis not in gone]
    if is_squeeze:
        ranges = [(0, 1)] * rank
        for index, axis in enumerate(kept):
            ranges[axis] = view.ranges[index]
        return View(value, tuple(ranges), tuple(kept[axis] for axis in view.axes), view.dtype)
    if gone.intersection(view.axes):
        return None
    indices = {axis: index for index, axis in enumerate(kept)}
    ranges_kept = tuple(view.ranges[axis] for axis in kept)
    return View(value, ranges_kept, tuple(indices[axis] for axis in view.axes), view.dtype)


def _before_joined(node: Node, view: View) -> View | None:
    """Return a part of what Concat gives as part of the one operand that it lies in."""
    op = node.op
    assert isinstance(op, Concat)
    axis = normalize_axis(op.axis, len(view.ranges))
    start, stop = view.ranges[axis]
    for piece in node.inputs:
        size = None if piece is None or piece.shape is None else piece.shape[axis]
        if piece is None or not isinstance(size, int):
            return None
        if start < size:
            ranges = (*view.ranges[:axis], (start, stop), *view.ranges[axis + 1 :])
            return View(piece, ranges, view.axes, view.dtype) if stop <= size else None
        start, stop = start - size, stop - size
    return None


def offset_of(node: Node, value: Value, axis: int) -> int:
    """Return where a result of Split starts in its operand. Raises Unlike if that is not known."""
    sizes = [None if part.shape is None else part.shape[axis] for part in node.outputs[: value.index]]
    known = [size for size in sizes if isinstance(size, int)]
    if len(known) < len(sizes):
        raise Unlike(f"the parts of {node.name} have no known sizes")
    return sum(known)


def slice_starts(node: Node) -> dict[int, int] | None:
    """Return where a Slice starts on each axis that it cuts, None unless that is known and it takes each element in
    turn."""
    value = node.inputs[0]
    if not isinstance(node.op, Slice) or value is None or value.shape is None:
        return None
    starts = node.integers(1)
    axes: Sequence[int] | None = tuple(range(len(starts or ())))
    if node.operand(3) is not None:
        axes = node.integers(3)
    steps: Sequence[int] | None = (1,)
    if node.operand(4) is not None:
        steps = node.integers(4)
    if starts is None or axes is None or steps is None or set(steps) != {1}:
        return None
    offsets = {}
    for axis, start in zip(axes, starts, strict=True):
        index = normalize_axis(axis, len(value.shape))
        size = value.shape[index]
        if not isinstance(size, int):
            return None
        offsets[index] = min(max(start + size if start < 0 else start, 0), size)
    return offsets
