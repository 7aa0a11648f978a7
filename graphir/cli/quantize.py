"""`graphir quantize`: 8 and 4 bits, by onnxruntime, with what that saves and costs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .options import (
    add_conversion_arguments,
    add_latency_option,
    add_output_options,
    model_options,
    names,
    need_feeds,
    need_files,
    one_of,
    tolerance,
    whole_number,
)

if TYPE_CHECKING:
    from .console import Console

EPILOG = """The quantization is that of onnxruntime.quantization. A quarter of the feeds, at most 32, does not calibrate
and shows the error. With a limit the layers that cause the largest errors stay float, as few as it needs.
docs/howto/quantize.md explains the numbers.

exit codes: 0 done, 1 failed, 2 wrong usage, 4 the limit is not kept (nothing is written, unless --keep-best)

examples:
  graphir quantize model.onnx int8.onnx --feeds photos/
  graphir quantize model int8.onnx --feeds photos/ --accuracy labelled.npz --max-drop 0.5%
  graphir quantize bert.onnx int8.onnx --kind dynamic
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = EPILOG
    add_conversion_arguments(parser)
    group = parser.add_argument_group("precision")
    group.add_argument(
        "--kind", choices=("static", "dynamic", "int4"), default="static",
        help="static (default): 8 bits, ranges of activations from --feeds; dynamic: 8 bits, ranges found at run time; "
        "int4: weights of MatMul and Gemm only (float16: graphir convert --dtype)",
    )  # fmt: skip
    group.add_argument(
        "--activations", choices=("uint8", "int8", "uint16", "int16"),
        help="static: the type of activations (default uint8); 16 bits need opset 21",
    )  # fmt: skip
    group.add_argument("--per-tensor", action="store_true", help="one scale for a whole weight, not one a channel")
    group.add_argument(
        "--reduce-range", action="store_true",
        help="weights of 7 bits, for x86 processors without VNNI, which saturate sums of 8-bit products",
    )  # fmt: skip
    group.add_argument(
        "--block-size", metavar="N", type=int, choices=(16, 32, 64, 128, 256),
        help="int4: weights that share a scale: 16, 32 (default), 64, 128 or 256",
    )  # fmt: skip
    group.add_argument(
        "--exclude", metavar="NAMES", type=names, action="extend", default=[],
        help="nodes that stay float, with * and ?, as in 'fc*,conv1'; repeatable",
    )  # fmt: skip
    _add_data_options(parser)
    _add_proof_options(parser)
    parser.add_argument("--report", metavar="FILE", type=one_of((".html", ".json")), help="write a report to a file")
    add_output_options(parser)


def _add_data_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("data")
    group.add_argument(
        "--feeds", metavar="WHAT", action="append",
        help="inputs as they occur: a folder of images, .npy or .npz, or such a file; repeatable",
    )  # fmt: skip
    group.add_argument(
        "--method", choices=("minmax", "entropy", "percentile"),
        help="static: how ranges follow from activations (default minmax)",
    )  # fmt: skip
    group.add_argument(
        "--samples", metavar="N", type=whole_number, default=128, help="samples that calibrate at most (default 128)"
    )
    group.add_argument(
        "--seed", metavar="N", type=whole_number, default=0, help="seed of the order of the samples (default 0)"
    )


def _add_proof_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("proof")
    group.add_argument(
        "--accuracy", metavar="FILE.npz",
        help="labelled data (arrays by input name, and `label`: class indices) to count accuracies on",
    )  # fmt: skip
    group.add_argument(
        "--max-drop", metavar="X", type=share,
        help="with --accuracy: by how much the accuracy may drop, in points: 0.5%% or 0.005",
    )  # fmt: skip
    group.add_argument(
        "--max-error", metavar="X", type=tolerance, help="the relative error of the worst output that is allowed"
    )
    group.add_argument("--keep-best", action="store_true", help="write the best model even if it misses the limit")
    add_latency_option(group, 3.0)
    group.add_argument(
        "--threads", metavar="N", type=whole_number, default=1, help="threads within an operator for that (default 1)"
    )


def share(text: str) -> float:
    """Read a share as `0.5%` or `0.005`. Raises ArgumentTypeError."""
    is_percent = text.endswith("%")
    value = tolerance(text.removesuffix("%")) / (100 if is_percent else 1)
    if value > 1:
        raise argparse.ArgumentTypeError(f"{text!r} is more than everything; write 0.5% or 0.005")
    return value


def run(options: argparse.Namespace, console: Console) -> int:
    """Quantize the model and print the report. Return 4 if a stated limit is not kept."""
    from graphir.errors import ArgumentError
    from graphir.quantization.options import NO_FEEDS, QuantizeOptions

    try:
        how = QuantizeOptions(
            options.kind, options.activations, options.method, not options.per_tensor, options.reduce_range,
            options.block_size, options.samples, options.exclude, options.accuracy, options.max_drop,
            options.max_error, options.keep_best, options.opset, options.seconds, options.threads, options.seed,
        )  # fmt: skip
        how.check()
    except ArgumentError as error:
        options.parser.error(str(error))
    if options.feeds is None and options.kind == "static":
        options.parser.error(NO_FEEDS)
    need_files(options.params, options.accuracy)
    need_feeds(options.feeds)

    from graphir.converters.writing import after_writing
    from graphir.quantization.run import quantize_model

    console.steps = ["reading", "writing", "calibrating", "quantizing", "ranking", "measuring", "timing"]
    report = quantize_model(
        options.source, options.target, options.feeds, how, model_options(options), console.stage, options.report
    )
    with after_writing(options.target, "the report of it"):
        if options.report:
            from graphir.report.write import write_document

            write_document(options.report, report.to_json(), report.to_html)
        console.show(lambda: report.to_text(verbose=options.verbose > 0))
        console.data(report.to_json())
    return report.exit_code
