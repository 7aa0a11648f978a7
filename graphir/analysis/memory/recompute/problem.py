"""Recomputation as a problem of its own: nodes in order, what each holds, costs and needs, and what a choice takes.

The model. Nodes run forward in order, then backward in reverse. A choice names the nodes that run twice. A backward
step reads the values of the forward pass, or if its node runs twice those of the second run, which reads second values
where there are some. So whatever a node that runs once needs for its backward step is kept, and so is what a second run
reads from a node that runs once. Second values are there from the backward step that needs them first to that of their
own node; those that no backward step reads take no memory, as they are used up at once. Each node runs at most twice.
This is what MXNet's mirroring does, and torch.utils.checkpoint around segments.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from graphir.errors import GraphirError


@dataclass(frozen=True)
class Problem:
    """Nodes in an order in which inputs come first.

    `sizes`: the bytes of each node's value; `works`: what computing it costs, in any unit; `inputs`: the nodes whose
    values it reads; `needs`: those whose values its backward step reads; `pinned`: nodes that cannot run twice.
    `outputs` are held to the end of the forward pass. `results`: the bytes of a value's gradient, by default its own.
    """

    names: Sequence[str]
    sizes: Sequence[int]
    works: Sequence[int]
    inputs: Sequence[Sequence[int]]
    needs: Sequence[Sequence[int]]
    pinned: frozenset[int] = frozenset()
    outputs: frozenset[int] = frozenset()
    results: Sequence[int] = ()
    first_need: list[int] = field(init=False)
    last_read: list[int] = field(init=False)
    gradients: list[int] = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.names)
        first = [-1] * count  # the first backward step, the highest number, that reads the value
        last = list(range(count))
        for node in range(count):
            for read in self.needs[node]:
                first[read] = max(first[read], node)
            for read in self.inputs[node]:
                last[read] = max(last[read], node)
        for node in self.outputs:
            last[node] = count
        object.__setattr__(self, "first_need", first)
        object.__setattr__(self, "last_read", last)
        object.__setattr__(self, "gradients", _gradients(self.results or self.sizes, last, count))

    @property
    def needed(self) -> list[int]:
        """The nodes whose values some backward step reads."""
        return [node for node, step in enumerate(self.first_need) if step >= 0]


def _gradients(sizes: Sequence[int], last: Sequence[int], count: int) -> list[int]:
    """Return the bytes of gradients at each backward step: a value's is there from its last reader's step to its
    own."""
    change = [0] * (count + 1)
    for node, size in enumerate(sizes):
        change[node] += size
        change[min(last[node], count - 1) + 1] -= size
    return list(accumulate(change))[:count]


@dataclass(frozen=True)
class RecomputeChoice:
    """The nodes that run twice, and what this takes in the model: peak bytes, the work done twice."""

    twice: frozenset[int]
    peak: int
    work: int


def keep_all(problem: Problem) -> RecomputeChoice:
    """Return the choice of frameworks by default: nothing runs twice."""
    return evaluate(problem, ())


def evaluate(problem: Problem, nodes: Iterable[int]) -> RecomputeChoice:
    """Return what it takes that these nodes run twice; pinned ones among them do not. Linear in nodes and inputs."""
    count = len(problem.names)
    twice = frozenset(nodes) - problem.pinned
    kept = set()
    starts = [node if node in twice else -1 for node in range(count)]
    for node in range(count - 1, -1, -1):
        is_repeated = node in twice
        for read in problem.needs[node]:
            if not is_repeated or read not in twice:
                kept.add(read)
            else:
                starts[read] = max(starts[read], node)
        if is_repeated:
            for read in problem.inputs[node]:
                if read not in twice:
                    kept.add(read)
                else:
                    starts[read] = max(starts[read], starts[node])
    forward, backward = [0] * (count + 1), [0] * (count + 1)
    for node, size in enumerate(problem.sizes):
        forward[node] += size
        if node in kept:
            backward[node] += size
        else:
            forward[min(problem.last_read[node], count - 1) + 1] -= size
        if node in twice and problem.first_need[node] >= 0:
            backward[node] += size
            backward[starts[node] + 1] -= size
    going = max(accumulate(forward[:count]), default=0)
    totals = accumulate(backward[:count])
    back = max((bytes_ + gradient for bytes_, gradient in zip(totals, problem.gradients, strict=True)), default=0)
    return RecomputeChoice(twice, max(going, back), sum(problem.works[node] for node in twice))


def chain(sizes: Sequence[int], works: Sequence[int] | None = None) -> Problem:
    """Return a chain of layers, each of whose backward steps reads what the layer read and made.

    >>> evaluate(chain([10] * 9), {0, 1, 3, 4}).peak < keep_all(chain([10] * 9)).peak
    True
    """
    count = len(sizes)
    before = [[node - 1] if node else [] for node in range(count)]
    names = [f"layer{node}" for node in range(count)]
    return Problem(names, list(sizes), list(works or [1] * count), before,
                   [[*read, node] for node, read in enumerate(before)])  # fmt: skip


class NoPlan(GraphirError):
    """No plan was found that fits the budget."""


@dataclass(frozen=True)
class MeasuredPlan:
    """Nodes that are marked to run twice, by the source's numbers, and what the whole plan then takes: bytes, work done
    twice, nodes that run twice.
    """

    marks: frozenset[int]
    total: int
    work: int
    nodes: int


@dataclass(frozen=True)
class Found:
    """The best plan, what is taken without one, the work of the forward pass, the best choice of the model.

    `bound` is proved for the model: bytes that no choice goes below, or for a budget work that none can save; None
    where nothing is. `is_optimal` says that the model's choice reaches it. `tried` is how many plans were measured.
    `segments` are the names of nodes that run twice, those together between two kept values.
    """

    best: MeasuredPlan
    without: MeasuredPlan
    forward_work: int
    model: RecomputeChoice
    bound: float | None
    is_optimal: bool
    tried: int
    segments: tuple[tuple[str, ...], ...]
