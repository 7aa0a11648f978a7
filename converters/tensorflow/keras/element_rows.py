"""Version 3's operations on elements that are several of TensorFlow's operators, as a table."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphir.converters.tensorflow.files.records import Endpoint
from graphir.converters.tensorflow.importing.context import Imported, ImportNode
from graphir.converters.tensorflow.keras.arguments import align_operands, argument, tensor_argument
from graphir.converters.tensorflow.keras.context import LayerCall, import_float

INFINITY = math.inf


class ElementNodes:
    """Nodes of TensorFlow's operators, each with a name of its own; numbers are of the dtype of `like`."""

    def __init__(self, layer: LayerCall, like: Endpoint) -> None:
        self._layer = layer
        self._like = like

    def __call__(self, op: str, *operands: Endpoint | float, **attrs: Any) -> Endpoint:
        values = [self.number(operand) if isinstance(operand, int | float) else operand for operand in operands]
        return self._layer.add(op, f"{op}_{len(self._layer.nodes)}", values, **attrs)

    def number(self, number: float) -> Endpoint:
        """Add a constant."""
        name = f"number_{len(self._layer.nodes)}"
        return self._layer.apply(lambda node: node.scalar_like(node.input(0), number), name, [self._like])

    def extreme(self, name: str) -> Endpoint:
        """Return the largest ("max") or smallest ("min") finite number of the dtype."""

        def import_extreme(node: ImportNode) -> Imported:
            return node.scalar_like(node.input(0), float(getattr(np.finfo(node.dtype().numpy()), name)))

        return self._layer.apply(import_extreme, f"{name}_{len(self._layer.nodes)}", [self._like])

    def setting(self, name: str, index: int = sys.maxsize) -> float | None:
        """Return a number that the operation states, or the call as this argument; None if neither does."""
        number = argument(self._layer, index, name)
        return None if number is None else float(number)


def _ignore_nan(op: str) -> Callable[[ElementNodes, Endpoint, Endpoint], Endpoint]:
    """Return the operation that gives the larger or smaller of two values, the other one where one is NaN."""

    def build(t: ElementNodes, a: Endpoint, b: Endpoint) -> Endpoint:
        return t(op, t("SelectV2", t("IsNan", a), b, a), t("SelectV2", t("IsNan", b), a, b))

    return build


def _log_add(base: float) -> Callable[[ElementNodes, Endpoint, Endpoint], Endpoint]:
    """Return the logarithm of the sum of two powers of a base, from the larger exponent on."""
    scale = math.log(base)

    def build(t: ElementNodes, a: Endpoint, b: Endpoint) -> Endpoint:
        rest = t("Log1p", t("Exp", t("Mul", t("Abs", t("Sub", a, b)), -scale)))
        return t("AddV2", t("Maximum", a, b), t("RealDiv", rest, scale))

    return build


def _sinc(t: ElementNodes, x: Endpoint) -> Endpoint:
    angle = t("Mul", x, math.pi)
    return t("SelectV2", t("Equal", x, 0.0), 1.0, t("RealDiv", t("Sin", angle), angle))


def _nan_to_num(t: ElementNodes, x: Endpoint) -> Endpoint:
    """Return stated numbers for NaN and infinities; without them 0 and the dtype's largest and smallest numbers."""
    result = t("SelectV2", t("IsNan", x), t.setting("nan") or 0.0, x)
    for name, sign, usual in (("posinf", INFINITY, "max"), ("neginf", -INFINITY, "min")):
        stated = t.setting(name)
        result = t("SelectV2", t("Equal", x, sign), t.extreme(usual) if stated is None else stated, result)
    return result


def _sparse_plus(t: ElementNodes, x: Endpoint) -> Endpoint:
    bend = t("Mul", t("Square", t("AddV2", x, 1.0)), 0.25)
    return t("SelectV2", t("LessEqual", x, -1.0), 0.0, t("SelectV2", t("Less", x, 1.0), bend, x))


def _is_close(t: ElementNodes, a: Endpoint, b: Endpoint) -> Endpoint:
    relative, absolute = t.setting("rtol", 2) or 0.0, t.setting("atol", 3) or 0.0
    reach = t("AddV2", t("Mul", t("Abs", b), relative), absolute)
    close = t("LessEqual", t("Abs", t("Sub", a, b)), reach)
    return t("LogicalOr", close, t("LogicalAnd", t("IsNan", a), t("IsNan", b))) if t.setting("equal_nan") else close


# Of one float.
ONE: Mapping[str, Callable[[ElementNodes, Endpoint], Endpoint]] = {
    "Cbrt": lambda t, x: t("Mul", t("Sign", x), t("Pow", t("Abs", x), 1 / 3)),
    "Exp2": lambda t, x: t("Pow", 2.0, x),
    "Isneginf": lambda t, x: t("Equal", x, -INFINITY),
    "Isposinf": lambda t, x: t("Equal", x, INFINITY),
    "NanToNum": _nan_to_num,
    "Sinc": _sinc,
    "SparsePlus": _sparse_plus,
    "SparseSigmoid": lambda t, x: t("Minimum", t("Maximum", t("Mul", t("AddV2", x, 1.0), 0.5), 0.0), 1.0),
    "Squareplus": lambda t, x: t(
        "Mul", t("AddV2", x, t("Sqrt", t("AddV2", t("Square", x), t.setting("b") or 0.0))), 0.5
    ),
    "Threshold": lambda t, x: t(
        "SelectV2", t("Greater", x, t.setting("threshold") or 0.0), x, t.setting("default_value") or 0.0
    ),
}
# Of two values of one dtype.
TWO: Mapping[str, Callable[[ElementNodes, Endpoint, Endpoint], Endpoint]] = {
    "Fmax": _ignore_nan("Maximum"),
    "Fmin": _ignore_nan("Minimum"),
    "Fmod": lambda t, a, b: t("Mul", t("Sign", a), t("FloorMod", t("Abs", a), t("Abs", b))),
    "Heaviside": lambda t, a, b: t(
        "SelectV2", t("Less", a, 0.0), 0.0, t("SelectV2", t("Greater", a, 0.0), 1.0, b)
    ),
    "Hypot": lambda t, a, b: t("Sqrt", t("AddV2", t("Square", a), t("Square", b))),
    "Isclose": _is_close,
    "Logaddexp": _log_add(math.e),
    "Logaddexp2": _log_add(2.0),
}


def glu(layer: LayerCall) -> Endpoint:
    """Return one half of the elements along an axis, times the sigmoid of the other."""
    axis = layer.constant("axis", layer.kwargs.get("axis", -1))
    halves = layer.add("Split", "halves", [axis, tensor_argument(layer)], num_split=2)
    return layer.add("Mul", "value", [halves, layer.add("Sigmoid", "gate", [Endpoint(halves.node, 1)])])


def _make_unary(build: Callable[[ElementNodes, Endpoint], Endpoint]) -> Callable[[LayerCall], Endpoint]:
    def build_row(layer: LayerCall) -> Endpoint:
        data = layer.apply(import_float, "float", [tensor_argument(layer)])
        return build(ElementNodes(layer, data), data)

    return build_row


def _make_binary(build: Callable[[ElementNodes, Endpoint, Endpoint], Endpoint]) -> Callable[[LayerCall], Endpoint]:
    def two(layer: LayerCall) -> Endpoint:
        left, right = align_operands(layer)
        return build(ElementNodes(layer, left), left, right)

    return two


ELEMENT_ROWS: Mapping[str, Callable[[LayerCall], Any]] = {
    **{name: _make_unary(build) for name, build in ONE.items()},
    **{name: _make_binary(build) for name, build in TWO.items()},
    "Glu": glu,
}
