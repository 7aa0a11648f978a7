"""Where two models part: the layers at which differences begin, what differs there, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from graphir.errors import GraphirError
from graphir.graph import Node, Value

from .changes import row_text, spoken
from .known import Bench, Known
from .layouts import fitted_feeds
from .report import Cause, VerificationReport
from .rewrites import Rewrites
from .search import AT_ONCE, Search
from .segments import Segment, Segments, alone
from .sides import Sides
from .walks import Walks

Array = NDArray[Any]
# Each is cut out of both models, written and run: some milliseconds and the size of its values.
MOST_SUSPECTS = 48
CHANGES_NAMED = 3
FOLLOWING_NAMED = 1000


def explain(
    report: VerificationReport, bench: Bench, sides: Sides, outputs: Sequence[str], *, stepwise: bool = True
) -> list[Segment]:
    """Fill the report's causes and rewrites; the parts of both models around the causes, in the same order.

    `outputs` are the reference's outputs that have a counterpart. Where the layers were not all compared, some are, in
    runs of a few values each if `stepwise`, else (where one run of the reference gives all of them at the price of a
    few) all at once. Nothing is done where a graph cannot be had, which a note says.
    """
    if sides.graphs is None:
        report.notes += [f"the layers were not told apart by structure: {sides.reason}"] if sides.reason else []
        return []
    return _Inquiry(report, bench, sides, outputs, stepwise).run()


class _Inquiry:
    """What is known of one comparison."""

    def __init__(
        self, report: VerificationReport, bench: Bench, sides: Sides, outputs: Sequence[str], stepwise: bool
    ) -> None:
        assert sides.graphs is not None
        self.report, self.sides = report, sides
        self.known = Known(bench, sides.graphs, [*report.layers, *report.outputs])
        self.walks = Walks(sides.graphs[0]), Walks(sides.graphs[1])
        self.outputs = [self.known.values[name] for name in outputs if name in self.known.values]
        self.limits = bench.limits
        inputs = {value: other for value, other in sides.counterparts.values.items() if value.producer is None}
        self.segments = Segments(self.known, self.walks, inputs, feeds_of_both(bench))
        self.rewrites = Rewrites(self.known, self.walks[0], self.outputs, bench.limits, bench.feeds)
        self.stepwise = stepwise
        self.found: dict[Value, Segment | None] = {}

    def run(self) -> list[Segment]:
        """Name what differs first, what differs on its own behind it, and what is only written otherwise."""
        if self.report.layers:
            self._all_layers()
        else:
            self._few_layers()
        self._independent()
        order = self.walks[0].place
        for value in sorted(self.found, key=order.__getitem__):
            self.report.causes.append(self._cause(value, self.found[value]))
        return [segment for value in sorted(self.found, key=order.__getitem__) if (segment := self.found[value])]

    def _all_layers(self) -> None:
        """All layers were compared: those that differ though what they are made of agrees."""
        differing = self.walks[0].ordered(value for value in self.known.names if self.known.differs(value))
        blamed: set[Value] = set()
        for value in differing:
            said = self.rewrites.explained(value)
            if said:
                self.report.rewritten[self.known.names[value]] = said
            else:
                blamed.add(value)
        tainted: set[Value] = set()
        for value in differing:
            if value in blamed and value not in tainted:
                self._blame(value)
                tainted |= self.walks[0].behind(value)

    def _few_layers(self) -> None:
        """Only the outputs were compared: a search before each that differs for no cause found so far."""
        search = Search(
            self.known, self.walks[0], self.rewrites, AT_ONCE if self.stepwise else len(self.known.names)
        )
        tainted: set[Value] = set()
        for output in self.outputs:
            if self.known.differs(output) and output not in tainted:
                value = search.first(output)
                self._blame(value)
                tainted |= self.walks[0].behind(value)

    def _blame(self, value: Value) -> None:
        self.found.setdefault(value, self.segments.cut(value, self._sound))

    def _sound(self, value: Value) -> bool:
        """Whether a pair of values can stand for each other: they agree, or nothing is known against it."""
        if value in self.known.compared:
            return self.known.agrees(value)
        return not self._rows((value.producer, self.known.pairs[value].producer))

    def _rows(self, nodes: Iterable[Node | None]) -> list[Any]:
        """What diff says of nodes."""
        rows = self.sides.rows
        return list({id(rows[node]): rows[node] for node in nodes if node in rows}.values())

    def _independent(self) -> None:
        """Behind a cause everything differs. What also differs as a node is run alone on the reference's numbers: if
        its result differs then too, it is a cause of its own."""
        if not self.found:
            return
        behind: set[Value] = set()
        for value in self.found:
            behind |= self.walks[0].behind(value)
        covered = {
            id(row) for segment in self.found.values() if segment is not None
            for row in self._rows([*segment.nodes[0], *segment.nodes[1]])
        }  # fmt: skip
        suspects = [
            value for value in self._suspects() if value in behind and value not in self.found
        ]
        done = 0
        for value in suspects:
            segment = self.segments.cut(value, self._trusted)
            if segment is None:
                continue
            rows = {id(row) for row in self._rows([*segment.nodes[0], *segment.nodes[1]])}
            if not rows - covered:
                continue
            if done == MOST_SUSPECTS:
                self.report.notes.append(
                    f"of {len(suspects)} changed layers behind the first cause {MOST_SUSPECTS} were looked at alone"
                )
                return
            done += 1
            if self._is_cause(value, segment):
                self.found[value] = segment
                covered |= rows

    def _suspects(self) -> list[Value]:
        """The known values nearest to what diff says has changed."""
        found: dict[Value, None] = {}
        back = {other: value for value, other in self.known.pairs.items()}
        for node in self.sides.rows:
            for made in node.outputs:
                side = 0 if made in self.walks[0].place else 1
                table = self.known.names if side == 0 else back
                near = [made] if made in table else self.walks[side].nearest(made, table.__contains__, behind=True)
                found.update(dict.fromkeys(value if side == 0 else back[value] for value in near))
        return self.walks[0].ordered(found)

    def _trusted(self, value: Value) -> bool:
        """Whether a value behind a cause can stand at the edge of a part: nothing is said against how it is made."""
        return self.known.agrees(value) or not self._rows((value.producer, self.known.pairs[value].producer))

    def _is_cause(self, value: Value, segment: Segment) -> bool:
        """Whether the candidate's part gives something else for the reference's numbers, and so does what follows."""
        if not self._differs_alone(segment):
            return False
        near = self.walks[0].nearest(value, self.known.names.__contains__, behind=True)
        further = [
            self.segments.cut(held, lambda edge: edge is not value and self._trusted(edge)) for held in near[:3]
        ]
        cuts = [cut for cut in further if cut is not None]
        return not cuts or any(self._differs_alone(cut) for cut in cuts)

    def _differs_alone(self, segment: Segment) -> bool:
        try:
            ours, theirs = self.segments.arrays(segment)
            return not alone(segment, ours, theirs, self.limits).verdict.passes
        except (GraphirError, ValueError):
            return False

    def _cause(self, value: Value, segment: Segment | None) -> Cause:
        following = self.walks[0].behind(value) - set(self.found)
        names = [
            self.known.names[held] for held in self.walks[0].ordered(following) if self.known.differs(held)
        ]
        return Cause(self.known.names[value], self._what(value, segment), tuple(names[:FOLLOWING_NAMED]))

    def _what(self, value: Value, segment: Segment | None) -> str:
        """What diff says of the nodes between the last values that agree and this one."""
        nodes: list[Node | None] = [value.producer, self.known.pairs[value].producer]
        if segment is not None:
            nodes = [*segment.nodes[0], *segment.nodes[1]]
        rows = self._rows(nodes)
        said = []
        for row in rows[:CHANGES_NAMED]:
            names = dict.fromkeys(node.name for node in (row.left, row.right) if node is not None)
            said.append(f"{' / '.join(names)}: {row_text(row)}")
        more = f"; and {len(rows) - CHANGES_NAMED} more changes" if len(rows) > CHANGES_NAMED else ""
        if said:
            return "; ".join(said) + more
        made = dict.fromkeys(spoken(node) for node in (value.producer, self.known.pairs[value].producer) if node)
        return f"{' / '.join(made)}: the graphs do not differ here, the numbers do"


def feeds_of_both(bench: Bench) -> tuple[Mapping[str, Array], Mapping[str, Array]]:
    """What each model is fed, by the names of its own inputs."""
    return bench.feeds, fitted_feeds(bench.candidate.fitting, bench.feeds)


__all__ = ["explain", "feeds_of_both"]
