"""The cost of a model as text, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphir.safety.foreign_text import csv_cell, one_line
from graphir.structure.look import look, of_width
from graphir.types import Sym

from .fitting import amount, memory
from .text import plural, table, wrapped

if TYPE_CHECKING:
    from graphir.analysis.cost import Cost
    from graphir.types import Dim

NAMES_SHOWN = 3
EXPRESSION = 60
COUNTS = ("parameters", "MACs", "FLOPs", "activations")
CSV_HEADER = ("name", "operator", "outputs", "parameters", "auxiliary_parameters", "shared_parameters", "macs", "flops",
              "activation_bytes", "not_counted")  # fmt: skip


def cost_text(found: Cost, width: int | None = None) -> str:
    """A table of the layers, one of the operators, and the totals, in `width` columns, or as the look has it."""
    layers = [
        (layer.name, layer.operator, _some(layer.parameters), _some(layer.macs), _some(layer.flops),
         memory(layer.activation_bytes))
        for layer in found.layers
    ]  # fmt: skip
    operators = [
        (row.operator, f"{row.nodes:,}", _some(row.parameters), _some(row.macs), _some(row.flops),
         share(row.flops, found.flops))
        for row in found.operators
    ]  # fmt: skip
    with of_width(look().width if width is None else width):
        return "\n".join([
            table(("layer", "operator", *COUNTS), layers, right=range(2, 6), flexible=(0, 1, 3, 4, 5), scoped=True),
            "",
            table(("operator", "nodes", *COUNTS[:3], "of FLOPs"), operators, right=range(1, 6), flexible=(0, 3, 4)),
            "",
            totals_text(totals(found)),
        ])  # fmt: skip


def totals_text(rows: Sequence[tuple[str, str]]) -> str:
    """Names and values below each other, long ones wrapped."""
    return "\n".join(wrapped(value, first=f"  {name:11}  ", rest=" " * 15) for name, value in rows)


def totals(found: Cost) -> list[tuple[str, str]]:
    """Names and values of what the model costs in all, and what is not in it."""
    rows = [
        ("parameters", f"{found.parameters:,} ({memory(found.parameter_bytes)}): {found.trainable:,} trainable, "
                       f"{found.auxiliary:,} auxiliary"),
        ("MACs", exact(found.macs)),
        ("FLOPs", exact(found.flops)),
        ("activations", _exact_bytes(found.activation_bytes)),
    ]  # fmt: skip
    if found.unsized_results:
        rows[-1] = ("activations", f"{rows[-1][1]}, without {plural(found.unsized_results, 'layer')} of unknown sizes")
    if found.folded:
        text = f"{found.folded_parameters:,} of the parameters are part of other layers' weights now"
        rows.append(("folded", f"{text} ({_names(found.folded)}); auxiliary ones among them are known by their names"))
    if found.open_loops:
        rows.append(("one run", f"is counted of loops that may run more often ({_names(found.open_loops)})"))
    for why, names in not_counted(found).items():
        rows.append(("not counted", f"{plural(len(names), 'layer')} ({_names(names)}): {one_line(why)}"))
    if found.unsized:
        text = f"{plural(len(found.unsized), 'parameter')} of unknown shape, give -i"
        rows.append(("not counted", f"{text} ({_names(found.unsized)})"))
    return rows


def not_counted(found: Cost) -> dict[str, list[str]]:
    """The layers that are not in the totals, by the reason."""
    groups: dict[str, list[str]] = {}
    for layer in found.uncounted:
        groups.setdefault(layer.why, []).append(f"{layer.name}, {layer.operator}")
    return groups


def cost_json(found: Cost) -> dict[str, Any]:
    """The cost as plain data: numbers, expressions in symbolic sizes as text, null where a layer's is not known."""
    return {
        "parameters": found.parameters,
        "trainable_parameters": found.trainable,
        "auxiliary_parameters": found.auxiliary,
        "parameter_bytes": found.parameter_bytes,
        "macs": plain(found.macs),
        "flops": plain(found.flops),
        "activation_bytes": plain(found.activation_bytes),
        "operators": [
            {
                "operator": row.operator,
                "nodes": row.nodes,
                "parameters": row.parameters,
                "macs": plain(row.macs),
                "flops": plain(row.flops),
                "activation_bytes": plain(row.activation_bytes),
            }
            for row in found.operators
        ],
        "layers": [
            {
                "name": layer.name,
                "operator": layer.operator,
                "outputs": list(layer.outputs),
                "parameters": layer.parameters,
                "auxiliary_parameters": layer.auxiliary,
                "shared_parameters": layer.shared,
                "macs": plain(layer.macs),
                "flops": plain(layer.flops),
                "activation_bytes": plain(layer.activation_bytes),
                "not_counted": layer.why,
            }
            for layer in found.layers
        ],
        "uncounted": [{"name": row.name, "operator": row.operator, "why": row.why} for row in found.uncounted],
        "unsized_parameters": list(found.unsized),
        "open_loops": list(found.open_loops),
        "folded": list(found.folded),
        "folded_parameters": found.folded_parameters,
    }


def cost_csv(found: Cost) -> str:
    """A line for each layer, with a header; what is not known is an empty cell. Lines end as RFC 4180 has it."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(CSV_HEADER)
    for layer in found.layers:
        counts = [plain(count) for count in (layer.macs, layer.flops, layer.activation_bytes)]
        cells = [
            layer.name, layer.operator, " ".join(layer.outputs), layer.parameters, layer.auxiliary, layer.shared,
            *("" if count is None else count for count in counts), layer.why,
        ]  # fmt: skip
        writer.writerow(map(csv_cell, cells))
    return file.getvalue()


def share(part: Dim | None, whole: Dim | None) -> str:
    """A part of the whole in percent; "" where either is no number.

    >>> share(1, 3), share(0, 3), share(0, 0)
    ('33.3%', '', '')
    """
    if not isinstance(part, int) or not isinstance(whole, int) or not whole or not part:
        return ""
    return f"{100 * part / whole:.1f}%"


def plain(count: object) -> int | str | None:
    """A count for JSON."""
    return count if isinstance(count, int) or count is None else str(count)


def _some(count: object) -> str:
    return "" if count == 0 else amount(count)


def exact(count: Dim | None) -> str:
    """A total, all of its digits and in short; of a long expression the names of its sizes."""
    if count is None:
        return "an expression that is too long: give sizes with -i"
    if isinstance(count, Sym) and len(str(count)) > EXPRESSION:
        return f"a long expression in {', '.join(sorted(count.symbols()))} (--json has it): give sizes with -i"
    return f"{count:,} ({amount(count)})" if isinstance(count, int) and count >= 10_000 else amount(count)


def _exact_bytes(count: Dim | None) -> str:
    return memory(count) if isinstance(count, int) else f"bytes: {exact(count)}"


def _names(names: Sequence[str]) -> str:
    return "; ".join(map(one_line, names[:NAMES_SHOWN])) + ("; ..." if len(names) > NAMES_SHOWN else "")
