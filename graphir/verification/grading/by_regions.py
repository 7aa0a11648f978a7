"""The verdict on outputs that differ end to end: that of the candidate's regions on the reference's numbers.

If each region, fed with the reference's numbers, gives the reference's result, the two models compute the same. What is
apart at their ends is the rounding of the regions before, which a threshold, a choice or a long chain makes large.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from graphir.arrays import Array
from graphir.verification.numbers.compare import Comparison, Floor
from graphir.verification.pairs.sides import Sides
from graphir.verification.regions.choices import compare_given_choices
from graphir.verification.regions.judge import Judgement, Regions, judge
from graphir.verification.regions.parts import NotRun
from graphir.verification.running.bench import Asked, Bench
from graphir.verification.running.references import RuntimeReference
from graphir.verification.verdict import Verdict

Results = Mapping[str, Array]
HIDDEN = "behind it that is as little as rounding, or hidden by a fusion of onnxruntime or by what is chosen there"
WITHIN = "behind it that is less than what many layers of so coarse a type may round"
MAGNIFIED = "what follows magnifies it, and rounding too"
NOT_RUN = "its parts, which would tell, could not be run by themselves"


def can_judge(bench: Bench, sides: Sides | None) -> bool:
    """Return whether the regions of a candidate tell rounding from a fault.

    They do not where limits were stated, or where a type coarser than float32 rounds so much that one region shows less
    than a chain of them.
    """
    coarse = bench.limits.quantized or bench.limits.coarsest or bench.candidate.structure.steps
    return sides is not None and sides.graphs is not None and not bench.limits.stated and not coarse


def grade_by_regions(
    bench: Bench, asked: Sequence[Asked], compared: Sequence[Comparison], runs: tuple[Results, Results],
    sides: Sides | None,
) -> list[Comparison]:  # fmt: skip
    """Return the comparisons, those that differ as rounding where the candidate's regions agree. `runs` are the
    reference's values and the candidate's.

    What differs because numbers chose otherwise agrees where the candidate is given the reference's choices. Else each
    region is asked. These run without onnxruntime's optimisations: a difference that optimisations alone make stays
    one. So does that of random values, and any where a region could not be run. How far the candidate is from the
    reference without optimisations is the floor of how far it may be with them. Behind a coarse type an output passes
    where its own region agrees and what this region reads passes too.
    """
    by_title = {value.title: value for value in asked}
    differing = [result for result in compared if result.verdict.differs or result.verdict is Verdict.NOT_DETERMINISTIC]
    is_random = any(result.is_random for result in differing)
    if not differing or is_random or sides is None or sides.graphs is None or bench.limits.stated:
        return list(compared)
    if can_judge(bench, sides):
        if "given" not in bench.judged:  # asked once of each set of inputs
            by_choices = [by_title[result.name] for result in differing]
            bench.judged["given"] = compare_given_choices(bench, sides, by_choices)
        given = bench.judged["given"]
        if not isinstance(given, NotRun):
            note = f"rounding turns what is chosen on the way: given the reference's choices {len(given)} values agree"
            return _as_rounding(compared, {result.name for result in differing}, note)
    judged = judge(bench, sides)
    if isinstance(judged, NotRun):
        # What rounding moves too far is not proven then.
        unknown = {True: Verdict.BROKEN, False: Verdict.NOT_PROVEN}
        return [
            result.noted(f"{NOT_RUN}: {judged.reason}", verdict=unknown[result.verdict.differs])
            if result in differing else result for result in compared
        ]  # fmt: skip
    regions, judgement = judged
    asked_for = [(one, regions.known.values.get(one.source)) for one in (by_title[result.name] for result in differing)]
    ends = [one for one, end in asked_for if regions.has(end, one.name)]
    # A saturated head hides what differs from outputs, not from the value before it.
    before = [end for one, end in asked_for if end is not None and not one.is_output]
    shown = [value for value in judgement.hidden if not regions.walks[0].behind(value).isdisjoint(before)]
    judgement.causes += shown
    judgement.hidden = [value for value in judgement.hidden if value not in shown]
    if judgement.causes or len(ends) < len(differing):
        moving = [result for result in differing if result.verdict is Verdict.NOT_DETERMINISTIC]
        caused = dict(zip(moving, _behind_causes(regions, judgement, asked, moving, MAGNIFIED), strict=True))
        return [caused.get(result, result) for result in compared]
    if can_judge(bench, sides):
        count = len(judgement.alone) - len(judgement.hidden)
        note = f"rounding on the way: each of {count} parts gives the reference's result for its own numbers"
        unoptimised = bench.candidate.twin.run_cached(bench.feeds, [one.name for one in ends if one.name in runs[1]])
        titles = {one.title for one in ends if _is_as_far(bench, one, runs, unoptimised)}
    else:
        note = "rounding before it: its own part gives the reference's result for the reference's numbers"
        passing = {one.name for one in judgement.alone.values() if one.verdict.passes}
        titles = {
            one.title for one in ends if one.source in passing
            and (_passes_before(bench, regions, one) or _moves_as_far(bench, one, runs))
        }  # fmt: skip
    return _as_rounding(compared, titles, note)


def _as_rounding(compared: Sequence[Comparison], titles: Collection[str], note: str) -> list[Comparison]:
    """Return the comparisons, those of these titles as rounding."""
    return [
        result.noted(
            note, verdict=Verdict.NOISE, place="",
            limit=max(result.limit, result.relative) if math.isfinite(result.relative) else result.limit,
        ) if result.name in titles else result
        for result in compared
    ]  # fmt: skip


def look_inside(
    bench: Bench, compared: Sequence[Comparison], outputs: Sequence[Asked], sides: Sides | None
) -> list[Comparison]:
    """Return the comparisons of outputs that agree, with what differs inside where graphs do or an output is in doubt.

    Regions run without onnxruntime's optimisations: a fusion that takes what is almost its pattern for it makes a wrong
    model right, for onnxruntime alone. Where they cannot be run, all values that both models know are compared.
    """
    quantized = bench.limits.quantized
    in_doubt = any(not result.explained or (quantized and result.relative > 0) for result in compared)
    tells = sides is not None and sides.tells
    graded = list(compared)
    if not (in_doubt or tells):
        return graded
    judged = None if sides is None or sides.graphs is None or bench.limits.stated else judge(bench, sides)
    if isinstance(judged, tuple):
        regions, judgement = judged
        graded = _behind_causes(regions, judgement, outputs, graded, HIDDEN if can_judge(bench, sides) else WITHIN)
        graded += [] if tells else [judgement.alone[value] for value in judgement.hidden]
    if in_doubt and isinstance(judged, NotRun | None):
        _, inside = bench.evaluate((), [name for name in bench.layers if name not in bench.reference.outputs])
        graded += [layer for layer in inside if not layer.verdict.passes]
    return graded


def _behind_causes(
    regions: Regions, judgement: Judgement, asked: Sequence[Asked], compared: Sequence[Comparison], reason: str
) -> list[Comparison]:
    """Return the comparisons; one that does not differ has the verdict of a region before it that does."""
    reached = {cause: regions.walks[0].behind(cause) for cause in judgement.causes}
    values = {output.title: regions.known.values.get(output.source) for output in asked}
    graded = []
    for result in compared:
        first = next((cause for cause, behind in reached.items() if values.get(result.name) in behind), None)
        if first is not None and not result.verdict.differs:
            alone = judgement.alone[first]
            note = f"{regions.known.names[first]} differs by itself, by {alone.relative:.2g} of its scale; {reason}"
            result = result.noted(note, verdict=alone.verdict)
        graded.append(result)
    return graded


def _is_as_far(bench: Bench, output: Asked, runs: tuple[Results, Results], unoptimised: Results) -> bool:
    """Return whether an output differs by no more than rounding makes of what it differs by without optimisations.

    So does a value inside that is not among the candidate's results: it is computed without optimisations only.
    """
    if output.name not in runs[1]:
        return True
    pair = bench.pair(output, *runs)
    if pair is None:
        return False
    verdict = bench.graded(pair, pair.floor.seen(pair.expected, pair.aligned(unoptimised[output.name]))).verdict
    return verdict.passes or verdict is Verdict.NOT_DETERMINISTIC


def _passes_before(bench: Bench, regions: Regions, output: Asked) -> bool:
    """Return whether what the region of an output reads passes end to end."""
    segment = regions.segment(regions.known.values[output.source])
    if segment is None or not segment.inner:
        return False
    _, before = bench.evaluate((), [regions.known.names[edge] for edge in segment.inner])
    return all(result.verdict.passes for result in before)


def _moves_as_far(bench: Bench, output: Asked, runs: tuple[Results, Results]) -> bool:
    """Return whether onnxruntime's optimisations move an output of a quantized reference itself about as far: two runs
    that rounding moves are at most two such moves apart. No moved input shows that, behind the first rounding."""
    reference, pair = bench.reference, bench.pair(output, *runs) if output.name in runs[1] else None
    if not bench.limits.quantized or pair is None or not isinstance(reference, RuntimeReference):
        return False
    again = reference.onnx.twin.run_cached(bench.feeds, [output.source])[output.source]
    moved = Floor().seen(pair.expected, output.of_reference(again)).overall
    return Floor().seen(pair.expected, pair.found).overall <= 2 * moved < math.inf
