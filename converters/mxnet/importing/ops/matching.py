"""Boxes matched with boxes, as for the training of detectors: greedy pairs, targets of offsets, of classes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode, to_single
from graphir.converters.mxnet.importing.ops.control import close_body
from graphir.graph import Graph, Value
from graphir.ops.activation import Softmax
from graphir.ops.base import Operator
from graphir.ops.control import Loop
from graphir.ops.creation import Range
from graphir.ops.elementwise import (
    Add,
    And,
    Cast,
    Div,
    Equal,
    Greater,
    GreaterOrEqual,
    Less,
    Log,
    Max,
    Min,
    Mod,
    Mul,
    Neg,
    Not,
    Or,
    Sub,
    Where,
)
from graphir.ops.extent import Tile
from graphir.ops.indexing import Gather, GatherND, ScatterElements
from graphir.ops.reduction import ArgMax, ReduceMax, ReduceProd, ReduceSum, TopK
from graphir.ops.selection import CumSum
from graphir.ops.shape import Expand, Reshape, Shape, Squeeze, Unsqueeze
from graphir.ops.shape_parts import Concat, Slice
from graphir.types import UNKNOWN, DType, TensorType


def _count(node: ImportNode, value: Value, axis: int) -> Value:
    """The size of an axis as a vector of one element, a constant if it is known."""
    known = node.sizes_if_known(value, (axis,))
    return node.vector(known) if known else node.step(Shape(start=axis, end=axis + 1), value, suffix="count")


def _up_to(node: ImportNode, count: Value) -> Value:
    end = node.step(Squeeze(), count, node.vector([0]), suffix="end")
    return node.step(Range(), node.constant(0, DType.INT64), end, node.constant(1, DType.INT64), suffix="places")


def _pairs(node: ImportNode, scores: Value, threshold: float, most: Value) -> Value:
    """Of scores (B, N, M) the column (B, N) of every row, the highest score above the threshold first; -1 for none.

    Each turn of a loop takes one pair of every image, `most` of them at the most. The names inside begin otherwise than
    those of the steps around it.
    """
    assert scores.dtype is not None
    columns = _count(node, scores, 2)
    rows_places, column_places = _up_to(node, _count(node, scores, 1)), _up_to(node, columns)
    start = node.step(Mul(), rows_places, node.vector([0]), suffix="zeros")
    start = node.step(Sub(), start, node.vector([1]), suffix="none")
    shape = node.step(Concat(0), _count(node, scores, 0), node.vector([1]), suffix="shape")
    start = node.step(Tile(), node.step(Unsqueeze(), start, node.vector([0])), shape, suffix="unmatched")
    body = Graph(f"{node.name}_body", parent=node.graph)
    body.add_input(body.fresh_name("pair_iteration"), TensorType(DType.INT64, ()))
    body.add_input(body.fresh_name("pair_condition"), TensorType(DType.BOOL, ()))
    left = body.add_input(body.fresh_name("pair_left"), scores.type)
    found = body.add_input(body.fresh_name("pair_found"), TensorType(DType.INT64, (scores.shape or (UNKNOWN,) * 3)[:2]))

    def step(op: Operator, *operands: Value) -> Value:
        return body.add(op, *operands, name=body.fresh_name(f"pair_{op.name.lower()}"))

    flat = step(Reshape(), left, node.vector([0, -1]))
    best = step(ReduceMax(keepdims=True), flat, node.vector([1]))
    place = step(ArgMax(axis=1, keepdims=True), flat)
    row, column = step(Div(), place, columns), step(Mod(), place, columns)
    above = step(Greater(), best, node.constant(threshold, scores.dtype))
    in_row = step(And(), step(Equal(), rows_places, row), above)
    used = step(Or(), step(Unsqueeze(), in_row, node.vector([2])),
                step(Unsqueeze(), step(Equal(), column_places, column), node.vector([1])))  # fmt: skip
    rest = step(Where(), used, node.constant(-math.inf, scores.dtype), left)
    matched = step(Where(), in_row, column, found)
    some = step(ReduceMax(keepdims=False), step(Cast(DType.INT64), above), node.vector([0, 1]))
    close_body(node, body, [step(Cast(DType.BOOL), some), rest, matched])
    name = node.fresh_name(f"{node.name}_pairs")
    turns = node.step(Squeeze(), most, node.vector([0]), suffix="turns")
    results = node.graph.add_node(
        Loop(2), [turns, node.constant(True, DType.BOOL), scores, start], name=name, subgraphs=[body],
        output_names=[node.fresh_name(f"{name}_left"), name],
    ).outputs  # fmt: skip
    return results[1]


def import_bipartite_matching(node: ImportNode) -> Sequence[Value]:
    """_contrib_bipartite_matching: the column of each row of scores (..., N, M), the row of each column, or -1."""
    attrs = node.attrs
    data = node.input(0)
    shape = node.shape(data)
    if len(shape) < 2 or node.dtype(0) not in (DType.FLOAT16, DType.FLOAT32, DType.FLOAT64):
        node.refuse(f"{data.name} is {data.type}, expected floats with at least two axes")
    dtype = node.dtype(0)
    wide = dtype if dtype is DType.FLOAT64 else DType.FLOAT32
    threshold = float(np.array(to_single(attrs["threshold"])).astype(dtype.numpy()))
    scores = data if dtype is wide else node.step(Cast(wide), data, suffix="scores")
    if attrs["is_ascend"]:
        scores, threshold = node.step(Neg(), scores, suffix="scores"), -threshold
    sizes = node.step(Shape(), data, suffix="sizes")
    last = node.step(Slice(), sizes, node.vector([-2]), node.vector([2**31 - 1]), node.vector([0]), suffix="last")
    flat = node.step(Concat(0), node.vector([-1]), last, suffix="flat")
    scores = node.step(Reshape(), scores, flat, suffix="images")
    node.graph.refine(scores, TensorType(None, (UNKNOWN, *shape[-2:])))
    most = node.step(Min(), _count(node, scores, 1), _count(node, scores, 2), suffix="most")
    if attrs["topk"] > 0:  # MXNet stops behind the first one too many
        most = node.step(Min(), most, node.vector([attrs["topk"] + 1]), suffix="most")
    owner = _pairs(node, scores, threshold, most)
    own = node.step(Equal(), node.step(Unsqueeze(), owner, node.vector([2])), _up_to(node, _count(node, scores, 2)))
    numbers = node.step(Cast(DType.INT32), own, suffix="own")
    row = node.step(ArgMax(axis=1, keepdims=False), numbers, suffix="row")
    taken = node.step(Cast(DType.BOOL), node.step(ReduceMax(keepdims=False), numbers, node.vector([1])), suffix="taken")
    row = node.step(Where(), taken, row, node.constant(-1, DType.INT64), suffix="rows")
    results = []
    for value, axis in ((owner, -1), (row, -2)):
        kept = [place for place in range(len(shape)) if place - len(shape) != axis]
        wanted = node.step(Gather(0), sizes, node.vector(kept), suffix="shape")
        shaped = node.step(Reshape(), node.step(Cast(dtype), value, suffix="numbers"), wanted, suffix="match")
        node.graph.refine(shaped, TensorType(None, tuple(shape[place] for place in kept)))
        results.append(shaped)
    return results


def _centers(node: ImportNode, boxes: Value) -> tuple[Value, Value]:
    """Centres and sizes (..., 2) of corner boxes (..., 4)."""
    axis = node.vector([-1])
    low = node.step(Slice(), boxes, node.vector([0]), node.vector([2]), axis, suffix="low")
    high = node.step(Slice(), boxes, node.vector([2]), node.vector([4]), axis, suffix="high")
    size = node.step(Sub(), high, low, suffix="size")
    half = node.step(Mul(), size, node.scalar_like(boxes, 0.5), suffix="half")
    return node.step(Add(), low, half, suffix="center"), size


def _offsets(node: ImportNode, boxes: Value, anchors: Value) -> Value:
    """How boxes lie to anchors: centres in their sizes, logarithms of sizes."""
    (place, size), (own_place, own_size) = _centers(node, boxes), _centers(node, anchors)
    moved = node.step(Div(), node.step(Sub(), place, own_place, suffix="apart"), own_size, suffix="moved")
    grown = node.step(Log(), node.step(Div(), size, own_size, suffix="ratio"), suffix="grown")
    return node.step(Concat(-1), moved, grown, suffix="offsets")


def import_box_encode(node: ImportNode) -> Sequence[Value]:
    """_contrib_box_encode: targets and masks (B, N, 4) for samples (B, N), matches (B, N), anchors (B, N, 4), refs
    (B, M, 4), means (4) and stds (4)."""
    samples, matches = node.input(0), node.input(1)
    anchors, refs = node.shaped(2, (UNKNOWN, UNKNOWN, 4)), node.shaped(3, (UNKNOWN, UNKNOWN, 4))
    positive = node.step(Greater(), samples, node.scalar_like(samples, 0.5), suffix="positive")
    index = node.step(Where(), positive, matches, node.scalar_like(matches, 0), suffix="chosen")
    index = node.step(Unsqueeze(), node.step(Cast(DType.INT64), index, suffix="index"), node.vector([2]))
    found = _offsets(node, node.step(GatherND(1), refs, index, suffix="boxes"), anchors)
    found = node.step(Div(), node.step(Sub(), found, node.shaped(4, (4,))), node.shaped(5, (4,)), suffix="scaled")
    mask = node.step(Unsqueeze(), positive, node.vector([2]), suffix="mask")
    targets = node.step(Where(), mask, found, node.scalar_like(refs, 0), suffix="targets")
    one = node.constant(np.ones(4, (refs.dtype or DType.FLOAT32).numpy()))
    return targets, node.step(Where(), mask, one, node.scalar_like(refs, 0), suffix="masks")


def import_multibox_target(node: ImportNode) -> Sequence[Value]:
    """_contrib_MultiBoxTarget: targets of offsets (N, 4 A), their masks (N, 4 A) and targets of classes (N, A) for
    anchors (1, A, 4), labels (N, G, 5) of class and corners, -1 behind the last, and scores (N, C, A)."""
    attrs = node.attrs
    anchors, labels, scores = (node.shaped(slot, (UNKNOWN,) * 3) for slot in range(3))
    variances = tuple(attrs["variances"] or ())
    if len(variances) != 4 or any(value.dtype not in (None, DType.FLOAT32) for value in (anchors, labels, scores)):
        node.refuse(f"variances {variances} of {anchors.type}, expected four numbers of float32")
    classes = node.step(Gather(2), labels, node.constant(0, DType.INT64), suffix="classes")
    end = node.step(Cast(DType.INT64), node.step(Equal(), classes, node.constant(-1.0, DType.FLOAT32)), suffix="end")
    ended = node.step(CumSum(), end, node.constant(1, DType.INT64), suffix="ended")
    valid = node.step(Equal(), ended, node.constant(0, DType.INT64), suffix="valid")
    boxes = node.step(Slice(), labels, node.vector([1]), node.vector([5]), node.vector([2]), suffix="boxes")
    overlap = _overlaps(node, anchors, boxes, valid)
    count = _count(node, overlap, 1)
    most = node.step(Min(), count, _count(node, overlap, 2), suffix="most")
    owner = _pairs(node, overlap, to_single(1e-6), most)
    zero = node.constant(0, DType.INT64)
    positive = node.step(GreaterOrEqual(), owner, zero, suffix="matched")
    best = node.step(ReduceMax(keepdims=False), overlap, node.vector([2]), suffix="best")
    if attrs["overlap_threshold"] > 0:
        limit = node.constant(to_single(attrs["overlap_threshold"]), DType.FLOAT32)
        which = node.step(ArgMax(axis=2, keepdims=False), overlap, suffix="which")
        owner = node.step(Where(), positive, owner, which, suffix="owner")
        positive = node.step(Or(), positive, node.step(Greater(), best, limit), suffix="positive")
    index = node.step(Max(), owner, zero, suffix="index")
    index = node.step(Unsqueeze(), index, node.vector([2]), suffix="index")
    some = node.step(Slice(), valid, node.vector([0]), node.vector([1]), node.vector([1]), suffix="some")
    negative = node.step(And(), node.step(Not(), positive), some, suffix="others")
    if attrs["negative_mining_ratio"] > 0:
        negative = _mined(node, scores, positive, negative, best)
    ignored = node.constant(to_single(attrs["ignore_label"]), DType.FLOAT32)
    target = node.step(Where(), negative, node.constant(0.0, DType.FLOAT32), ignored, suffix="background")
    kind = node.step(GatherND(1), classes, index, suffix="class")
    kind = node.step(Add(), kind, node.constant(1.0, DType.FLOAT32), suffix="class")
    target = node.step(Where(), positive, kind, target, suffix="cls_target")
    found = _offsets(node, node.step(GatherND(1), boxes, index, suffix="own_boxes"), anchors)
    found = node.step(Div(), found, node.constant(np.array(variances, np.float32)), suffix="scaled")
    mask = node.step(Unsqueeze(), positive, node.vector([2]), suffix="mask")
    flat, nothing = node.vector([0, -1]), node.constant(0.0, DType.FLOAT32)
    moved = node.step(Where(), mask, found, nothing, suffix="targets")
    masks = node.step(Where(), mask, node.constant(np.ones(4, np.float32)), nothing, suffix="masks")
    return [
        node.step(Reshape(), moved, flat, suffix="loc_target"),
        node.step(Reshape(), masks, flat, suffix="loc_mask"),
        target,
    ]


def _overlaps(node: ImportNode, anchors: Value, boxes: Value, valid: Value) -> Value:
    """Intersection over union (N, A, G) of anchors (1, A, 4) and boxes (N, G, 4); -1 for boxes that are not valid."""
    axis, nothing = node.vector([-1]), node.constant(0.0, DType.FLOAT32)
    halves = []
    for value, place in ((anchors, 2), (boxes, 1)):
        value = node.step(Unsqueeze(), value, node.vector([place]), suffix="pairs")
        halves.append([
            node.step(Slice(), value, node.vector([start]), node.vector([start + 2]), axis, suffix="corner")
            for start in (0, 2)
        ])  # fmt: skip
    (low, high), (other_low, other_high) = halves
    sides = node.step(Sub(), node.step(Min(), high, other_high), node.step(Max(), low, other_low), suffix="sides")
    areas = [
        node.step(ReduceProd(keepdims=False), side, axis, suffix="area")
        for side in (
            node.step(Max(), sides, nothing, suffix="overlap"),
            node.step(Sub(), high, low, suffix="anchor"),
            node.step(Sub(), other_high, other_low, suffix="box"),
        )
    ]
    union = node.step(Sub(), node.step(Add(), areas[1], areas[2], suffix="areas"), areas[0], suffix="union")
    some = node.step(Greater(), union, nothing, suffix="some")
    ratio = node.step(Where(), some, node.step(Div(), areas[0], union, suffix="ratio"), nothing, suffix="iou")
    known = node.step(Unsqueeze(), valid, node.vector([1]), suffix="known")
    return node.step(Where(), known, ratio, node.constant(-1.0, DType.FLOAT32), suffix="overlaps")


def _mined(node: ImportNode, scores: Value, positive: Value, others: Value, best: Value) -> Value:
    """Which anchors are background (N, A): so many for each positive one, those that least look like it first."""
    attrs = node.attrs
    one = node.vector([1])
    counts = node.step(ReduceSum(keepdims=True), node.step(Cast(DType.INT64), positive), one, suffix="positives")
    ratio = node.constant(to_single(attrs["negative_mining_ratio"]), DType.FLOAT32)
    wanted = node.step(Mul(), node.step(Cast(DType.FLOAT32), counts), ratio, suffix="wanted")
    wanted = node.step(Cast(DType.INT64), wanted, suffix="wanted")
    share = node.step(Gather(1), node.step(Softmax(axis=1), scores), node.constant(0, DType.INT64), suffix="share")
    limit = node.constant(to_single(attrs["negative_mining_thresh"]), DType.FLOAT32)
    candidate = node.step(And(), others, node.step(Less(), best, limit), suffix="candidate")
    # No share is 2: those that are no candidates come last.
    key = node.step(Where(), candidate, share, node.constant(2.0, DType.FLOAT32), suffix="key")
    count = _count(node, best, 1)
    _, order = node.steps(TopK(axis=1, largest=False), key, count, suffix="order")
    first = node.step(Less(), _up_to(node, count), wanted, suffix="first")
    numbers = node.step(Cast(DType.INT64), first, suffix="numbers")
    zeros = node.step(Mul(), order, node.constant(0, DType.INT64), suffix="zeros")
    spread = node.step(Expand(), numbers, node.step(Shape(), order), suffix="chosen_in_order")
    chosen = node.step(ScatterElements(1), zeros, order, spread, suffix="chosen")
    return node.step(And(), candidate, node.step(Cast(DType.BOOL), chosen), suffix="negative")


IMPORTS: dict[str, ImportFunction] = {
    "_contrib_MultiBoxTarget": import_multibox_target,
    "_contrib_bipartite_matching": import_bipartite_matching,
    "_contrib_box_encode": import_box_encode,
}

__all__ = ["IMPORTS"]
