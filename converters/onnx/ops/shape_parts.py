"""Operators that join tensors and take parts of them."""

from __future__ import annotations

from graphir.converters.onnx.exporting.context import AnyNode, ExportNode, born, direct, row, rows, table
from graphir.converters.onnx.importing.context import ImportNode, ImportTable, direct_rows
from graphir.converters.onnx.importing.context import direct as import_direct
from graphir.ops.shape_parts import (
    Concat,
    DepthOrder,
    DepthToSpace,
    ReverseSequence,
    Slice,
    SpaceToDepth,
    Split,
    Trilu,
    even_parts,
)
from graphir.types import DType

MOST_PARTS = 1 << 16


def export_split(node: ExportNode[Split]) -> None:
    """Write Split; before opset 18 parts without stated sizes must be equal, from then on their number is an attribute.

    What comes from opset 18 or newer may have a smaller last part: of a size that is not known it is computed.
    """
    op = node.op
    names = node.input_names()
    count = None
    if len(names) == 1 and node.opset >= 18:
        count = op.num_outputs
    elif len(names) == 1:
        value = node.optional(0)
        size = value.shape[op.axis] if value is not None and value.shape is not None else None
        if isinstance(size, int) and size % op.num_outputs:
            names = [*names, node.vector([int(part) for part in even_parts(size, op.num_outputs)])]  # type: ignore[arg-type]
        elif not isinstance(size, int) and (node.source_opset() or 0) >= 18:
            names = [*names, _computed_parts(node, op)]
    node.emit("Split", names, every_output=True, axis=op.axis or None, num_outputs=count)


def _computed_parts(node: AnyNode, op: Split) -> str:
    """Return the sizes of the parts as a vector: all alike, but the last one that holds what is left."""
    whole = node.step("Shape", node.input_names())
    end = op.axis + 1 or 1 << 31
    size = node.step("Slice", [whole, node.vector([op.axis]), node.vector([end])], suffix="size")
    rounding = node.step("Add", [size, node.vector([op.num_outputs - 1])], suffix="rounding")
    part = node.step("Div", [rounding, node.vector([op.num_outputs])], suffix="part")
    others = node.step("Mul", [part, node.vector([op.num_outputs - 1])], suffix="others")
    last = node.step("Sub", [size, others], suffix="last")
    return node.step("Concat", [*[part] * (op.num_outputs - 1), last], suffix="parts", axis=0)


def export_depth_to_space(node: ExportNode[DepthToSpace]) -> None:
    """Write DepthToSpace; DCR is the default of its mode."""
    op = node.op
    mode = op.mode.value if op.mode.value != "DCR" else None
    node.emit("DepthToSpace", node.input_names(), blocksize=op.blocksize, mode=mode)


def export_space_to_depth(node: ExportNode[SpaceToDepth]) -> None:
    """Write SpaceToDepth; CRD exists from opset 28 on, before that each channel is taken for an image of its own."""
    op = node.op
    if op.mode is DepthOrder.DCR or node.opset >= 28:
        mode = None if op.mode is DepthOrder.DCR else op.mode.value
        node.emit("SpaceToDepth", node.input_names(), blocksize=op.blocksize, mode=mode)
        return
    shape = node.node.output.shape or ()
    sizes = [size if isinstance(size, int) else -1 for size in shape[:2]]
    if sizes in ([], [-1, -1]):
        node.refuse(f"SpaceToDepth in the order CRD exists from opset 28 on, the target is {node.opset}; fix its batch")
    single = node.step("Reshape", [*node.input_names(), node.vector([-1, 1, 0, 0])], suffix="single")
    blocks = node.step("SpaceToDepth", [single], blocksize=op.blocksize)
    node.emit("Reshape", [blocks, node.vector([*sizes, 0, 0])])


def compose_trilu(node: ExportNode[Trilu]) -> None:
    """Before opset 14: the elements whose column less their row is at most, or at least, k; zeros elsewhere."""
    data, *moved = node.input_names()
    sizes = node.step("Shape", [data])
    zero, one = node.constant(0, DType.INT64), node.constant(1, DType.INT64)
    ranges = []
    for axis, name in ((-2, "rows"), (-1, "columns")):
        size = node.step("Gather", [sizes, node.constant(axis, DType.INT64)], suffix="size")
        ranges.append(node.step("Range", [zero, size, one], suffix=name))
    rows = node.step("Unsqueeze", [ranges[0], node.vector([1])])
    diagonals = node.step("Sub", [ranges[1], rows], suffix="diagonals")
    if moved:
        diagonals = node.step("Sub", [diagonals, *moved], suffix="moved")
    outside = node.step("Less" if node.op.upper else "Greater", [diagonals, zero], suffix="outside")
    node.emit("Where", [outside, node.scalar(0), data])


EXPORTS = table(
    *rows((Concat, Slice, ReverseSequence), direct()),
    row(Split, export_split),
    row(Trilu, born(14, compose_trilu)),
    row(DepthToSpace, export_depth_to_space),
    row(SpaceToDepth, export_space_to_depth),
)


def import_split(node: ImportNode) -> None:
    """Read Split; without `num_outputs` (before opset 18, or with sizes) the parts are as many as the results."""
    count = node.attribute("num_outputs", len(node.output_names))
    if count > MOST_PARTS:
        node.refuse(f"num_outputs is {count}, more than {MOST_PARTS}")
    node.emit(Split(count, node.attribute("axis")), *node.inputs)


def import_split_2(node: ImportNode) -> None:
    """Read Split before opset 13, whose sizes are an attribute."""
    sizes = node.ints("split")
    operands = [node.input(0), *([node.vector(sizes)] if sizes else [])]
    node.emit(Split(len(node.output_names), node.attribute("axis")), *operands)


def import_split_1(node: ImportNode) -> None:
    """Read Split-1, whose sizes may also be an operand of X's dtype. Refuses a node without an axis: ONNX has no
    default."""
    sizes, stated = node.ints("split"), node.optional(1)
    operand = node.vector(sizes) if sizes else None
    if stated is not None:
        operand = node.cast(stated, DType.INT64)
    node.emit(Split(len(node.output_names), node.attribute("axis")), node.input(0), operand)


def import_slice_1(node: ImportNode) -> None:
    """Read Slice before opset 10, whose bounds are attributes."""
    starts, ends, axes = node.attribute("starts"), node.attribute("ends"), node.ints("axes")
    bounds = [node.vector(numbers) for numbers in (starts, ends, *([axes] if axes else []))]
    node.emit(Slice(), node.input(0), *bounds)


IMPORTS: ImportTable = {
    **direct_rows(Trilu, ReverseSequence, DepthToSpace, SpaceToDepth),
    "Concat": {
        1: lambda node: node.emit(Concat(node.attribute("axis", 1)), *node.inputs),
        4: import_direct(Concat),
    },
    "Split": {1: import_split_1, 2: import_split_2, 13: import_split},
    "Slice": {1: import_slice_1, 10: import_direct(Slice)},
}
