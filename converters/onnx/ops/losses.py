"""Losses."""

from __future__ import annotations

from graphir.converters.onnx.exporting.context import direct, row, table
from graphir.converters.onnx.importing.context import ImportTable, direct_rows
from graphir.ops.losses import NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss

EXPORTS = table(row(NegativeLogLikelihoodLoss, direct(since=12)), row(SoftmaxCrossEntropyLoss, direct(since=12)))

IMPORTS: ImportTable = {
    **direct_rows(NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss, since=12),
}
