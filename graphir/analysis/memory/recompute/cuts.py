"""Plans for networks of any length: cuts, at which all that crosses is kept, by dynamic programming.

Between two cuts everything runs once more when the backward pass comes there; behind the last cut nothing does. For a
given budget the programme finds the cuts that keep the fewest bytes, exactly on a chain. Then, as far as the budget
allows, nodes run once after all, those first that are the most work for their bytes.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from .problem import Problem

_LEAST_SPAN = 64
_SPANS = 4


@dataclass(frozen=True)
class Crossings:
    """What the programme knows of a problem: `filled` bytes of needed values up to each node, `highest` the same with
    gradients, the most so far; `crossing` the bytes that a cut behind each node keeps; `pinned` values with so many
    readers in between that they are kept at every cut, once.
    """

    filled: list[int]
    highest: list[int]
    crossing: list[int]
    pinned: frozenset[int]


def crossings(problem: Problem) -> Crossings:
    """Return what cuts behind each node would keep. Linear in nodes."""
    count = len(problem.names)
    span = max(_LEAST_SPAN, int(_SPANS * math.sqrt(count)))
    kept = frozenset(
        node for node in range(count)
        if node in problem.pinned or (problem.last_read[node] - node > span and problem.last_read[node] < count)
    )  # fmt: skip
    free = [0 if node in kept else size for node, size in enumerate(problem.sizes)]
    filled = list(accumulate(
        size if problem.first_need[node] >= 0 else 0 for node, size in enumerate(free)
    ))  # fmt: skip
    totals = (size + gradient for size, gradient in zip(filled, problem.gradients, strict=True))
    highest = list(accumulate(totals, max))
    change = [0] * (count + 1)
    for node, size in enumerate(free):  # what crosses runs once, so what its backward step reads is kept too
        crossing = size + sum(free[read] for read in problem.needs[node] if read != node)
        change[node] += crossing
        change[min(problem.last_read[node], count)] -= crossing
    return Crossings(filled, highest, list(accumulate(change))[:count], kept)


def cut(problem: Problem, known: Crossings, budget: int) -> list[int] | None:
    """Return the nodes behind which to cut, None if no cuts fit the budget. n log n in nodes."""
    count = len(problem.names)
    base = sum(problem.sizes[node] for node in known.pinned)
    room = budget - base
    sums, before = [0] * count, [-1] * count
    reached = 0
    heap: list[tuple[int, int, int]] = [(0, 0, -1)]  # bytes kept, the same less what is filled, the cut
    for node in range(count):
        limit = room - known.highest[node]
        while heap and heap[0][1] > limit:  # the limit only falls: what does not fit now never will
            heapq.heappop(heap)
        if not heap:
            break
        least, _, before[node] = heap[0]
        sums[node] = least + known.crossing[node]
        key = sums[node] - known.filled[node]
        heapq.heappush(heap, (sums[node], key, node))
        reached = node + 1
    limit = room - known.highest[-1]
    if limit >= 0:
        return []
    for last in range(reached):
        if sums[last] - known.filled[last] <= limit:
            cuts = []
            while last >= 0:
                cuts.append(last)
                last = before[last]
            return cuts[::-1]
    return None


def narrow_places(known: Crossings, reach: int) -> list[int]:
    """Return the nodes behind which less crosses than anywhere within `reach` nodes, of equal ones the first."""
    count = len(known.crossing)
    nodes: list[int] = []
    for node, size in enumerate(known.crossing[:-1]):
        around = known.crossing[max(0, node - reach) : min(count - 1, node + reach + 1)]
        if size <= min(around) and not (nodes and node - nodes[-1] <= reach and known.crossing[nodes[-1]] == size):
            nodes.append(node)
    return nodes


def walk(known: Crossings, candidates: Sequence[int], room: int) -> list[int]:
    """Of some places those behind which to cut, each as soon as more than `room` bytes are filled since the last."""
    cuts: list[int] = []
    since = 0
    for candidate in candidates:
        if known.filled[candidate] - since > room:
            cuts.append(candidate)
            since = known.filled[candidate]
    return cuts


def twice_by(problem: Problem, known: Crossings, cuts: Iterable[int], *, end: bool = False) -> set[int]:
    """Return what runs twice with these cuts: all but what crosses them and is held; with `end` also behind the last
    one."""
    twice: set[int] = set()
    ordered_cuts = sorted(cuts)
    index = 0
    for node in range(len(problem.names)):
        while index < len(ordered_cuts) and ordered_cuts[index] < node:
            index += 1
        crosses = index < len(ordered_cuts) and problem.last_read[node] > ordered_cuts[index]
        if not crosses and node not in known.pinned and (index < len(ordered_cuts) or end):
            twice.add(node)
    return twice


def least_work(problem: Problem, budget: int) -> float:
    """Return a bound: no plan within the budget does less work twice.

    When the backward pass begins every kept value is there, so they fit into the budget beside its first gradients;
    what of the needed values does not fit, in the best case fractions with the least work for their bytes, runs twice.
    """
    free = budget - (problem.gradients[-1] if problem.gradients else 0)
    nodes = [node for node in problem.needed if node not in problem.pinned and problem.sizes[node] > 0]
    free -= sum(problem.sizes[node] for node in problem.pinned if problem.first_need[node] >= 0)
    work = 0.0
    for node in sorted(nodes, key=lambda node: problem.works[node] / problem.sizes[node], reverse=True):
        part = min(1.0, max(0, free) / problem.sizes[node])
        work += problem.works[node] * (1 - part)
        free -= problem.sizes[node]
    return work
