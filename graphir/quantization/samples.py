"""The samples of a user's data: those that calibrate, and others on which errors are measured."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np

from graphir.accuracy import batches
from graphir.arrays import Array
from graphir.errors import VerificationError
from graphir.graph import Graph, Value
from graphir.inputs.given import FeedRequest, Feeds, plan_of
from graphir.inputs.sets import NAMES
from graphir.quantization.options import NO_FEEDS
from graphir.safety.counted import tell_count
from graphir.structure.record import record
from graphir.types import DType

Make = Callable[[], dict[str, Array]]
# Of four samples one does not calibrate, and no more than so many.
SHARE_HELD_OUT, MOST_HELD_OUT = 4, 32


@record
class Batch:
    """Arrays of inputs in a file of their own, so that few are in memory, and how many samples they are."""

    path: Path
    names: tuple[str, ...]
    samples: int

    @classmethod
    def write(cls, path: Path, arrays: Mapping[str, Array], samples: int) -> Batch:
        """Write the arrays to a file, by their places: an input may be called `file`, as is a parameter of savez."""
        np.savez(path, *arrays.values())
        return cls(path, tuple(arrays), samples)

    def __call__(self) -> dict[str, Array]:
        """Return the arrays by input name."""
        with np.load(self.path, allow_pickle=False) as archive:
            return {name: archive[f"arr_{index}"] for index, name in enumerate(self.names)}


@record
class Samples:
    """`calibration` and `held_out` are disjoint; `are_drawn` where the user gave none; `notes` say how they came."""

    calibration: Sequence[Batch]
    held_out: Sequence[Batch]
    are_drawn: bool
    notes: Sequence[str] = ()

    @property
    def measured(self) -> Sequence[Batch]:
        """Return the batches on which errors are measured: those held out, where there are any."""
        return self.held_out or self.calibration

    @property
    def where(self) -> str:
        """Return what errors are measured on, in words."""
        count = sum(batch.samples for batch in self.measured)
        text = f"{count:,} of {'drawn inputs, not of yours' if self.are_drawn else 'the samples given'}"
        return f"{text} that did not calibrate" if self.held_out and self.calibration else text


def read_samples(
    feeds: Feeds | None, graph: Graph, folder: Path, most: int, seed: int, *, calibrates: bool, rows: int
) -> Samples:
    """Return samples of the user's data, written to a folder in batches of `rows`, in an order drawn from the seed;
    without data drawn ones, which calibrate nothing.

    Raises VerificationError for drawn data that should calibrate, and for arrays that do not fit the inputs.
    """
    drawn = feeds is None or any(isinstance(word, str) and word in NAMES for word in _sources(feeds))
    if drawn and calibrates:
        raise VerificationError(NO_FEEDS)
    plan = plan_of(feeds, FeedRequest.of(graph, seed))
    generator = np.random.default_rng(seed)
    held_out = 0 if calibrates else min(most, MOST_HELD_OUT)
    wanted = most + min(MOST_HELD_OUT, -(-most // (SHARE_HELD_OUT - 1))) if calibrates else held_out
    sets = list(plan.sets(True))
    parts: list[Batch] = []
    total = 0
    for index in [0] if drawn else generator.permutation(len(sets)).tolist():
        name = sets[index].name
        arrays = _checked(sets[index].attempts[0](), graph, name)
        for arrays_of_batch, count in _batches(arrays, graph, min(rows, max(1, wanted // 4)), generator):
            if total >= wanted:
                break
            parts.append(Batch.write(folder / f"batch-{len(parts)}.npz", arrays_of_batch, count))
            total += count
            tell_count("sample", min(total, wanted), wanted)
        if total >= wanted:
            break
    tell_count("sample", wanted, wanted)  # there may be fewer, and what is counted next shows only then
    cut = len(parts) if calibrates else 0
    most = min(most, total - min(total // SHARE_HELD_OUT, MOST_HELD_OUT))
    while cut > 1 and sum(part.samples for part in parts[:cut]) > most:
        cut -= 1
    calibration, rest = parts[:cut], parts[cut:]
    return Samples(calibration, rest, drawn, tuple(plan.notes))


def _batches(
    arrays: Mapping[str, Array], graph: Graph, rows: int, generator: np.random.Generator
) -> Iterator[tuple[dict[str, Array], int]]:
    """Yield the samples of a set in batches, in a drawn order; without a batch the set is one sample."""
    if not has_batch(graph, arrays):
        yield dict(arrays), 1
        return
    first = (graph.inputs[0].shape or (None,))[0]
    length = len(next(iter(arrays.values())))
    order = generator.permutation(length)
    shuffled = {name: array[order] for name, array in arrays.items()}
    size = first if isinstance(first, int) else min(rows, length)
    yield from batches(shuffled, size, fixed=isinstance(first, int))


def count_shared(calibration: Sequence[Batch], labelled: Mapping[str, Array], graph: Graph) -> int:
    """Return how many labelled samples calibrate too: those whose inputs have the same bytes."""

    def digests(arrays: Mapping[str, Array], count: int) -> list[bytes]:
        columns = [arrays[value.name].astype((value.dtype or DType.FLOAT32).numpy()) for value in graph.inputs]
        return [sha256(b"".join(column[row].tobytes() for column in columns)).digest() for row in range(count)]

    batched = [(batch, batch()) for batch in calibration if has_batch(graph, batch())]
    used = {digest for batch, arrays in batched for digest in digests(arrays, batch.samples)}
    return sum(digest in used for digest in digests(labelled, len(next(iter(labelled.values())))))


def has_batch(graph: Graph, arrays: Mapping[str, Array]) -> bool:
    """Return whether rows are samples: the first sizes of all inputs are one number or one open size, and those of the
    arrays are equal."""
    firsts = {value.shape[0] if value.shape else None for value in graph.inputs}
    lengths = {len(array) if array.ndim else 0 for array in arrays.values()}
    return len(firsts) == len(lengths) == 1 and None not in firsts


def _sources(feeds: Feeds) -> Sequence[object]:
    return [feeds] if isinstance(feeds, Mapping | str | os.PathLike) else list(feeds)


def _checked(arrays: Mapping[str, Array], graph: Graph, name: str) -> dict[str, Array]:
    """Return a set's arrays in the inputs' dtypes. Raises VerificationError for shapes that do not fit, and for NaN and
    infinities, which have no range."""
    return {value.name: _fitted(arrays[value.name], value, name) for value in graph.inputs}


def _fitted(array: Array, value: Value, name: str) -> Array:
    shape = value.shape
    if not array.size:
        raise VerificationError(f"{name}: {value.name} has no elements ({list(array.shape)})")
    is_alike = shape is None or (
        len(shape) == array.ndim
        and all(
            not isinstance(dim, int) or dim == size or (axis == 0 and size > 0)
            for axis, (dim, size) in enumerate(zip(shape, array.shape, strict=True))
        )
    )
    if not is_alike:
        raise VerificationError(f"{name}: {value.name} is {list(array.shape)}, but the model's input is {value.type}")
    dtype = (value.dtype or DType.FLOAT32).numpy()
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise VerificationError(f"{name}: {value.name} has NaN or infinities, which no range holds")
    if array.dtype.kind in "fc" and dtype.kind in "iub":
        raise VerificationError(f"{name}: {value.name} is {array.dtype}, but the model's input is {value.type}")
    return array.astype(dtype, copy=False)
