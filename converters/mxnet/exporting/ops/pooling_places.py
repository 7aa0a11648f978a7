"""Where in the data the maximum of each window lies: argmax of windows that are taken apart."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from graphir.arrays import Array
from graphir.converters.mxnet.exporting.context import AnyNode, Entry, ExportNode
from graphir.converters.mxnet.exporting.ops.padding import padded
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
        rest = int(np.prod([own * other for own, other in shapes[index + 1 :]], dtype=np.int64))
        apart = (-1, windows, elements, count, width, rest)
        data = node.step("Reshape", data, suffix=f"apart{index}", shape=apart)
        data = node.step("transpose", data, suffix=f"joined{index}", axes=(0, 1, 3, 2, 4, 5))
        windows, elements = windows * count, elements * width
    return node.step("Reshape", data, suffix="windows", shape=(-1, windows, elements))


def _strided(
    node: ExportNode[MaxPool], positions: Sequence[Array], sizes: Sequence[int]
) -> tuple[Array, Array]:
    """The flat index of each window's first element (outside if that is padding), and how far its others are."""
    windows, elements = (math.prod(indices.shape[side] for indices in positions) for side in (0, 1))
    node.charge(windows + elements, "the places of its windows")
    begins, moves = np.zeros(1, np.int64), np.zeros(1, np.int64)
    for axis, indices in enumerate(positions):
        others = sizes[axis + 1 :] if node.op.storage_order == 0 else sizes[:axis]
        step = int(np.prod(others, dtype=np.int64))
        begins = (begins[:, None] + indices[None, :, 0] * step).reshape(-1)
        moves = (moves[:, None] + (indices[0] - indices[0, 0])[None, :] * step).reshape(-1)
    return begins, moves
