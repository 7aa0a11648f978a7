"""`graphir convert`: from a model file to another, with a report."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .options import (
    SOURCE_HELP,
    add_comparison_options,
    add_model_options,
    add_output_options,
    add_target_options,
    comparison_options,
    constant_value,
    constants_of,
    model_options,
    need_feeds,
    need_files,
    one_of,
    target_options,
)

if TYPE_CHECKING:
    from .console import Console

EXAMPLES = """exit codes: 0 done, 1 failed, 2 wrong usage; with --verify 4 written and different, 5 written and
not proven (agreement proves too little; for TensorFlow: the reference was the imported graph, not TensorFlow)

examples:
  graphir convert model-symbol.json model.onnx                 (reads model-0000.params beside it)
  graphir convert model model.onnx -i data:N,3,224,224 --verify
  graphir convert folder/ model.onnx --verify --per-layer --report report.html
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = EXAMPLES
    parser.add_argument("source", metavar="SOURCE", help=SOURCE_HELP)
    parser.add_argument(
        "target", metavar="TARGET",
        help="the file to write: something.onnx, something.py (a PyTorch module), something-symbol.json, "
        "something.graphir.json, or something.safetensors (with --like)",
    )
    add_model_options(parser)
    add_target_options(parser)
    _add_module_options(parser)
    parser.add_argument(
        "--weights",
        choices=("auto", "inline", "external", "reference"),
        default="auto",
        help="inside the .onnx (inline), in a .data file beside it (external), or left in the .params (reference); "
        "auto (the default) is inline below 2 GiB",
    )
    parser.add_argument(
        "--constant",
        dest="constants",
        metavar="NAME=VALUE",
        type=constant_value,
        action="append",
        default=[],
        help="make an input a parameter with this value, as in axes=[0,2]; repeatable",
    )
    parser.add_argument(
        "--dtype", choices=("float16", "bfloat16"),
        help="convert weights and graph to this float; layers whose values do not fit stay float32 (see "
        "docs/half_precision.md)",
    )
    parser.add_argument(
        "--io-dtype", choices=("float32", "float16", "bfloat16"), default="float32",
        help="with --dtype: the dtype of inputs and outputs (default float32)",
    )
    parser.add_argument(
        "--keep-float32", metavar="GLOB", action="append", default=[],
        help="with --dtype: layers that stay float32, as in 'fc*'; repeatable",
    )
    parser.add_argument("--simplify", action="store_true", help="write the smallest equal graph (see graphir simplify)")
    parser.add_argument("--keep-loss", action="store_true", help="keep loss heads and labels that inference can run")
    parser.add_argument(
        "--strict", action="store_true",
        help="for MXNet models: treat NaN and infinities as MXNet does, at the cost of more nodes",
    )  # fmt: skip
    parser.add_argument("--report", metavar="FILE", type=one_of((".html", ".json")), help="write a report to a file")
    group = parser.add_argument_group("proof")
    group.add_argument("--verify", action="store_true", help="run the result and the source, and compare")
    group.add_argument(
        "--accuracy",
        metavar="FILE.npz",
        help="run both on labelled data (arrays by input name, and `label`: class indices) and compare accuracies",
    )
    add_comparison_options(group)
    add_output_options(parser, judges=True)


def _add_module_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("PyTorch modules")
    group.add_argument(
        "--names", metavar="FILE",
        help="write the name of each weight in the source and in the state_dict to a JSON file",
    )  # fmt: skip
    group.add_argument(
        "--layout", choices=("NCHW",),
        help="of a TensorFlow or Keras model: inputs and outputs have channels first",
    )  # fmt: skip
    group.add_argument(
        "--like", metavar="FILE",
        help="with a .safetensors target: weights of the same network, whose keys are used",
    )  # fmt: skip
    group.add_argument(
        "--like-graph", metavar="MODEL",
        help="a model of that network whose parameters have these keys; without it tensors are matched by order, "
        "kind and shape",
    )  # fmt: skip
    group.add_argument(
        "--training", action="store_true",
        help="write a module for training: with Dropout, and with scores instead of a final softmax",
    )  # fmt: skip


def run(options: argparse.Namespace, console: Console) -> int:
    """Convert the model and print the report. Return the exit code."""
    options.verify = options.verify or options.per_layer
    for name in ("python", "live_seconds", "live_memory"):
        if getattr(options, name) is not None and not (options.verify or options.accuracy):
            options.parser.error(f"--{name.replace('_', '-')} needs --verify")
    for name in ("feeds", "seed", "rtol", "atol"):
        if getattr(options, name) is not None and not options.verify:
            options.parser.error(f"--{name} needs --verify")

    from graphir.converters.writing import after_writing, target_format

    stated = target_options(options, options.target, target_format(options.target))
    need_files(options.params, options.accuracy, options.like)
    need_feeds(options.feeds)
    if options.verify or options.accuracy:
        from graphir.runtime.session import provider_names

        provider_names(options.provider)

    from graphir.conversion import Destination, Proof, Simplification, convert_model, half_options
    from graphir.errors import ArgumentError
    from graphir.report.cases import conversion_suite

    try:
        half = half_options(options.dtype, options.io_dtype, options.keep_float32)
    except ArgumentError as error:
        options.parser.error(str(error))
    console.steps = [word for word, is_wanted in (
        ("reading", True), ("simplifying", options.simplify), ("converting", half is not None), ("writing", True),
        ("verifying", options.verify),
        ("measuring", options.accuracy),
    ) if is_wanted]  # fmt: skip
    report = convert_model(
        options.source,
        Destination(options.target, stated, constants_of(options), options.report, half,
               Simplification() if options.simplify else None),
        model_options(options),
        Proof(comparison_options(options, console.stage), options.verify, options.accuracy),
        console.stage,
    )
    with after_writing(options.target, "the report of it"):
        if options.report:
            from graphir.report.write import write_report

            write_report(report, options.report)
        console.show(lambda: report.to_text(verbose=options.verbose > 0))
        console.data(report.to_json())
        console.cases(lambda: conversion_suite(report, options.source, options.target))
        console.flush()
    return 0 if report.verification is None else report.verification.exit_code
