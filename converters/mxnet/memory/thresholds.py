"""The plans of mxnet-memonger: keep the marked stages between which enough memory has gathered, recompute the rest."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph
from graphir.converters.mxnet.memory.entries import Typed
from graphir.converters.mxnet.schema.operators import node_signature

STAGE = "__mirror_stage__"
_PARAMETER_ENDINGS = ("weight", "bias", "beta", "gamma")
_BEGINNING = 3


class Marks(NamedTuple):
    """Which nodes are marked to be recomputed and which are kept, and memonger's estimates in bytes: of what is kept,
    and of the largest part between two kept stages.
    """

    forced: dict[int, bool]
    saved: int
    largest: int


class TriedThreshold(NamedTuple):
    """One threshold that was tried, in MB, and what the plan then takes."""

    threshold: int
    cost: int
    marks: Marks


@dataclass(frozen=True)
class Walk:
    """A symbol as memonger walks through it. The nodes are in MXNet's order and all of them are needed."""

    graph: NNVMGraph
    types: list[list[Typed]]

    def marks(self, threshold: int) -> Marks:
        """Return the plan of a threshold in MB. A stage is kept if more than that has gathered since the last kept
        one."""
        forced: dict[int, bool] = {}
        gathered = saved = largest = 0
        last, kept = "", False
        for number, node in enumerate(self.graph.nodes):
            stage = node.annotations.get(STAGE)
            visible = 1 if node.op == VARIABLE else node_signature(node).visible
            for slot in range(visible):
                if _is_parameter(node.name if node.op == VARIABLE else f"{node.name}_output"):
                    continue
                nbytes = 4 * math.prod(self.types[number][slot][0])
                gathered += nbytes
                forced[number] = True
                if stage is None:
                    continue
                if stage == "True" or stage != last:
                    kept = gathered > threshold << 20
                    last = stage
                    if kept:
                        largest = max(largest, gathered)
                        gathered = 0
                if kept:
                    saved += nbytes
                    forced[number] = False
        return Marks(forced, saved, largest)


def search(walk: Walk, cost: Callable[[Marks], int], trials: int = 6) -> list[TriedThreshold]:
    """memonger's search: three guesses that follow from each other, then `trials` steps beside the last one.

    `cost` gives the MB of a plan. The best trial is the first with the lowest cost.
    """
    tried: list[TriedThreshold] = []
    threshold, lowest = 0, 0
    for _ in range(_BEGINNING):
        tried.append(_try(walk, cost, threshold))
        marks = tried[-1].marks
        lowest = min(lowest or marks.largest >> 20, marks.largest >> 20)
        threshold = int(math.sqrt((marks.saved >> 20) * (marks.largest >> 20) / 2))
    step = int((threshold * math.sqrt(2) - lowest) / trials) if trials else 0
    if step > 0:
        tried += [_try(walk, cost, lowest + step * (number + 1)) for number in range(trials)]
    return tried


def _try(walk: Walk, cost: Callable[[Marks], int], threshold: int) -> TriedThreshold:
    marks = walk.marks(threshold)
    return TriedThreshold(threshold, cost(marks), marks)


def _is_parameter(name: str) -> bool:
    return name != "data" and name.endswith(_PARAMETER_ENDINGS)
