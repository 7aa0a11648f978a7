"""Tables of detections compared as sets, where no region of the candidate can be run by itself.

So it is with captures, which have no inner values, and behind 8 bits or float16. Rows are paired whatever their order,
within the limits of scores and boxes. A row without a counterpart is rounding where the candidate itself turns about it
when its inputs are rounded, and a difference otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from graphir.arrays import Array
from graphir.ops import traits_of
from graphir.ops.traits import DecisionTrait
from graphir.verification.numbers.compare import Comparison, noise_limit
from graphir.verification.numbers.limits import QUANTIZED_STEP, GradingLimits
from graphir.verification.running.bench import Asked, Bench
from graphir.verification.verdict import Verdict

Floats = NDArray[np.float64]
# What a row begins with: class, score, and the corners of a box. MXNet's tables may have the image before these.
COLUMNS = (6, 7)
# Score, box, and all else that belongs to a row: what limits are measured for.
PARTS = (slice(1, 2), slice(2, 6), slice(6, None))
# Runs that are asked beside the usual ones whether a row comes and goes: one whose overlap is the limit up to rounding
# turns in every other run, so that it stays in all of them once in 2**12.
FEEDS_MOVED = 12
Place = tuple[int, int, int]


@dataclass(frozen=True)
class Detections:
    """The outputs that hold detections: one table of rows `[class, score, x1, y1, x2, y2, ...]`, or three of classes,
    scores and boxes, and those `more` that have a row for each detection."""

    names: tuple[str, ...]
    more: tuple[str, ...] = ()

    def read(self, outputs: Sequence[Array]) -> Floats:
        """Return (batch, rows, columns): class, score, four of the box, and whatever else belongs to a row. The outputs
        come in the order of their names."""
        arrays = [np.asarray(array, np.float64) for array in outputs]
        batch, rows = arrays[0].shape[:2]
        widths = [math.prod(array.shape[2:]) for array in arrays]
        parts = [array.reshape(batch, rows, width) for array, width in zip(arrays, widths, strict=True)]
        table: Floats = np.concatenate(parts, axis=2)
        return table


def find_detections(outputs: Mapping[str, Array]) -> Detections | None:
    """Return which of a reference's outputs hold detections, by their shapes and values; None if none do.

    >>> rows = np.array([[[1, 0.5, 0, 0, 2, 2], [-1, -1, -1, -1, -1, -1]]])
    >>> find_detections({"rows": rows})
    Detections(names=('rows',), more=())
    """
    for name, array in outputs.items():
        if array.ndim == 3 and array.shape[2] in COLUMNS and _are_classes(array[..., 0]):
            return Detections((name,), _with_rows(outputs, array.shape[:2], (name,)))
    for boxes, array in outputs.items():
        if array.ndim != 3 or array.shape[2] != 4:
            continue
        rows = array.shape[:2]
        columns = [name for name, other in outputs.items() if other.shape in (rows, (*rows, 1))]
        classes = next((name for name in columns if _are_classes(outputs[name])), None)
        scores = next((name for name in columns if name != classes and outputs[name].dtype.kind in "fV"), None)
        if classes is not None and scores is not None:
            names = (classes, scores, boxes)
            return Detections(names, _with_rows(outputs, rows, names))
    return None


def compare_as_sets(
    bench: Bench, outputs: Sequence[Asked], graded: Sequence[Comparison], results: tuple[Mapping[str, Array], ...]
) -> list[Comparison]:
    """Return the comparisons of outputs, those that differ and hold detections compared as sets."""
    pairs = {output.source: pair for output in outputs if (pair := bench.pair(output, *results)) is not None}
    where = find_detections({source: pair.expected for source, pair in pairs.items()})
    differing = {line.name for line in graded if not line.verdict.passes}
    if where is None or bench.limits.stated:
        return list(graded)
    group = [pairs[source] for source in (*where.names, *where.more)]
    titles = differing & {pair.asked.title for pair in group}
    if not titles or not all(cuts_before(bench, pair.asked.name) for pair in group[: len(where.names)]):
        return list(graded)
    tables = where.read([pair.expected for pair in group]), where.read([pair.found for pair in group])
    if tables[0].shape[::2] != tables[1].shape[::2]:
        return list(graded)
    names = [pair.asked.name for pair in group]
    again = [
        where.read([pair.aligned(run[pair.asked.name]) for pair in group])
        for runs in (bench.rounding.runs(names, coarse=any(pair.step for pair in group)),
                     bench.rounding.further(names, FEEDS_MOVED))
        for run in runs
    ]  # fmt: skip
    result = compare_tables(tables[0], tables[1], again, bench.limits, max(pair.step for pair in group))
    return [replace(result, name=line.name, shape=line.shape) if line.name in titles else line for line in graded]


def cuts_before(bench: Bench, output: str) -> bool:
    """Return whether an output comes out of an operator that keeps some rows and drops others."""
    structure = bench.candidate.structure
    makers = (structure.producers.get(name, ("", ())) for name in (output, *structure.before(output)))
    return any(traits_of(operator).decides >= DecisionTrait.CUTS for operator, _ in makers)


def compare_tables(
    expected: Floats, candidate: Floats, again: Sequence[Floats], limits_of: GradingLimits, step: float = 0.0
) -> Comparison:
    """Return the comparison of two tables; its numbers are those of the columns that come closest to their limit,
    infinite where a row has no counterpart and no reason."""
    limit_of = partial(noise_limit, step=step, elsewhere=limits_of.elsewhere)
    numbers = [expected[expected[..., 0] >= 0][:, columns] for columns in PARTS]
    # Where there is no finite magnitude a difference keeps its size.
    scale = np.array([np.abs(part[np.isfinite(part)]).max(initial=0.0) or 1.0 for part in numbers])
    least = QUANTIZED_STEP if limits_of.quantized else 0.0
    floors = np.zeros(len(PARTS))
    for run in again:
        pairs = pair_rows(candidate, run, limit_of(math.inf) * scale)
        floors = np.maximum(floors, _changes(candidate, run, pairs) / scale)
    limits = np.array([max(limit_of(floor), least) for floor in floors])
    pairs = pair_rows(expected, candidate, limits * scale)
    changes = _changes(expected, candidate, pairs) / scale
    turned: list[Place] = []
    open_rows: list[Place] = []
    for side, image, row in _without_counterpart(expected, candidate, pairs):
        wanted = (expected, candidate)[side][image, row]
        comes_and_goes = any(bool(_agree(wanted, run[image], limits * scale).any()) == (side == 0) for run in again)
        (turned if comes_and_goes else open_rows).append((side, image, row))
    verdict, relative = Verdict.NOISE, float(changes[np.argmax(changes / limits)])
    moved = _is_laid_out_otherwise(expected, candidate, 2 * limits[0] * scale[0])
    if open_rows or moved or (changes > limits).any():
        verdict, relative = Verdict.BROKEN, math.inf if open_rows else relative
    note = f"{len(pairs)} of {int((expected[..., 0] >= 0).sum())} detections match"
    note += f", {len(turned)} more come and go when rounding moves the inputs" if turned else ""
    note += f", {len(open_rows)} differ" if open_rows else ""
    worst = int(np.argmax(changes / limits))
    return Comparison(
        "", (), float(scale[worst]), relative * float(scale[worst]), relative, float(floors[worst]),
        float(limits[worst]), verdict, note,
    )  # fmt: skip


def pair_rows(left: Floats, right: Floats, give: Floats) -> list[tuple[int, int, int]]:
    """Return (image, row, row) for the detections that both tables hold: equal classes, scores and boxes within `give`.

    A row goes with the nearest one that is left, that of its own place first. Each row of two tables that are sorted
    alike costs a comparison with those of about its score.
    """
    pairs = []
    for image in range(len(left)):
        kept = [np.flatnonzero(table[image, :, 0] >= 0) for table in (left, right)]
        by_score = kept[1][np.argsort(right[image, kept[1], 1], kind="stable")]
        scores = right[image, by_score, 1]
        taken: set[int] = set()
        for row in kept[0].tolist():
            low, high = np.searchsorted(scores, left[image, row, 1] + np.array([-1, 1]) * give[0], side="left")
            near = np.sort(by_score[max(low - 1, 0) : high + 1])
            rows = near[_agree(left[image, row], right[image, near], give)]
            nearest: list[int] = rows[np.argsort(np.abs(rows - row), kind="stable")].tolist()
            free = [other for other in nearest if other not in taken]
            if free:
                taken.add(free[0])
                pairs.append((image, row, free[0]))
    return pairs


def _agree(row: Floats, others: Floats, give: Floats) -> NDArray[np.bool_]:
    agree: NDArray[np.bool_] = others[:, 0] == row[0]
    with np.errstate(invalid="ignore"):
        for columns, most in zip(PARTS[:2], give, strict=False):
            apart = np.abs(others[:, columns] - row[columns])
            agree &= ((apart <= most) | (others[:, columns] == row[columns])).all(axis=1)
    return agree


def _without_counterpart(left: Floats, right: Floats, pairs: Sequence[tuple[int, int, int]]) -> list[Place]:
    """Return (side, image, row) of the detections that are in no pair."""
    paired = {(side, image, rows[side]) for image, *rows in pairs for side in (0, 1)}
    places = [
        (side, *place) for side, table in enumerate((left, right)) for place in np.argwhere(table[..., 0] >= 0).tolist()
    ]
    return [place for place in places if place not in paired]


def _is_laid_out_otherwise(expected: Floats, candidate: Floats, tie: float) -> bool:
    """Return whether scores rise where those of the reference do not, or rows without a detection hold other numbers
    than all of the reference's do."""
    empty = [table[table[..., 0] < 0] for table in (expected, candidate)]
    alike = len(empty[0]) > 0 and (empty[0] == empty[0][0]).all()
    refilled = bool(alike) and not (empty[1] == empty[0][0]).all()
    rises = [float((scores - np.minimum.accumulate(scores, axis=1)).max(initial=0)) for scores in
             (table[..., 1] for table in (expected, candidate))]  # fmt: skip
    return refilled or rises[1] > rises[0] + tie


def _changes(left: Floats, right: Floats, pairs: Sequence[tuple[int, int, int]]) -> Floats:
    """Return the largest difference of the pairs in scores, boxes, and what else belongs to a row."""
    if not pairs:
        return np.zeros(len(PARTS))
    images, first, second = np.array(pairs).T
    ours, theirs = left[images, first], right[images, second]
    with np.errstate(invalid="ignore"):
        apart = np.where((ours == theirs) | (np.isnan(ours) & np.isnan(theirs)), 0.0, np.abs(ours - theirs))
    return np.array([np.nan_to_num(apart[:, columns], nan=math.inf).max(initial=0.0) for columns in PARTS])


def _are_classes(array: Array) -> bool:
    if array.dtype.kind not in "iufV":
        return False
    numbers = array.astype(np.float64)
    return bool(numbers.size and (numbers >= -1).all() and (numbers == np.floor(numbers)).all())


def _with_rows(outputs: Mapping[str, Array], rows: Sequence[int], names: Sequence[str]) -> tuple[str, ...]:
    """Return the other outputs with a row each."""
    return tuple(
        name for name, array in outputs.items()
        if name not in names and array.shape[:2] == tuple(rows) and rows[1] > 1 and array.dtype.kind in "fiubV"
    )  # fmt: skip
