"""Rows of operator tests as text: `f[2,N,?]`, `i[...]` (unknown rank), `[2]` (unknown dtype), `-` (absent).

Small integer tensors with known elements are `i:1,-1,N` (a vector) and `s:3` (a scalar).
"""

from __future__ import annotations

from graphir.inference.rules import infer_outputs
from graphir.ops.base import Known, Operator
from graphir.types import DType, TensorType, parse_dim, parse_shape

from .late import Late, made

DTYPES = {
    "": None,
    "b": DType.BOOL,
    "d": DType.FLOAT64,
    "f": DType.FLOAT32,
    "h": DType.FLOAT16,
    "i": DType.INT64,
    "j": DType.INT32,
    "q": DType.INT8,
    "u": DType.UINT8,
}


def known(text: str) -> Known | None:
    """The known elements that a word states, if it does."""
    kind, colon, elements = text.partition(":")
    if kind not in ("i", "s") or not colon:
        return None
    found = tuple(parse_dim(element) for element in elements.split(",") if element)
    return Known.scalar(found[0]) if kind == "s" else Known.vector(found)


def typed(text: str) -> TensorType | None:
    """The type that a word states."""
    if text == "-":
        return None
    elements = known(text)
    if elements is not None:
        return TensorType(DType.INT64, elements.shape)
    dtype, _, shape = text.partition("[")
    return TensorType(DTYPES[dtype], None if shape == "...]" else parse_shape(shape[:-1]))


def types(text: str) -> tuple[TensorType | None, ...]:
    """The types that words state, in order."""
    return tuple(typed(word) for word in text.split())


def forward(op: Operator | Late, operands: str) -> tuple[object, ...]:
    """The result types of an operator."""
    return infer_outputs(made(op), types(operands), tuple(known(word) for word in operands.split()))


def backward(op: Operator, operands: str, results: str) -> tuple[TensorType | None, ...]:
    """What the operator says of its operands' types."""
    return op.infer_inputs(types(operands), types(results))  # type: ignore[arg-type]


def followed(op: Operator, operands: str) -> tuple[Known | None, ...]:
    """The known elements of the results."""
    return op.propagate(types(operands), tuple(known(word) for word in operands.split()))
