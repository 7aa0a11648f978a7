"""Operators of nodes that say the same as one before: large models consist of a few kinds of nodes."""

from __future__ import annotations

from typing import Any

from graphir.ops.base import Operator

# Bytes of the attributes of a node that are kept to be found again.
LONGEST = 512


class Repeated:
    """The operators that nodes became whose import depends on their own attributes only.

    Of a model with functions none are kept: what a node means there depends on who calls it.
    """

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled
        self._operators: dict[tuple[object, ...], Operator] = {}

    def find(self, proto: Any) -> Operator | None:
        """Return the operator of a NodeProto that says what one before said, but for the names of its values."""
        return self._operators.get(_node_key(proto)) if self._operators else None

    def keep(self, proto: Any, op: Operator) -> None:
        """Keep what a NodeProto became."""
        key = _node_key(proto)
        if self._enabled and sum(map(len, key[2:])) <= LONGEST:
            self._operators[key] = op


def _node_key(proto: Any) -> tuple[Any, ...]:
    attributes = proto.attribute
    if not attributes:
        return proto.domain, proto.op_type
    return proto.domain, proto.op_type, *[attribute.SerializeToString() for attribute in attributes]
