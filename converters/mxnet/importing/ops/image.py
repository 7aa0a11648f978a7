"""Images of their blocks, and how alike two images are."""

from __future__ import annotations

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.graph import Value
from graphir.ops.image import Col2Im, Correlation
from graphir.ops.shape import Pad, Reshape, Transpose, Unsqueeze
from graphir.ops.shape_parts import Concat, Slice
from graphir.padding import symmetric

END = 2**31 - 1


def import_col2im(node: ImportNode) -> Value:
    """col2im: blocks (N, C * elements, blocks) added up to images (N, C, *output_size)."""
    attrs = node.attrs
    image, block = attrs["output_size"], attrs["kernel"]
    rank = len(image)
    if rank != 2 or len(block) != 2:
        node.refuse(f"output_size {list(image)} and kernel {list(block)}; MXNet's col2im runs over two axes only")
    op = Col2Im(attrs["stride"] or (1,) * rank, attrs["dilate"] or (1,) * rank, symmetric(attrs["pad"] or (0,) * rank))
    return node.emit(op, node.input(0), node.vector(image), node.vector(block))


def import_correlation(node: ImportNode) -> Value:
    """Correlation of two images (N, C, H, W)."""
    attrs = node.attrs
    op = Correlation(
        attrs["kernel_size"], attrs["max_displacement"], attrs["stride1"], attrs["stride2"], attrs["pad_size"],
        attrs["is_multiply"],
    )  # fmt: skip
    return node.emit(op, node.input(0), node.input(1))


MOST_ELEMENTS = 1024


def import_im2col(node: ImportNode) -> Value:
    """im2col: images (N, C, H, W) as blocks (N, C * elements, blocks), which may overlap."""
    attrs, data = node.attrs, node.input(0)
    kernel = attrs["kernel"]
    if len(kernel) != 2 or node.rank(data) != 4:
        node.refuse(f"kernel {list(kernel)} of {data.type}; MXNet's im2col runs over two axes only")
    if max(kernel) > MOST_ELEMENTS:
        node.refuse(f"kernel {list(kernel)}: each of its rows and columns is a node, of which {MOST_ELEMENTS} at most")
    if data.dtype is not None and not data.dtype.is_float:
        node.refuse(f"{data.name} is {data.dtype}; MXNet's im2col takes floats only")
    (channels,) = node.sizes(data, (1,))
    stride, dilate, pad = attrs["stride"] or (1, 1), attrs["dilate"] or (1, 1), attrs["pad"] or (0, 0)
    known = node.sizes_if_known(data, (2, 3))
    for size, k, d, p in zip(known or (), kernel, dilate, pad, strict=known is not None):
        if size + 2 * p < d * (k - 1) + 1:
            node.refuse(f"the kernel {list(kernel)} with dilation {list(dilate)} does not fit into {data.type}")
    if any(pad):
        pads = node.vector([0, 0, *pad, 0, 0, *pad])
        data = node.step(Pad(), data, pads, node.scalar_like(data, 0.0), suffix="padded")
    for axis in (0, 1):
        data = _windows(node, data, 2 + 2 * axis, kernel[axis], stride[axis], dilate[axis])
    rows = node.step(Transpose((0, 1, 2, 4, 3, 5)), data, suffix="rows")
    return node.emit(Reshape(), rows, node.vector([0, channels * kernel[0] * kernel[1], -1]))


def _windows(node: ImportNode, data: Value, axis: int, kernel: int, stride: int, dilate: int) -> Value:
    """An axis as two: the elements of a window, and the windows; each element's row is a slice with steps."""
    node.charge(kernel, "the elements of a window")
    parts = []
    for index in range(kernel):
        rest = (kernel - 1 - index) * dilate
        bounds = (node.vector([number]) for number in (index * dilate, -rest if rest else END, axis, stride))
        part = node.step(Slice(), data, *bounds, suffix="element")
        parts.append(node.step(Unsqueeze(), part, node.vector([axis]), suffix="apart"))
    return node.step(Concat(axis), *parts, suffix="windows")


IMPORTS: dict[str, ImportFunction] = {
    "Correlation": import_correlation,
    "col2im": import_col2im,
    "im2col": import_im2col,
}
