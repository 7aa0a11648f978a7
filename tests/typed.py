"""What a test knows to be there, said to the type checker; a test that errs fails here."""

from __future__ import annotations

from typing import Any, TypeVar

from graphir.types import TensorType, Type

Given = TypeVar("Given")


def present(value: Given | None) -> Given:
    """The value, which is not None."""
    assert value is not None
    return value


def tensor_type(type_: Type) -> TensorType:
    """The type, which is a tensor's."""
    assert isinstance(type_, TensorType), type_
    return type_


def untyped(given: Any) -> Any:
    """What the type checker would refuse, or cannot tell, here: a row's attributes behind `**`, a wrong argument."""
    return given
