"""Operators that trade blocks of rows and columns for channels, or for images of the batch."""

from __future__ import annotations

import math
from collections.abc import Sequence

from graphir.converters.tensorflow.importing.context import ImportFunction, ImportNode
from graphir.converters.tensorflow.importing.layout import channels_first, finish, layout_of
from graphir.converters.tensorflow.importing.sizes import Count, as_vector, size_at
from graphir.graph import Value
from graphir.ops.base import Operator
from graphir.ops.elementwise import Div, Mul
from graphir.ops.shape import Pad, Reshape, Transpose
from graphir.ops.shape_parts import DepthToSpace, Slice, SpaceToDepth

TO_THE_END = (1 << 63) - 1


def blocks(cls: type[Operator]) -> ImportFunction:
    """Return the import function of SpaceToDepth and DepthToSpace: the place in a block comes before the depth (ONNX:
    DCR)."""

    def import_blocks(node: ImportNode) -> Value:
        layout = layout_of(node, 2)
        op = cls(blocksize=int(node.attrs["block_size"]))
        return finish(node, layout, op, channels_first(node, layout, node.input(0)))

    return import_blocks


def import_space_to_batch(node: ImportNode) -> Value:
    """SpaceToBatch of images, and SpaceToBatchND: the data are padded, every block's places become images.

    (N, S1, S2, R...) with blocks (b1, b2) gives (b1 * b2 * N, S1 / b1, S2 / b2, R...).
    """
    data, block = node.input(0), _read_block(node)
    pads = _read_ends(node, "the paddings", len(block))
    rank, count = node.rank(data), len(block)
    if any(pads):
        behind = [0] * (rank - count - 1)
        ends = [0, *pads[::2], *behind, 0, *pads[1::2], *behind]
        data = node.step(Pad(), data, node.vector(ends), suffix="padded")
    for axis, size in enumerate(block, start=1):
        sizes_known = node.sizes_if_known(data, [axis])
        if sizes_known is not None and sizes_known[0] % size:
            node.refuse(f"axis {axis} of {data.type}, padded, does not divide by the block of {size}")
    sizes: list[Count] = [size_at(node, data, 0)]
    for axis, size in enumerate(block, start=1):
        sizes += [_scale_size(node, size_at(node, data, axis), size, Div()), size]
    sizes += [size_at(node, data, axis) for axis in range(count + 1, rank)]
    apart = _reshape(node, data, sizes, "apart")
    order = [*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count, 2), *range(2 * count + 1, rank + count)]
    moved = node.step(Transpose(tuple(order)), apart, suffix="moved")
    area = math.prod(block)
    wanted = [_scale_size(node, sizes[0], area, Mul()), *sizes[1 : 2 * count : 2], *sizes[2 * count + 1 :]]
    return _reshape(node, moved, wanted, "")


def import_batch_to_space(node: ImportNode) -> Value:
    """BatchToSpace of images, and BatchToSpaceND: the reverse; what `crops` states is cut off at the end."""
    data, block = node.input(0), _read_block(node)
    crops = _read_ends(node, "the crops", len(block))
    rank, count = node.rank(data), len(block)
    area = math.prod(block)
    batch = _scale_size(node, size_at(node, data, 0), area, Div())
    spatial = [size_at(node, data, axis) for axis in range(1, count + 1)]
    rest = [size_at(node, data, axis) for axis in range(count + 1, rank)]
    apart = _reshape(node, data, [*block, batch, *spatial, *rest], "apart")
    pairs = [axis_index for axis in range(count) for axis_index in (count + 1 + axis, axis)]
    moved = node.step(Transpose((count, *pairs, *range(2 * count + 1, rank + count))), apart, suffix="moved")
    grown = [_scale_size(node, size, factor, Mul()) for size, factor in zip(spatial, block, strict=True)]
    if not any(crops):
        return _reshape(node, moved, [batch, *grown, *rest], "")
    whole = _reshape(node, moved, [batch, *grown, *rest], "whole")
    ends = [-after or TO_THE_END for after in crops[1::2]]
    bounds = (crops[::2], ends, range(1, count + 1))
    return node.emit(Slice(), whole, *map(node.vector, bounds))


def _read_block(node: ImportNode) -> tuple[int, ...]:
    """Return the sizes of a block: an input of the operators of any rank, an attribute for images."""
    sizes = node.integers(1, "the block's shape") if node.op.endswith("ND") else (int(node.attrs["block_size"]),) * 2
    if min(sizes, default=1) < 1:
        node.refuse(f"the block's shape is {str(sizes)[:60]}, expected sizes of at least 1")
    return sizes


def _read_ends(node: ImportNode, what: str, count: int) -> tuple[int, ...]:
    """Return what is added or cut before and behind each axis of the block."""
    numbers = node.integers(len(node) - 1, what)
    if len(numbers) != 2 * count or min(numbers, default=0) < 0:
        node.refuse(f"{what} are {str(numbers)[:60]}, expected {2 * count} numbers of at least 0")
    return numbers


def _scale_size(node: ImportNode, size: Count, factor: int, op: Mul | Div) -> Count:
    if isinstance(size, int):
        return size * factor if isinstance(op, Mul) else size // factor
    return size if factor == 1 else node.step(op, size, node.vector([factor]), suffix="scaled")


def _reshape(node: ImportNode, data: Value, sizes: Sequence[Count], suffix: str) -> Value:
    """Return the data with these sizes; a single one that is computed is left to the Reshape."""
    computed = [index for index, size in enumerate(sizes) if not isinstance(size, int)]
    shape = list(sizes)
    if len(computed) == 1 and 0 not in shape:
        shape[computed[0]] = -1
    operand = as_vector(node, shape)
    return node.step(Reshape(), data, operand, suffix=suffix) if suffix else node.emit(Reshape(), data, operand)


IMPORTS: dict[str, ImportFunction] = {
    "BatchToSpace": import_batch_to_space,
    "BatchToSpaceND": import_batch_to_space,
    "DepthToSpace": blocks(DepthToSpace),
    "SpaceToBatch": import_space_to_batch,
    "SpaceToBatchND": import_space_to_batch,
    "SpaceToDepth": blocks(SpaceToDepth),
}
