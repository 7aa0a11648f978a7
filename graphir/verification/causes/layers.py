"""Where two models part: the layers at which differences begin, what differs there, and what follows from it."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from graphir.analysis.changes import node_names, row_text, spoken
from graphir.analysis.diff import Row
from graphir.errors import VerificationError
from graphir.graph import Node, Value
from graphir.report.text import plural
from graphir.verification.numbers.compare import Comparison
from graphir.verification.pairs.sides import Sides
from graphir.verification.regions.judge import Judgement, Regions, judge
from graphir.verification.regions.known import known_values
from graphir.verification.regions.parts import NotRun, Segment, Walks
from graphir.verification.report import Cause, VerificationReport
from graphir.verification.running.bench import Bench, before_head

# What fits into a line that people read, and how many names a report holds at most.
CHANGES_NAMED = 3
FOLLOWING_NAMED = 1000


def explain(
    report: VerificationReport,
    bench: Bench,
    sides: Sides,
    outputs: Sequence[str],
    *,
    reproduce: str | os.PathLike[str] | None = None,
) -> None:
    """Fill the report's causes and rewrites; with `reproduce`, write the parts around the first cause to that folder.

    `outputs` are the reference's outputs that have a counterpart. Where a graph cannot be had (`sides` says why) the
    first layer that differs is named, of those whose names both models know.
    """
    if sides.graphs is None:
        report.causes += _first_by_name(report, bench, outputs)
        return
    inquiry = _Inquiry(report, bench, sides)
    inquiry.run()
    if reproduce is not None:
        inquiry.reproduce(reproduce)


def _first_by_name(report: VerificationReport, bench: Bench, outputs: Sequence[str]) -> Iterator[Cause]:
    """Yield the first layer that differs before an output that does, in the order of computation."""
    known = {found.name: found for found in (*report.layers, *report.outputs)}
    target = next((name for name in outputs if name in known and not known[name].verdict.passes), None)
    if target is None:
        return
    order = [name for name in bench.reference.values() if name in bench.layers or name == target]
    before = order[: order.index(target)] if target in order else order
    known |= {found.name: found for found in bench.evaluate((), [name for name in before if name not in known])[1]}
    names = dict.fromkeys([*order, target])
    first, *following = [name for name in names if name in known and not known[name].verdict.passes]
    sides = (bench.inside, first), (bench.candidate.structure, bench.layers.get(first, ""))
    kinds = [made.producers.get(name, ("",))[0] for made, name in sides if made is not None]
    said = " / ".join(dict.fromkeys(filter(None, kinds))) or "a layer"
    yield Cause(first, f"{said}: the first that differs of those that both models know", tuple(following))


class _Inquiry:
    """What is known of one comparison."""

    def __init__(self, report: VerificationReport, bench: Bench, sides: Sides) -> None:
        self.report, self.sides, self.bench = report, sides, bench
        titles = {before_head(source): source for source in bench.layers}
        ends = {titles.get(found.name, found.name): found for found in report.outputs}
        self.known = known_values(bench, sides)
        compared = {found.name: found for found in report.layers} | ends
        differing = {name for name, found in compared.items() if not found.verdict.passes}
        self.differing = {value for value, name in self.known.names.items() if name in differing}
        self.walks = Walks(sides.both[0]), Walks(sides.both[1])
        self.ends = self.differing & {self.known.values.get(name) for name in ends}
        self.regions: Regions | None = None
        self.found: dict[Value, Segment | None] = {}
        self.alone: dict[Value, Comparison] = {}

    def run(self) -> None:
        """Name the parts that differ by themselves, and what is only written otherwise."""
        judged, judgement = judge(self.bench, self.sides), Judgement({})
        if isinstance(judged, NotRun):
            self.report.notes.append(f"parts of the candidate could not be run by themselves: {judged.reason}")
        else:
            self.regions, judgement = judged
        for value, again in judgement.rewritten.items():
            if value in self.differing:
                more = f" and {plural(len(again) - 1, 'other value')}" if len(again) > 1 else ""
                self.report.rewritten[self.known.names[value]] = f"agrees again at {self.known.names[again[0]]}{more}"
        # An output that differs behind no part which does so by itself is named too: its numbers part on their way.
        behind: set[Value] = set()
        for value in self.walks[0].ordered([*judgement.causes, *self.ends]):
            if value not in behind or value in judgement.causes:
                self.found[value] = None if self.regions is None else self.regions.segment(value)
                behind |= self.walks[0].behind(value)
        self.alone = judgement.alone
        self.report.causes += [self._cause(value, segment) for value, segment in self.found.items()]

    def reproduce(self, folder: str | os.PathLike[str]) -> None:
        """Write the parts of both models around the first cause that shows itself in them; a note says where, or why
        none does."""
        from .minimal import write_minimal

        reasons = ["nothing differs"] if not self.found else []
        for (value, segment), cause in zip(self.found.items(), self.report.causes, strict=True):
            if segment is None:
                reasons.append(f"{cause.name} is made of values that only one of the models has")
                continue
            compared = self.alone.get(value)
            limit = compared.limit if compared is not None and compared.limit < math.inf else 0.0
            assert self.regions is not None
            try:
                fed = self.regions.fed(segment)
                write_minimal(folder, segment, fed, cause.what, limit, self.bench.candidate.providers)
            except VerificationError as error:
                reasons.append(str(error))
                continue
            self.report.notes.append(f"{cause.name} is reproduced by {Path(folder) / 'reproduce.py'}")
            return
        self.report.notes.append(f"nothing was written to {folder}: {'; '.join(reasons)}")

    def _cause(self, value: Value, segment: Segment | None) -> Cause:
        following = self.walks[0].behind(value) - set(self.found)
        apart = self.differing if self.regions is None else self.differing | self.regions.apart
        names = [
            self.known.names[held]
            for held in self.walks[0].ordered(following)
            if held in self.known.names and held in apart
        ]
        return Cause(self.known.names[value], self._what(value, segment), tuple(names[:FOLLOWING_NAMED]))

    def _what(self, value: Value, segment: Segment | None) -> str:
        """Return what diff says of the nodes between the last values that agree and this one."""
        nodes: list[Node | None] = [value.producer, self.known.pairs[value].producer]
        if segment is not None:
            nodes = [*segment.nodes[0], *segment.nodes[1]]
        rows, where = self.sides.rows_of(nodes), ""
        if not rows:
            rows = self._changed_before(value)
            where = "; the graphs do not differ here, but before" if rows else ""
        pairs = self.sides.partners
        said = []
        doubt = "; which value of the candidate is its counterpart is uncertain" * self.sides.is_uncertain(value)
        for row in rows[:CHANGES_NAMED]:
            own = not where and len(rows) == 1 and node_names(row) == self.known.names[value]
            said.append(row_text(row, pairs) if own else f"{node_names(row)}: {row_text(row, pairs)}")
        more = f"; and {len(rows) - CHANGES_NAMED} more changes" if len(rows) > CHANGES_NAMED else ""
        if said and not where:
            return "; ".join(said) + more + doubt
        made = dict.fromkeys(spoken(node) for node in (value.producer, self.known.pairs[value].producer) if node)
        if said:
            return f"{' / '.join(made)}{where}: {'; '.join(said)}{more}{doubt}"
        return f"{' / '.join(made)}: the graphs do not differ here, the numbers do{doubt}"

    def _changed_before(self, value: Value) -> list[Row]:
        """Return the nearest changes that a value depends on: what they do may show only further on."""
        found: dict[int, Row] = {}
        for walks, held in zip(self.walks, (value, self.known.pairs[value]), strict=True):
            for before in walks.ordered(walks.before(held))[::-1]:
                found |= {id(row): row for row in self.sides.rows_of([before.producer])}
                if len(found) > CHANGES_NAMED:
                    break
        return list(found.values())
