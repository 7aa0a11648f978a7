"""What a verification shows and what it does not, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphir.safety.foreign_text import listing

from .text import number, plural
from .verification import MEANINGS, cause_text

if TYPE_CHECKING:
    from graphir.verification.report import VerificationReport

SETS_NAMED = 6
NO_RUN = "Nothing was run: that both compute the same is not shown (--verify shows it)."


def shown(report: VerificationReport) -> list[str]:
    """What the runs show."""
    worst = max(report.outputs, key=lambda found: (found.relative, found.limit), default=None)
    lines = []
    if worst is not None:
        off = f"off by {number(worst.relative)} of the scale at most, where {number(worst.limit)} is allowed"
        if not worst.relative:
            off = "the same to the last bit"
        outputs = "its output" if len(report.outputs) == 1 else f"all {len(report.outputs)} outputs"
        if report.verdict.differs:
            failing = sum(found.verdict.differs for found in report.outputs)
            outputs = f"{failing} of {plural(len(report.outputs), 'output')}"
            lines.append(f"{outputs} of {report.candidate} differ from {report.reference}: {worst.name} is {off}.")
        else:
            same = f"{report.candidate} gives what {report.reference} gives"
            lines.append(f"{same}, on {_inputs(report)}: {outputs}, {off}.")
    if report.layers:
        differing = len(report.diverging)
        said = f"{differing:,} of them differ by more" if differing else "none differs by more than that"
        count = plural(len(report.layers), "layer")
        lines.append(f"{count} inside were compared too, each against its own noise: {said}.")
    lines += [f"It begins at {cause_text(cause)}." for cause in report.causes]
    return lines + [f"{_sentence(line)}" for line in report.coverage]


def not_shown(report: VerificationReport, *, is_judged: bool = False) -> list[str]:
    """What stays open; `is_judged` says that accuracy on labelled data was measured."""
    lines = [_sentence(reason) for reason in report.unproven]
    if not report.verdict.passes and not report.unproven and not report.verdict.differs:
        lines.append(_sentence(MEANINGS[report.verdict.value]))
    lines.append(f"What other inputs do: {_inputs(report)} ran.")
    if report.reference.startswith(("graphir", "the graph", "the imported", "the import")):
        lines.append(f"What the framework that the model comes from computes: {report.reference} stood for it.")
    lines.append(f"Other runtimes, devices and releases than {report.candidate}.")
    if not report.layers:
        lines.append("That every layer inside agrees: only outputs were compared (--per-layer compares the layers).")
    if not is_judged:
        lines.append("Accuracy on real data, speed and memory.")
    return lines


def _inputs(report: VerificationReport) -> str:
    names = [one.name for one in report.sets]
    if len(names) < 2:
        return "one set of inputs"
    return f"{len(names)} sets of inputs ({listing(names, SETS_NAMED)})"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


__all__ = ["NO_RUN", "not_shown", "shown"]
