"""Resize to the nearest element for dtypes that onnxruntime's Resize lacks: places are resized instead of elements."""

from __future__ import annotations

from graphir.converters.onnx.dtypes import CODES
from graphir.converters.onnx.exporting.context import AnyNode, ExportNode
from graphir.ops.resize import AspectPolicy, Coordinates, NearestMode, Resize, ResizeMode
from graphir.types import DType


def is_of_places(node: ExportNode[Resize]) -> bool:
    """Return whether the elements are only moved, axis by axis, in a dtype that the runtime cannot resize exactly."""
    op = node.op
    value = node.optional(0)
    return (
        op.mode is ResizeMode.NEAREST
        and op.coordinates is not Coordinates.TF_CROP_AND_RESIZE
        and op.keep_aspect_ratio_policy is AspectPolicy.STRETCH
        and value is not None
        and value.rank is not None
        and node.needs_composition()
    )


def export_by_places(node: ExportNode[Resize]) -> None:
    """Of every axis the places 0, 1, 2... are resized, and the data is gathered by them: no element changes."""
    op = node.op
    data, _, scales, sizes = (*node.input_names(), "", "", "")[:4]
    value = node.optional(0)
    assert value is not None
    assert value.rank is not None
    axes = [axis % value.rank for axis in op.axes] or list(range(value.rank))
    taken = data
    for slot, axis in enumerate(axes):
        if op.factors and op.factors[slot] == 1:
            continue
        factor = node.constant([op.factors[slot]], DType.FLOAT32) if op.factors else _part(node, scales, slot)
        names = [_places(node, data, axis), "", factor] + ([] if factor else [_part(node, sizes, slot)])
        resized = node.step(
            "Resize",
            names,
            suffix="places",
            coordinate_transformation_mode=None if op.coordinates is Coordinates.HALF_PIXEL else op.coordinates.value,
            nearest_mode=None if op.nearest_mode is NearestMode.ROUND_PREFER_FLOOR else op.nearest_mode.value,
        )
        index = node.step("Cast", [resized], to=CODES[DType.INT64], suffix="index")
        taken = node.step("Gather", [taken, index], axis=axis, suffix="taken")
    node.emit("Identity", [taken])


def _part(node: AnyNode, vector: str, slot: int) -> str:
    """Return one element of a vector, as a vector; "" for an absent one."""
    if not vector:
        return ""
    return node.step("Slice", [vector, node.vector([slot]), node.vector([slot + 1])], suffix="part")


def _places(node: AnyNode, data: str, axis: int) -> str:
    """0, 1, 2... along an axis, in float32, which tells 2**24 of them apart."""
    value = node.optional(0)
    size = None if value is None or value.shape is None else value.shape[axis]
    if isinstance(size, int):
        return node.constant(range(size), DType.FLOAT32)
    whole = node.step("Shape", [data])
    limit = node.step("Gather", [whole, node.constant(axis, DType.INT64)], suffix="size")
    limit = node.step("Cast", [limit], to=CODES[DType.FLOAT32], suffix="limit")
    return node.step("Range", [node.scalar(0, DType.FLOAT32), limit, node.scalar(1, DType.FLOAT32)], suffix="all")
