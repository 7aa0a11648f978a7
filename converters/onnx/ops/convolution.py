"""Conv, ConvTranspose and DeformConv."""

from __future__ import annotations

from graphir.converters.onnx.context import ExportNode, ExportTable
from graphir.converters.onnx.context import direct as export_direct
from graphir.converters.onnx.import_context import ImportTable, direct
from graphir.converters.onnx.padding import pad_attributes, unless_all
from graphir.ops.convolution import Conv, ConvTranspose, DeformConv


def export_conv(node: ExportNode) -> None:
    """Conv: `kernel_shape` is stated where it is known, defaults are left out."""
    op: Conv = node.op
    node.emit(
        "Conv",
        node.input_names(),
        kernel_shape=op.kernel_shape or None,
        strides=unless_all(op.strides, 1),
        dilations=unless_all(op.dilations, 1),
        group=op.group if op.group != 1 else None,
        **pad_attributes(op.padding),
    )


def export_conv_transpose(node: ExportNode) -> None:
    """ConvTranspose, with numbers for the padding or a fixed output shape."""
    op: ConvTranspose = node.op
    node.emit(
        "ConvTranspose",
        node.input_names(),
        kernel_shape=op.kernel_shape or None,
        strides=unless_all(op.strides, 1),
        dilations=unless_all(op.dilations, 1),
        group=op.group if op.group != 1 else None,
        output_padding=unless_all(op.output_padding, 0),
        output_shape=op.output_shape or None,
        **pad_attributes(op.padding),
    )


EXPORTS: ExportTable = {
    Conv: export_conv,
    ConvTranspose: export_conv_transpose,
    DeformConv: export_direct(since=19),
}
IMPORTS: ImportTable = {
    "Conv": {1: direct(Conv)},
    "ConvTranspose": {1: direct(ConvTranspose)},
    "DeformConv": {19: direct(DeformConv)},
}

__all__ = ["EXPORTS", "IMPORTS"]
