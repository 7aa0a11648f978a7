"""What an operator's attributes may be, after the annotations of its fields; looked up once for each class.

A value of the exact type is taken as it is. What says the same in another type is normalised, so that operators stay
plain values: numpy's numbers and texts, whole numbers for floats, 0 and 1 for booleans, lists for tuples.
"""

from __future__ import annotations

import enum
import sys
import types
import typing
from collections.abc import Callable, Iterable
from operator import index
from typing import Any

from graphir.errors import GraphError, OperatorError
from graphir.padding import Explicit, Same
from graphir.safety.arguments import found_kind
from graphir.structure.record import record
from graphir.types import DType

UNFIT = object()
"""What `Kind.take` answers for a value that the attribute cannot have."""


@record
class AttributeKind:
    """What one attribute may be: the types that are taken as they are, how others are normalised, both in words."""

    exact: frozenset[type]
    take: Callable[[Any], Any]
    expected: str
    advice: Callable[[Any], str]


def no_advice(value: object) -> str:
    """For kinds where the expected kind says all."""
    return ""


def _take_bool(value: Any) -> Any:
    return bool(value) if isinstance(value, bool | int) and value in (0, 1) else UNFIT


def _take_int(value: Any) -> Any:
    if isinstance(value, bool):
        return UNFIT
    try:
        return int(index(value))
    except TypeError:
        return UNFIT


def _advise_int(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return f"write {int(value)}"
    return "write 0 or 1" if isinstance(value, bool) else ""


def _take_float(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, float | int):
        return UNFIT
    try:
        number = float(value)
    except OverflowError:
        return UNFIT
    return number if number == value or number != number else UNFIT


def _take_text(value: Any) -> Any:
    return str.__str__(value) if isinstance(value, str) else UNFIT


def _exactly(*kinds: type, expected: str, advice: Callable[[Any], str] = no_advice) -> AttributeKind:
    return AttributeKind(frozenset(kinds), lambda value: value if isinstance(value, kinds) else UNFIT, expected, advice)


def _advise_dtype(value: object) -> str:
    return f"write DType.of({value!r})" if isinstance(value, str) else "write it as DType.of(it)"


def _advise_padding(value: object) -> str:
    return "write Explicit(((before, after), ...)), one pair for each spatial axis"


BOOL = AttributeKind(frozenset({bool}), _take_bool, "True or False", no_advice)
INT = AttributeKind(frozenset({int}), _take_int, "an integer", _advise_int)
FLOAT = AttributeKind(frozenset({float}), _take_float, "a number", no_advice)
TEXT = AttributeKind(frozenset({str}), _take_text, "text", no_advice)
BYTES = _exactly(bytes, expected="bytes")
NONE = _exactly(types.NoneType, expected="None")
DTYPE = _exactly(DType, expected="a DType", advice=_advise_dtype)
EXPLICIT = _exactly(Explicit, expected="an Explicit padding", advice=_advise_padding)
PADDING = _exactly(Explicit, Same, expected="a padding, Explicit or Same", advice=_advise_padding)


class _Anything(frozenset[type]):
    """The types of an attribute that may be anything."""

    def __contains__(self, kind: object) -> bool:
        return True


ANYTHING = AttributeKind(_Anything(), lambda value: value, "anything", no_advice)


def _several(each: AttributeKind) -> AttributeKind:
    """Return a tuple of any length."""

    exact = each.exact

    def take(value: Any) -> Any:
        if type(value) is tuple:
            for item in value:
                if type(item) not in exact:
                    break
            else:
                return value
        return _items(value, (each,) * len(value)) if isinstance(value, tuple | list) else UNFIT

    def advise(value: object) -> str:
        item = normalised(each, value)
        return "" if item is UNFIT else f"write ({item!r},)"

    return AttributeKind(frozenset(), take, f"a tuple, each entry {each.expected}", advise)


def _items(values: Any, kinds: tuple[AttributeKind, ...]) -> Any:
    items = tuple(map(normalised, kinds, values))
    return UNFIT if any(item is UNFIT for item in items) else items


def _of_length(kinds: tuple[AttributeKind, ...]) -> AttributeKind:
    def take(value: Any) -> Any:
        return _items(value, kinds) if isinstance(value, tuple | list) and len(value) == len(kinds) else UNFIT

    shown = ", ".join(kind.expected for kind in kinds)
    return AttributeKind(frozenset(), take, f"a tuple of {len(kinds)} ({shown})", no_advice)


def _any_of(kinds: tuple[AttributeKind, ...]) -> AttributeKind:
    def take(value: Any) -> Any:
        for kind in kinds:
            result = normalised(kind, value)
            if result is not UNFIT:
                return result
        return UNFIT

    def advise(value: object) -> str:
        return next(filter(None, (kind.advice(value) for kind in kinds)), "")

    exact = frozenset().union(*(kind.exact for kind in kinds))
    return AttributeKind(exact, take, " or ".join(dict.fromkeys(kind.expected for kind in kinds)), advise)


def _member_of(cls: type[enum.Enum]) -> AttributeKind:
    def advise(value: object) -> str:
        meant = [member.name for member in cls if value in (member.value, member.name)]
        return f"write {cls.__name__}.{meant[0]}" if meant else f"it has {', '.join(member.name for member in cls)}"

    article = "an" if cls.__name__[0] in "AEIOU" else "a"
    return _exactly(cls, expected=f"{article} {cls.__name__}", advice=advise)


_COMMON = {
    "bool": BOOL,
    "int": INT,
    "float": FLOAT,
    "str": TEXT,
    "DType": DTYPE,
    "Explicit": EXPLICIT,
    "Padding": PADDING,
    "int | None": _any_of((INT, NONE)),
    "float | None": _any_of((FLOAT, NONE)),
    "str | None": _any_of((TEXT, NONE)),
    "DType | None": _any_of((DTYPE, NONE)),
    "tuple[int, ...]": _several(INT),
    "tuple[float, ...]": _several(FLOAT),
    "tuple[str, ...]": _several(TEXT),
}
"""The annotations that most attributes have, which need not be evaluated."""

_SCALARS: dict[Any, AttributeKind] = {
    bool: BOOL,
    int: INT,
    float: FLOAT,
    str: TEXT,
    bytes: BYTES,
    types.NoneType: NONE,
    DType: DTYPE,
    Explicit: EXPLICIT,
}


def kind_of(annotation: Any) -> AttributeKind:
    """Return what an attribute of this annotation may be. `Any`, `object` and what is no class stand for anything."""
    kind = _SCALARS.get(annotation)
    if kind is not None:
        return kind
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return _several(kind_of(arguments[0]))
    if origin is tuple:
        return _of_length(tuple(map(kind_of, arguments)))
    if origin in (typing.Union, types.UnionType):
        return _any_of(tuple(map(kind_of, arguments)))
    if not isinstance(annotation, type) or annotation is object:
        return ANYTHING
    if issubclass(annotation, enum.Enum):
        return _member_of(annotation)
    return _exactly(annotation, expected=f"a {annotation.__name__}")


def kinds_of(cls: type, names: Iterable[str]) -> dict[str, AttributeKind]:
    """Return what each of these attributes of an operator may be. Raises GraphError for annotations that name
    nothing."""
    annotated: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        annotated |= getattr(base, "__annotations__", {})
    stated = {name: annotated[name] for name in names}
    kinds = {name: _COMMON[text] for name, text in stated.items() if isinstance(text, str) and text in _COMMON}
    rest = {name: annotation for name, annotation in stated.items() if name not in kinds}
    if rest:
        known: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            known.update(vars(sys.modules[base.__module__]))
        try:
            hints = typing.get_type_hints(types.SimpleNamespace(__annotations__=rest), known)
        except NameError as error:
            raise GraphError(f"the attributes of {cls.__name__} are annotated with what its module lacks: {error}; "
                             "define the class and the types of its attributes in the module") from error
        kinds.update({name: kind_of(hint) for name, hint in hints.items()})
    return kinds


def normalised(kind: AttributeKind, value: Any) -> Any:
    """Return the value as the attribute holds it, `UNFIT` if it cannot have it."""
    if type(value) in kind.exact:
        return value
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        value = value.item()
    return kind.take(value)


def taken(operator: str, attribute: str, kind: AttributeKind, value: Any) -> Any:
    """`normalised`, for an operator's attribute. Raises OperatorError with what was found and expected."""
    result = normalised(kind, value)
    if result is UNFIT:
        shown = repr(value) if isinstance(value, tuple | list) and len(repr(value)) <= 80 else found_kind(value)
        advice = kind.advice(value)
        raise OperatorError(
            f"{operator}: the attribute {attribute} is {shown}, expected {kind.expected}" + (advice and f"; {advice}")
        )
    return result
