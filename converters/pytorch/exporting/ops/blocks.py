"""What trades blocks of an image's rows and columns for channels."""

from __future__ import annotations

from graphir.converters.pytorch.exporting.context import ExportNode, row, table
from graphir.ops import blocks as ir


def export_depth_to_space(node: ExportNode[ir.DepthToSpace]) -> None:
    """F.pixel_shuffle, in which the depth comes before the offsets; a function for the other order."""
    is_plain = node.op.mode is ir.DepthOrder.CRD
    name = "F.pixel_shuffle" if is_plain else node.function("depth_to_space")
    node.emit(f"{name}({node.tensor()}, {node.op.blocksize})")


def export_space_to_depth(node: ExportNode[ir.SpaceToDepth]) -> None:
    """F.pixel_unshuffle, or a function in the same way."""
    is_plain = node.op.mode is ir.DepthOrder.CRD
    name = "F.pixel_unshuffle" if is_plain else node.function("space_to_depth")
    node.emit(f"{name}({node.tensor()}, {node.op.blocksize})")


EXPORTS = table(
    row(ir.DepthToSpace, export_depth_to_space),
    row(ir.SpaceToDepth, export_space_to_depth),
)

__all__ = ["EXPORTS"]
