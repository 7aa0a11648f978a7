"""Options that say where a model is run: a live framework's interpreter with its limits, and onnxruntime's provider."""

from __future__ import annotations

import argparse
import math
import os


def interpreter(text: str) -> str:
    """Read the path of a program that can be started. Raises ArgumentTypeError."""
    from shutil import which

    path = which(os.path.expanduser(text))
    if path is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not an executable program; write the path of a Python")
    return path


def above_zero(text: str) -> float:
    """Read a finite number above 0. Raises ArgumentTypeError."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < 1e9:
        raise argparse.ArgumentTypeError(f"invalid value: {text!r}; write a number above 0, as in 2.5")
    return number


def add_live_options(group: argparse._ArgumentGroup) -> None:
    """Add --python, --live-seconds and --live-memory."""
    group.add_argument(
        "--python", metavar="PATH", type=interpreter,
        help="the interpreter that has the live framework: MXNet of any version or TensorFlow (default: what "
        "GRAPHIR_MXNET_PYTHON or GRAPHIR_TENSORFLOW_PYTHON names, else this one)",
    )  # fmt: skip
    group.add_argument(
        "--live-seconds", metavar="X", type=above_zero,
        help="time limit of the live framework for one set of inputs, and of onnxruntime for one run (default 600)",
    )  # fmt: skip
    group.add_argument(
        "--live-memory", metavar="GIB", type=above_zero,
        help="memory limit of the live framework (default 16), and of onnxruntime (default: all available)",
    )  # fmt: skip
