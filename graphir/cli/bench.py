"""`graphir bench`: how long a model takes in onnxruntime, and how much longer another one."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .options import (
    PROVIDER,
    SOURCE_HELP,
    add_model_options,
    add_other_options,
    add_output_options,
    model_options,
    need_files,
    other_options,
    provider,
    seconds,
    whole_number,
)

if TYPE_CHECKING:
    from .console import Console

EPILOG = """A model of another format is converted to ONNX first. The times to convert it, to open it in
onnxruntime and of the first run are listed separately. All outputs are computed.
On a GPU, inputs and outputs stay on the device: the times exclude copies. docs/bench.md defines the numbers.

examples:
  graphir bench model.onnx --batch 1 8 32 --threads 1
  graphir bench model-symbol.json model.onnx -i data:N,3,224,224 --provider cpu cuda --seconds 60
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = EPILOG
    parser.add_argument("source", metavar="MODEL", help=SOURCE_HELP)
    parser.add_argument("other", metavar="OTHER", nargs="?", help="a second model; both run in turns")
    add_model_options(parser)
    add_other_options(parser)
    group = parser.add_argument_group("measuring")
    group.add_argument(
        "--provider", metavar=PROVIDER, type=provider, nargs="+", dest="providers", default=["cpu"],
        help="the providers of onnxruntime to time, in this order (default cpu); `graphir providers` lists them",
    )  # fmt: skip
    group.add_argument(
        "--batch", metavar="N", nargs="+", type=batch, dest="batches", default=[],
        help="batch sizes, if the first size of the inputs is dynamic (default 1)",
    )  # fmt: skip
    group.add_argument(
        "--seconds", metavar="X", type=seconds, default=10.0,
        help="total time of all measurements, without opening the models (default 10); a few runs always happen",
    )  # fmt: skip
    group.add_argument(
        "--warm-up", metavar="N", type=whole_number, help="unmeasured runs at the start (default: a tenth of the time)"
    )
    group.add_argument(
        "--threads", metavar="N", type=whole_number, default=0,
        help="threads within an operator (default 0: onnxruntime chooses)",
    )  # fmt: skip
    group.add_argument("--feeds", metavar="FILE.npz", help="inputs by name, instead of seeded random ones")
    group.add_argument(
        "--seed", metavar="N", type=whole_number, default=0,
        help="seed of the inputs, of the turns and of the ratio's interval (default 0)",
    )  # fmt: skip
    group.add_argument(
        "--io-binding", choices=("auto", "on", "off"), default="auto",
        help="keep inputs and outputs on the device (auto: on all but CPUs)",
    )  # fmt: skip
    group.add_argument("--tf32", action="store_true", help="let CUDA round the operands of products to TF32")
    add_output_options(parser)


def run(options: argparse.Namespace, console: Console) -> int:
    """Time the models and print the report. Return 0."""
    if options.feeds is not None and options.batches:
        options.parser.error("--feeds determine the batch; omit --batch")
    need_files(options.params, options.other_params, options.feeds)

    from graphir.benchmark import BenchOptions, bench_models
    from graphir.report.text import WIDTH

    how = BenchOptions(
        options.providers, options.batches, options.seconds, options.warm_up, options.threads, options.seed,
        options.feeds, {"auto": None, "on": True, "off": False}[options.io_binding], options.tf32, console.stage,
    )  # fmt: skip
    models = [(options.source, model_options(options))]
    if options.other is not None:
        models.append((options.other, model_options(other_options(options))))
    report = bench_models(models, how)
    console.data(report.to_json())
    console.show(lambda: report.to_text(console.look.width or WIDTH))
    return 0


def batch(text: str) -> int:
    """Read a size of a batch. Raises ArgumentTypeError."""
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text) < 1 << 31:
        raise argparse.ArgumentTypeError(f"{text!r} is not a batch size; write numbers, 1 or more, after the models")
    return int(text)
