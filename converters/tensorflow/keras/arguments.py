"""The arguments of an operation in Keras's models, by their places or by any of the names that they have had."""

from __future__ import annotations

from typing import Any

from graphir.converters.kernel.refusals import Refusal
from graphir.converters.tensorflow.files.records import Endpoint
from graphir.converters.tensorflow.keras.context import Held, Layer

FIRST = ("x", "x1", "input_tensor", "inputs", "a", "tensor", "xs", "values", "logits", "features", "input")


def first_argument(layer: Layer) -> Any:
    """The first argument, whatever it is called."""
    if layer.args:
        return layer.args[0]
    return next((layer.kwargs[name] for name in FIRST if name in layer.kwargs), None)


def argument(layer: Layer, place: int, *names: str) -> Any:
    """An argument by its place or one of its names; None if it is not given."""
    if place < len(layer.args):
        return layer.args[place]
    return next((layer.kwargs[name] for name in names if layer.kwargs.get(name) is not None), None)


def tensor_argument(layer: Layer) -> Endpoint:
    """The first argument, a value of the model; anything else is refused."""
    value = first_argument(layer)
    if not isinstance(value, Held):
        raise Refusal("its first argument is no value of the model")
    return value.value


def whole_numbers(held: Any, what: str) -> list[int]:
    """A list of whole numbers, refused otherwise."""
    if not isinstance(held, (list, tuple)) or not all(isinstance(number, int) for number in held):
        raise Refusal(f"{what} are {str(held)[:40]}, expected whole numbers")
    return list(held)


__all__ = ["argument", "first_argument", "tensor_argument", "whole_numbers"]
