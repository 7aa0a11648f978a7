"""Pooling: ceil mode is MXNet's convention `full`, less the last window where that begins behind the data."""

from __future__ import annotations

from graphir.converters.mxnet.export_context import Entry, ExportFunction, ExportNode, ExportTable
from graphir.converters.mxnet.exports.padding import lowest, padded
from graphir.ops import pooling as ir
from graphir.padding import resolve


def _pads(node: ExportNode) -> tuple[tuple[int, int], ...]:
    op = node.op
    rank = len(op.kernel_shape)
    if not 1 <= rank <= 3:
        node.refuse(f"MXNet pools over 1 to 3 spatial axes, not {rank}")
    if any(step != 1 for step in op.dilations):
        node.refuse(f"dilations {list(op.dilations)}; MXNet's windows have no gaps")
    ones = (1,) * rank
    found = resolve(op.padding, node.shape()[2:], op.kernel_shape, op.strides or ones, ones)
    if found is None:
        node.refuse("SAME needs the sizes of the input; state the inputs' shapes")
    if any(min(pair) < 0 for pair in found.pads):
        node.refuse(f"padding {list(found.pads)} is negative")
    return found.pads


def _surplus(node: ExportNode, pads: tuple[tuple[int, int], ...]) -> tuple[int, ...]:
    """Windows (0 or 1 an axis) that the convention `full` counts and ceil mode does not."""
    op = node.op
    found = []
    for axis, (before, after) in enumerate(pads):
        width, stride = op.kernel_shape[axis], (op.strides or (1,) * len(pads))[axis]
        if after + stride <= width:
            found.append(0)
            continue
        (size,) = node.sizes((node.shape()[axis + 2],), f"{node.value(0).name} in ceil mode")
        count = -(-(size + before + after - width) // stride) + 1
        found.append(int((count - 1) * stride >= size + before))
    return tuple(found)


def _pooled(node: ExportNode, data: Entry, pads: tuple[tuple[int, int], ...], last: bool, **kind: object) -> Entry:
    """A Pooling node with symmetric pads, without surplus windows; bound to the result if it is the `last` step."""
    op = node.op
    attributes = {
        "kernel": op.kernel_shape,
        "stride": op.strides or (1,) * len(pads),
        "pad": tuple(before for before, _ in pads),
        "pooling_convention": "full" if op.ceil_mode else "valid",
        **kind,
    }
    surplus = _surplus(node, pads) if op.ceil_mode else (0,) * len(pads)
    if not any(surplus) and last:
        index = node.export.append("Pooling", node.stem, [data], attributes)
        node.bind((index, 0))
        return index, 0
    found = node.step("Pooling", data, **attributes)
    if any(surplus):
        end = (None, None, *(-1 if more else None for more in surplus))
        found = node.step("slice", found, suffix="inside", begin=(None,) * len(end), end=end)
    if last:
        node.bind(found)
    return found


def _zero(pads: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    return ((0, 0),) * len(pads)


def _fits(node: ExportNode, pads: tuple[tuple[int, int], ...]) -> bool:
    """Whether MXNet takes these pads as they are: symmetric and smaller than the kernel."""
    return all(
        before == after and before < width for (before, after), width in zip(pads, node.op.kernel_shape, strict=True)
    )


def export_max_pool(node: ExportNode) -> None:
    """Pooling max; different pads before and after are a Pad with the lowest number."""
    if len(node.node.outputs) > 1 and (
        node.node.outputs[1].uses or node.export.graph.is_output(node.node.outputs[1])
    ):
        node.refuse("the places of the maxima are used; MXNet does not give them")
    if not node.dtype().is_float:
        node.refuse(f"MXNet pools floats only, not {node.dtype()}")
    pads = _pads(node)
    data = node.entry(0)
    if not _fits(node, pads):
        data = padded(node, data, node.shape(), node.dtype(), [(0, 0), (0, 0), *pads], lowest(node.dtype()))
        pads = _zero(pads) if not node.op.ceil_mode else _refuse_uneven(node, pads)
    _pooled(node, data, pads, True, pool_type="max")


def _refuse_uneven(node: ExportNode, pads: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Ceil mode drops windows by where the data end; with the padding in the data they must be counted before."""
    if any(_surplus(node, pads)):
        node.refuse(f"ceil mode with the padding {list(pads)}, where a window begins behind the data")
    return _zero(pads)


def export_average_pool(node: ExportNode) -> None:
    """Pooling avg; with different pads before and after the divisor is pooled too, unless the padding counts."""
    op: ir.AveragePool = node.op
    pads = _pads(node)
    data = node.entry(0)
    counts = op.count_include_pad
    if _fits(node, pads):
        _pooled(node, data, pads, True, pool_type="avg", count_include_pad=counts)
        return
    around = [(0, 0), (0, 0), *pads]
    inner = _zero(pads) if not op.ceil_mode else _refuse_uneven(node, pads)
    wide = padded(node, data, node.shape(), node.dtype(), around, 0.0)
    if counts:
        _pooled(node, wide, inner, True, pool_type="avg", count_include_pad=True)
        return
    ones = padded(node, node.step("ones_like", data), node.shape(), node.dtype(), around, 0.0)
    total = _pooled(node, wide, inner, False, pool_type="avg", count_include_pad=True)
    share = _pooled(node, ones, inner, False, pool_type="avg", count_include_pad=True)
    node.emit("elemwise_div", total, share)


def export_lp_pool(node: ExportNode) -> None:
    """Pooling lp of order 2; odd orders are sums with signs in MXNet."""
    if node.op.p != 2:
        node.refuse(f"p {node.op.p}; MXNet's odd norms keep signs")
    pads = _pads(node)
    data = node.entry(0)
    if not _fits(node, pads):
        data = padded(node, data, node.shape(), node.dtype(), [(0, 0), (0, 0), *pads], 0.0)
        pads = _zero(pads) if not node.op.ceil_mode else _refuse_uneven(node, pads)
    _pooled(node, data, pads, True, pool_type="lp", p_value=2)


def global_pool(kind: str) -> ExportFunction:
    """Pooling over whole channels."""

    def export_global(node: ExportNode) -> None:
        value = node.value(0)
        rank = 2 if value.rank is None else value.rank - 2
        if not 1 <= rank <= 3:
            node.refuse(f"MXNet pools over 1 to 3 spatial axes, not {rank}")
        order = None
        if kind == "lp":
            order = node.op.p
            if order != 2:
                node.refuse(f"p {order}; MXNet's odd norms keep signs")
        node.emit(
            "Pooling", node.entry(0), global_pool=True, kernel=(1,) * rank, pool_type=kind, p_value=order
        )

    return export_global


def export_max_roi_pool(node: ExportNode) -> None:
    """ROIPooling."""
    op: ir.MaxRoiPool = node.op
    node.emit("ROIPooling", *node.entries(), pooled_size=op.pooled_shape, spatial_scale=op.spatial_scale)


EXPORTS: ExportTable = {
    ir.MaxPool: export_max_pool,
    ir.AveragePool: export_average_pool,
    ir.LpPool: export_lp_pool,
    ir.GlobalMaxPool: global_pool("max"),
    ir.GlobalAveragePool: global_pool("avg"),
    ir.GlobalLpPool: global_pool("lp"),
    ir.MaxRoiPool: export_max_roi_pool,
}

__all__ = ["EXPORTS"]
