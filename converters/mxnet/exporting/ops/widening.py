"""Which operators mean the same in the wider dtype that stands in for one that MXNet lacks."""

from __future__ import annotations

from graphir.converters.mxnet.exporting.dtypes import WIDER, Refusal, check_held
from graphir.graph import Node
from graphir.ops import (
    activation,
    attention,
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
    shape,
    shape_parts,
)
from graphir.ops.base import Operator

# What is moved, chosen or rounded by the operator itself.
EXACT: frozenset[type[Operator]] = frozenset(
    {
        *(activation.Hardmax, activation.Relu, attention.TensorScatter),
        *(bitwise.BitCast, bitwise.BitwiseAnd, bitwise.BitwiseOr, bitwise.BitwiseXor),
        *(creation.ConstantOfShape, creation.EyeLike, creation.Fill),
        *(elementwise.Cast, elementwise.Clip, elementwise.Identity, elementwise.Max, elementwise.Min),
        *(elementwise.Equal, elementwise.Greater, elementwise.GreaterOrEqual, elementwise.Less),
        *(elementwise.IsInf, elementwise.IsNaN, elementwise.LessOrEqual, elementwise.Mod, elementwise.Sign),
        *(elementwise.Where, indexing.Compress, indexing.Gather, indexing.GatherElements, indexing.GatherND),
        *(indexing.OneHot, pooling.MaxPool, pooling.MaxUnpool),
        *(quantization.QuantizeLinear, quantization.DequantizeLinear),
        *(reduction.ArgMax, reduction.ArgMin, reduction.ReduceMax, reduction.ReduceMin, reduction.TopK),
        *shape.OPERATORS,
        *(shape_parts.Concat, shape_parts.DepthToSpace, shape_parts.ReverseSequence, shape_parts.Slice),
        *(shape_parts.SpaceToDepth, shape_parts.Split, shape_parts.Trilu),
    }
)
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
    """Whether the results of a node must be brought back into a dtype that MXNet holds in a wider one.

    Sums and products of integers agree in the bits that count; of floats they and other functions are computed with
    more digits, of which the result keeps those that it has. Refuses other operators, and operands that MXNet has no
    dtype for.
    """
    op = type(node.op)
    for value in (*node.inputs, *node.outputs):
        if value is not None:
            check_held(value.name, value.type)
            if value.dtype in WIDER and op not in EXACT and op not in SUMS and op not in FUNCTIONS:
                assert value.dtype is not None
                raise Refusal(f"MXNet has no tensors of {value.dtype}, and {WIDER[value.dtype]} gives other results")
    narrow = [value.dtype for value in node.outputs if value.dtype in WIDER and op not in EXACT]
    for dtype in narrow:
        if dtype is not None and dtype.is_integer and op not in SUMS:
            raise Refusal(f"MXNet has no tensors of {dtype}, and {WIDER[dtype]} gives other results")
    return bool(narrow)


__all__ = ["EXACT", "is_narrow"]
