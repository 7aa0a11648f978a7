"""Which operators mean the same in the wider dtype that stands in for one that MXNet lacks."""

from __future__ import annotations

from graphir.converters.mxnet.exporting.dtypes import WIDER, Refusal, check_held
from graphir.graph import Node
from graphir.ops import (
    activation,
    bitwise,
    convolution,
    creation,
    elementwise,
    indexing,
    linear,
    normalization,
    pooling,
    quantization,
    reduction,
    resize,
)
from graphir.ops.base import Operator

# Exact in a wider dtype, though they round in their own.
EXACT = (bitwise.BitCast, elementwise.Cast, elementwise.Mod, quantization.DequantizeLinear, quantization.QuantizeLinear)
# Sums and products, of integers too: they agree in the bits that count.
SUMS: frozenset[type[Operator]] = frozenset(
    {
        *(bitwise.BitShift, bitwise.BitwiseNot, creation.Range, indexing.CumSum, reduction.ReduceSum),
        *(elementwise.Abs, elementwise.Add, elementwise.Div, elementwise.Mul, elementwise.Neg, elementwise.Sub),
        elementwise.Sum,
    }
)
# Functions of floats.
FUNCTIONS: frozenset[type[Operator]] = frozenset(
    {
        *(*activation.OPERATORS, *convolution.OPERATORS, *normalization.OPERATORS, *pooling.OPERATORS),
        *(*resize.OPERATORS, linear.Einsum, linear.Gemm, linear.MatMul, reduction.ReduceMean),
        *(elementwise.Ceil, elementwise.Cos, elementwise.Erf, elementwise.Exp, elementwise.Floor, elementwise.Log),
        *(elementwise.Pow, elementwise.Reciprocal, elementwise.Round, elementwise.Sin, elementwise.Sqrt),
    }
)


def is_narrow(node: Node) -> bool:
    """Return whether the results of a node must be brought back into a dtype that MXNet holds in a wider one.

    Sums and products of integers agree in the bits that count; of floats they and other functions are computed with
    more digits, of which the result keeps those that it has. Refuses other operators, and operands that MXNet has no
    dtype for.
    """
    op = type(node.op)
    is_exact = op not in SUMS and (node.op.is_exact or isinstance(node.op, EXACT))
    for value in (*node.inputs, *node.outputs):
        if value is not None:
            check_held(value.name, value.type)
            if value.dtype in WIDER and not is_exact and op not in SUMS and op not in FUNCTIONS:
                assert value.dtype is not None
                raise Refusal(f"MXNet has no tensors of {value.dtype}, and {WIDER[value.dtype]} gives other results")
    narrow = [value.dtype for value in node.outputs if value.dtype in WIDER and not is_exact]
    for dtype in narrow:
        if dtype is not None and dtype.is_integer and op not in SUMS:
            raise Refusal(f"MXNet has no tensors of {dtype}, and {WIDER[dtype]} gives other results")
    return bool(narrow)
