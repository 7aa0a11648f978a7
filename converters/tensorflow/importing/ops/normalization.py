"""Batch normalization and normalization across channels."""

from __future__ import annotations

from graphir.converters.tensorflow.importing.context import ImportFunction, ImportNode
from graphir.converters.tensorflow.importing.layout import Layout, channels_first, finish, layout_of
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops.normalization import LRN, BatchNormalization
from graphir.ops.reduction import ReduceMean
from graphir.ops.shape import Unsqueeze


def import_fused_batch_norm(node: ImportNode) -> tuple[Value, ...]:
    """FusedBatchNorm of all versions, 2-D and 3-D: with the stored statistics, or with those of the batch.

    Inputs: data, scale, offset, mean, variance. Results: the normalized data, mean and variance.
    """
    data, scale, offset, mean, variance = node.inputs
    spatial = node.rank(data) - 2
    layout = layout_of(node, spatial)
    if node.attrs["is_training"]:
        return (_normalize_by_batch(node, range(spatial + 2), layout.channels_last),)
    op = BatchNormalization(epsilon=node.attrs["epsilon"])
    first = channels_first(node, layout, data)
    return finish(node, layout, op, first, scale, offset, mean, variance), mean, variance


def _normalize_by_batch(node: ImportNode, axes: range, channels_last: bool) -> Value:
    """Return what TensorFlow computes under `is_training`: mean and variance of this batch, whatever is stored."""
    data, scale, offset = node.inputs[:3]
    node.decide(
        DecisionKind.TRAINING_FLAG,
        "is_training is set: the data are normalized by the statistics of the batch that is run, as TensorFlow does",
    )
    channel = axes[-1] if channels_last else 1
    others = node.vector([axis for axis in axes if axis != channel])
    if not channels_last:
        behind = node.vector(list(axes)[1:-1])
        scale, offset = (node.step(Unsqueeze(), vector, behind, suffix="vector") for vector in (scale, offset))
    mean = node.step(ReduceMean(), data, others, suffix="mean")
    centered = node.step(ew.Sub(), data, mean, suffix="centered")
    square = node.step(ew.Mul(), centered, centered, suffix="square")
    variance = node.step(ReduceMean(), square, others, suffix="variance")
    epsilon = node.scalar_like(data, node.attrs["epsilon"])
    deviation = node.step(ew.Sqrt(), node.step(ew.Add(), variance, epsilon))
    normalized = node.step(ew.Div(), centered, deviation, suffix="normalized")
    return node.emit(ew.Add(), node.step(ew.Mul(), normalized, scale, suffix="scaled"), offset)


def import_lrn(node: ImportNode) -> Value:
    """LRN: x / (bias + alpha * sum of x^2) ^ beta, the sum over the channels up to `depth_radius` away."""
    layout = Layout(2, channels_last=True)
    size = 2 * int(node.attrs["depth_radius"]) + 1
    op = LRN(size, alpha=node.attrs["alpha"] * size, beta=node.attrs["beta"], bias=node.attrs["bias"])
    return finish(node, layout, op, channels_first(node, layout, node.input(0)))


IMPORTS: dict[str, ImportFunction] = {
    "FusedBatchNorm": import_fused_batch_norm,
    "FusedBatchNormV2": import_fused_batch_norm,
    "FusedBatchNormV3": import_fused_batch_norm,
    "LRN": import_lrn,
}
