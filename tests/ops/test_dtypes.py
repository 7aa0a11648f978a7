"""Operators take the dtypes that ONNX's type constraints allow, and no others."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

import onnx.defs
import pytest

from graphir.errors import ShapeError
from graphir.inference import infer_outputs
from graphir.ops import Operator, operator_table
from graphir.ops.activation import Relu, Sigmoid
from graphir.ops.elementwise import Add, And, Cast, Equal, IsNaN, Where
from graphir.ops.indexing import Gather
from graphir.ops.linear import MatMul
from graphir.ops.quantization import DequantizeLinear, QuantizeLinear
from graphir.ops.reduction import ReduceSum
from graphir.ops.shape import Reshape, Transpose
from graphir.ops.shape_parts import Concat
from graphir.types import DType, TensorType
from tests.ops.harness import bad, good
from tests.ops.rule import known

NEWEST = 28
ONNX_NAMES = {"float32": "float", "float64": "double"}
# BitCast takes everything but texts, which its own rule says; the sizes of Split were floats once, as an attribute.
OTHERWISE = {("BitCast", 0), ("Split", 1)}


@cache
def allowed() -> dict[tuple[str, int], frozenset[str]]:
    """The names of types that some version of an operator allows for an input."""
    found: dict[tuple[str, int], set[str]] = defaultdict(set)
    newest: dict[str, list[str]] = {}
    history = sorted(onnx.defs.get_all_schemas_with_history(), key=lambda schema: -schema.since_version)
    for schema in (schema for schema in history if schema.domain == ""):
        names = newest.setdefault(schema.name, [item.name for item in schema.inputs])
        constraints = {held.type_param_str: held.allowed_type_strs for held in schema.type_constraints}
        for item in schema.inputs:
            if item.name in names:
                found[schema.name, names.index(item.name)].update(constraints.get(item.type_str, [item.type_str]))
    return {place: frozenset(held) for place, held in found.items()}


def operators() -> list[type[Operator]]:
    return [cls for name, cls in sorted(operator_table().items()) if onnx.defs.has(name)]


def places() -> list[tuple[type[Operator], int]]:
    slots = [(cls, slot) for cls in operators() for slot in range(len(cls.inputs))]
    return [(cls, slot) for cls, slot in slots if (cls.__name__, slot) not in OTHERWISE]


def taken(cls: type[Operator], slot: int) -> set[str]:
    """ONNX's names of the dtypes that an operator takes as the operand in a slot."""
    found = set()
    for dtype in DType:
        operands = (*(None,) * slot, TensorType(dtype))
        try:
            object.__new__(cls).check_dtypes(operands)
        except ShapeError:
            continue
        found.add(f"tensor({ONNX_NAMES.get(dtype.value, dtype.value)})")
    return found


@pytest.mark.skipif(onnx.defs.onnx_opset_version() < NEWEST, reason="this onnx is older than the operators' meaning")
@pytest.mark.parametrize(("cls", "slot"), places(), ids=lambda value: getattr(value, "__name__", str(value)))
def test_takes_what_onnx_allows(cls: type[Operator], slot: int) -> None:
    stated = allowed()[cls.__name__, slot]
    holds_tensors = all(text.startswith("tensor(") for text in stated)
    every = {f"tensor({ONNX_NAMES.get(dtype.value, dtype.value)})" for dtype in DType}
    assert taken(cls, slot) == (stated & every if holds_tensors else every)


GOOD = (
    (Relu(), ("bfloat16[N]",), "bfloat16[N]"),
    (Relu(), ("int8[N]",), "int8[N]"),
    (Add(), ("float16[N]", "float16[]"), "float16[N]"),
    (Add(), ("?[N]", "int16[]"), "int16[N]"),
    (Transpose(), ("float8e4m3fn[2, N]",), "float8e4m3fn[N, 2]"),
    (Reshape(), ("int4[4]", known(2, 2)), "int4[2, 2]"),
    (Cast(DType.FLOAT8E5M2), ("float32[N]",), "float8e5m2[N]"),
    (Cast(DType.INT4), ("int8[N]",), "int4[N]"),
    (QuantizeLinear(output_dtype=DType.FLOAT8E4M3FN), ("float16[N]", "float16[]"), "float8e4m3fn[N]"),
    (QuantizeLinear(), ("float32[N, 4]", "float32[]", "int4[]"), "int4[N, 4]"),
    (DequantizeLinear(), ("uint4[N]", "bfloat16[]"), "bfloat16[N]"),
    (DequantizeLinear(), ("float8e5m2[N]", "float32[]"), "float32[N]"),
    (IsNaN(), ("float8e4m3fnuz[N]",), "bool[N]"),
    (Equal(), ("string[N]", "string[]"), "bool[N]"),
    (Where(), ("bool[N]", "string[]", "string[]"), "string[N]"),
    (ReduceSum(), ("uint64[N]",), "uint64[1]"),
)

BAD = (
    (Sigmoid(), ("int32[N]",), "X is int32, expected"),
    (Relu(), ("uint8[N]",), "X is uint8, expected one of bfloat16, float16"),
    (Relu(), ("float8e4m3fn[N]",), "X is float8e4m3fn"),
    (Add(), ("bool[N]", "bool[N]"), "A is bool"),
    (Add(), ("int4[N]", "int4[N]"), "A is int4"),
    (And(), ("int32[N]", "int32[N]"), "A is int32, expected one of bool"),
    (MatMul(), ("int8[2, 2]", "int8[2, 2]"), "A is int8"),
    (Concat(0), ("float8e5m2[2]", "float8e5m2[2]"), "inputs is float8e5m2"),
    (Gather(), ("int4[2]", "int64[]"), "data is int4"),
    (Reshape(), ("float32[4]", "int32[1]"), "shape is int32, expected one of int64"),
    (QuantizeLinear(), ("float64[N]", "float32[]"), "x is float64"),
    (DequantizeLinear(), ("float16[N]", "float16[]"), "x is float16"),
    (Cast(DType.FLOAT32), ("complex64[N]",), "X is complex64"),
    (ReduceSum(), ("int8[N]",), "data is int8"),
    (Equal(), ("complex64[N]", "complex64[]"), "A is complex64"),
)
test_results = good(GOOD)
test_refused = bad(BAD)


def test_an_unknown_dtype_is_taken() -> None:
    assert infer_outputs(Add(), (TensorType(), TensorType()), (None, None)) == (TensorType(),)
