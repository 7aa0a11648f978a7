"""`graphir check`: everything that stands between a model and a target, at once."""

from __future__ import annotations

import argparse
from glob import has_magic
from typing import TYPE_CHECKING

from .model import checked_model
from .options import (
    PROVIDER,
    SOURCE_HELP,
    add_model_options,
    add_output_options,
    add_target_options,
    provider,
    target_options,
)
from .sources import add_sources, sources_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphir.registry.sources import ModelSearch, Source

    from .console import Console

DEFAULT_TARGET = "onnx"
# Suffixes of archives and lists of models.
SEVERAL = (".csv", ".txt", ".list", ".tar", ".tar.gz", ".tgz", ".zip", ".mar", ".model")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = (
        "Nothing is written. Parameters are not needed; sizes that depend on them are assumed.\n"
        "For several models it prints one row per model and the gaps of all.\n"
        "The exit code is 1 if there are gaps, or if a model cannot be read."
    )
    add_sources(parser, f"{SOURCE_HELP}; or several models, folders, globs, archives (see docs/registry.md)")
    add_model_options(parser)
    from graphir.converters.table import writable

    parser.add_argument(
        "--target", choices=tuple(writable()), default=DEFAULT_TARGET,
        help=f"the format to check for: {', '.join(writable())} (default {DEFAULT_TARGET})",
    )  # fmt: skip
    add_target_options(parser)
    parser.add_argument(
        "--provider", metavar=PROVIDER, type=provider,
        help="load the result on this provider of onnxruntime, such as cuda:1, and list the nodes that would "
        "run elsewhere, with the reasons that onnxruntime gives; `graphir providers` lists them",
    )  # fmt: skip
    add_output_options(parser, judges=True)


def run(options: argparse.Namespace, console: Console) -> int:
    """List the gaps, else the operators before and after. Return 1 if there are gaps."""
    from graphir.converters.writing import example

    stated = target_options(options, example(options.target), options.target)
    models = find_several(sources_of(options))
    if models is not None:
        from .check_all import run_all

        return run_all(options, stated, models, console)
    from graphir.report.cases import check_suite

    options.source = options.sources[0]
    report = checked_model(options, stated, console)
    console.data(report.to_json())
    console.show(lambda: report.to_text(verbose=options.verbose > 0))
    console.cases(lambda: check_suite(report))
    return 0 if report else 1


def find_several(sources: Sequence[Source]) -> ModelSearch | None:
    """Return the models if the sources are several, None for a single model: a folder with one model right in it
    is that model, as everywhere. Raises what `search` raises."""
    from graphir.converters.glance import Glance

    only = sources[0] if len(sources) == 1 and isinstance(sources[0], str) else ""
    is_several = not only or has_magic(only) or only.endswith(SEVERAL)
    if not is_several and not Glance(only).is_folder:
        return None
    from graphir.registry.sources import search

    models = search(sources)
    if is_several:
        return models
    right_here = [model for model in models.models if "/" not in model.name and not model.is_closed]
    return None if len(right_here) == 1 or not models.models else models
