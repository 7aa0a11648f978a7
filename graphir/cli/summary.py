"""`graphir summary`: the layers of a model with their parameters and multiply-accumulates."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from graphir.safety.foreign_text import one_line

from .model import first_line, open_model
from .options import SOURCE_HELP, add_model_options, add_output_options

if TYPE_CHECKING:
    from graphir.analysis.summary import Summary

    from .console import Console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.epilog = (
        "Parameters are elements of the model's own weights, shared ones counted once.\n"
        "A MAC is one multiplication with its addition. What papers call FLOPs is either this or twice this.\n"
        "Layers inside a branch or a loop are listed behind it. Of an If the branch with the most MACs counts, of a\n"
        "loop all its runs where the model states their number, else one."
    )
    parser.add_argument("source", metavar="MODEL", help=SOURCE_HELP)
    add_model_options(parser)
    add_output_options(parser)


def run(options: argparse.Namespace, console: Console) -> int:
    """Print one line a layer, and the totals."""
    from graphir.analysis.summary import summarize

    reading = open_model(options, console)
    found = summarize(reading.graph, reading.parameters(), reading.folded)
    console.data({"source": options.source, **as_json(found)})
    console.show(first_line(reading) + "\n\n" + as_text(found))
    return 0


def as_text(found: Summary) -> str:
    """The table and the totals."""
    from graphir.report.text import plural, size, table

    rows = [
        (
            layer.name,
            layer.operator,
            ", ".join(layer.outputs),
            (f"{layer.parameters:,}" if layer.parameters or layer.shared else "")
            + (f" (+{layer.shared:,} shared)" if layer.shared else ""),
            _count(layer.macs),
        )
        for layer in found.layers
    ]
    lines = [
        table(("layer", "operator", "output", "parameters", "MACs"), rows, right=(3, 4)),
        "",
        f"  layers      {len(found.layers):,}",
        f"  parameters  {found.parameters:,} ({size(found.parameter_bytes)})",
        f"  MACs        {'unknown' if found.macs is None else _count(found.macs) or '0'}",
    ]
    if found.folded:
        lines.append(
            f"  folded      {found.folded_parameters:,} of the parameters are part of other layers' weights now "
            f"({_names(found.folded)})"
        )
    if found.open_loops:
        lines.append(f"  one run     is counted of loops that may run more often ({_names(found.open_loops)})")
    if found.unused:
        lines.append(
            f"  not used    {found.unused_parameters:,} elements of the file, which inference does not read "
            f"({_names(found.unused)})"
        )
    if found.unsized:
        lines.append(
            f"  not counted {plural(len(found.unsized), 'parameter')} of unknown shape, give -i "
            f"({_names(found.unsized)})"
        )
    return "\n".join(lines)


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(map(one_line, names[:5])) + (", ..." if len(names) > 5 else "")


def as_json(found: Summary) -> dict[str, Any]:
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


__all__ = ["add_arguments", "as_json", "as_text", "run"]
