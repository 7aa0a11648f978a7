"""What public functions are given: checked first, so that a wrong kind is an error of graphir's own that says which."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar, cast

from graphir.errors import ArgumentError

PathLike = str | os.PathLike[str]
T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")


def expect(value: object, kinds: type[T] | tuple[type, ...], what: str, expected: str = "") -> T:
    """Return the value, if it is of one of these kinds. Raises ArgumentError naming what was expected and what was
    found."""
    if isinstance(value, kinds):
        return cast("T", value)
    named = kinds if isinstance(kinds, tuple) else (kinds,)
    wanted = expected or " or ".join("None" if kind is type(None) else kind.__name__ for kind in named)
    raise ArgumentError(f"{what}: expected {wanted}, found {found_kind(value)}")


def expect_items(values: object, kinds: type[T] | tuple[type, ...], what: str, expected: str = "") -> tuple[T, ...]:
    """Return the values as a tuple, if each is of one of these kinds. A text is not taken for its letters."""
    if type(values) not in (tuple, list) and (
        isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable)
    ):
        raise ArgumentError(f"{what}: expected several in a list, found {found_kind(values)}")
    items: tuple[Any, ...] = tuple(cast("Iterable[Any]", values))
    for index, value in enumerate(items):
        if not isinstance(value, kinds):
            expect(value, kinds, f"{what}[{index}]", expected)
    return items


def expect_mapping(values: object, what: str) -> Mapping[str, Any]:
    """Return the values, if they are a mapping by name."""
    mapping: Mapping[Any, Any] = expect(values, (Mapping,), what, "a mapping by name")
    for name in mapping:
        expect(name, str, f"a name of {what}", "text")
    return mapping


def expect_path(value: object, what: str) -> str | os.PathLike[str]:
    """Return the value, if it is a path as text."""
    if isinstance(value, str) or (isinstance(value, os.PathLike) and isinstance(os.fspath(value), str)):
        return value
    raise ArgumentError(f"{what}: expected a path as text, found {found_kind(value)}")


def with_stated(options: T | None, kind: type[T], parameter: str, /, **stated: Any) -> T:
    """Return the options (without any, those of a new `kind`) with what keywords state besides.

    A keyword that has the default of its field states nothing. Raises ArgumentError for what both state, and for
    options of another kind; `parameter` is the keyword that the options were given for.
    """
    plain = kind()
    base = plain if options is None else expect(options, kind, parameter)
    changes = {name: value for name, value in stated.items() if _differs(value, getattr(plain, name))}
    for name in changes:
        if _differs(getattr(base, name), getattr(plain, name)):
            raise ArgumentError(f"{name} is stated twice: as {name}=... and in {parameter}; leave one out")
    return replace(base, **changes) if changes else base  # type: ignore[type-var]


def _differs(value: object, default: object) -> bool:
    return value is not default and (type(value) is not type(default) or value != default)


def short_forms(
    forms: Mapping[str, tuple[str, str]], kinds: Mapping[str, type]
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator for a function whose rare options are fields of option objects.

    `forms` gives for each further keyword the parameter of the object and the field that it states; `kinds` gives the
    class of each such parameter. Raises ArgumentError for a field that the call's own object states too.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in forms.keys() & kwargs.keys():
                parameter, field = forms[name]
                stated = {field: kwargs.pop(name)}
                kwargs[parameter] = with_stated(cast(Any, kwargs.get(parameter)), kinds[parameter], parameter, **stated)
            return function(*args, **kwargs)

        return run

    return decorate


def found_kind(value: object) -> str:
    """Return what a value is, in words."""
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, str | int | float) and len(repr(value)) <= 40:
        return f"{type(value).__name__} {value!r}"
    return type(value).__name__
