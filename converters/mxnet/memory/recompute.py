"""Plans to recompute for MXNet: candidates from the model of recomputation, each measured by MXNet's own plan."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from graphir.analysis.memory.blocks import plan_blocks
from graphir.analysis.memory.program import Phase
from graphir.analysis.memory.recompute import integer
from graphir.analysis.memory.recompute.cuts import crossings, cut, least_work, narrow_places, twice_by, walk
from graphir.analysis.memory.recompute.problem import (
    Found,
    MeasuredPlan,
    NoPlan,
    Problem,
    RecomputeChoice,
    evaluate,
    keep_all,
)
from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph
from graphir.converters.mxnet.memory.entries import work_of
from graphir.converters.mxnet.memory.gradients import COPIED, NEVER_MIRRORED, PASSED, ZEROS, gradient_of
from graphir.converters.mxnet.memory.plan import FORCED, Planned, Switches
from graphir.converters.mxnet.memory.thresholds import STAGE, Walk, search
from graphir.converters.mxnet.schema.operators import node_signature, typed_attributes

SECONDS = 60.0
_FOR_SOLVER = 0.3
_GRID = 24
_FINE = 8
_REACHES = (3, 8, 20)
_REFINEMENTS = 40
_STARTS = 3
_MIDDLING = 2_000
_LARGE = 20_000
_SMALL = 16  # statistics of a normalization are no more than this part of it, and count nothing


class Search:
    """The plans of one symbol under one set of switches, each measured once."""

    def __init__(self, planned: Planned, switches: Switches) -> None:
        self.planned, self.switches = planned, switches
        self.numbers, self.problem = problem_of(planned, switches.sharing.element_bytes)
        self.known: dict[frozenset[int], MeasuredPlan] = {}
        self.forward_work = sum(self.problem.works)
        self.deadline = float("inf")

    def find(self, budget: int | None = None, seconds: float = SECONDS) -> Found:
        """Return the plan with the least work within a budget in bytes, or with the least memory.

        Of equal memory the one with less work. When `seconds` are over, the best so far counts. Raises NoPlan if none
        fits.
        """
        self.deadline = time.monotonic() + seconds
        without = self.measure(())
        model, bound, is_optimal = keep_all(self.problem), None, False
        if budget is None or without.total > budget:
            solved = self._exact(budget, seconds * _FOR_SOLVER)
            if solved is not None:
                model, bound, is_optimal = solved.choice, solved.bound, solved.is_optimal
                self.measure(model.twice)
            if budget is not None:
                bound = max(bound or 0.0, least_work(self.problem, budget))
            self._by_stages()
            self._measure(self._candidates())
            self._measure(self._around_best())
            for start in self._starts(budget):
                self._refine(start, budget)
        best = self.best(budget)
        if best is None:
            least = self.best(None)
            assert least is not None
            request, result = (f"{size} bytes ({size / 2**20:,.1f} MiB)" for size in (budget or 0, least.total))
            raise NoPlan(
                f"no plan was found that trains in {request}; the least that was found is {result}, "
                f"with {least.nodes} nodes run twice. Give a larger budget, or a smaller batch"
            )
        return Found(best, without, self.forward_work, model, bound, is_optimal, len(self.known),
                     self.segments(best.marks))  # fmt: skip

    def _measure(self, choices: Iterable[RecomputeChoice]) -> None:
        for choice in choices:
            if self._is_late():
                break
            self.measure(choice.twice)

    def _is_late(self) -> bool:
        return time.monotonic() > self.deadline

    def measure(self, recomputed: Iterable[int]) -> MeasuredPlan:
        """Return what MXNet's plan takes with nodes of the problem recomputed."""
        marks = frozenset(self.numbers[node] for node in recomputed)
        if marks not in self.known:
            program = self.planned.program(self.switches, marks)
            twice = [step for step in program.steps if step.phase is Phase.RECOMPUTED]
            total = plan_blocks(program, self.switches.sharing).total
            self.known[marks] = MeasuredPlan(marks, total, sum(step.work for step in twice), len(twice))
        return self.known[marks]

    def best(self, budget: int | None) -> MeasuredPlan | None:
        """Return the best plan so far."""
        if budget is None:
            return min(self.known.values(), key=lambda plan: (plan.total, plan.work, plan.nodes), default=None)
        fitting = [plan for plan in self.known.values() if plan.total <= budget]
        return min(fitting, key=lambda plan: (plan.work, plan.total), default=None)

    def segments(self, marks: frozenset[int]) -> tuple[tuple[str, ...], ...]:
        """Return the names of the nodes that run twice, those together that lie together in the order of execution."""
        result: list[list[str]] = [[]]
        for node, number in enumerate(self.numbers):
            if number in marks:
                result[-1].append(self.problem.names[node])
            elif result[-1] and self.problem.first_need[node] >= 0:
                result.append([])
        return tuple(tuple(segment) for segment in result if segment)

    def _exact(self, budget: int | None, seconds: float) -> integer.Solved | None:
        if len(self.problem.names) > integer.LARGEST or seconds <= 0:
            return None
        try:
            return integer.solve(self.problem, budget, seconds)
        except integer.MissingSolver:
            return None

    def _candidates(self) -> Iterator[RecomputeChoice]:
        """Plans by cuts for budgets of the model between all and nothing, and by walks between narrow places."""
        count = _GRID if len(self.problem.names) <= _MIDDLING else _FINE
        top = keep_all(self.problem).peak
        yield from self._cuts(top * (1 - place / count) ** 2 for place in range(1, count))
        known = crossings(self.problem)
        for reach in _REACHES if len(self.problem.names) <= _LARGE else _REACHES[-1:]:
            places = narrow_places(known, reach)
            for place in range(count):
                cuts = walk(known, places, int(known.filled[-1] / 3 * (place / count) ** 2))
                yield evaluate(self.problem, twice_by(self.problem, known, cuts, end=True))

    def _around_best(self) -> Iterator[RecomputeChoice]:
        """Plans by cuts for budgets close to the best so far."""
        best = self.best(None)
        if best is None or not best.marks:
            return iter(())
        places = {number: node for node, number in enumerate(self.numbers)}
        marked = {places[number] for number in best.marks if number in places}
        peak = evaluate(self.problem, marked).peak
        return self._cuts(peak * (0.8 + 0.4 * place / _FINE) for place in range(_FINE + 1))

    def _cuts(self, budgets: Iterable[float]) -> Iterator[RecomputeChoice]:
        known = crossings(self.problem)
        for budget in budgets:
            cuts = cut(self.problem, known, int(budget))
            if cuts is not None:
                yield evaluate(self.problem, twice_by(self.problem, known, cuts))
                yield evaluate(self.problem, twice_by(self.problem, known, cuts, end=True))

    def _by_stages(self) -> None:
        """The plans that memonger would try, where the symbol has stages marked."""
        if not any(STAGE in node.annotations for node in self.planned.graph.nodes):
            return
        places = {number: node for node, number in enumerate(self.numbers)}
        walk = Walk(self.planned.graph, self.planned.types)
        search(walk, lambda marks: self.measure(
            places[number] for number, is_forced in marks.forced.items() if is_forced and number in places
        ).total >> 20)  # fmt: skip

    def _starts(self, budget: int | None) -> list[MeasuredPlan]:
        """Plans to refine: with the least memory, and within a budget some of the least work and some in between."""
        least = self.best(None)
        if budget is None or least is None:
            return [] if least is None else [least]
        fitting = sorted((plan for plan in self.known.values() if plan.total <= budget), key=lambda plan: plan.work)
        return list(dict.fromkeys([*fitting[:_STARTS], *fitting[:: max(1, len(fitting) // _STARTS)], least]))

    def _refine(self, best: MeasuredPlan, budget: int | None) -> None:
        """Let nodes of a plan run once where that takes no more memory, those first that are most work for their bytes.
        """
        limit = best.total if budget is None else budget
        places = {number: node for node, number in enumerate(self.numbers)}
        works, sizes = self.problem.works, self.problem.sizes

        def fits(nodes: set[int]) -> bool:
            return not self._is_late() and self.measure(nodes).total <= limit

        order = sorted((places[number] for number in best.marks), key=lambda node: works[node] / max(1, sizes[node]),
                       reverse=True)  # fmt: skip
        marked = _kept_without_cost(order, fits)
        late = sorted(marked, reverse=True)  # what the backward pass reaches first is freed first
        _kept_without_cost(late, fits)


def _kept_without_cost(order: list[int], fits: Callable[[set[int]], bool]) -> set[int]:
    """Return what of `order` still runs twice when runs of it, halved where they do not fit, run once."""
    marked = set(order)
    pending = [order]
    tries = 0
    while pending and tries < _REFINEMENTS:
        run = pending.pop(0)
        if not run:
            continue
        tries += 1
        if fits(marked - set(run)):
            marked -= set(run)
        elif len(run) > 1:
            middle = len(run) // 2
            pending += [run[:middle], run[middle:]]
    return marked


def problem_of(planned: Planned, element_bytes: int | None) -> tuple[list[int], Problem]:
    """Return the symbol's operators as a problem of recomputation, and their numbers in the symbol."""
    graph, types = planned.graph, planned.types
    numbers = [number for number, node in enumerate(graph.nodes) if node.op != VARIABLE]
    places = {number: node for node, number in enumerate(numbers)}
    reads = [_reads(graph, number) for number in numbers]
    def nbytes(number: int, slot: int) -> int:
        sizes, dtype = types[number][slot]
        elements = 1
        for size in sizes:
            elements *= size
        return elements * element_bytes if element_bytes else (elements * dtype.bits + 7) // 8

    works = []
    for number in numbers:
        operands = [types[source][slot] for source, slot in graph.nodes[number].inputs]
        works.append(work_of(graph.nodes[number], types[number], operands))
    whole, needs = [], []
    for number, entries in zip(numbers, reads, strict=True):
        slots = {slot for source, slot in entries if source == number and slot}
        hidden = [nbytes(number, slot) for slot in slots]
        whole.append(nbytes(number, 0) + sum(hidden))
        counted = {places[source] for source, slot in entries if source in places and (source != number or not slot)}
        if sum(hidden) * _SMALL > nbytes(number, 0):
            counted.add(places[number])
        needs.append(sorted(counted))
    problem = Problem(
        names=[graph.nodes[number].name for number in numbers],
        sizes=whole,
        works=works,
        inputs=[sorted({places[source] for source, _ in graph.nodes[number].inputs if source in places})
                for number in numbers],
        needs=needs,
        pinned=frozenset(places[number] for number in numbers if graph.nodes[number].op in NEVER_MIRRORED),
        outputs=frozenset(places[number] for number, _ in graph.heads if number in places),
        results=[nbytes(number, 0) for number in numbers],
    )  # fmt: skip
    return numbers, problem


def _reads(graph: NNVMGraph, number: int) -> list[tuple[int, int]]:
    """Return the values that the gradient of a node reads."""
    record = graph.nodes[number]
    gradient = gradient_of(record.op, typed_attributes(record))
    if gradient is None or gradient in (COPIED, PASSED) or not record.inputs:
        return []
    if gradient is ZEROS:
        return list(record.inputs)
    count = len(node_signature(record).outputs)
    result: list[tuple[int, int]] = []
    for token in gradient.reads.replace("|", " ").split():
        kind, which = token[0], token[1:]
        if kind == "i":
            result += record.inputs if which == "*" else record.inputs[int(which) : int(which) + 1]
        elif kind == "o":
            slots = range(count) if which == "*" else (int(which),)
            result += [(number, slot) for slot in slots]
    return result


def with_marks(graph: NNVMGraph, forced: Mapping[int, bool]) -> NNVMGraph:
    """Return the graph with `__force_mirroring__` set as given on some nodes; the others keep what they state."""
    nodes = [
        replace(node, annotations={**node.annotations, FORCED: str(forced[number])}) if number in forced else node
        for number, node in enumerate(graph.nodes)
    ]
    return NNVMGraph(nodes, graph.heads, graph.version, graph.np_shape, graph.upgrades)
