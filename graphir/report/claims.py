"""What a verification shows and what it does not, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphir.safety.foreign_text import listing

from .text import plural
from .verification import MEANINGS, cause_text, describe_difference

if TYPE_CHECKING:
    from graphir.verification.report import VerificationReport

SETS_NAMED = 6
# How coverage begins that leaves nothing open.
REACHED = "both ways of "
NO_RUN = "Nothing was run, so equality is not proven (--verify proves it)."


def proven_claims(report: VerificationReport, files: tuple[str, str] = ("", "")) -> list[str]:
    """Return the claims that the runs prove; `files` are the names of the two models, if any."""
    reference, candidate = _model_label(files[0], report.reference), _model_label(files[1], report.candidate)
    worst = max(report.outputs, key=lambda output: (output.relative, output.limit), default=None)
    lines = []
    if worst is not None:
        off = describe_difference(worst) if worst.relative else "the same to the last bit"
        if report.verdict.differs:
            failing = sum(output.verdict.differs for output in report.outputs)
            lines.append(f"{candidate} does not compute what {reference} computes, on {_inputs(report)}.")
            verb = "differs" if failing == 1 else "differ"
            lines.append(f"{failing} of {plural(len(report.outputs), 'result')} {verb}: {worst.name} is {off}.")
        else:
            same = f"{candidate} computes what {reference} computes"
            lines.append(f"{same}, on {_inputs(report)}: {plural(len(report.outputs), 'result')}, {off}.")
    if report.layers:
        differing = len(report.diverging)
        said = f"{differing:,} of them differ by more" if differing else "none differs by more than that"
        count = plural(len(report.layers), "layer")
        lines.append(f"{count} inside were compared too, each against its own noise: {said}.")
    lines += [f"It begins at {cause_text(cause)}." for cause in report.causes]
    return lines + [_sentence(line) for line in report.coverage if line.startswith(REACHED)]


def open_claims(report: VerificationReport, *, is_judged: bool = False) -> list[str]:
    """Return the claims that remain unproven; `is_judged` means that accuracy on labelled data was measured."""
    lines = [_sentence(reason) for reason in report.reasons]
    if not report.verdict.passes and not lines and not report.verdict.differs:
        lines.append(_sentence(MEANINGS[report.verdict.value]))
    lines += [_sentence(line) for line in report.coverage if not line.startswith(REACHED)]
    lines.append(f"Results for other inputs: {_inputs(report)} ran.")
    if report.reference.startswith(("graphir", "the graph", "the imported", "the import")):
        lines.append(f"What the source framework computes: {report.reference} was the reference instead.")
    lines.append(f"Other runtimes, devices and releases than {report.candidate}.")
    if not report.layers:
        lines.append("Agreement of every layer: only outputs were compared (--per-layer compares layers).")
    if not is_judged:
        lines.append("Accuracy on real data, speed and memory.")
    return lines


def _model_label(file: str, runtime: str) -> str:
    """Return a model's file with its runtime, or the runtime alone."""
    return f"{file} ({runtime})" if file else runtime


def _inputs(report: VerificationReport) -> str:
    names = [input_set.name for input_set in report.sets]
    if len(names) < 2:
        return "one set of inputs"
    return f"{len(names)} sets of inputs ({listing(names, SETS_NAMED)})"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
