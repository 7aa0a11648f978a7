"""The pages of a conversion and of a verification."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graphir.converters.table import FORMATS
from graphir.verification.verdict import Verdict

from .layers_html import LEGEND, comparisons, layers_section, row_ids
from .page import HtmlCell, TableShape, banner, bar, copyable, escape, facts, fold, footer, page, section, table
from .text import folded_text, plural, size
from .usage import inputs_of, option_of, program
from .verification import (
    NO_RUN,
    cause_text,
    headline,
    meaning,
    open_claims,
    proven_claims,
    verification_json,
    worst_sets,
)

if TYPE_CHECKING:
    from graphir.accuracy import AccuracyReport
    from graphir.graph import Graph
    from graphir.verification.report import VerificationReport

    from .conversion import ConversionReport


MOST_NODES = 20_000
SCOPE = ".picture"


def picture_of(graph: Graph | None, report: Mapping[str, object], rows: Mapping[str, str]) -> tuple[str, str]:
    """Return the section and the rules that it adds to the style sheet. `report` is a verification's JSON, `rows` the
    ids of layers' rows by name. Without a graph both are "", and where it cannot be drawn the section says why."""
    if graph is None:
        return "", ""
    if len(graph) > MOST_NODES:
        return _explain_omission(f"{len(graph):,} nodes are too many for a page"), ""
    from graphir.drawing.colours import style_sheet
    from graphir.drawing.layout import PlotExtraMissing
    from graphir.drawing.picture import plot
    from graphir.errors import FormatError

    note = ""
    try:
        picture = plot(graph, report=_drop_rewritten(report), titles=[graph.name])
    except FormatError as unknown:
        picture, note = plot(graph, titles=[graph.name]), f"Not coloured: {unknown}."
    try:
        drawn = picture.inline(rows)
    except PlotExtraMissing as missing:
        return _explain_omission(str(missing)), ""
    words = "Repeated blocks are one box; blocks that do not pass are expanded. Click a box to go to its row. " + note
    body = f'<div class="picture">{drawn}</div>\n<p class="legend">{escape(words)}</p>'
    return section("Picture", body), style_sheet(SCOPE)


def _drop_rewritten(report: Mapping[str, object]) -> dict[str, object]:
    """Return the report without layers that are only written otherwise: they are no difference."""
    layers = report.get("layers")
    kept = [layer for layer in layers if not layer.get("rewritten")] if isinstance(layers, list) else []
    return {**report, "layers": kept}


def _explain_omission(reason: str) -> str:
    return section("Picture", f"<p>Not drawn: {escape(reason)}. `graphir plot` draws a model on a separate page.</p>")


OPEN_DECISIONS = 12


def conversion_html(report: ConversionReport, graph: Graph | None = None) -> str:
    """Return the page of a conversion: verdict, what it shows, layers, how to go on, picture, decisions, operators.
    `graph` is drawn, coloured by verdict."""
    verified = report.verification
    sections = [
        banner("open", "Converted, not verified", "--verify proves that both compute the same.")
        if verified is None else _verdict_banner(verified)
    ]  # fmt: skip
    sections.append(
        _claims([], [NO_RUN]) if verified is None
        else _verification_claims(verified, _model_files(report), report.accuracy)
    )  # fmt: skip
    if report.accuracy is not None:
        sections.append(section("Accuracy", _accuracy(report.accuracy)))
    ids = {} if verified is None else row_ids(verified)
    if verified is not None:
        sections += _verification_sections(verified, ids)
    sections.append(section("What was converted", _conversion_facts(report)))
    sections.append(_usage(report))
    picture, style = _picture(graph, verified, ids)
    sections += [picture, section(f"Decisions ({len(report.decisions)})", _decisions(report))]
    sections.append(section("Operators before and after", _operators(report)))
    title = f"{Path(report.source).name} to {Path(report.target).name}"
    made_by = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    return page(title, filter(None, sections), made_by, style=style)


def verification_html(
    report: VerificationReport, graph: Graph | None = None, files: tuple[str, str] = ("", "")
) -> str:
    """Return the page of a verification: verdict, what it shows, outputs, layers, picture. `graph` is drawn, coloured
    by verdict; `files` are the paths of the two models, where they have any."""
    ids = row_ids(report)
    picture, style = _picture(graph, report, ids)
    sections = [
        _verdict_banner(report), _verification_claims(report, files), *_verification_sections(report, ids, files),
        _feeding(list(report.feeds.items()), {}, files[1]), picture,
    ]  # fmt: skip
    names = [Path(file).name for file in files if file]
    title = " and ".join(dict.fromkeys(names)) if len(names) == 2 else ""
    return page(f"Verification: {title}" if title else "Verification", filter(None, sections), footer(), style=style)


def _verdict_banner(report: VerificationReport) -> str:
    verdict = report.verdict
    said = report.reasons[0] if verdict is Verdict.NOT_PROVEN and report.reasons else meaning(report)
    text = said[0].upper() + said[1:] + "."
    first = report.first_divergence
    if first is not None:
        text += f" The first layer that differs is {first.name}."
    word = headline(report)
    title = word[0].upper() + word[1:] + (f": {verdict}" if verdict.passes or verdict.differs else "")
    return banner(verdict.css_class, title, text)


def _model_files(report: ConversionReport) -> tuple[str, str]:
    """Return the files that a conversion's proof ran as reference and candidate; none where another framework ran what
    was written, which is then the reference."""
    return (report.source, report.target) if FORMATS[report.target_format].runs else ("", "")


def _verification_claims(
    report: VerificationReport, files: tuple[str, str], judged: AccuracyReport | None = None
) -> str:
    names = Path(files[0]).name, Path(files[1]).name
    return _claims(proven_claims(report, names), open_claims(report, is_judged=judged is not None))


def _claims(said: Sequence[str], open_ends: Sequence[str]) -> str:
    def column(title: str, lines: Sequence[str]) -> str:
        items = "".join(f"<li>{escape(line)}</li>" for line in lines)
        return f"<div><h3>{title}</h3><ul>{items}</ul></div>" if lines else ""

    body = column("What this shows", said) + column("What it does not show", open_ends)
    return f'<section class="claims" aria-label="What this shows">{body}</section>'


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


def _usage(report: ConversionReport) -> str:
    known = {} if report.verification is None else report.verification.feeds
    return _feeding(report.inputs, known, report.target)


def _feeding(given: Sequence[tuple[str, str]], known: Mapping[str, str], path: str) -> str:
    """Return the section with the option for the inputs and a program that runs the file at `path`, where onnxruntime
    does."""
    stated, run = inputs_of(given), inputs_of(given, known)
    if not stated or not run:
        return ""
    parts = []
    if option_of(stated):
        parts.append("<p>The inputs for a command:</p>\n" + copyable(option_of(stated), "the option"))
    if path.endswith(".onnx"):
        text = program(run, path)
        if text is not None:
            parts.append("<p>A program that runs it in onnxruntime:</p>\n" + copyable(text, "the program"))
        else:
            parts.append("<p>numpy has no dtype for one of its inputs; <code>graphir.Session</code> runs it.</p>")
    return section("Use it", "\n".join(parts)) if parts else ""


def _picture(graph: Graph | None, report: VerificationReport | None, ids: Mapping[int, str]) -> tuple[str, str]:
    if report is None:
        return picture_of(graph, {}, {})
    rows = {layer.name: ids[index] for index, layer in enumerate(report.layers)}
    return picture_of(graph, verification_json(report), rows)


def _accuracy(report: AccuracyReport) -> str:
    rows = []
    for when, what, correct in (
        ("before", report.reference, report.reference_correct),
        ("after", report.candidate, report.candidate_correct),
    ):
        share = 100 * correct / report.samples
        rows.append([when, escape(what), f"{correct:,}", f"{share:.2f} %", bar(share, None, "noise")])
    note = (
        f"<p>{plural(report.samples, 'sample')} of {escape(report.data)}; the predicted class differs for "
        f"<strong>{report.differing:,}</strong>.</p>"
    )
    return note + table(("", "computed by", "correct", "accuracy", ""), rows, TableShape(right=(2, 3)))


def _decisions(report: ConversionReport) -> str:
    if not report.decisions:
        return "<p>None: nothing was assumed, dropped or rewritten.</p>"
    parts = []
    for kind, decisions in report.grouped_decisions().items():
        rows = [[escape(decision.node), escape(decision.text)] for decision in decisions]
        body = table(("node", "what was decided"), rows, TableShape(full=(1,), find=kind))
        parts.append(fold(kind, body, opened=len(rows) <= OPEN_DECISIONS, note=f"{len(rows):,}"))
    return "\n".join(parts)


def _verification_sections(
    report: VerificationReport, ids: Mapping[int, str], files: tuple[str, str] = ("", "")
) -> list[str]:
    feeds = _lines(f"{name}  {type_}" for name, type_ in report.feeds.items())
    about = facts(
        [
            ("reference", _lines([*filter(None, files[:1]), report.reference])),
            ("candidate", _lines([*filter(None, files[1:]), report.candidate])),
            ("inputs", feeds),
            *((("sets of inputs", _lines(f"{input_set.name}: {input_set.verdict}" for input_set in report.sets)),)
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
    sections = [section("Outputs", comparisons(report.outputs, "output", sets=worst_sets(report)) + LEGEND)]
    if report.layers:
        sections.append(layers_section(report, ids))
    return [*sections, section("How it was compared", about)]


def _operators(report: ConversionReport) -> str:
    def column(title: str, counts: dict[str, int]) -> str:
        ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
        most = max(counts.values(), default=1)
        rows: list[list[str | HtmlCell]] = [
            [escape(name), f"{count:,}", bar(100 * count / most)] for name, count in ordered
        ]
        rows.append(["<strong>total</strong>", f"<strong>{sum(counts.values()):,}</strong>", ""])
        return table((title, "nodes", ""), rows, TableShape(right=(1,), labelled=False, stacked=False))

    target = report.target_name().partition(" ")[0]
    left = column(report.framework, report.source_operators)
    return f'<div class="columns">{left}{column(target, report.target_operators)}</div>'
