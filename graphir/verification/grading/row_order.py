"""Rows of detections that stand in another order, since their scores tie: brought into the reference's order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from graphir.arrays import Array
from graphir.verification.running.bench import Asked, Bench

from .detections import PARTS, cuts_before, find_detections, pair_rows

Results = Mapping[str, Array]


def in_order(bench: Bench, asked: Sequence[Asked], expected: Results, results: Results) -> tuple[Results, list[str]]:
    """Return the candidate's results with detections of equal scores in the reference's order, and a note of them.

    Scores have to agree row by row, each other number within the limit that needs no floor. Of rows that tie with the
    last one others may be kept: these count as the reference's. Where more than half of the rows moved, their order
    may be wrong, and they stay where they are. Rows of values before heads, which may be ordered by other scores, go
    where the reference has equal ones.
    """
    outputs = {} if bench.limits.stated else {one.source: expected[one.source] for one in asked if one.is_output}
    where = find_detections(outputs)
    group = [] if where is None else [one for one in asked if one.source in (*where.names, *where.more)]
    if where is None or not all(
        expected[one.source].shape == results[one.name].shape and cuts_before(bench, one.name) for one in group
    ):
        return results, []
    tables = where.read(expected), where.read({one.source: results[one.name] for one in group})
    kept, scores = tables[0][..., 0] >= 0, [table[..., 1] for table in tables]
    step = max(bench.limits.step_of(one.source) for one in group)
    scales = [float(np.abs(tables[0][kept][:, part]).max(initial=0.0)) or 1.0 for part in PARTS]
    give = bench.limits.rounding(step) * np.array(scales)
    if not np.array_equal(kept, tables[1][..., 0] >= 0) or not (np.abs(scores[0] - scores[1])[kept] <= give[0]).all():
        return results, []
    order = np.tile(np.arange(kept.shape[1]), (len(kept), 1))
    is_other = kept.copy()
    for image, row, other in pair_rows(*tables, give):
        order[image, row], is_other[image, row] = other, False
    last = np.where(kept, scores[0], math.inf).min(axis=1, keepdims=True)
    moved, others = int((order != np.arange(kept.shape[1])).sum()), int(is_other.sum())
    if (is_other & (scores[0] > last + give[0])).any() or not 0 < moved + others <= kept.sum() / 2:
        return results, []
    ordered = dict(results)
    for one in asked:
        if one.name not in results:
            continue
        array, found = expected[one.source], results[one.name]
        if one in group:
            places = order + np.arange(len(order))[:, None] * order.shape[1]
            ordered[one.name] = _taken(array, found, places.reshape(-1), is_other.reshape(-1))
        elif not one.is_output and array.shape == found.shape and array.size % kept.size == 0:
            ordered[one.name] = _matched(array, found, kept.size, bench.limits.rounding(step))
    note = f"detections of equal scores that stand in another order: {moved}"
    note += f"; that tie with the last one and are others, not compared: {others}" if others else ""
    return ordered, [note]


def _taken(array: Array, other: Array, places: Array, is_other: Array) -> Array:
    """Return the rows of another array at these places, those of the first where there are others."""
    taken = other.reshape(len(places), -1)[places]
    taken[is_other] = array.reshape(len(places), -1)[is_other].astype(taken.dtype)
    return taken.reshape(other.shape)


def _matched(array: Array, other: Array, count: int, limit: float) -> Array:
    """Return so many rows of another array, each where the first array has an equal one, those without one as the first
    array has them; as they are where that is more than half of them."""
    rows, others = array.reshape(count, -1).astype(np.float64), other.reshape(count, -1).astype(np.float64)
    give = limit * float(np.abs(rows).max(initial=0.0))
    sums = others.sum(axis=1)
    by_sum = np.argsort(sums, kind="stable")
    places, is_other = np.arange(count), np.ones(count, bool)
    free = np.ones(count, bool)
    for row in range(count):
        low, high = np.searchsorted(sums[by_sum], rows[row].sum() + np.array([-1, 1]) * give * rows.shape[1])
        near = np.sort(by_sum[low:high])
        near = near[free[near]]
        apart = np.abs(others[near] - rows[row]).max(axis=1, initial=0.0)
        if len(near) and apart.min() <= give:
            places[row], is_other[row] = near[np.argmin(apart)], False
            free[places[row]] = False
    return other if 2 * is_other.sum() > count else _taken(array, other, places, is_other)
