"""Pooling: ceil mode is MXNet's convention `full`, less the last window where that begins behind the data.

What MXNet's windows cannot do (gaps, more padding than a kernel covers, a divisor of their own) is laid out first: the
data are padded, and the axes whose windows have gaps are taken apart into one window behind the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from graphir.arrays import Array
from graphir.converters.mxnet.exporting.context import AnyNode, Entry, ExportNode, direct, row, table
from graphir.converters.mxnet.exporting.ops.padding import lowest, padded, settled
from graphir.converters.mxnet.exporting.ops.steps import cast, emit_as, is_used, operand_dtype
from graphir.ops import pooling as ir
from graphir.ops.pooling import MaxPool
from graphir.types import DType


def bind_places(
    node: ExportNode[MaxPool], data: Entry, positions: Sequence[Array], fill: float, dtype: DType
) -> None:
    """Bind the node's second result: the flat index in (N, C, D...) of each window's first maximum, int64.

    `positions` are what each window sees on each spatial axis, (windows, kernel), padding out of range.
    """
    channels, *sizes = node.fixed(node.shape()[1:], f"{node.input(0).name}, of which places are counted,")
    pads = [
        (max(-int(indices.min()), 0), max(int(indices.max()) + 1 - size, 0))
        for indices, size in zip(positions, sizes, strict=True)
    ]
    data = padded(node, data, node.shape(), dtype, [(0, 0), (0, 0), *pads], fill)
    for axis, indices in enumerate(positions):
        wanted = node.constant((indices + pads[axis][0]).reshape(-1), DType.INT64, f"seen{axis}")
        data = node.step("take", data, wanted, suffix=f"seen{axis}", axis=axis + 2, mode="clip")
    inside = _windows_behind(node, data, [indices.shape for indices in positions])
    within = node.step("argmax", inside, suffix="within", axis=2)
    begins, moves = _strided(node, positions, sizes)
    moved = node.step("take", node.constant(moves, DType.INT64, "moves"), within, suffix="moved", mode="clip")
    result = node.step("broadcast_add", moved, node.constant(begins[None, :], DType.INT64, "begins"), suffix="in_plane")
    planes = node.export.cast(node.step("_contrib_arange_like", within, suffix="planes", axis=0), DType.INT64)
    starts = node.step("_mul_scalar", planes, suffix="starts", scalar=int(np.prod(sizes)))
    result = node.step("broadcast_add", result, node.step("expand_dims", starts, axis=1), suffix="flat_places")
    counts = [indices.shape[0] for indices in positions]
    node.bind(node.step("Reshape", result, suffix="places", shape=(-1, channels, *counts)), 1, carried=DType.INT64)


def _windows_behind(node: AnyNode, data: Entry, shapes: Sequence[tuple[int, ...]]) -> Entry:
    """(planes, windows, elements of a window) of data with windows * kernel elements on each axis.

    Axis after axis joins, since MXNet transposes 6 axes at most.
    """
    windows = elements = 1
    for index, (count, width) in enumerate(shapes):
        rest = int(np.prod([left * right for left, right in shapes[index + 1 :]], dtype=np.int64))
        apart = (-1, windows, elements, count, width, rest)
        data = node.step("Reshape", data, suffix=f"apart{index}", shape=apart)
        data = node.step("transpose", data, suffix=f"joined{index}", axes=(0, 1, 3, 2, 4, 5))
        windows, elements = windows * count, elements * width
    return node.step("Reshape", data, suffix="windows", shape=(-1, windows, elements))


def _strided(
    node: ExportNode[MaxPool], positions: Sequence[Array], sizes: Sequence[int]
) -> tuple[Array, Array]:
    """Return the flat index of each window's first element (outside if that is padding), and how far its others are."""
    windows, elements = (math.prod(indices.shape[side] for indices in positions) for side in (0, 1))
    node.charge(windows + elements, "the places of its windows")
    begins, moves = np.zeros(1, np.int64), np.zeros(1, np.int64)
    for axis, indices in enumerate(positions):
        others = sizes[axis + 1 :] if node.op.storage_order == 0 else sizes[:axis]
        step = int(np.prod(others, dtype=np.int64))
        begins = (begins[:, None] + indices[None, :, 0] * step).reshape(-1)
        moves = (moves[:, None] + (indices[0] - indices[0, 0])[None, :] * step).reshape(-1)
    return begins, moves


Windowed = ir.MaxPool | ir.AveragePool | ir.LpPool
Global = ir.GlobalMaxPool | ir.GlobalAveragePool | ir.GlobalLpPool


@dataclass(frozen=True)
class Windows:
    """How the windows lie on each spatial axis: kernel, stride, dilation and padding."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]

    @property
    def rank(self) -> int:
        """The number of spatial axes."""
        return len(self.kernel)

    @property
    def fits(self) -> bool:
        """Whether MXNet takes these as they are: no gaps, padding symmetric and smaller than the kernel."""
        return all(step == 1 for step in self.dilations) and all(
            0 <= before == after < width for (before, after), width in zip(self.pads, self.kernel, strict=True)
        )


def windows_of(node: ExportNode[Windowed]) -> Windows:
    """Return the node's windows. Refuses what MXNet has not."""
    op = node.op
    rank = len(op.kernel_shape)
    if not 1 <= rank <= 3:
        node.refuse(f"MXNet pools over 1 to 3 spatial axes, not {rank}")
    ones = (1,) * rank
    strides, dilations = op.strides or ones, op.dilations or ones
    result = settled(node, op.padding, node.shape()[2:], op.kernel_shape, strides, dilations)
    return Windows(op.kernel_shape, strides, dilations, result.pads or ((0, 0),) * rank)


def _surplus(node: ExportNode[Windowed], windows: Windows) -> tuple[int, ...]:
    """Windows (0 or 1 an axis) that the convention `full` counts and ceil mode does not."""
    result = []
    for axis, (before, after) in enumerate(windows.pads):
        width, stride = windows.kernel[axis], windows.strides[axis]
        if after + stride <= width:
            result.append(0)
            continue
        (size,) = node.fixed((node.shape()[axis + 2],), f"{node.input(0).name} in ceil mode")
        count = -(-(size + before + after - width) // stride) + 1
        result.append(int((count - 1) * stride >= size + before))
    return tuple(result)


def _plain(node: ExportNode[Windowed], data: Entry, windows: Windows, **kind: Any) -> Entry:
    """Return a Pooling node with symmetric pads, without surplus windows."""
    ceil = node.op.ceil_mode
    result = node.step(
        "Pooling",
        data,
        kernel=windows.kernel,
        stride=windows.strides,
        pad=tuple(before for before, _ in windows.pads),
        pooling_convention="full" if ceil else "valid",
        **kind,
    )
    surplus = _surplus(node, windows) if ceil else (0,) * windows.rank
    if not any(surplus):
        return result
    end = (None, None, *(-1 if more else None for more in surplus))
    return node.step("slice", result, suffix="inside", begin=(None,) * len(end), end=end)


def _laid_out(
    node: ExportNode[Windowed], data: Entry, windows: Windows, dtype: DType, fill: float, **kind: Any
) -> Entry:
    """Return a Pooling node of data that are padded, and of which windows with gaps are taken apart."""
    gaps = any(step != 1 for step in windows.dilations)
    open_sizes = any(not isinstance(size, int) for size in node.shape()[2:])
    if open_sizes and (gaps or node.op.ceil_mode):
        node.refuse(f"dilations or ceil mode with the padding {list(windows.pads)} need the input's sizes; state them")
    if open_sizes:
        data = padded(node, data, node.shape(), dtype, [(0, 0), (0, 0), *windows.pads], fill)
        return node.step("Pooling", data, kernel=windows.kernel, stride=windows.strides, **kind)
    pads, strides = [], list(windows.strides)
    indices = positions(node, windows)
    for axis, size in enumerate(node.fixed(node.shape()[2:], node.input(0).name)):
        before = windows.pads[axis][0]
        pads.append((before, max(int(indices[axis].max()) + 1 - size, 0)))
    data = padded(node, data, node.shape(), dtype, [(0, 0), (0, 0), *pads], fill)
    for axis, step in enumerate(windows.dilations):
        if step != 1:
            wanted = node.constant((indices[axis] + windows.pads[axis][0]).reshape(-1), DType.INT64, f"windows{axis}")
            data = node.step("take", data, wanted, suffix=f"windows{axis}", axis=axis + 2, mode="clip")
            strides[axis] = windows.kernel[axis]
    return node.step("Pooling", data, kernel=windows.kernel, stride=tuple(strides), **kind)


def positions(node: ExportNode[Windowed], windows: Windows) -> list[Array]:
    """For each spatial axis, what each window sees of the data, (windows, kernel); padding is out of range."""
    sizes = node.fixed(node.shape()[2:], node.input(0).name)
    counts = node.fixed(node.op.windows(sizes), "the result")
    result = []
    for axis, count in enumerate(counts):
        node.charge(count * windows.kernel[axis], "the places of its windows")
        begin = np.arange(count) * windows.strides[axis] - windows.pads[axis][0]
        result.append(begin[:, None] + np.arange(windows.kernel[axis])[None, :] * windows.dilations[axis])
    return result


def _pooled(node: ExportNode[Windowed], data: Entry, windows: Windows, dtype: DType, fill: float, **kind: Any) -> Entry:
    if windows.fits:
        return _plain(node, data, windows, **kind)
    return _laid_out(node, data, windows, dtype, fill, **kind)


def export_max_pool(node: ExportNode[ir.MaxPool]) -> None:
    """Pooling max; different pads before and after are a Pad with the lowest number. Integers go through float32."""
    windows = windows_of(node)
    dtype = operand_dtype(node) if operand_dtype(node).is_float else DType.FLOAT32
    data = cast(node, node.entry(0), operand_dtype(node), dtype)
    if is_used(node, 1):
        bind_places(node, data, positions(node, windows), lowest(dtype), dtype)
    emit_as(node, _pooled(node, data, windows, dtype, lowest(dtype), pool_type="max"), dtype)


def _divisors(node: ExportNode[ir.AveragePool], windows: Windows) -> Array:
    """By what each window's sum is divided, (1, 1, windows...); 1 where a dilated one sees nothing, whose mean is 0."""
    result = np.ones((1, 1), np.float64)
    for axis, indices in enumerate(positions(node, windows)):
        before, after = windows.pads[axis] if node.op.count_include_pad else (0, 0)
        (size,) = node.fixed((node.shape()[axis + 2],), node.input(0).name)
        counts = ((indices >= -before) & (indices < size + after)).sum(axis=1)
        result = result[..., None] * counts
    return np.maximum(result, 1.0)


def export_average_pool(node: ExportNode[ir.AveragePool]) -> None:
    """Pooling avg; where MXNet has another divisor, sums that are divided by it."""
    op = node.op
    windows, dtype, data = windows_of(node), operand_dtype(node), node.entry(0)
    if windows.fits:
        emit_as(node, _plain(node, data, windows, pool_type="avg", count_include_pad=op.count_include_pad), dtype)
        return
    if any(not isinstance(size, int) for size in node.shape()[2:]):
        _average_open(node, data, windows, dtype)
        return
    divisors = _divisors(node, windows)
    whole = int(np.prod(windows.kernel))
    if (divisors == whole).all():
        emit_as(node, _laid_out(node, data, windows, dtype, 0.0, pool_type="avg"), dtype)
        return
    total = _laid_out(node, data, windows, dtype, 0.0, pool_type="sum")
    emit_as(node, node.step("broadcast_div", total, node.constant(divisors, dtype, "divisor"), suffix="mean"), dtype)


def _average_open(node: ExportNode[ir.AveragePool], data: Entry, windows: Windows, dtype: DType) -> None:
    """The divisor of windows over data of open size is pooled too, unless the padding counts."""
    around = [(0, 0), (0, 0), *windows.pads]
    total = _laid_out(node, data, windows, dtype, 0.0, pool_type="avg")
    if node.op.count_include_pad:
        emit_as(node, total, dtype)
        return
    ones = padded(node, node.step("ones_like", data), node.shape(), dtype, around, 0.0)
    share = node.step("Pooling", ones, suffix="share", kernel=windows.kernel, stride=windows.strides, pool_type="avg")
    emit_as(node, node.step("elemwise_div", total, share, suffix="mean"), dtype)


LARGEST_ORDER = 3


def _power(node: AnyNode, data: Entry, order: int) -> tuple[Entry, dict[str, Any]]:
    """Return what is pooled for a p-norm, and how: MXNet's odd orders keep signs, and it has none above 3."""
    if order == 2:
        return data, {"pool_type": "lp", "p_value": 2}
    data = node.step("abs", data)
    if order <= LARGEST_ORDER:
        return data, {"pool_type": "sum"} if order == 1 else {"pool_type": "lp", "p_value": order}
    return node.step("_power_scalar", data, suffix="power", scalar=order), {"pool_type": "sum"}


def _root(node: AnyNode, pooled: Entry, order: int) -> Entry:
    return node.step("_power_scalar", pooled, suffix="root", scalar=1 / order) if order > LARGEST_ORDER else pooled


def export_lp_pool(node: ExportNode[ir.LpPool]) -> None:
    """Pooling lp of order 2; other orders of the magnitudes."""
    windows, dtype = windows_of(node), operand_dtype(node)
    data, kind = _power(node, node.entry(0), node.op.p)
    emit_as(node, _root(node, _pooled(node, data, windows, dtype, 0.0, **kind), node.op.p), dtype)


def global_pool(kind: str, node: ExportNode[Global]) -> None:
    """Pooling over whole channels; over more than three axes a reduction."""
    value = node.input(0)
    rank = 2 if value.rank is None else value.rank - 2
    data, dtype = node.entry(0), operand_dtype(node)
    order = node.op.p if isinstance(node.op, ir.GlobalLpPool) else 0
    attributes: dict[str, Any] = {"pool_type": kind}
    if order:
        data, attributes = _power(node, data, order)
    if rank > 3:
        _reduce(node, data, rank, attributes)
        return
    result = node.step("Pooling", data, global_pool=True, kernel=(1,) * rank, **attributes)
    emit_as(node, _root(node, result, order), dtype)


def _reduce(node: ExportNode[Global], data: Entry, rank: int, kind: dict[str, Any]) -> None:
    axes, order = tuple(range(2, rank + 2)), kind.get("p_value")
    name = {"avg": "mean", "max": "max"}.get(str(kind["pool_type"]), "sum")
    if order is not None:
        data = node.step("_power_scalar", data, suffix="power", scalar=order)
    result = node.step(name, data, axis=axes, keepdims=True)
    whole = node.op.p if isinstance(node.op, ir.GlobalLpPool) else 1
    if whole > 1:
        result = node.step("_power_scalar", result, suffix="root", scalar=1 / whole)
    emit_as(node, result, operand_dtype(node))


def export_max_unpool(node: ExportNode[ir.MaxUnpool]) -> None:
    """scatter_nd into zeros; what a stated output shape has more lies behind."""
    op = node.op
    sizes = node.fixed(node.shape(), node.input(0).name)
    rank = len(op.kernel_shape)
    strides, pads = op.strides or (1,) * rank, op.padding.pads or ((0, 0),) * rank
    whole = [*sizes[:2]]
    for size, stride, width, pair in zip(sizes[2:], strides, op.kernel_shape, pads, strict=True):
        whole.append((size - 1) * stride + width - sum(pair))
    total = int(np.prod(whole))
    flat = node.step("Reshape", node.entry(0), suffix="flat", shape=(-1,))
    indices = node.step("Reshape", node.entry(1), suffix="places", shape=(1, -1))
    spread = node.step("scatter_nd", flat, indices, suffix="spread", shape=(total,))
    result = node.step("Reshape", spread, suffix="unpooled", shape=tuple(whole))
    wanted = node.numbers(2)
    if wanted is not None and list(wanted) != whole:
        more = [(0, size - least) for size, least in zip(wanted, whole, strict=True)]
        result = padded(node, result, tuple(whole), operand_dtype(node), more, 0.0)
    emit_as(node, result, operand_dtype(node))


EXPORTS = table(
    row(ir.MaxPool, export_max_pool),
    row(ir.AveragePool, export_average_pool),
    row(ir.LpPool, export_lp_pool),
    row(ir.GlobalMaxPool, partial(global_pool, "max")),
    row(ir.GlobalAveragePool, partial(global_pool, "avg")),
    row(ir.GlobalLpPool, partial(global_pool, "lp")),
    row(ir.MaxRoiPool, direct("ROIPooling", pooled_shape="pooled_size")),
    row(ir.MaxUnpool, export_max_unpool),
)
