"""`graphir layers`: where a model can be cut."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from .model import open_model
from .options import SOURCE_HELP, add_model_options, add_output_options

if TYPE_CHECKING:
    from graphir.analysis.places import Place

    from .console import Console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = (
        "Use these names in --outputs and --inputs of every command that reads a model, and in `outputs` and\n"
        "`inputs` of graphir.load; the name of a layer with one result means that result.\n"
        "The table is as wide as the terminal; names are never cut, and -v and a pipe cut nothing."
    )
    parser.add_argument("source", metavar="MODEL", help=SOURCE_HELP)
    parser.add_argument(
        "--match", metavar="GLOB", action="append", default=[],
        help="only values whose name, layer or operator matches, as in '*relu*' or Conv; repeatable",
    )  # fmt: skip
    add_model_options(parser)
    add_output_options(parser)


def run(options: argparse.Namespace, console: Console) -> int:
    """Print one line a value."""
    from graphir.analysis.places import matching, places
    from graphir.inspection import title_of

    model = open_model(options, console)
    everything = places(model.graph)
    shown = matching(everything, options.match)
    console.data({"source": options.source, "layers": [_place_json(item) for item in shown]})
    console.show(lambda: f"{title_of(model)}\n\n{_places_text(shown)}\n\n  {_count_text(len(shown), len(everything))}")
    return 0


def _places_text(shown: list[Place]) -> str:
    from graphir.report.text import table

    rows = [
        (item.name, item.operator, item.value.type, f"{item.parameters:,}" if item.parameters else "",
         "output" if item.is_output else "")
        for item in shown
    ]  # fmt: skip
    header = ("name", "operator", "type", "parameters", "")
    return table(header, rows, right=(3,), flexible=(0, 1, 2), whole=True)


def _count_text(shown: int, all_: int) -> str:
    from graphir.report.text import plural

    return plural(all_, "place") if shown == all_ else f"{shown:,} of {plural(all_, 'place')}"


def _place_json(item: Place) -> dict[str, Any]:
    value = item.value
    shape = None
    if value.shape is not None:
        shape = [dim if isinstance(dim, int) else None if str(dim) == "?" else str(dim) for dim in value.shape]
    return {
        "name": item.name,
        "layer": item.layer,
        "operator": item.operator,
        "type": str(value.type),
        "dtype": None if value.dtype is None else value.dtype.value,
        "shape": shape,
        "parameters": item.parameters,
        "is_output": item.is_output,
        "sources": list(value.sources),
    }
