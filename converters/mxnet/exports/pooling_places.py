"""Where in the data the maximum of each window lies: argmax of windows that are taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.converters.mxnet.export_context import Entry, ExportNode
from graphir.converters.mxnet.exports.padding import padded
from graphir.types import DType

Array = NDArray[Any]


def bind_places(
    node: ExportNode, data: Entry, positions: Sequence[Array], fill: float, dtype: DType
) -> None:
    """Bind the node's second result: the flat index in (N, C, D...) of each window's first maximum, int64.

    `positions` are what each window sees on each spatial axis, (windows, kernel), padding out of range.
    """
    batch, channels, *sizes = node.sizes(node.shape(), f"{node.value(0).name}, of which places are counted,")
    pads = [
        (max(-int(places.min()), 0), max(int(places.max()) + 1 - size, 0))
        for places, size in zip(positions, sizes, strict=True)
    ]
    data = padded(node, data, node.shape(), dtype, [(0, 0), (0, 0), *pads], fill)
    for axis, places in enumerate(positions):
        wanted = node.constant((places + pads[axis][0]).reshape(-1), DType.INT64, f"seen{axis}")
        data = node.step("take", data, wanted, suffix=f"seen{axis}", axis=axis + 2, mode="clip")
    inside = _windows_behind(node, data, batch * channels, [places.shape for places in positions])
    within = node.step("argmax", inside, suffix="within", axis=2)
    begins, moves = _strided(node, positions, sizes)
    moved = node.step("take", node.constant(moves, DType.INT64, "moves"), within, suffix="moved", mode="clip")
    planes = np.arange(batch * channels)[:, None] * int(np.prod(sizes))
    base = node.constant(planes + begins[None, :], DType.INT64, "begins")
    counts = [places.shape[0] for places in positions]
    found = node.step("elemwise_add", moved, base, suffix="flat_places")
    node.bind(node.step("Reshape", found, suffix="places", shape=(batch, channels, *counts)), 1, carried=DType.INT64)


def _windows_behind(node: ExportNode, data: Entry, planes: int, shapes: Sequence[tuple[int, ...]]) -> Entry:
    """(planes, windows, elements of a window) of data with windows * kernel elements on each axis.

    Axis after axis joins, since MXNet transposes 6 axes at most.
    """
    windows = elements = 1
    for place, (count, width) in enumerate(shapes):
        rest = int(np.prod([own * other for own, other in shapes[place + 1 :]], dtype=np.int64))
        apart = (planes, windows, elements, count, width, rest)
        data = node.step("Reshape", data, suffix=f"apart{place}", shape=apart)
        data = node.step("transpose", data, suffix=f"joined{place}", axes=(0, 1, 3, 2, 4, 5))
        windows, elements = windows * count, elements * width
    return node.step("Reshape", data, suffix="windows", shape=(planes, windows, elements))


def _strided(
    node: ExportNode, positions: Sequence[Array], sizes: Sequence[int]
) -> tuple[Array, Array]:
    """The flat index of each window's first element (outside if that is padding), and how far its others are."""
    begins, moves = np.zeros(1, np.int64), np.zeros(1, np.int64)
    for axis, places in enumerate(positions):
        others = sizes[axis + 1 :] if node.op.storage_order == 0 else sizes[:axis]
        step = int(np.prod(others, dtype=np.int64))
        begins = (begins[:, None] + places[None, :, 0] * step).reshape(-1)
        moves = (moves[:, None] + (places[0] - places[0, 0])[None, :] * step).reshape(-1)
    return begins, moves


__all__ = ["bind_places"]
