"""A softmax that magnifies rounding: of so many classes that adding them up costs digits, or of coarse numbers.

A kernel that adds a hundred thousand exponentials one after the other rounds each time, and numbers that are about
alike are rounded the same way: what it loses is in every run of it alike, so no moved input shows it as a floor. But it
can be computed: the same softmax of the very operand in float64. Where that is what the other model has, up to the
usual limits, the sum alone was rounded.

Numbers of float16 or bfloat16 that are some hundreds are whole tenths apart, and a softmax makes factors of that. Where
the operands differ by no more than their rounding explains, and each model has the softmax of its own, the head adds
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.graph import Graph, Value
from graphir.ops.activation import LogSoftmax, Softmax
from graphir.ops.traits import Rounding
from graphir.verification.pairs.sides import by_name
from graphir.verification.running.bench import Asked, Bench
from graphir.verification.verdict import Verdict

from .compare import Comparison, relative_change

Array = NDArray[Any]
# Half a unit in the last place of float32: what one addition loses at most. A sum of n loses n - 1 of them at most.
LOST_BY_ADDING = 2.0**-24
# Below so many terms that bound is within what is always allowed (5e-6), and nothing has to be excused.
FEWEST = 84


@dataclass(frozen=True)
class Sum:
    """A softmax that makes an output: its operand by the name to ask for it, and the axis that it adds along."""

    operand: str
    axis: int
    logarithm: bool

    def exactly(self, operand: Array) -> Array:
        """The softmax in float64."""
        numbers = operand.astype(np.float64)
        numbers -= numbers.max(axis=self.axis, keepdims=True)
        total = np.exp(numbers).sum(axis=self.axis, keepdims=True)
        found: Array = numbers - np.log(total) if self.logarithm else np.exp(numbers) / total
        return found


def excuse_long_sums(
    bench: Bench,
    outputs: Sequence[Asked],
    graded: Sequence[Comparison],
    results: tuple[Mapping[str, Array], Mapping[str, Array]],
    graphs: tuple[Graph | None, Graph | None],
) -> list[Comparison]:
    """The comparisons of outputs, those that differ by no more than what adding up a softmax of many terms lost.

    `results` are the reference's and the candidate's by their own names, `graphs` the graphs of both, where there are
    any. An output passes if it does with float64 sums of the operands that both models have themselves, and each
    model's own is as close to that as adding so many terms one after the other is at worst. Its limit is then what was
    lost and what is allowed anyway.
    """
    found = []
    for one, result in zip(outputs, graded, strict=True):
        again = None
        if not result.verdict.passes and not bench.limits.stated:
            again = _of_coarse_operands(bench, one, result, results, graphs)
        if again is None and result.verdict.differs and not bench.limits.stated:
            again = _with_exact_sums(bench, one, result, results, graphs)
        found.append(result if again is None else again)
    return found


def _of_coarse_operands(
    bench: Bench,
    one: Asked,
    result: Comparison,
    results: tuple[Mapping[str, Array], Mapping[str, Array]],
    graphs: tuple[Graph | None, Graph | None],
) -> Comparison | None:
    """The comparison where both models have the softmax of their own operands, which are coarse and differ by rounding
    alone; None where that is not so. Softmaxes that differ themselves are no excuse for each other."""
    left = sum_behind(graphs[0], one.source, set(bench.reference.values()))
    right = sum_behind(graphs[1], one.name, set(bench.candidate.structure.producers))
    if left is None or right is None or not bench.limits.step_of(left.operand):
        return None
    operands = _operand(bench, left, 0), _operand(bench, right, 1)
    rank = operands[0].ndim
    alike = (left.axis % rank, left.logarithm) == (right.axis % rank, right.logarithm)
    if operands[0].shape != operands[1].shape or not alike:
        return None
    asked = Asked(left.operand, left.operand, right.operand)
    (before,) = bench.compare([asked], {left.operand: operands[0]}, {right.operand: operands[1]})
    if not before.verdict.passes:
        return None
    step = bench.limits.step_of(one.source)
    for made, operand, array in zip(
        (left, right), operands, (results[0][one.source], results[1][one.name]), strict=True
    ):
        exact = made.exactly(operand).reshape(array.shape)
        if relative_change(exact, array.astype(np.float64)) > bench.limits.rounding(step):
            return None
    note = f"its operands differ by {before.relative:.2g} of their scale, which is rounding, and it magnifies that"
    return replace(result, limit=max(result.limit, result.relative), verdict=Verdict.NOISE, note=note, place="")


def _with_exact_sums(
    bench: Bench,
    one: Asked,
    result: Comparison,
    results: tuple[Mapping[str, Array], Mapping[str, Array]],
    graphs: tuple[Graph | None, Graph | None],
) -> Comparison | None:
    """The comparison with float64 sums where these agree; None where they do not, or there are none."""
    known = set(bench.reference.values())
    left = sum_behind(graphs[0], one.source, known)
    right = sum_behind(graphs[1], one.name, set(bench.candidate.structure.producers))
    expected, found, said = dict(results[0]), dict(results[1]), []
    for side, made in enumerate((left, right)):
        if made is None:
            continue
        array = (expected, found)[side][(one.source, one.name)[side]]
        operand = _operand(bench, made, side)
        count = operand.shape[made.axis]
        exact = made.exactly(operand).reshape(array.shape).astype(array.dtype)
        change = relative_change(exact, array)
        if count < FEWEST or not 0 < change <= count * LOST_BY_ADDING:
            continue
        who = ("the reference", "the candidate")[side]
        said.append((change, f"{who} loses {change:.2g} by adding up {count} numbers"))
        (expected, found)[side][(one.source, one.name)[side]] = exact
    if not said:
        return None
    (again,) = bench.compare([one], expected, found)
    if not again.verdict.passes:
        return None
    limit = again.limit + sum(change for change, _ in said)
    lost = " and ".join(text for _, text in said)
    note = f"{lost} of a softmax; with float64 sums they differ by {again.relative:.2g}"
    return replace(result, limit=limit, floor=again.floor, verdict=Verdict.NOISE, note=note, place="")


def sum_behind(graph: Graph | None, output: str, known: set[str]) -> Sum | None:
    """The softmax that makes an output without further computation, if its operand is among the `known` names."""
    value = None if graph is None else by_name(graph).get(output)
    while value is not None and value.producer is not None and value.producer.op.rounding is Rounding.VIEWS:
        value = value.producer.inputs[0]
    if value is None or value.producer is None or not isinstance(value.producer.op, Softmax | LogSoftmax):
        return None
    op, operand = value.producer.op, value.producer.inputs[0]
    name = None if operand is None else _name(operand, known)
    return None if name is None else Sum(name, op.axis, isinstance(op, LogSoftmax))


def _name(value: Value, known: set[str]) -> str | None:
    return next((name for name in (value.name, *value.sources) if name in known), None)


def _operand(bench: Bench, made: Sum, side: int) -> Array:
    if side:
        return bench.candidate.run(bench.feeds, [made.operand])[made.operand]
    return dict(bench.reference.stream(bench.feeds, [made.operand]))[made.operand]


__all__ = ["Sum", "excuse_long_sums", "sum_behind"]
