"""Enlarging by whole factors: every element repeated."""

from __future__ import annotations

from graphir.converters.mxnet.export_context import ExportNode, ExportTable
from graphir.ops.base import normalize_axis
from graphir.ops.resize import Coordinates, NearestMode, Resize, ResizeMode

REPEATS = {
    (Coordinates.ASYMMETRIC, NearestMode.FLOOR),
    (Coordinates.HALF_PIXEL, NearestMode.ROUND_PREFER_FLOOR),
    (Coordinates.HALF_PIXEL, NearestMode.ROUND_PREFER_CEIL),
}


def _factors(node: ExportNode) -> dict[int, int]:
    """The whole factor of each axis that is enlarged."""
    op: Resize = node.op
    rank = node.rank()
    axes = op.axes or tuple(range(rank))
    if op.factors:
        factors: tuple[float, ...] = op.factors
    else:
        own, wanted = node.sizes(node.shape(), "what is resized"), node.sizes(node.result.shape, "the result")
        factors = tuple(wanted[axis] / own[axis] for axis in axes)
    if any(factor < 1 or factor != int(factor) for factor in factors):
        node.refuse(f"factors {list(factors)}; MXNet enlarges by whole ones")
    found = {normalize_axis(axis, rank): int(factor) for axis, factor in zip(axes, factors, strict=True)}
    return {axis: factor for axis, factor in found.items() if factor > 1}


def export_resize(node: ExportNode) -> None:
    """UpSampling of images by one factor, else repeat along each axis."""
    op: Resize = node.op
    if op.mode is not ResizeMode.NEAREST or (op.coordinates, op.nearest_mode) not in REPEATS:
        node.refuse(f"mode {op.mode.value} with coordinates {op.coordinates.value} has no operator in MXNet")
    factors = _factors(node)
    data = node.entry(0)
    if not factors:
        node.emit("_copy", data)
    elif node.rank() == 4 and set(factors) == {2, 3} and len(set(factors.values())) == 1 and node.dtype().is_float:
        node.emit("UpSampling", data, scale=factors[2], sample_type="nearest", num_args=1)
    else:
        *before, last = factors
        for axis in before:
            data = node.step("repeat", data, repeats=factors[axis], axis=axis)
        node.emit("repeat", data, repeats=factors[last], axis=last)


EXPORTS: ExportTable = {Resize: export_resize}

__all__ = ["EXPORTS"]
