"""Two models compared on several sets of inputs, one report of all of them.

The first set is compared with everything that there is; each further one costs a run of each side where it agrees, and
the whole comparison where it does not.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from graphir.arrays import Array
from graphir.converters.kernel.live import LiveFailed
from graphir.errors import VerificationError
from graphir.graph import Graph

from .equivalence import Compared, compare_models
from .grading.proof import Evidence, doubt_sentence, unproven
from .grading.ranking import Ranking, joined
from .inputs.sets import FeedPlan, FeedSet, Made
from .numbers.compare import Comparison
from .options import ComparisonOptions
from .pairs.sides import Sides
from .plain import Outcome, Plain, Refused, noted, refusals
from .progress import Progress
from .regions.trials import try_changes
from .report import InputSet, VerificationReport, gravity
from .running.bench import Bench
from .running.candidate import OnnxCandidate
from .running.heads import Wiring
from .running.measured import coverage
from .running.references import Recalled
from .verdict import Verdict

if TYPE_CHECKING:
    from graphir.converters.formats import Reference
    from graphir.converters.onnx.files.structure import Structure

# A model whose first comparison takes this process more seconds of work gets lighter sets, ...
LONG = 0.8
# ... and as many of them as this share of that time allows, which is no more than so many seconds.
SHARE, MOST = 1.5, 60.0
# Changed nodes are run by themselves for this share of it, or so many seconds of work.
SHARE_FOR_CHANGES, LEAST_FOR_CHANGES = 0.35, 2.0
LIGHT = "the model takes long: further sets of inputs have one sample each where the batch is open"
SLOW = "not measured, since the model takes long; --per-layer measures it too"


def verify_sets(
    reference: Reference,
    candidate: OnnxCandidate,
    plan: FeedPlan,
    *,
    graph: Graph | None = None,
    how: ComparisonOptions | None = None,
    wiring: Wiring | Structure | None = None,
    step: float = 0.0,
    sides: Sides | None = None,
) -> VerificationReport:
    """Compare two models on all sets of a plan; the rest is as in `compare_models`.

    Of each set the first attempt is compared that both models take. A further set that both refuse is noted, one that
    the candidate alone refuses is a difference. Once the models differ no more sets are run. Raises VerificationError
    as `compare_models` does for the first set.
    """
    how = how or ComparisonOptions()
    progress = Progress(how.tell)
    recalled = Recalled(reference, candidate.memory, progress)
    driver = _Driver(recalled, candidate, graph, how, wiring, step, sides, progress)
    started = time.process_time()
    first, *further = plan.sets(False)
    progress.begin_set(first.name, 1, 1 + len(further))
    (report, bench, asked), made = driver.first(first)
    spent = time.process_time() - started
    report.notes += plan.notes
    report.sets = [InputSet(first.name, report.feeds, tuple(report.outputs))]
    report.outputs = list(report.outputs)
    long = spent > LONG
    taken = [made]
    pending = list(plan.sets(True)[1:]) if long else further
    room = min(SHARE * spent, MOST) if long and not plan.state else float("inf")
    if pending and not report.verdict.differs and not _draws(report):
        if long:
            report.notes.append(LIGHT)
        plain = Plain(replace(bench, prior=_floors(report)), asked)
        taken += _further(driver, plain, pending, report, room)
    if not report.verdict.differs and not _draws(report):
        _look_at_changes(report, bench, sides, max(LEAST_FOR_CHANGES, SHARE_FOR_CHANGES * spent), taken)
    if not report.verdict.differs:
        slow = long and not driver.how.per_layer
        report.coverage += [SLOW] if slow else coverage(candidate, taken)
    if sides is not None and (report.verdict.differs or not sides.made_of):
        report.changes = sides.changes()
        report.nodes_same, report.nodes_differing = sides.nodes_same(), sides.nodes_differing()
        if sides.reason:
            report.notes.append(f"the graphs were not compared: {sides.reason}")
    return report


def _look_at_changes(
    report: VerificationReport, bench: Bench, sides: Sides | None, seconds: float, taken: Sequence[Made]
) -> None:
    """Take into the report what differs between the graphs, by itself too, and shows in no output."""
    if sides is None or not sides.tells or bench.limits.stated:
        return
    tried = try_changes(replace(bench, passing=True), sides, seconds, taken)
    report.unproven += tried.unproven
    report.notes += tried.notes


def _draws(report: VerificationReport) -> bool:
    """Whether an output is random: other inputs show no more of it. What rounding moves on some inputs it need not move
    on others."""
    return any(one.verdict is Verdict.NOT_DETERMINISTIC and one.is_random for one in report.outputs)


def _floors(report: VerificationReport) -> dict[str, float]:
    """What rounding was seen to do to the values that were compared."""
    return {one.name: one.floor for one in report.outputs}


def _further(
    driver: _Driver, plain: Plain, pending: Sequence[FeedSet], report: VerificationReport, room: float
) -> list[Made]:
    """Run the further sets into the report, as many as are done in `room` seconds; what made those that were taken."""
    started = time.process_time()
    longest, evidence = 0.0, [report.evidence]
    taken: list[Made] = []
    for place, one in enumerate(pending):
        if place and time.process_time() - started + longest > room:
            names = ", ".join(left.name for left in pending[place:])
            report.notes.append(
                f"sets of inputs that were left out, since one takes so long: {names} (--feeds NAME asks for one)"
            )
            break
        began = time.process_time()
        driver.progress.begin_set(one.name, place + 2, 1 + len(pending))
        result = driver.further(plain, one, evidence if report.unproven else ())
        _take(report, one.name, result, evidence)
        if result.made is not None:
            taken.append(result.made)
        longest = max(longest, time.process_time() - began)
        if report.verdict.differs:
            break
    return taken


@dataclass(frozen=True)
class _Result:
    """What came out of a further set: comparisons of a plain run, or the whole report, or a sentence about none. `made`
    makes the feeds that both models took, `evidence` is what a plain run proved where something was left to prove."""

    feeds: dict[str, str]
    outputs: tuple[Comparison, ...]
    report: VerificationReport | None = None
    note: str = ""
    made: Made | None = None
    evidence: Evidence | None = None
    rankings: Sequence[Ranking] = ()


@dataclass(frozen=True)
class _Driver:
    reference: Reference
    candidate: OnnxCandidate
    graph: Graph | None
    how: ComparisonOptions
    wiring: Wiring | Structure | None
    step: float
    sides: Sides | None
    progress: Progress

    def compare(self, feeds: Mapping[str, Array]) -> Compared:
        """The whole comparison."""
        return compare_models(
            self.reference, self.candidate, feeds, graph=self.graph, how=self.how, wiring=self.wiring, step=self.step,
            sides=self.sides,
        )  # fmt: skip

    def first(self, one: FeedSet) -> tuple[Compared, Made]:
        """The whole comparison on the first attempt of a set that both models take, and what made it. Raises what the
        first attempt raised where none is taken, or the reference alone takes one."""
        refused: VerificationError | None = None
        for make in one.attempts:
            feeds = make()
            try:
                compared = self.compare(feeds)
            except LiveFailed:
                raise
            except VerificationError as error:
                refused = refused or error
                if len(one.attempts) == 1 or self._takes(feeds):
                    raise
                continue
            if refused is not None:
                compared.report.notes.append(f"inputs of the usual sizes are not taken: {_sentence(str(refused))}")
            return compared, make
        assert refused is not None
        raise refused

    def _takes(self, feeds: Mapping[str, Array]) -> bool:
        """Whether the reference runs on these."""
        try:
            for _ in self.reference.stream(feeds, self.reference.outputs):
                pass
        except VerificationError:
            return False
        return True

    def further(self, plain: Plain, one: FeedSet, evidence: Sequence[Evidence]) -> _Result:
        """A further set. `evidence` is that of the sets before it where they leave something unproven: what a plain run
        does not prove either is asked of the whole comparison."""
        said: list[Refused] = []
        types: dict[str, str] = {}
        for make in one.attempts:
            feeds = make()
            types = {name: f"{array.dtype}{list(array.shape)}" for name, array in feeds.items()}
            try:
                outcome = plain.run(feeds, stretched=one.stretched, proving=bool(evidence))
            except Refused as refused:
                if not refused.reference:
                    return _Result(types, tuple(refusals(refused, one.name)))
                said.append(refused)
                continue
            return replace(self._judged(one, types, feeds, outcome, evidence), made=make)
        return _Result(types, (), note=_about_refusals(one.name, said))

    def _judged(
        self,
        one: FeedSet,
        types: dict[str, str],
        feeds: Mapping[str, Array],
        outcome: Outcome,
        evidence: Sequence[Evidence],
    ) -> _Result:
        note = "; ".join(_about_silence(one.name, outcome))
        own = outcome.evidence
        proven = not evidence or (own is not None and not unproven([*evidence, own]))
        if not outcome.found or (outcome.agrees and proven):
            found = tuple(noted(outcome.found, one.name))
            return _Result(types, found, note=note, evidence=own, rankings=outcome.rankings)
        report = self.compare(feeds).report
        dropped = {*outcome.silent, *outcome.overflown}
        kept = [found for found in report.outputs if found.name not in dropped]
        return _Result(types, tuple(noted(kept, one.name)), report, note, rankings=report.rankings)


def _take(report: VerificationReport, name: str, result: _Result, evidence: list[Evidence]) -> None:
    """Take a further set into the report: the worst of each output, what is new to be told, and the layers where only
    this set shows a difference."""
    own = result.report
    if result.outputs:
        report.sets.append(InputSet(name, result.feeds, result.outputs))
    if result.note:
        report.notes.append(result.note)
    report.rankings = joined(report.rankings, result.rankings)
    for one in result.outputs:
        _take_worse(report.outputs, one)
    if own is None:
        _take_evidence(report, result, evidence, result.evidence)
        return
    report.notes += [note for note in own.notes if note not in report.notes]
    report.causes = report.causes or own.causes
    report.rewritten |= own.rewritten
    if own.layers and report.first_divergence is None and own.first_divergence is not None:
        report.layers = own.layers
    _take_evidence(report, result, evidence, own.evidence)


def _take_evidence(
    report: VerificationReport, result: _Result, evidence: list[Evidence], own: Evidence | None
) -> None:
    if own is None:
        return
    evidence.append(own)
    if all(one.verdict.passes for one in result.outputs):
        report.doubts = unproven(evidence)
        report.unproven = [doubt_sentence(name, reason) for name, reason in report.doubts.items()]


def _take_worse(outputs: list[Comparison], one: Comparison) -> None:
    """Put a comparison where that of the same name stands, if it is worse; at the end if there is none and it does not
    pass."""
    for place, held in enumerate(outputs):
        if held.name == one.name:
            if (gravity(one), _share(one)) > (gravity(held), _share(held)):
                outputs[place] = one
            return
    if not one.verdict.passes:
        outputs.append(one)


def _share(one: Comparison) -> float:
    """The difference as a share of what is allowed."""
    return one.relative / one.limit if one.limit else one.relative


def _about_refusals(name: str, said: Sequence[Refused]) -> str:
    both = [refused for refused in said if refused.candidate]
    if both:
        return f"inputs {name!r}: neither model takes them ({_sentence(both[0].reference)})"
    return f"inputs {name!r}: the reference does not take them ({_sentence(said[0].reference)}), so nothing is shown"


def _about_silence(name: str, outcome: Outcome) -> Iterator[str]:
    if outcome.silent:
        shown = ", ".join(outcome.silent)
        yield f"inputs {name!r}: all of {shown} is infinite or NaN in both models, which shows nothing"
    if outcome.overflown:
        yield f"inputs {name!r}: {', '.join(outcome.overflown)} overflows, or what it is made of, and was not compared"


def _sentence(text: str) -> str:
    return text.splitlines()[0][:200]
