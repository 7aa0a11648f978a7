"""Outputs that hold detections, compared as sets where they differ element by element."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.errors import VerificationError
from graphir.graph import Graph
from graphir.ops.detection import NonMaxSuppression
from graphir.verification.grading.compare import Comparison, noise_limit
from graphir.verification.grading.eight_bits import QUANTIZED_STEP
from graphir.verification.running.bench import Asked, Bench, Pair
from graphir.verification.verdict import Verdict

from .as_sets import DetectionComparison, Limits, compare_detections, limits_of
from .boxes import Detections, Floats, find_detections, selected_detections
from .cuts import cuts_of, cuts_rows, is_cut
from .near_ties import Cuts
from .pools import pool_of

Array = NDArray[Any]
# Runs that are asked about rows that are left, and the share of all rows that these may be: a fault leaves more.
FURTHER, FEW = 12, 0.02


def compare_as_sets(
    bench: Bench,
    outputs: Sequence[Asked],
    graded: Sequence[Comparison],
    results: tuple[Mapping[str, Array], Mapping[str, Array]],
    graph: Graph | None,
) -> list[Comparison]:
    """The comparisons of outputs, those that differ and hold detections compared as sets: rows of detections, the three
    of classes, scores and boxes, and the indices that a NonMaxSuppression selects.

    `results` are the reference's and the candidate's by their own names, `graph` is the reference's, or else the
    candidate's, which has the same limits or other rows: what suppression decides by is read from it. Where the sets
    agree by the limits that hold for numbers, that is the comparison; where they do not, the difference stays what it
    was, and is told in the words of the sets. What is not deterministic element by element, since rounding turns rows,
    has the verdict of the sets.
    """
    found = {one.name: one for one in graded}
    differing = {name for name, one in found.items() if not one.verdict.passes}
    if not differing or (bench.limits.stated and bench.limits.rtol is None):
        return list(graded)
    pairs = {one.source: pair for one in outputs if (pair := bench.pair(one, *results)) is not None}
    cuts = Cuts() if graph is None else cuts_of(graph)
    for group, make in (*_tables(bench, pairs, cuts, graph), *_selections(bench, pairs, cuts, graph)):
        if differing.isdisjoint(pair.asked.title for pair in group):
            continue
        with suppress(VerificationError):  # numbers that are no detections: they stay as they were compared
            result, limits = make()
            for pair in group:
                title = pair.asked.title
                if title in differing:
                    line = result.comparison(title, tuple(pair.expected.shape), limits)
                    found[title] = _settled(found[title], line)
    return [found[one.name] for one in graded]


def before_cuts(bench: Bench, graded: Sequence[Comparison], again: Sequence[Comparison]) -> Bench:
    """The bench for values inside: where detections agree as sets only, what comes behind a suppression has other rows
    too, and shows nothing element by element."""
    if all(one.verdict.passes or not other.verdict.passes for one, other in zip(graded, again, strict=True)):
        return bench
    behind: set[str] = set()
    for name, (operator, operands) in bench.candidate.structure.producers.items():
        if cuts_rows(operator) or not behind.isdisjoint(operands):
            behind.add(name)
    return replace(bench, layers={source: name for source, name in bench.layers.items() if name not in behind})


Result = tuple[DetectionComparison, Limits]
Group = tuple[list[Pair], Callable[[], Result]]


def _settled(one: Comparison, line: Comparison) -> Comparison:
    if line.verdict.passes or one.verdict is Verdict.NOT_DETERMINISTIC:
        return line
    return replace(one, note="; ".join(filter(None, (one.note, line.note))))


def _tables(bench: Bench, pairs: Mapping[str, Pair], cuts: Cuts, graph: Graph | None) -> Iterator[Group]:
    """The outputs that are a table of detections."""
    where = find_detections({source: pair.expected for source, pair in pairs.items()})
    if where is None:
        return
    group = [pairs[source] for source in (*where.names, *where.more)]
    own = [pairs[source].asked.name for source in where.names]
    if not is_cut(bench.candidate.structure.producers, own):
        return

    def make() -> Result:
        expected = where.read({pair.asked.source: pair.expected for pair in group})
        found = where.read({pair.asked.source: pair.found for pair in group})
        if expected.classes.shape != found.classes.shape and not (_all_held(expected) and _all_held(found)):
            raise VerificationError("the rows of a table with empty ones are not as many")
        runs = bench.rounding.runs([pair.asked.name for pair in group], coarse=any(pair.step for pair in group))
        more = bench.rounding.further([pair.asked.name for pair in group], FURTHER)
        again, others = (
            (where.read({pair.asked.source: pair.again(run[pair.asked.name]) for pair in group}) for run in each)
            for each in (runs, more)
        )
        pools = partial(pool_of, bench, graph, expected.batch)
        return _compared((expected, found), again, others, _floor(bench, group), cuts, pools=pools)

    yield group, make


def _selections(bench: Bench, pairs: Mapping[str, Pair], cuts: Cuts, graph: Graph | None) -> Iterator[Group]:
    """The outputs that are the indices of what a NonMaxSuppression selects, whose boxes and scores both know."""
    operators = [node.op for node in ([] if graph is None else graph.nodes)]
    kinds = {op.center_point_box for op in operators if isinstance(op, NonMaxSuppression)}
    if len(kinds) != 1:
        return
    centred = kinds.pop()
    sources = {name: source for source, name in bench.layers.items()}
    for pair in pairs.values():
        operator, operands = bench.candidate.structure.producers.get(pair.asked.name, ("", ()))
        read = {name: sources.get(name, name) for name in operands[:2]}
        if operator == "NonMaxSuppression" and all(name in sources or name in bench.feeds for name in read):
            yield [pair], _selection(bench, pair, read, cuts, centred)


def _selection(bench: Bench, pair: Pair, read: Mapping[str, str], cuts: Cuts, centred: bool) -> Callable[[], Result]:
    """How to compare what is selected; `read` are boxes and scores, the candidate's name to the reference's."""

    def rows(table: Mapping[str, Array], names: Sequence[str]) -> tuple[Floats, Floats]:
        boxes, scores = (np.asarray(table[name] if name in table else bench.feeds[name], np.float64) for name in names)
        if boxes.ndim != 3 or scores.ndim != 3:
            raise VerificationError("boxes and scores of a suppression have three axes")
        return (_corners(boxes) if centred else boxes), scores

    def make() -> Result:
        ours = [name for name in read if name in bench.candidate.structure.producers]
        theirs = [source for name, source in read.items() if name in ours]
        left = rows(dict(bench.reference.stream(bench.feeds, theirs)) if theirs else {}, list(read.values()))
        right = rows(bench.candidate.run(bench.feeds, ours) if ours else {}, list(read))
        runs = bench.rounding.runs([pair.asked.name, *ours], coarse=pair.step > 0)
        more = bench.rounding.further([pair.asked.name, *ours], FURTHER)
        again, others = (
            (selected_detections(run[pair.asked.name], *rows(run, list(read))) for run in each) for each in (runs, more)
        )
        both = selected_detections(pair.expected, *left), selected_detections(pair.found, *right)
        before = _candidates(*left), _candidates(*right)
        return _compared(both, again, others, _floor(bench, [pair]), cuts, before)

    return make


def _compared(
    both: tuple[Detections, Detections],
    again: Iterable[Detections],
    others: Iterable[Detections],
    floor: Callable[[float], float],
    cuts: Cuts,
    before: tuple[Detections, Detections] | None = None,
    pools: Callable[[], tuple[Detections, Detections] | None] = lambda: None,
) -> Result:
    """Two sets of detections compared by as few runs that rounding moved as explain what differs: limits grow with
    each of `again`. Where few rows are left then, `pools` are asked what went into the suppression, and `others`
    whether rows come and go: what rounding decides, in a first suppression too, it may decide in every other run."""
    seen: list[Detections] = []
    for one in again:
        seen.append(one)
        limits = limits_of(floor, both[1], seen)
        result = compare_detections(*both, limits=limits, cuts=cuts, before=before, again=seen)
        if result.verdict.passes:
            return result, limits
    limits = limits_of(floor, both[1], seen)
    result = compare_detections(*both, limits=limits, cuts=cuts, before=before, again=seen)
    if result.verdict.passes or len(result.differences) > FEW * (result.count + result.found):
        return result, limits
    pool = pools()
    later: Iterable[Sequence[Detections]] = ([one] for one in others)
    for more in later if pool is None else chain([()], later):
        seen += more
        result = compare_detections(*both, limits=limits, cuts=cuts, before=before, again=seen, pool=pool)
        if result.verdict.passes:
            break
    return result, limits


def _candidates(boxes: Floats, scores: Floats) -> Detections:
    """What goes into a NonMaxSuppression: a row for each class and box."""
    batch, classes, count = scores.shape
    numbers = np.broadcast_to(np.arange(classes, dtype=np.float64)[:, None], (batch, classes, count))
    flat = (batch, classes * count)
    return Detections(numbers.reshape(flat), scores.reshape(flat), np.tile(boxes, (1, classes, 1)))


def _corners(boxes: Floats) -> Floats:
    middle, size = boxes[..., :2], boxes[..., 2:]
    found: Floats = np.concatenate([middle - size / 2, middle + size / 2], axis=-1)
    return found


def _floor(bench: Bench, group: Sequence[Pair]) -> Callable[[float], float]:
    """What is allowed for how far rounding moves detections, as for any other value."""
    step = max(pair.step for pair in group)

    def floor(change: float) -> float:
        if bench.limits.rtol is not None:
            return bench.limits.rtol
        least = QUANTIZED_STEP if bench.limits.quantized else 0.0
        return max(noise_limit(change, step, elsewhere=bench.limits.elsewhere), least)

    return floor


def _all_held(rows: Detections) -> bool:
    return bool((rows.classes >= 0).all())


__all__ = ["before_cuts", "compare_as_sets"]
