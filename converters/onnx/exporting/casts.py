"""Which dtype an operator's elements can be computed in instead of their own: exactly, or with a rounding that is said.

A cast is exact where the wider dtype holds every element and what the operator gives, cut to the narrow dtype again,
is what it would have given in that: elements that are only moved or told apart may become any others one to one, those
that are compared must keep their order, sums and products of integers are the same modulo the narrow dtype's size.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence

from graphir.converters.onnx.exporting.types import dtype_text
from graphir.types import DType


class CastKind(enum.Enum):
    """What an operator does with the elements of a type variable."""

    MOVES = "moves"
    TESTS = "tests"  # whether an element is zero
    ORDERS = "orders"
    ADDS = "adds"
    COUNTS = "counts"  # integers whose result in a wider dtype, cut to the narrow one, is the same
    COMPUTES = "computes"


_MOVES = (
    *("Compress", "Concat", "ConstantOfShape", "DepthToSpace", "Equal", "Expand", "EyeLike", "Flatten", "Gather"),
    *("GatherElements", "GatherND", "Identity", "MaxUnpool", "OneHot", "Pad", "Reshape", "ReverseSequence", "Shape"),
    *("Size", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Trilu", "Unsqueeze", "Where"),
)
_ORDERS = (
    *("ArgMax", "ArgMin", "Clip", "GlobalMaxPool", "Greater", "GreaterOrEqual", "Hardmax", "Less", "LessOrEqual"),
    *("Max", "MaxPool", "Min", "ReduceMax", "ReduceMin", "Relu", "TopK", "Unique"),
)
_ADDS = (
    *("Add", "CumSum", "Einsum", "Gemm", "MatMul", "Mul", "Neg", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Sub"),
    "Sum",
)
_COUNTS = (
    *("Abs", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "CumProd", "Div", "Mean", "Mod"),
    *("PRelu", "Pow", "Range", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "Sign"),
)
KINDS: Mapping[str, CastKind] = (
    dict.fromkeys(_MOVES, CastKind.MOVES)
    | dict.fromkeys(_ORDERS, CastKind.ORDERS)
    | dict.fromkeys(_ADDS, CastKind.ADDS)
    | dict.fromkeys(_COUNTS, CastKind.COUNTS)
    | {"NonZero": CastKind.TESTS}
)
# Type variables of indices, sizes and the like, which any wider integer says as well.
WHOLE: Mapping[str, frozenset[str]] = {
    "OneHot": frozenset({"T1", "T2"}),
    "ScatterElements": frozenset({"Tind"}),
    "GatherElements": frozenset({"Tind"}),
    "Gather": frozenset({"Tind"}),
    "CumSum": frozenset({"T2"}),
    "Pad": frozenset({"Tind"}),
    "Slice": frozenset({"Tind"}),
}
# What comes out of these follows the dtype that goes in by other rules than being it.
NEVER = frozenset({
    "BitCast", "Cast", "CastLike", "ConvInteger", "DequantizeLinear", "DynamicQuantizeLinear", "IsInf", "MatMulInteger",
    "QLinearConv", "QLinearMatMul", "QuantizeLinear", "StringConcat", "StringSplit",
})  # fmt: skip
_SMALL = ("int8", "uint8", "int16", "uint16")
_INJECTIVE = {
    "bool": ("uint8", "int32", "int64", "float"), "int32": ("int64", "double"), "uint32": ("int64", "double", "int32"),
    "int64": ("uint64",), "uint64": ("int64",), "float16": ("float", "double"), "bfloat16": ("float", "double"),
    "float": ("double",), **dict.fromkeys(_SMALL, ("int32", "int64", "float", "double", "uint8")),
}  # fmt: skip
_INJECTIVE |= {"int16": _INJECTIVE["int16"][:4], "uint16": _INJECTIVE["uint16"][:4]}
_MONOTONE = {
    "bool": ("uint8", "int32", "int64"), "int32": ("int64", "double"), "uint32": ("int64", "double"),
    "float16": ("float", "double"), "bfloat16": ("float", "double"), "float": ("double",),
    **dict.fromkeys(_SMALL, ("int32", "int64", "float", "double")),
}  # fmt: skip
_MODULAR = {
    "int32": ("int64",), "uint32": ("int64", "uint64"), "uint64": ("int64",), "int64": ("uint64",),
    "float16": ("float",), **dict.fromkeys(_SMALL, ("int32", "int64")),
}  # fmt: skip
_WIDER = {
    "int32": ("int64",), "uint32": ("int64", "uint64"), "float16": ("float",), "int8": ("int32", "int64"),
    "int16": ("int32", "int64"), "uint8": ("int32", "int64", "uint32"), "uint16": ("int32", "int64", "uint32"),
}  # fmt: skip
EXACT: Mapping[CastKind, Mapping[str, Sequence[str]]] = {
    CastKind.MOVES: _INJECTIVE,
    CastKind.TESTS: dict.fromkeys((*_INJECTIVE, "double"), ("bool",)),
    CastKind.ORDERS: _MONOTONE,
    CastKind.ADDS: _MODULAR,
    CastKind.COUNTS: _WIDER,
    CastKind.COMPUTES: {"float16": ("float",)},
}
# What is rounded, and how much of a number stays.
ROUNDED: Mapping[tuple[str, str], str] = {
    ("double", "float"): "24 bits of a number's 53 stay",
    ("bfloat16", "float"): "and rounded to bfloat16",
    ("uint64", "int64"): "numbers of 2**63 and more are taken for negative ones",
    ("int64", "double"): "numbers beyond 2**53 are rounded",
    ("int64", "float"): "numbers beyond 2**24 are rounded",
    ("int32", "double"): "results beyond 2**53 are rounded",
    ("uint32", "double"): "results beyond 2**53 are rounded",
}
_BY_TEXT = {dtype_text(dtype): dtype for dtype in DType}


def kind_of(op_type: str, variable: str, *, nearest: bool) -> CastKind:
    """Return what an operator does with the elements of a type variable; `nearest` says that it does not
    interpolate."""
    if variable in WHOLE.get(op_type, ()):
        return CastKind.COUNTS
    if op_type == "Resize":
        return CastKind.MOVES if nearest else CastKind.COUNTS
    return KINDS.get(op_type, CastKind.COMPUTES)


def wider(kind: CastKind, text: str) -> list[tuple[str, str]]:
    """Return the dtypes that may stand for one, best first, each with what it rounds ("" if nothing)."""
    exact = EXACT[kind].get(text, ())
    rounded = [
        (wide, f"{dtype_of(text)} computed in {dtype_of(wide)}, {what}")
        for (narrow, wide), what in ROUNDED.items()
        if narrow == text and wide not in exact and (kind is not CastKind.COMPUTES or text in ("double", "bfloat16"))
    ]
    return [*((wide, "") for wide in exact), *rounded]


def dtype_of(text: str) -> DType:
    """Return the dtype that type constraints call so."""
    return _BY_TEXT[text]
