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
    losses,
    normalization,
    pooling,
    quantization,
    reduction,
    resize,
    shape,
    shape_parts,
)
from graphir.ops.base import Operator

MOVES: frozenset[type[Operator]] = frozenset(
    {
        attention.TensorScatter,
        creation.ConstantOfShape,
        creation.EyeLike,
        creation.Fill,
        elementwise.Identity,
        elementwise.Where,
        indexing.Compress,
        indexing.Gather,
        indexing.GatherElements,
        indexing.GatherND,
        indexing.OneHot,
        pooling.MaxUnpool,
        shape.Expand,
        shape.Flatten,
        shape.Pad,
        shape.Reshape,
        shape.Shape,
        shape.Size,
        shape.Squeeze,
        shape.Tile,
        shape.Transpose,
        shape.Unsqueeze,
        shape_parts.Concat,
        shape_parts.DepthToSpace,
        shape_parts.ReverseSequence,
        shape_parts.Slice,
        shape_parts.SpaceToDepth,
        shape_parts.Split,
        shape_parts.Trilu,
    }
)
CHOICES: frozenset[type[Operator]] = frozenset(
    {
        activation.Hardmax,
        activation.Relu,
        bitwise.BitCast,
        bitwise.BitwiseAnd,
        bitwise.BitwiseOr,
        bitwise.BitwiseXor,
        elementwise.Cast,
        elementwise.Clip,
        elementwise.Equal,
        elementwise.Greater,
        elementwise.GreaterOrEqual,
        elementwise.IsInf,
        elementwise.IsNaN,
        elementwise.Less,
        elementwise.LessOrEqual,
        elementwise.Max,
        elementwise.Min,
        elementwise.Mod,
        elementwise.Sign,
        reduction.TopK,
        pooling.MaxPool,
        reduction.ArgMax,
        reduction.ArgMin,
        reduction.ReduceMax,
        reduction.ReduceMin,
    }
)
SUMS: frozenset[type[Operator]] = frozenset(
    {
        bitwise.BitShift,
        bitwise.BitwiseNot,
        creation.Range,
        elementwise.Abs,
        elementwise.Add,
        elementwise.Div,
        elementwise.Mul,
        elementwise.Neg,
        elementwise.Sub,
        elementwise.Sum,
        indexing.CumSum,
        reduction.ReduceSum,
    }
)
FUNCTIONS: frozenset[type[Operator]] = frozenset(
    {
        *activation.OPERATORS,
        *attention.OPERATORS,
        *convolution.OPERATORS,
        *losses.OPERATORS,
        *normalization.OPERATORS,
        *pooling.OPERATORS,
        *resize.OPERATORS,
        elementwise.Ceil,
        elementwise.Cos,
        elementwise.Erf,
        elementwise.Exp,
        elementwise.Floor,
        elementwise.Log,
        elementwise.Pow,
        elementwise.Reciprocal,
        elementwise.Round,
        elementwise.Sin,
        elementwise.Sqrt,
        linear.Einsum,
        linear.Gemm,
        linear.MatMul,
        reduction.ReduceMean,
    }
)
OWN = frozenset({quantization.QuantizeLinear, quantization.DequantizeLinear})
EXACT = MOVES | CHOICES | OWN


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
