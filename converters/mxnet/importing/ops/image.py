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
        # An axis becomes two: the elements of a window, each a slice with steps, and the windows.
        node.charge(kernel[axis], "the elements of a window")
        parts = []
        for index in range(kernel[axis]):
            rest = (kernel[axis] - 1 - index) * dilate[axis]
            limits = (index * dilate[axis], -rest if rest else END, 2 + 2 * axis, stride[axis])
            part = node.step(Slice(), data, *map(node.vector, ([limit] for limit in limits)), suffix="element")
            parts.append(node.step(Unsqueeze(), part, node.vector([2 + 2 * axis]), suffix="apart"))
        data = node.step(Concat(2 + 2 * axis), *parts, suffix="windows")
    rows = node.step(Transpose((0, 1, 2, 4, 3, 5)), data, suffix="rows")
    return node.emit(Reshape(), rows, node.vector([0, channels * kernel[0] * kernel[1], -1]))


IMPORTS: dict[str, ImportFunction] = {
    "Correlation": import_correlation,
    "col2im": import_col2im,
    "im2col": import_im2col,
}
