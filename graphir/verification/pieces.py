"""A golden capture of another batch than the candidate's: compared in pieces of the candidate's batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from graphir.arrays import Array
from graphir.converters.formats import Reference
from graphir.errors import VerificationError
from graphir.inputs.given import recorded_feeds
from graphir.inputs.sets import FeedPlan, FeedSet

from .running.references import GoldenCapture


@dataclass
class CaptureInPieces(Reference):
    """A capture as a reference of a model that takes fewer samples, or more.

    `pieces` are the samples of each set of inputs, `total` is how many the capture has, `axis` the batch's axis in what
    was fed to the `inputs` that differ. Of a recorded value the axis of that size is the batch's, `axis` where that
    fits, else the first one. Where none is, an outermost axis that is a multiple of it has the samples one after the
    other (as Reshape to (-1, ...) leaves them); any other value is taken whole, as it does not depend on the batch.
    """

    recorded = True
    whole: GoldenCapture
    pieces: Sequence[tuple[int, ...]]
    total: int
    axis: int
    inputs: frozenset[str]

    def __post_init__(self) -> None:
        self.label, self.outputs, self.may_lack = self.whole.label, self.whole.outputs, self.whole.may_lack

    def feeds(self, rows: Sequence[int]) -> dict[str, Array]:
        """Return these samples of the inputs; inputs without a batch whole."""
        return {
            name: np.take(array, rows, self.axis) if name in self.inputs else array
            for name, array in self.whole.feeds.items()
        }

    def values(self) -> list[str]:
        """Return the names of the recorded values."""
        return self.whole.values()

    def stream(self, feeds: Mapping[str, Array], names: Iterable[str]) -> Iterator[tuple[str, Array]]:
        """Yield the recorded values for the samples that were fed. Raises VerificationError for others."""
        rows = next((rows for rows in self.pieces if self._are(rows, feeds)), None)
        if rows is None:
            raise VerificationError(f"{self.label} has no results for these inputs")
        for name, array in self.whole.stream(feeds, names):
            yield name, self._cut(array, rows)

    def plan(self, inputs: Sequence[str]) -> FeedPlan:
        """Return a set of inputs for each piece; see `recorded_feeds`."""
        batch, count = len(self.pieces[0]), len(self.pieces)
        how = f"it was compared in {count} pieces" if self.total > batch else "samples were repeated"
        sets = [
            FeedSet(f"samples {rows[0]} to {rows[-1]}", (partial(self._fed, rows, inputs),))
            for rows in self.pieces
        ]
        note = f"the capture has a batch of {self.total}, the candidate takes {batch}: {how}"
        return FeedPlan(lambda light: sets, [note])

    def _fed(self, rows: Sequence[int], inputs: Sequence[str]) -> dict[str, Array]:
        return recorded_feeds(self.feeds(rows), inputs)

    def _are(self, rows: Sequence[int], feeds: Mapping[str, Array]) -> bool:
        taken = self.feeds(rows)
        return all(
            np.array_equal(taken[name], feeds[name], equal_nan=feeds[name].dtype.kind in "fc")
            for name in self.inputs & feeds.keys()
        )

    def _cut(self, array: Array, rows: Sequence[int]) -> Array:
        count = self.total
        axes = [axis for axis, size in enumerate(array.shape) if size == count]
        if axes:
            return np.take(array, rows, self.axis if self.axis in axes else axes[0])
        if array.ndim and array.shape[0] and count > 1 and array.shape[0] % count == 0:
            each = array.reshape(count, array.shape[0] // count, *array.shape[1:])[list(rows)]
            return each.reshape(-1, *array.shape[1:])
        return array


def pieces_of(golden: GoldenCapture, inputs: Mapping[str, Sequence[object]]) -> CaptureInPieces | None:
    """Return a capture in the pieces that a candidate with these inputs takes; None where it takes the capture whole,
    or not for its batch.

    The batch is the one axis in which what was fed is larger or smaller than what the candidate states, the same in all
    inputs that differ: the first one, or of three the second. Fewer samples than that are repeated; a last piece that
    is not full begins earlier.
    """
    by_name = golden.feeds.keys() <= inputs.keys()
    shapes = inputs if by_name else dict(zip(golden.feeds, inputs.values(), strict=False))
    differing: dict[str, tuple[tuple[int, int, int], ...]] = {}
    for name, array in golden.feeds.items():
        stated = shapes.get(name, array.shape)
        if len(stated) != array.ndim:
            return None
        apart = tuple(
            (axis, size, wanted)
            for axis, (size, wanted) in enumerate(zip(array.shape, stated, strict=True))
            if isinstance(wanted, int) and size != wanted
        )
        differing |= {name: apart} if apart else {}
    if len(set(differing.values())) != 1 or len(next(iter(differing.values()))) != 1:
        return None
    ((axis, count, batch),) = next(iter(differing.values()))
    sequences = all(golden.feeds[name].ndim == 3 for name in differing)  # which may have the time before the batch
    if not count or not batch or axis > sequences:
        return None
    starts = [0] if count <= batch else [*range(0, count - batch, batch), count - batch]
    pieces = [tuple(row % count for row in range(start, start + batch)) for start in starts]
    return CaptureInPieces(golden, pieces, count, axis, frozenset(differing))
