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
from graphir.registry.opened import forget, look_into, opened
from graphir.registry.sources import EMPTY, Found, Search
from graphir.report.cases import Case, Result, first_line, models_suite
from graphir.report.gaps import NODES_SHOWN, fallbacks_json, fallbacks_line, gaps_json
from graphir.report.registry import skipped_text
from graphir.report.text import plural, table, wrapped
from graphir.safety.counted import counted
from graphir.safety.foreign_text import in_one_line, one_line
from graphir.safety.limits import Limits, limited
from graphir.structure.look import harmless, look

from .checked import checked_model
from .sources import shown_sources

if TYPE_CHECKING:
    from graphir.runtime.fallbacks import Fallbacks

    from .console import Console

CAUSE = 200


@dataclass(frozen=True)
class Row:
    """A model: what its operators are, gaps, or why it could not be checked."""

    model: Found
    framework: str = ""
    nodes: int = 0
    gaps: Sequence[Gap] = ()
    step: str = ""
    bucket: Bucket | None = None
    error: str = ""
    fallbacks: Fallbacks | None = None

    @property
    def ok(self) -> bool:
        """Whether everything converts."""
        return not self.gaps and not self.error


class _Scratch:
    """Where archives are unpacked."""

    def __init__(self, root: str) -> None:
        self.root = root

    def workspace(self, slug: str) -> Path:
        return Path(tempfile.mkdtemp(prefix=f"{slug}-", dir=self.root))


def run_all(options: argparse.Namespace, stated: Mapping[str, Any], found: Search, console: Console) -> int:
    """Check them one after the other; 1 if any has gaps or cannot be checked."""
    with _scratch() as scratch:
        rows = [
            row for model in counted(found.models, "model")
            for row in _rows(model, options, stated, console, scratch, found)
        ]  # fmt: skip
    console.data(_document(options, rows, found))
    console.show(lambda: _text(rows, found, verbose=options.verbose > 0))
    title = ", ".join(shown_sources(options))
    console.cases(lambda: models_suite("check", title, map(_case, rows), _text(rows, found, verbose=False)))
    return 0 if all(row.ok for row in rows) else 1


@contextmanager
def _scratch() -> Iterator[_Scratch]:
    with tempfile.TemporaryDirectory(prefix="graphir-check-") as root:
        try:
            yield _Scratch(root)
        finally:
            forget()


def _rows(
    model: Found,
    options: argparse.Namespace,
    stated: Mapping[str, Any],
    console: Console,
    scratch: Any,
    found: Search,
) -> list[Row]:
    """A row of a model; of an archive those of its models. Each has limits of its own."""
    console.stage(f"checking {model.name}")
    try:
        with limited(options.limits or Limits()):
            if model.is_closed:
                inside = look_into(model, scratch, options.limits)
                found.passed.update(inside.passed)
                if not inside.models:
                    found.passed[EMPTY] += 1
                return [
                    row for one in inside.models for row in _rows(one, options, stated, console, scratch, found)
                ]  # fmt: skip
            with opened(model, scratch) as (place, root):
                try:
                    return [_row(model, place, options, stated, console)]
                except GraphirError as error:
                    return [_failed(model, error, "" if root is None else str(root))]
    except (GraphirError, MemoryError, OSError) as error:
        return [_failed(model, error)]


def _failed(model: Found, error: BaseException, root: str = "") -> Row:
    """What could not be checked; where it was unpacked is nobody's concern."""
    text = str(error) or type(error).__name__
    return Row(model, bucket=bucket_of_error(error), error=text.replace(root, model.archive) if root else text)


def _row(
    model: Found, place: str, options: argparse.Namespace, stated: Mapping[str, Any], console: Console
) -> Row:
    own = argparse.Namespace(**{**vars(options), "source": place})
    result = checked_model(own, stated, console)
    if result.reading is None:
        return Row(model, gaps=result.gaps, step=result.step)
    nodes = sum(result.reading.operators.values())
    return Row(model, result.reading.description.made_by, nodes, fallbacks=result.fallbacks)


def _case(row: Row) -> Case:
    if row.error:
        return Case("models", row.model.name, Result.ERROR, (row.bucket or Bucket.REFUSED).value,
                    first_line(row.error), row.error)  # fmt: skip
    *_, found = _cells(row)
    said = "\n".join(map(str, row.gaps))
    return Case("models", row.model.name, Result.FAILED if row.gaps else Result.PASSED, "gaps", found, said)


def _document(options: argparse.Namespace, rows: Sequence[Row], found: Search) -> dict[str, Any]:
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
        "gaps": _gathered(rows),
        "passed_over": dict(sorted(found.passed.items())),
    }


def _gathered(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The gaps of all models by operator and reason, those that most models have first."""
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


def _text(rows: Sequence[Row], found: Search, *, verbose: bool) -> str:
    good = sum(row.ok for row in rows)
    parts = [f"{plural(len(rows), 'model')}: {good:,} convert as a whole"]
    parts.append(table(("model", "of", "nodes", "found"), [_cells(row) for row in rows], right=(2,)))
    parts += [_gap_text(gap, verbose=verbose) for gap in _gathered(rows)]
    told = [wrapped(f"{row.model.name}: {_short(row.error)}") for row in rows if row.error]
    if told:
        parts.append("\n".join(["could not be checked:", *told]))
    if skipped := skipped_text(found.passed):
        parts.append(skipped)
    return harmless("\n\n".join(parts), has_colours=look().colour)


def _cells(row: Row) -> tuple[str, str, str, str]:
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


def _short(text: str) -> str:
    line = in_one_line(text)
    return line if len(line) <= CAUSE else line[: CAUSE - 4].rstrip() + " ..."
