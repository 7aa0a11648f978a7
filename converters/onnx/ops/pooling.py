"""Windowed and global pooling."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphir.converters.onnx.dtypes import CODES
from graphir.converters.onnx.exporting.context import AnyNode, ExportNode, direct, row, rows, table
from graphir.converters.onnx.exporting.same_padding import ones_like, padded_at_run_time, stated_padding
from graphir.converters.onnx.importing.context import ImportNode, ImportTable, direct_rows
from graphir.converters.onnx.importing.context import direct as import_direct
from graphir.converters.onnx.padding import pad_attributes, unless_all
from graphir.ops.pooling import (
    AveragePool,
    GlobalAveragePool,
    GlobalLpPool,
    GlobalMaxPool,
    LpPool,
    MaxPool,
    MaxRoiPool,
    MaxUnpool,
)
from graphir.padding import Explicit, Padding, extent
from graphir.passes.explicit_padding import spatial_sizes
from graphir.safety.limits import charge_nodes
from graphir.types import DType


def _window_attributes(node: ExportNode[MaxPool | AveragePool | LpPool], padding: Padding | None) -> dict[str, Any]:
    """Return the attributes of a windowed pooling; without a padding its data are padded already.

    SAME says how many windows there are, whatever the ceil mode, which onnx's own inference does not always heed.
    """
    op = node.op
    rounds_up = op.ceil_mode and isinstance(op.padding, Explicit) and not _rounds_down_anyway(node)
    return {
        "kernel_shape": op.kernel_shape,
        "strides": unless_all(op.strides, 1),
        "dilations": unless_all(op.dilations, 1),
        "ceil_mode": 1 if rounds_up else None,
        **pad_attributes(padding or Explicit()),
    }


def _rounds_down_anyway(node: ExportNode[MaxPool | AveragePool | LpPool]) -> bool:
    """Return whether ceil mode gives no further window for these sizes, but a reader of the target's opset may think
    so.

    That a window must not begin behind the data's own end is in ONNX's text from opset 22 on; the sizes that onnx
    infers for older ones count it.
    """
    op = node.op
    value = node.optional(0)
    sizes = value.shape[2:] if value is not None and value.shape is not None else ()
    assert isinstance(op.padding, Explicit)
    if node.opset >= 22 or not sizes:
        return False
    whole = [size for size in sizes if isinstance(size, int)]
    if len(whole) < len(sizes) or op.rounds_up(sizes):
        return False
    ones = (1,) * len(whole)
    steps, pads = op.strides or ones, op.padding.pads or ((0, 0),) * len(whole)
    spans = map(extent, op.kernel_shape, op.dilations or ones)
    return any(
        (size + sum(pair) - span) % step
        for size, pair, span, step in zip(whole, pads, spans, steps, strict=True)
    )


def export_max_pool(node: ExportNode[MaxPool]) -> None:
    """Write MaxPool."""
    op = node.op
    names, padding = node.input_names(), stated_padding(node)
    if padding is None:
        if not (node.node.outputs[1].uses or node.node.outputs[1].graph.is_output(node.node.outputs[1])):
            names[0] = padded_at_run_time(node, names[0], _lowest(node))
        elif not unless_all(op.dilations, 1):
            padding = op.padding
        else:
            node.refuse("dilated SAME with indices needs the sizes of the input; state the inputs' shapes")
    pads = _pads_beyond_windows(node)
    if pads is not None:
        ends = [0, 0, *(before for before, _ in pads), 0, 0, *(after for _, after in pads)]
        lowest = node.constant(np.asarray(_lowest(node), node.dtype().numpy()))
        names[0], padding = node.step("Pad", [names[0], node.vector(ends), lowest], suffix="padded"), None
    attributes = _window_attributes(node, padding)
    if pads is not None:
        attributes["ceil_mode"] = None
    node.emit("MaxPool", names, storage_order=op.storage_order or None, **attributes)


def _pads_beyond_windows(node: ExportNode[MaxPool]) -> list[tuple[int, int]] | None:
    """Return the pads of a pooling with pads as large as its kernel, which onnxruntime refuses: those that give as many
    windows without ceil mode. None for all others, and where the number of windows is open in ceil mode."""
    op, (result, indices) = node.op, node.node.outputs
    pads = op.padding.pads if isinstance(op.padding, Explicit) else ()
    kernel, rank = op.kernel_shape, len(op.kernel_shape)
    if indices.is_needed or not any(max(pair) >= size for pair, size in zip(pads, kernel, strict=False)):
        return None
    if not op.ceil_mode:
        return list(pads)
    sizes, counts = spatial_sizes(node.node, rank), result.shape[2:] if result.shape is not None else ()
    steps, dilations = op.strides or (1,) * rank, op.dilations or (1,) * rank
    ends: list[tuple[int, int]] = []
    for (before, _), *window in zip(pads, sizes or (), counts, steps, map(extent, kernel, dilations), strict=False):
        if not all(isinstance(number, int) for number in window):
            return None
        size, count, step, span = map(int, window)
        ends.append((before, (count - 1) * step + span - size - before))
    return ends or None


def export_average_pool(node: ExportNode[AveragePool]) -> None:
    """Write AveragePool; dilations exist from opset 19 on."""
    op = node.op
    padding = stated_padding(node)
    attributes = _window_attributes(node, padding)
    node.demand(19, "a dilated AveragePool exists", when=attributes["dilations"] is not None)
    if padding is None:
        _average_at_run_time(node, attributes)
        return
    node.emit("AveragePool", node.input_names(), count_include_pad=1 if op.count_include_pad else None, **attributes)


def _average_at_run_time(node: ExportNode[AveragePool], attributes: dict[str, Any]) -> None:
    """The mean over the padded data; where only data count, divided by the share of each window that they fill."""
    op = node.op
    (data,) = node.input_names()
    padded = padded_at_run_time(node, data, 0)
    if op.count_include_pad:
        node.emit("AveragePool", [padded], **attributes)
        return
    mean = node.step("AveragePool", [padded], suffix="mean", **attributes)
    inside = padded_at_run_time(node, ones_like(node, data), 0)
    node.emit("Div", [mean, node.step("AveragePool", [inside], suffix="share", **attributes)])


def _lowest(node: AnyNode) -> float:
    dtype = node.dtype()
    return -np.inf if dtype.is_float else float(np.iinfo(dtype.numpy()).min)


def export_lp_pool(node: ExportNode[LpPool]) -> None:
    """Write LpPool; ceil mode and dilations exist from opset 18 on."""
    op = node.op
    padding = stated_padding(node)
    attributes = _window_attributes(node, padding)
    if node.opset < 18 and (attributes["ceil_mode"] or attributes["dilations"]):
        node.refuse(f"LpPool with ceil mode or dilations exists from opset 18 on, the target is {node.opset}")
    names = node.input_names()
    if padding is None:
        names[0] = padded_at_run_time(node, names[0], 0)
    node.emit("LpPool", names, p=op.p, **attributes)


def export_max_roi_pool(node: ExportNode[MaxRoiPool]) -> None:
    """Write MaxRoiPool; runtimes have kernels for it up to opset 21, so from 22 on it is composed."""
    op = node.op
    if node.opset < 22:
        scale = op.spatial_scale if op.spatial_scale != 1 else None
        node.emit("MaxRoiPool", node.input_names(), pooled_shape=op.pooled_shape, spatial_scale=scale)
    else:
        _pool_regions_by_masks(node)


def _pool_regions_by_masks(node: ExportNode[MaxRoiPool]) -> None:
    """Every region's image, masked and reduced cell by cell, columns first. Takes the memory of an image a region."""
    op = node.op
    data, rois = node.input_names()
    batch = node.step("Cast", [node.step("Gather", [rois, _index(node, 0)], axis=1)], to=CODES[DType.INT64])
    pooled = node.step("Gather", [data, batch], axis=0, suffix="images")
    corners = node.step("Gather", [rois, node.vector([1, 2, 3, 4])], axis=1, suffix="corners")
    corners = node.step("Mul", [corners, _like(node, op.spatial_scale)], suffix="scaled")
    size = node.step("Floor", [node.step("Add", [node.step("Abs", [corners]), _like(node, 0.5)])])
    corners = node.step("Mul", [node.step("Sign", [corners]), size], suffix="rounded")
    lowest = _like(node, -np.inf)
    for axis, first in ((3, 0), (2, 1)):
        count = op.pooled_shape[axis - 2]
        charge_nodes(4 * count, f"node {node.node.name!r} ({op.name}): the parts of its cells")
        start = node.step("Gather", [corners, node.vector([first])], axis=1, suffix="start")
        end = node.step("Gather", [corners, node.vector([first + 2])], axis=1, suffix="end")
        extent = node.step("Add", [node.step("Sub", [end, start]), _like(node, 1)], suffix="extent")
        cell = node.step("Div", [node.step("Max", [extent, _like(node, 1)]), _like(node, count)], suffix="cell")
        low = node.step("Floor", [node.step("Mul", [cell, _like(node, range(count))])])
        high = node.step("Ceil", [node.step("Mul", [cell, _like(node, range(1, count + 1))])])
        lows, highs = (
            node.step("Unsqueeze", [node.step("Add", [bound, start]), node.vector([2])], suffix="bound")
            for bound in (low, high)
        )
        indices = _places(node, axis)
        inside = node.step(
            "And", [node.step("GreaterOrEqual", [indices, lows]), node.step("Less", [indices, highs])], suffix="inside"
        )
        parts = []
        for number in range(count):
            mask = node.step("Gather", [inside, _index(node, number)], axis=1, suffix="mask")
            spread = node.step("Unsqueeze", [mask, node.vector([1, 2] if axis == 3 else [1, 3])], suffix="spread")
            masked = node.step("Where", [spread, pooled, lowest], suffix="masked")
            parts.append(node.step("ReduceMax", [masked, node.vector([axis])], suffix="part"))
        pooled = node.step("Concat", parts, axis=axis, suffix="pooled")
    empty = node.step("IsInf", [pooled], detect_positive=0, suffix="empty")
    node.emit("Where", [empty, _like(node, 0), pooled])


def _places(node: AnyNode, axis: int) -> str:
    """0, 1, 2... along an axis of the image, in its dtype."""
    image = node.optional(0)
    if image is not None and image.rank == 4 and isinstance(image.shape[axis], int):  # type: ignore[index]
        size = image.shape[axis]  # type: ignore[index]
        node.charge(size, "its places")
        return _like(node, range(size))
    size = node.step("Shape", node.input_names()[:1], start=axis, end=axis + 1)
    limit = node.step("Squeeze", [node.step("Cast", [size], to=CODES[node.dtype()])], suffix="limit")
    return node.step("Range", [_like(node, 0), limit, _like(node, 1)])


def _index(node: AnyNode, number: int) -> str:
    return node.constant(np.asarray(number, np.int64))


def _like(node: AnyNode, numbers: float | range) -> str:
    return node.constant(np.asarray(numbers, node.dtype().numpy()))


def import_lp_pool_1(node: ImportNode) -> None:
    """Read LpPool-1, whose p is a float and whose kernel may not be stated."""
    kernel = node.ints("kernel_shape")
    if not kernel:
        node.refuse("the attribute kernel_shape is missing")
    node.emit(LpPool(kernel, node.ints("strides"), padding=node.padding(), p=_whole_p(node)), node.input(0))


def _whole_p(node: ImportNode) -> int:
    p = float(node.attribute("p", 2.0))
    if p != int(p):
        node.refuse(f"p is {p}, and only whole numbers are supported")
    return int(p)


EXPORTS = table(
    row(MaxPool, export_max_pool),
    row(AveragePool, export_average_pool),
    row(LpPool, export_lp_pool),
    *rows((GlobalAveragePool, GlobalMaxPool, GlobalLpPool), direct()),
    row(MaxRoiPool, export_max_roi_pool),
    row(MaxUnpool, direct(since=9)),
)

IMPORTS: ImportTable = {
    **direct_rows(MaxPool, AveragePool, GlobalAveragePool, GlobalMaxPool, MaxRoiPool),
    "LpPool": {1: import_lp_pool_1, 2: import_direct(LpPool)},
    "GlobalLpPool": {
        1: lambda node: node.emit(GlobalLpPool(_whole_p(node)), node.input(0)),
        2: import_direct(GlobalLpPool),
    },
    "MaxUnpool": {9: import_direct(MaxUnpool)},
}
