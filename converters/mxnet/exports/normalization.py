"""Normalizations at inference."""

from __future__ import annotations

from graphir.converters.mxnet.export_context import Entry, ExportNode, ExportTable
from graphir.ops import normalization as ir
from graphir.types import DType


def _vector_entry(node: ExportNode, slot: int, dtype: DType) -> Entry:
    """A vector in the dtype in which MXNet keeps statistics."""
    entry = node.entry(slot)
    held = node.value(slot).dtype
    return entry if held is dtype or held is None else node.export.cast(entry, dtype)


def export_batch_normalization(node: ExportNode) -> None:
    """BatchNorm; its statistics are auxiliary states, so they have to be parameters."""
    if node.value(0).rank is not None and node.rank() < 2:
        node.refuse("MXNet's BatchNorm takes at least 2 axes")
    dtype = DType.FLOAT64 if node.value(0).dtype is DType.FLOAT64 else DType.FLOAT32
    states = [node.export.state(node.value(slot), dtype) for slot in (3, 4)]
    vectors = [_vector_entry(node, slot, dtype) for slot in (1, 2)]
    if states[0] is None or states[1] is None:
        node.refuse("its mean and variance are computed; MXNet's BatchNorm wants parameters")
    attributes = {"eps": node.op.epsilon, "momentum": node.op.momentum, "fix_gamma": False}
    index = node.export.append("BatchNorm", node.stem, [node.entry(0), *vectors, states[0], states[1]], attributes)
    node.bind((index, 0))


def export_lrn(node: ExportNode) -> None:
    """LRN of an odd size."""
    op: ir.LRN = node.op
    if op.size % 2 == 0:
        node.refuse(f"size {op.size} is even, MXNet takes odd sizes")
    node.emit("LRN", node.entry(0), alpha=op.alpha, beta=op.beta, knorm=op.bias, nsize=op.size)


def export_instance_normalization(node: ExportNode) -> None:
    """InstanceNorm, which computes in float32 only; float16 goes through it."""
    dtype = node.dtype()
    if dtype is DType.FLOAT32:
        node.emit("InstanceNorm", *node.entries(), eps=node.op.epsilon)
        return
    if dtype is not DType.FLOAT16:
        node.refuse(f"MXNet's InstanceNorm computes in float32 only, not in {dtype}")
    wide = [node.export.cast(entry, DType.FLOAT32) for entry in node.entries()]
    found = node.step("InstanceNorm", *wide, suffix="wide", eps=node.op.epsilon)
    node.emit("Cast", found, dtype=dtype.value)


def export_layer_normalization(node: ExportNode) -> None:
    """LayerNorm over the last axis; MXNet gives the deviation where the IR has its reciprocal."""
    op: ir.LayerNormalization = node.op
    rank = node.rank()
    axis = op.axis % rank
    size = node.shape()[-1]
    if axis != rank - 1 or not isinstance(size, int):
        node.refuse("it spans several axes or an open one; MXNet's LayerNorm takes one of a known size")
    for slot in (1, 2):
        vector = node.operand(slot)
        if vector is not None and vector.shape != (size,):
            node.refuse(f"{vector.name} {vector.type} is no vector of {size} elements")
    beta = node.entry(2) if node.operand(2) is not None else node.constant([0.0] * size, node.dtype(), "beta")
    used = [value.uses or node.export.graph.is_output(value) for value in node.node.outputs]
    statistics = any(used[1:])
    index = node.export.append(
        "LayerNorm",
        node.stem,
        [node.entry(0), node.entry(1), beta],
        {"axis": -1, "eps": op.epsilon, "output_mean_var": True if statistics else None},
    )
    node.bind((index, 0))
    if statistics:
        node.bind((index, 1), 1, carried=node.dtype())
        node.bind(node.step("reciprocal", (index, 2)), 2, carried=node.dtype())


def export_group_normalization(node: ExportNode) -> None:
    """InstanceNorm of the groups, then scale and shift a channel, as MXNet 1.x has them for each group."""
    op: ir.GroupNormalization = node.op
    rank = node.rank()
    if node.dtype() is not DType.FLOAT32:
        node.refuse(f"MXNet's InstanceNorm, which it becomes, computes in float32 only, not in {node.dtype()}")
    grouped = node.step("Reshape", node.entry(0), suffix="groups", shape=(0, op.num_groups, -1))
    ones = node.constant([1.0] * op.num_groups, node.dtype(), "ones")
    zeros = node.constant([0.0] * op.num_groups, node.dtype(), "zeros")
    normal = node.step("InstanceNorm", grouped, ones, zeros, suffix="normal", eps=op.epsilon)
    restored = node.step("reshape_like", normal, node.entry(0), suffix="restored")
    shape = (1, -1, *(1,) * (rank - 2))
    scale = node.step("Reshape", node.entry(1), suffix="scale", shape=shape)
    bias = node.step("Reshape", node.entry(2), suffix="bias", shape=shape)
    node.emit("broadcast_add", node.step("broadcast_mul", restored, scale, suffix="scaled"), bias)


EXPORTS: ExportTable = {
    ir.BatchNormalization: export_batch_normalization,
    ir.LRN: export_lrn,
    ir.InstanceNormalization: export_instance_normalization,
    ir.LayerNormalization: export_layer_normalization,
    ir.GroupNormalization: export_group_normalization,
}

__all__ = ["EXPORTS"]
