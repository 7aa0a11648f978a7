"""Images of their blocks, and how alike two images are."""

from __future__ import annotations

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.graph import Value
from graphir.ops.image import Col2Im, Correlation
from graphir.padding import symmetric


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


IMPORTS: dict[str, ImportFunction] = {"Correlation": import_correlation, "col2im": import_col2im}

__all__ = ["IMPORTS"]
