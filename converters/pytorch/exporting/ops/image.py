"""Cropping images to a size, putting blocks together, comparing patches."""

from __future__ import annotations

from graphir.converters.pytorch.exporting.context import ExportNode, call, list_of, row, short, table, tuple_of
from graphir.converters.pytorch.exporting.ops.convolution import unless
from graphir.ops import image as ir


def export_center_crop_pad(node: ExportNode[ir.CenterCropPad]) -> None:
    """F.pad where the sizes are known, else a function of the file."""
    op, rank, shape = node.op, node.rank(), node.known(1)
    axes = [node.axis(axis, rank) for axis in op.axes or range(rank)]
    sizes = node.sizes_if_known(0, axes)
    if shape is None or sizes is None:
        listed = None if not op.axes else list_of(axes)
        node.emit(call(node.function("center_crop_pad"), node.tensor(), node.int_list(1), axes=listed))
        return
    ends = [(0, 0)] * rank
    for axis, size, new in zip(axes, sizes, shape, strict=True):
        more = new - size
        before = more // 2 if more > 0 else -(-more // 2)
        ends[axis] = before, more - before
    changed = [axis for axis in range(rank) if any(ends[axis])]
    if not changed:
        node.alias(node.tensor())
        return
    numbers = [number for pair in reversed(ends[changed[0] :]) for number in pair]
    node.emit(call("F.pad", node.tensor(), tuple_of(numbers)))


def export_col2im(node: ExportNode[ir.Col2Im]) -> None:
    """F.fold over two axes, else a function of the file."""
    op = node.op
    image, block = node.ints_if_known(1), node.ints_if_known(2)
    (rank,) = node.sizes(1)
    strides, dilations = op.strides or (1,) * rank, op.dilations or (1,) * rank
    pads = op.padding.pads or ((0, 0),) * rank
    if image and block and rank == 2 and op.padding.is_symmetric and node.dtype().is_float:
        options = {
            "dilation": unless(1, dilations), "padding": unless(0, [before for before, _ in pads]),
            "stride": unless(1, strides),
        }  # fmt: skip
        node.emit(call("F.fold", node.tensor(), tuple_of(image), short(block), **options))
        return
    texts = (tuple_of(strides), tuple_of(dilations), tuple_of(map(tuple_of, pads)))
    node.emit(call(node.function("col2im"), node.tensor(), node.int_list(1), node.int_list(2), *texts))


def export_correlation(node: ExportNode[ir.Correlation]) -> None:
    """A loop over shifts."""
    op = node.op
    options = {
        "kernel": op.kernel_size, "reach": op.max_displacement, "stride": op.stride, "shift_stride": op.shift_stride,
        "pad": op.pad, "multiply": op.multiply,
    }  # fmt: skip
    texts = {name: str(number) for name, number in options.items()}
    node.emit(call(node.function("correlation"), *node.tensors(), **texts))


EXPORTS = table(
    row(ir.CenterCropPad, export_center_crop_pad),
    row(ir.Col2Im, export_col2im),
    row(ir.Correlation, export_correlation),
)
