"""Operators on the bits of integers."""

from __future__ import annotations

from functools import partial

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.graph import Value
from graphir.ops import bitwise as ir
from graphir.ops.base import Operator
from graphir.ops.elementwise import And, Not, Or, Xor
from graphir.types import DType

# What ONNX calls the operator for bool, which MXNet has no other name for.
LOGICAL: dict[type[Operator], Operator] = {
    ir.BitwiseAnd: And(),
    ir.BitwiseNot: Not(),
    ir.BitwiseOr: Or(),
    ir.BitwiseXor: Xor(),
}


def _for(value: Value, op: Operator) -> Operator:
    return LOGICAL[type(op)] if value.dtype is DType.BOOL else op


def bitwise(op: Operator) -> ImportFunction:
    """Return an operator of two operands, integers or bool, that broadcast."""
    return lambda node: node.emit(_for(node.input(0), op), node.input(0), node.input(1))


def bitwise_scalar(op: Operator, node: ImportNode) -> Value:
    """Import an operator of integers and a number, which MXNet converts to their dtype as C does."""
    data = node.input(0)
    return node.emit(_for(data, op), data, node.scalar_like(data, float(node.attrs["scalar"])))


IMPORTS: dict[str, ImportFunction] = {
    "_npi_bitwise_and": bitwise(ir.BitwiseAnd()),
    "_npi_bitwise_and_scalar": partial(bitwise_scalar, ir.BitwiseAnd()),
    "_npi_bitwise_not": lambda node: node.emit(_for(node.input(0), ir.BitwiseNot()), node.input(0)),
    "_npi_bitwise_or": bitwise(ir.BitwiseOr()),
    "_npi_bitwise_or_scalar": partial(bitwise_scalar, ir.BitwiseOr()),
    "_npi_bitwise_xor": bitwise(ir.BitwiseXor()),
    "_npi_bitwise_xor_scalar": partial(bitwise_scalar, ir.BitwiseXor()),
}
