"""Parts that differ in the graphs, run on drawn numbers, where all outputs agree: a difference that no number showed.

A constant that is multiplied with zero, a threshold between two scores, the last index of equal numbers: the inputs of
a model need not lead to what shows them. So both models are cut at the values that both know, and each part of which a
node differs is fed with other numbers: of the same range drawn evenly, some that are often equal, larger ones (of both
signs where each node stands for one of the other model), and those between two constants that differ. Parts that give
the same for all of them are another way to write the same.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from graphir.analysis.changes import node_names, row_text
from graphir.analysis.channels import channel_moves
from graphir.analysis.diff import Row
from graphir.analysis.ranges import range_of
from graphir.arrays import Array
from graphir.errors import GraphirError
from graphir.graph import Value
from graphir.inputs.roles import table_of
from graphir.inputs.sets import Made
from graphir.ops.traits import Rounding
from graphir.safety.memory import return_memory_of
from graphir.structure.extract import uses_of
from graphir.verification.numbers.compare import Comparison, says_nothing
from graphir.verification.pairs.sides import Sides
from graphir.verification.running.bench import Bench
from graphir.verification.running.candidate import OnnxCandidate
from graphir.verification.running.references import RuntimeReference

from .decisions import Decisions, Reached, is_decision
from .judge import Judgement, Regions, judge
from .parts import CutCandidate, NotRun, Segment, as_in_graph
from .ways import HERE, NOTHING, OWN, Way, ways_for

# Parts that differ on numbers which do not belong together are begun farther back, so often and up to so many nodes.
ROUNDS, MOST_NODES = 8, 128
# Sentences that people read: further parts that differ say no more about the verdict.
MOST_HIDDEN = 8
Result = Comparison | NotRun | None


class Tried(NamedTuple):
    """A sentence for each part that differs by itself, which is not proven then, and notes where not all were tried."""

    unproven: list[str]
    notes: list[str]


@dataclass(eq=False)
class _Trial:
    """Parts with their rows of the diff, the edges whose numbers may be others, the ways to draw these, and by way what
    came of it: nothing where all of the reference's results are infinite or NaN. `reached` are the sides of decisions
    that runs with equal results led to."""

    segment: Segment
    rows: Sequence[Row]
    free: Sequence[Value]
    ways: Sequence[Way]
    results: list[tuple[Way, Result]] = field(default_factory=list)
    reached: set[Reached] = field(default_factory=set)

    @property
    def is_single(self) -> bool:
        """Whether one node stands for one."""
        return all(len(nodes) == 1 for nodes in self.segment.nodes)

    @property
    def refusal(self) -> NotRun | None:
        """Why nothing could be run, None where something could."""
        refused = [result for _, result in self.results if isinstance(result, NotRun)]
        return refused[0] if refused and len(refused) == len(self.results) else None

    @property
    def differs(self) -> Way | None:
        """The first way to draw numbers for which both parts give other results."""
        return next((way for way, result in self.results if isinstance(result, Comparison) and way.shows(result)), None)


Job = tuple[_Trial, Way]


def try_changes(bench: Bench, sides: Sides, seconds: float, sets: Sequence[Made]) -> Tried:
    """Run what differs between two graphs whose outputs agree, for so many seconds of this process' time.

    A node that differs and decides something is tested only if these runs, or the `sets` of inputs, led to both sides
    of its decision, as far as ranges leave both open.
    """
    judged = judge(bench, sides)
    if isinstance(judged, NotRun):
        return Tried([f"the parts of both models, which could not be run by themselves: {judged.reason}"], [])
    with ExitStack() as stack:
        if isinstance(bench.reference, RuntimeReference):
            itself = bench.reference.onnx
        else:
            itself = stack.enter_context(OnnxCandidate(sides.both[0], optimize=False, memory=bench.candidate.memory))
        trials = _Trials(bench, sides, *judged, itself)
        return trials.run(seconds, sets)


class _Trials:
    def __init__(
        self, bench: Bench, sides: Sides, regions: Regions, judgement: Judgement, reference: OnnxCandidate
    ) -> None:
        self._bench, self._sides, self._regions, self._judgement = bench, sides, regions, judgement
        self._reference = CutCandidate(reference, sides.both[0], bench.feeds)
        made = reference.structure.producers
        known = regions.known.names
        self._named = {value: name if name in made else value.name for value, name in known.items()}
        self._absent = {value for value, name in self._named.items() if name not in made}
        # Of what differs on the reference's own numbers the outputs were judged, by what they are, or it is told.
        self._passed_over = {*self._absent, *judgement.hidden, *judgement.causes}
        self._decisions = [
            Decisions(reference, self._reference, sides.both[0], sides),
            Decisions(bench.candidate, regions.cut, sides.both[1], sides),
        ]
        self._fixed: set[Value] = set()
        for node in sides.both[0].nodes:
            read = [value for value in uses_of(node) if value.tensor is None]  # by its bodies too
            if node.op.rounding is Rounding.SIZES or self._fixed.issuperset(read):
                self._fixed |= set(node.outputs)

    def run(self, seconds: float, sets: Sequence[Made]) -> Tried:
        """Try all parts, the simplest first, and ask of decisions that these did not lead to both sides of."""
        until = time.process_time() + seconds
        trials = sorted(self._trials(self._regions.ends), key=lambda trial: (not trial.is_single, trial.segment.size))
        self._run(trials, until)
        done = [trial for trial in trials if len(trial.results) == len(trial.ways)]
        settled = self._settled([trial for trial in trials if trial.results])
        self._reference.release()
        self._regions.cut.release()
        told = {id(row) for trial in settled if self._sentence(trial) for row in trial.rows}
        reached = {side for trial in settled if not self._sentence(trial) for side in trial.reached}
        said = dict.fromkeys([*self._hidden(), *filter(None, map(self._sentence, settled))])
        for decisions in self._decisions:
            open_rows = {id(row): (row, why) for row, why in decisions.open_rows(sets, reached) if id(row) not in told}
            undecided = [f"{self._names([row])}, {why}" for row, why in open_rows.values()]
            said |= dict.fromkeys(undecided[:MOST_HIDDEN])
        notes = [
            f"{self._names([row])}: {sight.way} cannot occur, by the range of what it reads"
            for decisions in self._decisions for row, sight in decisions.impossible
        ]  # fmt: skip
        left = f"parts that differ: {len(trials):,}, run by themselves: {len(done):,}"
        return Tried(list(said), [*notes[:MOST_HIDDEN], *([left] if len(done) < len(trials) else [])])

    def _hidden(self) -> Iterator[str]:
        """Say which parts differ by themselves on the reference's own numbers, and show in nothing behind them."""
        for value in self._judgement.hidden[:MOST_HIDDEN]:
            segment = self._regions.segment(value)
            named = "" if segment is None else self._names(self._rows(segment))
            named = named or self._regions.known.names[value]
            yield f"{named}, which differs and shows in nothing behind it {HERE}"

    def _trials(self, values: Sequence[Value]) -> list[_Trial]:
        """Return the parts that end with these values and of which a node differs."""
        found: dict[Value, tuple[Segment, list[Row]]] = {}
        for value in () if not self._sides.rows else values:
            segment = self._segment(value)
            rows = [] if segment is None else self._rows(segment)
            if segment is not None and rows:
                found[value] = segment, rows
        return [trial for part in self._regions.parts(found) for trial in self._with_ways([found[one] for one in part])]

    def _segment(self, value: Value, refused: Collection[Value] = ()) -> Segment | None:
        return None if value in self._passed_over else self._regions.segment(value, self._absent.union(refused))

    def _with_ways(self, segments: Sequence[tuple[Segment, Sequence[Row]]]) -> list[_Trial]:
        """Parts with the ways to draw numbers for them."""
        arrays = self._regions.arrays(dict.fromkeys(edge for segment, _ in segments for edge in segment.edges))
        trials = []
        for segment, rows in segments:
            free = [edge for edge in segment.edges if self._is_free(edge, arrays[edge])]
            trials.append(_Trial(segment, rows, free, ways_for(segment, rows, free) if free else [OWN]))
        return_memory_of(arrays.values())
        return trials

    def _is_free(self, edge: Value, array: Array) -> bool:
        """Return whether the numbers of an edge may be others: no sizes, nor what is made of them or of
        parameters alone, no texts, and nothing of which it is not known where the candidate has the channels."""
        if array.dtype.kind not in "fiubV" or not array.size:
            return False
        # Where moving the channels changes nothing no numbers tell where they are.
        moves = channel_moves(array.ndim) if array.ndim > 2 and edge.producer is not None else ()
        moved = (array.transpose(order) for order in moves)
        is_symmetric = any(array.shape == other.shape and bool(np.array_equal(array, other)) for other in moved)
        return edge.producer is None or not (edge in self._fixed or is_symmetric)

    def _run(self, trials: Sequence[_Trial], until: float = math.inf) -> None:
        """Run parts in all of their ways: in each pass those that want the same of the edges that they share."""
        by_value = {trial.segment.value: trial for trial in trials}
        for place, values in enumerate(self._regions.parts(by_value)):
            pending = [(by_value[value], way) for value in values for way in by_value[value].ways]
            for turn in range(len(pending)):
                if not pending or ((place or turn) and time.process_time() > until):
                    break
                taken: dict[Value, Way] = {}
                jobs: dict[_Trial, Way] = {}
                later: list[Job] = []
                for trial, way in pending:
                    if trial in jobs or any(taken.get(edge, way) != way for edge in trial.free):
                        later.append((trial, way))
                    else:
                        jobs[trial] = way
                        taken |= dict.fromkeys(trial.free, way)
                self._compare(list(jobs.items()), self._drawn(jobs, taken, turn))
                pending = later

    def _drawn(self, trials: Mapping[_Trial, Way], taken: Mapping[Value, Way], turn: int) -> dict[Value, Array]:
        """Return the numbers at the edges of parts."""
        arrays = self._regions.arrays(dict.fromkeys(edge for trial in trials for edge in trial.segment.edges))
        generator = np.random.Generator(np.random.PCG64(turn))
        drawn = {}
        for edge, way in taken.items():
            numbers, (low, high) = way.numbers(generator, arrays[edge]), range_of(edge)
            most = float(np.finfo(arrays[edge].dtype).max) if arrays[edge].dtype.kind == "f" else math.inf
            low, high = max(low, -most), min(high, most)
            if way.alone not in (None, edge) and arrays[edge].dtype.kind == "f":
                numbers = numbers * NOTHING
            table = table_of(edge)
            if table is not None and not table.guarded:  # no input leads outside: the reference refuses it
                low, high = max(low, table.least), min(high, table.high)
            numbers = np.maximum(numbers, low) if np.isfinite(low) else numbers
            numbers = np.minimum(numbers, high) if np.isfinite(high) else numbers
            drawn[edge] = numbers.astype(arrays[edge].dtype)
        return arrays | drawn

    def _compare(self, jobs: Sequence[Job], arrays: Mapping[Value, Array]) -> None:
        """Run parts together; where that is refused, as an index beyond its table is, one half and the other."""
        try:
            results = self._compared([trial for trial, _ in jobs], arrays)
        except GraphirError as error:
            if len(jobs) == 1:
                ((trial, way),) = jobs
                trial.results.append((way, NotRun.after(error)))
                return
            middle = len(jobs) // 2
            self._compare(jobs[:middle], arrays)
            self._compare(jobs[middle:], arrays)
            return
        for (trial, way), result in zip(jobs, results, strict=True):
            trial.results.append((way, result))

    def _compared(self, trials: Sequence[_Trial], arrays: Mapping[Value, Array]) -> list[Result]:
        """Both results of each part. Raises GraphirError where one does not run."""
        edges = dict.fromkeys(edge for trial in trials for edge in trial.segment.edges)
        feeds = {**self._bench.feeds, **{edge.name: arrays[edge] for edge in edges if edge.producer is None}}
        inner = [edge for edge in edges if edge.producer is not None]
        ours = {self._named[edge]: as_in_graph(arrays[edge], edge) for edge in inner}
        theirs = {self._regions.name(edge): self._regions.laid(edge, arrays[edge]) for edge in inner}
        ends = [trial.segment.value for trial in trials]
        expected = self._reference.run(ours, list(dict.fromkeys(self._named[end] for end in ends)), feeds)
        names = list(dict.fromkeys(map(self._regions.name, ends)))
        cut = self._regions.cut
        found = cut.run(theirs, names, feeds)
        moved: dict[str, Array] | None = None
        results: list[Result] = []
        for trial, end in zip(trials, ends, strict=True):
            theirs_alone = found[self._regions.name(end)]
            array = expected[self._named[end]]
            result = self._graded(trial, array, theirs_alone, None)
            # Rounding is no excuse where one node decides about whole numbers, or no node rounds.
            is_exact = bool(trial.rows) and trial.is_single and array.dtype.kind in "iub"
            is_exact = is_exact or trial.segment.is_exact
            if isinstance(result, Comparison) and not result.verdict.passes and not is_exact:
                moved = cut.run_moved(theirs, names, feeds=feeds) if moved is None else moved
                if moved:
                    result = self._graded(trial, array, theirs_alone, moved[self._regions.name(end)])
            if isinstance(result, Comparison) and result.verdict.passes:
                for decisions, nodes in zip(self._decisions, trial.segment.nodes, strict=True):
                    trial.reached |= decisions.reached(nodes)
            results.append(result)
        return_memory_of([*arrays.values(), *expected.values(), *found.values()])
        return results

    def _graded(self, trial: _Trial, expected: Array, found: Array, moved: Array | None) -> Result:
        if says_nothing(expected):
            return None
        segment = trial.segment
        name, limits = self._regions.known.names[segment.value], self._bench.limits
        # What stands between roundings to 8 bits has no step of 8 bits of its own.
        if not any(node.op.rounding is Rounding.QUANTIZES for nodes in segment.nodes for node in nodes):
            limits = replace(limits, quantized=False)
        return segment.compared(name, (expected, found), limits, moved)

    def _settled(self, trials: Sequence[_Trial]) -> list[_Trial]:
        """Return the trials. Numbers of one that differs may not belong together, as those of a value and of one
        that is made from it: it is begun before both. One that refuses all drawn numbers runs on the given ones."""
        settled = [trial for trial in trials if trial.differs is None and trial.refusal is None]
        refused: set[Value] = set()
        for trial in trials:
            if trial.refusal is not None:
                settled.append(replace(trial, free=(), ways=[OWN], results=[]))
                self._run(settled[-1:])
        pending = [trial for trial in trials if trial.differs is not None]
        for _ in range(ROUNDS):
            together = {trial: self._dependent(trial.segment) for trial in pending}
            refused |= {edge for dependent in together.values() for edge in dependent}
            wider: list[_Trial] = []
            for trial, dependent in together.items():
                segment = self._segment(trial.segment.value, refused) if dependent else None
                if segment is None or segment.size > MOST_NODES:
                    settled.append(trial)
                else:
                    wider += self._with_ways([(segment, trial.rows)])
            self._run(wider)
            settled += [trial for trial in wider if trial.differs is None]
            pending = [trial for trial in wider if trial.differs is not None]
            if not pending:
                break
        return [*settled, *pending]

    def _dependent(self, segment: Segment) -> list[Value]:
        """Return the edges that are made from other ones."""
        return [
            edge for edge in segment.inner
            if not segment.edges.keys().isdisjoint(self._regions.walks[0].region(edge, segment.edges.__contains__)[0])
        ]  # fmt: skip

    def _rows(self, segment: Segment) -> list[Row]:
        return self._sides.rows_of([*segment.nodes[0], *segment.nodes[1]])

    def _sentence(self, trial: _Trial) -> str:
        """Return what is not proven of a part, "" if it gives the same results by itself."""
        if trial.refusal is not None:
            return f"{self._names(trial.rows)}, which could not be run by itself: {trial.refusal.reason}"
        way = trial.differs
        if way is None:
            return ""
        return f"{self._names(trial.rows)}, which gives other results by itself {way.where}"

    def _names(self, rows: Sequence[Row]) -> str:
        pairs = self._sides.partners
        first = sorted(rows, key=lambda row: not (is_decision(row.left) or is_decision(row.right)))
        said = [f"{node_names(row)}: {row_text(row, pairs)}" for row in first[:2]]
        return "; ".join(said) + (f" and {len(rows) - 2} more changes" if len(rows) > 2 else "")
