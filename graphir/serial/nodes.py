"""Nodes of the commonest form, read without a JSON path in hand; and the operators that a document asks for."""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from graphir.errors import Gap, GraphError, ShapeError
from graphir.node import set_type
from graphir.ops import operator_table
from graphir.plugins import own_operator
from graphir.types import ANYTHING, Type, unify

from .notation import Json

if TYPE_CHECKING:
    from graphir.graph import Graph, Value
    from graphir.ops.base import Operator

    Told = tuple[Type, tuple[str, ...]]

def key_of(raw: Json) -> bytes:
    """Return what tells this part of a document from all that is not written alike: 1, 1.0 and true are equal, not the
    same.

    Raises ValueError for lists within lists without end.
    """
    return marshal.dumps(raw, 2)  # a third of the time that its text takes


# What an operator's rule or constructor may raise for attributes that no importer would have made.
RULE_FAILURES = (
    GraphError,
    ShapeError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    TypeError,
    ValueError,
)

VALUE_FIELDS = frozenset({"name", "type", "declared", "sources"})
_UNTOLD: Told = (ANYTHING, ())


def add_plain(
    graph: Graph, raw: Json, operators: dict[tuple[str, bytes], Operator], types: dict[bytes, Type]
) -> bool:
    """Add a node of the commonest form; False, with nothing changed, for all others and for what is refused.

    Reading it with the JSON path of each part says the same, and costs more than all else about a node. `operators` by
    name and attributes and `types` are those met so far, by what the document says of them.
    """
    try:
        op = operators.get((raw["op"], key_of(raw["attributes"]) if len(raw) == 5 else b""))
        name, inputs, rows = raw["name"], raw["inputs"], raw["outputs"]
        if op is None or type(name) is not str or not name or type(inputs) is not list or type(rows) is not list:
            return False
        operands = tuple(graph.find(inputs))
        if None in operands or len(raw) > 5 or len(rows) != op.output_count:
            return False
        names, stated, contents = [], [], []
        for row in rows:
            result = row["name"]
            if type(result) is not str:
                return False
            names.append(result)
            stated.append(types[key_of(row["type"])])
            contents.append(_UNTOLD if len(row) == 2 else _read_details(row, types))
        results = graph.insert(op, operands, name, names).outputs
    except RULE_FAILURES:
        return False
    for value, type_ in zip(results, stated, strict=True):
        if value.type is not type_ and value.type != type_:
            if not _states(graph, results, stated):
                return False
            break
    for value, more in zip(results, contents, strict=True):
        if more is not _UNTOLD:
            value.declared, value.sources = more
    return True


def _read_details(row: dict[str, Json], types: dict[bytes, Type]) -> Told:
    """Return what a result states besides its name and type. Raises KeyError for all but the commonest forms."""
    sources = row.get("sources", [])
    if type(sources) is not list or (len(row) > 3 and not row.keys() <= VALUE_FIELDS):
        raise KeyError("sources")
    for text in sources:
        if type(text) is not str:
            raise KeyError("sources")
    if len(row) == 3 and "sources" in row:
        return ANYTHING, tuple(sources)
    return types[key_of(row["declared"])], tuple(sources)


def _states(graph: Graph, results: Sequence[Value], types: list[Type]) -> bool:
    """Give a new node's results the types that the file states; False, without the node, where these contradict."""
    try:
        for value, stated in zip(results, types, strict=True):
            unify(value.type, stated)
    except ShapeError:
        assert results[0].producer is not None
        graph.erase(results[0].producer)
        return False
    for value, stated in zip(results, types, strict=True):
        set_type(value, stated)
    return True


def unknown_operators(document: Json) -> list[Gap]:
    """Return the operators that no class is known for, each with the names of its nodes."""
    table = operator_table()
    operators: dict[str, list[str]] = {}
    for node in _raw_nodes(document):
        op = node.get("op")
        if isinstance(op, str) and op not in table and own_operator(op) is None:
            operators.setdefault(op, []).append(str(node.get("name")))
    return [Gap(op, "no such operator in this version", tuple(nodes)) for op, nodes in sorted(operators.items())]


def _raw_nodes(graph: Json) -> Iterator[dict[str, Json]]:
    nodes = graph.get("nodes") if isinstance(graph, dict) else None
    for node in nodes if isinstance(nodes, list) else ():
        if isinstance(node, dict):
            yield node
            inner = node.get("subgraphs")
            for subgraph in inner if isinstance(inner, list) else ():
                yield from _raw_nodes(subgraph)
