"""Sizes of values as the operands of other operators: numbers where they are known, computed otherwise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Union

from graphir.converters.tensorflow.importing.context import ImportNode
from graphir.graph import Value
from graphir.ops.shape import Reshape, Shape, Size, Unsqueeze
from graphir.ops.shape_parts import Concat
from graphir.types import DType

Count = Union[int, Value]
"""A size: a number, or an int64 vector of one element that is computed."""


def size_at(node: ImportNode, value: Value, axis: int) -> Count:
    """Return the size of an axis; negative axes count from the end."""
    axis = node.axis(axis, node.rank(value))
    size = node.shape(value)[axis]
    return size if isinstance(size, int) else node.step(Shape(start=axis, end=axis + 1), value, suffix="size")


def as_vector(node: ImportNode, counts: Sequence[Count]) -> Value:
    """Return sizes as one int64 vector."""
    if all(isinstance(count, int) for count in counts):
        return node.vector([int(count) for count in counts])  # type: ignore[arg-type]
    parts: list[Value] = []
    numbers: list[int] = []
    for count in counts:
        if isinstance(count, int):
            numbers.append(count)
            continue
        if numbers:
            parts.append(node.vector(numbers))
            numbers = []
        parts.append(count)
    if numbers:
        parts.append(node.vector(numbers))
    return parts[0] if len(parts) == 1 else node.step(Concat(axis=0), *parts, suffix="sizes")


def length_of(node: ImportNode, value: Value) -> Value:
    """Return the number of elements as an int64 scalar."""
    count = known_length(value)
    return node.step(Size(), value, suffix="count") if count is None else node.constant(count, DType.INT64)


def known_length(value: Value) -> int | None:
    """Return the number of elements, None if a size is open."""
    sizes = [dim for dim in value.shape or () if isinstance(dim, int)]
    return math.prod(sizes) if value.shape is not None and len(sizes) == len(value.shape) else None


def rows_of(node: ImportNode, data: Value, rank: int) -> Value:
    """Return the data with its first `rank` axes as one; without any as one row."""
    if rank == 1:
        return data
    if rank == 0:
        return node.step(Unsqueeze(), data, node.vector([0]), suffix="row")
    rest = node.step(Shape(start=rank), data, suffix="rest")
    wanted = node.step(Concat(axis=0), node.vector([-1]), rest, suffix="wanted")
    return node.step(Reshape(), data, node.sizes_operand(wanted), suffix="rows")
