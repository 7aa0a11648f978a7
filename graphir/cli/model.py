"""Opening the model that a command is about."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .options import model_options

if TYPE_CHECKING:
    from graphir.converters.formats import Source

    from .console import Console


def open_model(
    options: argparse.Namespace, console: Console, *, simplified: bool = True, settled: bool = True
) -> Source:
    """Return the model `options.source`; `simplified` and `settled` are as in `converters.formats.Manner`."""
    from graphir.converters.formats import Manner
    from graphir.converters.opening import read_model

    return read_model(options.source, model_options(options), Manner(simplified, settled, console.stage))
