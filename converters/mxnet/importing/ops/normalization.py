"""Normalizations at inference."""

from __future__ import annotations

import numpy as np

from graphir.converters.mxnet.importing.context import Imported, ImportFunction, ImportNode
from graphir.decisions import DecisionKind
from graphir.errors import ShapeError
from graphir.graph import Value
from graphir.ops import normalization as ir
from graphir.ops.activation import Relu
from graphir.ops.base import normalize_axis
from graphir.ops.elementwise import Add, Cast, Div, Mul, Reciprocal, Sqrt, Sub
from graphir.ops.reduction import ReduceMean, ReduceSumSquare
from graphir.ops.shape import Expand, Reshape, Shape, Squeeze, Transpose
from graphir.tensor import Tensor
from graphir.types import UNKNOWN, Dim, DType, TensorType


def _axis(node: ImportNode, data: Value, default: int) -> int:
    """Return the attribute `axis`, as it is where the rank is unknown. Raises ShapeError for one that does not
    exist."""
    axis = node.attrs.get("axis")
    axis = default if axis is None else int(axis)
    return axis if data.rank is None else normalize_axis(axis, data.rank)


def _size(data: Value, axis: int) -> Dim:
    return UNKNOWN if data.shape is None else data.shape[axis]


def _moved(rank: int, source: int, target: int) -> tuple[int, ...]:
    """Return the order of axes that brings the axis `source` to the place `target`."""
    order = [axis for axis in range(rank) if axis != source]
    order.insert(target, source)
    return tuple(order)


def _inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(order.index(axis) for axis in range(len(order)))


def _unstated(node: ImportNode, name: str, others: str) -> None:
    """Record a default that other frameworks choose differently."""
    if name not in node.attrs.stated:
        node.decide(
            DecisionKind.DEFAULT, f"{name} is not stated: it is {node.attrs[name]:.6g}, MXNet's default ({others})"
        )


def import_batch_norm(node: ImportNode) -> Imported:
    """BatchNorm from its moving statistics, along any axis.

    With `output_mean_var` also the mean and 1 / sqrt(var + eps), which MXNet's CPU operator hands out as var;
    BatchNorm_v1 gives the variance itself.
    """
    attrs = node.attrs
    data = node.input(0)
    axis = _axis(node, data, 1)
    channels = (_size(data, axis),)
    beta, mean, variance = (node.shaped(slot, channels) for slot in (2, 3, 4))
    scale = node.shaped(1, channels)
    dtype = data.dtype if data.dtype is DType.FLOAT64 else DType.FLOAT32  # of float16 data too
    for vector in (scale, beta, mean, variance):
        if vector.dtype is None:
            node.graph.refine(vector, TensorType(dtype, None))
    if attrs["fix_gamma"]:
        scale = _ones(node, scale, beta, axis)
    is_fixed = node.training and attrs["use_global_stats"]
    if is_fixed:
        node.decide(DecisionKind.FIXED_STATISTICS, "use_global_stats: training neither uses nor changes statistics")
    _unstated(node, "eps", "others have 1e-5")
    op = ir.BatchNormalization(attrs["eps"], attrs["momentum"], fixed_statistics=is_fixed)
    vectors = (scale, beta, mean, variance)
    rectify = node.op == "_contrib_BatchNormWithReLU"
    if axis == 1 and not rectify:
        result = node.emit(op, data, *vectors)
    elif axis == 1:
        result = node.emit(Relu(), node.step(op, data, *vectors))
    else:
        result = _along_axis(node, op, (data, *vectors), axis)
    if not attrs["output_mean_var"]:
        return result
    if node.op == "BatchNorm_v1":
        return result, mean, variance
    deviation = node.step(Sqrt(), node.step(Add(), variance, node.scalar_like(variance, attrs["eps"])))
    return result, mean, node.step(Reciprocal(), deviation)


def _along_axis(node: ImportNode, op: ir.BatchNormalization, operands: tuple[Value, ...], axis: int) -> Value:
    """BatchNorm along another axis than 1: transposed on the way in and out; a vector becomes one sample."""
    data, *vectors = operands
    rank = node.rank(data)
    axis = normalize_axis(axis, rank)
    order = _moved(rank, axis, 1)
    if rank == 1:
        inner = node.step(Reshape(), data, node.vector([1, -1]), suffix="sample")
    else:
        inner = data if axis == 1 else node.step(Transpose(order), data, suffix="channels_first")
    result = node.step(op, inner, *vectors)
    if node.op == "_contrib_BatchNormWithReLU":
        result = node.step(Relu(), result)
    if rank == 1:
        return node.emit(Reshape(), result, node.vector([-1]))
    return result if axis == 1 else node.emit(Transpose(_inverse(order)), result)


def _ones(node: ImportNode, gamma: Value, beta: Value, axis: int) -> Value:
    """Return what `fix_gamma` makes of gamma, recorded: ones, under the name of a gamma that nothing else reads."""
    text = "stated" if "fix_gamma" in node.attrs.stated else "not stated, but MXNet's default"
    if gamma.tensor is not None:
        distance = float(np.abs(gamma.tensor.numpy().astype(np.float64) - 1).max(initial=0.0))
        text += f"; the stored gamma differs from 1 by {distance:.6g}" if distance else "; the stored gamma is 1 too"
    node.decide(DecisionKind.FIXED_GAMMA, f"gamma is 1 (fix_gamma is {text})")
    dtype = beta.dtype or gamma.dtype or DType.FLOAT32
    if gamma.tensor is not None and gamma.dtype is dtype and node.is_only_reader(1):
        node.graph.set_tensor(gamma, Tensor.of(np.ones(gamma.tensor.shape, dtype.numpy())))
        gamma.sources = ()  # its elements are not those of the file
        return gamma
    for vector in (gamma, beta, *node.inputs[3:]):
        if vector.shape is not None and isinstance(vector.shape[0], int):
            return _ones_of(node, vector.shape[0], dtype)
    data = node.input(0)
    if data.shape is not None and axis >= len(data.shape):
        raise ShapeError(f"{data.name} is {data.type}, which has no axis {axis}")
    if data.shape is not None and isinstance(data.shape[axis], int):
        return _ones_of(node, data.shape[axis], dtype)
    return node.step(Expand(), node.constant(1.0, dtype), node.step(Shape(), beta), suffix="ones")


def _ones_of(node: ImportNode, size: int, dtype: DType) -> Value:
    node.charge(size, "its fixed gamma")
    return node.constant(np.ones(size, dtype.numpy()))


def import_lrn(node: ImportNode) -> Value:
    """LRN over channels; MXNet, as ONNX, divides alpha by the window's size."""
    attrs = node.attrs
    if attrs["nsize"] % 2 == 0:
        node.refuse(f"nsize {attrs['nsize']} is even, MXNet takes odd sizes")
    _unstated(node, "knorm", "others have 1")
    if attrs["alpha"] == 0 or attrs["beta"] == 0:  # the window counts for nothing, and onnxruntime takes no 0
        data = node.input(0)
        with np.errstate(all="ignore"):
            factor = float(np.float64(attrs["knorm"]) ** -attrs["beta"])
        return node.emit(Mul(), data, node.scalar_like(data, factor))
    op = ir.LRN(size=attrs["nsize"], alpha=attrs["alpha"], beta=attrs["beta"], bias=attrs["knorm"])
    return node.emit(op, node.input(0))


def import_instance_norm(node: ImportNode) -> Value:
    """InstanceNorm: data (N, C, D...), gamma and beta (C,)."""
    data = node.input(0)
    channels = (_size(data, 1),) if data.rank is None or data.rank > 1 else (UNKNOWN,)
    _unstated(node, "eps", "others have 1e-5")
    op = ir.InstanceNormalization(epsilon=node.attrs["eps"])
    return node.emit(op, data, node.shaped(1, channels), node.shaped(2, channels))


def _stash(data: Value) -> DType:
    """Return the dtype of statistics: float64 for float64, else float32, in which MXNet accumulates too."""
    return DType.FLOAT64 if data.dtype is DType.FLOAT64 else DType.FLOAT32


def import_layer_norm(node: ImportNode) -> Imported:
    """LayerNorm over one axis; with `output_mean_var` also the mean and sqrt(var + eps), the axis kept with size 1."""
    attrs = node.attrs
    data = node.input(0)
    axis = _axis(node, data, -1)
    size = (_size(data, axis),)
    gamma, beta = node.shaped(1, size), node.shaped(2, size)
    op = ir.LayerNormalization(axis=-1, epsilon=attrs["eps"], stash_type=_stash(data))
    rank = None if axis == -1 else node.rank(data)
    statistics = attrs["output_mean_var"]
    if rank is None or axis % rank == rank - 1:
        results = node.emit_all(op, data, gamma, beta) if not statistics else node.steps(op, data, gamma, beta)
        return results[0] if not statistics else _with_statistics(node, results, data)
    order = _moved(rank, axis % rank, rank - 1)
    results = node.steps(op, node.step(Transpose(order), data, suffix="axis_last"), gamma, beta)
    back = Transpose(_inverse(order))
    if not statistics:
        return node.emit(back, results[0])
    restored = tuple(node.step(back, result, suffix="restored") for result in results)
    return _with_statistics(node, restored, data)


def _with_statistics(node: ImportNode, results: tuple[Value, ...], data: Value) -> Imported:
    """Return the normalized data, the mean and the deviation in the data's dtype."""
    result, mean, inverse = results
    deviation = node.step(Reciprocal(), inverse, suffix="deviation")
    dtype = data.dtype
    if dtype is None or dtype is mean.dtype:
        return result, mean, deviation
    return result, node.cast(mean, dtype), node.cast(deviation, dtype)


def import_group_norm(node: ImportNode) -> Imported:
    """GroupNorm; gamma and beta have one element for each group (MXNet 1.x) or each channel (2.0): their size tells.

    One for each group is an instance normalization of the groups. With `output_mean_var` also the mean and
    sqrt(var + eps), both (N, groups).
    """
    attrs = node.attrs
    groups, eps = attrs["num_groups"], attrs["eps"]
    data = node.input(0)
    if data.rank is not None and data.rank < 3:
        node.refuse(f"GroupNorm takes at least 3 axes, found {data.type}")
    channels = _size(data, 1)
    if groups < 1 or (isinstance(channels, int) and channels % groups):
        node.refuse(f"{channels} channels cannot be divided into {groups} groups")
    gamma, beta = node.input(1), node.input(2)
    known = [vector.shape for vector in (gamma, beta) if vector.shape is not None and UNKNOWN not in vector.shape]
    stated: tuple[Dim, ...] = known[0] if known else (groups,)
    gamma, beta = node.shaped(1, stated), node.shaped(2, stated)
    per_group = stated == (groups,)
    if per_group and channels == groups:
        result = node.emit(ir.InstanceNormalization(epsilon=eps), data, gamma, beta)
    elif per_group:
        grouped = _grouped(node, data, groups)
        inner = node.step(ir.InstanceNormalization(epsilon=eps), grouped, gamma, beta)
        result = node.emit(Reshape(), inner, _restoring(node, data))
    else:
        op = ir.GroupNormalization(num_groups=groups, epsilon=eps, stash_type=_stash(data))
        result = node.emit(op, data, gamma, beta)
    return (result, *_group_statistics(node, data, groups, eps)) if attrs["output_mean_var"] else result


def _grouped(node: ImportNode, data: Value, groups: int) -> Value:
    return node.step(Reshape(), data, node.vector([0, groups, -1]), suffix="groups")


def _group_statistics(node: ImportNode, data: Value, groups: int, eps: float) -> tuple[Value, Value]:
    """Return the mean and sqrt(variance + eps) of each sample's groups, in the data's dtype."""
    stash, dtype = _stash(data), data.dtype or DType.FLOAT32
    wide = data if dtype is stash else node.cast(data, stash)
    grouped, last = _grouped(node, wide, groups), node.vector([-1])
    mean = node.step(ReduceMean(), grouped, last, suffix="mean")
    centered = node.step(Sub(), grouped, mean, suffix="centered")
    squares = node.step(Mul(), centered, centered, suffix="squares")
    variance = node.step(ReduceMean(), squares, last, suffix="variance")
    deviation = node.step(Sqrt(), node.step(Add(), variance, node.scalar_like(variance, eps)), suffix="deviation")
    result = (node.step(Squeeze(), mean, last), node.step(Squeeze(), deviation, last))
    return result if dtype is stash else (node.cast(result[0], dtype), node.cast(result[1], dtype))


def _restoring(node: ImportNode, data: Value) -> Value:
    """Return the shape of data for a Reshape whose operand has data's first axis: numbers if one size at most is
    open."""
    if data.shape is not None:
        sizes = [0, *(dim if isinstance(dim, int) else -1 for dim in data.shape[1:])]
        if sizes.count(-1) <= 1:
            return node.vector(sizes)
    return node.step(Shape(), data)


def import_l2_normalization(node: ImportNode) -> Value:
    """x / sqrt(sum of x^2 + eps) over a sample (instance), its channels (channel) or its pixels (spatial)."""
    mode, eps = node.attrs["mode"], node.attrs["eps"]
    data = node.input(0)
    if mode != "instance" and data.rank is not None and data.rank < 3:
        node.refuse(f"mode {mode} takes at least 3 axes, found {data.type}; use mode instance")
    half = data.dtype is DType.FLOAT16
    if half:
        eps = float(np.float16(eps))  # MXNet holds it in the data's dtype, in which its default is 0
    wide = node.cast(data, DType.FLOAT32) if half else data
    flat, axes = wide, [1]
    if mode != "channel":
        first = 1 if mode == "instance" else 2
        if data.rank is None:
            flat, axes = node.step(Reshape(), wide, node.vector([*(0,) * first, -1]), suffix="flat"), [-1]
        else:
            axes = list(range(first, data.rank))
    if axes:
        squares = node.step(ReduceSumSquare(), flat, node.vector(axes), suffix="squares")
    else:  # a vector, each number a sample
        squares = node.step(Mul(), flat, flat, suffix="squares")
    norm = node.step(Sqrt(), node.step(Add(), squares, node.scalar_like(wide, eps)), suffix="norm")
    if flat is wide and not half:
        return node.emit(Div(), wide, norm)
    result = node.step(Div(), flat, norm)
    if flat is not wide:
        result = node.step(Reshape(), result, node.step(Shape(), data), suffix="restored")
    return node.emit(Cast(DType.FLOAT16), result) if half else result


IMPORTS: dict[str, ImportFunction] = {
    "BatchNorm": import_batch_norm,
    "BatchNorm_v1": import_batch_norm,
    "CuDNNBatchNorm": import_batch_norm,
    "GroupNorm": import_group_norm,
    "InstanceNorm": import_instance_norm,
    "L2Normalization": import_l2_normalization,
    "LRN": import_lrn,
    "LayerNorm": import_layer_norm,
    "_contrib_BatchNormWithReLU": import_batch_norm,
    "_contrib_SyncBatchNorm": import_batch_norm,
}
