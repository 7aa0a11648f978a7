"""The layers of a model as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphir.safety.foreign_text import one_line

from .cost import exact, json_count
from .text import plural, size, table, wrapped

if TYPE_CHECKING:
    from graphir.analysis.summary import Summary
    from graphir.graph import Graph


def summary_text(summary: Summary, inputs: Sequence[tuple[str, ...]] = ()) -> str:
    """Return the table, behind rows for `inputs`, and the totals."""
    rows = [
        (
            layer.name,
            layer.operator,
            ", ".join(_short(type_) for type_ in layer.outputs),
            _parameters(layer.parameters, layer.shared),
            _count(layer.macs),
        )
        for layer in summary.layers
    ]
    header = ("layer", "operator", "output", "parameters", "MACs")
    shown = table(header, [*inputs, *rows], right=(3, 4), flexible=(0, 1, 2, 4), scoped=True)
    lines = [wrapped(text, first=f"  {name:11} ", rest=" " * 14) for name, text in _totals(summary)]
    return "\n".join([shown, "", *lines])


def _totals(summary: Summary) -> list[tuple[str, str]]:
    """Return names and texts of the totals."""
    rows = [
        ("layers", f"{len(summary.layers):,}"),
        ("parameters", f"{summary.parameters:,} ({size(summary.parameter_bytes)})"),
        ("MACs", "unknown" if summary.macs is None else exact(summary.macs)),
    ]
    if summary.auxiliary:
        rows.insert(2, ("auxiliary", f"{summary.auxiliary:,} of the parameters are running means and variances"))
    if summary.folded:
        text = f"{summary.folded_parameters:,} of the parameters are part of other layers' weights now"
        rows.append(("folded", f"{text} ({_names(summary.folded)})"))
    if summary.open_loops:
        rows.append(("one run", f"of each loop is counted; a loop may run more often ({_names(summary.open_loops)})"))
    if summary.unused:
        text = f"{plural(summary.unused_parameters, 'element')} of the file, which inference does not read"
        rows.append(("not used", f"{text} ({_names(summary.unused)})"))
    if summary.unsized:
        text = f"{plural(len(summary.unsized), 'parameter')} of unknown shape; set input shapes with -i"
        rows.append(("not counted", f"{text} ({_names(summary.unsized)})"))
    return rows


def input_rows(graph: Graph) -> list[tuple[str, ...]]:
    """Return rows for the inputs of a graph, to stand before its layers."""
    return [(value.name, "input", _short(str(value.type)), "", "") for value in graph.inputs]


def _short(type_: str) -> str:
    """Return a type without `float32`, the dtype of nearly all."""
    return type_.removeprefix("float32")


def _parameters(unshared: int, shared: int) -> str:
    return f"{unshared:,}" if unshared else f"({shared:,} shared)" if shared else ""


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(map(one_line, names[:5])) + (", ..." if len(names) > 5 else "")


def summary_json(summary: Summary) -> dict[str, Any]:
    """Return the summary as plain data; MACs as a number, an expression in symbolic sizes, or null where unknown."""
    return {
        "layers": [
            {
                "name": layer.name,
                "operator": layer.operator,
                "outputs": list(layer.outputs),
                "parameters": layer.parameters,
                "shared_parameters": layer.shared,
                "macs": json_count(layer.macs),
            }
            for layer in summary.layers
        ],
        "parameters": summary.parameters,
        "parameter_bytes": summary.parameter_bytes,
        "auxiliary_parameters": summary.auxiliary,
        "macs": json_count(summary.macs),
        "unsized_parameters": list(summary.unsized),
        "folded": list(summary.folded),
        "folded_parameters": summary.folded_parameters,
        "open_loops": list(summary.open_loops),
        "unused": list(summary.unused),
        "unused_parameters": summary.unused_parameters,
    }


def _count(macs: object) -> str:
    if macs is None:
        return "?"
    return "" if macs == 0 else f"{macs:,}" if isinstance(macs, int) else str(macs)
