"""`graphir simplify`: the smallest equal graph, proven."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .options import (
    add_comparison_options,
    add_conversion_arguments,
    add_latency_option,
    add_output_options,
    comparison_options,
    model_options,
    need_feeds,
    need_files,
)
from .sizes import size

if TYPE_CHECKING:
    from .console import Console

EPILOG = """Names of inputs and outputs, the opset and open sizes stay as they are.
docs/howto/simplify.md lists the rules.

exit codes: 0 the same up to rounding, 4 different, 5 not proven, 1 failed, 2 wrong usage; OUT stays in every case

examples:
  graphir simplify model.onnx small.onnx
  graphir simplify model.onnx small.onnx --fuse --opset 20
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = EPILOG
    add_conversion_arguments(parser)
    parser.add_argument(
        "--fuse", action="store_true",
        help="recognise operators that the opset has (LayerNormalization, Gelu, ...), which old runtimes may not have",
    )  # fmt: skip
    parser.add_argument(
        "--max-growth", metavar="SIZE", type=size, default=1 << 30,
        help="bytes that computed constants of more than 65,536 elements may take in all (default 1GB)",
    )  # fmt: skip
    group = parser.add_argument_group("proof")
    group.add_argument("--no-verify", action="store_true", help="do not run the result and the model to compare them")
    add_comparison_options(group)
    add_latency_option(group, 2.0)
    add_output_options(parser, judges=True)


def run(options: argparse.Namespace, console: Console) -> int:
    """Simplify the model and print the report. Return the exit code."""
    need_files(options.params)
    need_feeds(options.feeds)

    from graphir.conversion import Proof, Simplification
    from graphir.converters.writing import after_writing
    from graphir.report.cases import conversion_suite
    from graphir.simplification import simplify_model

    console.steps = ["reading", "simplifying", "writing", "verifying", "measuring"]
    what = Simplification(options.fuse, options.max_growth)
    proof = Proof(comparison_options(options, console.stage), not options.no_verify)
    report = simplify_model(
        options.source, options.target, what, options.opset, options.seconds, model_options(options), proof,
        console.stage,
    )  # fmt: skip
    with after_writing(options.target, "the report of it"):
        console.show(lambda: report.to_text(verbose=options.verbose > 0))
        console.data(report.to_json())
        console.cases(lambda: conversion_suite(report.conversion, options.source, options.target))
    return report.exit_code
