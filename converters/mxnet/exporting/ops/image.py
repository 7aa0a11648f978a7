"""Operators on images: blocks put together, likeness."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from graphir.converters.mxnet.exporting.context import AnyNode, Entry, ExportNode, direct, row, table
from graphir.converters.mxnet.exporting.ops.padding import cropped
from graphir.converters.mxnet.exporting.ops.steps import emit_as, operand_dtype
from graphir.ops import image as ir
from graphir.padding import window_size


@dataclass(frozen=True)
class _ImageBlocks:
    """The blocks of an image on some of its axes: sizes of image and block, stride, dilation, and padding in front."""

    image: tuple[int, ...]
    block: tuple[int, ...]
    stride: tuple[int, ...]
    dilate: tuple[int, ...]
    pad: tuple[int, ...]

    def part(self, first: int, last: int | None) -> _ImageBlocks:
        """Return the blocks on a range of the axes."""
        image, block, stride, dilate, pad = (
            numbers[first:last] for numbers in (self.image, self.block, self.stride, self.dilate, self.pad)
        )
        return _ImageBlocks(image, block, stride, dilate, pad)

    @property
    def counts(self) -> tuple[int, ...]:
        """How many blocks there are on each axis."""
        return tuple(
            int(window_size(size, width, stride, dilation, (pad, pad)))  # type: ignore[arg-type]
            for size, width, stride, dilation, pad in zip(
                self.image, self.block, self.stride, self.dilate, self.pad, strict=True
            )
        )


def export_col2im(node: ExportNode[ir.Col2Im]) -> None:
    """col2im; an image padded differently before and after is cut out of a larger one."""
    op = node.op
    image, block = node.numbers(1), node.numbers(2)
    assert image is not None
    assert block is not None
    rank = len(image)
    if not 1 <= rank <= 3:
        node.refuse(f"blocks over {rank} spatial axes; over 1 to 3 they can be written")
    pads, ones = op.padding.pads or ((0, 0),) * rank, (1,) * rank
    even = all(before == after and before >= 0 for before, after in pads)
    if not even and any(min(pair) < 0 for pair in pads):
        node.refuse(f"padding {list(pads)} is negative")
    whole = image if even else tuple(size + sum(pair) for size, pair in zip(image, pads, strict=True))
    front = tuple(before for before, _ in pads) if even else (0,) * rank
    blocks = _ImageBlocks(whole, block, op.strides or ones, op.dilations or ones, front)
    channels = 1
    if rank != 2:
        (channels,) = node.fixed((node.result.shape or ())[1:2], "the result's channels")
    result = _put_together(node, node.entry(0), channels, blocks)
    if not even:
        result = cropped(node, result, [(0, 0), (0, 0), *((-before, -after) for before, after in pads)])
    emit_as(node, result, operand_dtype(node))


def _put_together(node: AnyNode, data: Entry, channels: int, blocks: _ImageBlocks) -> Entry:
    """Return the image (N, C, D...) of blocks (N, C * elements, blocks); MXNet's col2im has two axes, so others go in
    turn."""
    rank = len(blocks.image)
    if rank == 2:
        return _put_together_flat(node, data, blocks)
    if rank == 1:
        image, block = (1, *blocks.image), (1, *blocks.block)
        plane = _ImageBlocks(image, block, (1, *blocks.stride), (1, *blocks.dilate), (0, *blocks.pad))
        flat = _put_together_flat(node, data, plane)
        return node.step("Reshape", flat, suffix="line", shape=(-1, channels, *blocks.image))
    (depth,), plane = blocks.block[:1], blocks.part(1, None)
    (slices,), area = blocks.counts[:1], prod(plane.image)
    apart = (-1, channels, depth, prod(plane.block), slices, prod(plane.counts))
    data = node.step("Reshape", data, suffix="apart", shape=apart)
    data = node.step("transpose", data, suffix="planes", axes=(0, 1, 2, 4, 3, 5))
    data = node.step("Reshape", data, suffix="plane_blocks", shape=(0, -1, prod(plane.counts)))
    planes = _put_together_flat(node, data, plane)
    planes = node.step("Reshape", planes, suffix="lines", shape=(-1, channels, depth, slices, area))
    planes = node.step("transpose", planes, suffix="turned", axes=(0, 1, 4, 2, 3))
    planes = node.step("Reshape", planes, suffix="line_blocks", shape=(-1, channels * area * depth, slices))
    lines = _put_together(node, planes, channels * area, blocks.part(0, 1))
    lines = node.step("Reshape", lines, suffix="volume", shape=(-1, channels, *plane.image, blocks.image[0]))
    return node.step("transpose", lines, suffix="image", axes=(0, 1, 4, 2, 3))


def _put_together_flat(node: AnyNode, data: Entry, blocks: _ImageBlocks) -> Entry:
    attributes: dict[str, Any] = {"stride": blocks.stride, "dilate": blocks.dilate, "pad": blocks.pad}
    return node.step("col2im", data, output_size=blocks.image, kernel=blocks.block, **attributes)


CORRELATION = {"stride": "stride1", "shift_stride": "stride2", "pad": "pad_size", "multiply": "is_multiply"}

EXPORTS = table(row(ir.Col2Im, export_col2im), row(ir.Correlation, direct("Correlation", **CORRELATION)))
