"""The layers of a model as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphir.safety.foreign_text import one_line

from .cost import exact
from .text import plural, size, table, wrapped

if TYPE_CHECKING:
    from graphir.analysis.summary import Summary
    from graphir.graph import Graph


def summary_text(found: Summary, inputs: Sequence[tuple[str, ...]] = ()) -> str:
    """The table, behind rows for `inputs`, and the totals."""
    rows = [
        (
            layer.name,
            layer.operator,
            ", ".join(_short(type_) for type_ in layer.outputs),
            _parameters(layer.parameters, layer.shared),
            _count(layer.macs),
        )
        for layer in found.layers
    ]
    header = ("layer", "operator", "output", "parameters", "MACs")
    shown = table(header, [*inputs, *rows], right=(3, 4), flexible=(0, 1, 2, 4), scoped=True)
    lines = [wrapped(text, first=f"  {name:11} ", rest=" " * 14) for name, text in _totals(found)]
    return "\n".join([shown, "", *lines])


def _totals(found: Summary) -> list[tuple[str, str]]:
    """Names and texts of what is said of the model as a whole."""
    rows = [
        ("layers", f"{len(found.layers):,}"),
        ("parameters", f"{found.parameters:,} ({size(found.parameter_bytes)})"),
        ("MACs", "unknown" if found.macs is None else exact(found.macs)),
    ]
    if found.auxiliary:
        rows.insert(2, ("auxiliary", f"{found.auxiliary:,} of the parameters are running means and variances"))
    if found.folded:
        text = f"{found.folded_parameters:,} of the parameters are part of other layers' weights now"
        rows.append(("folded", f"{text} ({_names(found.folded)})"))
    if found.open_loops:
        rows.append(("one run", f"is counted of loops that may run more often ({_names(found.open_loops)})"))
    if found.unused:
        text = f"{plural(found.unused_parameters, 'element')} of the file, which inference does not read"
        rows.append(("not used", f"{text} ({_names(found.unused)})"))
    if found.unsized:
        text = f"{plural(len(found.unsized), 'parameter')} of unknown shape, give -i"
        rows.append(("not counted", f"{text} ({_names(found.unsized)})"))
    return rows


def input_rows(graph: Graph) -> list[tuple[str, ...]]:
    """Rows for the inputs of a graph, to stand before its layers."""
    return [(value.name, "input", _short(str(value.type)), "", "") for value in graph.inputs]


def _short(type_: str) -> str:
    """A type without the dtype that nearly all have."""
    return type_.removeprefix("float32")


def _parameters(own: int, shared: int) -> str:
    return f"{own:,}" if own else f"({shared:,} shared)" if shared else ""


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(map(one_line, names[:5])) + (", ..." if len(names) > 5 else "")


def summary_json(found: Summary) -> dict[str, Any]:
    """The summary as plain data; MACs as a number, an expression in symbolic sizes, or null where unknown."""
    return {
        "layers": [
            {
                "name": layer.name,
                "operator": layer.operator,
                "outputs": list(layer.outputs),
                "parameters": layer.parameters,
                "shared_parameters": layer.shared,
                "macs": _plain(layer.macs),
            }
            for layer in found.layers
        ],
        "parameters": found.parameters,
        "parameter_bytes": found.parameter_bytes,
        "auxiliary_parameters": found.auxiliary,
        "macs": _plain(found.macs),
        "unsized_parameters": list(found.unsized),
        "folded": list(found.folded),
        "folded_parameters": found.folded_parameters,
        "open_loops": list(found.open_loops),
        "unused": list(found.unused),
        "unused_parameters": found.unused_parameters,
    }


def _count(macs: object) -> str:
    if macs is None:
        return "?"
    return "" if macs == 0 else f"{macs:,}" if isinstance(macs, int) else str(macs)


def _plain(macs: object) -> int | str | None:
    return macs if isinstance(macs, int) or macs is None else str(macs)
