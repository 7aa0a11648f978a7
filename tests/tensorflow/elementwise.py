"""Operators of several operands: broadcasting, integers, signs and zeros."""

from __future__ import annotations

from tests.tensorflow.case import Case, Input, case, data, param, values

SIGNED = (7.0, -7.0, 7.0, -7.0, 6.0, -6.0, 0.0, 0.5)
DIVISORS = (3.0, 3.0, -3.0, -3.0, 3.0, -3.0, -3.0, -0.25)
ARITHMETIC = ("Add", "AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference")
COMPARISONS = ("Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual")


def pair(
    op: str, variant: str, left: tuple[int, ...], right: tuple[int, ...], dtype: str = "float32", **more: object
) -> Case:  # fmt: skip
    """Two drawn operands."""
    kind = str(more.pop("kind", "normal"))
    return case(op, variant, data(*left, dtype=dtype, kind=kind), data(*right, dtype=dtype, kind=kind), **more)


def signs(op: str, dtype: str, **more: object) -> Case:
    """Both signs of dividend and divisor."""
    whole = dtype.startswith("int")
    numbers = SIGNED[:7] if whole else SIGNED
    divisors = DIVISORS[:7] if whole else DIVISORS
    return case(op, f"signs_{dtype}", values(*numbers, dtype=dtype), values(*divisors, dtype=dtype), **more)


def zeros(op: str) -> Case:
    """Operands with zeros among them."""
    return case(op, "zeros", values(0, 1, 0, 2), values(0, 0, 3, 0.5))


def limit(number: float) -> Input:
    """A constant scalar."""
    return Input("limit", (), values=(number,), role="param")


def bits(*shape: int, name: str = "data") -> Input:
    """A boolean operand."""
    return data(*shape, dtype="bool", kind="bits", name=name)


CASES = (
    *(pair(op, "same", (2, 3), (2, 3)) for op in (*ARITHMETIC, *COMPARISONS)),
    *(pair(op, "broadcast", (2, 1, 4), (3, 1)) for op in (*ARITHMETIC, *COMPARISONS)),
    *(pair(op, "scalar", (2, 3), ()) for op in ARITHMETIC),
    *(pair(op, "int32", (3, 2), (2,), "int32") for op in (*ARITHMETIC, *COMPARISONS)),
    *(pair(op, "int64", (3, 2), (2,), "int64") for op in ARITHMETIC),
    pair("Equal", "bool", (3, 2), (2,), "bool", kind="bits"),
    pair("AddV2", "float16", (3, 2), (2,), "float16"),
    pair("AddV2", "float64", (3, 2), (2,), "float64"),
    case("AddV2", "parameter", data(2, 4, 4, 3), param("b", 3)),
    case("RealDiv", "default", data(2, 3), data(3, kind="positive")),
    case("Div", "default", data(2, 3), data(3, kind="positive")),
    signs("RealDiv", "float32"),
    *(signs("TruncateDiv", dtype) for dtype in ("float16", "float32", "float64")),
    *(signs(op, "int32") for op in ("Div", "TruncateDiv", "FloorDiv", "FloorMod", "TruncateMod", "Mod")),
    *(signs(op, "float32") for op in ("FloorDiv", "FloorMod", "TruncateMod", "Mod")),
    *(signs(op, "int64") for op in ("FloorDiv", "FloorMod")),
    case("FloorDiv", "unsigned", data(5, dtype="uint32", kind="integers:0:255"), values(7, dtype="uint32", shape=()),
         mxnet_lacks="no uint32"),
    pair("Pow", "default", (2, 3), (3,), kind="positive"),
    case("Pow", "square", data(2, 3), values(2, shape=())),
    case("Pow", "int32", data(4, dtype="int32"), values(3, shape=(), dtype="int32")),
    Case("ApproximateEqual", (values(1, 2, 3), values(1.05, 2.5, 3)), {"tolerance": 0.1}, "tolerance"),
    Case("ApproximateEqual", (values(1, 2, 3), values(1.05, 2.5, 3)), variant="default_tolerance"),
    Case("ApproximateEqual", (values(1, 2, 3), values(1.5, 2.75, 3)), {"tolerance": 0.5}, "just_the_tolerance"),
    Case("ApproximateEqual", (values(1, 2, 3), values(1, 2, 4)), {"tolerance": 0.0}, "no_tolerance"),
    case("AddN", "one", data(2, 3)),
    case("AddN", "two", data(2, 3), data(2, 3)),
    case("AddN", "three", data(2, 3), data(2, 3), data(2, 3)),
    case("AccumulateNV2", "three", data(2, 3), data(2, 3), data(2, 3), shape=(2, 3)),
    pair("Atan2", "default", (4, 5), (5,)),
    case("Atan2", "axes", values(0, 0, 1, -1, 2, -2, 3, -3, 0), values(1, -1, 0, 0, 3, 3, -4, -4, 0)),
    pair("Atan2", "float64", (3, 4), (3, 4), "float64"),
    case("BiasAdd", "nhwc", data(2, 4, 5, 3), param("b", 3)),
    case("BiasAdd", "rank_2", data(2, 3), param("b", 3)),
    case("BiasAdd", "nchw", data(2, 3, 4, 5), param("b", 3), data_format="NCHW"),
    case("BiasAdd", "nchw_rank_3", data(2, 3, 4), param("b", 3), data_format="NCHW"),
    case("BiasAddV1", "default", data(2, 4, 3), param("b", 3)),
    case("ClipByValue", "crossed", data(2, 3), values(0.5, shape=()), values(-0.5, shape=())),
    case("ClipByValue", "crossed_constants", data(2, 3), limit(0.5), limit(-0.5)),
    case("ClipByValue", "constants", data(2, 3), limit(-0.5), limit(0.5)),
    case("ClipByValue", "scalars", data(2, 3), values(-0.5, shape=()), values(0.5, shape=())),
    case("ClipByValue", "tensors", data(2, 2), values(-0.5, -0.1, -0.2, 0, shape=(2, 2)),
         values(0.5, 0.1, 0.2, 0, shape=(2, 2))),
    case("ClipByValue", "int32", data(2, 3, dtype="int32"), values(-1, shape=(), dtype="int32"),
         values(2, shape=(), dtype="int32")),
    case("LogicalAnd", "broadcast", bits(2, 3), bits(3)),
    case("LogicalOr", "broadcast", bits(2, 3), bits(3)),
    case("Select", "same", bits(2, 3), data(2, 3), data(2, 3)),
    case("Select", "rows", bits(2), data(2, 3, 2), data(2, 3, 2)),
    case("Select", "scalar", bits(), data(2, 3), data(2, 3)),
    case("SelectV2", "broadcast", bits(2, 1), data(3), data(2, 3)),
    case("SelectV2", "int64", bits(2, 3), data(2, 3, dtype="int64"), data(2, 3, dtype="int64")),
    *(zeros(op) for op in ("DivNoNan", "MulNoNan", "Xdivy", "Xlogy", "Xlog1py")),
)  # fmt: skip

REFUSED = (
    pair("AddV2", "shapes", (2, 3), (2, 2), reason="do not broadcast"),
)
