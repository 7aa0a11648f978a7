"""Samples of distributions without a closed inverse, drawn by rejection from a fixed number of tries.

Every element draws all its tries at once and takes the first that is accepted, so that nothing loops. That none of them
is accepted happens to fewer than one element in 10^11. Sources: Marsaglia and Tsang, A simple method for generating
gamma variables (2000); Hormann, The transformed rejection method for generating Poisson random variables (1993), PTRS.
"""

from __future__ import annotations

from graphir.converters.kernel.maker import NodeMaker
from graphir.converters.mxnet.importing.context import ImportNode
from graphir.graph import Value
from graphir.ops import elementwise as ir
from graphir.ops import random as draws
from graphir.ops.indexing import GatherElements
from graphir.ops.reduction import ArgMax, ReduceSum
from graphir.ops.selection import CumSum
from graphir.ops.shape import Expand, Shape, Squeeze
from graphir.ops.shape_parts import Concat
from graphir.ops.special_functions import LogGamma
from graphir.types import DType

GAMMA_TRIES = 12  # the least accepting shape, 1, accepts 95 %
POISSON_TRIES = 20  # the least accepting rate, 10, accepts 80 %
ARRIVALS = 64  # at a rate of 12 the chance of more is below 10^-20
FEW, MANY = 12.0, 10.0  # rates up to FEW are counted, from MANY on rejection works


def _repeated(steps: NodeMaker, value: Value, count: int) -> Value:
    """Return the value `count` times along a new first axis."""
    node = steps.node
    shape = node.step(Concat(axis=0), node.vector([count]), node.step(Shape(), value), suffix="tries")
    return node.step(Expand(), value, shape)


def _uniform(steps: NodeMaker, like: Value) -> Value:
    """Numbers in (0, 1), in the shape of another value."""
    return steps.node.step(draws.RandomUniformLike(steps.dtype, low=1e-9, high=1 - 1e-9), like, suffix="uniform")


def _first_accepted(steps: NodeMaker, numbers: Value, accepted: Value) -> Value:
    """Of the tries along axis 0 the first that is accepted."""
    node = steps.node
    index = node.step(ArgMax(axis=0), node.cast(accepted, DType.INT32), suffix="first")
    return node.step(Squeeze(), node.step(GatherElements(axis=0), numbers, index), node.vector([0]))


def gamma(node: ImportNode, shape: Value) -> Value:
    """Return a sample of the gamma distribution of scale 1 for each element of `shape` (float64); 0 for a shape of 0.

    A shape below 1 is that of one more, times a uniform number to the power of its reciprocal.
    """
    steps = NodeMaker(node, DType.FLOAT64)
    low = steps(ir.Less(), shape, 1.0)
    reduced = steps.sub(steps(ir.Where(), low, steps.add(shape, 1.0), shape), 1 / 3)
    tries = _repeated(steps, reduced, GAMMA_TRIES)
    normal = node.step(draws.RandomNormalLike(DType.FLOAT64), tries, suffix="normal")
    slope = steps.div(1 / 3, node.step(ir.Sqrt(), tries))
    base = steps.add(steps.mul(slope, normal), 1.0)
    cube = steps.mul(steps.mul(base, base), base)
    positive = node.step(ir.Greater(), cube, steps.number(0.0), suffix="positive")
    safe = steps(ir.Where(), positive, cube, 1.0)
    bound = steps.add(steps.mul(tries, steps.sub(steps.add(steps(ir.Log(), safe), 1.0), safe)),
                      steps.mul(steps.mul(normal, normal), 0.5))  # fmt: skip
    under = steps(ir.Less(), steps(ir.Log(), _uniform(steps, tries)), bound)
    result = _first_accepted(steps, safe, node.step(ir.And(), positive, under))
    result = steps.mul(result, reduced)
    smaller = steps.mul(result, node.step(ir.Exp(), steps.div(steps(ir.Log(), _uniform(steps, shape)), shape)))
    return steps(ir.Where(), low, smaller, result)


def _few(steps: NodeMaker, rate: Value) -> Value:
    """Return how many arrivals, an exponential time apart, come before the time `rate`."""
    node = steps.node
    apart = node.step(ir.Neg(), steps(ir.Log(), _uniform(steps, _repeated(steps, rate, ARRIVALS))))
    times = node.step(CumSum(), apart, node.constant(0, DType.INT64), suffix="times")
    before = node.cast(node.step(ir.LessOrEqual(), times, rate), DType.FLOAT64, suffix="before")
    return node.step(ReduceSum(keepdims=False), before, node.vector([0]), suffix="arrivals")


def _many(steps: NodeMaker, rate: Value) -> Value:
    """PTRS: a transformed uniform number, accepted with the ratio of the densities."""
    node = steps.node
    tries = _repeated(steps, rate, POISSON_TRIES)
    b = steps.add(steps.mul(node.step(ir.Sqrt(), tries), 2.53), 0.931)
    a = steps.sub(steps.mul(b, 0.02483), 0.059)
    inverse = steps.add(steps.div(1.1328, steps.sub(b, 3.4)), 1.1239)
    limit = steps.sub(0.9277, steps.div(3.6224, steps.sub(b, 2.0)))
    u = steps.sub(_uniform(steps, tries), 0.5)
    v = _uniform(steps, tries)
    us = steps.sub(0.5, steps(ir.Abs(), u))
    factor = steps.add(steps.div(steps.mul(a, 2.0), us), b)
    count = steps(ir.Floor(), steps.add(steps.add(steps.mul(factor, u), tries), 0.43))
    inside = node.step(ir.And(), node.step(ir.GreaterOrEqual(), us, steps.number(0.07)),
                       node.step(ir.LessOrEqual(), v, limit), suffix="inside")  # fmt: skip
    below = steps(ir.Less(), count, 0.0)
    steep = node.step(ir.And(), steps(ir.Less(), us, 0.013), steps(ir.Less(), us, v))
    outside = node.step(ir.Or(), below, steep, suffix="outside")
    safe = steps(ir.Max(), count, 0.0)
    left = steps.add(steps(ir.Log(), v), steps(ir.Log(), inverse))
    left = steps.sub(left, steps(ir.Log(), steps.add(steps.div(a, steps.mul(us, us)), b)))
    right = steps.sub(steps.mul(safe, steps(ir.Log(), tries)), tries)
    right = steps.sub(right, steps(LogGamma(), steps.add(safe, 1.0)))
    under = node.step(ir.And(), node.step(ir.Not(), outside), node.step(ir.LessOrEqual(), left, right), suffix="under")
    return _first_accepted(steps, safe, node.step(ir.Or(), inside, under, suffix="accepted"))


def poisson(node: ImportNode, rate: Value, *, known: float | None = None) -> Value:
    """Return a count of Poisson's distribution for each element of `rate` (float64); `known` says the rate of all of
    them."""
    steps = NodeMaker(node, DType.FLOAT64)
    if known is not None:
        return _few(steps, rate) if known <= FEW else _many(steps, rate)
    few = _few(steps, steps(ir.Min(), rate, FEW))
    return steps(ir.Where(), steps(ir.Less(), rate, MANY), few, _many(steps, steps(ir.Max(), rate, MANY)))
