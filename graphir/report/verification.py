"""The report of a verification as text and as JSON."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphir.safety.foreign_text import listing, one_line
from graphir.structure.look import Painted, paint, verdict, verdict_style
from graphir.verification.verdict import Verdict

from .text import number, plural, table, wrapped

if TYPE_CHECKING:
    from graphir.verification.numbers.compare import Comparison
    from graphir.verification.report import Cause, VerificationReport


MEANINGS = {
    "identical": "every output is the same to the last bit",
    "noise": "every output is equal within rounding",
    "not proven": "the outputs agree, but these runs cannot reveal a fault",
    "not deterministic": "two runs of the model differ by more than rounding explains",
    "broken": "the models do not compute the same",
}
SAME_FILES = "both files have the same bytes; differences below come from onnxruntime"
SAME_NODES = "every node is the same in both; differences below come from onnxruntime"
# What a comparison's note says where no difference can be computed.
INCOMPARABLE = ("shapes differ", "texts differ", "infinities or NaN", "no such output")
LAYERS_SHOWN = 12
REWRITES_SHOWN = 5
CHANGES_SHOWN = 6
CAUSES_SHOWN = 5
SETS_NAMED = 6
COVERAGE_SHOWN = 2


def verdict_line(report: VerificationReport) -> str:
    """Return the outcome in one line."""
    verdict = report.verdict
    if verdict is Verdict.NOT_PROVEN and report.reasons:
        return f"NOT PROVEN: {report.reasons[0]}"
    word = headline(report).upper() if not report.ok else headline(report)
    if not report.ok:
        return f"{word}: {verdict} ({meaning(report)})" if verdict.differs else f"{word}: {meaning(report)}"
    count = report.nodes_differing
    said = [meaning(report)] if verdict is Verdict.IDENTICAL else []
    said += [report.narrower] if report.narrower else []
    if count:
        said.append(f"{count:,} {'node differs' if count == 1 else 'nodes differ'}, {report.nodes_same:,} are the same")
    return f"{word}: {verdict}" + (f" ({'; '.join(said)})" if said else "")


def meaning(report: VerificationReport) -> str:
    """Return the meaning of the verdict as a clause."""
    if report.verdict is Verdict.IDENTICAL and report.same_files:
        return SAME_FILES
    is_to_the_last_bit = {output.verdict for output in report.outputs} <= {Verdict.IDENTICAL}
    if report.verdict is Verdict.IDENTICAL and not is_to_the_last_bit:
        return SAME_NODES
    return MEANINGS[report.verdict.value]


def further_reasons(report: VerificationReport) -> Sequence[str]:
    """Return the reasons of `not proven`, without the one in the verdict's line."""
    return report.reasons[1:] if report.verdict is Verdict.NOT_PROVEN else report.unproven


def headline(report: VerificationReport) -> str:
    """Return the outcome in a word or two."""
    if report.ok:
        return "verified"
    return "different" if report.verdict.differs else report.verdict.value


def verification_text(report: VerificationReport, *, verbose: bool = False) -> str:
    """Return the verdict, both models, the inputs, a table of the outputs, and the first layer that differs.

    With `verbose` every layer is listed, else the first that differ.
    """
    feeds = ", ".join(f"{one_line(name)} {type_}" for name, type_ in report.feeds.items()) or "none"
    lines = [
        verdict(verdict_line(report)),
        f"  reference  {one_line(report.reference)}",
        f"  candidate  {one_line(report.candidate)}",
    ]
    if report.outputs:
        table_lines = ["", comparison_table(report.outputs, "output", worst_sets(report))]
        lines += [f"  inputs     {feeds}", *set_lines(report, verbose=verbose), *table_lines]
    said = [output for output in report.outputs if output.note and output.verdict is not Verdict.NOT_PROVEN]
    lines += [wrapped(f"{output.name}: {output.note}") for output in said]
    lines += [wrapped(f"classes: {ranking}") for ranking in report.rankings]
    causes = [cause_text(cause) for cause in report.causes]
    lines += _first_lines("cause", causes, len(causes) if verbose else CAUSES_SHOWN)
    lines += [wrapped(f"not proven: {reason}") for reason in further_reasons(report)]
    lines += [wrapped(f"note: {note}") for note in report.notes]
    lines += _first_lines("diff", report.changes, len(report.changes) if verbose else CHANGES_SHOWN)
    lines += _first_lines("coverage", report.coverage, len(report.coverage) if verbose else COVERAGE_SHOWN)
    if report.layers:
        lines += ["", *_layer_lines(report, verbose)]
    return "\n".join(lines)


def _first_lines(label: str, lines: Sequence[str], shown: int) -> list[str]:
    """Return the first lines under a label, and how many more there are."""
    more = [] if len(lines) <= shown else [f"  ... and {len(lines) - shown} more of {label} (-v lists all)"]
    return [*(wrapped(f"{label}: {line}") for line in lines[:shown]), *more]


def set_lines(report: VerificationReport, *, verbose: bool = False) -> list[str]:
    """Return the sets of inputs in a line; a line for each where one does not pass, or if `verbose`. Of many sets, as
    files may give them, some are named, and of those only what does not pass has a line."""
    if len(report.sets) < 2:
        return []
    named = [one_line(input_set.name) for input_set in report.sets]
    names = ", ".join(named if verbose or len(named) <= SETS_NAMED else [*named[:SETS_NAMED], "..."])
    said = f"{len(named)} of inputs: {names}; each row is from the set that differs most"
    lines = [wrapped(said, first="  sets       ", rest=" " * 13)]
    failing = [input_set for input_set in report.sets if not input_set.verdict.passes]
    listed = report.sets if verbose or (failing and len(named) <= SETS_NAMED) else failing[:SETS_NAMED]
    width = max((len(input_set.name) for input_set in listed), default=0)
    for input_set in listed:
        feeds = ", ".join(f"{one_line(name)} {type_}" for name, type_ in input_set.feeds.items())
        word = _word(input_set.verdict)
        said = paint(f"{word:10}", word.style)
        lines.append(f"             {one_line(input_set.name):{width}}  {said}  {feeds}".rstrip())
    if len(failing) > len(listed):
        lines.append(f"             ... and {len(failing) - len(listed)} more that do not pass (-v lists all)")
    return lines


def cause_text(cause: Cause) -> str:
    """Return a layer where differences begin, in one line."""
    count = len(cause.follows)
    follows = f"; {plural(count, 'layer')} {'differs' if count == 1 else 'differ'} because of it" if count else ""
    return f"{cause.name}: {cause.what}{follows}"


def worst_sets(report: VerificationReport) -> list[str]:
    """Return the set of inputs that each output's comparison comes from; nothing where there is one set."""
    if len(report.sets) < 2:
        return []
    return [
        next((input_set.name for input_set in report.sets if output in input_set.outputs), "")
        for output in report.outputs
    ]


def comparison_table(comparisons: Sequence[Comparison], what: str, sets: Sequence[str] = ()) -> str:
    """Return one line a value, with its set of inputs where there are `sets`. The floor is `-` where a difference that
    passes needed none to be measured."""
    column = ("set",) if sets else ()
    return table(
        (what, *column, "shape", "scale", "max abs diff", "relative", "noise floor", "limit", "verdict"),
        [
            (
                item.name,
                *sets[index : index + 1],
                "x".join(map(str, item.shape)) or "scalar",
                number(item.scale),
                *magnitudes(item),
                number(item.floor) if has_floor(item) else "-",
                number(item.limit) if math.isfinite(item.max_abs) else "-",
                _word(item.verdict),
            )
            for index, item in enumerate(comparisons)
        ],
        right=range(2 + len(column), 7 + len(column)),
        flexible=(0, 1 + len(column)),
        scoped=True,
    )


def magnitudes(comparison: Comparison) -> tuple[str, str]:
    """Return the largest difference and its share of the scale; where none can be computed, what differs instead."""
    if math.isfinite(comparison.max_abs):
        return number(comparison.max_abs), number(comparison.relative) if math.isfinite(comparison.relative) else "-"
    return next((said for said in INCOMPARABLE if said in comparison.note), "no number"), "-"


def describe_difference(comparison: Comparison) -> str:
    """Return the difference of two results as a clause, or the reason why none can be computed."""
    if not math.isfinite(comparison.max_abs):
        return comparison.note or "the difference is not finite"
    allowed = f"where {number(comparison.limit)} is allowed"
    if not math.isfinite(comparison.relative):
        return f"off by {number(comparison.max_abs)} from zero, {allowed}"
    return f"off by {number(comparison.relative)} of the scale at most, {allowed}"


def has_floor(comparison: Comparison) -> bool:
    """Return whether the noise floor was measured; results that pass without one need none."""
    return bool(comparison.floor) or not comparison.verdict.passes


def _word(verdict: Verdict) -> Painted:
    """Return a verdict in a word, in capitals where it does not pass."""
    word = verdict.word if verdict.passes else verdict.word.upper()
    return Painted(word, verdict_style(word))


def _layer_lines(report: VerificationReport, verbose: bool) -> list[str]:
    differing = report.diverging
    first = report.first_divergence
    if first is None:
        said = "none differs by more than rounding" + (
            " where both models have the same form" if report.rewritten else ""
        )
        lines = [f"layer by layer: {plural(len(report.layers), 'value')} compared, {said}"]
    else:
        lines = [
            f"layer by layer: {len(differing)} of {plural(len(report.layers), 'value')} differ; "
            f"the first is {one_line(first.name)}"
        ]
    rewritten = [f"rewritten: {name}: {said}" for name, said in report.rewritten.items()]
    lines += [wrapped(line) for line in (rewritten if verbose else rewritten[:REWRITES_SHOWN])]
    if len(rewritten) > REWRITES_SHOWN and not verbose:
        lines.append(f"  ... and {len(rewritten) - REWRITES_SHOWN} more rewritten layers (-v lists all)")
    if verbose:
        lines.append(comparison_table(report.layers, "layer"))
    elif differing:
        lines.append(comparison_table(differing[:LAYERS_SHOWN], "layer"))
        if len(differing) > LAYERS_SHOWN:
            lines.append(f"  ... and {len(differing) - LAYERS_SHOWN} more (-v lists all)")
    return lines


def verification_json(report: VerificationReport) -> dict[str, Any]:
    """Return the report as plain data. Numbers that JSON lacks (infinity) are null, with the reason in `note`."""
    first = report.first_divergence
    return {
        "ok": report.ok,
        "verdict": report.verdict.value,
        "same_files": report.same_files,
        "narrower": report.narrower,
        "reference": report.reference,
        "candidate": report.candidate,
        "unproven": report.reasons,
        "feeds": dict(report.feeds),
        "sets": [
            {
                "name": input_set.name,
                "verdict": input_set.verdict.value,
                "feeds": dict(input_set.feeds),
                "outputs": [_comparison_json(output) for output in input_set.outputs],
            }
            for input_set in report.sets
        ],
        "rankings": [
            {
                "name": ranking.name,
                "rows": ranking.rows,
                "top1": ranking.top1,
                "top1_near_ties": ranking.near1,
                "top5": ranking.top5,
                "top5_near_ties": ranking.near5,
            }
            for ranking in report.rankings
        ],
        "coverage": list(report.coverage),
        "changes": list(report.changes),
        "causes": [{"name": cause.name, "what": cause.what, "follows": list(cause.follows)} for cause in report.causes],
        "notes": list(report.notes),
        "seconds": round(report.seconds, 3),
        "outputs": [_comparison_json(output) for output in report.outputs],
        "first_divergence": None if first is None else first.name,
        "layers": [
            {**_comparison_json(layer), "rewritten": report.rewritten.get(layer.name, "")} for layer in report.layers
        ],
        "providers": dict(Counter(node.provider for node in report.placement)),
        "nodes": _placement_json(report),
    }


def _placement_json(report: VerificationReport) -> list[dict[str, str]]:
    """Return each node with its provider; none where one provider has all of them, which its count says."""
    if len({node.provider for node in report.placement}) < 2:
        return []
    return [{"name": node.name, "operator": node.operator, "provider": node.provider} for node in report.placement]


def _comparison_json(comparison: Comparison) -> dict[str, Any]:
    return {
        "name": comparison.name,
        "shape": list(comparison.shape),
        "scale": _finite(comparison.scale),
        "max_abs": _finite(comparison.max_abs),
        "relative": _finite(comparison.relative),
        "floor": _finite(comparison.floor) if has_floor(comparison) else None,
        "limit": _finite(comparison.limit),
        "verdict": comparison.verdict.value,
        "note": comparison.note,
    }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


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
