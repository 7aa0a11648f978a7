"""Two models compared on several sets of inputs, one report of all of them.

The first set is compared with everything that there is; each further one costs a run of each model where it agrees, and
the whole comparison where it does not.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from graphir.arrays import Array
from graphir.converters.kernel.live import LiveFailed
from graphir.errors import VerificationError
from graphir.inputs.draws import EDGES, WIDE
from graphir.inputs.sets import FeedPlan, FeedSet, Made, carried, larger_sets
from graphir.runtime.providers import RunFailed

from .devices import note_devices
from .equivalence import Compared, Models, Refused, compare_again, compare_models
from .grading.evidence import Evidence, doubt_sentence, unproven
from .grading.ranking import joined
from .numbers.compare import Comparison
from .numbers.limits import GradingLimits
from .pairs.sides import Sides
from .regions.narrowing import narrower_type
from .regions.trials import try_changes
from .report import InputSet, VerificationReport, gravity
from .running.coverage import coverage
from .verdict import Verdict

# A model whose first comparison takes this process more seconds of work gets lighter sets, ...
LONG = 0.8
# ... and as many of them as this share of that time allows: one at least, unless two would be waited for longer than a
# minute.
SHARE, MOST = 1.5, 60.0
# Changed nodes are run by themselves for this share of it, or so many seconds of work.
SHARE_FOR_CHANGES, LEAST_FOR_CHANGES = 0.35, 2.0
LIGHT = "the model takes long: further sets of inputs have one sample each where the batch is open"
SAME = "every node is the same in both, and a sample is much work"
LEFT_OUT = "other sizes have one sample where the batch is open, and {} were left out (--feeds NAME asks for one)"
SLOW = "not measured, since the model takes long; --per-layer measures it too"


def verify_sets(models: Models, plan: FeedPlan) -> VerificationReport:
    """Compare two models on all sets of a plan.

    Of each set the first attempt is compared that both models take. A further set that both refuse is noted, one that
    the candidate alone refuses is a difference. Once the models differ no more sets are run. Raises VerificationError
    as `compare_models` does for the first set.
    """
    plan = carried(plan, models.reference)
    report = _Driver(models, plan).run()
    note_devices(models, partial(plan.first().like, report.feeds), report)
    return report


@dataclass(frozen=True)
class _Driver:
    models: Models
    plan: FeedPlan

    def run(self) -> VerificationReport:
        """Return the report of all sets."""
        started, began = time.process_time(), time.perf_counter()
        first, *further = self.plan.sets(False)
        self._begin(first, 1, 1 + len(further))
        compared, made = self._first(first)
        # A live framework computes in a process of its own, which only the clock on the wall shows.
        spent, waited = time.process_time() - started, time.perf_counter() - began
        report, how, sides = compared.report, self.models.how, self.models.sides
        report.notes += self.plan.notes
        report.sets = [InputSet(first.name, report.feeds, tuple(report.outputs))]
        report.outputs = list(report.outputs)
        is_long, is_proven = spent > LONG, self.models.is_proven
        # Steps of a state and pieces of a capture belong together.
        is_whole = bool(self.plan.state) or self.models.reference.recorded
        taken = {first.name: made}
        pending = list(self.plan.sets(True)[1:]) if is_long or is_proven else further
        if is_proven and how.feeds is None and not is_whole:
            left = [planned.name for planned in pending if planned.name != EDGES.name]
            pending = [planned for planned in pending if planned.name == EDGES.name]
            report.notes.append(f"{SAME}: {LEFT_OUT.format(', '.join(left))}")
        room = min(SHARE * spent, MOST) if is_long and not is_whole else float("inf")
        if pending and not _is_settled(report):
            report.notes += [LIGHT] if is_long and not is_whole and not is_proven else []
            taken |= self._run_further(compared, pending, report, room, 0.0 if how.feeds else waited)
        if not _is_settled(report) and sides is not None and sides.tells and not compared.bench.limits.stated:
            seconds = max(LEAST_FOR_CHANGES, SHARE_FOR_CHANGES * spent)
            made_so_far = list(taken.values())
            open_ones, notes = try_changes(replace(compared.bench, passing=True), sides, seconds, made_so_far)
            report.notes += notes
            # Whether inputs are large enough to lead to a part that differs is no matter of luck. Numbers of 8 bits
            # saturate there: what the largest ones leave is rounding, and no moved input shows how far it goes.
            saturates = compared.bench.limits.quantized
            if open_ones and how.feeds is None and not (is_whole or saturates):
                bases = [taken[name] for name in (EDGES.name, WIDE.name) if name in taken] or made_so_far
                self._run_further(compared, list(larger_sets(bases)), report, room, 0.0)
            report.unproven += () if report.verdict.differs else open_ones
        if not report.verdict.differs:
            reason = f"not measured: {SAME}" if is_proven else SLOW if is_long and not how.per_layer else ""
            report.coverage += [reason] if reason else coverage(self.models.candidate, list(taken.values()))
        if sides is not None and (report.verdict.differs or not sides.made_of):
            self._add_graphs(report, compared.bench.limits, sides)
        return report

    def _begin(self, planned: FeedSet, place: int, total: int) -> None:
        """Say which set is compared now."""
        where = f" on inputs {planned.name!r} ({place} of {total})" if total > 1 else ""
        if self.models.how.tell is not None:
            self.models.how.tell(f"comparing{where}")

    def _add_graphs(self, report: VerificationReport, limits: GradingLimits, sides: Sides) -> None:
        """Fill in what the graphs of both say: what differs, and of how many nodes."""
        report.changes = sides.changes()
        report.nodes_same, report.nodes_differing = sides.count_nodes()
        report.narrower = narrower_type(sides) if sides.tells and report.ok else ""
        if self.models.is_one_runtime and sides.proves and not (limits.stated or limits.elsewhere):
            is_of_one_type = all(value.dtype is other.dtype for value, other in sides.values.items())
            report.same_nodes = is_of_one_type and not report.nodes_differing
        report.notes += [f"the graphs were not compared: {sides.reason}"] if sides.reason else []

    def _first(self, planned: FeedSet) -> tuple[Compared, Made]:
        """Return the whole comparison on the first attempt of a set that both models take, or that the candidate alone
        fails on, and what made it. Raises what the first attempt raised where none is taken, or what was converted
        takes one that the result does not."""
        refused: VerificationError | None = None
        for make in planned.attempts:
            feeds = make()
            try:
                compared = compare_models(self.models, feeds)
            except LiveFailed:
                raise
            except VerificationError as error:
                refused = refused or error
                shapes = {} if self.models.is_turned else self._shapes(feeds)
                if shapes and self._refuses(feeds):
                    report = _refusal(planned.name, feeds, shapes, str(error))
                    report.reference, report.candidate = self.models.reference.label, self.models.candidate.label
                    return Compared(report, self.models.bench(feeds, {}, ()), []), make
                if len(planned.attempts) == 1 or shapes:
                    raise
                continue
            if refused is not None:
                compared.report.notes.append(f"inputs of the usual sizes are not taken: {_sentence(str(refused))}")
            return compared, make
        assert refused is not None
        raise refused

    def _shapes(self, feeds: Mapping[str, Array]) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the reference's outputs on these, none where it does not run on them."""
        try:
            return {name: array.shape for name, array in self.models.reference.run(feeds).items()}
        except VerificationError:
            return {}

    def _refuses(self, feeds: Mapping[str, Array]) -> bool:
        """Return whether the candidate takes these, and fails on them."""
        try:
            self.models.candidate.run(feeds)
        except VerificationError as error:
            return isinstance(error, RunFailed)
        return False

    def _run_further(
        self, compared: Compared, pending: Sequence[FeedSet], report: VerificationReport, room: float, waited: float
    ) -> dict[str, Made]:
        """Run the further sets into the report, as many as are done in `room` seconds of work, after `waited` seconds
        for the first one; what made those that were taken, by their names."""
        started = time.process_time()
        longest, evidence = 0.0, [report.evidence or Evidence()]
        taken: dict[str, Made] = {}
        for index, planned in enumerate(pending):
            if 2 * waited > MOST or (index and time.process_time() - started + longest > room):
                names = ", ".join(left.name for left in pending[index:])
                report.notes.append(
                    f"sets of inputs that were left out, since one takes so long: {names} (--feeds NAME asks for one)"
                )
                break
            began = time.process_time()
            self._begin(planned, index + 2, 1 + len(pending))
            further, make = self._further(compared, planned, evidence if report.unproven else ())
            _take(report, planned.name, further, evidence)
            taken |= {} if make is None else {planned.name: make}
            longest = max(longest, time.process_time() - began)
            if report.verdict.differs:
                break
        return taken

    def _further(
        self, compared: Compared, planned: FeedSet, evidence: Sequence[Evidence]
    ) -> tuple[VerificationReport, Made | None]:
        """Return the report of a further set, and what made the feeds that both models take. `evidence` is that of the
        sets before it, where these leave something unproven that the whole comparison is to prove."""
        refusals: list[Refused] = []
        report = VerificationReport("", "", {}, [])
        for make in planned.attempts:
            feeds = make()
            try:
                report, left_out = compare_again(
                    compared, feeds, stretched=planned.stretched, proving=bool(evidence)
                )
            except Refused as refused:
                if not (refused.reference or self.models.is_turned):
                    return _refusal(planned.name, feeds, refused.shapes, refused.candidate), None
                refusals.append(refused)
                continue
            own = report.evidence
            proven = not evidence or (own is not None and not unproven([*evidence, own]))
            agrees = all(comparison.verdict.passes for comparison in report.outputs)
            report.notes = [f"inputs {planned.name!r}: {note}" for note in report.notes]
            if report.outputs and (planned.wholly or not (agrees and proven)):
                notes, report = report.notes, compare_models(self.models, feeds).report
                # What rounding moves too far on enlarged inputs says nothing of usual ones.
                report.outputs = [
                    comparison for comparison in report.outputs if comparison.name not in left_out
                    and not (planned.wholly and comparison.verdict is Verdict.NOT_DETERMINISTIC)
                ]  # fmt: skip
                report.notes += notes
            report.outputs = [
                one if one.verdict.passes or one.feeds == planned.name
                else one.noted(f"with the inputs {planned.name!r}", feeds=planned.name) for one in report.outputs
            ]  # fmt: skip
            return report, make
        first = next((refused for refused in refusals if refused.candidate and refused.reference), refusals[0])
        who = "the reference does not take" if first.reference else "what was converted does not take"
        who = "neither model takes" if first.reference and first.candidate else who
        report.notes = [f"inputs {planned.name!r}: {who} them, so nothing is shown ({_sentence(str(first))})"]
        return report, None


def _refusal(
    name: str, feeds: Mapping[str, Array], shapes: Mapping[str, tuple[int, ...]], reason: str
) -> VerificationReport:
    """Return the report of a set that the candidate alone refuses, by the shapes of the reference's outputs."""
    note = f"with the inputs {name!r} the candidate refuses what the reference takes: {reason}"
    outputs = [replace(Comparison.without_result(title, shape, note), feeds=name) for title, shape in shapes.items()]
    types = {title: f"{array.dtype}{list(array.shape)}" for title, array in feeds.items()}
    return VerificationReport("", "", types, outputs)


def _is_settled(report: VerificationReport) -> bool:
    """Return whether the models differ, or an output is random: other inputs show no more of it. What rounding moves on
    some inputs it need not move on others."""
    draws = any(
        comparison.verdict is Verdict.NOT_DETERMINISTIC and comparison.is_random for comparison in report.outputs
    )
    return report.verdict.differs or draws


def _take(report: VerificationReport, name: str, further: VerificationReport, evidence: list[Evidence]) -> None:
    """Take a further set into the report: the worst of each output, new notes, and the layers where only this set shows
    a difference."""
    if further.outputs:
        report.sets.append(InputSet(name, further.feeds, tuple(further.outputs)))
    report.notes += [note for note in further.notes if note not in report.notes]
    report.rankings = joined(report.rankings, further.rankings)
    places = {comparison.name: index for index, comparison in enumerate(report.outputs)}
    for comparison in further.outputs:
        index = places.get(comparison.name, -1)
        if index >= 0:
            report.outputs[index] = max(report.outputs[index], comparison, key=lambda one: (gravity(one), one.share))
        elif not comparison.verdict.passes:
            report.outputs.append(comparison)
    report.causes = report.causes or further.causes
    report.rewritten |= further.rewritten
    if report.first_divergence is None and further.first_divergence is not None:
        report.layers = further.layers
    if further.evidence is not None:
        evidence.append(further.evidence)
        if all(comparison.verdict.passes for comparison in further.outputs):
            report.unproven = [doubt_sentence(*doubt) for doubt in unproven(evidence).items()]


def _sentence(text: str) -> str:
    return text.splitlines()[0][:200]
