"""Shapes put together from numbers and from sizes of values, with as little shape arithmetic as will do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

from graphir.converters.mxnet.importing.context import ImportNode
from graphir.graph import Value
from graphir.ops.elementwise import Div, Mul
from graphir.ops.indexing import Gather
from graphir.ops.shape import Reshape, Shape
from graphir.ops.shape_parts import Concat
from graphir.structure.record import record
from graphir.types import Dim, DType


@record
class Axes:
    """The product of a value's sizes on the axes [begin, end), divided by `divisor`."""

    value: Value
    begin: int
    end: int
    divisor: int = 1

    def static(self) -> int | None:
        """Return the number, if the model fixes it."""
        product = 1
        for axis in range(self.begin, self.end):
            size = static_size(self.value, axis)
            if size is None:
                return None
            product *= size
        return product // self.divisor


@record
class Tail:
    """All sizes of a value from the axis `begin` on, however many they are."""

    value: Value
    begin: int


Entry = Union[int, Axes, Tail]


def axis_of(value: Value, axis: int) -> Axes:
    """Return one axis of a value as an entry of a shape."""
    return Axes(value, axis, axis + 1)


def static_size(value: Value, axis: int) -> int | None:
    """Return a size as a number, None if it is symbolic or unknown."""
    shape: tuple[Dim, ...] | None = value.shape
    if shape is None or not -len(shape) <= axis < len(shape):
        return None
    size = shape[axis]
    return size if isinstance(size, int) else None


def static_shape(value: Value) -> tuple[int, ...] | None:
    """Return all sizes as numbers, None if one is symbolic or unknown."""
    if value.shape is None or not all(isinstance(size, int) for size in value.shape):
        return None
    return tuple(value.shape)


def axis_size(node: ImportNode, value: Value, axis: int) -> Value:
    """Return a size as an int64 scalar, a constant where it is known."""
    size = static_size(value, axis)
    if size is not None:
        return node.constant(size, DType.INT64)
    return node.step(Gather(), node.step(Shape(), value), node.constant(axis, DType.INT64), suffix="size")


def axes_sizes(node: ImportNode, value: Value, axes: Sequence[int]) -> Value:
    """Sizes as an int64 vector, a constant where all are known."""
    sizes = [static_size(value, axis) for axis in axes]
    known = [size for size in sizes if size is not None]
    if len(known) == len(sizes):
        return node.vector(known)
    return node.step(Gather(), node.step(Shape(), value), node.vector(axes), suffix="sizes")


def shape_vector(node: ImportNode, entries: Sequence[Entry]) -> Value:
    """Return the entries as an int64 vector: a constant, the Shape of a value, or pieces joined."""
    if not entries:
        return node.vector([])
    fixed = [_fixed(entry) for entry in entries]
    pieces: list[Value] = []
    place = 0
    while place < len(fixed):
        entry = fixed[place]
        if isinstance(entry, int):
            numbers = _run(fixed, place)
            pieces.append(node.vector(numbers))
            place += len(numbers)
        elif isinstance(entry, Tail):
            pieces.append(node.step(Shape(entry.begin), entry.value))
            place += 1
        elif entry.end - entry.begin == 1 and entry.divisor == 1:
            axes = _axes_run(fixed, place)
            if list(range(entry.value.rank or 0)) == axes:
                pieces.append(node.step(Shape(), entry.value))
            else:
                pieces.append(axes_sizes(node, entry.value, axes))
            place += len(axes)
        else:
            pieces.append(_computed(node, entry))
            place += 1
    return pieces[0] if len(pieces) == 1 else node.step(Concat(0), *pieces, suffix="shape")


def _fixed(entry: Entry) -> Entry:
    if isinstance(entry, Axes):
        size = entry.static()
        return entry if size is None else size
    return entry


def _run(entries: Sequence[Entry], start: int) -> list[int]:
    results: list[int] = []
    for entry in entries[start:]:
        if not isinstance(entry, int):
            break
        results.append(entry)
    return results


def _axes_run(entries: Sequence[Entry], start: int) -> list[int]:
    first = entries[start]
    assert isinstance(first, Axes)
    results: list[int] = []
    for entry in entries[start:]:
        if not isinstance(entry, Axes) or entry.value is not first.value:
            break
        if entry.end - entry.begin != 1 or entry.divisor != 1:
            break
        results.append(entry.begin)
    return results


def _computed(node: ImportNode, entry: Axes) -> Value:
    size = axes_sizes(node, entry.value, [entry.begin])
    for axis in range(entry.begin + 1, entry.end):
        size = node.step(Mul(), size, axes_sizes(node, entry.value, [axis]))
    return size if entry.divisor == 1 else node.step(Div(), size, node.vector([entry.divisor]))


def reshape_operands(node: ImportNode, data: Value, entries: Sequence[Entry]) -> Value:
    """Return the shape operand that makes Reshape give these entries: 0 for a size that stays in place, -1 for an open
    one.

    The first axis of the data, wherever it goes, is best left open: it is the batch.
    """
    wanted: list[Entry] = list(entries)
    for place, entry in enumerate(wanted):
        if entry == axis_of(data, place) and not any(isinstance(before, Tail) for before in wanted[:place]):
            wanted[place] = 0
    if -1 not in wanted:
        candidates = [place for place, entry in enumerate(wanted) if isinstance(entry, Axes)]
        open_places = [place for place in candidates if _is_open(wanted[place])]
        batch = [place for place in candidates if _covers_batch(wanted[place], data)]
        has_tail = any(isinstance(entry, Tail) for entry in wanted)
        chosen = open_places or ([] if has_tail else batch)
        if chosen:
            wanted[chosen[0]] = -1
    return shape_vector(node, wanted)


def _is_open(entry: Entry) -> bool:
    return isinstance(entry, Axes) and entry.static() is None


def _covers_batch(entry: Entry, data: Value) -> bool:
    return isinstance(entry, Axes) and entry.value is data and entry.begin == 0


def reshape(node: ImportNode, data: Value, entries: Sequence[Entry]) -> Value:
    """Return the node's result: the data in this shape."""
    return node.emit(Reshape(), data, reshape_operands(node, data, entries))
