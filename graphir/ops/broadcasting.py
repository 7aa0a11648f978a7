"""Shapes that broadcast as numpy's do, known, symbolic or open."""

from __future__ import annotations

from collections.abc import Iterable

from graphir.errors import ShapeError
from graphir.symbolic.dims import lower_bound
from graphir.types import UNKNOWN, Dim, Shape, dim_max, dim_min, format_shape

from .base import Operand


def broadcast_dim(left: Dim, right: Dim) -> Dim:
    """Return the size that two sizes broadcast to. Raises ShapeError."""
    if type(left) is int and type(right) is int:
        if left == right or right == 1:
            return left
        if left == 1:
            return right
        raise ShapeError(f"{left} and {right} do not broadcast")
    if left == right:
        return left
    if type(left) is int:
        return right if left == 1 else left
    if type(right) is int:
        return left if right == 1 else right
    return _broadcast_sizes(left, right)


def _broadcast_sizes(left: Dim, right: Dim) -> Dim:
    """Return what two sizes broadcast to that are equal, or of which one is 1: the larger one, but 0 if one is 0."""
    result = dim_max(left, right)
    for size in (left, right):
        bound = lower_bound(size)
        if bound is None or bound < 0:
            return UNKNOWN
        if bound == 0:
            result = result * dim_min(size, 1)
    return result


def broadcast(*shapes: Shape | None) -> Shape | None:
    """Return the shape that all shapes broadcast to, as numpy has it; None if the rank of one is unknown."""
    if not shapes:
        return None
    result = shapes[0]
    for shape in shapes[1:]:
        if result is None or shape is None:
            return None
        if result == shape:
            continue
        try:
            result = _broadcast_two(result, shape)
        except ShapeError as error:
            shown = " and ".join(format_shape(given) for given in shapes)
            raise ShapeError(f"{shown} do not broadcast: {error}") from None
    return result


def _broadcast_two(left: Shape, right: Shape) -> Shape:
    rank = max(len(left), len(right))
    padded_left = (1,) * (rank - len(left)) + left
    padded_right = (1,) * (rank - len(right)) + right
    return tuple(map(broadcast_dim, padded_left, padded_right))


def broadcast_operand(operand: Operand, others: Iterable[Operand], result: Shape | None) -> Shape | None:
    """Return what an operand's shape must be if it broadcasts with the others to the result: where these are 1, it is
    all.

    >>> from graphir.types import TensorType
    >>> broadcast_operand(TensorType(None, (UNKNOWN, UNKNOWN)), [TensorType(None, (1, 3))], (5, 3))
    (5, UNKNOWN)
    """
    if operand is None or result is None:
        return None
    rank = len(result)
    shapes = [None if other is None else other.shape for other in others]
    if None in shapes:
        return None
    if operand.shape is None and any(shape is not None and len(shape) == rank for shape in shapes):
        return None
    own_rank = rank if operand.shape is None else len(operand.shape)
    dims = []
    for axis in range(rank - own_rank, rank):
        sizes = [shape[axis - rank] for shape in shapes if shape is not None and rank - axis <= len(shape)]
        dims.append(result[axis] if all(size == 1 for size in sizes) else UNKNOWN)
    return tuple(dims)


def wanted_shapes(operands: tuple[Operand, ...], result: Shape | None) -> list[Shape | None]:
    """Return what the shapes of operands that broadcast to the result must be."""
    return [
        broadcast_operand(operand, (*operands[:slot], *operands[slot + 1 :]), result)
        for slot, operand in enumerate(operands)
    ]
