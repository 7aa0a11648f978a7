"""Two models' shapes side by side, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphir.safety.foreign_text import one_line
from graphir.structure.look import Painted, Style, verdict

from .text import plural, table

if TYPE_CHECKING:
    from graphir.analysis.shape_comparison import ShapePair
    from graphir.graph import Value

SHOWN = 20
VERDICTS = {
    "same": "",
    "layout": "other layout",
    "open": "dynamic sizes",
    "differs": "DIFFERS",
    "alone": "no counterpart",
}


def agree(pairs: Sequence[ShapePair]) -> bool:
    """Return whether no two layers that belong together differ in shape. Layers without a counterpart are no
    difference."""
    return not any(pair.verdict == "differs" for pair in pairs)


def shapes_text(pairs: Sequence[ShapePair], left: str, right: str, *, verbose: bool = False) -> str:
    """Return the outcome, the first layer that differs, and a table: of all layers if `verbose`, else of those that
    differ."""
    differing = [pair for pair in pairs if pair.verdict == "differs"]
    both = sum(pair.verdict != "alone" for pair in pairs)
    if differing:
        first = differing[0]
        assert first.left is not None
        said = f"{len(differing)} of {plural(both, 'layer')} that both models have"
        lines = [verdict(f"DIFFERENT: {said}; the first is {one_line(first.left.name)}")]
    else:
        lines = [verdict(f"same: {plural(both, 'layer')} of both models have the same shapes")]
    lines += [f"  first   {one_line(left)}", f"  second  {one_line(right)}"]
    shown = pairs if verbose else differing[:SHOWN]
    if shown:
        rows = [
            (*_cells(pair.left), *_cells(pair.right), _word(pair.verdict)) for pair in shown
        ]
        lines += ["", table(("first", "shape", "second", "shape", ""), rows)]
    if not verbose and len(differing) > SHOWN:
        lines.append(f"  ... and {len(differing) - SHOWN:,} more that differ (-v shows them, and those that do not)")
    return "\n".join(lines)


def shapes_json(pairs: Sequence[ShapePair]) -> dict[str, Any]:
    """Return the comparison as plain data."""
    return {
        "agree": agree(pairs),
        "layers": [
            {"first": _value_json(pair.left), "second": _value_json(pair.right), "verdict": pair.verdict}
            for pair in pairs
        ],
    }


def _word(comparison: str) -> str:
    styles = {"differs": Style.BAD, "same": Style.GOOD, "layout": Style.GOOD}
    word = VERDICTS[comparison] or "same"
    return Painted(word, styles[comparison]) if comparison in styles else word


def _cells(value: Value | None) -> tuple[str, str]:
    return ("-", "") if value is None else (value.name, str(value.type))


def _value_json(value: Value | None) -> dict[str, Any] | None:
    if value is None:
        return None
    operator = None if value.producer is None else value.producer.op.name
    return {"name": value.name, "type": str(value.type), "operator": operator}
