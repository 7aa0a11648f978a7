"""Short ways to write operands and to run one operator's rules."""

from __future__ import annotations

from typing import NamedTuple

from graphir.inference import infer_outputs, infer_values
from graphir.ops.base import Known, Operator
from graphir.types import DType, OptionalType, SequenceType, TensorType, Type, parse_dim, parse_shape

from .late import Late, made

Row = tuple[Operator, tuple[object, ...], object]


def tensor(text: str) -> TensorType:
    """A type as it prints: `float32[2, N, ?]`, `int64[]`; `float32[...]` of unknown rank, `?[2]` of unknown dtype."""
    name, _, dims = text.partition("[")
    dtype = None if name == "?" else DType.of(name)
    return TensorType(dtype, None if dims == "...]" else parse_shape(f"[{dims}"))


def known(*elements: int | str) -> Known:
    """A vector whose elements are known: numbers, or expressions as text."""
    return Known.vector(parse_dim(element) if isinstance(element, str) else element for element in elements)


def scalar(element: int | str) -> Known:
    """A scalar whose element is known."""
    return Known.scalar(parse_dim(element) if isinstance(element, str) else element)


class Typed(NamedTuple):
    """Known elements of a dtype other than int64."""

    dtype: DType
    known: Known


def boolean(*elements: int) -> Typed:
    """A vector of booleans."""
    return Typed(DType.BOOL, Known.vector(elements))


def real(*elements: float | str) -> Typed:
    """A float32 vector of numbers, or expressions as text."""
    return Typed(DType.FLOAT32, Known.vector(parse_dim(e) if isinstance(e, str) else e for e in elements))


def operand(stated: object) -> tuple[Type | None, Known | None]:
    """The type of an operand as rows state it, and its elements where they do."""
    if isinstance(stated, Typed):
        return TensorType(stated.dtype, stated.known.shape), stated.known
    if isinstance(stated, Known):
        return TensorType(DType.INT64, stated.shape), stated
    if isinstance(stated, SequenceType | OptionalType):
        return stated, None
    return (None if stated is None else tensor(str(stated))), None


def results(op: Operator | Late, *operands: object) -> list[str]:
    """The result types as text. An operand is a type, a tensor's as text, None, or known elements (int64)."""
    pairs = [operand(one) for one in operands]
    return [str(found) for found in infer_outputs(made(op), tuple(p[0] for p in pairs), tuple(p[1] for p in pairs))]


def elements(op: Operator, *operands: object) -> list[str | None]:
    """The known elements of the results as text, None where they are not known."""
    pairs = [operand(one) for one in operands]
    found = infer_values(op, tuple(p[0] for p in pairs), tuple(p[1] for p in pairs))
    return [None] * op.output_count if found is None else [_shown(value) for value in found]


def _shown(value: Known | None) -> str | None:
    if value is None:
        return None
    inner = ", ".join(map(str, value.elements))
    return inner if not value.shape else f"[{inner}]" if len(value.shape) == 1 else f"{list(value.shape)} {inner}"


def backwards(op: Operator, operands: tuple[str | None, ...], found: tuple[str, ...]) -> list[str | None]:
    """What the operands must be, given all types as text."""
    types = tuple(None if operand is None else tensor(operand) for operand in operands)
    wanted = op.infer_inputs(types, tuple(map(tensor, found)))
    return [None if type_ is None else str(type_) for type_ in wanted]
