"""Densities of numbers, and likelihoods of sequences of labels as loops over their steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from graphir.converters.kernel.maker import Iteration, Maker, NodeMaker
from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode, to_single
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ir
from graphir.ops.activation import LogSoftmax
from graphir.ops.elementwise import Add, And, Cast, Equal, Exp, Less, Log, Max, Neg, Not, Sub, Where
from graphir.ops.indexing import Gather, GatherElements
from graphir.ops.reduction import ReduceMin, ReduceSum
from graphir.ops.shape import Expand, Pad, Reshape, Shape, Squeeze, Unsqueeze
from graphir.ops.special_functions import LogGamma
from graphir.types import UNKNOWN, DType, TensorType, unify_shape

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
    """Return the parameters with axes of size 1 where the sample has more; their own are its first, and its `last`
    ones."""
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


def density(logarithm: Density, node: ImportNode, *, plain: Plain | None=None, exact: bool=False) -> Value:
    """Import a density from its logarithm, or its own formula, of float16 computed in float32; `exact` ones go to
    float64."""
    dtype = _checked_dtype(node)
    wide = DType.FLOAT64 if dtype is DType.FLOAT64 else DType.FLOAT32
    _share_sizes(node)
    steps = NodeMaker(node, wide)
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
    return node.emit_as(dtype, result)


def _like_sample(steps: NodeMaker, value: Value, sample: Value) -> Value:
    return steps.node.step(Expand(), value, steps.node.step(Shape(), sample))


def log_uniform(steps: NodeMaker, sample: Value, low: Value, high: Value) -> Value:
    """-log(high - low), also outside the range."""
    return _like_sample(steps, steps(ir.Neg(), steps(ir.Log(), steps.sub(high, low))), sample)


def uniform(steps: NodeMaker, sample: Value, low: Value, high: Value) -> Value:
    """1 / (high - low), also outside the range."""
    return _like_sample(steps, steps.div(1.0, steps.sub(high, low)), sample)


def _normal_exponent(steps: NodeMaker, sample: Value, mean: Value, deviation: Value) -> Value:
    apart = steps.sub(sample, mean)
    return steps.div(steps.mul(steps.mul(apart, apart), -0.5), steps.mul(deviation, deviation))


def log_normal(steps: NodeMaker, sample: Value, mean: Value, deviation: Value) -> Value:
    """-(x - mu)^2 / (2 sigma^2) - log(sigma) - log(2 pi) / 2."""
    result = steps.sub(_normal_exponent(steps, sample, mean, deviation), steps(ir.Log(), deviation))
    return steps.sub(result, 0.5 * math.log(CIRCLE))


def normal(steps: NodeMaker, sample: Value, mean: Value, deviation: Value) -> Value:
    """exp(-(x - mu)^2 / (2 sigma^2)) / (sigma sqrt(2 pi))."""
    above = steps(ir.Exp(), _normal_exponent(steps, sample, mean, deviation))
    return steps.div(above, steps.mul(deviation, math.sqrt(CIRCLE)))


def exponential(steps: NodeMaker, sample: Value, rate: Value) -> Value:
    """lam exp(-lam x)."""
    return steps.mul(rate, steps(ir.Exp(), steps(ir.Neg(), steps.mul(rate, sample))))


class _Exact:
    """Sums of large logarithms in float64, of arguments rounded to the operands' dtype as MXNet rounds them."""

    def __init__(self, steps: NodeMaker) -> None:
        self.node = steps.node
        self.steps = NodeMaker(steps.node, DType.FLOAT64)

    def wide(self, value: Value) -> Value:
        """Return the value in float64."""
        return value if value.dtype is DType.FLOAT64 else self.node.step(ir.Cast(DType.FLOAT64), value, suffix="wide")

    def log_gamma(self, value: Value) -> Value:
        """log |gamma(value)|."""
        return self.steps(LogGamma(), self.wide(value))

    def times_log(self, factor: Value, value: Value) -> Value:
        """factor log(value)."""
        return self.steps.mul(self.wide(factor), self.steps(ir.Log(), self.wide(value)))


def log_gamma_density(steps: NodeMaker, sample: Value, shape: Value, rate: Value) -> Value:
    """a log(b) + (a - 1) log(x) - b x - log gamma(a)."""
    exact = _Exact(steps)
    wide = exact.steps
    result = wide.add(exact.times_log(shape, rate), exact.times_log(steps.sub(shape, 1.0), sample))
    result = wide.sub(result, wide.mul(exact.wide(rate), exact.wide(sample)))
    return wide.sub(result, exact.log_gamma(shape))


def log_poisson(steps: NodeMaker, sample: Value, rate: Value) -> Value:
    """x log(lam) - log gamma(x + 1) - lam."""
    exact = _Exact(steps)
    result = exact.steps.sub(exact.times_log(sample, rate), exact.log_gamma(steps.add(sample, 1.0)))
    return exact.steps.sub(result, exact.wide(rate))


def log_negative_binomial(steps: NodeMaker, sample: Value, limit: Value, chance: Value) -> Value:
    """log gamma(x + k) - log gamma(x + 1) - log gamma(k) + k log(p) + x log(1 - p)."""
    exact = _Exact(steps)
    wide = exact.steps
    result = wide.sub(exact.log_gamma(steps.add(sample, limit)), exact.log_gamma(steps.add(sample, 1.0)))
    result = wide.add(wide.sub(result, exact.log_gamma(limit)), exact.times_log(limit, chance))
    return wide.add(result, exact.times_log(sample, steps.sub(1.0, chance)))


def log_generalized_negative_binomial(steps: NodeMaker, sample: Value, mean: Value, dispersion: Value) -> Value:
    """Return the negative binomial with k = 1 / alpha and p = 1 / (mu alpha + 1)."""
    limit, below = steps.div(1.0, dispersion), steps.add(steps.mul(mean, dispersion), 1.0)
    return log_negative_binomial(steps, sample, limit, steps.div(1.0, below))


def import_dirichlet(node: ImportNode) -> Value:
    """Return the density of each vector along the last axis: sum (a - 1) log(x) - sum log gamma(a) + log gamma(sum
    a)."""
    dtype = _checked_dtype(node)
    _share_sizes(node, last=1)
    node.decide(DecisionKind.COMPOSITION, "its logarithms of factorials are composed of ONNX's operators, in float64")
    steps = NodeMaker(node, DType.FLOAT64)
    sample, alpha = (node.cast(value, DType.FLOAT64, suffix="wide") for value in node.inputs)
    (alpha,) = _with_sample_axes(node, sample, [alpha], last=1)

    def along(value: Value) -> Value:
        return node.step(ReduceSum(keepdims=False), value, node.vector([-1]))

    result = along(steps.mul(steps.sub(alpha, 1.0), steps(ir.Log(), sample)))
    result = steps.sub(steps.add(result, steps(LogGamma(), along(alpha))), along(steps(LogGamma(), alpha)))
    result = result if node.attrs["is_log"] else steps(ir.Exp(), result)
    if node.rank(sample) == 1:
        result = node.step(Reshape(), result, node.vector([1]), suffix="vector")
    return node.emit_as(dtype, result)


IMPOSSIBLE = -1e30
"""The logarithm of a probability of 0: finite, so that differences of two are numbers."""


def _log_sum(make: Maker, *values: Value) -> Value:
    """log(e^a + e^b + ...)."""
    largest = make(Max(), *values)
    total, *others = (make(Exp(), make(Sub(), value, largest)) for value in values)
    for other in others:
        total = make(Add(), total, other)
    return make(Add(), largest, make(Log(), total))


def _count_labels(make: Maker, labels: Value, padding: int, size: int) -> Value:
    """Return how many labels each row has before the first padding (N)."""
    is_padding = make(Equal(), labels, make.constant(padding, DType.INT64))
    indices = make(Where(), is_padding, make.vector(*range(size)), make.constant(size, DType.INT64))
    return make(ReduceMin(keepdims=False), indices, make.vector(1))


def import_ctc_loss(node: ImportNode) -> Value:
    """Return the negative logarithm of the probability of each row of labels (N), given activations (T, N, C); 0 where
    it is impossible. Forward probabilities of the labels with blanks around them, step by step."""
    attrs, data = node.attrs, node.input(0)
    further = [node.input(slot) for slot in range(2, len(node))]
    data_lengths = further.pop(0) if attrs["use_data_lengths"] else None
    stated = further.pop(0) if attrs["use_label_lengths"] else None
    if data.dtype is not DType.FLOAT32:
        node.refuse(f"{data.name} is {data.dtype}; MXNet computes this of float32 only")
    if node.rank(data) != 3 or node.rank(node.input(1)) != 2:
        node.refuse(f"data {data.type} and label {node.input(1).type}, expected 3 axes and 2")
    batch = node.shape(data)[1]
    node.shaped(1, (batch, UNKNOWN))
    for slot in range(2, len(node)):
        node.shaped(slot, (batch,))
    steps, classes = node.sizes(data, (0, 2))
    (size,) = node.sizes(1, (1,))
    if not 0 < size <= steps:
        node.refuse(f"{size} labels of {steps} steps; MXNet wants 1 label or more, and not more than steps")
    is_first = attrs["blank_label"] == "first"
    make = Maker(node.graph, DType.FLOAT32, lambda suffix: node.fresh_name(f"{node.name}_{suffix}"))
    labels = make(Cast(DType.INT64), node.input(1))
    padding = 0 if is_first else -1
    lengths = _count_labels(make, labels, padding, size) if stated is None else make(Cast(DType.INT64), stated)
    blank = make.constant(0 if is_first else classes - 1, DType.INT64)
    between = make.constant([index % 2 == 1 for index in range(2 * size + 1)], DType.BOOL)
    spread = make(Gather(1), labels, make.vector(*(max(index - 1, 0) // 2 for index in range(2 * size + 1))))
    symbols = make(Where(), between, spread, blank)
    before = make(Pad(), symbols, make.vector(0, 2, 0, -2), make.constant(-9, DType.INT64))
    may_skip = make(And(), make(Not(), make(Equal(), symbols, before)), make(Not(), make(Equal(), symbols, blank)))
    least = make.number(IMPOSSIBLE)
    until = None if data_lengths is None else make(Unsqueeze(), make(Cast(DType.INT64), data_lengths), make.vector(1))

    def step(make: Maker, number: Value, states: Sequence[Value]) -> Iteration:
        (chances,) = states
        scores = make(LogSoftmax(axis=-1), make(Gather(0), data, number))
        one = make(Pad(), chances, make.vector(0, 1, 0, -1), least)
        two = make(Where(), may_skip, make(Pad(), chances, make.vector(0, 2, 0, -2), least), least)
        result = make(Add(), _log_sum(make, chances, one, two), make(GatherElements(1), scores, symbols))
        return Iteration([result if until is None else make(Where(), make(Less(), number, until), result, chances)])

    start = make(Expand(), make.constant([0.0, *[IMPOSSIBLE] * (2 * size)], DType.FLOAT32), make(Shape(), symbols))
    (chances,) = make.loop(steps, [start], step)
    end = make(Unsqueeze(), make(Add(), lengths, lengths), make.vector(1))
    zero = make.constant(0, DType.INT64)
    final = make(GatherElements(1), chances, end)
    previous = make(GatherElements(1), chances, make(Max(), make(Sub(), end, make.vector(1)), zero))
    previous = make(Where(), make(Equal(), end, zero), least, previous)
    total = make(Squeeze(), _log_sum(make, final, previous), make.vector(1))
    possible = make(Less(), make.number(IMPOSSIBLE / 2), total)
    node.decide(DecisionKind.LOSS_HEAD_KEPT, "the loss is computed, with its labels as inputs")
    return node.emit(Where(), possible, make(Neg(), total), make.number(0.0))


IMPORTS: dict[str, ImportFunction] = {
    "_random_pdf_dirichlet": import_dirichlet,
    "_random_pdf_exponential": partial(density,
        lambda steps, sample, rate: steps.sub(steps(ir.Log(), rate), steps.mul(rate, sample)), plain=exponential
    ),
    "_random_pdf_gamma": partial(density, log_gamma_density, exact=True),
    "_random_pdf_generalized_negative_binomial": partial(density, log_generalized_negative_binomial, exact=True),
    "_random_pdf_negative_binomial": partial(density, log_negative_binomial, exact=True),
    "_random_pdf_normal": partial(density, log_normal, plain=normal),
    "_random_pdf_poisson": partial(density, log_poisson, exact=True),
    "_random_pdf_uniform": partial(density, log_uniform, plain=uniform),
    "CTCLoss": import_ctc_loss,
}
