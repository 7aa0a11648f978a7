"""Operators on images."""

from __future__ import annotations

import math

import numpy as np

from graphir.converters.onnx.exporting.context import ExportNode, born, direct, row, table
from graphir.converters.onnx.importing.context import ImportTable, direct_rows
from graphir.converters.onnx.importing.context import direct as import_direct
from graphir.ops.image import CenterCropPad, Col2Im, Correlation, ImageDecoder
from graphir.ops.shape_parts import BEYOND
from graphir.safety.limits import charge_nodes


def export_correlation(node: ExportNode[Correlation]) -> None:
    """Write Correlation: for each shift the mean over the channels of the shifted products, then the mean over
    patches."""
    op = node.op
    charge_nodes(3 * op.shift_count() ** 2, f"node {node.name!r} ({op.name}): its shifts")
    shifts = op.shifts()
    first, second = (_pad_image(node, name) for name in node.input_names())
    still = _shift(node, first, 0, 0)
    alike = [_compare(node, still, _shift(node, second, down, right)) for down in shifts for right in shifts]
    if op.kernel_size > 1:
        kernel, strides = (op.kernel_size,) * 2, (op.stride,) * 2 if op.stride > 1 else None
        node.emit("AveragePool", [node.step("Concat", alike, axis=1)], kernel_shape=kernel, strides=strides)
    elif op.stride > 1:
        step, axes = node.vector([op.stride] * 2), node.vector([2, 3])
        whole = node.step("Concat", alike, axis=1)
        node.emit("Slice", [whole, node.vector([0, 0]), node.vector([BEYOND] * 2), axes, step])
    else:
        node.emit("Concat", alike, axis=1)


def _pad_image(node: ExportNode[Correlation], name: str) -> str:
    pad = node.op.pad
    return node.step("Pad", [name, node.vector([0, 0, pad, pad] * 2)]) if pad else name


def _shift(node: ExportNode[Correlation], name: str, down: int, right: int) -> str:
    """Return the image without what lies as far outside as shifts reach, shifted."""
    reach = node.op.max_displacement
    if not reach:
        return name
    starts, ends = [reach + down, reach + right], [down - reach or BEYOND, right - reach or BEYOND]
    return node.step("Slice", [name, node.vector(starts), node.vector(ends), node.vector([2, 3])], suffix="shifted")


def _compare(node: ExportNode[Correlation], first: str, second: str) -> str:
    """Products or absolute differences, their mean over the channels."""
    if node.op.multiply:
        both = node.step("Mul", [first, second])
    else:
        both = node.step("Abs", [node.step("Sub", [first, second])])
    if node.opset < 18:
        return node.step("ReduceMean", [both], axes=(1,), suffix="alike")
    return node.step("ReduceMean", [both, node.vector([1])], suffix="alike")


def compose_col2im(node: ExportNode[Col2Im]) -> None:
    """Before opset 18: a transposed convolution by channels, whose filters each put one row of X in its place."""
    op = node.op
    image, block = node.integers(1, "the image's shape"), node.integers(2, "the block's shape")
    rows, count, rank = node.sizes(0, [1])[0], math.prod(block), len(image)
    strides, dilations = op.strides or (1,) * rank, op.dilations or (1,) * rank
    pads = op.padding.pads or ((0, 0),) * rank
    if not node.dtype().is_float:
        node.refuse(f"Col2Im of {node.dtype()} exists from opset 18 on, the target is {node.opset}")
    blocks, rest = [], []
    for size, width, stride, dilation, pair in zip(image, block, strides, dilations, pads, strict=True):
        room = size + sum(pair) - (width - 1) * dilation - 1
        blocks.append(room // stride + 1)
        rest.append(room % stride)
    node.charge(rows * count, "the filters of its composition")
    filters = np.tile(np.eye(count, dtype=node.dtype().numpy()), (rows // count, 1)).reshape(rows, 1, *block)
    spread = node.step("Reshape", [node.input_names()[0], node.vector([0, 0, *blocks])])
    node.emit(
        "ConvTranspose",
        [spread, node.constant(filters, suffix="filters")],
        kernel_shape=block,
        group=rows // count,
        strides=strides,
        dilations=dilations,
        pads=[*(pair[0] for pair in pads), *(pair[1] for pair in pads)],
        output_padding=rest if any(rest) else None,
    )


EXPORTS = table(
    row(ImageDecoder, direct(since=20)),
    row(CenterCropPad, direct(since=18)),
    row(Col2Im, born(18, compose_col2im)),
    row(Correlation, export_correlation),
)

IMPORTS: ImportTable = {
    "ImageDecoder": {20: import_direct(ImageDecoder)},
    **direct_rows(CenterCropPad, Col2Im, since=18),
}
