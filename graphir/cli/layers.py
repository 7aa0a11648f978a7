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
    """The command's arguments."""
    parser.epilog = (
        "Each name can stand in --outputs and --inputs of every command that reads a model, and in `outputs` and\n"
        "`inputs` of graphir.load; the name of a layer with one result means that result.\n"
        "The table is as wide as the terminal; names are never cut, and -v and a pipe cut nothing."
    )
    parser.add_argument("source", metavar="MODEL", help=SOURCE_HELP)
    parser.add_argument(
        "--match", metavar="GLOB", action="append", default=[],
        help="only values whose name, layer or operator is like this, as in '*relu*' or Conv; repeatable",
    )  # fmt: skip
    add_model_options(parser)
    add_output_options(parser)


def run(options: argparse.Namespace, console: Console) -> int:
    """Print one line a value."""
    from graphir.analysis.places import matching, places
    from graphir.inspection import title_of

    model = open_model(options, console)
    found = places(model.graph)
    shown = matching(found, options.match)
    console.data({"source": options.source, "layers": [_plain(place) for place in shown]})
    console.show(lambda: f"{title_of(model)}\n\n{_text(shown)}\n\n  {_count(len(shown), len(found))}")
    return 0


def _text(shown: list[Place]) -> str:
    from graphir.report.text import table

    rows = [
        (place.name, place.operator, place.value.type, f"{place.parameters:,}" if place.parameters else "",
         "output" if place.is_output else "")
        for place in shown
    ]  # fmt: skip
    header = ("name", "operator", "type", "parameters", "")
    return table(header, rows, right=(3,), flexible=(0, 1, 2), whole=True)


def _count(shown: int, all_: int) -> str:
    from graphir.report.text import plural

    return plural(all_, "place") if shown == all_ else f"{shown:,} of {plural(all_, 'place')}"


def _plain(place: Place) -> dict[str, Any]:
    value = place.value
    shape = None
    if value.shape is not None:
        shape = [dim if isinstance(dim, int) else None if str(dim) == "?" else str(dim) for dim in value.shape]
    return {
        "name": place.name,
        "layer": place.layer,
        "operator": place.operator,
        "type": str(value.type),
        "dtype": None if value.dtype is None else value.dtype.value,
        "shape": shape,
        "parameters": place.parameters,
        "is_output": place.is_output,
        "sources": list(value.sources),
    }
