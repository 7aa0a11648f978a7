"""Operators that look up, place or find elements by index."""

from __future__ import annotations

from graphir.converters.onnx.dtypes import CODES
from graphir.converters.onnx.exporting.context import ExportNode, direct, row, rows, table
from graphir.converters.onnx.importing.context import ImportNode, ImportTable
from graphir.converters.onnx.importing.context import direct as import_direct
from graphir.ops import indexing as ir
from graphir.ops.elementwise import Less, Where
from graphir.ops.shape_parts import BEYOND
from graphir.types import DType

REDUCTION_SINCE = {ir.Reduction.ADD: 16, ir.Reduction.MUL: 16, ir.Reduction.MAX: 18, ir.Reduction.MIN: 18}


def _reduction(node: ExportNode[ir.ScatterElements | ir.ScatterND]) -> str | None:
    """Return the attribute `reduction`, left out at its default. Refuses one that the opset does not have."""
    reduction = node.op.reduction
    since = REDUCTION_SINCE.get(reduction, 0)
    node.demand(since, f"the reduction {reduction.value} exists")
    return reduction.value if since else None


def export_scatter_elements(node: ExportNode[ir.ScatterElements]) -> None:
    """Write ScatterElements."""
    op = node.op
    node.emit("ScatterElements", node.input_names(), axis=op.axis or None, reduction=_reduction(node))


def export_one_hot(node: ExportNode[ir.OneHot]) -> None:
    """Write OneHot; ONNX wants indices of one axis at least, so that a scalar becomes a vector on the way.

    Values of a dtype that the runtime's OneHot lacks are chosen by where it places a 1.
    """
    op = node.op
    names, indices = node.input_names(), node.optional(0)
    is_scalar = indices is not None and indices.rank == 0
    is_chosen = node.needs_composition()
    axis = op.axis if op.axis != -1 and not is_scalar else None
    if not is_scalar and not is_chosen:
        node.emit("OneHot", names, axis=axis)
        return
    positions, depth, values = names
    if is_scalar:
        positions = node.step("Unsqueeze", [positions, node.vector([0])], suffix="indices")
    hot = node.step("OneHot", [positions, depth, node.vector([0, 1]) if is_chosen else values], suffix="hot", axis=axis)
    if is_scalar and not is_chosen:
        node.emit("Squeeze", [hot, node.vector([0])])
        return
    if is_scalar:
        hot = node.step("Squeeze", [hot, node.vector([0])], suffix="row")
    off, on = (node.step("Gather", [values, node.constant(index, DType.INT64)], suffix="value") for index in (0, 1))
    node.emit("Where", [node.step("Cast", [hot], to=CODES[DType.BOOL]), on, off])


def export_cum_sum(node: ExportNode[ir.CumSum]) -> None:
    """Write CumSum; before opset 14 floats of 16 bits are added up as float32, and the sums rounded."""
    if node.opset >= 14 or node.dtype() not in (DType.FLOAT16, DType.BFLOAT16):
        direct()(node)
        return
    op = node.op
    data, axis = node.input_names()
    wide = node.step("Cast", [data], to=CODES[DType.FLOAT32], suffix="wide")
    sums = node.step("CumSum", [wide, axis], exclusive=int(op.exclusive) or None, reverse=int(op.reverse) or None)
    node.emit("Cast", [sums], to=CODES[node.dtype()])


EXPORTS = table(
    *rows((ir.Gather, ir.GatherElements, ir.GatherND, ir.Compress, ir.NonZero, ir.Unique), direct()),
    row(ir.ScatterElements, export_scatter_elements),
    row(ir.ScatterND, lambda node: node.emit("ScatterND", node.input_names(), reduction=_reduction(node))),
    row(ir.OneHot, export_one_hot),
    row(ir.CumSum, export_cum_sum),
    row(ir.CumProd, direct(since=26)),
)


def import_one_hot_9(node: ImportNode) -> None:
    """Read OneHot before opset 11, where negative indices do not count from the end but are outside."""
    indices = node.input(0)
    if indices.dtype not in (DType.INT32, DType.INT64):
        indices = node.cast(indices, DType.INT64, suffix="indices")
    tensor = indices.tensor
    if tensor is None or (tensor.numpy() < 0).any():
        dtype = indices.dtype or DType.INT64
        below = node.step(Less(), indices, node.constant(0, dtype))
        indices = node.step(Where(), below, node.constant(BEYOND, dtype), indices, suffix="inside")
    node.emit(ir.OneHot(node.attribute("axis")), indices, node.input(1), node.input(2))


IMPORTS: ImportTable = {
    **{op.__name__: {1: import_direct(op)} for op in EXPORTS if op is not ir.OneHot},
    "Scatter": {
        9: import_direct(ir.ScatterElements),
        11: lambda node: node.refuse("it ended with opset 10; ScatterElements replaces it"),
    },
    "OneHot": {9: import_one_hot_9, 11: import_direct(ir.OneHot)},
}
