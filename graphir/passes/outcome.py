"""What a pass says of what it did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import NamedTuple

from graphir.errors import GraphirError
from graphir.graph import Node
from graphir.structure.record import mutable_record


class Stays(GraphirError):
    """Why a pass leaves a node as it is."""


class Change(NamedTuple):
    """One change: the name of the node that was rewritten or left out, and why that is right."""

    node: str
    why: str


@mutable_record
class Outcome:
    """What became of a graph in a pass: the changes in order and, of nodes that it is meant for but had to leave, why.

    True if anything changed. A change of numbers is a decision of the graph besides. `outcome |= other` takes up what
    another pass did after it.
    """

    changes: list[Change] = field(default_factory=list)
    reasons: dict[Node, str] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        """Whether the graph is another than before."""
        return bool(self.changes)

    def note(self, node: str, why: str) -> None:
        """Add one change."""
        self.changes.append(Change(node, why))

    def counts(self) -> Mapping[str, int]:
        """Return how many changes there were for each reason, in the order in which the reasons came up."""
        counts: dict[str, int] = {}
        for change in self.changes:
            counts[change.why] = counts.get(change.why, 0) + 1
        return counts

    def __bool__(self) -> bool:
        return self.changed

    def __ior__(self, other: Outcome) -> Outcome:
        self.changes += other.changes
        self.reasons |= other.reasons
        return self
