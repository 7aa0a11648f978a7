"""A golden capture of another batch than the candidate's: taken in pieces of the candidate's batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from graphir.arrays import Array
from graphir.converters.formats import Reference

from .report import InputSet, VerificationReport, gravity
from .running.references import GoldenCapture


@dataclass
class CapturePiece(Reference):
    """Some samples of a capture, as a reference: `rows` are their numbers, `total` is how many the capture has,
    `axis` the batch's axis in what it was fed with.

    Of a recorded value the axis of that size is the batch's, `axis` where that fits, else the first one. Where none
    is, an outermost axis that is a multiple of it has the samples one after the other (as Reshape to (-1, ...) leaves
    them); any other value is taken whole, as it does not depend on the batch.
    """

    recorded = True
    whole: GoldenCapture
    rows: tuple[int, ...]
    total: int
    axis: int
    inputs: frozenset[str]
    label: str = ""

    def taken(self, rows: tuple[int, ...]) -> CapturePiece:
        """The piece of these samples."""
        label = f"{self.whole.label}, samples {rows[0]} to {rows[-1]} of {self.total}"
        return replace(self, rows=rows, label=label)

    def __post_init__(self) -> None:
        self.outputs, self.may_lack = self.whole.outputs, self.whole.may_lack

    @property
    def feeds(self) -> dict[str, Array]:
        """These samples of the inputs; inputs without a batch whole."""
        return {
            name: np.take(array, self.rows, self.axis) if name in self.inputs else array
            for name, array in self.whole.feeds.items()
        }

    def values(self) -> list[str]:
        """The names of the recorded values."""
        return self.whole.values()

    def stream(self, feeds: Mapping[str, Array], names: Iterable[str]) -> Iterator[tuple[str, Array]]:
        """These samples of the recorded values."""
        for name, array in self.whole.stream(feeds, names):
            yield name, self._cut(array)

    def _cut(self, array: Array) -> Array:
        count = self.total
        axes = [axis for axis, size in enumerate(array.shape) if size == count]
        if axes:
            return np.take(array, self.rows, self.axis if self.axis in axes else axes[0])
        if array.ndim and array.shape[0] and count > 1 and array.shape[0] % count == 0:
            each = array.reshape(count, array.shape[0] // count, *array.shape[1:])[list(self.rows)]
            return each.reshape(-1, *array.shape[1:])
        return array


def pieces_of(golden: GoldenCapture, inputs: Mapping[str, Sequence[object]]) -> list[CapturePiece]:
    """The pieces that a candidate with these inputs takes, in order; none where it takes the capture whole, or not for
    its batch.

    The batch is the one axis in which what was fed is larger or smaller than what the candidate states, the same in all
    inputs that differ: the first one, or of three the second. Fewer samples than that are repeated; a last piece that
    is not full begins earlier.
    """
    by_name = golden.feeds.keys() <= inputs.keys()
    shapes = inputs if by_name else dict(zip(golden.feeds, inputs.values(), strict=False))
    found = set()
    differing = []
    for name, array in golden.feeds.items():
        stated = shapes.get(name, array.shape)
        if len(stated) != array.ndim:
            return []
        apart = [
            (axis, size, wanted)
            for axis, (size, wanted) in enumerate(zip(array.shape, stated, strict=True))
            if isinstance(wanted, int) and size != wanted
        ]
        if apart:
            found.add(tuple(apart))
            differing.append(name)
    if len(found) != 1 or len(next(iter(found))) != 1:
        return []
    ((axis, count, batch),) = next(iter(found))
    sequences = all(golden.feeds[name].ndim == 3 for name in differing)  # which may have the time before the batch
    if not count or not batch or axis > sequences:
        return []
    starts = [0] if count <= batch else [*range(0, count - batch, batch), count - batch]
    made = CapturePiece(golden, (), count, axis, frozenset(differing))
    return [made.taken(tuple(row % count for row in range(start, start + batch))) for start in starts]


def check_pieces(
    pieces: Sequence[CapturePiece], check: Callable[[CapturePiece], VerificationReport]
) -> VerificationReport:
    """The pieces compared one after the other, until one differs; the report of the first, with the worst comparison of
    each output, and the layers of the one that differs."""
    first, *others = pieces
    report = check(first)
    count, batch = first.total, len(first.rows)
    report.notes.append(
        f"the capture has a batch of {count}, the candidate takes {batch}: it was compared in {len(pieces)} pieces"
        if count > batch
        else f"the capture has a batch of {count}, the candidate takes {batch}: samples were repeated"
    )
    own = [InputSet(_named(first), report.feeds, tuple(report.outputs))]
    for piece in others:
        if not report.ok:
            break
        found = check(piece)
        own.append(InputSet(_named(piece), found.feeds, tuple(found.outputs)))
        report.notes += [note for note in found.notes if note not in report.notes]
        report.unproven += [reason for reason in found.unproven if reason not in report.unproven]
        _take_worst(report, found)
        if found.first_divergence is not None:
            report.layers = found.layers
    report.reference = first.whole.label
    report.sets = own
    return report


def _named(piece: CapturePiece) -> str:
    return f"samples {piece.rows[0]} to {piece.rows[-1]}"


def _take_worst(report: VerificationReport, found: VerificationReport) -> None:
    held = {one.name: place for place, one in enumerate(report.outputs)}
    for one in found.outputs:
        place = held.get(one.name)
        if place is None:
            report.outputs.append(one)
        elif (gravity(one), one.relative) > (gravity(report.outputs[place]), report.outputs[place].relative):
            report.outputs[place] = one
