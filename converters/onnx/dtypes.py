"""ONNX's numbers for element types."""

from __future__ import annotations

from graphir.errors import ExportFailure
from graphir.types import DType

# onnx.proto, TensorProto.DataType
CODES: dict[DType, int] = {
    DType.FLOAT32: 1,
    DType.UINT8: 2,
    DType.INT8: 3,
    DType.UINT16: 4,
    DType.INT16: 5,
    DType.INT32: 6,
    DType.INT64: 7,
    DType.STRING: 8,
    DType.BOOL: 9,
    DType.FLOAT16: 10,
    DType.FLOAT64: 11,
    DType.UINT32: 12,
    DType.UINT64: 13,
    DType.COMPLEX64: 14,
    DType.COMPLEX128: 15,
    DType.BFLOAT16: 16,
    DType.FLOAT8E4M3FN: 17,
    DType.FLOAT8E4M3FNUZ: 18,
    DType.FLOAT8E5M2: 19,
    DType.FLOAT8E5M2FNUZ: 20,
    DType.UINT4: 21,
    DType.INT4: 22,
    DType.FLOAT4E2M1: 23,
    DType.FLOAT8E8M0: 24,
    DType.UINT2: 25,
    DType.INT2: 26,
}
BY_CODE = {code: dtype for dtype, code in CODES.items()}


def code_of(dtype: DType | None, what: str) -> int:
    """Return ONNX's number for a dtype. Raises ExportFailure naming `what` if the dtype is unknown."""
    if dtype is None:
        raise ExportFailure(f"{what}: its dtype is unknown, and ONNX requires one; state it, as in -i name:1,3:float32")
    return CODES[dtype]
