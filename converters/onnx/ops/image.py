"""Operators on images."""

from __future__ import annotations

from graphir.converters.onnx.exporting.context import direct, row, table
from graphir.converters.onnx.importing.context import ImportTable
from graphir.converters.onnx.importing.context import direct as import_direct
from graphir.ops.image import CenterCropPad, Col2Im, ImageDecoder

EXPORTS = table(
    row(ImageDecoder, direct(since=20)),
    row(CenterCropPad, direct(since=18)),
    row(Col2Im, direct(since=18)),
)

IMPORTS: ImportTable = {
    "ImageDecoder": {20: import_direct(ImageDecoder)},
    "CenterCropPad": {18: import_direct(CenterCropPad)},
    "Col2Im": {18: import_direct(Col2Im)},
}

__all__ = ["EXPORTS", "IMPORTS"]
