"""Operators that rearrange elements."""

from __future__ import annotations

import numpy as np

from graphir.converters.onnx.exporting.context import AnyNode, ExportNode, direct, row, rows, table
from graphir.converters.onnx.importing.context import (
    ImportFunction,
    ImportNode,
    ImportTable,
    attribute_as_operand,
    direct_rows,
)
from graphir.converters.onnx.importing.context import direct as import_direct
from graphir.ops.elementwise import Equal, Where
from graphir.ops.pooling import AveragePool, MaxPool
from graphir.ops.shape import (
    Expand,
    Flatten,
    Pad,
    PadMode,
    Reshape,
    Shape,
    Size,
    Squeeze,
    Tile,
    Transpose,
    Unsqueeze,
)
from graphir.padding import Explicit
from graphir.tensor import Tensor
from graphir.types import DType


def export_pad(node: ExportNode[Pad]) -> None:
    """Write Pad; `axes` exists from opset 18 on, before that it must be known and is spelled out."""
    op = node.op
    names = node.input_names()
    node.demand(19, "Pad with mode wrap exists", when=op.mode is PadMode.WRAP)
    if len(names) > 3 and node.opset < 18:
        axes, pads, value = node.known(3), node.known(1), node.optional(0)
        if axes is None or pads is None or value is None or value.rank is None:
            node.refuse(f"Pad with computed axes exists from opset 18 on, the target is {node.opset}")
        full = [0] * (2 * value.rank)
        for index, axis in enumerate(axes):
            full[axis % value.rank] = pads[index]
            full[axis % value.rank + value.rank] = pads[index + len(axes)]
        names = [names[0], node.vector(full), *names[2:3]]
    if _would_be_fused_wrongly(node):
        _emit_unfused_pad(node, names)
        return
    node.emit("Pad", names, mode=op.mode.value if op.mode.value != "constant" else None)


def _would_be_fused_wrongly(node: ExportNode[Pad]) -> bool:
    """Return whether onnxruntime (1.23 to 1.31 at least) would make these zeros the padding of the pooling that reads
    them.

    Padding of a MaxPool counts as smaller than every number, so that maxima of negative numbers come out wrong. An
    AveragePool with as much padding as its window is wide is refused, and with ceil mode it has other divisors.
    """
    users = node.node.outputs[0].users()
    op = users[0].op if len(users) == 1 else None
    if node.op.mode is not PadMode.CONSTANT or not isinstance(op, MaxPool | AveragePool):
        return False
    value = node.optional(2)
    zeros = value is None or (value.tensor is not None and not value.tensor.numpy().any())
    return zeros and (isinstance(op, MaxPool) or _pads_too_much(node, op))


def _pads_too_much(node: AnyNode, op: AveragePool) -> bool:
    """Return whether the Pad's and the pooling's own padding together could reach the width of its window, or ceil mode
    asks which of it is data."""
    amounts, rank = node.known(1), len(op.kernel_shape)
    if amounts is None or not isinstance(op.padding, Explicit) or op.ceil_mode or len(amounts) != 2 * (rank + 2):
        return True
    pool_pads = op.padding.pads or ((0, 0),) * rank
    pads = zip(amounts[2 : rank + 2], amounts[rank + 4 :], pool_pads, op.kernel_shape, strict=True)
    return any(first + before >= width or last + after >= width for first, last, (before, after), width in pads)


def _emit_unfused_pad(node: AnyNode, names: list[str]) -> None:
    """A Pad that onnxruntime does not fuse: with its axes as an operand, or before opset 18 with a step behind."""
    data = node.optional(0)
    if node.opset >= 18 and (len(names) > 3 or (data is not None and data.rank is not None)):
        if len(names) < 4:
            assert data is not None
            assert data.rank is not None
            names = [*names, *([""] * (3 - len(names))), node.vector(range(data.rank))]
        node.emit("Pad", names)
        return
    dtype = node.dtype()
    lowest = -np.inf if dtype.is_float else np.iinfo(dtype.numpy()).min
    padded = node.step("Pad", names, suffix="zeros")
    node.emit("Max", [padded, node.constant(np.asarray(lowest, dtype.numpy()), suffix="lowest")])


def export_shape(node: ExportNode[Shape]) -> None:
    """Write Shape; a part of it exists from opset 15 on."""
    op = node.op
    if op.start == 0 and op.end is None:
        node.emit("Shape", node.input_names())
    elif node.opset >= 15:
        node.emit("Shape", node.input_names(), start=op.start or None, end=op.end)
    else:
        whole = node.step("Shape", node.input_names())
        end = (1 << 62) if op.end is None else op.end
        node.emit("Slice", [whole, node.vector([op.start]), node.vector([end])])


def export_reshape(node: ExportNode[Reshape]) -> None:
    """Write Reshape; `allowzero` exists from opset 14 on, where it matters: without a 0 in the shape it does not."""
    op = node.op
    sizes = node.known(1)
    allowzero = op.allowzero and (sizes is None or 0 in sizes)
    if allowzero and node.opset < 14 and sizes is not None and -1 not in sizes:
        # There are no elements: what is left of the data are its dtype and the shape.
        node.emit("ConstantOfShape", [node.input_names()[1]], value=Tensor.of([0], node.dtype()))
        return
    node.demand(14, "Reshape with allowzero exists", when=allowzero)
    node.emit("Reshape", node.input_names(), allowzero=1 if op.allowzero and node.opset >= 14 else None)


EXPORTS = table(
    *rows((Transpose, Expand, Flatten, Size, Squeeze, Unsqueeze, Tile), direct()),
    row(Reshape, export_reshape),
    row(Pad, export_pad),
    row(Shape, export_shape),
)


def import_pad_2(pads: str) -> ImportFunction:
    """Pad before opset 11, whose amounts (the attribute `pads`) and constant are attributes."""

    def import_pad(node: ImportNode) -> None:
        mode = node.enum("mode", PadMode, PadMode.CONSTANT)
        value = node.attribute("value")
        filler = node.scalar(value) if value and mode is PadMode.CONSTANT else None
        node.emit(Pad(mode), node.input(0), node.vector(node.attribute(pads)), filler)

    return import_pad


def import_tile_1(node: ImportNode) -> None:
    """Read Tile-1, which repeats X along one axis; both numbers are scalar operands of X's dtype."""
    axes = node.vector(range(node.rank()))
    tiles, axis = (
        node.step(Reshape(), node.cast(node.input(slot), DType.INT64), node.vector([1])) for slot in (1, 2)
    )
    repeats = node.step(Where(), node.step(Equal(), axes, axis), tiles, node.vector([1]), suffix="repeats")
    node.emit(Tile(), node.input(0), repeats)


IMPORTS: ImportTable = {
    **direct_rows(Transpose, Shape, Size, Expand, Flatten),
    "Reshape": {1: attribute_as_operand(Reshape, "shape", 1), 5: import_direct(Reshape)},
    "Squeeze": {1: attribute_as_operand(Squeeze, "axes", 1), 13: import_direct(Squeeze)},
    "Unsqueeze": {1: attribute_as_operand(Unsqueeze, "axes", 1), 13: import_direct(Unsqueeze)},
    "Tile": {1: import_tile_1, 6: import_direct(Tile)},
    "Pad": {1: import_pad_2("paddings"), 2: import_pad_2("pads"), 11: import_direct(Pad)},
}
