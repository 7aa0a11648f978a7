"""The optimum of the model by mixed-integer programming, in the manner of Checkmate (Jain et al. 2020), with HiGHS.

Binary `twice[i]`: node i runs twice. Continuous, and 0 or 1 at their smallest given the binaries: `kept[i]`, whether
the value of the forward pass stays; `there[i, j]` for j >= i, whether the second value is there at the backward step of
j. A need of a node that runs once is kept; a second run needs second values of what runs twice and kept ones of what
does not; what is there stays. The memory of every step is at most the peak.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphir.errors import GraphirError
from graphir.extras import install_hint

from .problem import Problem, RecomputeChoice, evaluate

LARGEST = 160
"""Nodes up to which a program is made: its variables grow with their square."""


class MissingSolver(GraphirError):
    """There is no solver for mixed-integer programs."""


@dataclass(frozen=True)
class Solved:
    """The best plan found, the bound that the solver proved (of work, or of the peak), and whether it is reached."""

    choice: RecomputeChoice
    bound: float
    is_optimal: bool


@dataclass
class _Rows:
    """The rows of a sparse matrix, and the limits above them."""

    rows: list[int]
    columns: list[int]
    entries: list[float]
    limits: list[float]

    def add(self, entries: list[tuple[int, float]], limit: float) -> None:
        row = len(self.limits)
        for column, entry in entries:
            self.rows.append(row)
            self.columns.append(column)
            self.entries.append(entry)
        self.limits.append(limit)


def solve(problem: Problem, budget: int | None, seconds: float) -> Solved | None:
    """Return the plan with the least work within a budget in bytes, or the least peak; None if there is none, or none
    was found in time.

    Raises MissingSolver without SciPy, GraphirError for more than LARGEST nodes.
    """
    if len(problem.names) > LARGEST:
        raise GraphirError(f"{len(problem.names)} nodes are too many for an exact plan, {LARGEST} is the most")
    try:
        from scipy import optimize, sparse
    except ImportError as error:
        raise MissingSolver(
            f"an exact plan needs SciPy's solver, which is not installed: {install_hint('memory')}"
        ) from error
    count = len(problem.names)
    columns = _places(count)
    size = 2 * count + len(columns) + 1
    peak = size - 1
    scale = float(max(1, max(problem.sizes, default=1)))
    rows = _constraints(problem, columns, peak, scale)
    cost = np.zeros(size)
    weight = float(max(1, sum(problem.works)))
    if budget is None:
        cost[peak] = 1.0
    else:
        cost[:count] = np.array(problem.works) / weight
    low, high = np.zeros(size), np.ones(size)
    high[list(problem.pinned)] = 0.0
    high[peak] = np.inf if budget is None else budget / scale
    whole = np.zeros(size)
    whole[:count] = 1
    matrix: Any = sparse.csr_matrix((rows.entries, (rows.rows, rows.columns)), shape=(len(rows.limits), size))
    limits = optimize.LinearConstraint(matrix, -np.inf, np.array(rows.limits))
    options = {"time_limit": seconds, "mip_rel_gap": 0.0}
    solution = optimize.milp(cost, integrality=whole, bounds=optimize.Bounds(low, high), constraints=limits,
                          options=options)  # fmt: skip
    if solution.x is None:
        return None
    choice = evaluate(problem, [node for node in range(count) if solution.x[node] > 0.5])
    bound = solution.mip_dual_bound if solution.mip_dual_bound is not None else 0.0
    return Solved(choice, max(0.0, bound) * (scale if budget is None else weight), bool(solution.status == 0))


def _places(count: int) -> dict[tuple[int, int], int]:
    """Return the columns of `there`, behind those of `twice` and of `kept`."""
    pairs = ((node, step) for node in range(count) for step in range(node, count))
    return {pair: 2 * count + index for index, pair in enumerate(pairs)}


def _constraints(problem: Problem, columns: dict[tuple[int, int], int], peak: int, scale: float) -> _Rows:
    count = len(problem.names)
    rows = _Rows([], [], [], [])
    for node in range(count):
        rows.add([(node, 1.0), (columns[node, node], -1.0)], 0.0)
        for step in range(node, count - 1):
            rows.add([(columns[node, step + 1], 1.0), (columns[node, step], -1.0)], 0.0)
        for read in problem.needs[node]:
            kept = count + read
            rows.add([(node, -1.0), (kept, -1.0)], -1.0)
            if read != node:
                rows.add([(node, 1.0), (read, -1.0), (kept, -1.0)], 0.0)
                rows.add([(read, 1.0), (node, 1.0), (columns[read, node], -1.0)], 1.0)
        for read in problem.inputs[node]:
            rows.add([(node, 1.0), (read, -1.0), (count + read, -1.0)], 0.0)
            for step in range(node, count):
                rows.add([(columns[node, step], 1.0), (read, 1.0), (columns[read, step], -1.0)], 1.0)
    sizes = [size / scale for size in problem.sizes]
    for step in range(count):
        before = range(step + 1)
        gone = [(count + node, sizes[node]) for node in before if problem.last_read[node] < step]
        alive = sum(sizes[node] for node in before if problem.last_read[node] >= step)
        rows.add([*gone, (peak, -1.0)], -alive)
        copies = [(count + node, sizes[node]) for node in before]
        second = [(columns[node, step], sizes[node]) for node in before if problem.first_need[node] >= 0]
        rows.add([*copies, *second, (peak, -1.0)], -problem.gradients[step] / scale)
    return rows
