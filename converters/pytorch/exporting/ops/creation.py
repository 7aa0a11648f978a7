"""Tensors made of sizes and numbers."""

from __future__ import annotations

from graphir.converters.pytorch.exporting.context import (
    AnyNode,
    ExportNode,
    Expr,
    call,
    dtype_text,
    number_text,
    row,
    table,
    tuple_of,
)
from graphir.converters.pytorch.exporting.unsigned import UNSIGNED
from graphir.ops import creation as ir
from graphir.types import DType


def filled(node: AnyNode, shape: str, value: float, dtype: DType) -> str:
    """torch.zeros, torch.ones or torch.full."""
    number = number_text(bool(value) if dtype is DType.BOOL else value if dtype.is_float else int(value), dtype)
    usual: dict[float, str] = {0: "torch.zeros", 1: "torch.ones"}
    name = usual.get(value) if number != "-0.0" else None
    given = None if dtype is DType.FLOAT32 else dtype_text(dtype)
    if name is not None:
        return call(name, shape, dtype=given, device=node.device)
    return call("torch.full", shape, number, dtype=dtype_text(dtype), device=node.device)


def export_constant_of_shape(node: ExportNode[ir.ConstantOfShape]) -> None:
    """A tensor of one number."""
    sizes = node.ints_if_known(0)
    shape = tuple_of(sizes) if sizes is not None else node.int_list(0)
    node.emit(filled(node, shape, node.op.value, node.op.dtype))


def export_range(node: ExportNode[ir.Range]) -> None:
    """torch.arange, of 16 bits in the wider dtype that the operator states; a function of the file for numbers that
    only a run knows, which may give no elements."""
    dtype = node.dtype()
    wide = node.op.stash_type if dtype.is_float and dtype.bits == 16 else dtype
    numbers = [node.number(slot) for slot in range(3)]
    if None in numbers:
        function = node.function("arange")
        ends = [number or Expr(f"{node.tensor(slot).atom}.item()") for slot, number in enumerate(numbers)]
        text = call(function, *ends, dtype_text(wide), node.device)
    else:
        start, limit, delta = numbers
        if _is(delta, 1):
            start, delta = None if _is(start, 0) else start, None
        text = call("torch.arange", start, limit, delta, dtype=dtype_text(wide), device=node.device)
    node.emit(text if wide is dtype else node.cast(text, dtype))


def _is(number: Expr | None, value: int) -> bool:
    return number in (str(value), f"{value}.0")


def export_eye_like(node: ExportNode[ir.EyeLike]) -> None:
    """torch.eye; another diagonal is what two triangles share."""
    dtype, op = node.op.dtype or node.dtype(), node.op
    rows, columns = node.sizes_of()
    wide = DType.INT64 if dtype in UNSIGNED else dtype
    sizes = [rows] if rows == columns and op.k == 0 else [rows, columns]
    given = None if wide is DType.FLOAT32 else dtype_text(wide)
    name = "torch.ones" if op.k else "torch.eye"
    text = call(name, *sizes, dtype=given, device=node.device)
    text += f".triu({op.k}).tril({op.k})" if op.k else ""
    node.emit(text if wide is dtype else node.cast(text, dtype))


def export_fill(node: ExportNode[ir.Fill]) -> None:
    """A tensor of one number, of the shape that its users give it."""
    sizes = [node.export.size(dim) for dim in node.shape(node.result)]
    if None in sizes:
        node.lacks(f"the sizes of {node.result.name}")
    node.emit(filled(node, tuple_of(sizes), node.op.value, node.op.dtype))


EXPORTS = table(
    row(ir.ConstantOfShape, export_constant_of_shape),
    row(ir.Range, export_range),
    row(ir.EyeLike, export_eye_like),
    row(ir.Fill, export_fill),
)
