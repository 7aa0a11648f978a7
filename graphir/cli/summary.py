"""`graphir summary`: the layers of a model with their parameters and multiply-accumulates."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .model import open_model
from .options import SOURCE_HELP, add_model_options, add_output_options

if TYPE_CHECKING:
    from .console import Console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = (
        "Parameters are elements of the model's own weights, shared ones counted once.\n"
        "A MAC is one multiplication with its addition. What papers call FLOPs is either this or twice this.\n"
        "The table is as wide as the terminal; -v and a pipe cut no name.\n"
        "Layers inside a branch or a loop are listed behind it. Of an If the branch with the most MACs counts, of a\n"
        "loop all its runs where the model states their number, else one."
    )
    parser.add_argument("source", metavar="MODEL", help=SOURCE_HELP)
    add_model_options(parser)
    add_output_options(parser)


def run(options: argparse.Namespace, console: Console) -> int:
    """Print one line a layer, and the totals."""
    from graphir.inspection import summary_of

    report = summary_of(open_model(options, console))
    console.data({"source": options.source, **report.to_json()})
    console.show(report.to_text)
    return 0
