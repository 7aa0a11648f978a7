"""Convolution and Deconvolution."""

from __future__ import annotations

from typing import Any

from graphir.converters.mxnet.export_context import Entry, ExportNode, ExportTable
from graphir.converters.mxnet.exports.padding import cropped, padded
from graphir.ops.convolution import Conv, ConvTranspose
from graphir.padding import Explicit
from graphir.types import UNKNOWN, Dim


def _kernel(node: ExportNode) -> tuple[int, ...]:
    kernel = node.op.kernel_shape or node.sizes(node.shape(1)[2:], node.value(1).name)
    if not 1 <= len(kernel) <= 3:
        node.refuse(f"MXNet convolves over 1 to 3 spatial axes, not {len(kernel)}")
    return tuple(kernel)


def _filters(node: ExportNode, size: Dim) -> int:
    if not isinstance(size, int):
        node.refuse(f"the number of filters of {node.value(1).name} is unknown")
    return size


def _operands(node: ExportNode) -> list[Entry]:
    return [node.entry(slot) for slot in (1, 2) if node.operand(slot) is not None]


def export_conv(node: ExportNode) -> None:
    """Convolution; padding with different numbers before and after is a Pad of its own."""
    op: Conv = node.op
    kernel = _kernel(node)
    rank = len(kernel)
    data = node.entry(0)
    padding = op.resolved((node.value(0).shape or (UNKNOWN,) * (rank + 2))[2:], kernel)
    if padding is None:
        node.refuse("SAME needs the sizes of the input; state the inputs' shapes")
    pads = padding.pads
    if not padding.is_symmetric or any(min(pair) < 0 for pair in pads):
        data = padded(node, data, node.shape(), node.dtype(), [(0, 0), (0, 0), *pads], 0.0)
        pads = ((0, 0),) * rank
    node.emit(
        "Convolution",
        data,
        *_operands(node),
        kernel=kernel,
        stride=op.strides or (1,) * rank,
        dilate=op.dilations or (1,) * rank,
        pad=tuple(before for before, _ in pads),
        num_filter=_filters(node, node.shape(1)[0]),
        num_group=op.group,
        no_bias=node.operand(2) is None,
    )


def export_conv_transpose(node: ExportNode) -> None:
    """Deconvolution; what differs between the two ends is cut off afterwards."""
    op: ConvTranspose = node.op
    kernel = _kernel(node)
    rank = len(kernel)
    padding = op.padding
    if op.output_shape or not isinstance(padding, Explicit):
        node.refuse("output_shape and SAME are not written yet; resolve them to numbers")
    pads = padding.pads or ((0, 0),) * rank
    crop = any(before != after or before < 0 for before, after in pads)
    strides = op.strides or (1,) * rank
    extra = op.output_padding or (0,) * rank
    if any(more >= stride for more, stride in zip(extra, strides, strict=True)):
        node.refuse(f"output_padding {list(extra)}; MXNet wants it smaller than the stride {list(strides)}")
    attributes: dict[str, Any] = {
        "kernel": kernel,
        "stride": strides,
        "dilate": op.dilations or (1,) * rank,
        "pad": (0,) * rank if crop else tuple(before for before, _ in pads),
        "adj": extra if any(extra) else None,
        "num_filter": _filters(node, node.shape(1)[1]) * op.group,
        "num_group": op.group,
        "no_bias": node.operand(2) is None,
    }
    if not crop:
        node.emit("Deconvolution", node.entry(0), *_operands(node), **attributes)
        return
    if any(min(pair) < 0 for pair in pads):
        node.refuse(f"padding {list(pads)} is negative")
    whole = node.step("Deconvolution", node.entry(0), *_operands(node), suffix="whole", **attributes)
    node.bind(cropped(node, whole, [(0, 0), (0, 0), *((-before, -after) for before, after in pads)]))


EXPORTS: ExportTable = {Conv: export_conv, ConvTranspose: export_conv_transpose}

__all__ = ["EXPORTS"]
