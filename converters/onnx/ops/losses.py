"""Losses."""

from __future__ import annotations

from graphir.converters.onnx.exporting.context import direct, row, table
from graphir.converters.onnx.importing.context import ImportTable
from graphir.converters.onnx.importing.context import direct as import_direct
from graphir.ops.losses import NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss

EXPORTS = table(row(NegativeLogLikelihoodLoss, direct(since=12)), row(SoftmaxCrossEntropyLoss, direct(since=12)))

IMPORTS: ImportTable = {
    "NegativeLogLikelihoodLoss": {12: import_direct(NegativeLogLikelihoodLoss)},
    "SoftmaxCrossEntropyLoss": {12: import_direct(SoftmaxCrossEntropyLoss)},
}
