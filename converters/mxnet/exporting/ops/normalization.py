"""Normalizations at inference, also L2Normalization where x / sqrt(sum of x^2 + eps) stands for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphir.converters.mxnet.exporting.context import AnyNode, Entry, ExportNode, row, table
from graphir.converters.mxnet.exporting.ops.steps import (
    along,
    cast,
    computing,
    emit_as,
    emit_first,
    is_used,
    operand_dtype,
    wide,
)
from graphir.graph import Value
from graphir.ops import normalization as ir
from graphir.ops.base import Operator, normalize_axis
from graphir.ops.creation import ConstantOfShape, Fill
from graphir.ops.elementwise import Add, Cast, Div, Identity, Mul, Neg, Reciprocal, Sqrt, Sub
from graphir.ops.reduction import ReduceSum, ReduceSumSquare
from graphir.ops.shape import Expand, Reshape, Squeeze, Transpose, Unsqueeze
from graphir.ops.shape_parts import Concat, Slice
from graphir.types import DType, Shape, product


def _centred(node: AnyNode, data: Entry, axes: Sequence[int]) -> tuple[Entry, Entry, Entry]:
    """Return the data less their mean over some axes, the mean of the squares of that, and the mean, all axes kept."""
    mean = node.step("mean", data, axis=tuple(axes), keepdims=True)
    result = node.step("broadcast_sub", data, mean, suffix="centred")
    variance = node.step("mean", node.step("square", result), suffix="variance", axis=tuple(axes), keepdims=True)
    return result, variance, mean


def _normal(node: AnyNode, data: Entry, axes: Sequence[int], epsilon: float) -> tuple[Entry, Entry, Entry]:
    """(data - mean) / sqrt(variance + epsilon) over some axes, the mean, and the reciprocal of the root."""
    result, variance, mean = _centred(node, data, axes)
    factor = node.step("rsqrt", node.step("_plus_scalar", variance, suffix="raised", scalar=epsilon))
    return node.step("broadcast_mul", result, factor, suffix="normal"), mean, factor


def _scaled(node: AnyNode, normal: Entry, rank: int) -> None:
    """The result: scale and shift by the vectors in slots 1 and 2, one element a channel."""
    scale, shift = (along(wide(node, slot), node, 1, rank, f"vector{slot}") for slot in (1, 2))
    result = node.step("broadcast_mul", normal, scale, suffix="scaled")
    emit_as(node, node.step("broadcast_add", result, shift, suffix="shifted"), computing(node))


def export_batch_normalization(node: ExportNode[ir.BatchNormalization]) -> None:
    """BatchNorm, whose statistics are auxiliary states; computed ones are subtracted and divided by."""
    dtype = DType.FLOAT64 if node.input(0).dtype is DType.FLOAT64 else DType.FLOAT32
    states = [node.export.state(node.input(slot), dtype) for slot in (3, 4)]
    if states[0] is None or states[1] is None:
        if all(_is_constant(node.input(slot)) for slot in (3, 4)):
            node.refuse("its mean and variance are computed of constants; compute them")
        _normalize_by_computed(node)
        return
    vectors = [cast(node, node.entry(slot), node.input(slot).dtype or dtype, dtype) for slot in (1, 2)]
    attributes: dict[str, Any] = {"eps": node.op.epsilon, "momentum": node.op.momentum, "fix_gamma": False}
    attributes |= {"use_global_stats": True} if node.op.fixed_statistics else {}
    emit_first(node, "BatchNorm", node.entry(0), *vectors, states[0], states[1], **attributes)


FOLDED: tuple[type[Operator], ...] = (
    *(Add, Cast, Concat, ConstantOfShape, Div, Expand, Fill, Identity, Mul, Neg, Reciprocal, Reshape, Slice, Sqrt),
    *(Squeeze, Sub, Transpose, Unsqueeze),
)


def _is_constant(value: Value) -> bool:
    """Return whether a value follows from parameters by operators that are folded, so that it becomes a parameter
    itself."""
    seen: set[Value] = set()
    stack = [value]
    while stack:
        current = stack.pop()
        if current in seen:
            continue
        seen.add(current)
        producer = current.producer
        if producer is None and current.tensor is None:
            return False
        if producer is not None:
            if not isinstance(producer.op, FOLDED):
                return False
            stack.extend(operand for operand in producer.inputs if operand is not None)
    return True


def _normalize_by_computed(node: ExportNode[ir.BatchNormalization]) -> None:
    rank, dtype = node.rank(), computing(node)
    scale, shift, mean, variance = (
        cast(node, node.entry(slot), operand_dtype(node, slot), dtype) for slot in (1, 2, 3, 4)
    )
    root = node.step("sqrt", node.step("_plus_scalar", variance, suffix="raised", scalar=node.op.epsilon))
    factor = node.step("elemwise_div", scale, root, suffix="factor")
    result = node.step("broadcast_sub", wide(node, 0), along(mean, node, 1, rank, "mean"), suffix="centred")
    result = node.step("broadcast_mul", result, along(factor, node, 1, rank, "factors"), suffix="scaled")
    shifted = node.step("broadcast_add", result, along(shift, node, 1, rank, "shift"), suffix="shifted")
    emit_as(node, shifted, dtype)


def export_lrn(node: ExportNode[ir.LRN]) -> None:
    """LRN of float images and an odd size that the channels suffice for; else an average over padded channels."""
    op = node.op
    shape, rank = node.input(0).shape, node.input(0).rank
    channels = shape[1] if shape is not None and len(shape) == 4 else None
    too_few = isinstance(channels, int) and channels < op.size
    if op.size % 2 and rank in (None, 4) and not too_few and node.input(0).dtype is not DType.FLOAT16:
        node.emit("LRN", node.entry(0), alpha=op.alpha, beta=op.beta, knorm=op.bias, nsize=op.size)
        return
    data = node.entry(0)
    squares = node.step("expand_dims", node.step("square", data), suffix="apart", axis=1)
    shape = (0, 0, 0, 1) if rank == 2 else (0, 0, 0, -1)
    columns = node.step("Reshape", squares, suffix="columns", shape=shape)
    before = (op.size - 1) // 2
    width = (0, 0, 0, 0, before, op.size - 1 - before, 0, 0)
    wide_columns = node.step("Pad", columns, mode="constant", pad_width=width, constant_value=0.0)
    average = node.step("Pooling", wide_columns, kernel=(op.size, 1), pool_type="avg", stride=(1, 1))
    around = node.step("reshape_like", average, data, suffix="around")
    divisor = node.step("_plus_scalar", node.step("_mul_scalar", around, scalar=op.alpha), scalar=op.bias)
    node.emit("elemwise_mul", data, node.step("_power_scalar", divisor, suffix="factor", scalar=-op.beta))


def export_instance_normalization(node: ExportNode[ir.InstanceNormalization]) -> None:
    """InstanceNorm, which computes in float32 only; float16 goes through it, float64 is computed by its formula."""
    dtype = computing(node)
    if dtype is DType.FLOAT64:
        rank = node.rank()
        normal, *_ = _normal(node, wide(node, 0), range(2, rank), node.op.epsilon)
        _scaled(node, normal, rank)
    elif operand_dtype(node) is dtype:
        node.emit("InstanceNorm", *node.entries(), eps=node.op.epsilon)
    else:
        inner = [wide(node, slot) for slot in range(3)]
        emit_as(node, node.step("InstanceNorm", *inner, suffix="wide", eps=node.op.epsilon), dtype)


def export_layer_normalization(node: ExportNode[ir.LayerNormalization]) -> None:
    """LayerNorm over the last axis, or over several joined to one, where scale and shift have an element for each.

    MXNet gives the deviation where the IR has its reciprocal.
    """
    op = node.op
    vectors = [node.optional(slot) for slot in (1, 2)]
    trailing: Shape
    if node.input(0).rank is None and op.axis == -1 and node.rank(1) == 1:
        rank, axis, trailing = 1, 0, node.shape(1)
    else:
        rank = node.rank()
        axis = normalize_axis(op.axis, rank)
        trailing = node.shape()[axis:]
    size = product(trailing)
    fits = all(vector is None or vector.shape == trailing for vector in vectors)
    if not fits or not isinstance(size, int):
        _compose_layer_normalization(node, axis, rank)
        return
    statistics = any(is_used(node, slot) for slot in (1, 2))
    inner = (lambda slot: wide(node, slot)) if statistics else node.entry
    dtype = computing(node) if statistics else operand_dtype(node)
    data, scale = inner(0), inner(1)
    shift = inner(2) if vectors[1] is not None else node.constant([0.0] * size, dtype, "beta")
    joined = axis != rank - 1
    if joined:
        data = node.step("Reshape", data, suffix="joined", shape=(*(0,) * axis, -1) if axis else (1, -1))
        scale, shift = (
            node.step("Reshape", entry, suffix=name, shape=(-1,)) if vector is not None else entry
            for name, entry, vector in zip(("scale", "shift"), (scale, shift), vectors, strict=True)
        )
    attributes: dict[str, Any] = {"axis": -1, "eps": op.epsilon, "output_mean_var": True if statistics else None}
    if not joined and not statistics:
        emit_first(node, "LayerNorm", data, scale, shift, **attributes)
        return
    normal = node.step("LayerNorm", data, scale, shift, **attributes)
    result = node.step("reshape_like", normal, node.entry(0), suffix="apart") if joined else normal
    emit_as(node, result, dtype)
    if statistics:
        _bind_statistics(node, normal, axis, rank)


def _bind_statistics(node: AnyNode, normal: Entry, axis: int, rank: int) -> None:
    index, _ = normal
    for slot in (1, 2):
        if not is_used(node, slot):
            continue
        entry = index, slot
        if slot == 2:
            entry = node.step("reciprocal", entry, suffix="inverse")
        if axis != rank - 1:
            shape = (*(0,) * axis, *(1,) * (rank - axis))
            entry = node.step("Reshape", entry, suffix=f"statistic{slot}", shape=shape)
        emit_as(node, entry, computing(node), slot)


def _compose_layer_normalization(node: ExportNode[ir.LayerNormalization], axis: int, rank: int) -> None:
    """By its formula; scale and shift broadcast."""
    dtype = computing(node)
    result, mean, inverse = _normal(node, wide(node, 0), range(axis, rank), node.op.epsilon)
    result = node.step("broadcast_mul", result, wide(node, 1), suffix="scaled")
    if node.optional(2) is not None:
        result = node.step("broadcast_add", result, wide(node, 2), suffix="shifted")
    emit_as(node, result, dtype)
    for slot, entry in ((1, mean), (2, inverse)):
        if is_used(node, slot):
            emit_as(node, entry, dtype, slot)


def export_rms_normalization(node: ExportNode[ir.RMSNormalization]) -> None:
    """The data times the reciprocal root of the mean of their squares, times the scale."""
    op = node.op
    rank = node.rank()
    axes = tuple(range(normalize_axis(op.axis, rank), rank))
    data = wide(node, 0)
    mean = node.step("mean", node.step("square", data), axis=axes, keepdims=True)
    factor = node.step("rsqrt", node.step("_plus_scalar", mean, suffix="raised", scalar=op.epsilon))
    normal = node.step("broadcast_mul", data, factor, suffix="normal")
    emit_as(node, node.step("broadcast_mul", normal, wide(node, 1), suffix="scaled"), computing(node))


def export_group_normalization(node: ExportNode[ir.GroupNormalization]) -> None:
    """InstanceNorm of the groups, then scale and shift a channel, as MXNet 1.x has them for each group."""
    op = node.op
    rank, dtype = node.rank(), computing(node)
    grouped = node.step("Reshape", wide(node, 0), suffix="groups", shape=(0, op.num_groups, -1))
    if dtype is DType.FLOAT64:
        normal, *_ = _normal(node, grouped, (2,), op.epsilon)
    else:
        ones = node.constant([1.0] * op.num_groups, dtype, "ones")
        zeros = node.constant([0.0] * op.num_groups, dtype, "zeros")
        normal = node.step("InstanceNorm", grouped, ones, zeros, suffix="normal", eps=op.epsilon)
    _scaled(node, node.step("reshape_like", normal, node.entry(0), suffix="restored"), rank)


def export_lp_normalization(node: ExportNode[ir.LpNormalization]) -> None:
    """The data divided by norm; a norm of 0 counts as 1, so that zeros stay zeros."""
    op = node.op
    data = wide(node, 0)
    norm = node.step("norm", data, axis=op.axis, ord=op.p, keepdims=True)
    divisor = node.step("elemwise_add", norm, node.step("_equal_scalar", norm, suffix="nothing", scalar=0.0))
    emit_as(node, node.step("broadcast_div", data, divisor, suffix="normal"), computing(node))


SMALL = 1e-9
"""What ONNX's definition of MeanVarianceNormalization adds to the deviation."""


def export_mean_variance_normalization(node: ExportNode[ir.MeanVarianceNormalization]) -> None:
    """The data less their mean, divided by their deviation."""
    rank = node.rank()
    axes = sorted(normalize_axis(axis, rank) for axis in node.op.axes)
    result, variance, _ = _centred(node, wide(node, 0), axes)
    deviation = node.step("_plus_scalar", node.step("sqrt", variance), suffix="deviation", scalar=SMALL)
    emit_as(node, node.step("broadcast_div", result, deviation, suffix="normal"), computing(node))


EXPORTS = table(
    row(ir.BatchNormalization, export_batch_normalization),
    row(ir.LRN, export_lrn),
    row(ir.InstanceNormalization, export_instance_normalization),
    row(ir.LayerNormalization, export_layer_normalization),
    row(ir.RMSNormalization, export_rms_normalization),
    row(ir.GroupNormalization, export_group_normalization),
    row(ir.LpNormalization, export_lp_normalization),
    row(ir.MeanVarianceNormalization, export_mean_variance_normalization),
)


def export_l2_normalization(node: AnyNode) -> bool:
    """Return a quotient as L2Normalization; whether it is one."""
    data, divisor = node.input(0), node.input(1)
    if data.rank is None or data.dtype is None or not data.dtype.is_float:
        return False
    root = divisor.producer
    if root is None or not isinstance(root.op, Sqrt) or root.inputs[0] is None:
        return False
    result = _raised(root.inputs[0])
    if result is None:
        return False
    total, epsilon = result
    axes = _summed_squares(total, data)
    modes = {"instance": range(1, data.rank), "channel": (1,), "spatial": range(2, data.rank)}
    for mode, wanted in modes.items():
        if axes is not None and axes == sorted(wanted) and (mode == "instance" or data.rank > 2):
            node.emit("L2Normalization", node.entry(0), mode=mode, eps=epsilon)
            return True
    return False


def _raised(value: Value) -> tuple[Value, float] | None:
    """Return what a constant number is added to, and that number."""
    producer = value.producer
    if producer is None or not isinstance(producer.op, Add):
        return None
    for slot in (0, 1):
        number, other = producer.inputs[1 - slot], producer.inputs[slot]
        if number is not None and other is not None and number.tensor is not None and number.tensor.size == 1:
            return other, float(number.tensor.numpy().reshape(-1)[0])
    return None


def _summed_squares(value: Value, data: Value) -> list[int] | None:
    """Return the axes over which a value sums the squares of the data, kept as 1; None if it does not."""
    producer = value.producer
    if producer is None or not isinstance(producer.op, ReduceSumSquare | ReduceSum) or not producer.op.keepdims:
        return None
    source = producer.inputs[0]
    if isinstance(producer.op, ReduceSum):
        square = None if source is None else source.producer
        if square is None or not isinstance(square.op, Mul) or square.inputs[0] is not square.inputs[1]:
            return None
        source = square.inputs[0]
    known = producer.integers(1)
    if source is not data or known is None or data.rank is None:
        return None
    return sorted(normalize_axis(axis, data.rank) for axis in known)
