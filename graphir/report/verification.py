"""The report of a verification as text and as JSON."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphir.safety.foreign_text import one_line
from graphir.structure.look import Painted, paint, verdict, verdict_style
from graphir.verification.verdict import Verdict

from .text import number, plural, table, wrapped

if TYPE_CHECKING:
    from graphir.verification.grading.compare import Comparison
    from graphir.verification.report import Cause, VerificationReport

MEANINGS = {
    "identical": "every output is the same to the last bit",
    "noise": "the outputs differ by rounding only",
    "not proven": "the outputs agree, in what cannot show a fault",
    "not deterministic": "the model differs from itself by more than rounding explains",
    "suspicious": "the outputs differ by more than rounding explains",
    "broken": "the models do not compute the same",
}
LAYERS_SHOWN = 12
REWRITES_SHOWN = 5
CHANGES_SHOWN = 6
NODES_DIFFER = re.compile(r"[\d,]+ nodes? differs?")
CAUSES_SHOWN = 5
SETS_NAMED = 6
COVERAGE_SHOWN = 2


def verdict_line(report: VerificationReport) -> str:
    """The outcome in one line."""
    verdict = report.verdict
    if verdict is Verdict.NOT_PROVEN and report.unproven:
        return f"NOT PROVEN: {report.unproven[0]}"
    word = headline(report).upper() if not report.ok else headline(report)
    meaning = MEANINGS[verdict.value] + ("" if not report.ok else _otherwise_written(report))
    return f"{word}: {verdict.value} ({meaning})" if verdict.passes or verdict.differs else f"{word}: {meaning}"


def _otherwise_written(report: VerificationReport) -> str:
    """How many nodes of two graphs differ that compute the same, as the first line of their differences has it."""
    count = NODES_DIFFER.match(report.changes[0]) if report.changes else None
    return f"; {count[0]}" if count is not None else ""


def further_reasons(report: VerificationReport) -> Sequence[str]:
    """Why it is not proven, without the reason that the line of the verdict gives."""
    return report.unproven[1:] if report.verdict is Verdict.NOT_PROVEN else report.unproven


def headline(report: VerificationReport) -> str:
    """The outcome in a word or two."""
    if report.ok:
        return "verified"
    return "different" if report.verdict.differs else report.verdict.value


def verification_text(report: VerificationReport, *, verbose: bool = False) -> str:
    """The verdict, who was compared with whom on what, a table of the outputs, and the first layer that differs.

    With `verbose` every layer is listed, else the first that differ.
    """
    feeds = ", ".join(f"{one_line(name)} {type_}" for name, type_ in report.feeds.items()) or "none"
    lines = [
        verdict(verdict_line(report)),
        f"  reference  {one_line(report.reference)}",
        f"  candidate  {one_line(report.candidate)}",
        f"  inputs     {feeds}",
        *set_lines(report, verbose=verbose),
        "",
        comparison_table(report.outputs, "output"),
    ]
    lines += [wrapped(f"{found.name}: {found.note}") for found in report.outputs if found.note]
    lines += [wrapped(f"classes: {ranking}") for ranking in report.rankings]
    causes = [cause_text(cause) for cause in report.causes]
    lines += _shortened("cause", causes, len(causes) if verbose else CAUSES_SHOWN)
    lines += [wrapped(f"not proven: {reason}") for reason in further_reasons(report)]
    lines += [wrapped(f"note: {note}") for note in report.notes]
    lines += _shortened("diff", report.changes, len(report.changes) if verbose else CHANGES_SHOWN)
    lines += _shortened("coverage", report.coverage, len(report.coverage) if verbose else COVERAGE_SHOWN)
    if report.layers:
        lines += ["", *_layer_lines(report, verbose)]
    return "\n".join(lines)


def _shortened(label: str, lines: Sequence[str], shown: int) -> list[str]:
    """The first lines under a label, and how many more there are."""
    more = [] if len(lines) <= shown else [f"  ... and {len(lines) - shown} more of {label} (-v lists all)"]
    return [*(wrapped(f"{label}: {line}") for line in lines[:shown]), *more]


def set_lines(report: VerificationReport, *, verbose: bool = False) -> list[str]:
    """The sets of inputs in a line; a line for each where one does not pass, or if `verbose`. Of many sets, as files
    may give them, some are named, and of those only what does not pass has a line."""
    if len(report.sets) < 2:
        return []
    named = [one_line(one.name) for one in report.sets]
    names = ", ".join(named if verbose or len(named) <= SETS_NAMED else [*named[:SETS_NAMED], "..."])
    said = f"{len(named)} of inputs: {names}; each row is the worst of them"
    lines = [wrapped(said, first="  sets       ", rest=" " * 13)]
    failing = [one for one in report.sets if not one.verdict.passes]
    listed = report.sets if verbose or (failing and len(named) <= SETS_NAMED) else failing[:SETS_NAMED]
    width = max((len(one.name) for one in listed), default=0)
    for one in listed:
        feeds = ", ".join(f"{one_line(name)} {type_}" for name, type_ in one.feeds.items())
        word = _word(one.verdict)
        said = paint(f"{word:10}", word.style)
        lines.append(f"             {one_line(one.name):{width}}  {said}  {feeds}".rstrip())
    if len(failing) > len(listed):
        lines.append(f"             ... and {len(failing) - len(listed)} more that do not pass (-v lists all)")
    return lines


def cause_text(cause: Cause) -> str:
    """A layer where differences begin, in one line."""
    count = len(cause.follows)
    follows = f"; {plural(count, 'layer')} {'differs' if count == 1 else 'differ'} because of it" if count else ""
    return f"{cause.name}: {cause.what}{follows}"


def comparison_table(comparisons: Sequence[Comparison], what: str) -> str:
    """One line a value. The floor is `-` where a difference that passes needed none to be measured."""
    return table(
        (what, "shape", "scale", "max abs diff", "relative", "noise floor", "limit", "verdict"),
        [
            (
                found.name,
                "x".join(map(str, found.shape)) or "scalar",
                number(found.scale),
                number(found.max_abs),
                number(found.relative),
                number(found.floor) if has_floor(found) else "-",
                number(found.limit),
                _word(found.verdict),
            )
            for found in comparisons
        ],
        right=(2, 3, 4, 5, 6),
        flexible=(0, 1),
    )


def has_floor(found: Comparison) -> bool:
    """Whether the noise floor was measured: what is the same, or passes without one, does not ask for it."""
    return bool(found.floor) or not found.verdict.passes


def _word(found: Verdict) -> Painted:
    """A verdict in a word, in capitals where it does not pass."""
    word = found.value if found.passes else found.value.upper()
    return Painted(word, verdict_style(word))


def _layer_lines(report: VerificationReport, verbose: bool) -> list[str]:
    differing = report.diverging
    first = report.first_divergence
    if first is None:
        said = "none differs by more than rounding" + (" where both are written alike" if report.rewritten else "")
        lines = [f"layer by layer: {plural(len(report.layers), 'value')} compared, {said}"]
    else:
        lines = [
            f"layer by layer: {len(differing)} of {plural(len(report.layers), 'value')} differ; "
            f"the first is {one_line(first.name)}"
        ]
    rewritten = [f"rewritten: {name}: {said}" for name, said in report.rewritten.items()]
    lines += [wrapped(line) for line in (rewritten if verbose else rewritten[:REWRITES_SHOWN])]
    if len(rewritten) > REWRITES_SHOWN and not verbose:
        lines.append(f"  ... and {len(rewritten) - REWRITES_SHOWN} more that are written otherwise (-v lists all)")
    if verbose:
        lines.append(comparison_table(report.layers, "layer"))
    elif differing:
        lines.append(comparison_table(differing[:LAYERS_SHOWN], "layer"))
        if len(differing) > LAYERS_SHOWN:
            lines.append(f"  ... and {len(differing) - LAYERS_SHOWN} more (-v lists all)")
    return lines


def verification_json(report: VerificationReport) -> dict[str, Any]:
    """The report as plain data. Numbers that JSON lacks (infinity) are null, with the reason in `note`."""
    first = report.first_divergence
    return {
        "ok": report.ok,
        "verdict": report.verdict.value,
        "reference": report.reference,
        "candidate": report.candidate,
        "unproven": list(report.unproven),
        "feeds": dict(report.feeds),
        "sets": [
            {"name": one.name, "verdict": one.verdict.value, "feeds": dict(one.feeds),
             "outputs": [_comparison_json(found) for found in one.outputs]}
            for one in report.sets
        ],
        "rankings": [
            {"name": one.name, "rows": one.rows, "top1": one.top1, "top1_near_ties": one.near1, "top5": one.top5,
             "top5_near_ties": one.near5}
            for one in report.rankings
        ],
        "coverage": list(report.coverage),
        "changes": list(report.changes),
        "causes": [{"name": one.name, "what": one.what, "follows": list(one.follows)} for one in report.causes],
        "notes": list(report.notes),
        "seconds": round(report.seconds, 3),
        "outputs": [_comparison_json(found) for found in report.outputs],
        "first_divergence": None if first is None else first.name,
        "layers": [
            {**_comparison_json(found), "rewritten": report.rewritten.get(found.name, "")} for found in report.layers
        ],
        "providers": dict(Counter(node.provider for node in report.placement)),
        "nodes": _placement_json(report),
    }


def _placement_json(report: VerificationReport) -> list[dict[str, str]]:
    """Each node with its provider; none where one provider has all of them, which its count says."""
    if len({node.provider for node in report.placement}) < 2:
        return []
    return [{"name": node.name, "operator": node.operator, "provider": node.provider} for node in report.placement]


def _comparison_json(found: Comparison) -> dict[str, Any]:
    return {
        "name": found.name,
        "shape": list(found.shape),
        "scale": _finite(found.scale),
        "max_abs": _finite(found.max_abs),
        "relative": _finite(found.relative),
        "floor": _finite(found.floor) if has_floor(found) else None,
        "limit": _finite(found.limit),
        "verdict": found.verdict.value,
        "note": found.note,
    }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


__all__ = ["cause_text", "comparison_table", "further_reasons", "has_floor", "headline", "set_lines", "verdict_line",
           "verification_json", "verification_text"]  # fmt: skip
