"""`graphir padding`: what every convolution and pooling pads, and where two models differ in it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .model import first_line, open_model
from .options import SOURCE_HELP, add_model_options, add_other_options, add_output_options, one_of, other_options

if TYPE_CHECKING:
    from graphir.converters.formats import Source
    from graphir.graph import Graph

    from .console import Console

EXAMPLES = """With OTHER, the windows of both models are held side by side; the first model is taken to be right. What
disagrees is explained, with what would mend the second; the exit code is then 4.

examples:
  graphir padding frozen.pb -i input:1,224,224,3
  graphir padding frozen.pb port-symbol.json -i input:1,299,299,3 --other-input data:1,3,299,299
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.epilog = EXAMPLES
    parser.add_argument("source", metavar="MODEL", help=SOURCE_HELP)
    parser.add_argument("other", metavar="OTHER", nargs="?", help="a model to hold against it")
    add_model_options(parser)
    add_other_options(parser)
    parser.add_argument("--report", metavar="FILE", type=one_of((".html", ".json")), help="write a report to a file")
    add_output_options(parser)


def run(options: argparse.Namespace, console: Console) -> int:
    """List the windows of one model, or hold those of two against each other; 4 if they disagree."""
    model = open_model(options, console, simplified=False)
    if options.other is None:
        return _show(model.graph, first_line(model), options, console)
    return _compare(model, open_model(other_options(options), console, simplified=False), options, console)


def _show(graph: Graph, line: str, options: argparse.Namespace, console: Console) -> int:
    from graphir.analysis.windows import find_windows
    from graphir.report.padding import windows_json, windows_text
    from graphir.report.write import write_document

    windows = find_windows(graph)
    data = {"source": options.source, "windows": windows_json(windows)}
    if options.report:
        from graphir.report.padding_html import windows_html

        write_document(options.report, data, lambda: windows_html(windows, line))
    console.data(data)
    console.show(line + "\n\n" + windows_text(windows))
    return 0


def _compare(model: Source, other: Source, options: argparse.Namespace, console: Console) -> int:
    from graphir.analysis.padding_audit import audit_graphs
    from graphir.converters.table import fixes_of
    from graphir.report.padding import audit_json, audit_text
    from graphir.report.write import write_document

    console.stage("aligning the models")
    found = audit_graphs(model.graph, other.graph, fixes_of(other.format))
    lines = first_line(model), first_line(other)
    data = {"first": options.source, "second": options.other, **audit_json(found)}
    if options.report:
        from graphir.report.padding_html import audit_html

        write_document(options.report, data, lambda: audit_html(found, *lines))
    console.data(data)
    console.show(audit_text(found, *lines, verbose=options.verbose > 0))
    return 0 if found.agrees else 4


__all__ = ["add_arguments", "run"]
