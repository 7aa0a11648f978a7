"""Feeds and results in the form of the other model: the order of axes, channels first or last; maps and sequences as
arrays, which are compared like any others."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from itertools import islice, permutations
from typing import Any

import numpy as np

from graphir.analysis.channels import Order, channel_moves, channel_order, fits
from graphir.arrays import Array
from graphir.errors import VerificationError
from graphir.verification.numbers.compare import difference

Fitting = dict[str, tuple[str, Order]]
Keys = tuple[object, ...]
# All orders of seven inputs.
MOST_ORDERS = 5040
# The right order of axes leaves rounding, a millionth of the numbers or less. What is apart for another reason differs
# about alike in every order: twice as much is by chance.
CLEARLY = 10


def fit_inputs(
    feeds: Mapping[str, Array], inputs: Mapping[str, Sequence[Any]], stated: Fitting | None = None
) -> tuple[Fitting, list[str]]:
    """Return which feed each input of another model takes, and in which order of axes; and what is to be told about it.

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
    """Return the names in the order in which their shapes suit what is wanted, and whether that is their own
    ("position") or the only one that does ("shape")."""
    names = list(shapes)
    orders = islice(permutations(names), MOST_ORDERS)
    suiting = [
        order for order in orders
        if all(
            fits(shapes[name], sizes) or channel_order(shapes[name], sizes)
            for name, sizes in zip(order, wanted, strict=True)
        )
    ]  # fmt: skip
    if tuple(names) not in suiting and len(suiting) == 1:
        return list(suiting[0]), "shape"
    return names, "position"


def fitted_feeds(fitting: Fitting, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """Return the feeds as the other model takes them; those that it has no place for go to it under their own names."""
    placed = {source for source, _ in fitting.values()}
    fitted = {name: feed for name, feed in feeds.items() if name not in placed}
    for name, (source, order) in fitting.items():
        fitted[name] = np.ascontiguousarray(feeds[source].transpose(order)) if order else feeds[source]
    return fitted


def order_outside(result: Array, expected: Array, fed: Fitting) -> Order:
    """Return the order of a result's axes that brings its channels to where the expected ones are, () as it is.

    So where an input too was `fed` with its channels moved: the models have different layouts. Else who reads the
    results of one model cannot read those of the other, and the order is what differs.
    """
    return channel_order(result.shape, expected.shape) if any(order for _, order in fed.values()) else ()


def order_inside(result: Array, expected: Array) -> Order:
    """Return the same for a layer's values, which have the layout that suits their model.

    Where all sizes behind the batch are equal they do not tell the layout, and another order counts where it differs
    clearly less: the inside of two models may have different layouts, unlike their outputs.
    """
    shape = result.shape
    if shape != expected.shape or len(shape) < 3 or len(set(shape[1:])) != 1:
        return channel_order(shape, expected.shape)
    orders: tuple[Order, ...] = ((), *channel_moves(len(shape)))
    apart = [difference(expected, result.transpose(order) if order else result)[1] for order in orders]
    nearest = int(np.argmin(apart))
    return orders[nearest] if CLEARLY * apart[nearest] < apart[0] else ()


def as_arrays(results: Mapping[str, Any], keys: MutableMapping[str, Keys]) -> dict[str, Array]:
    """Return the results by name, a map or sequence as an array. `keys` gets what its elements belong to.

    A sequence of maps with the same keys becomes a matrix: one row a map, one column a key, in the keys' order. Other
    sequences become vectors of all elements, their keys those of each map or the shape of each tensor.
    """
    arrays: dict[str, Array] = {}
    for name, value in results.items():
        if isinstance(value, Mapping | list):
            arrays[name], keys[name] = _as_array(value if isinstance(value, list) else [value])
        else:
            arrays[name] = value
    return arrays


def _as_array(values: Sequence[Any]) -> tuple[Array, Keys]:
    if not all(isinstance(value, Mapping) for value in values):
        arrays = [np.asarray(value) for value in values]
        return np.concatenate([array.ravel() for array in arrays]), tuple(array.shape for array in arrays)
    rows = [sorted(value) for value in values]
    elements = [[value[key] for key in row] for value, row in zip(values, rows, strict=True)]
    if all(row == rows[0] for row in rows):
        return np.array(elements), tuple(rows[0]) if rows else ()
    return np.concatenate([np.array(row) for row in elements]), tuple(map(tuple, rows))


def check_keys(
    pairs: Sequence[tuple[str, str]], reference: Mapping[str, Keys], candidate: Mapping[str, Keys]
) -> None:
    """Raise VerificationError for outputs of the two models whose maps have other keys."""
    for source, name in pairs:
        expected, keys = reference.get(source), candidate.get(name)
        if expected is not None and keys is not None and expected != keys:
            raise VerificationError(
                f"the models differ: the maps of output {source} have the keys {expected}, the candidate's {keys}"
            )
