"""Two models of one network may want their data in other orders of axes: channels first or last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Order = tuple[int, ...]
Fitting = dict[str, tuple[str, Order]]


def fit_inputs(feeds: Mapping[str, Array], inputs: Mapping[str, Sequence[Any]]) -> tuple[Fitting, list[str]]:
    """Which feed each input of another model takes, and in which order of axes; and what is to be told about it.

    Inputs of the same names take those feeds; otherwise all of them go by position, if there are as many. A feed that
    fits an input only with its channels moved (from last to second place, or back) is transposed. What fits neither way
    is left as it is, for the model to refuse.
    """
    notes = []
    names = dict(zip(inputs, inputs, strict=True))
    if inputs.keys() != feeds.keys() and len(inputs) == len(feeds):
        names = dict(zip(inputs, feeds, strict=True))
        shown = ", ".join(f"{source} to {name}" for name, source in names.items() if source != name)
        notes.append(f"inputs of different names were fed by position: {shown}")
    fitting: Fitting = {}
    for name, source in names.items():
        if source in feeds:
            order = channel_order(feeds[source].shape, inputs[name])
            fitting[name] = source, order
            if order:
                wanted = "second" if order[1] != 2 else "last"
                notes.append(f"{source} was fed to {name} with its channels in the {wanted} place")
    return fitting, notes


def fitted_feeds(fitting: Fitting, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """The feeds as the other model takes them; those that it has no place for go to it under their own names."""
    placed = {source for source, _ in fitting.values()}
    found = {name: feed for name, feed in feeds.items() if name not in placed}
    for name, (source, order) in fitting.items():
        found[name] = np.ascontiguousarray(feeds[source].transpose(order)) if order else feeds[source]
    return found


def channel_order(shape: Sequence[int], wanted: Sequence[Any]) -> Order:
    """The order of axes that moves the channels so that a shape fits another; () where it fits as it is or never does.

    Sizes that are not numbers fit every size.

    >>> channel_order((1, 224, 200, 3), (1, 3, 224, 200)), channel_order((1, 3, 8, 9), ("N", 8, 9, 3))
    ((0, 3, 1, 2), (0, 2, 3, 1))
    >>> channel_order((1, 3, 8, 9), (1, 3, 8, 9)), channel_order((1, 3, 8, 9), (1, 4, 8, 9))
    ((), ())
    """
    rank = len(shape)
    if len(wanted) != rank or rank < 3 or _fits(shape, wanted):
        return ()
    to_second, to_last = (0, rank - 1, *range(1, rank - 1)), (0, *range(2, rank), 1)
    for order in (to_second, to_last):
        if _fits([shape[axis] for axis in order], wanted):
            return order
    return ()


def laid_out(found: Array, expected: Array) -> tuple[Array, bool]:
    """A result with its channels where those of the expected one are, and whether they had to be moved."""
    order = channel_order(found.shape, expected.shape) if found.shape != expected.shape else ()
    return (found.transpose(order), True) if order else (found, False)


def _fits(shape: Sequence[int], wanted: Sequence[Any]) -> bool:
    return all(not isinstance(other, int) or size == other for size, other in zip(shape, wanted, strict=True))


__all__ = ["Fitting", "channel_order", "fit_inputs", "fitted_feeds", "laid_out"]
