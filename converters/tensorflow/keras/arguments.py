"""The arguments of an operation in Keras's models, by their index or by any of the names that they have had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphir.converters.kernel.refusals import Refusal
from graphir.converters.tensorflow.files.records import Endpoint
from graphir.converters.tensorflow.importing.context import ImportNode
from graphir.converters.tensorflow.keras.context import KerasValue, LayerCall, values_in
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.types import DType

FIRST = (
    "x", "x1", "input_tensor", "inputs", "a", "tensor", "xs", "values", "logits", "features", "input", "images", "data",
    "array",
)  # fmt: skip


def first_argument(layer: LayerCall) -> Any:
    """Return the first argument, whatever it is called."""
    if layer.args:
        return layer.args[0]
    return next((layer.kwargs[name] for name in FIRST if name in layer.kwargs), None)


def argument(layer: LayerCall, index: int, *names: str) -> Any:
    """Return an argument by its index or one of its names; None if it is not given."""
    if index < len(layer.args):
        return layer.args[index]
    return next((layer.kwargs[name] for name in names if layer.kwargs.get(name) is not None), None)


def tensor_argument(layer: LayerCall) -> Endpoint:
    """Return the first argument, a value of the model; anything else is refused."""
    value = first_argument(layer)
    if not isinstance(value, KerasValue):
        raise Refusal("its first argument is no value of the model")
    return value.value


def whole_numbers(numbers: Any, what: str) -> list[int]:
    """Return a list of whole numbers, refused otherwise."""
    if not isinstance(numbers, (list, tuple)) or not all(isinstance(number, int) for number in numbers):
        raise Refusal(f"{what} are {str(numbers)[:40]}, expected whole numbers")
    return list(numbers)


def stated_axes(layer: LayerCall, name: str = "axis") -> list[int] | None:
    """Return the axes that an operation states, None if it states none."""
    axes = layer.kwargs.get(name)
    return None if axes is None else [axes] if isinstance(axes, int) else whole_numbers(axes, "its axes")


def data_along(layer: LayerCall) -> tuple[Endpoint, int]:
    """Return the first argument and the axis that an operation states; all elements in one axis if it states None."""
    data, axes = tensor_argument(layer), stated_axes(layer)
    if axes is None:
        return flatten(layer, data), 0
    if len(axes) != 1:
        raise Refusal(f"the axes {axes}, expected one")
    return data, axes[0]


def flatten(layer: LayerCall, data: Endpoint) -> Endpoint:
    """Return all elements in one axis."""
    count = len(layer.nodes)
    return layer.add("Reshape", f"flat_{count}", [data, layer.constant(f"flat_shape_{count}", [-1])])


def operand(layer: LayerCall, index: int, name: str, dtype: type = np.float32) -> Endpoint:
    """Return an argument that is a value of the model or a constant."""
    stated = argument(layer, index, name)
    if isinstance(stated, KerasValue):
        return stated.value
    if stated is None:
        raise Refusal(f"no argument {name}")
    return layer.constant(name, stated, dtype)


def stated_shape(layer: LayerCall) -> tuple[int | None, ...]:
    """Return the shape of the first argument, which the file states. Raises Refusal if it does not."""
    value = first_argument(layer)
    if not isinstance(value, KerasValue) or value.shape is None:
        raise Refusal("the file does not state the shape of its first argument")
    return value.shape


def stated_axis(layer: LayerCall, usual: int = -1) -> int:
    """Return the one axis that an operation states."""
    return (stated_axes(layer) or [usual])[0]


def bring_together(node: ImportNode, pair: Sequence[Any]) -> list[Value]:
    """Return both operands in one dtype: numbers take the other's, and of an integer and a float the float's is
    taken."""
    values = list(node.inputs)
    like = next((value for value in values if value.dtype is not None and value.dtype.is_float), values[0])
    operands: list[Value] = []
    for side in pair:
        if not isinstance(side, KerasValue):
            number = np.asarray(side)
            if number.dtype.kind == "f" and like.dtype is not None and like.dtype.is_integer:
                node.refuse("a float and integers; convert the integers first")
            operands.append(node.constant(number.astype((like.dtype or DType.FLOAT32).numpy())))
            continue
        value = values.pop(0)
        if value.dtype is not None and like.dtype is not None and value.dtype is not like.dtype:
            value = node.step(ew.Cast(like.dtype), value, suffix="converted")
        operands.append(value)
    return operands


def align_operands(layer: LayerCall, pair: Sequence[Any] | None = None) -> list[Endpoint]:
    """Return two operands, the first two arguments if none are named, in one dtype (see `bring_together`)."""
    sides = [first_argument(layer), argument(layer, 1, "x2", "y")] if pair is None else pair
    endpoints = [side.value for side in sides if isinstance(side, KerasValue)]
    if not endpoints or any(isinstance(side, (str, Mapping, list)) or side is None for side in sides):
        raise Refusal("its arguments are not two values or numbers")
    together = layer.apply(lambda node: tuple(bring_together(node, sides)), "operands", endpoints)
    return [together, Endpoint(together.node, 1)]


def several_arguments(layer: LayerCall, stated: Any) -> list[Endpoint]:
    """Return a list of values of the model; anything else is refused."""
    values = list(values_in(stated))
    if not values or not isinstance(stated, (list, tuple)) or len(values) != len(stated):
        raise Refusal("its argument is no list of values")
    return [value.value for value in values]
