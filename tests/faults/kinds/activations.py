"""Faults of activations and of arithmetic, element by element."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tests.faults.builder import Generator
from tests.faults.model import Array, Model, Node, get

from .edit import Edit, Fault, always, attribute, each, operator, rank_of, weights


def number_like(model: Model, value: str, number: float) -> str:
    """A constant of the type that a value was seen to have."""
    seen = model.seen.get(value)
    return model.constant(np.array(number, np.float32 if seen is None else seen.dtype))


def clip(low: float | None, high: float | None) -> Callable[[Model, Node, Generator], None]:
    def apply(model: Model, node: Node, generator: Generator) -> None:
        bounds = ["" if bound is None else number_like(model, node.output[0], bound) for bound in (low, high)]
        model.become(node, "Clip", [node.input[0], *bounds])

    return apply


def one_bound(slot: int) -> Callable[[Model, Node, Generator], None]:
    """A bound of a Clip a tenth of the range off."""

    def apply(model: Model, node: Node, generator: Generator) -> None:
        low, high = (model.operand(node, place) for place in (1, 2))
        assert low is not None
        assert high is not None
        held = low if slot == 1 else high
        model.give(node, slot, held + (high - low).astype(held.dtype) * held.dtype.type(0.1 if slot == 1 else -0.1))

    return apply


def both_bounds(model: Model, node: Node) -> bool:
    return all(model.operand(node, slot) is not None for slot in (1, 2))


def erf_by_tanh(model: Model, node: Node, generator: Generator) -> None:
    """erf(x) as tanh(1.1284 x + 0.1009 x^3): what makes of GELU its approximation by tanh."""
    x, position = node.input[0], model.position(node)
    cube, small, large, both = (model.fresh(f"{node.name}_{part}") for part in ("cube", "small", "large", "sum"))
    root = np.sqrt(2 / np.pi)
    for offset, (kind, left, right, output) in enumerate((
        ("Pow", x, model.constant(np.float32(3)), cube),
        ("Mul", cube, model.constant(np.float32(0.044715 * 2**1.5 * root)), small),
        ("Mul", x, model.constant(np.float32(np.sqrt(2) * root)), large),
        ("Add", small, large, both),
    )):  # fmt: skip
        model.insert(position + offset, kind, [left, right], [output])
    model.become(node, "Tanh", [both])


def fast_tanh(model: Model, node: Node, generator: Generator) -> None:
    """x (27 + x^2) / (27 + 9 x^2), bounded: a Pade approximation."""
    x, position = node.input[0], model.position(node)
    names = [model.fresh(f"{node.name}_{part}") for part in ("square", "above", "nine", "below", "top", "ratio")]
    steps = [
        ("Mul", [x, x], names[0]),
        ("Add", [names[0], number_like(model, node.output[0], 27)], names[1]),
        ("Mul", [names[0], number_like(model, node.output[0], 9)], names[2]),
        ("Add", [names[2], number_like(model, node.output[0], 27)], names[3]),
        ("Mul", [x, names[1]], names[4]),
        ("Div", [names[4], names[3]], names[5]),
    ]
    for offset, (kind, inputs, output) in enumerate(steps):
        model.insert(position + offset, kind, inputs, [output])
    ends = [number_like(model, node.output[0], end) for end in (-1, 1)]
    model.become(node, "Clip", [names[5], *ends])


def other_axis(model: Model, node: Node) -> Iterator[int]:
    rank = rank_of(model, node.input[0])
    held = get(node, "axis", -1) % max(rank, 1)
    yield from (axis for axis in range(1 if rank > 2 else 0, rank) if axis != held)


def bypassed(model: Model, node: Node, generator: Generator) -> None:
    model.bypass(node)


def exchanged(model: Model, node: Node, generator: Generator) -> None:
    node.input[0], node.input[1] = node.input[1], node.input[0]


def truncated(model: Model, node: Node, generator: Generator) -> None:
    """Rounded towards zero: through an integer and back."""
    whole = model.fresh(f"{node.name}_whole")
    model.insert(model.position(node), "Cast", [node.input[0]], [whole], to=7)
    model.become(node, "Cast", [whole], to=1)


def half_away(model: Model, node: Node, generator: Generator) -> None:
    """Round with halves away from zero: sign(x) * floor(|x| + 1/2)."""
    x, position = node.input[0], model.position(node)
    names = [model.fresh(f"{node.name}_{part}") for part in ("size", "more", "whole", "sign")]
    for offset, (kind, inputs, output) in enumerate((
        ("Abs", [x], names[0]),
        ("Add", [names[0], number_like(model, node.output[0], 0.5)], names[1]),
        ("Floor", [names[1]], names[2]),
        ("Sign", [x], names[3]),
    )):  # fmt: skip
        model.insert(position + offset, kind, inputs, [output])
    model.become(node, "Mul", [names[2], names[3]])


def on_activations(model: Model, node: Node) -> bool:
    """Both operands are computed (no bias, no constant)."""
    return all(model.weight(name) is None for name in node.input[:2]) and all(
        rank_of(model, name) for name in node.input[:2]
    )


def not_constant(model: Model, node: Node) -> bool:
    return rank_of(model, node.output[0]) > 1


def base_two(model: Model, node: Node, generator: Generator) -> None:
    """The logarithm to base 2."""
    model.after(node, "Mul", number_like(model, node.output[0], 1 / np.log(2)))


def power_of_two(model: Model, node: Node, generator: Generator) -> None:
    """2 ** x for e ** x."""
    model.before(node, 0, "Mul", number_like(model, node.output[0], np.log(2)))


def root_first(model: Model) -> Iterator[Edit]:
    """sqrt(x) + eps for sqrt(x + eps)."""
    for node in model.nodes("Sqrt"):
        before = model.producer(node.input[0])
        if before is not None and before.op_type == "Add" and model.operand(before, 1) is not None:
            yield Edit((node.name, before.name), _root_first(node.name, before.name))


def _root_first(root: str, add: str) -> Callable[[Model, Generator], None]:
    def apply(model: Model, generator: Generator) -> None:
        node, before = model.node(root), model.node(add)
        node.op_type, before.op_type = before.op_type, node.op_type
        node.input.append(before.input[1])
        del before.input[1]

    return apply


def leaning(array: Array, generator: Generator) -> Array | None:
    return array * array.dtype.type(0.5)


FAULTS = (
    Fault("Relu6 for Relu", each("Relu", clip(0.0, 6.0), always)),
    Fault(
        "Relu for Relu6",
        each(
            "Clip",
            lambda model, node, generator: model.become(node, "Relu", node.input[:1]),
            lambda model, node: "relu6" in node.name,
        ),
    ),
    Fault("a bound of Clip off", each("Clip", one_bound(2), both_bounds)),
    Fault("the other bound of Clip off", each("Clip", one_bound(1), both_bounds)),
    Fault("LeakyRelu: another slope", attribute("LeakyRelu", "alpha", lambda model, node: [0.01, 0.3])),
    Fault("LeakyRelu as Relu", operator("LeakyRelu", "Relu")),
    Fault("PRelu: another slope", weights("PRelu", 1, leaning)),
    Fault("Elu: another alpha", attribute("Elu", "alpha", lambda model, node: [get(node, "alpha", 1.0) * 0.8])),
    Fault("Selu as Elu", operator("Selu", "Elu", alpha=1.6733)),
    Fault("ThresholdedRelu: another threshold", attribute("ThresholdedRelu", "alpha", lambda model, node: [1.0])),
    Fault("Softsign for Softplus", operator("Softplus", "Softsign")),
    Fault("HardSigmoid: 0.2 for 1/6", attribute("HardSigmoid", "alpha", lambda model, node: [0.2])),
    Fault("HardSigmoid for Sigmoid", operator("Sigmoid", "HardSigmoid")),
    Fault("Sigmoid for HardSigmoid", operator("HardSigmoid", "Sigmoid")),
    Fault("Relu for HardSwish", operator("HardSwish", "Relu")),
    Fault("GELU by tanh for erf", each("Erf", erf_by_tanh, always)),
    Fault("tanh approximated", each("Tanh", fast_tanh, always)),
    Fault("Sigmoid for Tanh", operator("Tanh", "Sigmoid")),
    Fault("Softmax over another axis", attribute("Softmax LogSoftmax", "axis", other_axis)),
    Fault("LogSoftmax for Softmax", operator("Softmax", "LogSoftmax", axis=-1)),
    Fault("Softmax for LogSoftmax", operator("LogSoftmax", "Softmax", axis=1)),
    Fault(
        "an activation left out",
        each("Relu LeakyRelu Elu Sigmoid Tanh Clip HardSwish Softplus Selu PRelu Exp Erf", bypassed, always),
    ),
    Fault("Sub for Add", each("Add", lambda model, node, generator: model.become(node, "Sub"), not_constant)),
    Fault("Add for Mul", each("Mul", lambda model, node, generator: model.become(node, "Add"), not_constant)),
    Fault("Mul for Div", operator("Div", "Mul")),
    Fault("operands of Sub exchanged", each("Sub Div", exchanged, always)),
    Fault("a branch of an Add left out", each("Add", bypassed, on_activations)),
    Fault(
        "the other branch of an Add left out",
        each("Add Sum", lambda model, node, generator: model.bypass(node, 1), on_activations),
    ),
    Fault("Min for Max", operator("Max", "Min")),
    Fault("truncated for floored", each("Floor", truncated, always)),
    Fault("Ceil for Floor", operator("Floor", "Ceil")),
    Fault("fmod for mod", attribute("Mod", "fmod", lambda model, node: [1])),
    Fault("halves rounded away from zero", each("Round", half_away, always)),
    Fault("logarithm to base 2", each("Log LogSoftmax", base_two, always)),
    Fault("2 ** x for e ** x", each("Exp", power_of_two, always)),
    Fault("another exponent", weights("Pow", 1, lambda array, generator: array + array.dtype.type(0.5))),
    Fault("epsilon behind the root", root_first),
    Fault("Greater with equality exchanged", operator("LessOrEqual", "Less")),
    Fault("LessOrEqual for Greater", operator("Greater", "LessOrEqual")),
)

__all__ = ["FAULTS"]
