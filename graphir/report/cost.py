"""The cost of a model as text, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphir.safety.foreign_text import csv_cell, one_line
from graphir.structure.look import look, of_width
from graphir.types import Sym

from .text import amount, memory, plural, table, wrapped

if TYPE_CHECKING:
    from graphir.analysis.cost import Cost
    from graphir.types import Dim

NAMES_SHOWN = 3
EXPRESSION = 60
COUNTS = ("parameters", "MACs", "FLOPs", "activations")
CSV_HEADER = ("name", "operator", "outputs", "parameters", "auxiliary_parameters", "shared_parameters", "macs", "flops",
              "activation_bytes", "not_counted")  # fmt: skip


def cost_text(cost: Cost, width: int | None = None) -> str:
    """Return tables of the layers and operators, and the totals, in `width` columns, by default those of the look."""
    layers = [
        (layer.name, layer.operator, _count(layer.parameters), _count(layer.macs), _count(layer.flops),
         memory(layer.activation_bytes))
        for layer in cost.layers
    ]  # fmt: skip
    operators = [
        (row.operator, f"{row.nodes:,}", _count(row.parameters), _count(row.macs), _count(row.flops),
         share(row.flops, cost.flops))
        for row in cost.operators
    ]  # fmt: skip
    with of_width(look().width if width is None else width):
        return "\n".join([
            table(("layer", "operator", *COUNTS), layers, right=range(2, 6), flexible=(0, 1, 3, 4, 5), scoped=True),
            "",
            table(("operator", "nodes", *COUNTS[:3], "of FLOPs"), operators, right=range(1, 6), flexible=(0, 3, 4)),
            "",
            totals_text(totals(cost)),
        ])  # fmt: skip


def totals_text(rows: Sequence[tuple[str, str]]) -> str:
    """Return one line per name and value, long values wrapped."""
    return "\n".join(wrapped(value, first=f"  {name:11}  ", rest=" " * 15) for name, value in rows)


def totals(cost: Cost) -> list[tuple[str, str]]:
    """Return names and values of the model's total cost and of what it excludes."""
    rows = [
        ("parameters", f"{cost.parameters:,} ({memory(cost.parameter_bytes)}): {cost.trainable:,} trainable, "
                       f"{cost.auxiliary:,} auxiliary"),
        ("MACs", exact(cost.macs)),
        ("FLOPs", exact(cost.flops)),
        ("activations", _exact_bytes(cost.activation_bytes)),
    ]  # fmt: skip
    if cost.unsized_results:
        rows[-1] = ("activations", f"{rows[-1][1]}, without {plural(cost.unsized_results, 'layer')} of unknown sizes")
    if cost.folded:
        text = f"{cost.folded_parameters:,} of the parameters are part of other layers' weights now"
        rows.append(("folded", f"{text} ({_names(cost.folded)}); names tell which of them are auxiliary"))
    if cost.open_loops:
        rows.append(("one run", f"of each loop is counted; a loop may run more often ({_names(cost.open_loops)})"))
    for why, names in not_counted(cost).items():
        rows.append(("not counted", f"{plural(len(names), 'layer')} ({_names(names)}): {one_line(why)}"))
    if cost.unsized:
        text = f"{plural(len(cost.unsized), 'parameter')} of unknown shape; set input shapes with -i"
        rows.append(("not counted", f"{text} ({_names(cost.unsized)})"))
    return rows


def not_counted(cost: Cost) -> dict[str, list[str]]:
    """Return the layers that are not in the totals, by reason."""
    groups: dict[str, list[str]] = {}
    for layer in cost.uncounted:
        groups.setdefault(layer.why, []).append(f"{layer.name}, {layer.operator}")
    return groups


def cost_json(cost: Cost) -> dict[str, Any]:
    """Return the cost as plain data: numbers, expressions in symbolic sizes as text, null where a layer's is not
    known."""
    return {
        "parameters": cost.parameters,
        "trainable_parameters": cost.trainable,
        "auxiliary_parameters": cost.auxiliary,
        "parameter_bytes": cost.parameter_bytes,
        "macs": json_count(cost.macs),
        "flops": json_count(cost.flops),
        "activation_bytes": json_count(cost.activation_bytes),
        "operators": [
            {
                "operator": row.operator,
                "nodes": row.nodes,
                "parameters": row.parameters,
                "macs": json_count(row.macs),
                "flops": json_count(row.flops),
                "activation_bytes": json_count(row.activation_bytes),
            }
            for row in cost.operators
        ],
        "layers": [
            {
                "name": layer.name,
                "operator": layer.operator,
                "outputs": list(layer.outputs),
                "parameters": layer.parameters,
                "auxiliary_parameters": layer.auxiliary,
                "shared_parameters": layer.shared,
                "macs": json_count(layer.macs),
                "flops": json_count(layer.flops),
                "activation_bytes": json_count(layer.activation_bytes),
                "not_counted": layer.why,
            }
            for layer in cost.layers
        ],
        "uncounted": [{"name": row.name, "operator": row.operator, "why": row.why} for row in cost.uncounted],
        "unsized_parameters": list(cost.unsized),
        "open_loops": list(cost.open_loops),
        "folded": list(cost.folded),
        "folded_parameters": cost.folded_parameters,
    }


def cost_csv(cost: Cost) -> str:
    """Return a header and a line per layer as CSV; unknown counts are empty. Lines end as in RFC 4180."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(CSV_HEADER)
    for layer in cost.layers:
        counts = [json_count(count) for count in (layer.macs, layer.flops, layer.activation_bytes)]
        cells = [
            layer.name, layer.operator, " ".join(layer.outputs), layer.parameters, layer.auxiliary, layer.shared,
            *("" if count is None else count for count in counts), layer.why,
        ]  # fmt: skip
        writer.writerow(map(csv_cell, cells))
    return file.getvalue()


def share(part: Dim | None, whole: Dim | None) -> str:
    """Return a part of the whole in percent; "" if either is not an integer.

    >>> share(1, 3), share(0, 3), share(0, 0)
    ('33.3%', '', '')
    """
    if not isinstance(part, int) or not isinstance(whole, int) or not whole or not part:
        return ""
    return f"{100 * part / whole:.1f}%"


def json_count(count: object) -> int | str | None:
    """Return a count as a JSON value: a number, an expression as text, or None."""
    return count if isinstance(count, int) or count is None else str(count)


def _count(count: object) -> str:
    return "" if count == 0 else amount(count)


def exact(count: Dim | None) -> str:
    """Return a total in full and abbreviated; for a long expression the names of its sizes."""
    if count is None:
        return "an expression that is too long; set sizes with -i"
    if isinstance(count, Sym) and len(str(count)) > EXPRESSION:
        return f"a long expression in {', '.join(sorted(count.symbols()))} (--json has it); set sizes with -i"
    return f"{count:,} ({amount(count)})" if isinstance(count, int) and count >= 10_000 else amount(count)


def _exact_bytes(count: Dim | None) -> str:
    return memory(count) if isinstance(count, int) else f"bytes: {exact(count)}"


def _names(names: Sequence[str]) -> str:
    return "; ".join(map(one_line, names[:NAMES_SHOWN])) + ("; ..." if len(names) > NAMES_SHOWN else "")
