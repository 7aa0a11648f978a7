"""Conv, ConvTranspose and DeformConv."""

from __future__ import annotations

from dataclasses import replace

from graphir.converters.onnx.exporting.context import ExportNode, row, table
from graphir.converters.onnx.exporting.context import direct as export_direct
from graphir.converters.onnx.exporting.same_padding import padded_at_run_time, stated_padding
from graphir.converters.onnx.importing.context import ImportTable, direct
from graphir.converters.onnx.padding import pad_attributes, unless_all
from graphir.ops.convolution import Conv, ConvTranspose, DeformConv
from graphir.padding import Explicit, resolve_transposed
from graphir.passes.explicit_padding import kernel_of, spatial_sizes
from graphir.types import UNKNOWN


def export_conv(node: ExportNode[Conv]) -> None:
    """Write Conv: `kernel_shape` is stated where it is known, defaults are left out."""
    op = node.op
    names, padding = node.input_names(), stated_padding(node)
    if padding is None:
        names[0] = padded_at_run_time(node, names[0], 0)
    node.emit(
        "Conv",
        names,
        kernel_shape=op.kernel_shape or None,
        strides=unless_all(op.strides, 1),
        dilations=unless_all(op.dilations, 1),
        group=op.group if op.group != 1 else None,
        **pad_attributes(padding or Explicit()),
    )


def export_conv_transpose(node: ExportNode[ConvTranspose]) -> None:
    """Write ConvTranspose with numbers for the padding.

    Runtimes differ in `auto_pad` and in `output_shape` without it: both become numbers where the kernel is known, and
    an output shape the sizes too.
    """
    op: ConvTranspose = _with_numbers(node)
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


def _with_numbers(node: ExportNode[ConvTranspose]) -> ConvTranspose:
    op = node.op
    kernel = kernel_of(node.node)
    if kernel is None or (isinstance(op.padding, Explicit) and not op.output_shape):
        return op
    ones, zeros = (1,) * len(kernel), (0,) * len(kernel)
    sizes = spatial_sizes(node.node, len(kernel)) or (UNKNOWN,) * len(kernel)
    numbers = resolve_transposed(
        *(op.padding, sizes, kernel, op.strides or ones, op.dilations or ones),
        op.output_padding or zeros,
        op.output_shape,
    )
    if numbers is None:
        return op
    pads, extra = numbers
    return replace(op, padding=pads, output_padding=extra, output_shape=())


EXPORTS = table(
    row(Conv, export_conv),
    row(ConvTranspose, export_conv_transpose),
    row(DeformConv, export_direct(since=19)),
)
IMPORTS: ImportTable = {
    "Conv": {1: direct(Conv)},
    "ConvTranspose": {1: direct(ConvTranspose)},
    "DeformConv": {19: direct(DeformConv)},
}
