"""Unsigned integers of 16 to 64 bits: torch has tensors of them and moves them, but hardly computes with them.

They are computed in int64, whose sums, differences and products are theirs once they are cast back. uint64 has an order
and quotients of its own, by functions of the file.
"""

from __future__ import annotations

from graphir.converters.pytorch.exporting.context import AnyNode, Expr, dtype_text, expr
from graphir.types import DType

UNSIGNED = frozenset((DType.UINT16, DType.UINT32, DType.UINT64))
WIDE = dtype_text(DType.INT64)


def computable(node: AnyNode, slot: int) -> Expr:
    """Return an operand of an operator that broadcasts, as a number or in a type that torch computes with."""
    dtype = node.dtype(slot)
    if dtype not in UNSIGNED:
        return node.operand(slot)
    if dtype is not DType.UINT64 and node.number(slot) == (number := node.operand(slot)):
        return number
    return computable_tensor(node, slot)


def computable_tensor(node: AnyNode, slot: int = 0) -> Expr:
    """Return an operand as a tensor in a type that torch computes with."""
    data = node.tensor(slot)
    return Expr(f"{data.atom}.to({WIDE})") if node.dtype(slot) in UNSIGNED else data


def comparable(node: AnyNode, slot: int) -> Expr:
    """Return the same for what compares: uint64 as int64 in the same order."""
    if node.dtype(slot) is not DType.UINT64:
        return computable(node, slot)
    return Expr(f"{node.function('signed_order')}({node.tensor(slot)})")


def comparable_tensor(node: AnyNode, slot: int = 0) -> Expr:
    """Return the same, always as a tensor."""
    return computable_tensor(node, slot) if node.dtype(slot) is not DType.UINT64 else comparable(node, slot)


def restored(node: AnyNode, text: str, *, compared: bool = False) -> str:
    """Return what was computed, in the type of the result; with `compared` it is an element of operands from
    `comparable`."""
    dtype = node.result_dtype()
    if dtype is DType.UINT64 and compared:
        return f"{node.function('unsigned_order')}({text})"
    return f"{expr(text).atom}.to({dtype_text(dtype)})" if dtype in UNSIGNED else text
