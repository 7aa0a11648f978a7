"""How the numbers of a set of inputs are drawn: what each set is to bring to light, by the kind of an input."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from graphir.arrays import Array
from graphir.errors import OutOfMemory
from graphir.graph import Graph, Node, Value
from graphir.structure.reaching import nodes_within
from graphir.tensor import why_unheld
from graphir.types import Dim, DType, Sym, substitute

from .roles import (
    RegionSpace,
    Role,
    Table,
    largest_threshold,
    length_limit,
    numbers_met,
    role_of,
    table_of,
    texts_met,
)
from .sizes import OpenSizes, unknown_rank

# Sets that stretch floats: a number of standard deviations, drawn for each element from the least to the most. 5 brings
# most elements beyond the 6 of a Relu6, 50 saturates gates and reaches bounds that are set for pixels.
LEAST_STRETCH, MOST_STRETCH = 5, 50
SMALL = 8
# What can be read as numbers too, as a Cast does.
TEXTS = ("1", "-2.5", "30")
# Of the elements of a set that stretches floats one in so many reaches beyond what the model compares with, if that is
# no number beyond which float32 does not count in ones: such a one stands for no bound.
ONE_IN, COUNTED = 8, 2.0**24
UINT8 = 255
# Beyond a constant by so much of it, a number is beyond it in float16 too.
MARGIN = 1.5
# The size of an image for regions where it is open.
OPEN_SIZE = 8
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
    too, as ONNX allows. `truth` is what inputs of one boolean are, every other one the opposite; without it they are
    drawn. `other` is the candidate's graph: whole numbers that it compares with are reached as well. Its real ones are
    where parts run by themselves: inputs that lead so far may overflow in the whole model.
    """

    name: str
    floats: str = "normal"
    integers: str = "small"
    rows: str = "any"
    truth: bool | None = None
    other: Graph | None = None


NORMAL = Draw("normal")
EDGES = Draw("edges", integers="signed", rows="edges", truth=False)
WIDE = Draw("wide", floats="wide", integers="full", truth=True)
MASK = Draw("mask", floats="mask", integers="mask", rows="edges")
DRAWS = {draw.name: draw for draw in (NORMAL, EDGES, WIDE, MASK)}


def make_feeds(
    graph: Graph,
    *,
    seed: int = 0,
    sizes: Mapping[str, int] | OpenSizes | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    draw: Draw = NORMAL,
) -> dict[str, Array]:
    """Return values for every input from PCG64: standard normal floats, indices within their tables, small integers,
    booleans, or what `draw` says.

    The same seed gives the same values everywhere. `shapes` overrides the graph's, `sizes` the usual numbers of open
    ones. Raises VerificationError for inputs of unknown rank, and OutOfMemory for shapes that no array can have.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    chosen = dict(shapes or {})
    if any(value.name not in chosen for value in graph.inputs):
        open_sizes = sizes if isinstance(sizes, OpenSizes) else OpenSizes(graph, sizes)
        chosen = open_sizes.usual() | chosen
        if unknown := [name for name in open_sizes.unknown if name not in chosen]:
            raise unknown_rank(graph, unknown)
    feeds: dict[str, Array] = {}
    for index, value in enumerate(graph.inputs):
        shape = chosen[value.name]
        if reason := why_unheld(DType.FLOAT64, shape):
            raise OutOfMemory(f"the input {value.name} of the shape {list(shape)} {reason}")
        limit, regions = length_limit(value), RegionSpace.of(value)
        if regions is not None:
            images, *ends = (_size(graph, dim, chosen, OPEN_SIZE) for dim in (regions.images, *regions.sizes))
            numbers = _regions(generator, shape, images, [(size - 1) / regions.scale for size in ends])
            feeds[value.name] = numbers.astype((value.dtype or DType.FLOAT32).numpy())
            continue
        longest = None if limit is None else _size(graph, limit, chosen, 1)
        feeds[value.name] = drawn(generator, value, shape, draw, index, longest)
    return feeds


def _size(graph: Graph, dim: Dim, shapes: Mapping[str, tuple[int, ...]], usual: int) -> int:
    """Return the number of a size where the inputs have these shapes; the usual one where they do not tell it."""
    known: dict[str, int] = {}
    for other in graph.inputs:
        pairs = zip(other.shape or (), shapes[other.name], strict=False)
        known |= {str(name): number for name, number in pairs if isinstance(name, Sym)}
    number = substitute(dim, known) if isinstance(dim, Sym) else dim
    return number if isinstance(number, int) else usual


def _regions(generator: np.random.Generator, shape: tuple[int, ...], images: int, ends: Sequence[float]) -> Array:
    """Return regions that lie in images, the first of them all of one and the second a point; their images alone where
    there is one number for each."""
    count = shape[0] if shape else 1
    indices: Array = generator.integers(0, images, count)
    if len(shape) != 2:
        return np.resize(indices, shape)
    corners = np.sort(generator.uniform(0, 1, (count, 2, 2)), axis=1)
    corners[:1] = [[0, 0], [1, 1]]
    corners[1:2, 1] = corners[1:2, 0]
    numbers = (corners * np.asarray(ends[::-1])).reshape(count, 4)
    rows: Array = np.concatenate([indices[:, None], numbers], axis=1)
    return rows[:, -shape[1] :]


def perturbed(
    graph: Graph, feeds: Mapping[str, Array], seed: int = 0, step: float = 0.0
) -> dict[str, Array] | None:
    """Return the feeds with every real number moved by up to one unit in its last place; None if nothing can be moved.

    `step` is the relative step of a coarser type that the model computes in: numbers move by up to half of it, as
    rounding to that type moves them, since less may vanish in the rounding and say nothing of the noise behind it.
    Indices and lengths stay: they are no measured quantities.
    """
    generator = np.random.Generator(np.random.PCG64(seed + 1))
    moved: dict[str, Array] = {}
    changed = False
    for name, array in feeds.items():
        if array.size and is_measured(graph, name, array):
            signs = generator.integers(-1, 2, array.shape).astype(array.dtype)
            with np.errstate(all="ignore"):
                size = np.abs(array)
                unit = np.maximum(np.spacing(size), (size * (step / 2)).astype(array.dtype))
                stepped = (array + signs * unit).astype(array.dtype)
                moved[name] = np.where(np.isfinite(array) & np.isfinite(stepped), stepped, array)
            changed = True
        else:
            moved[name] = array
    return moved if changed else None


def is_measured(graph: Graph, name: str, array: Array) -> bool:
    """Return whether what is fed is a measured quantity, which may be a little larger or smaller: real numbers, unless
    they are indices, lengths or regions, as MXNet has them."""
    if not _is_real(array.dtype):
        return False
    if name not in graph:
        return True
    value = graph[name]
    return table_of(value) is None and length_limit(value) is None and RegionSpace.of(value) is None


def _is_real(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" or dtype.name == "bfloat16"


def drawn(
    generator: np.random.Generator,
    value: Value,
    shape: tuple[int, ...],
    draw: Draw,
    index: int = 0,
    longest: int | None = None,
) -> Array:
    """Return numbers for an input, the one with that `index` among the inputs; where it gives lengths of sequences,
    from 1 to the `longest`."""
    dtype = value.dtype or DType.FLOAT32
    table = table_of(value)
    numbers: Array
    if table is not None and (longest is None or table.low == 0):  # lengths less one are rows of an open axis
        numbers = _WholeNumbers(generator, shape, draw, _numbers_met(value, index, draw.other)).rows(table, dtype)
    elif longest is not None:
        numbers = _lengths(generator, shape, longest, draw)
    elif dtype is DType.BOOL:
        is_single = draw.truth is not None and int(np.prod(shape)) == 1
        numbers = np.full(shape, draw.truth != bool(index % 2)) if is_single else generator.integers(0, 2, shape)
    elif dtype is DType.STRING:
        numbers = generator.choice(np.array([*texts_met(value), *TEXTS], object), shape)
    elif dtype.is_float:
        numbers = drawn_floats(generator, shape, draw)
        if draw.floats == "wide" and value.graph is not None:
            numbers = _beyond(generator, numbers, list(nodes_within(value.graph.nodes)))
    else:
        met = _numbers_met(value, index, draw.other)
        numbers = _WholeNumbers(generator, shape, draw, met).integers(role_of(value), dtype)
    return np.asarray(numbers).astype(dtype.numpy())


def _numbers_met(value: Value, place: int, other: Graph | None) -> list[int]:
    """Return what an input is compared with, in the other model too: in its input of this name, else at this place."""
    given = [] if other is None else other.inputs
    named = [held for held in given if held.name == value.name]
    if not named and value.graph is not None and len(given) == len(value.graph.inputs):
        named = [given[place]]
    return list(dict.fromkeys(number for held in (value, *named) for number in numbers_met(held)))


def _lengths(generator: np.random.Generator, shape: tuple[int, ...], longest: int, draw: Draw) -> Array:
    """Return lengths from 1 to the `longest`: both ends first in `normal` and `edges`, equal ones in the other sets."""
    lengths: Array = generator.integers(1, longest + 1, int(np.prod(shape)))
    match draw.integers:
        case "full":
            lengths[:] = lengths[:1]
        case "mask":
            lengths[:] = longest
        case kind:
            ends = (1, longest) if kind == "signed" else (longest, 1)
            lengths[:2] = ends[: lengths.size]
    return lengths.reshape(shape)


def drawn_floats(generator: np.random.Generator, shape: tuple[int, ...], draw: Draw) -> Array:
    """Return standard normal numbers, stretched ones or a mask."""
    if draw.floats == "mask":
        return generator.integers(0, 2, shape)
    numbers: Array = generator.standard_normal(shape)
    if draw.floats == "wide":
        if len(shape) > 2:  # what is averaged over places is large only where they have something in common
            numbers = numbers + generator.standard_normal(shape[:2] + (1,) * (len(shape) - 2))
        numbers = numbers * generator.integers(LEAST_STRETCH, MOST_STRETCH + 1, shape)
    return numbers


def _beyond(generator: np.random.Generator, numbers: Array, nodes: Collection[Node]) -> Array:
    """Return the numbers, of which the largest and the least lie beyond the constants that nodes compare with, and one
    of eight where no others would.

    Where e is taken to the power of something, only up to what is reached anyway: what overflows shows nothing.
    """
    threshold = largest_threshold(nodes)
    is_far = threshold > MOST_STRETCH
    if not 0 < threshold <= COUNTED or not numbers.size or (is_far and any(node.op.name == "Exp" for node in nodes)):
        return numbers
    if is_far:
        chosen = generator.integers(0, ONE_IN, numbers.shape) == 0
        numbers = np.where(chosen, generator.uniform(-2 * threshold, 2 * threshold, numbers.shape), numbers)
    flat = numbers.reshape(-1).copy()
    if flat.max() <= threshold:
        flat[flat.argmax()] = MARGIN * threshold
    if flat.min() >= -threshold and flat.size > 1:
        flat[flat.argmin()] = -MARGIN * threshold
    return flat.reshape(numbers.shape)


class _WholeNumbers(NamedTuple):
    """What draws whole numbers for one input: `met` are those that the model compares with."""

    generator: np.random.Generator
    shape: tuple[int, ...]
    draw: Draw
    met: Sequence[int]

    def rows(self, table: Table, dtype: DType) -> Array:
        """Return numbers that tables are looked up with; but for `any` every other one is among the first and last of
        them, those that are compared with, or outside."""
        least, most = _span(dtype if dtype.is_integer else DType.INT32, replace(self.draw, integers="full"))
        low, high = max(table.low, least), min(table.high, most)
        numbers: Array = self.generator.integers(min(low, high), high + 1, self.shape)
        if self.draw.rows != "any":
            ends = [low, high]
            if table.guarded:
                ends += [high + 1, high + 1 + BEYOND, low - 1, low - BEYOND]
            elif self.draw.rows == "negative" and table.least < low:
                ends += [low - 1, table.least]
            inside = [number for number in self.met if table.guarded or low <= number <= high]
            chosen = [number for number in (*ends, *inside, *sorted(table.ignored)) if least <= number <= most]
            others = np.resize(np.asarray(chosen), int(np.prod(self.shape))).reshape(self.shape)
            numbers = _half(self.generator, numbers, others)
        if table.guarded and self.draw.integers == "full":  # what is led back into the table may be a number elsewhere
            whole = self.generator.integers(least, most + 1, self.shape, dtype=np.int64 if least < 0 else np.uint64)
            numbers = _half(self.generator, numbers.astype(whole.dtype), whole)
        return numbers

    def integers(self, role: Role, dtype: DType) -> Array:
        """Return numbers for an input in this role."""
        least = 1 if role is Role.DIVISOR else 0
        if self.draw.integers == "small" or role is Role.CONTROL or not dtype.is_integer:
            return self.generator.integers(least, SMALL, self.shape)
        if role is Role.INDEX:  # small, so that what is computed of it may lie in a table
            return self.generator.integers(0 if dtype.is_unsigned else -SMALL, SMALL, self.shape)
        lowest, highest = _span(dtype, WIDE)
        met = [number for number in self.met if max(lowest, least or lowest) <= number <= highest]
        if self.draw.integers == "mask":
            return _among(self.generator, self.generator.integers(least, 2, self.shape), met[::-1])
        low, high = _span(dtype, self.draw)
        numbers: Array = self.generator.integers(low, high + 1, self.shape, dtype=np.int64 if low < 0 else np.uint64)
        numbers = np.where(numbers == 0, 1, numbers) if role is Role.DIVISOR else numbers
        return _among(self.generator, numbers, met) if self.draw.integers == "signed" else numbers


def _half(generator: np.random.Generator, numbers: Array, others: Array) -> Array:
    """Return the numbers, about every other one of them replaced."""
    return np.where(generator.integers(0, 2, numbers.shape) == 1, numbers, others)


def _among(generator: np.random.Generator, numbers: Array, met: Sequence[int]) -> Array:
    """Return the numbers, about every other one of them replaced by those that the model compares with; a single one
    is."""
    if not met:
        return numbers
    chosen = np.resize(np.asarray(met, numbers.dtype), numbers.size).reshape(numbers.shape)
    return chosen if numbers.size == 1 else _half(generator, chosen, numbers)


def _span(dtype: DType, draw: Draw) -> tuple[int, int]:
    """Return the least and the largest number. The least of a signed type has no opposite: divided by -1 it ends
    processes."""
    if dtype.is_unsigned:
        high = (1 << dtype.bits) - 1
        return 0, high if draw.integers == "full" else min(high, UINT8)
    high = (1 << (dtype.bits - 1)) - 1
    return (-high, high) if draw.integers == "full" else (-min(high, SMALL), min(high, SMALL - 1))
