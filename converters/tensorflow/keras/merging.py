"""Keras's layers that take several values together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graphir.converters.kernel.refusals import Refusal
from graphir.converters.tensorflow.files.records import Endpoint
from graphir.converters.tensorflow.importing.context import Imported, ImportNode
from graphir.converters.tensorflow.keras.context import LayerCall
from graphir.converters.tensorflow.keras.normalization import unit_length
from graphir.errors import FormatError
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops.base import Operator
from graphir.ops.creation import ConstantOfShape
from graphir.ops.linear import MatMul
from graphir.ops.shape import Shape, Squeeze, Transpose, Unsqueeze
from graphir.ops.shape_parts import Concat
from graphir.ops.slicing import Slice
from graphir.types import DType

# Values, and the mask of each that has one, made one.
_Combine = Callable[[ImportNode, Sequence[Value], Sequence[Value | None]], Value]

FOLD_NAMES = {"AddV2": "sum", "Mul": "product", "Sub": "difference"}


def _make_fold(op: str) -> Callable[[LayerCall], Endpoint]:
    def folded(layer: LayerCall) -> Endpoint:
        operands = _align(layer)
        value = operands[0]
        for index, other in enumerate(operands[1:]):
            suffix = f"_{index}" if index < len(operands) - 2 else ""
            value = layer.add(op, f"{FOLD_NAMES.get(op, op.lower())}{suffix}", [value, other])
        layer.mask = _merge_masks(layer)
        return value

    return folded


def _align(layer: LayerCall) -> list[Endpoint]:
    """Return the operands, those of fewer axes with ones behind the batch, as Keras broadcasts them."""
    inputs = layer.inputs
    if not inputs:
        raise Refusal("a call without values")
    return [layer.apply(_add_axes, f"operand_{index}", [operand, *inputs]) for index, operand in enumerate(inputs)]


def _add_axes(node: ImportNode) -> Imported:
    value = node.input(0)
    ranks = [None if other.shape is None else len(other.shape) for other in node.inputs]
    known = [rank for rank in ranks if rank is not None]
    if len(known) < len(ranks) or max(known) == known[0]:
        return value
    return node.emit(Unsqueeze(), value, node.vector(range(1, 1 + max(known) - known[0])))


def _merge_masks(layer: LayerCall) -> Endpoint | None:
    """Return the mask of a result that is made of each operand.

    In version 3 what one of the operands' masks lets through, none if an operand has none; before, what all of the
    masks that there are let through.
    """
    stated = [operand.mask for operand in layer.operands]
    masks = [mask for mask in stated if mask is not None]
    if not masks or (layer.keras >= 3 and len(masks) < len(stated)):
        return None
    op, result = "LogicalOr" if layer.keras >= 3 else "LogicalAnd", masks[0]
    for index, mask in enumerate(masks[1:]):
        if mask != result:
            result = layer.add(op, f"mask_{index}", [result, mask])
    return result


def _make_masked(op: str, combine: _Combine) -> Callable[[LayerCall], Endpoint]:
    """Version 3's maximum, minimum and product leave masked steps out of what they compute."""

    def merged(layer: LayerCall) -> Endpoint:
        operands = layer.operands
        masks = [operand.mask for operand in operands if operand.mask is not None]
        if layer.keras < 3 or not masks:
            return _make_fold(op)(layer)
        layer.mask = _merge_masks(layer)

        def import_merged(node: ImportNode) -> Imported:
            values, rest = node.inputs[: len(operands)], list(node.inputs[len(operands) :])
            if len({node.rank(value) for value in values}) > 1:
                node.refuse("values with masks that have different numbers of axes")
            wide = [None if operand.mask is None else _widen_mask(node, rest.pop(0)) for operand in operands]
            return combine(node, values, wide)

        return layer.apply(import_merged, "merged", [*layer.inputs, *masks])

    return merged


def _widen_mask(node: ImportNode, mask: Value) -> Value:
    return node.step(Unsqueeze(), mask, node.vector([-1]), suffix="wide_mask")


def _extreme(op: Operator) -> _Combine:
    """Return the maximum or minimum: of a step that a mask hides in one operand, the other's."""

    def combine(node: ImportNode, values: Sequence[Value], masks: Sequence[Value | None]) -> Value:
        result, seen = values[0], masks[0]
        for value, mask in zip(values[1:], masks[1:], strict=True):
            if mask is not None:
                value = node.step(ew.Where(), mask, value, result, suffix="seen")
            if seen is not None:
                result = node.step(ew.Where(), seen, result, value, suffix="seen")
            both = mask is not None and seen is not None
            seen = node.step(ew.Or(), seen, mask, suffix="any_seen") if both else None
            result = node.step(op, result, value, suffix="merged")
        return result

    return combine


def _product(node: ImportNode, values: Sequence[Value], masks: Sequence[Value | None]) -> Value:
    """Return the product of what masks show; 0 where each operand's mask hides a step."""
    ones = node.scalar_like(values[0], 1)
    shown = [
        value if mask is None else node.step(ew.Where(), mask, value, ones, suffix="shown")
        for value, mask in zip(values, masks, strict=True)
    ]
    result = shown[0]
    for value in shown[1:]:
        result = node.step(ew.Mul(), result, value, suffix="product")
    whole = [mask for mask in masks if mask is not None]
    if len(whole) < len(masks):
        return result
    seen = whole[0]
    for mask in whole[1:]:
        seen = node.step(ew.Or(), seen, mask, suffix="any_seen")
    return node.step(ew.Where(), seen, result, node.scalar_like(result, 0), suffix="kept")


def subtract(layer: LayerCall) -> Endpoint:
    """Return the first less the second."""
    if len(layer.inputs) != 2:
        raise Refusal(f"{len(layer.inputs)} operands, expected 2")
    return _make_fold("Sub")(layer)


def average(layer: LayerCall) -> Endpoint:
    """Return the mean of the operands."""
    factor = layer.constant("factor", 1.0 / max(1, len(layer.inputs)), np.float32)
    return layer.add("Mul", "average", [_make_fold("AddV2")(layer), factor])


def concatenate(layer: LayerCall) -> Endpoint:
    """Return the operands along an axis. Along the last one a step counts if it does in any of them (version 2:
    all)."""
    axis = layer.config.get("axis", -1)
    if not isinstance(axis, int):
        raise FormatError(f"layer {layer.name}: axis is {str(axis)[:60]}, expected one")
    masks = [operand.mask for operand in layer.operands]
    if any(mask is not None for mask in masks):
        layer.mask = _concat_masks(layer, axis)
    value = layer.constant("axis", axis)
    return layer.add("ConcatV2", "concat", [*layer.inputs, value], N=len(layer.inputs))


def _concat_masks(layer: LayerCall, axis: int) -> Endpoint | None:
    if axis in (-1, 2):
        masks = [operand.mask for operand in layer.operands]
        if layer.keras >= 3 and any(mask is None for mask in masks):
            return layer.apply(_all_true, "mask", [layer.data])
        return _merge_masks(layer)
    if axis not in (1, -2):
        raise Refusal(f"a concatenation of masked values along the axis {axis}; 1 and -1 are read")
    parts = [
        operand.mask if operand.mask is not None else layer.apply(_all_true, f"mask_{index}", [operand.value])
        for index, operand in enumerate(layer.operands)
    ]

    def import_joined(node: ImportNode) -> Imported:
        if axis < 0 and node.rank(node.input(0)) != 3:
            node.refuse(f"a concatenation of masked values along the axis {axis}, which is not that of the steps")
        return node.emit(Concat(1), *node.inputs[1:])

    return layer.apply(import_joined, "mask", [layer.data, *parts])


def _all_true(node: ImportNode) -> Imported:
    """Return True for each step of a value (N, steps, ...)."""
    sizes = node.step(Slice(), node.step(Shape(), node.input(0)), node.vector([0]), node.vector([2]))
    return node.emit(ConstantOfShape(1.0, DType.BOOL), sizes)


def dot(layer: LayerCall) -> Endpoint:
    """Return products of two values along an axis of each, for each sample; what is one number a sample is (N, 1)."""
    axes = layer.config.get("axes", -1)
    stated = [axes, axes] if isinstance(axes, int) else list(axes)
    if len(layer.inputs) != 2:
        raise Refusal(f"{len(layer.inputs)} operands, expected 2")
    operands = list(layer.inputs)
    if layer.config.get("normalize"):
        operands = [
            unit_length(layer, operand, [axis], 1e-12 if layer.keras >= 3 else 1e-6, f"unit_{index}")
            for index, (operand, axis) in enumerate(zip(operands, stated, strict=True))
        ]

    def import_dot(node: ImportNode) -> Imported:
        return _batch_dot(node, stated)

    return layer.apply(import_dot, "dot", operands)


def _batch_dot(node: ImportNode, axes: Sequence[int]) -> Imported:
    left, right = node.inputs
    ranks = node.rank(left), node.rank(right)
    dot_axes = [node.axis(axis, rank) for axis, rank in zip(axes, ranks, strict=True)]
    if max(ranks) > 3:
        node.refuse(f"products of values with {ranks[0]} and {ranks[1]} axes; up to 3 are read")
    left = _move_last(node, left, dot_axes[0], ranks[0], "left")
    right = _move_last(node, right, dot_axes[1], ranks[1], "right")
    if ranks[0] == 2:
        left = node.step(Unsqueeze(), left, node.vector([1]), suffix="row")
    right = node.step(Transpose((0, 2, 1)), right) if ranks[1] == 3 else node.step(
        Unsqueeze(), right, node.vector([2]), suffix="column"
    )
    gone = [axis for axis, rank in ((1, ranks[0]), (2, ranks[1])) if rank == 2]
    if len(gone) == 2:
        gone = [1]
    if not gone:
        return node.emit(MatMul(), left, right)
    return node.emit(Squeeze(), node.step(MatMul(), left, right, suffix="product"), node.vector(gone))


def _move_last(node: ImportNode, value: Value, axis: int, rank: int, suffix: str) -> Value:
    if axis == rank - 1:
        return value
    return node.step(Transpose((*(other for other in range(rank) if other != axis), axis)), value, suffix=suffix)


LAYERS: Mapping[str, Callable[[LayerCall], Any]] = {
    "Add": _make_fold("AddV2"),
    "Average": average,
    "Concatenate": concatenate,
    "Dot": dot,
    "Maximum": _make_masked("Maximum", _extreme(ew.Max())),
    "Minimum": _make_masked("Minimum", _extreme(ew.Min())),
    "Multiply": _make_masked("Mul", _product),
    "Subtract": subtract,
}
