"""Version 3's operations that choose, order and place elements, as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphir.converters.kernel.refusals import Refusal
from graphir.converters.tensorflow.files.records import Endpoint
from graphir.converters.tensorflow.importing.context import Imported, ImportNode
from graphir.converters.tensorflow.keras.arguments import (
    argument,
    data_along,
    operand,
    tensor_argument,
    whole_numbers,
)
from graphir.converters.tensorflow.keras.context import LayerCall
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops.indexing import Gather, GatherElements
from graphir.ops.reduction import TopK
from graphir.ops.shape import Expand, Shape, Transpose
from graphir.ops.shape_parts import BEYOND, Concat
from graphir.ops.slicing import Slice
from graphir.safety.limits import charge_nodes
from graphir.types import DType

Build = Callable[[LayerCall], Any]


def take(layer: LayerCall) -> Endpoint:
    """Return parts along an axis by their indices."""
    data, axis = data_along(layer)

    def import_counted(node: ImportNode) -> Imported:
        """Indices from the end are counted from the start."""
        return node.emit(Gather(node.axis(axis, node.rank(node.input(0)))), *node.inputs)

    return layer.apply(import_counted, "value", [data, operand(layer, 1, "indices", np.int32)])


def take_along_axis(layer: LayerCall) -> Endpoint:
    """Return an element for each index, along an axis; sizes of the other axes are brought together."""
    data, axis = data_along(layer)

    def import_elements(node: ImportNode) -> Imported:
        value, indices = node.input(0), node.int64(node.input(1))
        positive_axis = node.axis(axis, node.rank(value))
        if not _has_same_sizes(value, indices, positive_axis):
            value, indices = (
                _expand_to(node, *pair, positive_axis) for pair in ((value, indices), (indices, value))
            )
        return node.emit(GatherElements(positive_axis), value, indices)

    return layer.apply(import_elements, "value", [data, operand(layer, 1, "indices", np.int64)])


def _has_same_sizes(value: Value, other: Value, axis: int) -> bool:
    """Return whether two values are known to have the same sizes beside an axis."""
    if value.shape is None or other.shape is None or len(value.shape) != len(other.shape):
        return False
    pairs = enumerate(zip(value.shape, other.shape, strict=True))
    return all(other_axis == axis or size == wanted for other_axis, (size, wanted) in pairs)


def _expand_to(node: ImportNode, value: Value, other: Value, axis: int) -> Value:
    """Return the value with the other's sizes where its own are 1, except along the axis."""
    before = node.step(Shape(start=0, end=axis), other, suffix="sizes_before")
    behind = node.step(Shape(start=axis + 1), other, suffix="sizes_behind")
    shape = node.step(Concat(axis=0), before, node.vector([1]), behind, suffix="sizes")
    return node.step(Expand(), value, shape, suffix="spread")


def _make_sort_row(slot: int) -> Build:
    """Return the operation that gives the elements along an axis in rising order, or their indices; equal ones in their
    order."""

    def ordered(layer: LayerCall) -> Endpoint:
        data, axis = data_along(layer)

        def import_ordered(node: ImportNode) -> Imported:
            value = node.input(0)
            positive_axis = node.axis(axis, node.rank(value))
            size = node.step(Shape(start=positive_axis, end=positive_axis + 1), value, suffix="size")
            result = node.steps(TopK(axis=positive_axis, largest=False), value, size, suffix="ordered")[slot]
            return node.emit(ew.Cast(DType.INT32), result) if slot else result

        return layer.apply(import_ordered, "value", [data])

    return ordered


def differences(layer: LayerCall) -> Endpoint:
    """Return each element along an axis less the one before, n times."""
    data, axis = data_along(layer)
    times = int(layer.kwargs.get("n", 1))
    if times < 0:
        raise Refusal(f"{times} times, expected 0 or more")
    charge_nodes(3 * times, f"the differences of {layer.name}")

    def import_differences(node: ImportNode) -> Imported:
        value = node.input(0)
        for _ in range(times):
            axes = node.vector([axis])
            later = node.step(Slice(), value, node.vector([1]), node.vector([BEYOND]), axes, suffix="later")
            earlier = node.step(Slice(), value, node.vector([0]), node.vector([-1]), axes, suffix="earlier")
            value = node.step(ew.Sub(), later, earlier, suffix="difference")
        return value

    return layer.apply(import_differences, "value", [data])


def diagonal(layer: LayerCall) -> Endpoint:
    """Return the diagonals of the matrices in two axes, as the last axis."""
    pair = [int(layer.kwargs.get(name, usual)) for name, usual in (("axis1", 0), ("axis2", 1))]

    def import_last(node: ImportNode) -> Imported:
        rank = node.rank(node.input(0))
        axes = [node.axis(axis, rank) for axis in pair]
        return node.emit(Transpose((*(axis for axis in range(rank) if axis not in axes), *axes)), node.input(0))

    data = layer.apply(import_last, "matrices", [tensor_argument(layer)])
    operands = [layer.constant("offset", int(layer.kwargs.get("offset", 0))), layer.constant("padding", 0, np.float32)]
    return layer.add("MatrixDiagPartV2", "diagonal", [data, *operands])


def _segments(kind: str) -> Build:
    """Return the rows of each segment combined. Keras counts segments in another way where their number is not
    stated."""

    def segments(layer: LayerCall) -> Endpoint:
        operands = [tensor_argument(layer), operand(layer, 1, "segment_ids", np.int32)]
        count = layer.kwargs.get("num_segments")
        if layer.kwargs.get("sorted"):
            return layer.add(f"Segment{kind}", "value", operands)
        if count is None:
            raise Refusal("segments in any order whose number is not stated; state num_segments")
        return layer.add(f"UnsortedSegment{kind}", "value", [*operands, layer.constant("count", int(count))])

    return segments


def digitize(layer: LayerCall) -> Endpoint:
    """Return the number of the bin that an element falls into."""
    bins = argument(layer, 1, "bins")
    if not isinstance(bins, list | np.ndarray):
        raise Refusal("bins that are computed")
    return layer.add("Bucketize", "value", [tensor_argument(layer)], boundaries=tuple(map(float, bins)))


def part(layer: LayerCall) -> Endpoint:
    """Return a part of stated sizes from stated or computed indices on."""
    sizes = layer.constant("sizes", whole_numbers(layer.kwargs["shape"], "the sizes"))
    return layer.add("Slice", "value", [tensor_argument(layer), operand(layer, 1, "start_indices", np.int32), sizes])


SCATTERS = {None: "Update", "add": "Add", "max": "Max", "min": "Min"}


def scatter_update(layer: LayerCall) -> Endpoint:
    """Return a value with updates at index vectors."""
    stated = layer.kwargs.get("reduction")
    if stated not in SCATTERS:
        raise Refusal(f"the reduction {stated!r}; {', '.join(map(str, SCATTERS))} are read")
    operands = [operand(layer, 1, "indices", np.int32), operand(layer, 2, "updates")]
    return layer.add(f"TensorScatter{SCATTERS[stated]}", "value", [tensor_argument(layer), *operands])


def in_top_k(layer: LayerCall) -> Endpoint:
    """Return whether the target is among the k classes with the largest numbers."""
    targets, predictions = operand(layer, 0, "targets", np.int32), operand(layer, 1, "predictions")
    return layer.add("InTopKV2", "value", [predictions, targets, layer.constant("k", layer.kwargs["k"])])


SELECTION_ROWS: Mapping[str, Build] = {
    "Argsort": _make_sort_row(1),
    "Diagonal": diagonal,
    "Diff": differences,
    "Digitize": digitize,
    "InTopK": in_top_k,
    "ScatterUpdate": scatter_update,
    **{f"Segment{kind}": _segments(kind) for kind in ("Max", "Min", "Prod", "Sum")},
    "Slice": part,
    "Sort": _make_sort_row(0),
    "Take": take,
    "TakeAlongAxis": take_along_axis,
    "Trace": lambda layer: layer.add("Sum", "value", [diagonal(layer), layer.constant("last", [-1])], keep_dims=False),
}
