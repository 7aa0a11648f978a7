"""DeformConv as MXNet's modulated deformable convolution, which like ONNX's reads zeros around the image.

The plain one reads 0 outside of the pixels' centres and the last pixel beyond it: it is another function.
"""

from __future__ import annotations

import math

import numpy as np

from graphir.converters.mxnet.exporting.context import Entry, ExportNode, row, table
from graphir.converters.mxnet.exporting.ops.convolution import convolution
from graphir.converters.mxnet.exporting.ops.steps import computing, emit_as, wide
from graphir.ops.convolution import DeformConv
from graphir.types import DType


def export_deform_conv(node: ExportNode[DeformConv]) -> None:
    """_contrib_ModulatedDeformableConvolution; without a mask of ones."""
    op = node.op
    if node.rank(1) != 4:
        node.refuse(f"MXNet's deformable convolution is over 2 spatial axes, not {node.rank(1) - 2}")
    dtype = computing(node)
    no_bias = node.optional(3) is None
    data, attributes = convolution(node, wide(node, 0), dtype, no_bias)
    offset = wide(node, 2)
    if node.optional(4) is not None:
        mask = wide(node, 4)
    else:
        rows, columns = attributes["kernel"]
        half = node.step("slice_axis", offset, suffix="half", axis=1, begin=0, end=op.offset_group * rows * columns)
        mask = node.step("ones_like", half, suffix="mask")
    operands = [wide(node, slot) for slot in ((1,) if no_bias else (1, 3))]
    attributes["num_deformable_group"] = op.offset_group
    filters = attributes["num_filter"]
    more = -filters % op.offset_group
    if more:
        operands = _with_more_filters(node, operands, more, dtype)
        attributes["num_filter"] += more
    result = node.step("_contrib_ModulatedDeformableConvolution", data, offset, mask, *operands, **attributes)
    if more:
        result = node.step("slice_axis", result, suffix="filters", axis=1, begin=0, end=filters)
    emit_as(node, result, dtype)


def _with_more_filters(node: ExportNode[DeformConv], operands: list[Entry], more: int, dtype: DType) -> list[Entry]:
    """Weight and bias with filters of zeros behind: MXNet wants a number that the groups of offsets divide."""
    if node.op.group != 1:
        filters, groups = node.shape(1)[0], node.op.offset_group
        node.refuse(f"{filters} filters in groups, which MXNet wants the {groups} groups of offsets to divide")
    result = []
    for entry, slot in zip(operands, (1, 3), strict=False):
        _, *rest = node.fixed(node.shape(slot), node.input(slot).name)
        node.charge(more * math.prod(rest), "its filters of zeros")
        zeros = node.constant(np.zeros((more, *rest)), dtype, f"zeros{slot}")
        result.append(node.step("Concat", entry, zeros, suffix=f"filters{slot}", dim=0, num_args=2))
    return result


EXPORTS = table(row(DeformConv, export_deform_conv))
