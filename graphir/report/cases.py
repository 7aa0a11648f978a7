"""What a command judged, one case each: an output, a layer, a node, an operator, a model. CI's formats are written from
these.

A suite has a failed case exactly where the command ends with another code than 0.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from graphir.safety.foreign_text import one_line
from graphir.structure.record import record

from .text import number, plural

if TYPE_CHECKING:
    from graphir.registry.report import RegistryReport
    from graphir.verification.numbers.compare import Comparison
    from graphir.verification.report import VerificationReport

    from .conversion import ConversionReport
    from .gaps import CheckReport
    from .inspected import DiffReport, PaddingReport


class Result(enum.Enum):
    """How a case ended; an error is what could not be judged."""

    PASSED = "passed"
    SKIPPED = "skipped"
    FAILED = "failed"
    ERROR = "error"


@record
class Case:
    """One thing that was judged: in which group, its name, how it ended, in a word (`kind`), in a line and in many."""

    group: str
    name: str
    result: Result
    kind: str = ""
    message: str = ""
    details: str = ""
    seconds: float | None = None

    @property
    def is_bad(self) -> bool:
        """Return whether it failed or could not be judged."""
        return self.result in (Result.FAILED, Result.ERROR)


@record
class Suite:
    """All that one command judged: its name (`verify`), what was judged in words, the cases in order.

    `summary` is the outcome in a line, `why` what is known of its causes, in lines, `text` what the command prints for
    people, `file` the file that is judged.
    """

    command: str
    title: str
    cases: tuple[Case, ...]
    summary: str
    text: str = ""
    why: str = ""
    file: str = ""
    seconds: float | None = None
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Return whether no case failed."""
        return not any(case.is_bad for case in self.cases)

    def count(self, result: Result) -> int:
        """Return the number of cases with this result."""
        return sum(case.result is result for case in self.cases)


def verification_suite(report: VerificationReport, source: str, candidate: str) -> Suite:
    """Return a suite with one case per output and layer, and one for whether agreement proves equality."""
    from .verification import verdict_line

    return Suite(
        "verify", f"{source} -> {candidate}", tuple(_verification_cases(report)), verdict_line(report),
        report.to_text(), _causes(report), candidate, report.seconds,
        {"verdict": report.verdict.value, "reference": report.reference, "candidate": report.candidate},
    )  # fmt: skip


def conversion_suite(report: ConversionReport, source: str, target: str) -> Suite:
    """Return a suite with a case for the conversion and those of its verification."""
    from .verification import verdict_line

    wrote = ", ".join(one_line(file.path) for file in report.files)
    decided = [f"{decision.kind}: {decision.node}: {decision.text}" for decision in report.decisions]
    written = Case(
        "conversion", "written", Result.PASSED, details="\n".join([f"wrote {wrote}", *map(one_line, decided)])
    )
    proof = report.verification
    summary = f"written with {plural(len(decided), 'decision')}"
    return Suite(
        "convert", f"{source} -> {target}", (written, *(_verification_cases(proof) if proof is not None else ())),
        summary if proof is None else f"{summary}; {verdict_line(proof)}", report.to_text(),
        "" if proof is None else _causes(proof), target, report.seconds,
        {"framework": report.framework, "target": report.target_version}
        | ({} if proof is None else {"verdict": proof.verdict.value}),
    )  # fmt: skip


def diff_suite(report: DiffReport, first: str, second: str) -> Suite:
    """Return a suite with one case per pair of nodes, and one for inputs and outputs."""
    from graphir.analysis.diff import Status

    from .diff import title, verdict_line

    difference = report.found
    cases = [
        _lines_case(
            "inputs and outputs", "all", "changed", [f"{change.kind}: {change.text}" for change in difference.ends]
        )
    ]
    for row in difference.rows:
        said = [f"{change.kind}: {change.text}" for change in row.changes]
        said = said or ([] if row.status is Status.SAME else [row.status.value])
        cases.append(_lines_case("nodes", title(row), row.status.value, said))
    return Suite("diff", f"{first} -> {second}", tuple(cases), verdict_line(difference), report.to_text(), file=second)


def padding_suite(report: PaddingReport, first: str, second: str) -> Suite:
    """Return a suite with one case per pair of windows."""
    from .padding import title, verdict_line

    cases = [
        _lines_case("windows", title(pair), ", ".join(dict.fromkeys(item.kind for item in pair.disagreements)),
                  [f"{item.text}\n{item.fix}".rstrip() for item in pair.disagreements])
        for pair in report.audit.pairs
    ]  # fmt: skip
    title_of_both = f"{first} -> {second}"
    return Suite("padding", title_of_both, tuple(cases), verdict_line(report.audit), report.to_text(), file=second)


def check_suite(report: CheckReport) -> Suite:
    """Return a suite with one case per operator with gaps, or per operator of the model if none has gaps."""
    cases = [
        Case("operators", gap.operator, Result.FAILED, f"cannot be {'read' if report.step == 'reading' else 'written'}",
             one_line(gap.reason), "\n".join(map(one_line, gap.nodes)))
        for gap in report.gaps
    ]  # fmt: skip
    if report.reading is not None:
        cases += [Case("operators", name, Result.PASSED) for name in sorted(report.reading.operators)]
    text = report.to_text()
    return Suite("check", f"{report.source} -> {report.asked}", tuple(cases), first_line(text), text,
                 file=report.source)  # fmt: skip


def models_suite(command: str, title: str, cases: Iterable[Case], text: str, seconds: float | None = None) -> Suite:
    """Return a suite with one case per model."""
    listed = tuple(cases)
    bad = sum(case.is_bad for case in listed)
    summary = f"{bad:,} of {plural(len(listed), 'model')} did not pass" if bad else f"all {len(listed):,} models passed"
    return Suite(command, title, listed, summary, text, seconds=seconds)


def registry_suite(report: RegistryReport, sources: Iterable[str]) -> Suite:
    """Return a suite with one case per model, an error if it has no result."""
    cases = []
    for outcome in report.outcomes:
        result = Result.PASSED if outcome.bucket.value == "done" else Result.FAILED
        detail = outcome.detail or outcome.verdict
        cases.append(
            Case("models", outcome.name, Result.ERROR if outcome.bucket.failed else result, outcome.bucket.value,
                 first_line(detail), detail, outcome.seconds)
        )  # fmt: skip
    return models_suite("convert-all", ", ".join(sources), cases, report.to_text(), report.seconds)


def failed_suite(command: str, text: str) -> Suite:
    """Return the suite of a command that could not judge, with one error."""
    message = first_line(text)
    return Suite(command, command, (Case("command", command, Result.ERROR, "failed", message, text),), message, text)


def first_line(text: str) -> str:
    """Return the first line of a text, safe to show."""
    return one_line(text.split("\n", 1)[0])


def _causes(report: VerificationReport) -> str:
    from .verification import cause_text

    return "\n".join(cause_text(cause) for cause in report.causes)


def _verification_cases(report: VerificationReport) -> Iterator[Case]:
    for output in report.outputs:
        yield _comparison_case("outputs", output, Result.FAILED)
    agrees = all(output.verdict.passes for output in report.outputs)
    yield _lines_case("proof", "what agrees is proven", "not proven", report.unproven if agrees else [])
    # Where all outputs agree a layer that does not is no fault of the candidate: it is told, and fails nothing.
    differing = Result.SKIPPED if report.ok else Result.FAILED
    for layer in report.layers:
        if layer.name in report.rewritten:
            yield Case("layers", layer.name, Result.SKIPPED, "rewritten", report.rewritten[layer.name])
        else:
            yield _comparison_case("layers", layer, differing)


def _comparison_case(group: str, item: Comparison, otherwise: Result) -> Case:
    verdict = item.verdict.value
    shape = "x".join(map(str, item.shape)) or "scalar"
    from .verification import describe_difference, magnitudes

    off, share = magnitudes(item)
    rows = [
        f"shape        {shape}", f"scale        {number(item.scale)}", f"max abs diff {off}",
        f"relative     {share}", f"limit        {number(item.limit)}",
        *([f"noise floor  {number(item.floor)}"] if item.floor else []), *([item.note] if item.note else []),
    ]  # fmt: skip
    result = Result.PASSED if item.verdict.passes else otherwise
    return Case(
        group,
        item.name,
        result,
        verdict,
        f"{item.verdict}: {describe_difference(item)}",
        "\n".join(rows),
    )


def _lines_case(group: str, name: str, kind: str, lines: Iterable[str]) -> Case:
    """Return a case that failed if there are `lines`, else one that passed."""
    said = list(lines)
    if not said:
        return Case(group, name, Result.PASSED)
    more = f" (and {len(said) - 1} more)" if len(said) > 1 else ""
    return Case(group, name, Result.FAILED, kind, first_line(said[0]) + more, "\n".join(said))
