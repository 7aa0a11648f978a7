"""Plans to recompute: the optimum by trying everything, programmes against each other, bounds, and long chains."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest

from graphir.analysis.memory.recompute import integer
from graphir.analysis.memory.recompute.cuts import crossings, cut, least_work, narrow_places, twice_by, walk
from graphir.analysis.memory.recompute.problem import Problem, RecomputeChoice, chain, evaluate, keep_all
from graphir.errors import GraphirError
from tests.growth import is_near_linear

MIB = 1 << 20
LONG = 40_000


def drawn(seed: int) -> Problem:
    """A small graph with skips, needs, pinned nodes and sizes at random."""
    draw = random.Random(seed)
    count = draw.randrange(2, 9)
    inputs = [
        sorted({max(0, node - 1), *([draw.randrange(node)] if draw.random() < 0.3 else [])}) if node else []
        for node in range(count)
    ]
    needs = [
        sorted({*(inputs[node] if draw.random() < 0.7 else []), *([node] if draw.random() < 0.6 else [])})
        for node in range(count)
    ]
    pinned = frozenset(node for node in range(count) if draw.random() < 0.1)
    numbers = [[draw.randrange(1, 9) for _ in range(count)] for _ in range(2)]
    return Problem([str(node) for node in range(count)], numbers[0], numbers[1], inputs, needs, pinned,
                   frozenset((count - 1,)))  # fmt: skip


def every_choice(problem: Problem) -> list[RecomputeChoice]:
    """All sets of nodes that run twice."""
    count = len(problem.names)
    return [
        evaluate(problem, [node for node in range(count) if taken[node]])
        for taken in itertools.product((False, True), repeat=count)
    ]


@pytest.mark.parametrize("seed", range(40))
def test_the_optimum_is_that_of_trying_everything(seed: int) -> None:
    problem = drawn(seed)
    choices = every_choice(problem)
    least = min(choice.peak for choice in choices)
    found = integer.solve(problem, None, 30.0)
    assert found is not None
    assert (found.choice.peak, found.is_optimal) == (least, True)
    assert found.bound == pytest.approx(least, rel=1e-6)
    for budget in {least, (least + keep_all(problem).peak) // 2}:
        work = min(choice.work for choice in choices if choice.peak <= budget)
        cheapest = integer.solve(problem, budget, 30.0)
        assert cheapest is not None
        assert (cheapest.choice.work, cheapest.choice.peak <= budget) == (work, True)
        assert least_work(problem, budget) <= work + 1e-9
    assert integer.solve(problem, least - 1, 30.0) is None


def test_too_large_for_an_exact_plan() -> None:
    with pytest.raises(GraphirError, match="are too many for an exact plan"):
        integer.solve(chain([1] * (integer.LARGEST + 1)), None, 1.0)


def test_a_solver_out_of_time_says_how_far_it_is() -> None:
    problem = chain([MIB] * 60)
    found = integer.solve(problem, None, 3.0)
    assert found is None or found.bound <= found.choice.peak
    assert found is None or found.is_optimal or found.bound < found.choice.peak


def test_the_cuts_of_a_long_chain_are_found_in_near_linear_time() -> None:
    problems = {count: chain([MIB] * count) for count in (LONG // 10, LONG)}
    assert is_near_linear(lambda count: cut(problems[count], crossings(problems[count]), count * MIB // 3), *problems)
    problem = problems[LONG]
    cuts = cut(problem, crossings(problem), LONG * MIB // 3)
    assert cuts is not None
    planned = evaluate(problem, twice_by(problem, crossings(problem), cuts))
    assert planned.peak <= LONG * MIB // 2 < keep_all(problem).peak
    assert planned.work <= LONG
    assert least_work(problem, LONG * MIB // 3) == pytest.approx(LONG * 2 / 3, rel=0.01)


def test_what_runs_once_keeps_what_its_backward_step_reads() -> None:
    problem = chain([1, 10, 100, 1000])
    assert keep_all(problem).peak == 1111 + 1100  # the values, and the gradients of the last two
    assert evaluate(problem, {0}).peak == keep_all(problem).peak  # its reader runs once, and reads the first value
    assert evaluate(problem, {0, 1}).peak == keep_all(problem).peak - 1


def test_pinned_nodes_run_once() -> None:
    problem = replace(chain([1] * 9), pinned=frozenset((4,)))
    assert 4 not in evaluate(problem, range(9)).twice


def test_places_for_cuts() -> None:
    sizes = [8, 8, 1, 8, 8, 1, 8, 8, 1, 8]
    problem = Problem([""] * 10, sizes, [1] * 10, [[node - 1] if node else [] for node in range(10)],
                      [[node] for node in range(10)])  # fmt: skip
    known = crossings(problem)
    assert narrow_places(known, 1) == [0, 2, 5, 8]
    assert walk(known, [2, 5, 8], 17) == [5]
    assert cut(problem, known, 0) is None
    assert cut(problem, known, 10_000) == []
