"""Operators on the bits of integers."""

from __future__ import annotations

from graphir.converters.mxnet.context import ImportFunction, ImportNode
from graphir.graph import Value
from graphir.ops import bitwise as ir
from graphir.ops.base import Operator


def bitwise(op: Operator) -> ImportFunction:
    """An operator of two integer operands that broadcast."""
    return lambda node: node.emit(op, node.input(0), node.input(1))


def bitwise_scalar(op: Operator) -> ImportFunction:
    """An operator of integers and a number, whose fraction MXNet drops."""

    def import_scalar(node: ImportNode) -> Value:
        data = node.input(0)
        return node.emit(op, data, node.scalar_like(data, int(node.attrs["scalar"])))

    return import_scalar


def import_bitwise_not(node: ImportNode) -> Value:
    """~x, bit by bit."""
    return node.emit(ir.BitwiseNot(), node.input(0))


IMPORTS: dict[str, ImportFunction] = {
    "_npi_bitwise_and": bitwise(ir.BitwiseAnd()),
    "_npi_bitwise_and_scalar": bitwise_scalar(ir.BitwiseAnd()),
    "_npi_bitwise_not": import_bitwise_not,
    "_npi_bitwise_or": bitwise(ir.BitwiseOr()),
    "_npi_bitwise_or_scalar": bitwise_scalar(ir.BitwiseOr()),
    "_npi_bitwise_xor": bitwise(ir.BitwiseXor()),
    "_npi_bitwise_xor_scalar": bitwise_scalar(ir.BitwiseXor()),
}

__all__ = ["IMPORTS"]
