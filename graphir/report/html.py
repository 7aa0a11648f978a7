"""Reports as one HTML page: no scripts, nothing loaded from elsewhere, readable on paper too."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphir.verification.verdict import Verdict

from .page import banner, escape, facts, page, section, table
from .text import folded_text, number, plural, size
from .verification import MEANINGS, cause_text, headline

if TYPE_CHECKING:
    from graphir.verification.accuracy import AccuracyReport
    from graphir.verification.grading.compare import Comparison
    from graphir.verification.report import VerificationReport

    from .conversion import ConversionReport

LOWEST = -9.0


def conversion_html(report: ConversionReport) -> str:
    """The page of a conversion: verdict, facts, decisions, proof, operators."""
    verified = report.verification
    if verified is not None:
        top = _verdict_banner(verified)
    else:
        top = banner("open", "Converted, not verified", "--verify proves that both compute the same.")
    sections = [top, section("What was converted", _conversion_facts(report))]
    if report.accuracy is not None:
        sections.append(section("Accuracy", _accuracy(report.accuracy)))
    if verified is not None:
        sections += _verification_sections(verified)
    sections += [section(f"Decisions ({len(report.decisions)})", _decisions(report))]
    sections += [section("Operators before and after", _operators(report))]
    title = f"{Path(report.source).name} to {Path(report.target).name}"
    return page(title, sections, ", ".join(f"{name} {version}" for name, version in report.versions.items()))


def verification_html(report: VerificationReport) -> str:
    """The page of a verification: verdict, who was compared, outputs, layers."""
    from graphir import __version__

    return page(
        "Verification", [_verdict_banner(report), *_verification_sections(report)], f"graphir {__version__}"
    )


def _verdict_banner(report: VerificationReport) -> str:
    verdict = report.verdict
    said = report.unproven[0] if verdict is Verdict.NOT_PROVEN and report.unproven else MEANINGS[verdict.value]
    meaning = said[0].upper() + said[1:] + "."
    first = report.first_divergence
    if first is not None:
        meaning += f" The first layer that differs is {first.name}."
    word = headline(report)
    title = word[0].upper() + word[1:] + (f": {verdict.value}" if verdict.passes or verdict.differs else "")
    return banner(verdict.css_class, title, meaning)


def _conversion_facts(report: ConversionReport) -> str:
    target = report.target_name()
    made_by = report.framework + (f", parameters {report.container}" if report.container else "")
    rows = [
        ("source", _lines([*report.source_files, made_by])),
        ("target", _lines([f"{file.path} ({size(file.nbytes)})" for file in report.files] + [target])),
        ("inputs", _lines(f"{name}  {type_}" for name, type_ in report.inputs)),
        ("outputs", _lines(f"{name}  {type_}" for name, type_ in report.outputs)),
        (
            "parameters",
            escape(f"{report.parameter_count:,} ({size(report.parameter_bytes)})" + folded_text(report.folded)),
        ),
        ("nodes", f"{sum(report.source_operators.values()):,} to {sum(report.target_operators.values()):,}"),
        ("took", f"{report.seconds:.2f} s"),
    ]
    return facts(rows)


def _lines(lines: Iterable[str]) -> str:
    return "<br>".join(escape(line) for line in lines) or "none"


def _accuracy(report: AccuracyReport) -> str:
    rows = []
    for when, what, correct in (
        ("before", report.reference, report.reference_correct),
        ("after", report.candidate, report.candidate_correct),
    ):
        share = 100 * correct / report.samples
        rows.append([when, escape(what), f"{correct:,}", f"{share:.2f} %", _bar(share, None, "noise")])
    note = (
        f"<p>{plural(report.samples, 'sample')} of {escape(report.data)}; the predicted class differs for "
        f"<strong>{report.differing:,}</strong>.</p>"
    )
    return note + table(("", "computed by", "correct", "accuracy", ""), rows, right=(2, 3))


def _decisions(report: ConversionReport) -> str:
    if not report.decisions:
        return "<p>None: nothing was assumed, dropped or rewritten.</p>"
    rows = []
    for kind, decisions in report.grouped_decisions().items():
        for index, decision in enumerate(decisions):
            count = f" <small>{len(decisions)}</small>" if len(decisions) > 1 else ""
            label = escape(kind) + count if index == 0 else ""
            rows.append([label, escape(decision.node), escape(decision.text)])
    return table(("kind", "node", "what was decided"), rows, classes="decisions")


def _verification_sections(report: VerificationReport) -> list[str]:
    feeds = _lines(f"{name}  {type_}" for name, type_ in report.feeds.items())
    about = facts(
        [
            ("reference", escape(report.reference)),
            ("candidate", escape(report.candidate)),
            ("inputs", feeds),
            *((("sets of inputs", _lines(f"{one.name}: {one.verdict.value}" for one in report.sets)),)
              if len(report.sets) > 1 else ()),
            ("took", f"{report.seconds:.2f} s"),
            *(("not proven", escape(reason)) for reason in report.unproven),
            *(("classes", escape(str(ranking))) for ranking in report.rankings),
            *(("note", escape(note)) for note in report.notes),
            *(("coverage", escape(line)) for line in report.coverage),
            *(("diff", escape(line)) for line in report.changes),
            *(("cause", escape(cause_text(cause))) for cause in report.causes),
        ]
    )
    legend = (
        '<p class="legend">Bars show the largest difference relative to the scale, from 1e-9 to 1 on a logarithmic '
        "axis; the mark is the limit that follows from the noise floor (what rounding the inputs alone changes).</p>"
    )
    sections = [section("Proof", about + _comparisons(report.outputs, "output") + legend)]
    if report.layers:
        differing, rewritten = len(report.diverging), len(report.rewritten)
        title = f"Layers ({len(report.layers)} compared, {differing or 'none'} beyond rounding"
        title += f", {rewritten} written otherwise)" if rewritten else ")"
        said = {name: f"rewritten: {where}" for name, where in report.rewritten.items()}
        shown = [replace(layer, note=said.get(layer.name, layer.note)) for layer in report.layers]
        sections.append(section(title, _comparisons(shown, "layer")))
    return sections


def _comparisons(found: Sequence[Comparison], what: str) -> str:
    rows = []
    for item in found:
        verdict, look = item.verdict.value, item.verdict.css_class
        note = f"<br><small>{escape(item.note)}</small>" if item.note else ""
        rows.append(
            [
                escape(item.name) + note,
                escape("x".join(map(str, item.shape)) or "scalar"),
                number(item.scale),
                number(item.max_abs),
                number(item.relative),
                number(item.limit),
                _bar(_position(item.relative), _position(item.limit), look),
                f'<span class="verdict {look}">{verdict}</span>',
            ]
        )
    head = (what, "shape", "scale", "max abs diff", "relative", "limit", "", "verdict")
    return table(head, rows, right=(2, 3, 4, 5))


def _position(value: float) -> float:
    """Where a relative difference lies on the axis, in percent."""
    if value <= 0:
        return 0.0
    if not math.isfinite(value):
        return 100.0
    return 100 * min(max((math.log10(value) - LOWEST) / -LOWEST, 0.01), 1.0)


def _bar(percent: float, mark: float | None, verdict: str) -> str:
    limit = "" if mark is None else f'<i style="left:{mark:.1f}%"></i>'
    return f'<div class="bar {verdict}"><b style="width:{percent:.1f}%"></b>{limit}</div>'


def _operators(report: ConversionReport) -> str:
    def column(title: str, counts: dict[str, int]) -> str:
        ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
        most = max(counts.values(), default=1)
        rows = [[escape(name), f"{count:,}", _bar(100 * count / most, None, "count")] for name, count in ordered]
        rows.append(["<strong>total</strong>", f"<strong>{sum(counts.values()):,}</strong>", ""])
        return table((title, "nodes", ""), rows, right=(1,))

    target = report.target_name().partition(" ")[0]
    left = column(report.framework, report.source_operators)
    return f'<div class="columns">{left}{column(target, report.target_operators)}</div>'


__all__ = ["conversion_html", "verification_html"]
