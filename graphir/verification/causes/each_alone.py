"""Layers that differ though each of them computes the same: what comes before them moved by rounding, and they make
much of little.

A mask where a map equals its own maximum, or a sigmoid of large numbers, turns with the last bit of what goes in. Run
alone on the reference's numbers such a layer gives the reference's result, and so does every layer between it and
values that agree; a fault in one of them would show there.

What only selects or moves numbers is looked at together with what computes them: such operators do not round, so that a
difference of some units in the last place, which passes elsewhere, is a fault of theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from graphir.errors import GraphirError
from graphir.graph import Value
from graphir.passes.half.rules import MOVES
from graphir.verification.grading.compare import Comparison
from graphir.verification.pairs.sides import Sides

from .known import Bench, Known
from .segments import Segment, Segments, alone
from .walks import Walks

# Each layer is cut out of the candidate, written and run, some milliseconds; a network in which more of them move is
# one that rounding moves throughout.
MOST_LAYERS = 60
LAYERS_AT_ONCE = 20
SELECTS = MOVES | {
    *("Abs", "And", "ArgMax", "ArgMin", "Cast", "Ceil", "Clip", "Equal", "Floor", "GlobalMaxPool", "Greater"),
    *("GreaterOrEqual", "Less", "LessOrEqual", "Max", "MaxPool", "MaxRoiPool", "Min", "Neg", "Not", "Or"),
    *("ReduceMax", "ReduceMin", "Relu", "Round", "Sign", "ThresholdedRelu", "TopK", "Xor"),
}


def computed_alike(
    bench: Bench, sides: Sides | None, compared: Sequence[Comparison], differing: Sequence[Comparison]
) -> set[str]:
    """Those of the layers that differ, by their names, which compute the same by themselves, as all layers do that they
    follow from, back to values that agree or are fed. None where limits were stated, or where types coarser than
    float32 round so much that a layer alone shows less than a chain of them. `compared` are other comparisons so far.
    """
    coarse = bench.limits.quantized or bench.limits.coarsest
    if sides is None or sides.graphs is None or not differing or bench.limits.stated or coarse:
        return set()
    walks = Walks(sides.graphs[0]), Walks(sides.graphs[1])
    known = Known(bench, sides.graphs, [*compared, *differing])
    segments = Segments(known, walks, bench, sides)
    asked = walks[0].ordered(known.values[one.name] for one in differing if one.name in known.values)
    cuts = _followed(known, segments, asked)
    alike = _sound(segments, bench, cuts)
    for value in walks[0].ordered(cuts):
        cut = cuts[value]
        if cut is None or not all(known.agrees(edge) or edge in alike for edge in _computed(cut)):
            alike.discard(value)
    return {known.names[value] for value in asked if value in alike}


def _followed(known: Known, segments: Segments, asked: Sequence[Value]) -> dict[Value, Segment | None]:
    """These layers and those that they follow from as far as they differ too, each with its part of both models; None
    for one that has no such part, or comes beyond the number that is looked at."""
    cuts: dict[Value, Segment | None] = {}
    pending = list(asked)
    while pending:
        for value in pending:
            cuts[value] = segments.cut(value, _rounds) if len(cuts) < MOST_LAYERS else None
        edges = dict.fromkeys(edge for value in pending for edge in _computed(cuts[value]))
        known.ask(edges)
        pending = [edge for edge in edges if not known.agrees(edge) and edge not in cuts]
    return cuts


def _rounds(value: Value) -> bool:
    return value.producer is None or value.producer.op.name not in SELECTS


def _computed(cut: Segment | None) -> Iterable[Value]:
    return () if cut is None else [edge for edge in cut.edges if edge.producer is not None]


def _sound(segments: Segments, bench: Bench, cuts: dict[Value, Segment | None]) -> set[Value]:
    """Those whose part of the candidate gives the reference's result for the reference's numbers."""
    found: set[Value] = set()
    present = [cut for cut in cuts.values() if cut is not None]
    for start in range(0, len(present), LAYERS_AT_ONCE):
        group = present[start : start + LAYERS_AT_ONCE]
        arrays = segments.arrays(group)
        for cut in group:
            try:
                result = alone(cut, arrays, segments.fed(cut, arrays), bench.limits)
            except (GraphirError, ValueError):
                continue
            if result.verdict.passes:
                found.add(cut.value)
    return found


__all__ = ["computed_alike"]
