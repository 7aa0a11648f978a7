"""Rows of detections that stand in another order, since their scores tie: brought into the reference's order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from graphir.arrays import Array
from graphir.verification.running.bench import Asked, Bench

from .detections import PARTS, cuts_before, find_detections, pair_rows

Results = Mapping[str, Array]


def in_order(bench: Bench, asked: Sequence[Asked], expected: Results, results: Results) -> tuple[Results, list[str]]:
    """Return the candidate's results with detections of equal scores in the reference's order, and a note of them.

    Rows change places, and nothing of them changes: scores have to agree row by row, and each row needs one that equals
    it within the limit that needs no floor. Where more than half of the rows moved, their order may be wrong, and they
    stay where they are. Rows of values before heads, which may be ordered by other scores, go where the reference has
    equal ones, if all have one.
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
    with np.errstate(invalid="ignore"):
        are_near = np.abs(scores[0] - scores[1])[kept] <= give[0]
    if not np.array_equal(kept, tables[1][..., 0] >= 0) or not are_near.all():
        return results, []
    order = np.tile(np.arange(kept.shape[1]), (len(kept), 1))
    pairs = pair_rows(*tables, give)
    for image, row, other in pairs:
        order[image, row] = other
    moved = int((order != np.arange(kept.shape[1])).sum())
    if len(pairs) < kept.sum() or not 0 < moved <= kept.sum() / 2:
        return results, []
    ordered = dict(results)
    for one in asked:
        if one.name not in results:
            continue
        array, own = expected[one.source], results[one.name]
        if one in group:
            indices = order + np.arange(len(order))[:, None] * order.shape[1]
            ordered[one.name] = _taken(own, indices.reshape(-1))
        elif not one.is_output and array.shape == own.shape and array.size % kept.size == 0:
            ordered[one.name] = _matched(array, own, kept.size, bench.limits.rounding(step))
    return ordered, [f"detections of equal scores that stand in another order: {moved}"]


def _taken(array: Array, indices: Array) -> Array:
    """Return the rows of an array in the order of these indices."""
    return array.reshape(len(indices), -1)[indices].reshape(array.shape)


def _matched(array: Array, other: Array, count: int, limit: float) -> Array:
    """Return `count` rows of another array, each where the first array has an equal row; unchanged if some have no
    equal."""
    rows, others = array.reshape(count, -1).astype(np.float64), other.reshape(count, -1).astype(np.float64)
    give = limit * float(np.abs(rows).max(initial=0.0))
    sums = others.sum(axis=1)
    by_sum = np.argsort(sums, kind="stable")
    indices, free = np.arange(count), np.ones(count, bool)
    for row in range(count):
        low, high = np.searchsorted(sums[by_sum], rows[row].sum() + np.array([-1, 1]) * give * rows.shape[1])
        near = np.sort(by_sum[low:high])
        near = near[free[near]]
        differences = np.abs(others[near] - rows[row]).max(axis=1, initial=0.0)
        if not len(near) or differences.min() > give:
            return other
        indices[row] = near[np.argmin(differences)]
        free[indices[row]] = False
    return _taken(other, indices)
