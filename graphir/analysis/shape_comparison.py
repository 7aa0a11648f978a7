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
    """Return every pair of layers in the first model's order. Both graphs stay as they are.

    Raises what reading weights raises, which anchor the models to each other.
    """
    pairs = []
    for node, other in align(left, right).pairs:
        first = None if node is None else node.outputs[0]
        second = None if other is None else other.outputs[0]
        pairs.append(ShapePair(first, second, _verdict(first, second)))
    return pairs


def _verdict(left: Value | None, right: Value | None) -> str:
    if left is None or right is None:
        return "alone"
    first, second = left.type, right.type
    if not isinstance(first, TensorType) or not isinstance(second, TensorType):
        return "same" if first == second else "differs"
    if first.shape is None or second.shape is None:
        return "open"
    if first.shape == second.shape:
        return "same"
    if len(first.shape) != len(second.shape):
        return "differs"
    if _are_numbers(first.shape, second.shape) and channel_order(_numbers(second.shape), _numbers(first.shape)):
        return "layout"
    pairs = zip(first.shape, second.shape, strict=True)
    clash = any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs)
    return "differs" if clash else "open"


def _are_numbers(*shapes: tuple[Dim, ...]) -> bool:
    return all(isinstance(size, int) for shape in shapes for size in shape)


def _numbers(shape: tuple[Dim, ...]) -> tuple[int, ...]:
    return tuple(size for size in shape if isinstance(size, int))
