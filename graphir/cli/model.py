"""Opening the model that a command is about."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from graphir.safety.foreign_text import one_line

from .options import model_options

if TYPE_CHECKING:
    from graphir.converters.formats import Source

    from .console import Console


def open_model(
    options: argparse.Namespace, console: Console, *, simplified: bool = True, settled: bool = True
) -> Source:
    """The model `options.source`; `simplified` and `settled` are as in `converters.formats.Manner`."""
    from graphir.converters.formats import Manner
    from graphir.converters.opening import read_model

    return read_model(options.source, model_options(options), Manner(simplified, settled, console.stage))


def first_line(model: Source) -> str:
    """What was read, in one line."""
    described = model.description
    return _line(described.name, described.made_by, described.remark)


def line_by_file(model: Source) -> str:
    """What was read, by the names of its files."""
    described = model.description
    return _line(described.place, described.made_by, described.remark)


def _line(name: str, made_by: str, remark: str) -> str:
    return one_line(f"{name} ({made_by}{', ' if remark else ''}{remark})")


__all__ = ["first_line", "line_by_file", "open_model"]
