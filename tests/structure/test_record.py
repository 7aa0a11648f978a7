"""Dataclasses whose fields are found when they are asked for."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest

from graphir.ops import Operator, operator_table
from graphir.ops.pooling import MaxPool
from graphir.structure.record import mutable_record, record


@record
class Base:
    """One with a default."""

    x: int
    items: list[int] = dataclasses.field(default_factory=list)


@record
class Derived(Base):
    """One more."""

    y: int = 3


class Plain(Derived):
    """One that adds methods only."""

    z = 4


def test_a_class_below_a_record_has_its_fields() -> None:
    found = Plain(1, y=2)
    assert (found.x, found.items, found.y, found.z) == (1, [], 2, 4)
    assert repr(found) == "Plain(x=1, items=[], y=2)"
    assert found == Plain(1, [], 2)
    assert found != Derived(1, [], 2)
    assert dataclasses.replace(found, y=3) == Plain(1)


def test_fields_are_those_of_a_dataclass() -> None:
    assert [field.name for field in dataclasses.fields(Derived)] == ["x", "items", "y"]
    found = Derived(1)
    assert dataclasses.is_dataclass(found)
    assert (found.x, found.items, found.y) == (1, [], 3)
    assert found.items is not Derived(1).items
    assert dataclasses.replace(found, y=4) == Derived(1, [], 4)
    assert pickle.loads(pickle.dumps(found)) == found
    assert dataclasses.asdict(found) == {"x": 1, "items": [], "y": 3}
    if sys.version_info >= (3, 13):
        assert copy.replace(found, y=4) == Derived(1, [], 4)


def test_patterns() -> None:
    match Derived(1, [2], 5):
        case Derived(x, [item], y):
            assert (x, item, y) == (1, 2, 5)
        case _:
            raise AssertionError


def test_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Base(1).x = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del Base(1).x


@mutable_record
class Held:
    """One that may be changed, with a field that is given by name only and one that is neither compared nor shown."""

    x: int
    beside: int = dataclasses.field(default=0, compare=False, repr=False)
    named: list[int] = dataclasses.field(default_factory=list, kw_only=True)


@mutable_record
class More(Held):
    """With a field behind those of its base that is given by place."""

    y: int = 5


def test_holders() -> None:
    found = Held(1, named=[2])
    found.x = 3
    assert repr(found) == "Held(x=3, named=[2])"
    assert found == Held(3, 9, named=[2])
    assert found != Held(3)
    assert Held.__hash__ is None
    assert More(1, 2, 3) == More(1, 2, y=3)


@pytest.mark.parametrize(
    "values, named, text",
    [
        ((), {}, "Held needs x"),
        ((1, 2, 3), {}, "Held has 2 fields, found 3 values"),
        ((1,), {"x": 2}, "Held has no field x left to set"),
        ((1,), {"z": 2}, "Held has no field z left to set"),
    ],
)
def test_wrong_arguments(values: tuple[int, ...], named: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        Held(*values, **named)


def test_threads_make_the_fields_once() -> None:
    def made() -> type[Any]:
        @record
        class Fresh:
            x: int = 1
            items: list[int] = dataclasses.field(default_factory=list)

        return Fresh

    with ThreadPoolExecutor(8) as pool:
        for cls in (made() for _ in range(50)):
            assert all(found.items == [] for found in pool.map(lambda _, cls=cls: cls(), range(8)))


@pytest.mark.parametrize("name", sorted(operator_table()))
def test_operators_know_the_fields_that_a_dataclass_has(name: str) -> None:
    """They read their annotations themselves, so that no dataclass need be made."""
    cls: type[Operator] = operator_table()[name]
    fields = dataclasses.fields(cast("type[Any]", cls))
    assert cls.field_names == tuple(field.name for field in fields)
    stated = {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}
    assert cls.field_defaults == stated
    assert cls.__match_args__ == cls.field_names  # type: ignore[attr-defined]


def test_operators_are_replaced() -> None:
    found = dataclasses.replace(MaxPool((2, 2)), strides=(3, 3))
    assert (found.kernel_shape, found.strides) == ((2, 2), (3, 3))
    if sys.version_info >= (3, 13):
        assert copy.replace(MaxPool((2, 2)), strides=(3, 3)) == found
