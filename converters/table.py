"""The table of formats: one row a format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from graphir.converters import own
from graphir.converters.formats import Format
from graphir.converters.mxnet import format as mxnet
from graphir.converters.onnx import format as onnx
from graphir.converters.pytorch import format as pytorch
from graphir.converters.pytorch import weights_format as pytorch_weights
from graphir.converters.tensorflow import format as tensorflow
from graphir.errors import ArgumentError

if TYPE_CHECKING:
    from graphir.analysis.padding_fixes import Fixes


def table(*rows: Format) -> dict[str, Format]:
    """Return the rows by name, in the order in which they are asked. Raises ArgumentError for a name that comes
    twice."""
    formats: dict[str, Format] = {}
    for row in rows:
        if row.name in formats:
            raise ArgumentError(f"two formats are called {row.name!r}")
        formats[row.name] = row
    return formats


FORMATS = table(mxnet.FORMAT, onnx.FORMAT, tensorflow.FORMAT, own.FORMAT, pytorch.FORMAT, pytorch_weights.FORMAT)


def readable() -> dict[str, str]:
    """Return the formats that are read, and what their models are."""
    return {name: row.title for name, row in FORMATS.items() if row.source is not None}


def writable() -> dict[str, str]:
    """Return the formats that are written, and what is written of them."""
    return {name: row.title for name, row in FORMATS.items() if row.target is not None}


def origin_of(metadata: Mapping[str, str]) -> str:
    """Return what a graph came from, as its metadata tell: ONNX and its opset, a kind of TensorFlow model; graphir
    where they tell nothing."""
    return next((said for row in FORMATS.values() if (said := row.origin(metadata))), "graphir")


def fixes_of(format: str) -> Fixes:
    """Return how padding of a format's models is mended in its framework's terms; in plain words where it has none."""
    from graphir.analysis.padding_fixes import PLAIN

    make = FORMATS[format].fixes
    return PLAIN if make is None else make()
