"""Paths of steps that wait for each other, for plans in which only steps of one path share memory."""

from __future__ import annotations

from .program import Program


def colour_steps(program: Program, count: int) -> list[int]:
    """Return a colour below `count` for each step: the longest path of uncoloured steps takes the next colour, what is
    left the last. Cost: linear in steps, times `count`.
    """
    made_by = [tensor.producer for tensor in program.tensors]
    sources = [[made_by[tensor] for tensor in step.inputs if made_by[tensor] >= 0] for step in program.steps]
    colours = [-1] * len(program.steps)
    for colour in range(count - 1):
        path = _longest_path(sources, [int(given < 0) for given in colours])
        if not path:
            return [max(given, 0) if given >= 0 else colour for given in colours]
        for step in path:
            if colours[step] < 0:
                colours[step] = colour
    return [count - 1 if given < 0 else given for given in colours]


def _longest_path(sources: list[list[int]], score: list[int]) -> list[int]:
    """Return the steps of the path with the highest sum of scores; of equal ones that which begins last."""
    reward = [0] * len(sources)
    following = [-1] * len(sources)
    best = start = -1
    for step in range(len(sources) - 1, -1, -1):
        reward[step] += score[step]
        if reward[step] > max(best, 0):
            best, start = reward[step], step
        for source in sources[step]:
            if reward[step] > reward[source]:
                reward[source] = reward[step]
                following[source] = step
    path = []
    while start >= 0:
        path.append(start)
        start = following[start]
    return path
