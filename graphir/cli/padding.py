"""`graphir padding`: what every convolution and pooling pads, and where two models differ in it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .model import open_model
from .options import SOURCE_HELP, add_model_options, add_other_options, add_output_options, one_of, other_options

if TYPE_CHECKING:
    from graphir.report.inspected import WindowsReport

    from .console import Console

EXAMPLES = """With OTHER, the windows of both models are compared; the first model is taken to be right. Each
disagreement is explained, with a fix for the second model; the exit code is then 4.

examples:
  graphir padding frozen.pb -i input:1,224,224,3
  graphir padding frozen.pb port-symbol.json -i input:1,299,299,3 --other-input data:1,3,299,299
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = EXAMPLES
    parser.add_argument("source", metavar="MODEL", help=SOURCE_HELP)
    parser.add_argument("other", metavar="OTHER", nargs="?", help="a model to compare with it")
    add_model_options(parser)
    add_other_options(parser)
    parser.add_argument("--report", metavar="FILE", type=one_of((".html", ".json")), help="write a report to a file")
    add_output_options(parser, judges=True)


def run(options: argparse.Namespace, console: Console) -> int:
    """List the windows of one model, or compare those of two. Return 4 if they disagree."""
    if options.other is None and options.output_format in ("github", "junit"):
        options.parser.error(f"--output-format {options.output_format} tells what was judged: it needs OTHER")

    from graphir.inspection import padding_of_both, windows_of
    from graphir.report.cases import padding_suite
    from graphir.report.inspected import PaddingReport
    from graphir.report.write import write_document

    model = open_model(options, console, simplified=False)
    report: WindowsReport | PaddingReport
    if options.other is None:
        report, data = windows_of(model), {"source": options.source}
    else:
        other = open_model(other_options(options), console, simplified=False)
        console.stage("aligning the models")
        report, data = padding_of_both(model, other), {"first": options.source, "second": options.other}
    data = {**data, **report.to_json()}
    if options.report:
        write_document(options.report, data, report.to_html)
    console.data(data)
    console.show(lambda: report.to_text(verbose=options.verbose > 0))
    if isinstance(report, PaddingReport):
        audited = report
        console.cases(lambda: padding_suite(audited, options.source, options.other))
    return 0 if report else 4
