"""Short ways to write operands and to run one operator's rules.

An operand is a word, or an object where no word can say it (the type of a sequence, known elements that are no
integers). A text may hold several words: a tensor's type as it prints (`float32[2, N, ?]`, `int64[]`) or with a letter
for the dtype (`f[2,N]`), `?[2]` and `[2]` of unknown dtype, `f[...]` of unknown rank; small int64 tensors whose
elements are known, a vector `i:1,-1,N` or a scalar `s:3`; `-` or None for an absent operand.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from graphir.errors import GraphirError
from graphir.graph import Graph
from graphir.inference import infer_outputs, infer_values
from graphir.ops.base import Known, Operator
from graphir.structure.checks import check_operands
from graphir.types import DType, OptionalType, SequenceType, TensorType, Type, parse_dim, parse_shape

from .late import Late, made

LETTERS = {
    "": None,
    "?": None,
    "b": DType.BOOL,
    "d": DType.FLOAT64,
    "f": DType.FLOAT32,
    "h": DType.FLOAT16,
    "i": DType.INT64,
    "j": DType.INT32,
    "q": DType.INT8,
    "u": DType.UINT8,
}
WORD = re.compile(r"(?:[^\s;\[]|\[[^\]]*\])+")
Pair = tuple[Type | None, Known | None]


def words(text: str) -> list[str]:
    """The words of a text; within brackets there may be spaces."""
    return WORD.findall(text)


def tensor(word: str) -> TensorType:
    """The type of a tensor that a word states."""
    name, _, dims = word.partition("[")
    dtype = LETTERS[name] if name in LETTERS else DType.of(name)
    return TensorType(dtype, None if dims == "...]" else parse_shape(f"[{dims}"))


def stated(word: str) -> Known | None:
    """The known elements that a word states, if it does."""
    kind, colon, elements = word.partition(":")
    if kind not in ("i", "s") or not colon:
        return None
    found = tuple(parse_dim(element) for element in elements.split(",") if element)
    return Known.scalar(found[0]) if kind == "s" else Known.vector(found)


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


def operand(given: object) -> Pair:
    """The type of one operand, and its elements where they are known."""
    if isinstance(given, Typed):
        return TensorType(given.dtype, given.known.shape), given.known
    if isinstance(given, Known):
        return TensorType(DType.INT64, given.shape), given
    if isinstance(given, SequenceType | OptionalType):
        return given, None
    if given is None or given == "-":
        return None, None
    elements = stated(str(given))
    return (tensor(str(given)), None) if elements is None else (TensorType(DType.INT64, elements.shape), elements)


def pairs(*given: object) -> list[Pair]:
    """The operands that words and objects state, in order."""
    return [operand(one) for whole in given for one in (words(whole) if isinstance(whole, str) else [whole])]


def types(*given: object) -> tuple[TensorType | None, ...]:
    """The types of tensors that words state, in order."""
    found = tuple(type_ for type_, _ in pairs(*given))
    assert all(type_ is None or isinstance(type_, TensorType) for type_ in found)
    return found  # type: ignore[return-value]  # they were looked at


def results(op: Operator | Late, *given: object) -> list[str]:
    """The result types as text. Raises GraphError for a number of operands that no node can have, ShapeError where the
    rule does, OperatorError where the operator cannot be made."""
    operator, found = made(op), pairs(*given)
    graph = Graph()
    values = [None if type_ is None else graph.add_input(f"x{slot}", type_) for slot, (type_, _) in enumerate(found)]
    check_operands(graph, "row", operator, values)
    return [str(type_) for type_ in infer_outputs(operator, tuple(p[0] for p in found), tuple(p[1] for p in found))]


def elements(op: Operator, *given: object) -> list[str | None]:
    """The known elements of the results as text, None where they are not known."""
    found = pairs(*given)
    values = infer_values(op, tuple(p[0] for p in found), tuple(p[1] for p in found))
    return [None] * op.output_count if values is None else [shown(value) for value in values]


def shown(value: Known | None) -> str | None:
    """Known elements as text."""
    if value is None:
        return None
    inner = ", ".join(map(str, value.elements))
    return inner if not value.shape else f"[{inner}]" if len(value.shape) == 1 else f"{list(value.shape)} {inner}"


def backwards(op: Operator, operands: object, found: object) -> list[str | None]:
    """What the operands must be, given the types of operands and results as words."""
    wanted = op.infer_inputs(types(*as_row(operands)), _without_absent(types(*as_row(found))))
    return [None if type_ is None else str(type_) for type_ in wanted]


def _without_absent(found: tuple[TensorType | None, ...]) -> tuple[TensorType, ...]:
    return tuple(type_ for type_ in found if type_ is not None)


def as_row(given: object) -> tuple[object, ...]:
    """What a row states as operands or results: a text, or several things."""
    return tuple(given) if isinstance(given, tuple | list) else (given,)


def texts(expected: object) -> list[str | None]:
    """Types as they print, from a text or a list of what a row expects."""
    parts = [part for one in as_row(expected) for part in (words(one) if isinstance(one, str) else [one])]
    return [None if part is None or part == "-" else _printed(str(part)) for part in parts]


def _printed(word: str) -> str:
    try:
        return str(operand(word)[0])
    except (GraphirError, ValueError):
        return word  # a sequence or an optional
