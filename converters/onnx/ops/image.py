"""Operators on images."""

from __future__ import annotations

from graphir.converters.onnx.exporting.context import ExportTable, direct
from graphir.converters.onnx.importing.context import ImportTable
from graphir.converters.onnx.importing.context import direct as import_direct
from graphir.ops.image import CenterCropPad, Col2Im, ImageDecoder

EXPORTS: ExportTable = {
    ImageDecoder: direct(since=20),
    CenterCropPad: direct(since=18),
    Col2Im: direct(since=18),
}

IMPORTS: ImportTable = {
    "ImageDecoder": {20: import_direct(ImageDecoder)},
    "CenterCropPad": {18: import_direct(CenterCropPad)},
    "Col2Im": {18: import_direct(Col2Im)},
}

__all__ = ["EXPORTS", "IMPORTS"]
