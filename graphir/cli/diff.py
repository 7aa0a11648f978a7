"""`graphir diff`: what differs between two models as graphs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .model import open_model
from .options import SOURCE_HELP, add_model_options, add_other_options, add_output_options, one_of, other_options

if TYPE_CHECKING:
    from .console import Console

EXAMPLES = """Nodes are aligned by weights and structure, not by name or order, also across formats.
The exit code is 4 if the models differ; `graphir verify` tests whether they compute the same.

examples:
  graphir diff model-symbol.json model.onnx
  graphir diff before.onnx after.onnx --report changes.html
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = EXAMPLES
    parser.add_argument("source", metavar="A", help=SOURCE_HELP)
    parser.add_argument("other", metavar="B", help="the model to compare with it")
    add_model_options(parser)
    add_other_options(parser)
    parser.add_argument("--report", metavar="FILE", type=one_of((".html", ".json")), help="write a report to a file")
    add_output_options(parser, judges=True)


def run(options: argparse.Namespace, console: Console) -> int:
    """Print what differs; 4 if anything does."""
    from graphir.inspection import diff_of
    from graphir.report.cases import diff_suite
    from graphir.report.write import write_document

    model = open_model(options, console)
    other = open_model(other_options(options), console)
    console.stage("comparing the models")
    report = diff_of(model, other)
    data = {"first": options.source, "second": options.other, **report.to_json()}
    if options.report:
        write_document(options.report, data, report.to_html)
    console.data(data)
    console.show(lambda: report.to_text(verbose=options.verbose > 0))
    console.cases(lambda: diff_suite(report, options.source, options.other))
    return 0 if report else 4
