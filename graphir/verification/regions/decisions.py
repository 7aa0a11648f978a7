"""Nodes that differ and decide something: which sides of their decisions no numbers led to.

A Max that never acts and a condition that is never true show in no number. So a decision counts as tested only where
both sides of it occurred, in a part that ran by itself or in the model on a set of inputs; a side that no number can be
on, as far as ranges tell, is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from graphir.analysis.ranges import possible_sides
from graphir.errors import GraphirError
from graphir.graph import Graph, Node
from graphir.inputs.sets import Made
from graphir.ops.control import If
from graphir.ops.elementwise import Where
from graphir.ops.slicing import Slice
from graphir.ops.traits import Decision
from graphir.verification.pairs.sides import Sides
from graphir.verification.running.candidate import OnnxCandidate
from graphir.verification.running.coverage import unreached

from .parts import CutCandidate, NotRun

if TYPE_CHECKING:
    from graphir.converters.onnx.probes import Sight

NEVER = "never occurred"


@dataclass
class Decisions:
    """The nodes of one of the graphs that differ and decide something, by the names of their first results."""

    model: OnnxCandidate
    cut: CutCandidate
    graph: Graph
    sides: Sides

    def __post_init__(self) -> None:
        self.nodes = {
            name: node for node in self.graph.nodes
            if node in self.sides.rows and not self.sides.rows[node].place and is_decision(node)
            for name in (node.outputs[0].name, *node.outputs[0].sources)
        }  # fmt: skip
        self.cut.watched, self.cut.reached = self.nodes.keys(), set()

    @cached_property
    def _sights(self) -> list[Sight]:
        return unreached(self.model, self.nodes.keys(), ()) if self.nodes else []

    @property
    def impossible(self) -> list[tuple[Node, Sight]]:
        """Return the sides of decisions that no number can be on, with their nodes."""
        sights = [(self.nodes[sight.result], sight) for sight in self._sights]
        return [(node, sight) for node, sight in sights if sight.side not in possible_sides(node)]

    def open_sides(self, sets: Sequence[Made]) -> list[tuple[Node, Sight, str]]:
        """Return the sides of decisions that numbers could be on, and neither parts nor sets led to; and why."""
        sights = {(sight.result, sight.way): sight for sight in self._sights}
        open_ones = sights.keys() - self.cut.reached - {(sight.result, sight.way) for _, sight in self.impossible}
        if not open_ones:
            return []
        reason = NEVER
        try:
            never = unreached(self.model, {result for result, _ in open_ones}, sets)
            open_ones &= {(sight.result, sight.way) for sight in never}
        except GraphirError as error:
            reason = f"was not measured: {NotRun.after(error).reason}"
        return [(self.nodes[sight.result], sight, reason) for key, sight in sights.items() if key in open_ones]


def is_decision(node: Node | None) -> bool:
    """Return whether a node does one thing for some numbers and another one for others."""
    return node is not None and (node.op.decides > Decision.NOTHING or isinstance(node.op, Where | If | Slice))
