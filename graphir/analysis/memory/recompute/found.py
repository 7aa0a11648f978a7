"""What a search for a plan found."""

from __future__ import annotations

from dataclasses import dataclass

from graphir.errors import GraphirError

from .problem import Choice


class NoPlan(GraphirError):
    """No plan was found that fits the budget."""


@dataclass(frozen=True)
class Measured:
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

    best: Measured
    without: Measured
    forward_work: int
    model: Choice
    bound: float | None
    is_optimal: bool
    tried: int
    segments: tuple[tuple[str, ...], ...]
