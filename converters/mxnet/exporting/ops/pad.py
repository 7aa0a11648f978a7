"""Pad: MXNet's own of the spatial axes, constants beside the others, and elements taken again for the other modes."""

from __future__ import annotations

import numpy as np

from graphir.converters.mxnet.exporting.context import AnyNode, Entry, ExportNode, row, table
from graphir.converters.mxnet.exporting.ops.padding import cropped, padded
from graphir.ops import shape as ir
from graphir.ops.base import normalize_axis
from graphir.types import Dim, DType

Pads = list[tuple[int, int]]
MXNET_MODES = (ir.PadMode.EDGE, ir.PadMode.REFLECT)


def export_pad(node: ExportNode[ir.Pad]) -> None:
    """Pad, else Concat with constants or take."""
    rank = node.rank()
    numbers = node.numbers(1) or ()
    axes = node.numbers(3) or tuple(range(rank))
    pads = [(0, 0)] * rank
    for index, axis in enumerate(axes):
        pads[normalize_axis(axis, rank)] = (numbers[index], numbers[index + len(axes)])
    data, shape = node.entry(0), node.shape()
    dtype = (node.export.carried(node.input(0)) or node.dtype()) if node.dtype() is DType.BOOL else node.dtype()
    if not any(map(any, pads)):
        node.bind(node.step("_copy", data))
    elif node.op.mode is ir.PadMode.CONSTANT:
        node.bind(padded(node, data, shape, dtype, pads, _fill(node)))
    elif node.op.mode in MXNET_MODES and _is_spatial(shape, dtype, pads):
        node.bind(padded(node, data, shape, dtype, pads, 0.0, node.op.mode.value))
    else:
        node.bind(_taken(node, data, shape, pads))


def _fill(node: AnyNode) -> float:
    if node.optional(2) is None:
        return 0.0
    stated = node.number(2)
    if stated is None:
        node.refuse("its value is computed; MXNet wants a number")
    return stated


def _is_spatial(shape: tuple[Dim, ...], dtype: DType, pads: Pads) -> bool:
    """Whether MXNet's Pad takes it: floats of 3 to 5 axes, the first two as they are, and no more than there is."""
    if not 3 <= len(shape) <= 5 or any(map(any, pads[:2])) or not dtype.is_float:
        return False
    return all(
        not isinstance(size, int) or max(pair, default=0) < size for size, pair in zip(shape, pads, strict=True)
    )


def _taken(node: ExportNode[ir.Pad], data: Entry, shape: tuple[Dim, ...], pads: Pads) -> Entry:
    """Along each axis, the elements at the places that numpy's padding of `0 ... size - 1` gives."""
    data = cropped(node, data, pads)
    for axis, (before, after) in enumerate(pads):
        wanted = max(before, 0), max(after, 0)
        if not any(wanted):
            continue
        size = shape[axis]
        if not isinstance(size, int):
            node.refuse(f"the size of axis {axis} of {node.input(0).name} is open; state the inputs' shapes")
        left = size + min(before, 0) + min(after, 0)
        node.charge(left + sum(wanted), "its places")
        indices = np.pad(np.arange(left), wanted, mode=node.op.mode.value)
        held = node.constant(indices.astype(np.int32), suffix=f"places{axis}")
        data = node.step("take", data, held, axis=axis, mode="clip")
    return data


EXPORTS = table(row(ir.Pad, export_pad))
