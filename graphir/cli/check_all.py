"""`graphir check` of several models: a row each, and the gaps of all of them together."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphir.errors import Gap, GraphirError
from graphir.registry.buckets import Bucket, bucket_of_error
from graphir.registry.opened import extracted, forget, list_archive
from graphir.registry.sources import EMPTY, ListedModel, ModelSearch
from graphir.report.cases import Case, Result, first_line, models_suite
from graphir.report.gaps import NODES_SHOWN, CheckReport, fallbacks_json, fallbacks_line, gaps_json
from graphir.report.registry import skipped_text
from graphir.report.text import plural, table, wrapped
from graphir.safety.counted import counted
from graphir.safety.foreign_text import in_one_line, one_line
from graphir.safety.limits import Limits, limited
from graphir.structure.look import harmless, look

from .model import checked_model
from .sources import shown_sources

if TYPE_CHECKING:
    from graphir.runtime.fallbacks import Fallbacks

    from .console import Console

CAUSE = 200


@dataclass(frozen=True)
class CheckedModel:
    """The result of one model: its nodes, its gaps, or the error."""

    model: ListedModel
    framework: str = ""
    nodes: int = 0
    gaps: Sequence[Gap] = ()
    step: str = ""
    bucket: Bucket | None = None
    error: str = ""
    fallbacks: Fallbacks | None = None

    @property
    def ok(self) -> bool:
        """Return whether everything converts."""
        return not self.gaps and not self.error


class _ScratchFolder:
    """The folder in which archives are unpacked."""

    def __init__(self, root: str) -> None:
        self.root = root

    def workspace(self, slug: str) -> Path:
        return Path(tempfile.mkdtemp(prefix=f"{slug}-", dir=self.root))


def run_all(options: argparse.Namespace, stated: Mapping[str, Any], models: ModelSearch, console: Console) -> int:
    """Check the models one by one. Return 1 if any has gaps or cannot be checked."""
    with _scratch() as scratch:
        rows = [
            row for model in counted(models.models, "model")
            for row in _rows(model, options, stated, console, scratch, models)
        ]  # fmt: skip
    console.data(_document(options, rows, models))
    console.show(lambda: _text(rows, models, verbose=options.verbose > 0))
    title = ", ".join(shown_sources(options))
    console.cases(lambda: models_suite("check", title, map(_case, rows), _text(rows, models, verbose=False)))
    return 0 if all(row.ok for row in rows) else 1


@contextmanager
def _scratch() -> Iterator[_ScratchFolder]:
    with tempfile.TemporaryDirectory(prefix="graphir-check-") as root:
        try:
            yield _ScratchFolder(root)
        finally:
            forget()


def _rows(
    model: ListedModel,
    options: argparse.Namespace,
    stated: Mapping[str, Any],
    console: Console,
    scratch: Any,
    search: ModelSearch,
) -> list[CheckedModel]:
    """Return the row of a model, or the rows of an archive's models. Each model has its own limits."""
    console.stage(f"checking {model.name}")
    try:
        with limited(options.limits or Limits()):
            if model.is_closed:
                inside = list_archive(model, scratch, options.limits)
                search.passed.update(inside.passed)
                if not inside.models:
                    search.passed[EMPTY] += 1
                return [
                    row for member in inside.models for row in _rows(member, options, stated, console, scratch, search)
                ]  # fmt: skip
            with extracted(model, scratch) as (path, root):
                try:
                    result = checked_model(argparse.Namespace(**{**vars(options), "source": path}), stated, console)
                    return [_row(model, result)]
                except GraphirError as error:
                    return [_failure_row(model, error, "" if root is None else str(root))]
    except (GraphirError, MemoryError, OSError) as error:
        return [_failure_row(model, error)]


def _failure_row(model: ListedModel, error: BaseException, root: str = "") -> CheckedModel:
    """Return the row of a model that could not be checked, without the folder that it was unpacked in."""
    text = str(error) or type(error).__name__
    return CheckedModel(model, bucket=bucket_of_error(error), error=text.replace(root, model.archive) if root else text)


def _row(model: ListedModel, result: CheckReport) -> CheckedModel:
    if result.reading is None:
        return CheckedModel(model, gaps=result.gaps, step=result.step)
    nodes = sum(result.reading.operators.values())
    return CheckedModel(model, result.reading.description.made_by, nodes, fallbacks=result.fallbacks)


def _case(row: CheckedModel) -> Case:
    if row.error:
        return Case("models", row.model.name, Result.ERROR, (row.bucket or Bucket.REFUSED).value,
                    first_line(row.error), row.error)  # fmt: skip
    *_, summary = _cells(row)
    said = "\n".join(map(str, row.gaps))
    return Case("models", row.model.name, Result.FAILED if row.gaps else Result.PASSED, "gaps", summary, said)


def _document(options: argparse.Namespace, rows: Sequence[CheckedModel], search: ModelSearch) -> dict[str, Any]:
    return {
        "target": options.target,
        "opset": options.opset,
        "ok": all(row.ok for row in rows),
        "models": [
            {
                "name": row.model.name,
                "source": row.model.shown,
                "ok": row.ok,
                "framework": row.framework,
                "nodes": row.nodes,
                "gaps": gaps_json(row.gaps, row.step),
                "error": row.error,
                **({} if row.fallbacks is None else {"placement": fallbacks_json(row.fallbacks)}),
            }
            for row in rows
        ],
        "gaps": _merge_gaps(rows),
        "passed_over": dict(sorted(search.passed.items())),
    }


def _merge_gaps(rows: Sequence[CheckedModel]) -> list[dict[str, Any]]:
    """Return the gaps of all models by operator and reason, those that most models have first."""
    met: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for row in rows:
        for gap in row.gaps:
            met.setdefault((gap.operator, gap.reason), []).append((row.model.name, len(gap.nodes)))
    ordered = sorted(met.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    return [
        {
            "operator": operator,
            "reason": reason,
            "nodes": sum(count for _, count in models),
            "models": [name for name, _ in models],
        }
        for (operator, reason), models in ordered
    ]


def _text(rows: Sequence[CheckedModel], search: ModelSearch, *, verbose: bool) -> str:
    good = sum(row.ok for row in rows)
    parts = [f"{plural(len(rows), 'model')}: {good:,} convert completely"]
    parts.append(table(("model", "of", "nodes", "result"), [_cells(row) for row in rows], right=(2,)))
    parts += [_gap_text(gap, verbose=verbose) for gap in _merge_gaps(rows)]
    errors = [wrapped(f"{row.model.name}: {_shorten(row.error)}") for row in rows if row.error]
    if errors:
        parts.append("\n".join(["could not be checked:", *errors]))
    if skipped := skipped_text(search.passed):
        parts.append(skipped)
    return harmless("\n\n".join(parts), has_colours=look().colour)


def _cells(row: CheckedModel) -> tuple[str, str, str, str]:
    if row.error:
        return row.model.name, "-", "-", (row.bucket or Bucket.REFUSED).value
    if not row.gaps:
        placed = "" if row.fallbacks is None else f"; {fallbacks_line(row.fallbacks)}"
        return row.model.name, row.framework, f"{row.nodes:,}", f"everything converts{placed}"
    nodes = sum(len(gap.nodes) for gap in row.gaps)
    operators = plural(len({gap.operator for gap in row.gaps}), "operator")
    what = "cannot be read" if row.step == "reading" else "cannot be written"
    return row.model.name, "-", "-", f"{operators} in {plural(nodes, 'node')} {what}"


def _gap_text(gap: Mapping[str, Any], *, verbose: bool) -> str:
    models = gap["models"]
    shown = models if verbose else models[:NODES_SHOWN]
    more = f" and {len(models) - len(shown):,} more (-v lists all)" if len(shown) < len(models) else ""
    head = f"  {one_line(gap['operator'])}: {plural(gap['nodes'], 'node')} of {plural(len(models), 'model')}"
    names = wrapped(", ".join(shown) + more, first="    ", rest="    ")
    return "\n".join([head, names, wrapped(gap["reason"], first="    why: ", rest="      ")])


def _shorten(text: str) -> str:
    line = in_one_line(text)
    return line if len(line) <= CAUSE else line[: CAUSE - 4].rstrip() + " ..."
