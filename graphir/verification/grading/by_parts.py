"""Outputs that differ though every part of the candidate gives what the reference gives: rounding that grows.

If each part, fed with the reference's numbers, gives the reference's result, the two models compute the same; what is
apart at their ends is the rounding of the parts before, which a threshold, a choice or a long chain makes large.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from graphir.errors import GraphirError
from graphir.ops.traits import Decision
from graphir.verification.pairs.sides import Sides
from graphir.verification.regions.judge import judge
from graphir.verification.running.bench import Asked, Bench
from graphir.verification.verdict import Verdict

from .compare import Comparison

Array = NDArray[Any]


def graded_by_parts(
    bench: Bench, asked: Sequence[Asked], compared: Sequence[Comparison], expected: Mapping[str, Array],
    sides: Sides | None, *, is_plain: bool = False,
) -> list[Comparison]:  # fmt: skip
    """Return the comparisons of outputs, those that differ as rounding where all parts of the candidate agree.

    Parts run without onnxruntime's optimisations: where these alone make a difference, it stays one (`is_plain` says
    that the results come without them). So it does where limits were stated, values are random, a part cannot be run,
    or a type coarser than float32 rounds so much that a part shows less than a chain of them. What rounding alone moves
    by more than is ever allowed stays unproven, unless the model decides something: a decision turns with the last bit,
    and the part that takes it has to take the same one.
    """
    kept = list(compared)
    differing = [one for one in compared if not one.verdict.passes]
    coarse = bench.limits.quantized or bench.limits.coarsest or bench.candidate.structure.steps
    if sides is None or sides.graphs is None or bench.limits.stated or coarse or not differing:
        return kept
    titles = {one.title: one for one in asked}
    decides = any(node.op.decides >= Decision.STEPS for node in sides.graphs[1].nodes)
    unsteady = not decides and any(one.verdict is Verdict.NOT_DETERMINISTIC for one in differing)
    if unsteady or any(one.is_random or one.name not in titles for one in differing):
        return kept
    try:
        regions, found = judge(bench, sides)
    except GraphirError:
        return kept
    ends = [(regions.known.values.get(titles[one.name].source), titles[one.name].name) for one in differing]
    if found.causes or found.hidden or not all(regions.has(value, name) for value, name in ends):
        return kept
    if not is_plain and any(one.verdict.passes for one in _the_other_way(bench, differing, titles, expected)):
        return kept
    note = f"rounding on the way: each of {len(found.alone)} parts gives the reference's result for its own numbers"
    return [
        one if one.verdict.passes
        else replace(one, verdict=Verdict.NOISE, note="; ".join(filter(None, (one.note, note))))
        for one in kept
    ]  # fmt: skip


def _the_other_way(
    bench: Bench, differing: Sequence[Comparison], titles: Mapping[str, Asked], expected: Mapping[str, Array]
) -> list[Comparison]:
    """The outputs that differ, of the candidate with onnxruntime's optimisations the other way."""
    again = [titles[one.name] for one in differing]
    results = bench.candidate.twin.known_or_run(bench.feeds, [one.name for one in again])
    return replace(bench, passing=True).compare(again, expected, results)


__all__ = ["graded_by_parts"]
