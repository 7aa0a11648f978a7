"""TensorFlow's graphs as plain records: nodes, functions, signatures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from graphir.converters.tensorflow.dtypes import DataType
from graphir.structure.reaching import reachable


class Endpoint(NamedTuple):
    """One result of a node: `conv` and `conv:0` are slot 0 of `conv`."""

    node: str
    slot: int = 0

    def __str__(self) -> str:
        return f"{self.node}:{self.slot}"

    @staticmethod
    def of(text: str) -> Endpoint:
        """Return the endpoint that a text names.

        >>> Endpoint.of("scope/split:1"), Endpoint.of("x")
        (Endpoint(node='scope/split', slot=1), Endpoint(node='x', slot=0))
        """
        name, colon, slot = text.rpartition(":")
        return Endpoint(name, int(slot)) if colon and is_number(slot) else Endpoint(text)


def is_number(text: str) -> bool:
    """Return whether a text is the number of a result, which has few digits.

    >>> is_number("12"), is_number("\\u0661"), is_number("9" * 5000), is_number("")
    (True, False, False, False)
    """
    return text.isascii() and text.isdigit() and len(text) < 10


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """An attribute that names a function, and the attributes that are bound in it."""

    name: str
    attrs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bound:
    """An attribute inside a function that has the value of the function's attribute of this name."""

    name: str


@dataclass(slots=True)
class TFNode:
    """One node. `inputs` are its data inputs, `controls` the nodes that have to run before it."""

    name: str
    op: str
    inputs: tuple[Endpoint, ...]
    controls: tuple[str, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict)
    device: str = ""


def needed_nodes(nodes: Mapping[str, TFNode], wanted: Iterable[str], *, controls: bool = False) -> list[TFNode]:
    """Return those of the nodes that these names need, with `controls` also those that they wait for, in their order.
    What does not exist is left out."""

    def reads(name: str) -> list[str]:
        node = nodes.get(name)
        inputs = () if node is None else node.inputs
        return [*(endpoint.node for endpoint in inputs), *(node.controls if node and controls else ())]

    names = set(reachable(wanted, reads))
    return [node for name, node in nodes.items() if name in names]


@dataclass(slots=True)
class FunctionNode:
    """A node of a function; its inputs are texts, `argument` or `node:output:index`, as the file has them."""

    name: str
    op: str
    inputs: tuple[str, ...]
    attrs: Mapping[str, Any]
    controls: tuple[str, ...] = ()


@dataclass(slots=True)
class TFFunction:
    """A function of the library: the names of its arguments and outputs, its nodes, and what each output is.

    `results` are texts as the nodes' inputs are, `effects` the nodes that run even if no result needs them. One that
    `is_made` here of nodes that fit their operators is not held against them again: its loops and conditionals lack
    attributes that nothing here reads.
    """

    name: str
    arguments: tuple[str, ...]
    outputs: tuple[str, ...]
    results: tuple[str, ...]
    nodes: Sequence[FunctionNode]
    is_made: bool = False
    effects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Signature:
    """What a SavedModel states of one way to use it: endpoints of inputs and outputs by the names that users see."""

    name: str
    inputs: Mapping[str, Endpoint]
    outputs: Mapping[str, Endpoint]


@dataclass(slots=True)
class TFGraph:
    """A graph and its function library. `producer` is the version of the TensorFlow graph format that wrote it."""

    nodes: list[TFNode]
    functions: dict[str, TFFunction] = field(default_factory=dict)
    producer: int = 0


@dataclass(frozen=True, slots=True)
class Argument:
    """An input or output in the schema.

    `dtype` is a DataType or the name of the attribute that states it; `count` the attribute that states how many
    there are (`N`), "" for one; `is_list` marks that `dtype` names an attribute with a list of dtypes.
    """

    name: str
    dtype: DataType
    dtype_attr: str = ""
    count: str = ""
    is_list: bool = False
