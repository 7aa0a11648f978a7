"""Random numbers of MXNet's NumPy-style interface: of parameters that are attributes or inputs.

A sample is computed from even numbers by the inverse of the distribution function, or drawn by `samplers`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from graphir.converters.kernel.maker import NodeMaker
from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode, to_single
from graphir.converters.mxnet.importing.rare.random import decide_numbers
from graphir.converters.mxnet.importing.rare.samplers import gamma
from graphir.decisions import DecisionKind
from graphir.errors import ShapeError
from graphir.graph import Value
from graphir.ops import elementwise as ir
from graphir.ops import random as draws
from graphir.ops.activation import Sigmoid
from graphir.ops.base import Operator
from graphir.ops.creation import ConstantOfShape, Range
from graphir.ops.reduction import ReduceSum, TopK
from graphir.ops.shape import Expand, Reshape, Shape, Size, Unsqueeze
from graphir.ops.shape_parts import Concat, Slice
from graphir.types import DType, unify_shape

Inverse = Callable[[NodeMaker, Value, Sequence[Value]], Value]
SINGLE, DOUBLE = DType.FLOAT32, DType.FLOAT64
EDGE = 1e-7  # even numbers keep this distance from 0 and 1, whose logarithms are not finite


def sizes_in(node: ImportNode, name: str = "size") -> tuple[int, ...] | None:
    """Return the attribute `size`: one number, several, or None."""
    stated = node.attrs[name]
    if stated in (None, "None", ""):
        return None
    if isinstance(stated, str):
        if not re.fullmatch(r"[\[(]?[\d,\s]*[\])]?", stated):
            node.refuse(f"{name} {stated!r}, expected sizes")
        return tuple(int(text) for text in re.findall(r"\d+", stated))
    result = (stated,) if isinstance(stated, int) else tuple(stated)
    if None in result or min(result, default=0) < 0:
        node.refuse(f"{name} {result}, expected sizes of 0 or more")
    return result


class Parameters:
    """The parameters of a sampler: attributes, or one input for each that is None, in order."""

    def __init__(self, node: ImportNode, names: Sequence[str], wide: DType) -> None:
        decide_numbers(node)
        self.node, self.wide = node, wide
        self.inputs: list[Value] = []
        self.values = [self._value(name) for name in names]

    def _value(self, name: str) -> Value:
        number = self.node.attrs[name]
        if number is not None:
            return self.node.constant(to_single(number), self.wide)
        value = self.node.input(len(self.inputs))
        value = value if value.dtype is self.wide else self.node.step(ir.Cast(self.wide), value, suffix="parameter")
        self.inputs.append(value)
        return value

    def drawn(self, op: type[Operator], *, prepend: bool, **settings: float) -> Value:
        """Numbers of the standard distribution `op`, in the shape of the result.

        That is the parameters' common shape, or the `size`, to which they must broadcast; `size` in front of their
        common shape with `prepend`.
        """
        node, size = self.node, sizes_in(self.node)
        if not self.inputs:
            return node.step(op(size or (), self.wide, **settings), suffix="drawn")
        template = self.inputs[0]
        for value in self.inputs[1:]:
            template = node.step(ir.Add(), template, value, suffix="template")
        if size is not None:
            wanted = node.vector(size)
            if prepend:
                wanted = node.step(Concat(axis=0), wanted, node.step(Shape(), template), suffix="shape")
            template = node.step(Expand(), template, wanted, suffix="repeated")
            if not prepend:
                self._check(template, size)
        like = draws.RandomNormalLike if op is draws.RandomNormal else draws.RandomUniformLike
        return node.step(like(self.wide, **settings), template, suffix="drawn")

    def _check(self, template: Value, size: tuple[int, ...]) -> None:
        try:
            unify_shape(template.shape, size)
        except ShapeError:
            self.node.refuse(f"parameters that do not fit into the size {size}")


def _result_dtype(node: ImportNode) -> DType:
    return DType.of(node.attrs.get("dtype") or "float32")


def _wide(node: ImportNode) -> DType:
    return DOUBLE if _result_dtype(node) is DOUBLE else SINGLE


def by_inverse(*names: str, inverse: Inverse) -> ImportFunction:
    """Numbers of a distribution from even ones."""

    def import_distribution(node: ImportNode) -> Value:
        parameters = Parameters(node, names, _wide(node))
        even = parameters.drawn(draws.RandomUniform, prepend=False, low=EDGE, high=1 - EDGE)
        return node.emit_as(_result_dtype(node), inverse(NodeMaker(node, parameters.wide), even, parameters.values))

    return import_distribution


def import_normal(node: ImportNode) -> Value:
    """Numbers with a normal distribution."""
    parameters = Parameters(node, ("loc", "scale"), _wide(node))
    normal = parameters.drawn(draws.RandomNormal, prepend=node.op.endswith("_n"))
    steps, (mean, deviation) = NodeMaker(node, parameters.wide), parameters.values
    return node.emit_as(_result_dtype(node), steps.add(steps.mul(normal, deviation), mean))


def import_uniform(node: ImportNode) -> Value:
    """Numbers spread evenly from `low` to `high`."""
    parameters = Parameters(node, ("low", "high"), _wide(node))
    even = parameters.drawn(draws.RandomUniform, prepend=node.op.endswith("_n"), low=0.0, high=1.0)
    steps, (low, high) = NodeMaker(node, parameters.wide), parameters.values
    return node.emit_as(_result_dtype(node), steps.add(steps.mul(even, steps.sub(high, low)), low))


def import_gamma(node: ImportNode) -> Value:
    """Numbers with gamma's distribution of a shape and a scale."""
    if any(value.dtype is not None and not value.dtype.is_float for value in node.inputs):
        node.refuse("parameters that are no floats, as MXNet wants them")
    parameters = Parameters(node, ("shape", "scale"), DOUBLE)
    template = parameters.drawn(draws.RandomUniform, prepend=False, low=0.0, high=1.0)
    shape = node.step(Expand(), parameters.values[0], node.step(Shape(), template), suffix="shapes")
    scaled = node.step(ir.Mul(), gamma(node, shape), parameters.values[1], suffix="scaled")
    return node.emit_as(_result_dtype(node), scaled)


def import_bernoulli(node: ImportNode) -> Value:
    """1 with the probability `prob`, or with that of which `logit` is the log-odds, else 0."""
    name = "logit" if node.attrs["is_logit"] else "prob"
    parameters = Parameters(node, (name,), SINGLE)
    chance = parameters.values[0]
    if name == "logit":
        chance = node.step(Sigmoid(), chance)
    even = parameters.drawn(draws.RandomUniform, prepend=False, low=0.0, high=1.0)
    return node.emit(ir.Cast(_result_dtype(node)), node.step(ir.Less(), even, chance))


def _exponential(steps: NodeMaker, even: Value) -> Value:
    return steps(ir.Neg(), steps(ir.Log(), even))


def exponential(steps: NodeMaker, even: Value, parameters: Sequence[Value]) -> Value:
    """Return exponential samples: -scale log(u), where u is uniform."""
    return steps.mul(_exponential(steps, even), parameters[0])


def gumbel(steps: NodeMaker, even: Value, parameters: Sequence[Value]) -> Value:
    """loc - scale log(-log(u))."""
    spread = steps.mul(steps(ir.Log(), _exponential(steps, even)), parameters[1])
    return steps.sub(parameters[0], spread)


def logistic(steps: NodeMaker, even: Value, parameters: Sequence[Value]) -> Value:
    """loc + scale log(u / (1 - u))."""
    odds = steps.sub(steps(ir.Log(), even), steps(ir.Log(), steps.sub(1.0, even)))
    return steps.add(parameters[0], steps.mul(odds, parameters[1]))


def rayleigh(steps: NodeMaker, even: Value, parameters: Sequence[Value]) -> Value:
    """scale sqrt(-2 log(u))."""
    return steps.mul(steps(ir.Sqrt(), steps.mul(_exponential(steps, even), 2.0)), parameters[0])


def pareto(steps: NodeMaker, even: Value, parameters: Sequence[Value]) -> Value:
    """u^(-1 / a) - 1: Lomax's distribution, as in NumPy."""
    return steps.sub(steps(ir.Exp(), steps.div(_exponential(steps, even), parameters[0])), 1.0)


def power(steps: NodeMaker, even: Value, parameters: Sequence[Value]) -> Value:
    """u^(1 / a)."""
    return steps(ir.Pow(), even, steps.div(1.0, parameters[0]))


def laplace(steps: NodeMaker, even: Value, parameters: Sequence[Value]) -> Value:
    """loc - scale sign(u - 1/2) log(1 - 2 |u - 1/2|)."""
    side = steps.sub(even, 0.5)
    spread = steps(ir.Log(), steps.sub(1.0, steps.mul(steps(ir.Abs(), side), 2.0)))
    return steps.sub(parameters[0], steps.mul(steps.mul(steps(ir.Sign(), side), spread), parameters[1]))


def weibull(steps: NodeMaker, even: Value, parameters: Sequence[Value]) -> Value:
    """(-log(u))^(1 / a)."""
    return steps(ir.Pow(), _exponential(steps, even), steps.div(1.0, parameters[0]))


def _classes(node: ImportNode, chances: Value, count: int) -> Value:
    """Classes (count,) drawn with the chances (classes,), as int64."""
    logs = node.step(ir.Log(), node.step(Unsqueeze(), chances, node.vector([0])), suffix="log_chances")
    result = node.step(draws.Multinomial(DType.INT64, count), logs, suffix="classes")
    return node.step(Reshape(), result, node.vector([count]), suffix="flat")


def _keys(node: ImportNode, places: int | Value, chances: Value | None) -> Value:
    """Random keys whose largest are a sample without replacement: even ones, or those of Gumbel's trick."""
    if chances is None and isinstance(places, int):
        return node.step(draws.RandomUniform((places,), DOUBLE), suffix="keys")
    if chances is None:
        assert isinstance(places, Value)
        zeros = node.step(ConstantOfShape(0.0, SINGLE), places, suffix="zeros")
        return node.step(draws.RandomUniformLike(DOUBLE), zeros, suffix="keys")
    steps = NodeMaker(node, DOUBLE)
    wide = node.cast(chances, DOUBLE, suffix="wide")
    even = node.step(draws.RandomUniformLike(DOUBLE, low=1e-12, high=1 - 1e-12), wide, suffix="even")
    return steps.sub(steps(ir.Log(), wide), steps(ir.Log(), _exponential(steps, even)))


def import_choice(node: ImportNode) -> Value:
    """Places below `a` (a number, or the number of elements of the first input), drawn with or without replacement."""
    decide_numbers(node)
    attrs, size = node.attrs, sizes_in(node) or ()
    stated, count = sizes_in(node, "a"), math.prod(size)
    if stated is not None and len(stated) != 1:
        node.refuse(f"a {attrs['a']!r}, expected a number")
    chances = node.input(int(stated is None)) if attrs["weighted"] else None
    if stated is not None:
        indices: int | Value = stated[0]
    else:
        indices = node.step(Reshape(), node.step(Size(), node.input(0)), node.vector([1]), suffix="places")
    if attrs["replace"]:
        result = _with_replacement(node, indices, chances, count)
    else:
        if isinstance(indices, int) and count > indices:
            node.refuse(f"{count} of {indices} without replacement")
        if chances is None:
            text = "which elements are drawn is as in MXNet, their order is random, where MXNet's is not quite"
            node.decide(DecisionKind.ORDER, text)
        result = node.steps(TopK(axis=0), _keys(node, indices, chances), node.vector([count]), suffix="drawn")[1]
    return node.emit(Reshape(allowzero=True) if 0 in size else Reshape(), result, node.vector(size))


def _with_replacement(node: ImportNode, places: int | Value, chances: Value | None, count: int) -> Value:
    if chances is not None:
        return _classes(node, chances, count)
    even = node.step(draws.RandomUniform((count,), DOUBLE), suffix="even")
    number = node.constant(places, DType.INT64) if isinstance(places, int) else places
    scaled = node.step(ir.Mul(), even, node.cast(number, DOUBLE, suffix="places"), suffix="scaled")
    whole = node.cast(scaled, DType.INT64, suffix="whole")
    last = node.step(ir.Sub(), number, node.constant(1, DType.INT64), suffix="last")
    return node.step(ir.Min(), whole, last, suffix="inside")


def _chances(node: ImportNode) -> Value:
    """Return the chances (classes,) of which the last one is what the others leave."""
    if len(node):
        given = node.input(0)
        if node.rank(given) != 1:
            node.refuse(f"chances {given.type}, expected one axis")
        chances = node.cast(given, SINGLE, suffix="chances")
    else:
        numbers = [float(text) for text in re.findall(r"[-+.\deE]+", str(node.attrs["pvals"]))]
        if not numbers:
            node.refuse(f"pvals {node.attrs['pvals']!r}, expected chances")
        chances = node.constant(numbers, SINGLE)
    first = node.step(Slice(), chances, node.vector([0]), node.vector([-1]), node.vector([0]), suffix="first")
    total = node.step(ReduceSum(), first, node.vector([0]), suffix="total")
    rest = node.step(ir.Max(), node.step(ir.Sub(), node.constant([1.0], SINGLE), total, suffix="rest"),
                     node.constant([0.0], SINGLE), suffix="last")  # fmt: skip
    return node.step(Concat(axis=0), first, rest, suffix="all")


def import_multinomial(node: ImportNode) -> Value:
    """Return how often each class is drawn in n draws, `size` times: (*size, classes) as int64."""
    decide_numbers(node)
    count, size = node.attrs["n"], sizes_in(node) or ()
    if count < 1 or 0 in size:
        node.refuse(f"n {count} and size {size}: nothing is drawn")
    chances = _chances(node)
    node.charge(count * math.prod(size), "its draws")
    drawn = node.step(Reshape(), _classes(node, chances, count * math.prod(size)), node.vector([*size, count, 1]))
    zero, one = node.constant(0, DType.INT64), node.constant(1, DType.INT64)
    classes = node.step(Range(), zero, node.step(Size(), chances), one, suffix="every")
    same = node.cast(node.step(ir.Equal(), drawn, classes, suffix="same"), DType.INT64, suffix="number")
    return node.emit(ReduceSum(keepdims=False), same, node.vector([len(size)]))


IMPORTS: dict[str, ImportFunction] = {
    "_npi_bernoulli": import_bernoulli,
    "_npi_choice": import_choice,
    "_npi_exponential": by_inverse("scale", inverse=exponential),
    "_npi_gamma": import_gamma,
    "_npi_gumbel": by_inverse("loc", "scale", inverse=gumbel),
    "_npi_laplace": by_inverse("loc", "scale", inverse=laplace),
    "_npi_logistic": by_inverse("loc", "scale", inverse=logistic),
    "_npi_multinomial": import_multinomial,
    "_npi_normal": import_normal,
    "_npi_normal_n": import_normal,
    "_npi_pareto": by_inverse("a", inverse=pareto),
    "_npi_powerd": by_inverse("a", inverse=power),
    "_npi_rayleigh": by_inverse("scale", inverse=rayleigh),
    "_npi_uniform": import_uniform,
    "_npi_uniform_n": import_uniform,
    "_npi_weibull": by_inverse("a", inverse=weibull),
}
