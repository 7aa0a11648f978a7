"""Nodes that differ and decide something, or stand in a body: which sides of decisions no numbers led to.

A Max that never acts and a branch that is never taken show in no number. So a decision counts as tested only where
both sides of it occurred, and a node in a body only where the body ran: in a part by itself, with numbers that were
kept, or in the model on a set of inputs. A side that no number can be on, as far as ranges tell, is left out. Of bodies
within bodies no run is observed: what differs there is not tested.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from graphir.analysis.diff import Row, Status
from graphir.analysis.ranges import BELOW, BEYOND, possible_sides
from graphir.errors import GraphirError
from graphir.graph import Graph, Node
from graphir.inputs.sets import Made
from graphir.ops.control import If
from graphir.ops.elementwise import Where
from graphir.ops.slicing import Slice
from graphir.ops.traits import DecisionTrait
from graphir.verification.pairs.sides import Sides
from graphir.verification.running.candidate import OnnxCandidate
from graphir.verification.running.coverage import unreached

from .parts import CutCandidate, NotRun

if TYPE_CHECKING:
    from graphir.converters.onnx.probes import Sight

NEVER = "never occurred"
# On which side of its decision a node runs its first body, and its second.
BODY_SIDES = BEYOND, BELOW
Reached = tuple[Node, str]
UNSEEN = "which stands in a body of which no run is observed"


@dataclass
class Decisions:
    """The decisions of one of the graphs that are to be tested: `nodes` are those of the main graph that differ and
    decide something, or hold what differs, by the names of their first results."""

    model: OnnxCandidate
    cut: CutCandidate
    graph: Graph
    sides: Sides

    def __post_init__(self) -> None:
        is_first = self.graph is self.sides.both[0]
        self._rows: dict[tuple[Node, int], Row] = {}
        self._unseen: list[Row] = []
        for row in self.sides.difference.rows:
            node = row.left if is_first else row.right
            if node is None or row.status is Status.SAME:
                continue
            holder = self.sides.holders.get(node.graph)
            if holder is None:
                needed = (BELOW, BEYOND) if is_decision(node) else (BEYOND,) if node.subgraphs else ()
                self._rows |= dict.fromkeys([(node, side) for side in needed], row)
                inner = [held for body in node.subgraphs for held in body.nodes if held.subgraphs]
                self._unseen += [row] if inner and None in (row.left, row.right) else []
            elif holder.graph is self.graph and not node.subgraphs:
                self._rows[holder, BODY_SIDES[holder.subgraphs.index(node.graph)]] = row
            else:
                self._unseen.append(row)
        self.nodes = {
            name: node for node, _ in self._rows for name in (node.outputs[0].name, *node.outputs[0].sources)
        }
        self.cut.watched, self.cut.reached = self.nodes.keys(), set()

    @cached_property
    def _sights(self) -> list[Sight]:
        sights = unreached(self.model, self.nodes.keys(), ()) if self.nodes else []
        return [sight for sight in sights if self._key(sight) in self._rows]

    def _key(self, sight: Sight) -> tuple[Node, int]:
        return self.nodes[sight.result], sight.side

    @property
    def impossible(self) -> list[tuple[Row, Sight]]:
        """Return the sides of decisions that no number can be on, with the rows that need them."""
        keys = [(self._key(sight), sight) for sight in self._sights]
        return [(self._rows[key], sight) for key, sight in keys if sight.side not in possible_sides(key[0])]

    def reached(self, nodes: Collection[Node]) -> set[Reached]:
        """Return the sides of the decisions of these nodes that the last run of parts led to."""
        return {(self.nodes[result], way) for result, way in self.cut.reached if self.nodes[result] in nodes}

    def open_rows(self, sets: Sequence[Made], reached: Collection[Reached]) -> Iterator[tuple[Row, str]]:
        """Yield the rows that need a side of a decision which numbers could be on, and which neither the parts, that
        `reached` others, nor the sets led to; and why."""
        seen = set(map(self._key, self._sights))
        bodies = [row for key, row in self._rows.items() if key[0].subgraphs and key not in seen]
        yield from ((row, UNSEEN) for row in (*self._unseen, *bodies))
        sights = {(sight.result, sight.way): sight for sight in self._sights}
        open_ones = sights.keys() - {(sight.result, sight.way) for _, sight in self.impossible}
        open_ones = {key for key in open_ones if (self.nodes[key[0]], key[1]) not in reached}
        if not open_ones:
            return
        reason = NEVER
        try:
            never = unreached(self.model, {result for result, _ in open_ones}, sets)
            open_ones &= {(sight.result, sight.way) for sight in never}
        except GraphirError as error:
            reason = f"was not measured: {NotRun.after(error).reason}"
        for key in sights:
            if key in open_ones:
                row = self._rows[self._key(sights[key])]
                yield row, f"which {'stands in a body' if row.place else 'decides'}: {key[1]} {reason}"


def is_decision(node: Node | None) -> bool:
    """Return whether a node does one thing for some numbers and another one for others."""
    return node is not None and (node.op.decides > DecisionTrait.NOTHING or isinstance(node.op, Where | If | Slice))
