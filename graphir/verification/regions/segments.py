"""Parts of both models that end with one value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.analysis.channels import Order, channel_moves, channel_order
from graphir.graph import Node, Value
from graphir.ops.activation import LogSoftmax, Sigmoid, Softmax
from graphir.verification.grading.compare import NOISE_FACTOR, Comparison, Floor
from graphir.verification.grading.limits import Limits
from graphir.verification.grading.local import BESIDE_ONE
from graphir.verification.running.layouts import order_inside

Array = NDArray[Any]
# Half a unit in the last place of float32: what one addition loses at most.
LOST_BY_ADDING = 2.0**-24


@dataclass(frozen=True)
class Segment:
    """A pair of values, what both are computed from (pairs, source value to candidate value, and inputs of the models
    likewise), and which of these, and which nodes, are the first graph's part and the second's."""

    value: Value
    other: Value
    edges: Mapping[Value, Value]
    ends: tuple[Sequence[Value], Sequence[Value]]
    nodes: tuple[Sequence[Node], Sequence[Node]]

    @property
    def inner(self) -> list[Value]:
        """Return the edges that are computed."""
        return [edge for edge in self.edges if edge.producer is not None]

    @property
    def size(self) -> int:
        """Return how many nodes there are on both sides."""
        return sum(map(len, self.nodes))


def as_in_graph(array: Array, value: Value) -> Array:
    """Return a reference's number for a value with its axes in the order of the value's own graph: a framework may have
    its channels last where the imported graph has them second."""
    order: Order = () if value.shape is None else channel_order(array.shape, value.shape)
    return array.transpose(order) if order else array


def unmoved(array: Array, *values: Value) -> Floor:
    """Return the floor of a value, in one model or both, before anything was moved: what its own operator rounds that
    no moved input shows.

    A sigmoid has units in the last place of 1. A softmax adds up its terms; one after the other, each loses half a unit
    in the last place of the sum, always in the same direction where they are about alike.
    """
    operators = [value.producer.op for value in values if value.producer is not None]
    is_sigmoid = any(isinstance(operator, Sigmoid) for operator in operators)
    axes = [operator.axis for operator in operators if isinstance(operator, Softmax | LogSoftmax)]
    terms = max((array.shape[axis] for axis in axes if -array.ndim <= axis < array.ndim), default=0)
    return Floor(terms * LOST_BY_ADDING / NOISE_FACTOR, unit=BESIDE_ONE if is_sigmoid else 0.0)


def compared_inside(name: str, expected: Array, found: Array, floor: Floor, limits: Limits) -> Comparison:
    """A result inside a model held against another's, in the layout that suits."""
    order = order_inside(found, expected)
    if order and len(order) == found.ndim:
        found = found.transpose(order)
        moved = None if floor.deviation is None else floor.deviation.transpose(order)
        floor = replace(floor, deviation=moved)
    return limits.compare(name, expected, found, floor, limits.step_of(name))


def typed(array: Array, like: Value) -> Array:
    """An array in the type of another model's value: whole numbers that rounding moved are rounded back."""
    dtype = None if like.dtype is None else like.dtype.numpy()
    if dtype is None or array.dtype == dtype:
        return array
    return (np.rint(array) if dtype.kind in "iu" and array.dtype.kind == "f" else array).astype(dtype)


def is_symmetric(array: Array) -> bool:
    """Whether moving the channels changes nothing, so that no numbers tell where they are."""
    moved = [array.transpose(order) for order in channel_moves(array.ndim)] if array.ndim > 2 else []
    return any(array.shape == one.shape and bool(np.array_equal(array, one)) for one in moved)


__all__ = ["Segment", "as_in_graph", "compared_inside", "is_symmetric", "typed", "unmoved"]
