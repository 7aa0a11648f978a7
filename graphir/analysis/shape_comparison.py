"""The shapes of two models' layers side by side."""

from __future__ import annotations

from dataclasses import dataclass

from graphir.analysis.alignment import align
from graphir.analysis.channels import channel_order
from graphir.graph import Graph, Value
from graphir.types import Dim, TensorType


@dataclass(frozen=True)
class ShapePair:
    """The first results of two nodes that belong together; one side is None where the other has no counterpart.

    `verdict` is same, layout (the same sizes with the channels elsewhere), open (they could be the same), differs, or
    alone.
    """

    left: Value | None
    right: Value | None
    verdict: str


def compare_shapes(left: Graph, right: Graph) -> list[ShapePair]:
    """Every pair of layers in the first model's order. Both graphs stay as they are.

    Raises what reading weights raises, which anchor the models to each other.
    """
    found = []
    for node, other in align(left, right).pairs:
        one = None if node is None else node.outputs[0]
        two = None if other is None else other.outputs[0]
        found.append(ShapePair(one, two, _verdict(one, two)))
    return found


def _verdict(left: Value | None, right: Value | None) -> str:
    if left is None or right is None:
        return "alone"
    one, two = left.type, right.type
    if not isinstance(one, TensorType) or not isinstance(two, TensorType):
        return "same" if one == two else "differs"
    if one.shape is None or two.shape is None:
        return "open"
    if one.shape == two.shape:
        return "same"
    if len(one.shape) != len(two.shape):
        return "differs"
    order = channel_order(_numbers(two.shape), _numbers(one.shape)) if _are_numbers(one.shape, two.shape) else ()
    if order:
        return "layout"
    clash = any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(one.shape, two.shape, strict=True))
    return "differs" if clash else "open"


def _are_numbers(*shapes: tuple[Dim, ...]) -> bool:
    return all(isinstance(size, int) for shape in shapes for size in shape)


def _numbers(shape: tuple[Dim, ...]) -> tuple[int, ...]:
    return tuple(size for size in shape if isinstance(size, int))
