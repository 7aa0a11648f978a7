"""How the numbers of a set of inputs are drawn: what each set is to bring to light, by the kind of an input."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.graph import Node, Value
from graphir.types import DType

from .roles import Role, Table, largest_threshold, numbers_met, role_of, table_of

Array = NDArray[Any]
# Sets that stretch floats: a number of standard deviations, drawn for each element from the least to the most. 5 brings
# most elements beyond the 6 of a Relu6, 50 saturates gates and reaches bounds that are set for pixels.
LEAST_STRETCH, MOST_STRETCH = 5, 50
SMALL = 8
# Of the elements of a set that stretches floats one in so many reaches beyond what the model compares with, if that is
# no number beyond which float32 does not count in ones: such a one stands for no bound.
ONE_IN, COUNTED = 8, 2.0**24
UINT8 = 255
# Beyond a table by so many rows, where the model leads back what lies outside.
BEYOND = 3


@dataclass(frozen=True)
class Draw:
    """What one set draws.

    `floats`: standard `normal`, `wide` (each element 5 to 50 times that, some
    beyond the largest number that the model compares with) or a `mask` of 0 and 1. `integers`: `small`
    (0 to 7), `signed` (-8 to 7, of unsigned types all), `full` (all of the type) or `mask`; numbers that the model
    compares them with are put among `signed` ones, and from the last on into a `mask`. `rows` of tables: `any`, or the
    `edges`: first, last, and outside where the model has a meaning for that; `negative` has rows counted from the end
    too, as ONNX allows. `truth` is what inputs of one boolean are,
    every other one the opposite; without it they are drawn.
    """

    name: str
    floats: str = "normal"
    integers: str = "small"
    rows: str = "any"
    truth: bool | None = None


NORMAL = Draw("normal")
EDGES = Draw("edges", integers="signed", rows="edges", truth=False)
WIDE = Draw("wide", floats="wide", integers="full", truth=True)
MASK = Draw("mask", floats="mask", integers="mask", rows="edges")
DRAWS = {draw.name: draw for draw in (NORMAL, EDGES, WIDE, MASK)}


def drawn(
    generator: np.random.Generator,
    value: Value,
    shape: tuple[int, ...],
    draw: Draw,
    place: int = 0,
    longest: int | None = None,
) -> Array:
    """Numbers for an input, which stands at that `place` among the inputs; where it gives lengths of sequences, from 1
    to the `longest`."""
    dtype = value.dtype or DType.FLOAT32
    table = table_of(value)
    found: Array
    if table is not None:
        found = _rows(generator, table, shape, draw, signed=not dtype.value.startswith("uint"))
        if table.guarded and draw.integers == "full":  # what is led back into the table may be a number elsewhere
            low, high = _span(dtype, draw)
            whole = generator.integers(low, high + 1, shape, dtype=np.int64 if low < 0 else np.uint64)
            found = np.where(generator.integers(0, 2, shape) == 1, found.astype(whole.dtype), whole)
    elif longest is not None:
        found = _lengths(generator, shape, longest, draw)
    elif dtype is DType.BOOL:
        one = draw.truth is not None and int(np.prod(shape)) == 1
        found = np.full(shape, draw.truth != bool(place % 2)) if one else generator.integers(0, 2, shape)
    elif dtype.is_float:
        found = drawn_floats(generator, shape, draw)
        if draw.floats == "wide" and value.graph is not None:
            found = _beyond(generator, found, value.graph.nodes)
    else:
        found = _integers(generator, value, dtype, shape, draw)
    return np.asarray(found).astype(dtype.numpy())


def _lengths(generator: np.random.Generator, shape: tuple[int, ...], longest: int, draw: Draw) -> Array:
    """Return lengths from 1 to the `longest`: both ends first in `normal` and `edges`, equal ones in the other sets."""
    found: Array = generator.integers(1, longest + 1, int(np.prod(shape)))
    match draw.integers:
        case "full":
            found[:] = found[:1]
        case "mask":
            found[:] = longest
        case kind:
            ends = (1, longest) if kind == "signed" else (longest, 1)
            found[:2] = ends[: found.size]
    return found.reshape(shape)


def drawn_floats(generator: np.random.Generator, shape: tuple[int, ...], draw: Draw) -> Array:
    if draw.floats == "mask":
        return generator.integers(0, 2, shape)
    found: Array = generator.standard_normal(shape)
    if draw.floats == "wide":
        if len(shape) > 2:  # what is averaged over places is large only where they have something in common
            found = found + generator.standard_normal(shape[:2] + (1,) * (len(shape) - 2))
        found = found * generator.integers(LEAST_STRETCH, MOST_STRETCH + 1, shape)
    return found


def _beyond(generator: np.random.Generator, found: Array, nodes: Collection[Node]) -> Array:
    """The numbers, some of them up to twice what nodes compare with, where none would reach that.

    Not where e is taken to the power of something: what overflows shows nothing.
    """
    threshold = largest_threshold(nodes)
    if not MOST_STRETCH < threshold <= COUNTED or any(node.op.name == "Exp" for node in nodes):
        return found
    chosen = generator.integers(0, ONE_IN, found.shape) == 0
    return np.where(chosen, generator.uniform(-2 * threshold, 2 * threshold, found.shape), found)


def _rows(
    generator: np.random.Generator, table: Table, shape: tuple[int, ...], draw: Draw, *, signed: bool
) -> Array:
    """Return indices into a table; but for `any` every other one is among the first and last rows, or outside."""
    limit = max(table.rows, 1)
    found: Array = generator.integers(0, limit, shape)
    if draw.rows != "any":
        edges = [0, limit - 1]
        if table.guarded:
            edges += [limit, limit + BEYOND] + ([-1, -BEYOND] if signed else [])
        elif draw.rows == "negative" and signed:
            edges += [-1, -limit]
        chosen = np.resize(np.asarray(edges), int(np.prod(shape))).reshape(shape)
        found = np.where(generator.integers(0, 2, shape) == 1, found, chosen)
    return found


def _integers(
    generator: np.random.Generator, value: Value, dtype: DType, shape: tuple[int, ...], draw: Draw
) -> Array:
    role = role_of(value)
    least = 1 if role is Role.DIVISOR else 0
    if draw.integers == "small" or role is Role.CONTROL or not dtype.is_integer:
        return generator.integers(least, SMALL, shape)
    if role is Role.INDEX:  # small, so that what is computed of it may lie in a table
        return generator.integers(0 if dtype.value.startswith("uint") else -SMALL, SMALL, shape)
    lowest, highest = _span(dtype, WIDE)
    met = [number for number in numbers_met(value) if max(lowest, least or lowest) <= number <= highest]
    if draw.integers == "mask":
        return _among(generator, generator.integers(least, 2, shape), met[::-1])
    low, high = _span(dtype, draw)
    found: Array = generator.integers(low, high + 1, shape, dtype=np.int64 if low < 0 else np.uint64)
    found = np.where(found == 0, 1, found) if role is Role.DIVISOR else found
    return _among(generator, found, met) if draw.integers == "signed" else found


def _among(generator: np.random.Generator, found: Array, met: Sequence[int]) -> Array:
    """The numbers with some that are met in every other place; a single one is met."""
    if not met:
        return found
    chosen = np.resize(np.asarray(met, found.dtype), found.size).reshape(found.shape)
    return chosen if found.size == 1 else np.where(generator.integers(0, 2, found.shape) == 1, chosen, found)


def _span(dtype: DType, draw: Draw) -> tuple[int, int]:
    """The least and the largest number. The least of a signed type has no opposite: divided by -1 it ends processes."""
    if dtype.value.startswith("uint"):
        high = (1 << dtype.bits) - 1
        return 0, high if draw.integers == "full" else min(high, UINT8)
    high = (1 << (dtype.bits - 1)) - 1
    return (-high, high) if draw.integers == "full" else (-min(high, SMALL), min(high, SMALL - 1))


__all__ = ["DRAWS", "EDGES", "MASK", "NORMAL", "WIDE", "Draw", "drawn", "drawn_floats"]
