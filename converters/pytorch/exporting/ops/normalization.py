"""Normalizations over tensors (batch, channels, spatial...)."""

from __future__ import annotations

from graphir.converters.pytorch.exporting.context import ExportNode, call, row, table
from graphir.converters.pytorch.exporting.ops.activation import float_text
from graphir.ops import normalization as ir

# nn.BatchNorm by the number of axes of its data.
BATCH_NORMS = {2: "nn.BatchNorm1d", 3: "nn.BatchNorm1d", 4: "nn.BatchNorm2d", 5: "nn.BatchNorm3d"}
STATES = {"weight": 1, "bias": 2, "running_mean": 3, "running_var": 4}


def export_batch_normalization(node: ExportNode[ir.BatchNormalization]) -> None:
    """nn.BatchNorm1d to 3d, whose momentum is the share of the new value; F.batch_norm where the vectors are not all
    constant."""
    op = node.op
    eps = None if float_text(op.epsilon) == "1e-05" else float_text(op.epsilon)
    constructor = BATCH_NORMS.get(node.rank())
    if constructor is not None and all(node.weight(slot) is not None for slot in STATES.values()):
        (channels,) = node.fixed(node.shape(1), node.input(1).name)
        momentum = None if abs(op.momentum - 0.9) < 1e-6 else float_text(round(1 - op.momentum, 7))
        layer = node.layer(constructor, [channels], {"eps": eps, "momentum": momentum}, owned=STATES)
        node.emit(f"{layer}({node.tensor()})")
        return
    data, scale, bias, mean, variance = node.tensors()
    node.emit(call("F.batch_norm", data, mean, variance, scale, bias, eps=eps))


EXPORTS = table(
    row(ir.BatchNormalization, export_batch_normalization),
)

__all__ = ["EXPORTS"]
