"""`graphir verify`: do two models compute the same?"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from .console import say
from .options import (
    add_comparison_options,
    add_model_options,
    add_other_options,
    add_output_options,
    comparison_options,
    model_options,
    need_feeds,
    need_files,
    one_of,
    other_options,
    read_by,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphir.converters.options import ModelOptions
    from graphir.graph import Graph

    from .console import Console

EXAMPLES = """A is the reference: an MXNet model, a golden capture (.npz), an .onnx or a .graphir.json.
B is the candidate: an .onnx, an MXNet model or a .graphir.json.

exit codes: 0 the same up to rounding, 4 different, 5 not proven (the outputs agree and that shows too little, or they
change from run to run), 1 failed, 2 wrong usage

examples:
  graphir verify model-symbol.json model.onnx -i data:1,3,224,224 --per-layer
  graphir verify model.onnx --provider cuda --reproduce part   (is the GPU right, and if not, which node is wrong?)
  graphir verify --capture-script > capture.py     (run it in the old MXNet environment, then:)
  graphir verify capture.npz model.onnx
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = EXAMPLES
    parser.add_argument("reference", metavar="A", nargs="?", help="the reference: a model, or a golden capture (.npz)")
    parser.add_argument(
        "candidate", metavar="B", nargs="?",
        help="the model to compare with it; with --provider it may be omitted: A itself, run there",
    )  # fmt: skip
    parser.add_argument(
        "--capture-script",
        action="store_true",
        help="print a script that records inputs, outputs and layers of an MXNet model in an old environment",
    )
    add_model_options(parser)
    add_other_options(parser, "B")
    comparison = parser.add_argument_group("comparison")
    add_comparison_options(comparison)
    comparison.add_argument(
        "--match",
        metavar="A=B[:AXES]",
        type=read_by("graphir.verification.pairs.matches", "parse_match"),
        action="append",
        default=[],
        help="pair an input or output of A with one of B where names differ, optionally with the order of its "
        "axes for B, as in data=image:0,2,3,1; repeatable",
    )
    comparison.add_argument(
        "--reproduce",
        metavar="FOLDER",
        help="if the models differ, write the part of each around the first cause, its inputs and a script that "
        "shows the difference in onnxruntime alone; the folder must be new or empty",
    )
    parser.add_argument("--report", metavar="FILE", type=one_of((".html", ".json")), help="write a report to a file")
    add_output_options(parser, judges=True)


def run(options: argparse.Namespace, console: Console) -> int:
    """Compare the models and print the report. Return 4 if they differ, 5 if nothing is proven."""
    if options.capture_script:
        from graphir.converters.table import FORMATS

        for row in FORMATS.values():
            if row.capture_script is not None:
                say(row.capture_script().rstrip("\n"), sys.stdout)
        return 0
    alone = options.candidate is None
    if options.reference is None or (alone and options.provider == "cpu"):
        options.parser.error("two models are needed, A (the reference) and B; or A and a --provider that A is run on")

    if any(given.dtype is not None for given in (*options.inputs, *options.other_inputs)):
        options.parser.error("-i takes only a shape here: the models state their dtypes")
    need_files(options.params, options.other_params)
    need_feeds(options.feeds)
    candidate = options.reference if alone else options.candidate
    for model in (options.reference, candidate):
        if model.endswith((".onnx", ".npz", ".json")):
            need_files(model)

    from pathlib import Path

    from graphir.report.cases import verification_suite
    from graphir.report.verification import verification_json, verification_text
    from graphir.verification.models import verify_models

    console.stage(f"comparing {options.reference} with {'itself there' if alone else candidate}")
    chosen = model_options(options)
    other = chosen if alone else model_options(other_options(options))
    report = verify_models(
        (Path(options.reference), chosen), (Path(candidate), other), comparison_options(options, console.stage)
    )
    if options.report:
        from graphir.report.write import write_report

        sides = [(options.reference, chosen), (candidate, other)]
        write_report(report, options.report, lambda: _graph_to_draw(sides), (options.reference, candidate))
    console.show(lambda: verification_text(report, verbose=options.verbose > 0))
    console.data(verification_json(report))
    console.cases(lambda: verification_suite(report, options.reference, candidate))
    return report.exit_code


def _graph_to_draw(sides: Sequence[tuple[str, ModelOptions]]) -> Graph | None:
    """Return the graph to draw: that of the first model that can be read."""
    from graphir.converters.opening import read_model
    from graphir.errors import GraphirError

    for path, options in sides:
        try:
            return read_model(path, options).graph
        except GraphirError:  # a golden capture, or a file that onnxruntime runs and no graph says
            continue
    return None
