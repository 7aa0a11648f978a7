"""Where two shapes have their channels: first or last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Order = tuple[int, ...]


def channel_order(shape: Sequence[int], wanted: Sequence[Any]) -> Order:
    """Return the permutation of axes that moves the channels so that `shape` fits `wanted`.

    The permutation is empty if the shape fits unchanged, and if no move of the channels makes it fit. A symbolic size
    fits every size.

    >>> channel_order((1, 224, 200, 3), (1, 3, 224, 200)), channel_order((1, 3, 8, 9), ("N", 8, 9, 3))
    ((0, 3, 1, 2), (0, 2, 3, 1))
    >>> channel_order((1, 3, 8, 9), (1, 3, 8, 9)), channel_order((1, 3, 8, 9), (1, 4, 8, 9))
    ((), ())
    """
    rank = len(shape)
    if rank < 3 or fits(shape, wanted):
        return ()
    for order in channel_moves(rank):
        if fits([shape[axis] for axis in order], wanted):
            return order
    return ()


def known_order(shape: Sequence[Any] | None, wanted: Sequence[Any] | None) -> Order | None:
    """Return the same permutation; None where it does not follow from the shapes: they are not known behind the batch,
    cannot hold the same numbers, or fit in several orders, where all sizes behind the batch are equal. An open batch
    fits any.

    >>> known_order((1, 3, 8, 9), (1, 8, 9, 3)), known_order((1, 8, 8, 8), (1, 8, 8, 8)), known_order((4,), (4,))
    ((0, 2, 3, 1), None, ())
    """
    if shape is None or wanted is None or len(shape) != len(wanted):
        return None
    if not all(isinstance(size, int) for size in (*shape[:1], *wanted[:1])):
        shape, wanted = (0, *shape[1:]), (0, *wanted[1:])
    if not all(isinstance(size, int) for size in (*shape, *wanted)):
        return None
    order = channel_order(shape, wanted)
    is_whole = [shape[axis] for axis in order or range(len(shape))] == [*wanted]
    return order if is_whole and not (len(shape) > 2 and len(set(shape[1:])) == 1) else None


def channel_moves(rank: int) -> tuple[Order, Order]:
    """Return the orders of axes that move channels from last to second place, and back."""
    return (0, rank - 1, *range(1, rank - 1)), (0, *range(2, rank), 1)


def fits(shape: Sequence[int], wanted: Sequence[Any]) -> bool:
    """Return whether these are as many sizes as wanted, and each what is wanted; what is no number there takes any."""
    return len(shape) == len(wanted) and all(
        not isinstance(other, int) or size == other for size, other in zip(shape, wanted, strict=True)
    )
