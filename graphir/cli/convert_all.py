"""`graphir convert-all`: a registry of models converted, with an index page."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from .options import (
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
    target_options,
    whole_number,
)
from .sources import add_sources, shown_sources, sources_of

if TYPE_CHECKING:
    from graphir.registry.jobs import ConversionPlan
    from graphir.registry.run import WorkOptions

    from .console import Console

EPILOG = """examples:
  graphir convert-all zoo/ --out converted/ --verify
  graphir convert-all 'models/*.tar.gz' --list zoo.csv --out converted/ --jobs 8 --timeout 120 --memory 4
  graphir convert-all zoo/ --out converted/ --retry failed        (what is done stays)

exit codes: 1 if any model failed, else 4 if any differs, else 5 if any is not proven, else 0
docs/registry.md describes lists, archives, what counts as changed, and Dask.
"""
UNITS = 1 << 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    from graphir.converters.table import writable

    parser.epilog = EPILOG
    add_sources(parser, "a folder (every model in it), a glob, an archive (.tar.gz, .zip, .mar), a model")
    parser.add_argument(
        "--out", metavar="DIR", required=True, help="where to write results: a folder, or an address for fsspec"
    )
    parser.add_argument(
        "--to", choices=tuple(writable()), default="onnx", help="the format to write (default onnx)"
    )
    add_model_options(parser)
    add_target_options(parser)
    parser.add_argument(
        "--constant", dest="constants", metavar="NAME=VALUE", type=constant_value, action="append", default=[],
        help="make an input of every model a parameter; repeatable",
    )  # fmt: skip
    _add_working_options(parser)
    group = parser.add_argument_group("proof")
    group.add_argument("--verify", action="store_true", help="run each result and its source, and compare")
    add_comparison_options(group)
    add_output_options(parser, judges=True)


def _add_working_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("work")
    group.add_argument("--jobs", type=read_positive, metavar="N", help="worker processes (default: one a core)")
    group.add_argument(
        "--timeout", type=read_positive_number, default=600.0, metavar="SECONDS", help="for each model (default 600)"
    )
    group.add_argument(
        "--memory", type=read_positive_number, metavar="GIB",
        help="for each model, besides the worker's own (default: the machine's memory divided by --jobs)",
    )  # fmt: skip
    group.add_argument(
        "--retry", metavar="OUTCOME", action="append", default=[], type=outcome,
        help="rerun these though nothing has changed: failed, all, or an outcome such as 'time-out'; repeatable",
    )  # fmt: skip
    group.add_argument(
        "--dask", metavar="ADDRESS", help="give the work to the workers of this scheduler, as tcp://host:8786"
    )


def read_positive(text: str) -> int:
    """Read a whole number that is 1 or more. Raises ArgumentTypeError."""
    number = whole_number(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"invalid int value: {text!r}; write a whole number, 1 or more")
    return number


def read_positive_number(text: str) -> float:
    """Read a finite number above 0. Raises ArgumentTypeError."""
    from .options import tolerance

    number = tolerance(text)
    if not number or number > 1e9:
        raise argparse.ArgumentTypeError(f"invalid value: {text!r}; write a number above 0")
    return number


def outcome(text: str) -> str:
    """Read an outcome to retry. Raises ArgumentTypeError."""
    from graphir.registry.run import RETRIED

    if text not in RETRIED:
        raise argparse.ArgumentTypeError(f"{text!r} is not an outcome; write one of {', '.join(RETRIED)}")
    return text


def run(options: argparse.Namespace, console: Console) -> int:
    """Convert the models and print the summary. Return the exit code of the worst."""
    options.verify = options.verify or options.per_layer
    for name in ("feeds", "seed", "rtol", "atol"):
        if getattr(options, name) is not None and not options.verify:
            options.parser.error(f"--{name} needs --verify")
    sources = sources_of(options)
    need_files(options.params, *options.plugins, *options.lists)
    need_feeds(options.feeds)
    plan, working = _conversion_plan(options), _worker_options(options)

    from graphir.registry.run import convert_all
    from graphir.report.cases import registry_suite

    report = convert_all(sources, options.out, plan, working, console.stage)
    console.show(lambda: report.to_text(verbose=options.verbose > 0))
    console.data(report.to_json())
    console.cases(lambda: registry_suite(report, shown_sources(options)))
    console.flush()
    return report.exit_code


def _conversion_plan(options: argparse.Namespace) -> ConversionPlan:
    from graphir.converters.writing import example
    from graphir.registry.jobs import ConversionPlan

    stated = target_options(options, example(options.to), options.to)
    plugins = tuple(map(os.path.abspath, options.plugins))
    how: Any = comparison_options(options)
    return ConversionPlan(
        options.to, stated, model_options(options), constants_of(options), None, options.verify, how, options.limits,
        plugins,
    )  # fmt: skip


def _worker_options(options: argparse.Namespace) -> WorkOptions:
    from graphir.registry.pool import WorkerCaps, memory_for_each
    from graphir.registry.run import WorkOptions

    jobs = options.jobs or os.cpu_count() or 1
    memory = int(options.memory * UNITS) if options.memory else memory_for_each(jobs)
    return WorkOptions(jobs, WorkerCaps(options.timeout, memory), options.dask, tuple(options.retry))
