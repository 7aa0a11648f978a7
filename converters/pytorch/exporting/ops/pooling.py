"""Pooling over the spatial axes of channel-first tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

from graphir.converters.pytorch.exporting.context import (
    AnyNode,
    ExportFunction,
    ExportNode,
    Expr,
    binary,
    call,
    list_of,
    row,
    short,
    table,
    tuple_of,
)
from graphir.converters.pytorch.exporting.ops.activation import float_text
from graphir.converters.pytorch.exporting.ops.convolution import padded, padded_same, settled, unless
from graphir.ops import pooling as ir
from graphir.padding import Explicit, extent
from graphir.types import Dim, DType

MOST_AXES = 3
Pads = Sequence[tuple[int, int]]
WindowPool = Union[ir.MaxPool, ir.AveragePool, ir.LpPool]


class Windows:
    """The windows of a pooling. `pads` are None where SAME's depend on sizes that are open."""

    def __init__(self, node: ExportNode[WindowPool]) -> None:
        op = node.op
        self.node = node
        self.kernel = op.kernel_shape
        self.rank = len(self.kernel)
        self.strides = op.strides or (1,) * self.rank
        self.dilations = op.dilations or (1,) * self.rank
        resolved = settled(node, op.padding, self.kernel, self.strides, self.dilations)
        self.pads: Pads | None = None if resolved is None else resolved.pads or ((0, 0),) * self.rank
        self.rounds_up = op.ceil_mode and isinstance(op.padding, Explicit)

    @property
    def is_symmetric(self) -> bool:
        """Whether torch's pooling takes the pads: as much before as behind, within half a window."""
        return self.pads is not None and all(
            before == after and 0 <= before <= width // 2
            for (before, after), width in zip(self.pads, self.kernel, strict=True)
        )

    @property
    def begins_in_data(self) -> bool:
        """Whether the last window begins in the data whatever the sizes, or torch knows where the padding begins."""
        if not self.rounds_up or self.is_symmetric or self.pads is None:
            return True
        spans = map(extent, self.kernel, self.dilations)
        return all(after + stride <= span for (_, after), stride, span in
                   zip(self.pads, self.strides, spans, strict=True))  # fmt: skip

    def options(self) -> dict[str, str | None]:
        """Return what torch's pooling takes besides the window."""
        assert self.pads is not None
        ends = [before for before, _ in self.pads] if self.is_symmetric else [0]
        return {"padding": unless(0, ends), "ceil_mode": "True" if self.rounds_up else None}

    def window(self) -> tuple[str, str | None]:
        """Return the window and its stride, which is the window's size by default."""
        return short(self.kernel), None if tuple(self.strides) == tuple(self.kernel) else short(self.strides)

    def texts(self) -> tuple[str, str, str]:
        """Return the kernel, strides and dilations as functions of the file take them."""
        return tuple_of(self.kernel), tuple_of(self.strides), tuple_of(self.dilations)

    def pads_text(self) -> str:
        """Return the pads as functions of the file take them. Refuses open ones."""
        if self.pads is None:
            self.node.refuse("SAME pads of this pooling need the sizes of the input; state the inputs' shapes")
        return tuple_of(map(tuple_of, self.pads))

    def padded(self, data: Expr, value: str | None = None, *, symmetric: bool = True) -> Expr:
        """Return the data with its pads around it, without those that torch's pooling adds itself if `symmetric`."""
        if self.pads is None:
            return padded_same(self.node, data, self.node.op.padding, self.kernel, self.strides, self.dilations, value)
        if not any(map(any, self.pads)) or (symmetric and self.is_symmetric):
            return data
        return padded(self.node, data, self.pads, value)

    def elements(self, data: Expr, value: str | None = None) -> str:
        """Return the elements of all windows, in a last axis."""
        node = self.node
        if self.rounds_up:
            pad = node.function("pad_windows")
            data = node.step(call(pad, data, *self.texts(), self.pads_text(), value=value), "padded")
        else:
            data = self.padded(data, value, symmetric=False)
        return call(node.function("windows"), data, *self.texts())


def export_max_pool(node: ExportNode[ir.MaxPool]) -> None:
    """F.max_pool1d to 3d. Pads that it does not take (one side more, beyond half a window, a last window that begins
    behind the data) come before it, as the smallest number."""
    data, windows, value = node.tensor(), Windows(node), lowest(node)
    if node.is_read(1):
        spans = map(extent, windows.kernel, windows.dilations)
        if any(max(pads) >= span for pads, span in zip(windows.pads or (), spans, strict=False)):
            node.refuse(f"pads {list(windows.pads or ())} make windows of padding alone, whose maximum has no position")
        options = {
            "ceil_mode": "True" if windows.rounds_up else None,
            "column_major": "True" if node.op.storage_order else None,
            "value": None if node.dtype().is_float else value,
        }
        function = node.function("max_pool_indices")
        node.emit_all(call(function, data, *windows.texts(), windows.pads_text(), **options))
        return
    is_integer = not node.dtype().is_float
    if windows.rank > MOST_AXES or not windows.begins_in_data or (is_integer and windows.rank == 1):
        node.emit(f"{windows.elements(data, value)}.amax(-1)")
        return
    data = windows.padded(data, value)
    dilation = unless(1, windows.dilations)
    options = windows.options() if windows.pads is not None else {}
    node.emit(call(f"F.max_pool{windows.rank}d", data, *windows.window(), dilation=dilation, **options))


def lowest(node: AnyNode) -> str:
    """Return what no element is below."""
    dtype = node.dtype()
    if dtype.is_float:
        return '-float("inf")'
    return "0" if dtype.value.startswith("u") else f"{-(1 << (dtype.bits - 1))}"


def export_average_pool(node: ExportNode[ir.AveragePool]) -> None:
    """F.avg_pool1d to 3d. Pads that it does not take come before it; where they do not count, the mean is divided by
    that of ones with the same pads."""
    data, windows, counts = node.tensor(), Windows(node), node.op.count_include_pad
    pads = windows.pads
    is_narrow = windows.rank == MOST_AXES and node.dtype() in (DType.FLOAT16, DType.BFLOAT16)
    is_dilated = any(step > 1 for step in windows.dilations)
    rounds_padded = windows.rounds_up and not windows.is_symmetric
    if windows.rank > MOST_AXES or is_dilated or is_narrow or rounds_padded:
        options = {
            "ceil_mode": "True" if windows.rounds_up else None,
            "count_include_pad": "True" if counts else None,
        }
        function = node.function("average_pool")
        node.emit(call(function, data, *windows.texts(), windows.pads_text(), **options))
        return
    has_pads = pads is None or any(map(any, pads))
    options = windows.options() if pads is not None else {}
    pool = f"F.avg_pool{windows.rank}d"
    if windows.is_symmetric and has_pads and not counts:
        options["count_include_pad"] = "False"
    text = call(pool, windows.padded(data), *windows.window(), **options)
    if has_pads and not windows.is_symmetric and not counts:
        ones = node.step(f"torch.ones_like({data.atom}[:1, :1])", "ones")
        text = binary("/", text, call(pool, windows.padded(ones), *windows.window(), **options))
    node.emit(text)


def export_lp_pool(node: ExportNode[ir.LpPool]) -> None:
    """The norm of the elements of each window."""
    windows = Windows(node)
    node.emit(f"torch.linalg.vector_norm({windows.elements(node.tensor())}, {node.op.p}, -1)")


def global_pool(function: str) -> ExportFunction:
    """Return a reduction over all spatial axes, which stay with size 1."""

    def export_global(node: ExportNode[ir.GlobalMaxPool | ir.GlobalAveragePool]) -> None:
        node.emit(f"{node.tensor().atom}.{function}({_spatial(node)}, keepdim=True)")

    return export_global


def export_global_lp_pool(node: ExportNode[ir.GlobalLpPool]) -> None:
    """The norm over all spatial axes."""
    axes = _spatial(node)
    node.emit(call("torch.linalg.vector_norm", node.tensor(), str(node.op.p), axes, keepdim="True"))


def _spatial(node: AnyNode) -> str:
    return short(range(2, node.rank())) if node.rank() > 3 else "2"


def export_max_roi_pool(node: ExportNode[ir.MaxRoiPool]) -> None:
    """A loop over regions and cells."""
    op, scale = node.op, float_text(node.op.spatial_scale)
    function = node.function("max_roi_pool")
    size = tuple_of(op.pooled_shape)
    node.emit(call(function, node.tensor(), node.tensor(1), size, scale=None if scale == "1.0" else scale))


def export_max_unpool(node: ExportNode[ir.MaxUnpool]) -> None:
    """Zeros, and the elements at their positions. These are of the shape without `output_shape`, to which zeros are
    added behind."""
    op, shape = node.op, node.shape()
    rank = len(op.kernel_shape)
    strides, pads = op.strides or (1,) * rank, op.padding.pads or ((0, 0),) * rank
    whole = [
        (size - 1) * stride + width - sum(pair)
        for size, stride, width, pair in zip(shape[2:], strides, op.kernel_shape, pads, strict=True)
    ]
    text = call(node.function("max_unpool"), node.tensor(), node.tensor(1), list_of(_texts(node, [*shape[:2], *whole])))
    if node.optional(2) is not None:
        more = [size - size_so_far for size, size_so_far in zip(node.shape(node.result)[2:], whole, strict=True)]
        if any(more):
            text = call("F.pad", text, tuple_of(text for size in reversed(_texts(node, more)) for text in ("0", size)))
    node.emit(text)


def _texts(node: AnyNode, dims: Sequence[Dim]) -> list[Expr]:
    sizes = [node.export.size(dim) for dim in dims]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        node.refuse("the shape of the result depends on sizes that are open; state the inputs' shapes")
    return known


EXPORTS = table(
    row(ir.MaxPool, export_max_pool),
    row(ir.AveragePool, export_average_pool),
    row(ir.LpPool, export_lp_pool),
    row(ir.GlobalMaxPool, global_pool("amax")),
    row(ir.GlobalAveragePool, global_pool("mean")),
    row(ir.GlobalLpPool, export_global_lp_pool),
    row(ir.MaxRoiPool, export_max_roi_pool),
    row(ir.MaxUnpool, export_max_unpool),
)
