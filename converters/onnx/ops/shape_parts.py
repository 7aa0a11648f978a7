"""Operators that join tensors and take parts of them."""

from __future__ import annotations

from graphir.converters.onnx.context import ExportNode, ExportTable, direct
from graphir.converters.onnx.import_context import ImportTable
from graphir.ops.shape_parts import Concat, DepthToSpace, ReverseSequence, Slice, SpaceToDepth, Split, Trilu, even_parts


def export_split(node: ExportNode) -> None:
    """Split; before opset 18 parts without stated sizes must be equal, from then on their number is an attribute."""
    op: Split = node.op
    names = node.input_names()
    count = None
    if len(names) == 1 and node.opset >= 18:
        count = op.num_outputs
    elif len(names) == 1:
        value = node.value(0)
        size = value.shape[op.axis] if value is not None and value.shape is not None else None
        if isinstance(size, int) and size % op.num_outputs:
            names = [*names, node.vector([int(part) for part in even_parts(size, op.num_outputs)])]  # type: ignore[arg-type]
    node.emit("Split", names, every_output=True, axis=op.axis or None, num_outputs=count)


def export_depth_to_space(node: ExportNode) -> None:
    """DepthToSpace; DCR is the default of its mode."""
    op: DepthToSpace = node.op
    mode = op.mode.value if op.mode.value != "DCR" else None
    node.emit("DepthToSpace", node.input_names(), blocksize=op.blocksize, mode=mode)


EXPORTS: ExportTable = {
    Concat: direct(),
    Split: export_split,
    Slice: direct(),
    Trilu: direct(since=14),
    ReverseSequence: direct(),
    DepthToSpace: export_depth_to_space,
    SpaceToDepth: direct(),
}

IMPORTS: ImportTable = {}

__all__ = ["EXPORTS", "IMPORTS"]
