"""Regions (R, 5) of batch index and corners, as ROIAlign and ROIPooling take them."""

from __future__ import annotations

import math

from graphir.analysis.ranges import range_of
from graphir.converters.mxnet.importing.context import ImportNode
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.elementwise import LessOrEqual, Max, Where
from graphir.ops.shape import Unsqueeze
from graphir.ops.shape_parts import Slice
from graphir.ops.traits import Rounding
from graphir.types import DType

HANDED_ON = (Rounding.VIEWS, Rounding.MOVES, Rounding.HOLDS)


def may_lack_image(node: ImportNode, rois: Value) -> bool:
    """Return whether regions of a batch index below 0 are to give zeros: where such are stored or chosen, as a level of
    a pyramid chooses -1 for the regions of other levels, where regions are fed, and in a strict import where they are
    computed. C's cut to an integer makes an index below 0 of -1 and less only."""
    if rois.tensor is not None:
        return bool((rois.tensor.numpy()[:, 0] <= -1).any())
    difference = "a batch index below 0 is refused, or taken for the first image; MXNet gives zeros"
    return any(map(_is_below_0, _sources(rois))) or node.is_strict(difference)


def _sources(value: Value) -> set[Value]:
    """Return the values that the elements of a value come from as they are."""
    pending, seen = [value], {value}
    sources: set[Value] = set()
    while pending:
        item = pending.pop()
        if item.producer is None or item.producer.op.rounding not in HANDED_ON:
            sources.add(item)
            continue
        operands = {operand for operand in item.producer.inputs if operand is not None and operand.dtype is item.dtype}
        pending += operands - seen
        seen |= operands
    return sources


def _is_below_0(source: Value) -> bool:
    """Return whether a value is an input, or known to have numbers of -1 or less."""
    low, _ = range_of(source)
    return (source.producer is None and source.tensor is None) or -math.inf < low <= -1


def with_image(node: ImportNode, rois: Value) -> Value:
    """Return the regions, those of no image given to the first one: no index below 0 is left."""
    lowest = node.constant([[0.0, *[-math.inf] * 4]], rois.dtype or DType.FLOAT32)
    return node.step(Max(), rois, lowest, suffix="inside")


def zeros_without_image(node: ImportNode, rois: Value, pooled: Value) -> Value:
    """Return the node's result: what was pooled (R, C, H, W), 0 for regions whose batch index is below 0."""
    node.decide(
        DecisionKind.REGION_OF_NO_IMAGE,
        "a batch index below 0 gives zeros; MXNet 1.9.1's ROIAlign does so on GPUs, on CPUs it leaves such a region "
        "undefined and sets one other element to 0",
    )
    image = node.step(
        Slice(), rois, node.vector([0]), node.vector([1]), node.vector([1]), suffix="batch_index"
    )
    absent = node.step(LessOrEqual(), image, node.scalar_like(rois, -1), suffix="absent")
    absent = node.step(Unsqueeze(), absent, node.vector([2, 3]), suffix="absent_regions")
    return node.emit(Where(), absent, node.scalar_like(pooled, 0), pooled)
