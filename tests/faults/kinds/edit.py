"""What a kind of fault is: the places of a model where it can be planted, each with what plants it there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tests.faults.builder import Generator
from tests.faults.model import Array, Model, Node, put


class Edit(NamedTuple):
    """A fault at one place: the names of the nodes that are wrong then, and what changes a clone."""

    where: tuple[str, ...]
    apply: Callable[[Model, Generator], None]


Sites = Callable[[Model], Iterator[Edit]]


@dataclass(frozen=True)
class Fault:
    """A kind of fault. `random` says that the model draws numbers afterwards: then no verdict may call it proven, and
    none can say more. `silent` says that what it changes is less than an effect, or shows in inputs only that
    are so many times as wide as usual: no verdict may call it proven then either, and the place has to be named."""

    name: str
    sites: Sites
    random: bool = False
    silent: float = 0.0


Others = Callable[[Model, Node], Iterable[Any]]
Change = Callable[[Array, Generator], Array | None]


def attribute(kinds: str, name: str, others: Others) -> Sites:
    """Nodes of these operators with another value of an attribute; `others` gives the values to try, None to drop."""

    def sites(model: Model) -> Iterator[Edit]:
        for node in model.nodes(*kinds.split()):
            for value in others(model, node):
                yield Edit((node.name,), _attribute_put(node.name, {name: value}))

    return sites


def attributes(kinds: str, others: Callable[[Model, Node], Iterable[dict[str, Any]]]) -> Sites:
    """The same for several attributes at once."""

    def sites(model: Model) -> Iterator[Edit]:
        for node in model.nodes(*kinds.split()):
            for values in others(model, node):
                yield Edit((node.name,), _attribute_put(node.name, values))

    return sites


def _attribute_put(node: str, values: dict[str, Any]) -> Callable[[Model, Generator], None]:
    def apply(model: Model, generator: Generator) -> None:
        for name, value in values.items():
            put(model.node(node), name, value)

    return apply


def operator(kinds: str, other: str, **given: Any) -> Sites:
    """Nodes of these operators become another one on the same operands."""

    def sites(model: Model) -> Iterator[Edit]:
        for node in model.nodes(*kinds.split()):
            yield Edit((node.name,), _become(node.name, other, given))

    return sites


def _become(node: str, other: str, given: dict[str, Any]) -> Callable[[Model, Generator], None]:
    return lambda model, generator: model.become(model.node(node), other, **given)


def weights(kinds: str, slot: int, change: Change) -> Sites:
    """Nodes of these operators whose operand in a slot holds other elements; None from `change` says that it does not
    apply."""

    def sites(model: Model) -> Iterator[Edit]:
        for node in model.nodes(*kinds.split()):
            held = model.operand(node, slot)
            if held is not None and change(held, np.random.Generator(np.random.PCG64(0))) is not None:
                yield Edit((node.name,), _reweigh(node.name, slot, change))

    return sites


def _reweigh(node: str, slot: int, change: Change) -> Callable[[Model, Generator], None]:
    def apply(model: Model, generator: Generator) -> None:
        held = model.node(node)
        old = model.operand(held, slot)
        assert old is not None
        new = change(old, generator)
        assert new is not None
        model.give(held, slot, new.astype(old.dtype))

    return apply


def each(kinds: str, apply: Callable[[Model, Node, Generator], None], when: Callable[[Model, Node], bool]) -> Sites:
    """Nodes of these operators that fulfil a condition, changed by a function of the clone's node."""

    def sites(model: Model) -> Iterator[Edit]:
        for node in model.nodes(*kinds.split()):
            if when(model, node):
                yield Edit((node.name,), _at(node.name, apply))

    return sites


def _at(node: str, apply: Callable[[Model, Node, Generator], None]) -> Callable[[Model, Generator], None]:
    return lambda model, generator: apply(model, model.node(node), generator)


def always(model: Model, node: Node) -> bool:
    """Every node."""
    return True


def rank_of(model: Model, value: str) -> int:
    """The rank that a value was seen to have, 0 if it was not seen."""
    return len(model.shape(value) or ())


__all__ = ["Edit", "Fault", "Sites", "always", "attribute", "attributes", "each", "operator", "rank_of", "weights"]
