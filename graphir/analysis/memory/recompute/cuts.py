"""Plans for networks of any length: cuts, at which all that crosses is kept, by dynamic programming.

Between two cuts everything runs once more when the backward pass comes there; behind the last cut nothing does. For a
given budget the programme finds the cuts that keep the fewest bytes, exactly on a chain. Then, as far as the budget
allows, nodes run once after all, those first that are the most work for their bytes.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from .problem import Choice, Problem, evaluate, keep_all

_LEAST_SPAN = 64
_SPANS = 4
_PRECISION = 0.005


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


def plan_by_cuts(problem: Problem, budget: int | None = None) -> Choice | None:
    """Return the plan with the least work that these cuts find within a budget in bytes, or with the least memory.

    None if no plan was found that fits. Cost: n log n in nodes, some twenty times.
    """
    everything = keep_all(problem)
    if not problem.names or (budget is not None and everything.peak <= budget):
        return everything
    known = crossings(problem)

    def tried(room: int) -> Choice | None:
        cuts = cut(problem, known, room)
        return None if cuts is None else evaluate(problem, twice_by(problem, known, cuts))

    if budget is None:
        best = least(tried, everything.peak)
        return everything if best is None else min(best, everything, key=lambda choice: choice.peak)
    fitting = None
    room = budget
    for _ in range(8):  # the programme's own sum leaves out what only lives while it is computed
        fitting = tried(room)
        if fitting is None or fitting.peak <= budget:
            break
        room -= max(fitting.peak - budget, budget >> 8)
    if fitting is None or fitting.peak > budget:
        fitting = least(tried, budget)
    if fitting is None or fitting.peak > budget:
        return None
    return keep_more(problem, fitting, lambda choice: choice.peak <= budget)


def least(tried: Callable[[int], Choice | None], above: int) -> Choice | None:
    """Return the plan with the lowest peak: the smallest budget that has cuts, by halving."""
    low, high, best = 0, above, None
    while high - low > max(1, int(high * _PRECISION)):
        middle = (low + high) // 2
        choice = tried(middle)
        if choice is None:
            low = middle
        else:
            high = middle
            if best is None or (choice.peak, choice.work) < (best.peak, best.work):
                best = choice
    return best


def keep_more(problem: Problem, choice: Choice, fits: Callable[[Choice], bool]) -> Choice:
    """Let as many nodes as fit run once only, those first that are most work for their bytes."""
    order = sorted(choice.twice, key=lambda node: problem.works[node] / max(1, problem.sizes[node]), reverse=True)
    low, high = 0, len(order)
    best = choice
    while low < high:
        middle = (low + high + 1) // 2
        candidate = evaluate(problem, order[middle:])
        if fits(candidate):
            low, best = middle, candidate
        else:
            high = middle - 1
    return best


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
