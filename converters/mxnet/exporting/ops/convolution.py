"""Convolution, Deconvolution, and convolution at learned offsets.

DeformConv as MXNet's modulated deformable convolution, which like ONNX's reads zeros around the image.

The plain one reads 0 outside of the pixels' centres and the last pixel beyond it: it is another function.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphir.converters.mxnet.exporting.context import AnyNode, Entry, ExportNode, row, table
from graphir.converters.mxnet.exporting.ops.padding import padded, settled, settled_transposed
from graphir.converters.mxnet.exporting.ops.steps import along, computing, emit_as, emit_first, wide
from graphir.decisions import DecisionKind
from graphir.ops.convolution import Conv, ConvTranspose, DeformConv
from graphir.padding import extent
from graphir.tensor import Tensor
from graphir.types import UNKNOWN, Dim, DType


def _kernel_of(node: ExportNode[Conv | ConvTranspose | DeformConv]) -> tuple[int, ...]:
    """Return the kernel's spatial shape, from the attribute or from the weight. Refuses what MXNet has not."""
    kernel = node.op.kernel_shape or node.fixed(node.shape(1)[2:], node.input(1).name)
    if not 1 <= len(kernel) <= 3:
        node.refuse(f"MXNet convolves over 1 to 3 spatial axes, not {len(kernel)}")
    return tuple(kernel)


def _filters(node: AnyNode, size: Dim) -> int:
    if not isinstance(size, int):
        node.refuse(f"the number of filters of {node.input(1).name} is unknown")
    return size


def _note_half(node: AnyNode, name: str) -> None:
    if node.dtype() is DType.FLOAT16:
        node.decide(DecisionKind.FLOAT16_PRODUCT, f"{name} of float16 runs on a GPU; MXNet's CPU build has none")


def convolution(
    node: ExportNode[Conv | DeformConv], data: Entry, dtype: DType, no_bias: bool
) -> tuple[Entry, dict[str, Any]]:
    """Return the data, of this dtype, and the attributes of a Convolution of the node's weight, in slot 1.

    Different padding before and after is a Pad of its own.
    """
    op = node.op
    kernel = _kernel_of(node)
    rank = len(kernel)
    ones = (1,) * rank
    shape = node.input(0).shape or (UNKNOWN,) * (rank + 2)
    padding = settled(node, op.padding, shape[2:], kernel, op.strides or ones, op.dilations or ones)
    pads = padding.pads or ((0, 0),) * rank
    if not padding.is_symmetric or any(min(pair) < 0 for pair in pads):
        data = padded(node, data, shape, dtype, [(0, 0), (0, 0), *pads], 0.0)
        pads = ((0, 0),) * rank
    return data, {
        "kernel": kernel,
        "stride": op.strides or (1,) * rank,
        "dilate": op.dilations or (1,) * rank,
        "pad": tuple(before for before, _ in pads),
        "num_filter": _filters(node, node.shape(1)[0]),
        "num_group": op.group,
        "no_bias": no_bias,
    }


def export_conv(node: ExportNode[Conv]) -> None:
    """Convolution."""
    _note_half(node, "Convolution")
    no_bias = node.optional(2) is None
    data, attributes = convolution(node, node.entry(0), node.dtype(), no_bias)
    node.emit("Convolution", data, *(node.entry(slot) for slot in ((1,) if no_bias else (1, 2))), **attributes)


@dataclass(frozen=True)
class _Ends:
    """How a Deconvolution lies in its result: what MXNet does itself, and what is cut off or added at both ends."""

    pad: tuple[int, ...]
    adj: tuple[int, ...]
    outer: tuple[tuple[int, int], ...]


def _ends(node: AnyNode, op: ConvTranspose, kernel: tuple[int, ...]) -> _Ends:
    rank = len(kernel)
    strides, dilations = op.strides or (1,) * rank, op.dilations or (1,) * rank
    sizes = (node.input(0).shape or (UNKNOWN,) * (rank + 2))[2:]
    stated = op.output_padding or (0,) * rank
    padding, extra = settled_transposed(
        node, op.padding, sizes, kernel, strides, dilations, stated, op.output_shape
    )
    adj = tuple(min(more, stride - 1) for more, stride in zip(extra, strides, strict=True))
    if padding.is_symmetric and adj == tuple(extra) and all(before >= 0 for before, _ in padding.pads):
        return _Ends(tuple(before for before, _ in padding.pads), adj, ())
    rest = [more - size for more, size in zip(extra, adj, strict=True)]
    outer = tuple((-before, more - after) for (before, after), more in zip(padding.pads, rest, strict=True))
    return _Ends((0,) * rank, adj, outer)


def export_conv_transpose(node: ExportNode[ConvTranspose]) -> None:
    """Deconvolution; what differs between the two ends is cut off, or added, afterwards."""
    op = node.op
    _note_half(node, "Deconvolution")
    kernel = _kernel_of(node)
    rank = len(kernel)
    ends = _ends(node, op, kernel)
    grows = any(number > 0 for pair in ends.outer for number in pair)
    inner_bias = node.optional(2) is not None and not grows
    weight, kernel, dilations = _weight(node, op, kernel)
    attributes: dict[str, Any] = {
        "kernel": kernel,
        "stride": op.strides or (1,) * rank,
        "dilate": dilations,
        "pad": ends.pad,
        "adj": ends.adj if any(ends.adj) else None,
        "num_filter": _filters(node, node.shape(1)[1]) * op.group,
        "num_group": op.group,
        "no_bias": not inner_bias,
    }
    operands = [node.entry(0), weight, *([node.entry(2)] if inner_bias else [])]
    if not ends.outer:
        node.emit("Deconvolution", *operands, **attributes)
        return
    whole = node.step("Deconvolution", *operands, suffix="whole", **attributes)
    shape = node.input(0).shape or (UNKNOWN,) * (rank + 2)
    result = padded(node, whole, shape, node.dtype(), [(0, 0), (0, 0), *ends.outer], 0.0)
    if node.optional(2) is None or inner_bias:
        node.bind(result)
    else:
        emit_first(node, "broadcast_add", result, along(node.entry(2), node, 1, rank + 2, "bias"))


def _weight(
    node: AnyNode, op: ConvTranspose, kernel: tuple[int, ...]
) -> tuple[Entry, tuple[int, ...], tuple[int, ...]]:
    """Return the weight, its kernel and its dilations.

    MXNet's plain CPU kernel is wrong for strides and dilations together; oneDNN's, which takes float32, is right. For
    other dtypes, and over three axes, for which MXNet has no dilations, the weight gets its gaps itself.
    """
    rank = len(kernel)
    dilations = op.dilations or (1,) * rank
    together = any(step != 1 for step in op.strides) or rank == 3
    if all(step == 1 for step in dilations) or not together:
        return node.entry(1), kernel, dilations
    tensor = node.input(1).tensor
    if tensor is None and rank == 3:
        node.refuse("MXNet has no dilations over three axes, and its weight, which could get the gaps, is computed")
    if tensor is None or (node.dtype() is DType.FLOAT32 and rank < 3):
        node.decide(DecisionKind.DILATED_DECONVOLUTION, "strides and dilations together need MXNet's oneDNN or a GPU")
        return node.entry(1), kernel, dilations
    wide = tuple(extent(width, step) for width, step in zip(kernel, dilations, strict=True))

    def spread() -> Any:
        result = np.zeros((*tensor.shape[:2], *wide), tensor.dtype.numpy())
        result[(slice(None), slice(None), *(slice(None, None, step) for step in dilations))] = tensor.numpy()
        return result

    name = node.export.fresh_variable(f"{node.input(1).name}_dilated")
    dilated = Tensor.computed(tensor.dtype, (*tensor.shape[:2], *wide), spread)
    return node.export.variable(name, dilated, {}), wide, (1,) * rank


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


EXPORTS = table(
    row(Conv, export_conv), row(ConvTranspose, export_conv_transpose),
    row(DeformConv, export_deform_conv),
)
