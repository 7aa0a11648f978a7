"""Losses."""

from __future__ import annotations

from graphir.converters.onnx.exporting.context import ExportTable, direct
from graphir.converters.onnx.importing.context import ImportTable
from graphir.converters.onnx.importing.context import direct as import_direct
from graphir.ops.losses import NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss

EXPORTS: ExportTable = {NegativeLogLikelihoodLoss: direct(since=12), SoftmaxCrossEntropyLoss: direct(since=12)}

IMPORTS: ImportTable = {
    "NegativeLogLikelihoodLoss": {12: import_direct(NegativeLogLikelihoodLoss)},
    "SoftmaxCrossEntropyLoss": {12: import_direct(SoftmaxCrossEntropyLoss)},
}

__all__ = ["EXPORTS", "IMPORTS"]
