"""Slices of tensors: contiguous ones, and Python's indexing with bounds that may be computed."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphir.converters.tensorflow.importing.context import ImportFunction, ImportNode
from graphir.converters.tensorflow.importing.sizes import Count, as_vector
from graphir.graph import Value
from graphir.ops.elementwise import Add, Less, Where
from graphir.ops.indexing import Gather
from graphir.ops.shape import Squeeze, Unsqueeze
from graphir.ops.shape_parts import Slice
from graphir.ops.slicing import python_slice
from graphir.symbolic.dims import lower_bound
from graphir.types import UNKNOWN, Dim, DType

TO_THE_END = (1 << 63) - 1


def import_slice(node: ImportNode) -> Value:
    """Slice: `size` elements from `begin` on, -1 for all that are left."""
    data = node.input(0)
    begin, size = node.known(1), node.known(2)
    if begin is None or size is None:
        return _slice_by_computed_bounds(node)
    ends = [TO_THE_END if count < 0 else start + count for start, count in zip(begin, size, strict=True)]
    axes = [axis for axis, (start, end) in enumerate(zip(begin, ends, strict=True)) if start or end != TO_THE_END]
    if not axes:
        return data
    chosen = ([start for axis, start in enumerate(begin) if axis in axes], [ends[axis] for axis in axes], axes)
    return node.emit(Slice(), data, *map(node.vector, chosen))


def _slice_by_computed_bounds(node: ImportNode) -> Value:
    """Return a Slice whose bounds are computed; a size that may be -1 is looked at when the graph runs."""
    data, begin, size = node.inputs
    starts = node.int64(begin)
    sizes = node.int64(size)
    ends = node.step(Add(), starts, sizes, suffix="ends")
    known = None if size.known is None else size.known.elements
    if known is None or any(isinstance(count, float) or (lower_bound(count) or -1) < 0 for count in known):
        rest = node.step(Less(), sizes, node.constant(0, DType.INT64), suffix="rest")
        ends = node.step(Where(), rest, node.constant(TO_THE_END, DType.INT64), ends, suffix="bounds")
    axes = [node.vector(range(node.rank(data)))] if data.shape is not None else []
    return node.emit(Slice(), data, starts, ends, *axes)


@dataclass
class _Cut:
    """What a strided slice does to each axis of the data, and to the axes of what is left.

    Axes that are `turned` are turned around first. `taken` are indices that are computed, by axis; the axis goes away.
    """

    starts: list[Count] = field(default_factory=list)
    ends: list[Count] = field(default_factory=list)
    axes: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    turned: list[int] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    added: list[int] = field(default_factory=list)
    taken: dict[int, Value] = field(default_factory=dict)

    def add(self, axis: int, start: Count, end: Count, step: int, size: Dim = UNKNOWN) -> None:
        """Cut an axis of `size`, unless nothing is cut off."""
        if isinstance(start, int) and isinstance(end, int):
            cut = python_slice(start, end, step, size)
            start, end, step = cut.start, cut.end, cut.step
            if cut.turned:
                self.turned.append(axis)
        if (start, end, step) != (0, TO_THE_END, 1):
            self.starts.append(start)
            self.ends.append(end)
            self.axes.append(axis)
            self.steps.append(step)


def import_strided_slice(node: ImportNode) -> Value:
    """StridedSlice: Python's indexing with slices, indices, new axes and an ellipsis, told by masks of bits."""
    data = node.input(0)
    cut = _read_cut(node, data)
    if len(cut.dropped) == 1 and cut.axes == cut.dropped and not cut.added and not cut.taken:
        return node.emit(Gather(axis=cut.dropped[0]), data, node.constant(cut.starts[0], DType.INT64))
    if cut.turned:
        back, far = node.vector([-1] * len(cut.turned)), node.vector([-TO_THE_END] * len(cut.turned))
        data = node.step(Slice(), data, back, far, node.vector(cut.turned), back, suffix="turned")
    if cut.axes:
        steps = [node.vector(cut.steps)] if any(step != 1 for step in cut.steps) else []
        bounds = (as_vector(node, cut.starts), as_vector(node, cut.ends), node.vector(cut.axes))
        data = node.step(Slice(), data, *bounds, *steps)
    for axis in sorted(cut.taken, reverse=True):
        data = node.step(Gather(axis=axis), data, cut.taken[axis], suffix="taken")
    if cut.dropped:
        gone = [axis - sum(other < axis for other in cut.taken) for axis in cut.dropped]
        data = node.step(Squeeze(), data, node.vector(gone))
    if cut.added:
        data = node.step(Unsqueeze(), data, node.vector(cut.added))
    return data


class _Bounds:
    """One of the vectors of a StridedSlice: numbers where they are known, computed vectors of one element elsewhere."""

    def __init__(self, node: ImportNode, slot: int) -> None:
        self.node = node
        self.value = node.input(slot)
        known = self.value.known
        self.elements = None if known is None else known.elements
        self.count = len(known.elements) if known is not None else node.sizes(self.value, [0])[0]

    def number(self, index: int) -> int | None:
        """Return the number at an index, None if it is computed."""
        element = None if self.elements is None else self.elements[index]
        return element if isinstance(element, int) else None

    def vector(self, index: int) -> Count:
        """Return the number at an index, as a vector of one element where it is computed."""
        number = self.number(index)
        if number is not None:
            return number
        bounds = (self.node.vector([index]), self.node.vector([index + 1]), self.node.vector([0]))
        return self.node.step(Slice(), self.node.int64(self.value), *bounds, suffix="bound")

    def scalar(self, index: int) -> Value:
        """Return the computed number at an index, as a scalar."""
        whole = self.node.int64(self.value)
        return self.node.step(Gather(axis=0), whole, self.node.constant(index, DType.INT64), suffix="index")


def _read_cut(node: ImportNode, data: Value) -> _Cut:
    begin, end = _Bounds(node, 1), _Bounds(node, 2)
    strides = node.integers(3, "strides")
    masks = {
        name: int(node.attrs[f"{name}_mask"]) for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    }

    def is_set(name: str, index: int) -> bool:
        return bool(masks[name] >> index & 1)

    taken = sum(not is_set("ellipsis", index) and not is_set("new_axis", index) for index in range(begin.count))
    if data.shape is not None and taken > len(data.shape):
        node.refuse(f"it cuts {taken} axes of {data.name}, which is {data.type}")
    cut = _Cut()
    axis = result = 0
    for index in range(begin.count):
        if is_set("ellipsis", index):
            later = sum(not is_set("new_axis", other) for other in range(index + 1, begin.count))
            skipped = node.rank(data) - axis - later
            axis, result = axis + skipped, result + skipped
        elif is_set("new_axis", index):
            cut.added.append(result)
            result += 1
        elif is_set("shrink_axis", index):
            _take(cut, axis, begin, index)
            axis += 1
        else:
            step = strides[index]
            first, last = (0, TO_THE_END) if step > 0 else (TO_THE_END, -TO_THE_END)
            start = first if is_set("begin", index) else begin.vector(index)
            size = UNKNOWN if data.shape is None else data.shape[axis]
            cut.add(axis, start, last if is_set("end", index) else end.vector(index), step, size)
            axis, result = axis + 1, result + 1
    return cut


def _take(cut: _Cut, axis: int, begin: _Bounds, index: int) -> None:
    """Take one index of an axis, which is dropped."""
    start = begin.number(index)
    if start is None:
        cut.taken[axis] = begin.scalar(index)
    else:
        cut.add(axis, start, start + 1 if start != -1 else TO_THE_END, 1)
        cut.dropped.append(axis)


IMPORTS: dict[str, ImportFunction] = {
    "Slice": import_slice,
    "StridedSlice": import_strided_slice,
}
