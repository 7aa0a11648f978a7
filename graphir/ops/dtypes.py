"""Sets of element types that operators take: what any version of the ONNX operator allows."""

from __future__ import annotations

from graphir.types import DType

DTypes = frozenset[DType] | None
"""A set of dtypes; None is all of them."""

FLOATS = frozenset({DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64})
SINGLE_FLOATS = FLOATS - {DType.FLOAT64}
FLOATS_OF_8_BITS = frozenset({DType.FLOAT8E4M3FN, DType.FLOAT8E4M3FNUZ, DType.FLOAT8E5M2, DType.FLOAT8E5M2FNUZ})
SIGNED_INTEGERS = frozenset({DType.INT8, DType.INT16, DType.INT32, DType.INT64})
INTEGERS = SIGNED_INTEGERS | {DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64}
SMALL_INTEGERS = frozenset({DType.INT2, DType.INT4, DType.UINT2, DType.UINT4})
BYTES = frozenset({DType.INT8, DType.UINT8})
INDICES = frozenset({DType.INT32, DType.INT64})
COMPLEX = frozenset({DType.COMPLEX64, DType.COMPLEX128})
BOOL = frozenset({DType.BOOL})
INT32 = frozenset({DType.INT32})
INT64 = frozenset({DType.INT64})
UINT8 = frozenset({DType.UINT8})
FLOAT32 = frozenset({DType.FLOAT32})
TEXT = frozenset({DType.STRING})

SIGNED = FLOATS | SIGNED_INTEGERS
NUMBERS = FLOATS | INTEGERS
WIDE_NUMBERS = FLOATS | INDICES | {DType.UINT32, DType.UINT64}
COMMON = NUMBERS | COMPLEX | BOOL | TEXT
"""What operators take that only move elements: all but the types of 8 bits and less that hold no plain integers."""

CONVERTIBLE = frozenset(DType) - COMPLEX
WITHOUT_2_BITS = frozenset(DType) - {DType.INT2, DType.UINT2}
QUANTIZED = FLOATS_OF_8_BITS | SMALL_INTEGERS | BYTES | {DType.FLOAT4E2M1, DType.INT16, DType.UINT16}
