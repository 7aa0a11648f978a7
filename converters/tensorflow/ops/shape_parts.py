"""Parts of tensors put together and taken apart."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphir.converters.tensorflow.context import ImportFunction, ImportNode
from graphir.graph import Value
from graphir.ops.indexing import Gather
from graphir.ops.shape import Squeeze, Unsqueeze
from graphir.ops.shape_parts import Concat, Slice
from graphir.types import DType

TO_THE_END = (1 << 63) - 1


def import_concat_v2(node: ImportNode) -> Value:
    """ConcatV2: the axis is the last input."""
    values = node.inputs()[:-1]
    if len(values) == 1:
        return values[0]
    return node.emit(Concat(axis=node.integer(-1, "the axis")), *values)


def import_pack(node: ImportNode) -> Value:
    """The inputs stacked along a new axis."""
    axis = node.attrs["axis"]
    parts = [node.step(Unsqueeze(), value, node.vector([axis]), suffix="part") for value in node.inputs()]
    return node.emit(Concat(axis=axis), *parts)


def import_slice(node: ImportNode) -> Value:
    """Slice: `size` elements from `begin` on, -1 for all that are left."""
    data = node.input(0)
    begin, size = node.integers(1, "begin"), node.integers(2, "size")
    ends = [TO_THE_END if count < 0 else start + count for start, count in zip(begin, size, strict=True)]
    axes = [axis for axis, (start, end) in enumerate(zip(begin, ends, strict=True)) if start or end != TO_THE_END]
    if not axes:
        return data
    chosen = ([start for axis, start in enumerate(begin) if axis in axes], [ends[axis] for axis in axes], axes)
    return node.emit(Slice(), data, *map(node.vector, chosen))


@dataclass
class _Cut:
    """What a strided slice does to each axis of the data, and to the axes of what is left."""

    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    axes: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    added: list[int] = field(default_factory=list)

    def add(self, axis: int, start: int, end: int, step: int) -> None:
        """Cut an axis, unless nothing is cut off."""
        if (start, end, step) != (0, TO_THE_END, 1):
            self.starts.append(start)
            self.ends.append(end)
            self.axes.append(axis)
            self.steps.append(step)


def import_strided_slice(node: ImportNode) -> Value:
    """StridedSlice: Python's indexing with slices, indices, new axes and an ellipsis, told by masks of bits."""
    data = node.input(0)
    cut = _read_cut(node, data)
    if len(cut.dropped) == 1 and cut.axes == cut.dropped and not cut.added:
        return node.emit(Gather(axis=cut.dropped[0]), data, node.constant(cut.starts[0], DType.INT64))
    if cut.axes:
        steps = [node.vector(cut.steps)] if any(step != 1 for step in cut.steps) else []
        data = node.step(Slice(), data, *map(node.vector, (cut.starts, cut.ends, cut.axes)), *steps)
    if cut.dropped:
        data = node.step(Squeeze(), data, node.vector(cut.dropped))
    if cut.added:
        data = node.step(Unsqueeze(), data, node.vector(cut.added))
    return data


def _read_cut(node: ImportNode, data: Value) -> _Cut:
    begin, end, strides = (node.integers(slot, what) for slot, what in ((1, "begin"), (2, "end"), (3, "strides")))
    masks = {
        name: int(node.attrs[f"{name}_mask"]) for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    }

    def is_set(name: str, place: int) -> bool:
        return bool(masks[name] >> place & 1)

    cut = _Cut()
    axis = result = 0
    for place in range(len(begin)):
        if is_set("ellipsis", place):
            later = sum(not is_set("new_axis", other) for other in range(place + 1, len(begin)))
            skipped = node.rank(data) - axis - later
            axis, result = axis + skipped, result + skipped
        elif is_set("new_axis", place):
            cut.added.append(result)
            result += 1
        elif is_set("shrink_axis", place):
            start = begin[place]
            cut.add(axis, start, start + 1 if start != -1 else TO_THE_END, 1)
            cut.dropped.append(axis)
            axis += 1
        else:
            step = strides[place]
            first, last = (0, TO_THE_END) if step > 0 else (TO_THE_END, -TO_THE_END)
            start = first if is_set("begin", place) else begin[place]
            cut.add(axis, start, last if is_set("end", place) else end[place], step)
            axis, result = axis + 1, result + 1
    return cut


IMPORTS: dict[str, ImportFunction] = {
    "ConcatV2": import_concat_v2,
    "Pack": import_pack,
    "Slice": import_slice,
    "StridedSlice": import_strided_slice,
}

__all__ = ["IMPORTS"]
