"""Random numbers that MXNet has since 2.0: counts of successes, and classes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode, to_single
from graphir.converters.mxnet.importing.ranges import known
from graphir.converters.mxnet.importing.rare.random import (
    decide_numbers,
    repeated_parameters,
    stated_dtype,
    stated_size,
)
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops import random as draws
from graphir.ops.indexing import GatherElements
from graphir.ops.reduction import ReduceSum
from graphir.ops.shape import Expand, Reshape, Shape
from graphir.ops.shape_parts import Concat
from graphir.types import DType

SINGLE = DType.FLOAT32


def _successes(node: ImportNode, even: Value, chance: Value, trials: Value | None, count: int) -> Value:
    """Return how many of `count` even numbers along the first axis are below the chance, of the first `trials` of
    them."""
    hit = node.step(ew.Less(), even, chance, suffix="hit")
    if trials is not None:
        indices = node.constant(np.arange(count, dtype=np.float32).reshape(-1, *[1] * node.rank(trials)))
        hit = node.step(ew.And(), hit, node.step(ew.Less(), indices, trials), suffix="tried")
    numbers = node.cast(hit, SINGLE, suffix="ones")
    total = node.step(ReduceSum(keepdims=False), numbers, node.vector([0]), suffix="total")
    return node.emit(ew.Cast(stated_dtype(node)), total)


def import_binomial(node: ImportNode) -> Value:
    """Return how many of n trials of the chance p succeed, in the stated shape."""
    decide_numbers(node)
    trials, chance = int(node.attrs["n"]), to_single(node.attrs["p"])
    if trials < 0 or not 0 <= chance <= 1:
        node.refuse(f"n {trials} and p {chance:.9g}; MXNet gives no numbers for them")
    size = stated_size(node)
    node.charge(max(trials, 1) * prod(size), "its trials")
    even = node.step(draws.RandomUniform((trials, *size), SINGLE, low=0.0, high=1.0), suffix="even")
    return _successes(node, even, node.constant(chance, SINGLE), None, trials)


def import_sample_binomial(node: ImportNode) -> Value:
    """Return the same of numbers of trials and chances that are inputs, `shape` of them for each. The trials must be
    known."""
    limits = known(node.input(0))
    if isinstance(limits, Value):
        node.refuse("n is computed, and nothing limits how many trials there are; a constant n can be converted")
    trials, chance = repeated_parameters(node)
    count = int(np.asarray(limits).max(initial=0))
    node.charge(max(count, 1) * limits.size * prod(node.attrs["shape"] or ()), "its trials")
    trials = node.cast(trials, SINGLE, suffix="trials")
    chance = node.cast(chance, SINGLE, suffix="chance")
    shape = node.step(Concat(axis=0), node.vector([count]), node.step(Shape(), chance), suffix="all")
    zeros = node.step(Expand(), node.constant(0.0, SINGLE), shape, suffix="zeros")
    even = node.step(draws.RandomUniformLike(SINGLE, low=0.0, high=1.0), zeros, suffix="even")
    return _successes(node, even, chance, trials, count)


def import_categorical(node: ImportNode) -> Sequence[Value]:
    """Classes drawn with the chances along the last axis, `shape` of them for each row, and their log chances."""
    decide_numbers(node)
    attrs, data = node.attrs, node.input(0)
    sizes, wanted = node.sizes(data), tuple(attrs["shape"] or ())
    if not sizes:
        node.refuse(f"{data.type}, expected chances along the last axis")
    rows = node.step(Reshape(), data, node.vector([-1, sizes[-1]]), suffix="rows")
    wide = node.cast(rows, SINGLE, suffix="chances")
    logs = node.step(ew.Log(), wide, suffix="logs")
    drawn = node.step(draws.Multinomial(DType.INT64, prod(wanted)), logs, suffix="drawn")
    shape = (*sizes[:-1], *wanted) or (1,)
    result = [node.cast(node.step(Reshape(), drawn, node.vector(shape)), DType.of(attrs["dtype"]))]
    if attrs["get_prob"]:
        chances = node.step(GatherElements(axis=1), logs, drawn, suffix="log_chances")
        placed = node.step(Reshape(), chances, node.vector(shape), suffix="placed")
        result.append(node.cast(placed, data.dtype or SINGLE, suffix="in_dtype"))
    return result


IMPORTS: dict[str, ImportFunction] = {
    "_random_binomial": import_binomial,
    "_sample_binomial": import_sample_binomial,
    "_sample_categorical": import_categorical,
}
