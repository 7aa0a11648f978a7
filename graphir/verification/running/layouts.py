"""Two models of one network may want their data in other orders of axes: channels first or last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, permutations
from typing import Any

import numpy as np

from graphir.analysis.channels import Order, channel_moves, channel_order, fits
from graphir.arrays import Array
from graphir.verification.numbers.compare import difference

Fitting = dict[str, tuple[str, Order]]
MOST_ORDERS = 5040


def fit_inputs(
    feeds: Mapping[str, Array], inputs: Mapping[str, Sequence[Any]], stated: Fitting | None = None
) -> tuple[Fitting, list[str]]:
    """Which feed each input of another model takes, and in which order of axes; and what is to be told about it.

    What is `stated` goes first. Inputs of the same names take those feeds; the rest go by position, or by their shapes
    if these allow one way only, if there are as many. A feed that fits an input only with its channels moved (from last
    to second place, or back) is transposed. What fits neither way is left as it is, for the model to refuse.
    """
    fitting: Fitting = dict(stated or {})
    taken = {source for source, _ in fitting.values()}
    names = {name: name for name in inputs if name in feeds and name not in fitting and name not in taken}
    alone = [name for name in inputs if name not in names and name not in fitting]
    left = [name for name in feeds if name not in names and name not in taken]
    notes = []
    if alone and len(alone) == len(left):
        chosen, how = _by_shape({name: feeds[name].shape for name in left}, [inputs[name] for name in alone])
        names |= dict(zip(alone, chosen, strict=True))
        shown = ", ".join(f"{source} to {name}" for name, source in names.items() if source != name)
        notes.append(f"inputs of different names were fed by {how}: {shown}")
    for name, source in names.items():
        order = channel_order(feeds[source].shape, inputs[name])
        fitting[name] = source, order
        if order:
            wanted = "second" if order[1] != 2 else "last"
            notes.append(f"{source} was fed to {name} with its channels in the {wanted} place")
    return {name: fitting[name] for name in inputs if name in fitting}, notes


def _by_shape(shapes: Mapping[str, Sequence[int]], wanted: Sequence[Sequence[Any]]) -> tuple[list[str], str]:
    """The names in the order in which their shapes suit what is wanted, and whether that is their own ("position") or
    the only one that does ("shape")."""
    names = list(shapes)
    orders = islice(permutations(names), MOST_ORDERS)
    suiting = [order for order in orders if all(map(_can_fit, map(shapes.get, order), wanted))]
    if tuple(names) not in suiting and len(suiting) == 1:
        return list(suiting[0]), "shape"
    return names, "position"


def _can_fit(shape: Sequence[int] | None, wanted: Sequence[Any]) -> bool:
    if shape is None or len(shape) != len(wanted):
        return False
    return fits(shape, wanted) or bool(channel_order(shape, wanted))


def fitted_feeds(fitting: Fitting, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """The feeds as the other model takes them; those that it has no place for go to it under their own names."""
    placed = {source for source, _ in fitting.values()}
    found = {name: feed for name, feed in feeds.items() if name not in placed}
    for name, (source, order) in fitting.items():
        found[name] = np.ascontiguousarray(feeds[source].transpose(order)) if order else feeds[source]
    return found


def order_outside(found: Array, expected: Array) -> Order:
    """The order of a result's axes that brings its channels to where those of the expected one are, () as it is."""
    return channel_order(found.shape, expected.shape) if found.shape != expected.shape else ()


def order_inside(found: Array, expected: Array) -> Order:
    """The same for a layer's values, which have the layout that suits their model.

    Where all sizes behind the batch are equal they do not tell the layout, and the order counts that differs least: the
    inside of two models may have different layouts, unlike their outputs.
    """
    shape = found.shape
    if shape != expected.shape or len(shape) < 3 or len(set(shape[1:])) != 1:
        return order_outside(found, expected)
    orders: tuple[Order, ...] = ((), *channel_moves(len(shape)))
    return min(orders, key=lambda order: difference(expected, found.transpose(order) if order else found)[1])


__all__ = ["Fitting", "fit_inputs", "fitted_feeds", "order_inside", "order_outside"]
