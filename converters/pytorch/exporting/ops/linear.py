"""Matrix products."""

from __future__ import annotations

import re

from graphir.converters.pytorch.exporting.context import AnyNode, ExportNode, Expr, binary, call, calls, row, table
from graphir.converters.pytorch.exporting.ops.activation import float_text
from graphir.graph import Node, Value
from graphir.ops import linear as ir
from graphir.ops.elementwise import Add
from graphir.tensor import Tensor
from graphir.types import DType


def linear(node: AnyNode, weight: Tensor, bias: Value | None) -> Expr:
    """nn.Linear with a weight (outputs, inputs), which slot 1 holds, and a constant bias, which slot 2 may hold."""
    outputs, inputs = weight.shape
    weights = {"weight": (weight, node.input(1))}
    if bias is not None and bias.tensor is not None:
        is_owned = bias.rank == 1 and bias is node.optional(2)
        weights["bias"] = bias.tensor if is_owned else bias.tensor.reshaped((outputs,)), bias
    return node.layer("nn.Linear", [inputs, outputs], {"bias": "False" if bias is None else None}, weights)


def export_gemm(node: ExportNode[ir.Gemm]) -> None:
    """nn.Linear where the second matrix is constant and the bias a vector, else products and sums."""
    op, weight, bias = node.op, node.weight(1), node.optional(2)
    is_float = node.dtype().is_float
    vector = node.weight(2) if bias is not None else None
    fits = bias is None or (vector is not None and weight is not None and _is_vector(vector, weight, op.transB))
    if weight is not None and is_float and fits and op.alpha == 1 and (op.beta == 1 or bias is None):
        matrix = weight if op.transB else weight.transposed((1, 0))
        data = Expr(f"{node.tensor().atom}.T") if op.transA else node.tensor()
        node.emit(f"{linear(node, matrix, bias)}({data})")
        return
    left = Expr(f"{node.tensor(0).atom}.T") if op.transA else node.tensor(0)
    right = Expr(f"{node.tensor(1).atom}.T") if op.transB else node.tensor(1)
    product = binary("@", left, right)
    dtype = node.result_dtype()
    if op.alpha != 1:
        product = binary("*", _factor(op.alpha, is_float), product)
    if bias is not None and op.beta != 0:
        addend = node.tensor(2) if op.beta == 1 else binary("*", _factor(op.beta, is_float), node.tensor(2))
        product = binary("+", product, addend)
    node.emit(product if is_float or float(op.alpha).is_integer() else node.cast(product, dtype))


def _factor(number: float, is_float: bool) -> str:
    return float_text(number) if is_float or not float(number).is_integer() else str(int(number))


def _is_vector(bias: Tensor, weight: Tensor, is_transposed: bool) -> bool:
    outputs = weight.shape[0] if is_transposed else weight.shape[1]
    return bias.shape in ((outputs,), (1, outputs))


def export_matmul(node: ExportNode[ir.MatMul]) -> None:
    """nn.Linear where the second operand is a constant matrix, with the bias that is added next; else `@`."""
    weight = node.weight(1)
    if weight is None or len(weight.shape) != 2 or not node.dtype().is_float:
        node.emit(binary("@", node.tensor(0), node.tensor(1)))
        return
    data, added = node.tensor(0), _added(node.result, weight.shape[1])
    bias = None
    if added is not None:
        follower, bias = added
        node.absorb(follower)
    node.emit(f"{linear(node, weight.transposed((1, 0)), bias)}({data})")


def _added(value: Value, outputs: int) -> tuple[Node, Value] | None:
    """Return the sum that alone reads a value, with the constant vector that it adds; None where there is none."""
    if len(value.uses) != 1 or value.is_held:
        return None
    ((node, slot),) = value.uses
    if not isinstance(node.op, Add) or node.graph is not value.graph:
        return None
    other = node.inputs[1 - slot]
    if other is None or other.tensor is None or other.producer is not None or other.rank is None:
        return None
    is_vector = other.tensor.size == outputs and other.tensor.shape[-1:] == (outputs,)
    return (node, other) if is_vector and other.rank <= (value.rank or 0) else None


def export_matmul_integer(node: ExportNode[ir.MatMulInteger]) -> None:
    """`@` of int32, with the zero points taken off: of the first matrix one a row, of the second one a column."""
    factors: list[str] = []
    for slot in (0, 1):
        factor = Expr(node.cast(node.tensor(slot), DType.INT32))
        zero = node.optional(slot + 2)
        if zero is not None and node.number(slot + 2) != "0":
            offset = node.number(slot + 2) or node.tensor(slot + 2)
            if slot == 0 and zero.rank == 1 and zero.shape != (1,):
                offset = Expr(f"{offset.atom}.unsqueeze(1)")
            factor = binary("-", factor, offset)
        factors.append(factor)
    node.emit(binary("@", *factors))


def export_einsum(node: ExportNode[ir.Einsum]) -> None:
    """torch.einsum."""
    equation = "".join(node.op.equation.split())
    if not re.fullmatch(r"[A-Za-z.,>-]*", equation):
        node.refuse(f"the equation {node.op.equation!a} has other characters than letters")
    # Of narrower integers torch gives int64 where all axes go, and refuses that for two operands.
    is_plain = node.dtype().is_float or node.dtype() is DType.INT64
    tensors = [tensor if is_plain else node.cast(tensor, DType.INT64) for tensor in node.tensors()]
    text = call("torch.einsum", f'"{equation}"', *tensors)
    node.emit(text if is_plain else node.cast(text, node.result_dtype()))


EXPORTS = table(
    row(ir.MatMulInteger, export_matmul_integer),
    row(ir.Einsum, export_einsum),
    row(ir.Det, calls("torch.linalg.det")),
    row(ir.Gemm, export_gemm),
    row(ir.MatMul, export_matmul),
)
