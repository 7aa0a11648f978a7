"""The model that a command is about, opened or checked."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .input_spec import InputSpec
from .options import model_options

if TYPE_CHECKING:
    from graphir.converters.formats import Source
    from graphir.report.gaps import CheckReport

    from .console import Console


def open_model(
    options: argparse.Namespace, console: Console, *, simplified: bool = True, settled: bool = True
) -> Source:
    """Return the model `options.source`; `simplified` and `settled` are as in `converters.formats.Manner`."""
    from graphir.converters.formats import Manner
    from graphir.converters.opening import read_model

    return read_model(options.source, model_options(options), Manner(simplified, settled, console.stage))


def checked_model(options: argparse.Namespace, stated: Mapping[str, Any], console: Console) -> CheckReport:
    """Check the model `options.source`. Raises what `graphir.checking.checked` raises."""
    from graphir.checking import checked

    def open_with(more: Mapping[str, tuple[Any, ...]]) -> Source:
        specs = [*options.inputs, *(InputSpec(name, shape, None) for name, shape in more.items())]
        return open_model(argparse.Namespace(**{**vars(options), "inputs": specs}), console)

    given = {spec.name: spec.shape for spec in options.inputs}
    return checked(options.source, open_with, given, options.target, stated, options.provider)
