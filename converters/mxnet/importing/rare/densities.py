"""Densities of distributions: deterministic functions of samples and of the distributions' parameters.

A parameter has the first axes of the sample; the others are samples of one distribution. Densities with factorials are
computed in float64: they are small differences of large logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode, to_single
from graphir.converters.mxnet.importing.rare.log_gamma import Steps, log_gamma
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ir
from graphir.ops.reduction import ReduceSum
from graphir.ops.shape import Expand, Reshape, Shape, Unsqueeze
from graphir.types import DType, TensorType, unify_shape

CIRCLE = to_single(2 * math.pi)  # in single precision for float64 too, as MXNet has it

Density = Callable[..., Value]
Plain = Callable[..., Value]


def _checked_dtype(node: ImportNode) -> DType:
    dtype = node.input(0).dtype
    for value in node.inputs:
        if value.dtype is None:
            node.graph.refine(value, TensorType(dtype))
    if dtype is None or not dtype.is_float or any(value.dtype is not dtype for value in node.inputs):
        node.refuse(f"operands {', '.join(str(value.type) for value in node.inputs)}, expected floats of one dtype")
    return dtype


def _share_sizes(node: ImportNode, last: int = 0) -> None:
    """Let the parameters share what is known of their shape, and the sample and they what is known of their axes."""
    sample, *parameters = node.take_inputs(1, or_more=True)
    node.same_shapes(*parameters)
    if sample.shape is None or parameters[0].shape is None:
        return
    own, rank = parameters[0].shape, len(sample.shape)
    if not max(1, last) <= len(own) <= rank:
        return
    first = len(own) - last
    inner = sample.shape[first : rank - last]
    for value in parameters:
        node.graph.refine(value, TensorType(None, (*sample.shape[:first], *sample.shape[rank - last :])))
    node.graph.refine(sample, TensorType(None, (*own[:first], *inner, *own[first:])))


def _with_sample_axes(node: ImportNode, sample: Value, parameters: Sequence[Value], last: int = 0) -> list[Value]:
    """The parameters with axes of size 1 where the sample has more; their own are its first, and its `last` ones."""
    result = []
    rank = node.rank(sample)
    for parameter in parameters:
        own = node.rank(parameter)
        if not max(1, last) <= own <= rank:
            node.refuse(f"a parameter {parameter.type} for samples {sample.type}")
        shape, first = node.shape(sample), own - last
        wanted = (*shape[:first], *shape[rank - last :])
        unify_shape(tuple(wanted), node.shape(parameter))
        axes = range(first, rank - last)
        result.append(node.step(Unsqueeze(), parameter, node.vector(axes), suffix="placed") if axes else parameter)
    return result


def _finish(node: ImportNode, found: Value, dtype: DType) -> Value:
    return node.emit(ir.Cast(dtype) if found.dtype is not dtype else ir.Identity(), found)


def density(logarithm: Density, plain: Plain | None = None, *, exact: bool = False) -> ImportFunction:
    """A density from its logarithm, or its own formula, of float16 computed in float32; `exact` ones go to float64."""

    def import_density(node: ImportNode) -> Value:
        dtype = _checked_dtype(node)
        wide = DType.FLOAT64 if dtype is DType.FLOAT64 else DType.FLOAT32
        _share_sizes(node)
        steps = Steps(node, wide)
        sample, *parameters = (
            node.cast(value, wide, suffix="wide") for value in node.inputs
        )
        if exact:
            text = "its logarithms of factorials are composed of ONNX's operators, in float64"
            node.decide(DecisionKind.COMPOSITION, text)
        placed = _with_sample_axes(node, sample, parameters)
        if node.attrs["is_log"]:
            result = logarithm(steps, sample, *placed)
        else:
            result = plain(steps, sample, *placed) if plain else node.step(ir.Exp(), logarithm(steps, sample, *placed))
        return _finish(node, result, dtype)

    return import_density


def _like_sample(steps: Steps, value: Value, sample: Value) -> Value:
    return steps.node.step(Expand(), value, steps.node.step(Shape(), sample))


def log_uniform(steps: Steps, sample: Value, low: Value, high: Value) -> Value:
    """-log(high - low), also outside the range."""
    return _like_sample(steps, steps(ir.Neg(), steps.log(steps.sub(high, low))), sample)


def uniform(steps: Steps, sample: Value, low: Value, high: Value) -> Value:
    """1 / (high - low), also outside the range."""
    return _like_sample(steps, steps.div(1.0, steps.sub(high, low)), sample)


def _normal_exponent(steps: Steps, sample: Value, mean: Value, deviation: Value) -> Value:
    apart = steps.sub(sample, mean)
    return steps.div(steps.mul(steps.mul(apart, apart), -0.5), steps.mul(deviation, deviation))


def log_normal(steps: Steps, sample: Value, mean: Value, deviation: Value) -> Value:
    """-(x - mu)^2 / (2 sigma^2) - log(sigma) - log(2 pi) / 2."""
    result = steps.sub(_normal_exponent(steps, sample, mean, deviation), steps.log(deviation))
    return steps.sub(result, 0.5 * math.log(CIRCLE))


def normal(steps: Steps, sample: Value, mean: Value, deviation: Value) -> Value:
    """exp(-(x - mu)^2 / (2 sigma^2)) / (sigma sqrt(2 pi))."""
    above = steps(ir.Exp(), _normal_exponent(steps, sample, mean, deviation))
    return steps.div(above, steps.mul(deviation, math.sqrt(CIRCLE)))


def log_exponential(steps: Steps, sample: Value, rate: Value) -> Value:
    """log(lam) - lam x."""
    return steps.sub(steps.log(rate), steps.mul(rate, sample))


def exponential(steps: Steps, sample: Value, rate: Value) -> Value:
    """lam exp(-lam x)."""
    return steps.mul(rate, steps(ir.Exp(), steps(ir.Neg(), steps.mul(rate, sample))))


class _Exact:
    """Sums of large logarithms in float64, of arguments rounded to the operands' dtype as MXNet rounds them."""

    def __init__(self, steps: Steps) -> None:
        self.node = steps.node
        self.steps = Steps(steps.node, DType.FLOAT64)

    def wide(self, value: Value) -> Value:
        """The value in float64."""
        return value if value.dtype is DType.FLOAT64 else self.node.step(ir.Cast(DType.FLOAT64), value, suffix="wide")

    def log_gamma(self, value: Value) -> Value:
        """log |gamma(value)|."""
        return log_gamma(self.steps, self.wide(value))

    def times_log(self, factor: Value, value: Value) -> Value:
        """factor log(value)."""
        return self.steps.mul(self.wide(factor), self.steps.log(self.wide(value)))


def log_gamma_density(steps: Steps, sample: Value, shape: Value, rate: Value) -> Value:
    """a log(b) + (a - 1) log(x) - b x - log gamma(a)."""
    exact = _Exact(steps)
    wide = exact.steps
    result = wide.add(exact.times_log(shape, rate), exact.times_log(steps.sub(shape, 1.0), sample))
    result = wide.sub(result, wide.mul(exact.wide(rate), exact.wide(sample)))
    return wide.sub(result, exact.log_gamma(shape))


def log_poisson(steps: Steps, sample: Value, rate: Value) -> Value:
    """x log(lam) - log gamma(x + 1) - lam."""
    exact = _Exact(steps)
    result = exact.steps.sub(exact.times_log(sample, rate), exact.log_gamma(steps.add(sample, 1.0)))
    return exact.steps.sub(result, exact.wide(rate))


def log_negative_binomial(steps: Steps, sample: Value, limit: Value, chance: Value) -> Value:
    """log gamma(x + k) - log gamma(x + 1) - log gamma(k) + k log(p) + x log(1 - p)."""
    exact = _Exact(steps)
    wide = exact.steps
    result = wide.sub(exact.log_gamma(steps.add(sample, limit)), exact.log_gamma(steps.add(sample, 1.0)))
    result = wide.add(wide.sub(result, exact.log_gamma(limit)), exact.times_log(limit, chance))
    return wide.add(result, exact.times_log(sample, steps.sub(1.0, chance)))


def log_generalized_negative_binomial(steps: Steps, sample: Value, mean: Value, dispersion: Value) -> Value:
    """The negative binomial with k = 1 / alpha and p = 1 / (mu alpha + 1)."""
    limit, below = steps.div(1.0, dispersion), steps.add(steps.mul(mean, dispersion), 1.0)
    return log_negative_binomial(steps, sample, limit, steps.div(1.0, below))


def import_dirichlet(node: ImportNode) -> Value:
    """The density of each vector along the last axis: sum (a - 1) log(x) - sum log gamma(a) + log gamma(sum a)."""
    dtype = _checked_dtype(node)
    _share_sizes(node, last=1)
    node.decide(DecisionKind.COMPOSITION, "its logarithms of factorials are composed of ONNX's operators, in float64")
    steps = Steps(node, DType.FLOAT64)
    sample, alpha = (node.cast(value, DType.FLOAT64, suffix="wide") for value in node.inputs)
    (alpha,) = _with_sample_axes(node, sample, [alpha], last=1)

    def along(value: Value) -> Value:
        return node.step(ReduceSum(keepdims=False), value, node.vector([-1]))

    result = along(steps.mul(steps.sub(alpha, 1.0), steps.log(sample)))
    result = steps.sub(steps.add(result, log_gamma(steps, along(alpha))), along(log_gamma(steps, alpha)))
    result = result if node.attrs["is_log"] else steps(ir.Exp(), result)
    if node.rank(sample) == 1:
        result = node.step(Reshape(), result, node.vector([1]), suffix="vector")
    return _finish(node, result, dtype)


IMPORTS: dict[str, ImportFunction] = {
    "_random_pdf_dirichlet": import_dirichlet,
    "_random_pdf_exponential": density(log_exponential, exponential),
    "_random_pdf_gamma": density(log_gamma_density, exact=True),
    "_random_pdf_generalized_negative_binomial": density(log_generalized_negative_binomial, exact=True),
    "_random_pdf_negative_binomial": density(log_negative_binomial, exact=True),
    "_random_pdf_normal": density(log_normal, normal),
    "_random_pdf_poisson": density(log_poisson, exact=True),
    "_random_pdf_uniform": density(log_uniform, uniform),
}
