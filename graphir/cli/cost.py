"""`graphir cost`: parameters, multiply-accumulates, floating-point operations and activations of a model."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from .input_spec import input_spec
from .model import open_model
from .options import SOURCE_HELP, add_model_options, add_output_options, one_of

if TYPE_CHECKING:
    from graphir.analysis.cost import Cost

    from .console import Console

TARGETS = (".html", ".json", ".csv")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = (
        "A MAC is a multiplication and the addition of its product. FLOPs are two for each MAC and one for each\n"
        "other step: a sum, a product, a comparison, a function of one number. Dynamic sizes are symbols in the\n"
        "counts: set them with -i. docs/cost.md has the definitions."
    )
    parser.add_argument("source", metavar="MODEL", help=SOURCE_HELP)
    parser.add_argument(
        "--shapes", dest="inputs", metavar="NAME:SHAPE[:DTYPE]", type=input_spec, action="append",
        default=[], help="the same as -i",
    )  # fmt: skip
    parser.add_argument("--csv", action="store_true", help="print one line of CSV a layer instead of text")
    parser.add_argument(
        "--report", "--html", metavar="FILE", type=one_of(TARGETS),
        help="write a page with bars (.html), or the same as data (.json, .csv)",
    )  # fmt: skip
    add_model_options(parser)
    add_output_options(parser)


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the layers, the operators and the totals."""
    from graphir.analysis.cost import cost
    from graphir.inspection import title_of
    from graphir.report.cost import cost_csv, cost_json, cost_text

    if options.csv and options.output_format == "json":
        options.parser.error("--csv and --json exclude each other; use one of them")
    model = open_model(options, console)
    console.stage("counting")
    cost_of_model = cost(model.graph, model.parameters(), model.folded)
    if options.report is not None:
        _write(options.report, cost_of_model, options.source, title_of(model))
    console.data({"source": options.source, **cost_json(cost_of_model)})
    if options.csv:
        console.show(cost_csv(cost_of_model).replace("\r\n", "\n").rstrip("\n"))
    else:
        console.show(lambda: f"{title_of(model)}\n\n{cost_text(cost_of_model)}")
    return 0


def _write(target: str, cost: Cost, source: str, line: str) -> None:
    from graphir.report.cost import cost_csv, cost_json
    from graphir.report.cost_html import cost_html
    from graphir.report.write import write_document, write_text

    if os.fspath(target).endswith(".csv"):
        write_text(target, cost_csv(cost))
    else:
        write_document(target, {"source": source, **cost_json(cost)}, lambda: cost_html(cost, line))
