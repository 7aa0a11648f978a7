"""Changed nodes run by themselves, where all outputs agree: a difference of two graphs that no number showed.

A constant that is multiplied with zero, a threshold between two scores, the last index of equal numbers: the inputs of
a model need not lead to what shows them. So each part that differs is cut out of both models and run on the reference's
own numbers, and on others: of the same range drawn evenly, some that are often equal, larger ones (of both signs where
each node stands for one of the other model), and those between two constants that differ. Parts that give the same for
all of them are another way to write the same.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.analysis.diff import Row, Status
from graphir.errors import GraphirError
from graphir.graph import Node, Value
from graphir.ops.shape import Shape
from graphir.verification.grading.compare import Comparison
from graphir.verification.inputs.roles import largest_threshold
from graphir.verification.pairs.changes import row_text
from graphir.verification.pairs.sides import Sides
from graphir.verification.regions.judge import judge
from graphir.verification.running.not_run import NotRun
from graphir.verification.running.slices import return_memory_of

from .known import Bench, Known, room_for
from .segments import Segment, Segments
from .side_by_side import SideBySide
from .walks import Walks
from .ways import between, beyond, constants, evenly, farther, in_levels, is_bounded, is_real, steep

Array = NDArray[Any]
# Parts that are cut out, and seconds of this process for all of them; what is simplest comes first.
MOST_TRIALS = 100
AT_ONCE = 10
# What differs is looked at by so many nodes: a run compares the values around all of them.
ROWS_AT_ONCE = 100
# Nodes of one part: a part that reads values of which one is made from another is cut further back, up to this size.
MOST_NODES = 64
ROUNDS = 8
MOST_HIDDEN = 8
# How far behind a change both models agree again, counted in values that both know.
STEPS_BEHIND = 12
# Of few numbers behind a product, one draw in four or so has none beyond a threshold.
DRAWS_BEYOND = 4
HERE = "on these very inputs"
STEEPLY = "for numbers so large that e to the power of them overflows"
ELSEWHERE = "for numbers that these inputs did not lead to"


def try_changes(bench: Bench, sides: Sides, seconds: float) -> tuple[list[str], list[str]]:
    """What is not proven of two models that agree, a sentence for each part that differs by itself, and notes: how much
    of it was tried in `seconds` of this process' time."""
    if sides.graphs is None or sides.difference.is_equal:
        return [], []
    return _Trials(bench, sides).run(seconds)


def chosen_alike(bench: Bench, sides: Sides, names: Sequence[str]) -> set[str]:
    """Those of the reference's outputs, indices or masks, that both models choose alike: the parts behind the last
    values that agree give the same for numbers of their range, and not always the same."""
    if sides.graphs is None or not names:
        return set()
    trials = _Trials(bench, sides)
    return {name for name in names if trials.chooses_alike(name)}


@dataclass(frozen=True)
class _Trial:
    """A part that differs, and its rows of the diff."""

    segment: Segment
    rows: Sequence[Row]

    @property
    def is_single(self) -> bool:
        """Whether one node stands for one."""
        return all(len(nodes) == 1 for nodes in self.segment.nodes)

    @property
    def is_alike(self) -> bool:
        """Whether each node stands for one of the other model."""
        sizes = {len(nodes) for nodes in self.segment.nodes}
        return len(sizes) == 1 and all(row.status is Status.CHANGED for row in self.rows)

    @property
    def rank(self) -> tuple[bool, int]:
        """What is tried first: one node for another, and small parts."""
        return not self.is_single, sum(map(len, self.segment.nodes))


class _Trials:
    def __init__(self, bench: Bench, sides: Sides) -> None:
        assert sides.graphs is not None
        self.sides, self.bench = sides, bench
        self.known = Known(bench, sides.graphs, (), room_for(bench))
        self.walks = Walks(sides.graphs[0]), Walks(sides.graphs[1])
        self.segments = Segments(self.known, self.walks, bench, sides)
        self._until = math.inf

    def run(self, seconds: float) -> tuple[list[str], list[str]]:
        self._until = time.process_time() + seconds
        rows = self._rows_by_weight()
        trials, looked = self._trials(rows)
        said = dict.fromkeys(self._hidden())
        done = 0
        for start in range(0, min(len(trials), MOST_TRIALS), AT_ONCE):
            if start and self._is_late():
                break
            part = trials[start : min(start + AT_ONCE, MOST_TRIALS)]
            arrays = self.segments.arrays([trial.segment for trial in part])
            return_memory_of(arrays.values())
            for trial in part:
                found = self._tried(trial, arrays)
                if found:
                    said[found] = None
            done += len(part)
        if done == len(trials) and looked == len(rows):
            return list(said), []
        found = "" if looked == len(rows) else f" at {looked:,} of {len(rows):,} nodes"
        return list(said), [f"parts that differ{found}: {len(trials):,}, run by themselves: {done:,}"]

    def _hidden(self) -> Iterator[str]:
        """Say which parts differ by themselves on the reference's own numbers, and show in nothing behind them."""
        try:
            regions, judgement = judge(self.bench, self.sides)
        except GraphirError as error:
            yield f"the parts of both models, which could not be run by themselves: {NotRun.after(error).reason}"
            return
        for value in judgement.hidden[:MOST_HIDDEN]:
            segment = self.segments.cut(value, regions.is_edge)
            rows = [] if segment is None else self._rows_of(segment)
            yield f"{self._named(rows) or self.known.names[value]}, which differs and shows in nothing behind it {HERE}"

    def _is_late(self) -> bool:
        return time.process_time() > self._until

    def chooses_alike(self, name: str) -> bool:
        """Whether the parts that choose what an output holds do so alike."""
        value = self.known.values.get(name)
        segment = None if value is None else self._cut(value)
        if segment is None or not any(is_real(edge) for edge in segment.edges if edge.producer is not None):
            return False
        results: list[Comparison] = []
        shown: set[bytes] = set()
        try:
            arrays = self.segments.arrays([segment])
            with SideBySide(self.segments, segment, self.bench, arrays) as pair:
                for _, fed in self._variants(_Trial(segment, ()), arrays):
                    found = pair.compared(fed, exactly=False)
                    return_memory_of([*fed.values(), pair.last])
                    results += [found] if isinstance(found, Comparison) else []
                    shown |= {pair.last.tobytes()}
        except GraphirError:
            return False
        return len(results) > 1 and all(found.verdict.passes for found in results) and len(shown) > 1

    def _rows_by_weight(self) -> list[tuple[Row, Node]]:
        """What differs, with a node that it is about: another operator or attribute first, which numbers show less than
        other weights, and what one model alone has last."""

        def weight(item: tuple[Row, Node]) -> int:
            row = item[0]
            only_weights = all(change.kind == "weight" for change in row.changes)
            return 2 if row.status is not Status.CHANGED else int(only_weights)

        rows: dict[int, tuple[Row, Node]] = {}
        for node, row in self.sides.rows.items():
            rows.setdefault(id(row), (row, node))
        return sorted(rows.values(), key=weight)

    def _trials(self, rows: Sequence[tuple[Row, Node]]) -> tuple[list[_Trial], int]:
        """A part for every row that differs, where both models agree before and behind it, the simplest first; and at
        how many rows there was time to look for one."""
        found: dict[int, _Trial] = {}
        covered: set[int] = set()
        for start in range(0, len(rows), ROWS_AT_ONCE):
            part = {id(row): (row, self._nearest(node)) for row, node in rows[start : start + ROWS_AT_ONCE]}
            self._compare([value for _, near in part.values() for value in near])
            for place, (row, near) in enumerate(part.values()):
                if (start or place) and (self._is_late() or len(found) >= MOST_TRIALS):
                    return sorted(found.values(), key=lambda trial: trial.rank), start + place
                if id(row) not in covered:
                    covered |= self._take(row, near, found)
        return sorted(found.values(), key=lambda trial: trial.rank), len(rows)

    def _take(self, row: Row, near: Sequence[Value], found: dict[int, _Trial]) -> set[int]:
        """Take the parts around a row into what was `found`; the rows that they cover."""
        covered: set[int] = set()
        agreeing = self._agreeing(near)
        for value in agreeing:
            segment = self._cut(value)
            if segment is not None:
                rows = self._rows_of(segment)
                covered |= {id(held) for held in rows}
                found.setdefault(id(segment.value), _Trial(segment, rows))
        return covered

    def _compare(self, values: Sequence[Value]) -> None:
        """Compare values with those before them, and those behind what differs, all that are equally far in one run."""
        known = self.known.names.__contains__
        before = [held for value in values for held in self.walks[0].nearest(value, known, behind=False)]
        values = [*values, *before]
        for _ in range(STEPS_BEHIND):
            self.known.ask(values)
            values = [held for value in values for held in self._behind(value)]
            if not values or self._is_late():
                return

    def _behind(self, value: Value) -> list[Value]:
        """The next values behind one at which the models differ."""
        known = self.known.names.__contains__
        return self.walks[0].nearest(value, known, behind=True) if self.known.differs(value) else []

    def _nearest(self, node: Node) -> list[Value]:
        """The values nearest behind a node that both models know, by the first one's."""
        side = 0 if any(made in self.walks[0].place for made in node.outputs) else 1
        back = {other: value for value, other in self.known.pairs.items()}
        table: Mapping[Value, Any] = self.known.names if side == 0 else back
        near: list[Value] = []
        for made in node.outputs:
            near += [made] if made in table else self.walks[side].nearest(made, table.__contains__, behind=True)
        return list(dict.fromkeys(value if side == 0 else back[value] for value in near))

    def _agreeing(self, values: Sequence[Value]) -> list[Value]:
        """Those of the values at which both models agree, and where they agree again behind the others."""
        agreeing: dict[Value, None] = {}
        for _ in range(STEPS_BEHIND):
            self._ask(values)
            agreeing |= dict.fromkeys(value for value in values if self.known.agrees(value))
            values = [held for value in values for held in self._behind(value)]
            if not values:
                break
        return list(agreeing)

    def _ask(self, values: Iterable[Value]) -> None:
        """Compare those that have not been, while there is time."""
        if not self._is_late():
            self.known.ask(values)

    def _cut(self, value: Value) -> Segment | None:
        """The part behind values at which both models agree, none of which is made from another one of them."""
        refused: set[Value] = {value}
        best: Segment | None = None
        for _ in range(ROUNDS):
            segment = self._agreeing_cut(value, refused)
            if segment is None or (best is not None and sum(map(len, segment.nodes)) > MOST_NODES):
                return best
            best = segment
            edges = [edge for edge in segment.edges if edge.producer is not None]
            dependent = {
                edge
                for edge in edges
                if not self.walks[0].before(edge).isdisjoint(other for other in edges if other is not edge)
            }
            if not dependent:
                return best
            refused |= dependent
        return best

    def _agreeing_cut(self, value: Value, refused: set[Value]) -> Segment | None:
        for _ in range(ROUNDS):
            unknown: dict[Value, None] = {}

            def trusted(held: Value, unknown: dict[Value, None] = unknown) -> bool:
                if held in refused:
                    return False
                if held not in self.known.compared:
                    unknown[held] = None
                    return True
                return self.known.agrees(held)

            segment = self.segments.cut(value, trusted)
            if not unknown:
                return segment
            if self._is_late():
                return None
            self.known.ask(unknown)
        return None

    def _rows_of(self, segment: Segment) -> list[Row]:
        rows = self.sides.rows
        nodes = [*segment.nodes[0], *segment.nodes[1]]
        return list({id(rows[node]): rows[node] for node in nodes if node in rows}.values())

    def _tried(self, trial: _Trial, arrays: Mapping[Value, Array]) -> str:
        """Return why a part is not proven to compute the same, "" if it gives the same results by itself.

        A part that cannot be run on the reference's own numbers is not proven. Other numbers it may refuse, as an index
        beyond its table.
        """
        segment = trial.segment
        if not trial.rows:
            return ""
        try:
            with SideBySide(self.segments, segment, self.bench, arrays) as pair:
                for where, fed in self._variants(trial, arrays):
                    result = pair.compared(fed, exactly=trial.is_single)
                    return_memory_of([*fed.values(), pair.last])
                    if isinstance(result, NotRun) and where == HERE:
                        return self._not_run(trial, result)
                    if isinstance(result, Comparison) and self._shows(result, where):
                        return self._sentence(trial, where)
        except GraphirError as error:
            return self._not_run(trial, NotRun.after(error))
        return ""

    @staticmethod
    def _shows(result: Comparison, where: str) -> bool:
        return math.isinf(result.relative) if where == STEEPLY else result.verdict.differs

    def _not_run(self, trial: _Trial, result: NotRun) -> str:
        return f"{self._named(trial.rows)}, which could not be run by itself: {result.reason}"

    def _variants(
        self, trial: _Trial, arrays: Mapping[Value, Array]
    ) -> Iterator[tuple[str, dict[Value, Array]]]:
        """What a part is fed with: the reference's numbers, others of their range, and some beyond it."""
        edges = list(trial.segment.edges)
        own = {edge: arrays[edge] for edge in edges}
        yield HERE, own
        free = [edge for edge in edges if self._is_free(edge, own[edge])]
        if not free:
            return
        ways: list[Callable[[np.random.Generator, Array], Array]] = [evenly, in_levels]
        if trial.is_alike:
            ways += [beyond, *(partial(between, ends) for row in trial.rows for ends in constants(row))]
        elif not any(is_bounded(edge) for edge in free):
            ways.append(farther)
            threshold = largest_threshold(node for nodes in trial.segment.nodes for node in nodes)
            ways += [partial(between, (-2 * threshold, 2 * threshold))] * DRAWS_BEYOND if threshold else []
        for turn, way in enumerate(ways):
            generator = np.random.Generator(np.random.PCG64(turn))
            yield ELSEWHERE, own | {edge: way(generator, own[edge]).astype(own[edge].dtype) for edge in free}
        if self._raises_alone(trial.segment) and not any(is_bounded(edge) for edge in free):
            generator = np.random.Generator(np.random.PCG64(len(ways)))
            yield STEEPLY, own | {edge: steep(generator, own[edge]).astype(own[edge].dtype) for edge in free}

    @staticmethod
    def _raises_alone(segment: Segment) -> bool:
        """Whether one model alone takes e to the power of something: by parts, which may overflow where one operator
        that does so inside takes the largest off first."""
        ours, theirs = (any(node.op.name == "Exp" for node in nodes) for nodes in segment.nodes)
        return ours != theirs

    def _is_free(self, edge: Value, array: Array) -> bool:
        """Whether the numbers of an edge may be others: no sizes, nor what is made of them, no texts, and nothing of
        which it is not known where the candidate has the channels."""
        if array.dtype.kind not in "fiubV" or not array.size or edge in self.segments.symmetric:
            return False
        return edge.producer is None or not any(
            value.producer is not None and isinstance(value.producer.op, Shape) for value in self.walks[0].before(edge)
        )

    def _sentence(self, trial: _Trial, where: str) -> str:
        return f"{self._named(trial.rows)}, which gives other results by itself {where}"

    def _named(self, rows: Sequence[Row]) -> str:
        pairs = self.sides.partners
        said = []
        for row in rows[:2]:
            names = dict.fromkeys(node.name for node in (row.left, row.right) if node is not None)
            said.append(f"{' / '.join(names)}: {row_text(row, pairs)}")
        return "; ".join(said) + (f" and {len(rows) - 2} more changes" if len(rows) > 2 else "")


__all__ = ["chosen_alike", "try_changes"]
