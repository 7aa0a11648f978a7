"""Where two models part: the layers at which differences begin, what differs there, and what follows from it."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from graphir.errors import GraphirError, VerificationError
from graphir.graph import Node, Value
from graphir.verification.pairs.changes import row_text, spoken
from graphir.verification.pairs.sides import Sides
from graphir.verification.report import Cause, VerificationReport

from .known import Bench, Known
from .rewrites import Rewrites
from .search import AT_ONCE, Search
from .segments import Segment, Segments, alone
from .unaligned import explain_by_names
from .walks import Walks

Array = NDArray[Any]
# Each is cut out of both models, written and run: some milliseconds and the size of its values.
MOST_SUSPECTS = 200
SUSPECTS_AT_ONCE = 25
# Of a reference that computes all of its values to give one, so many bytes of them stay for the next question, and no
# more than a quarter of the memory budget.
KEPT = 1 << 28
CHANGES_NAMED = 3
FOLLOWING_NAMED = 1000
BEFORE_HEAD = " (before the head)"


def explain(
    report: VerificationReport,
    bench: Bench,
    sides: Sides,
    outputs: Sequence[str],
    *,
    stepwise: bool = True,
    reproduce: str | os.PathLike[str] | None = None,
) -> None:
    """Fill the report's causes and rewrites; with `reproduce`, write the parts around the first cause to that folder.

    `outputs` are the reference's outputs that have a counterpart. Where the layers were not all compared, some are, in
    runs of a few values each if `stepwise`, else (where one run of the reference gives all of them at the price of a
    few) all at once. Where a graph cannot be had the first layer is found by names: `sides` says why.
    """
    if sides.graphs is None:
        explain_by_names(report, bench, outputs, stepwise=stepwise)
        return
    inquiry = _Inquiry(report, bench, sides, outputs, stepwise)
    inquiry.run()
    if reproduce is not None:
        inquiry.reproduce(reproduce)


class _Inquiry:
    """What is known of one comparison."""

    def __init__(
        self, report: VerificationReport, bench: Bench, sides: Sides, outputs: Sequence[str], stepwise: bool
    ) -> None:
        assert sides.graphs is not None
        self.report, self.sides = report, sides
        ends = [replace(found, name=found.name.removesuffix(BEFORE_HEAD)) for found in report.outputs]
        kept = 0 if stepwise else min(KEPT, bench.candidate.memory // 4)
        self.known = Known(bench, sides.graphs, [*report.layers, *ends], kept)
        self.walks = Walks(sides.graphs[0]), Walks(sides.graphs[1])
        differing = [found.name for found in ends if not found.verdict.passes]
        names = [name for name in dict.fromkeys([*outputs, *differing]) if name in self.known.values]
        self.outputs = self.walks[0].ordered(self.known.values[name] for name in names)
        self.limits = bench.limits
        self.segments = Segments(self.known, self.walks, bench, sides)
        self.rewrites = Rewrites(self.known, self.walks[0], self.outputs, bench.limits, bench.feeds)
        self.stepwise = stepwise
        self.found: dict[Value, Segment | None] = {}

    def run(self) -> None:
        """Name what differs first, what differs on its own behind it, and what is only written otherwise."""
        if self.report.layers:
            self._all_layers()
        else:
            self._few_layers()
        self._independent()
        for value in self.walks[0].ordered(self.found):
            self.report.causes.append(self._cause(value, self.found[value]))

    def reproduce(self, folder: str | os.PathLike[str]) -> None:
        """Write the parts of both models around the first cause that shows itself in them; a note says where, or why
        none does."""
        from .minimal import write_minimal

        reasons = ["nothing differs"] if not self.found else []
        for value, cause in zip(self.walks[0].ordered(self.found), self.report.causes, strict=True):
            segment = self.found[value]
            if segment is None:
                reasons.append(f"{cause.name} is made of values that only one of the models has")
                continue
            compared = self.known.compared.get(value)
            limit = compared.limit if compared is not None and compared.limit < math.inf else 0.0
            arrays = self.segments.arrays([segment])
            fed = {edge.name: arrays[edge] for edge in segment.edges}, self.segments.fed(segment, arrays)
            try:
                write_minimal(folder, segment, fed, cause.what, limit)
            except VerificationError as error:
                reasons.append(str(error))
                continue
            self.report.notes.append(f"{cause.name} is reproduced by {Path(folder) / 'reproduce.py'}")
            return
        self.report.notes.append(f"nothing was written to {folder}: {'; '.join(reasons)}")

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
        return list({id(rows[node]): rows[node] for node in nodes if node is not None and node in rows}.values())

    def _independent(self) -> None:
        """Behind a cause everything differs. What also differs as a node is run alone on the reference's numbers: if
        its result differs then too, it is a cause of its own."""
        if not self.found:
            return
        behind: set[Value] = set()
        for value in self.found:
            behind |= self.walks[0].behind(value)
        covered: set[int] = set()
        for segment in self.found.values():
            covered |= set() if segment is None else self._row_ids(segment)
        suspects = [value for value in self._suspects() if value in behind and value not in self.found]
        cuts = [cut for cut in (self.segments.cut(value, self._trusted) for value in suspects) if cut is not None]
        cuts = [cut for cut in cuts if self._row_ids(cut) - covered]
        if len(cuts) > MOST_SUSPECTS:
            self.report.notes.append(
                f"of {len(cuts)} changed layers behind the first cause {MOST_SUSPECTS} were looked at alone"
            )
        for start in range(0, min(len(cuts), MOST_SUSPECTS), SUSPECTS_AT_ONCE):
            part = cuts[start : start + SUSPECTS_AT_ONCE]
            arrays = self.segments.arrays(part)
            for cut in part:
                if self._row_ids(cut) - covered and self._is_cause(cut, arrays):
                    self.found[cut.value] = cut
                    covered |= self._row_ids(cut)

    def _row_ids(self, segment: Segment) -> set[int]:
        return {id(row) for row in self._rows([*segment.nodes[0], *segment.nodes[1]])}

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
        """Whether a value behind a cause can stand at the edge of a part: nothing is said against how it is made, or
        what is said is known already."""
        return (
            value in self.found
            or self.known.agrees(value)
            or not self._rows((value.producer, self.known.pairs[value].producer))
        )

    def _is_cause(self, segment: Segment, arrays: Mapping[Value, Array]) -> bool:
        """Whether the candidate's part gives something else for the reference's numbers, and so does what follows."""
        if not self._differs_alone(segment, arrays):
            return False
        value = segment.value
        near = self.walks[0].nearest(value, self.known.names.__contains__, behind=True)
        further = [
            self.segments.cut(held, lambda edge: edge is not value and self._trusted(edge)) for held in near[:3]
        ]
        cuts = [cut for cut in further if cut is not None]
        return not cuts or any(self._differs_alone(cut, self.segments.arrays([cut])) for cut in cuts)

    def _differs_alone(self, segment: Segment, arrays: Mapping[Value, Array]) -> bool:
        try:
            return not alone(segment, arrays, self.segments.fed(segment, arrays), self.limits).verdict.passes
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
        rows, where = self._rows(nodes), ""
        if not rows:
            rows = self._changed_before(value)
            where = "; the graphs do not differ here, but before" if rows else ""
        pairs = self.sides.partners
        said = []
        for row in rows[:CHANGES_NAMED]:
            names = dict.fromkeys(node.name for node in (row.left, row.right) if node is not None)
            own = not where and len(rows) == 1 and list(names) == [self.known.names[value]]
            said.append(row_text(row, pairs) if own else f"{' / '.join(names)}: {row_text(row, pairs)}")
        more = f"; and {len(rows) - CHANGES_NAMED} more changes" if len(rows) > CHANGES_NAMED else ""
        if said and not where:
            return "; ".join(said) + more
        made = dict.fromkeys(spoken(node) for node in (value.producer, self.known.pairs[value].producer) if node)
        if said:
            return f"{' / '.join(made)}{where}: {'; '.join(said)}{more}"
        return f"{' / '.join(made)}: the graphs do not differ here, the numbers do"

    def _changed_before(self, value: Value) -> list[Any]:
        """The nearest changes that a value depends on: what they do may show only further on."""
        found: dict[int, Any] = {}
        for walks, held in zip(self.walks, (value, self.known.pairs[value]), strict=True):
            for before in walks.ordered(walks.before(held))[::-1]:
                found |= {id(row): row for row in self._rows([before.producer])}
                if len(found) > CHANGES_NAMED:
                    break
        return list(found.values())


__all__ = ["explain"]
