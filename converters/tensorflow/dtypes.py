"""TensorFlow's numbers for element types, and what they are here."""

from __future__ import annotations

from graphir.types import DType

# Types that are no elements of a tensor here keep TensorFlow's name as text.
NAMES: dict[int, str] = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string", 8: "complex64",
    9: "int64", 10: "bool", 11: "qint8", 12: "quint8", 13: "qint32", 14: "bfloat16", 15: "qint16", 16: "quint16",
    17: "uint16", 18: "complex128", 19: "float16", 20: "resource", 21: "variant", 22: "uint32", 23: "uint64",
    24: "float8e5m2", 25: "float8e4m3fn", 26: "float8e4m3fnuz", 27: "float8e4m3b11fnuz", 28: "float8e5m2fnuz",
    29: "int4", 30: "uint4", 31: "int2", 32: "uint2",
}  # fmt: skip
# The names in text files, after DT_.
_TEXT_NAMES = {
    "float16": "HALF", "float32": "FLOAT", "float64": "DOUBLE", "float8e5m2": "FLOAT8_E5M2",
    "float8e4m3fn": "FLOAT8_E4M3FN", "float8e4m3fnuz": "FLOAT8_E4M3FNUZ", "float8e4m3b11fnuz": "FLOAT8_E4M3B11FNUZ",
    "float8e5m2fnuz": "FLOAT8_E5M2FNUZ",
}  # fmt: skip
REFERENCE = 100

DataType = DType | str
_DTYPES = {dtype.value: dtype for dtype in DType}
# Quantized elements are integers: what they stand for, the operators that take them are told by ranges of their own.
_DTYPES |= {
    "qint8": DType.INT8, "quint8": DType.UINT8, "qint16": DType.INT16, "quint16": DType.UINT16, "qint32": DType.INT32,
}  # fmt: skip


def data_type(code: int) -> DataType:
    """Return the DType of a number, or TensorFlow's name for what is none: `resource`, `variant`, "" for none stated.
    Quantized types are those of their integers.

    References (variables of version 1) are what they refer to.
    """
    name = NAMES.get(code - REFERENCE if code > REFERENCE else code, "" if code == 0 else f"type {code}")
    return _DTYPES.get(name, name)


def named_type(name: str) -> DataType:
    """Return the DType that a name in the schema means; other names as they are."""
    return _DTYPES.get(name, name)


def codes_by_text() -> dict[str, int]:
    """Return the numbers by their names in text files: `DT_FLOAT` is 1, `DT_FLOAT_REF` 101."""
    codes = {"DT_INVALID": 0}
    for code, name in NAMES.items():
        text = f"DT_{_TEXT_NAMES.get(name, name.upper())}"
        codes |= {text: code, f"{text}_REF": code + REFERENCE}
    return codes
