"""Random numbers with gamma's, Poisson's and the negative binomial distributions, and shuffled slices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from graphir.converters.kernel.maker import NodeMaker
from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode, to_single
from graphir.converters.mxnet.importing.rare.random import (
    decide_numbers,
    repeated_parameters,
    stated_dtype,
    stated_size,
)
from graphir.converters.mxnet.importing.rare.samplers import gamma, poisson
from graphir.converters.mxnet.importing.sizes import axes_sizes, axis_size, static_size
from graphir.graph import Value
from graphir.ops import elementwise as ir
from graphir.ops import random as draws
from graphir.ops.creation import ConstantOfShape
from graphir.ops.indexing import Gather
from graphir.ops.reduction import TopK
from graphir.ops.shape import Expand, Reshape, Shape
from graphir.types import DType

Known = Sequence[float | None]
Sampler = Callable[[ImportNode, Sequence[Value], Known], Value]
DOUBLE = DType.FLOAT64


def sample_gamma(node: ImportNode, parameters: Sequence[Value], known: Known) -> Value:
    """Gamma's distribution of a shape and a scale."""
    shape, scale = parameters
    return node.step(ir.Mul(), gamma(node, shape), scale, suffix="scaled")


def sample_poisson(node: ImportNode, parameters: Sequence[Value], known: Known) -> Value:
    """Poisson's distribution of a rate."""
    return poisson(node, parameters[0], known=known[0])


def sample_negative_binomial(node: ImportNode, parameters: Sequence[Value], known: Known) -> Value:
    """Return the failures before k successes of the chance p: Poisson's distribution of a rate that is gamma's."""
    steps = NodeMaker(node, DOUBLE)
    limit, chance = parameters
    scale = steps.div(steps.sub(1.0, chance), chance)
    return poisson(node, steps.mul(gamma(node, limit), scale))


def sample_generalized(node: ImportNode, parameters: Sequence[Value], known: Known) -> Value:
    """Return the same of the mean mu and the dispersion alpha, without which it is Poisson's."""
    steps = NodeMaker(node, DOUBLE)
    mean, dispersion = parameters
    if known[1] == 0:
        return poisson(node, mean, known=known[0])
    none = node.step(ir.Equal(), dispersion, steps.number(0.0), suffix="without")
    limit = steps.div(1.0, steps(ir.Where(), none, 1.0, dispersion))
    rate = steps.mul(steps.mul(gamma(node, limit), dispersion), mean)
    return poisson(node, steps(ir.Where(), none, mean, rate))


class _Range:
    """What MXNet takes for a parameter."""

    def __init__(self, name: str, least: float, *, most: float = float("inf"), least_too: bool = True) -> None:
        self.name, self.least, self.most, self.least_too = name, least, most, least_too

    def value(self, node: ImportNode) -> float:
        """Return the attribute. Refuses one out of the range."""
        result = to_single(node.attrs[self.name])
        inside = self.least <= result <= self.most and result < float("inf")
        if not inside or (result == self.least and not self.least_too):
            node.refuse(f"{self.name} {result:.9g}; MXNet gives no numbers for it")
        return result


ALPHA, BETA = _Range("alpha", 0, least_too=False), _Range("beta", 0, least_too=False)
LAM = _Range("lam", 0)
K, P = _Range("k", 0), _Range("p", 0, most=1, least_too=False)
MU, DISPERSION = _Range("mu", 0), _Range("alpha", 0)


def stated(sampler: Sampler, *ranges: _Range) -> ImportFunction:
    """Samples of the distribution whose parameters are attributes, in the stated shape."""

    def import_stated(node: ImportNode) -> Value:
        decide_numbers(node)
        known = [each.value(node) for each in ranges]
        shape = node.vector(stated_size(node))
        return node.emit_as(stated_dtype(node), _alike(node, sampler, known, shape))

    return import_stated


def alike(sampler: Sampler, *ranges: _Range) -> ImportFunction:
    """Return the same in the shape and dtype of the input."""

    def import_alike(node: ImportNode) -> Value:
        decide_numbers(node)
        data = node.input(0)
        if data.dtype is None or not data.dtype.is_float:
            node.refuse(f"{data.type}, expected floats, as MXNet does")
        known = [each.value(node) for each in ranges]
        return node.emit_as(data.dtype, _alike(node, sampler, known, node.step(Shape(), data)))

    return import_alike


def _alike(node: ImportNode, sampler: Sampler, known: Sequence[float], shape: Value) -> Value:
    parameters = [node.step(Expand(), node.constant(number, DOUBLE), shape, suffix="parameter") for number in known]
    return sampler(node, parameters, known)


def of_inputs(sampler: Sampler, node: ImportNode) -> Value:
    """Samples of distributions whose parameters are inputs, `shape` of them for each element."""
    parameters = [node.cast(value, DOUBLE, suffix="wide") for value in repeated_parameters(node)]
    return node.emit_as(stated_dtype(node), sampler(node, parameters, (None,) * len(parameters)))


def import_shuffle(node: ImportNode) -> Value:
    """Return the slices along the first axis in random order: that of random keys."""
    decide_numbers(node)
    data = node.input(0)
    if node.rank(data) == 0:
        node.refuse("data without axes, which ends MXNet's process")
    size = static_size(data, 0)
    if size is not None:
        keys = node.step(draws.RandomUniform((size,), DOUBLE), suffix="keys")
        count = node.vector([size])
    else:
        count = node.step(Reshape(), axis_size(node, data, 0), node.vector([1]), suffix="count")
        alike = node.step(ConstantOfShape(0.0, DType.FLOAT32), axes_sizes(node, data, [0]), suffix="zeros")
        keys = node.step(draws.RandomUniformLike(DOUBLE), alike, suffix="keys")
    order = node.steps(TopK(axis=0), keys, count, suffix="order")[1]
    return node.emit(Gather(axis=0), data, order)


IMPORTS: dict[str, ImportFunction] = {
    "_random_gamma": stated(sample_gamma, ALPHA, BETA),
    "_random_gamma_like": alike(sample_gamma, ALPHA, BETA),
    "_random_generalized_negative_binomial": stated(sample_generalized, MU, DISPERSION),
    "_random_generalized_negative_binomial_like": alike(sample_generalized, MU, DISPERSION),
    "_random_negative_binomial": stated(sample_negative_binomial, K, P),
    "_random_negative_binomial_like": alike(sample_negative_binomial, K, P),
    "_random_poisson": stated(sample_poisson, LAM),
    "_random_poisson_like": alike(sample_poisson, LAM),
    "_sample_gamma": partial(of_inputs, sample_gamma),
    "_sample_generalized_negative_binomial": partial(of_inputs, sample_generalized),
    "_sample_negative_binomial": partial(of_inputs, sample_negative_binomial),
    "_sample_poisson": partial(of_inputs, sample_poisson),
    "_shuffle": import_shuffle,
}
