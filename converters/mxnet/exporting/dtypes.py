"""MXNet's dtypes on the way out, and those that it lacks: held in a wider one that has all their values, or refused."""

from __future__ import annotations

from graphir.converters.kernel.refusals import Refusal as Refusal
from graphir.graph import Value
from graphir.types import DType, TensorType, Type

DTYPES = {
    DType.FLOAT32: 0,
    DType.FLOAT64: 1,
    DType.FLOAT16: 2,
    DType.UINT8: 3,
    DType.INT32: 4,
    DType.INT8: 5,
    DType.INT64: 6,
    DType.BOOL: 7,
}
WIDER = {
    DType.INT2: DType.INT8,
    DType.INT4: DType.INT8,
    DType.UINT2: DType.UINT8,
    DType.UINT4: DType.UINT8,
    DType.INT16: DType.INT32,
    DType.UINT16: DType.INT32,
    DType.UINT32: DType.INT64,
    DType.BFLOAT16: DType.FLOAT32,
    DType.FLOAT8E4M3FN: DType.FLOAT32,
    DType.FLOAT8E4M3FNUZ: DType.FLOAT32,
    DType.FLOAT8E5M2: DType.FLOAT32,
    DType.FLOAT8E5M2FNUZ: DType.FLOAT32,
    DType.FLOAT8E8M0: DType.FLOAT32,
    DType.FLOAT4E2M1: DType.FLOAT32,
}


class NeedsNumpyShape(Refusal):
    """A tensor without axes or without elements, which MXNet has under its np_shape semantics only."""


class Unwritten(Exception):
    """An export function wants a value of which nothing is written yet: its node comes first, maybe in other terms."""

    def __init__(self, value: Value) -> None:
        super().__init__(value.name)
        self.value = value


def held_dtype(dtype: DType) -> DType:
    """Return the dtype in which MXNet holds elements of a dtype: itself, or a wider one. Refuses those that none
    holds."""
    if dtype in DTYPES:
        return dtype
    result = WIDER.get(dtype)
    if result is None:
        raise Refusal(f"MXNet has no tensors of {dtype}")
    return result


def dtype_name(dtype: DType) -> str:
    """MXNet's name of the dtype that holds elements of `dtype`. Refuses those that none holds."""
    return str(held_dtype(dtype).value)


def check_held(name: str, type_: Type) -> None:
    """Refuse a value that is no tensor, or one whose elements MXNet has no dtype for."""
    if not isinstance(type_, TensorType):
        raise Refusal(f"MXNet has tensors only; {name} is {type_}")
    if type_.dtype is not None and type_.dtype not in DTYPES and type_.dtype not in WIDER:
        raise Refusal(f"MXNet has no tensors of {type_.dtype} ({name})")
