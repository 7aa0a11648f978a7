"""Random numbers: the same distributions, drawn by other generators."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from graphir.converters.kernel.importing import direct
from graphir.converters.mxnet.importing.context import Imported, ImportFunction, ImportNode
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import random as ir
from graphir.ops.base import Operator
from graphir.ops.elementwise import Add, Cast, Div, Log, Min, Mul, Neg, Sub
from graphir.ops.shape import Expand, Flatten, Reshape, Shape, Unsqueeze
from graphir.ops.shape_parts import Concat
from graphir.types import DType


def decide_numbers(node: ImportNode) -> None:
    """Record that the numbers are of the same distribution, but others."""
    node.decide(DecisionKind.RANDOM_NUMBERS, "drawn by the runtime's generator: of the same distribution, but others")


def stated_size(node: ImportNode) -> tuple[int, ...]:
    """Return the stated shape; MXNet takes none for one number."""
    return tuple(node.attrs["shape"] or ()) or (() if node.np_shape else (1,))


def stated_dtype(node: ImportNode) -> DType:
    """Return the stated dtype, float32 by default."""
    stated = node.attrs["dtype"]
    return DType.FLOAT32 if stated in (None, "None") else DType.of(stated)


def import_uniform(node: ImportNode) -> Value:
    """Numbers spread evenly from `low` to `high`."""
    decide_numbers(node)
    attrs = node.attrs
    return node.emit(ir.RandomUniform(stated_size(node), stated_dtype(node), low=attrs["low"], high=attrs["high"]))


def import_normal(node: ImportNode) -> Value:
    """Numbers with a normal distribution around `loc`."""
    decide_numbers(node)
    attrs = node.attrs
    return node.emit(ir.RandomNormal(stated_size(node), stated_dtype(node), mean=attrs["loc"], scale=attrs["scale"]))


def drawn_like(op: type[Operator], **fields: str) -> ImportFunction:
    """Return numbers in the shape and dtype of the input; `fields` has the attributes of the distribution."""
    function = direct(op, **fields)

    def import_like(node: ImportNode) -> Imported:
        decide_numbers(node)
        return function(node)

    return import_like


def import_multinomial(node: ImportNode) -> Value:
    """Classes drawn with the probabilities of each row: (..., classes) gives (..., *shape), one row without a shape
    (1,)."""
    attrs = node.attrs
    if attrs["get_prob"]:
        node.refuse("get_prob True; ONNX's Multinomial gives no probabilities")
    decide_numbers(node)
    data, wanted, shape = node.input(0), DType.of(attrs["dtype"]), tuple(attrs["shape"])
    rank = node.rank(data)
    rows = data if rank == 2 else node.step(Flatten(axis=rank - 1), data, suffix="rows")
    chances = node.step(Log(), rows)
    result = node.step(ir.Multinomial(DType.INT32, math.prod(shape)), chances, suffix="draw")
    if wanted is not DType.INT32:
        result = node.cast(result, wanted)
    if rank == 1:
        return node.emit(Reshape(), result, node.vector(shape or (1,)))
    if rank == 2:
        return result if len(shape) == 1 else node.emit(Reshape(), result, node.vector([-1, *shape]))
    before = node.step(Shape(end=-1), data)
    return node.emit(Reshape(), result, node.step(Concat(axis=0), before, node.vector(shape), suffix="shape"))


def _exponential(node: ImportNode, uniform: Value) -> Value:
    """Numbers with an exponential distribution of rate 1 from numbers spread evenly over [0, 1)."""
    rest = node.step(Sub(), node.scalar_like(uniform, 1.0), uniform, suffix="rest")
    return node.step(Neg(), node.step(Log(), rest), suffix="exponential")


def import_exponential(node: ImportNode) -> Value:
    """Numbers with an exponential distribution of the rate `lam`."""
    if node.attrs["lam"] <= 0:
        node.refuse(f"lam is {node.attrs['lam']}, expected a rate above 0")
    decide_numbers(node)
    result = _exponential(node, node.step(ir.RandomUniform(stated_size(node), stated_dtype(node), low=0.0, high=1.0)))
    return node.emit(Div(), result, node.scalar_like(result, node.attrs["lam"]))


def import_exponential_like(node: ImportNode) -> Value:
    """Return the same in the shape and dtype of the input."""
    decide_numbers(node)
    result = _exponential(node, node.step(ir.RandomUniformLike(low=0.0, high=1.0), node.input(0)))
    return node.emit(Div(), result, node.scalar_like(result, node.attrs["lam"]))


def import_randint(node: ImportNode) -> Value:
    """Whole numbers from `low` up to, not including, `high`."""
    decide_numbers(node)
    low, high = node.attrs["low"], node.attrs["high"]
    dtype = DType.INT32 if node.attrs["dtype"] in (None, "None") else DType.of(node.attrs["dtype"])
    if low >= high or high - low > 1 << 53:
        node.refuse(f"low {low} and high {high}, expected a lower and a higher number at most 2^53 apart")
    indices = node.step(ir.RandomUniform(stated_size(node), DType.FLOAT64, low=0.0, high=float(high - low)))
    whole = node.cast(indices, DType.INT64, suffix="places")
    inside = node.step(Min(), whole, node.constant(high - low - 1, DType.INT64), suffix="inside")
    result = node.step(Add(), inside, node.constant(low, DType.INT64), suffix="numbers")
    return node.emit(Cast(dtype), result)


def repeated_parameters(node: ImportNode) -> list[Value]:
    """Return the parameters of the distributions, each repeated for the `shape` of samples that it gives."""
    decide_numbers(node)
    count = tuple(node.attrs["shape"] or ())
    result = []
    for value in node.inputs:
        value = value if value.dtype is DType.FLOAT64 else node.cast(value, DType.FLOAT32, suffix="parameter")
        if count:
            axes = node.vector(range(node.rank(value), node.rank(value) + len(count)))
            whole = node.step(Concat(axis=0), node.step(Shape(), value), node.vector(count), suffix="shape")
            value = node.step(Expand(), node.step(Unsqueeze(), value, axes, suffix="place"), whole, suffix="repeated")
        result.append(value)
    return result


def sampled(place: Callable[[ImportNode, Value, list[Value]], Value], op: Operator, node: ImportNode) -> Value:
    """Samples of distributions whose parameters are inputs: numbers of a standard distribution, put in their places."""
    parameters = repeated_parameters(node)
    standard = node.step(op, parameters[0], suffix="standard")
    return node.emit(Cast(stated_dtype(node)), place(node, standard, parameters))


def _place_normal(node: ImportNode, standard: Value, parameters: list[Value]) -> Value:
    mean, deviation = parameters
    return node.step(Add(), mean, node.step(Mul(), deviation, standard, suffix="spread"), suffix="sample")


def _place_uniform(node: ImportNode, standard: Value, parameters: list[Value]) -> Value:
    low, high = parameters
    width = node.step(Sub(), high, low, suffix="width")
    return node.step(Add(), low, node.step(Mul(), width, standard, suffix="spread"), suffix="sample")


IMPORTS: dict[str, ImportFunction] = {
    "_random_uniform": import_uniform,
    "_random_normal": import_normal,
    "_random_uniform_like": drawn_like(ir.RandomUniformLike, low="low", high="high"),
    "_random_normal_like": drawn_like(ir.RandomNormalLike, mean="loc", scale="scale"),
    "_random_exponential": import_exponential,
    "_random_exponential_like": import_exponential_like,
    "_random_randint": import_randint,
    "_sample_exponential": partial(sampled,
        lambda node, standard, parameters: node.step(Div(), _exponential(node, standard), *parameters, suffix="sample"),
        ir.RandomUniformLike(low=0.0, high=1.0),
    ),
    "_sample_multinomial": import_multinomial,
    "_sample_normal": partial(sampled, _place_normal, ir.RandomNormalLike(mean=0.0, scale=1.0)),
    "_sample_uniform": partial(sampled, _place_uniform, ir.RandomUniformLike(low=0.0, high=1.0)),
}
