"""One call of a Keras layer, as the functions that express layers see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from graphir.converters.kernel.refusals import Refusal
from graphir.converters.tensorflow.files.records import Endpoint, TFNode
from graphir.converters.tensorflow.importing.context import Imported, ImportFunction, ImportNode
from graphir.converters.tensorflow.keras.config import Settings
from graphir.converters.tensorflow.keras.weights import Weights
from graphir.errors import FormatError
from graphir.ops.base import Operator
from graphir.ops.elementwise import Cast
from graphir.tensor import Tensor
from graphir.types import DType

KERAS_LAYER = "Keras layer"


def import_layer(node: ImportNode) -> Imported:
    """A node that stands for a Keras layer, or a part of one, that TensorFlow has no operator for."""
    function: ImportFunction = node.attrs["function"]
    return function(node)


def direct_operator(op: Operator) -> ImportFunction:
    """The import function of one operator of the graph's, on the node's operands."""

    def import_direct(node: ImportNode) -> Imported:
        return node.emit(op, *node.inputs)

    return import_direct


def cast_floats(dtype: DType) -> ImportFunction:
    """The import function that brings floats to a dtype and leaves everything else."""

    def import_cast(node: ImportNode) -> Imported:
        value = node.input(0)
        if value.dtype is None or not value.dtype.is_float or value.dtype is dtype:
            return value
        return node.emit(Cast(dtype), value)

    return import_cast


def import_float(node: ImportNode) -> Imported:
    """A value as floats: integers as float32."""
    value = node.input(0)
    return value if value.dtype is None or value.dtype.is_float else node.emit(Cast(DType.FLOAT32), value)


class Held(NamedTuple):
    """A value of the model, and the mask (N, steps) that Keras carries with it: which steps count."""

    value: Endpoint
    mask: Endpoint | None = None


def held_in(structure: Any) -> Iterator[Held]:
    """The values in a nested structure of arguments, in order."""
    if isinstance(structure, Held):
        yield structure
    elif isinstance(structure, Mapping):
        for inner in structure.values():
            yield from held_in(inner)
    elif isinstance(structure, (list, tuple)):
        for inner in structure:
            yield from held_in(inner)


def flat(argument: Any) -> Iterator[Held | None]:
    """What a model is called on, one by one as Keras flattens it: mappings by their sorted keys, None as a place."""
    if argument is None or isinstance(argument, Held):
        yield argument
    elif isinstance(argument, Mapping):
        for key in sorted(argument):
            yield from flat(argument[key])
    elif isinstance(argument, (list, tuple)):
        for inner in argument:
            yield from flat(inner)


@dataclass
class Layer:
    """One call: the layer's configuration and weights, the arguments, and the nodes that are made for it.

    `mask` is the mask of the results; `call` expresses another layer, which this one holds, on values. `owner` is the
    layer's path in the model, the same for all of its calls; `shared` holds what calls made of weights, by it.
    """

    name: str
    config: Mapping[str, Any]
    stored: Weights
    args: Sequence[Any]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    keras: int = 3
    nodes: list[TFNode] = field(default_factory=list)
    mask: Endpoint | None = None
    dtype: DType = DType.FLOAT32
    owner: str = ""
    shared: dict[tuple[object, ...], Any] = field(default_factory=dict)
    call: Callable[[Mapping[str, Any], str, Weights, Sequence[Held]], list[Held]] = lambda *_: []

    def __post_init__(self) -> None:
        self.config = Settings(self.config, self.name)
        self.weights = self.stored.tensors()

    def constant(self, suffix: str, value: object, dtype: type = np.int32) -> Endpoint:
        """A constant node; tensors stay where they lie, floats are of the dtype that the layer computes in.

        A tensor is a weight: all calls of a layer have the one of the first call.
        """
        if isinstance(value, Tensor):
            return self._stored(suffix, value)
        wanted = self.dtype.numpy() if dtype is np.float32 else dtype
        try:
            tensor = Tensor.of(np.array(value, wanted))
        except (TypeError, ValueError, OverflowError) as error:
            raise FormatError(f"layer {self.name}: its {suffix} is no array of numbers: {error}") from error
        return self.add("Const", suffix, (), value=tensor, dtype=tensor.dtype)

    def _stored(self, suffix: str, tensor: Tensor) -> Endpoint:
        key = self.owner, suffix, tensor.type
        if not self.owner or key not in self.shared:
            self.shared[key] = self.add("Const", suffix, (), value=tensor, dtype=tensor.dtype)
        found: Endpoint = self.shared[key]
        return found

    def tensor(self, slot: int) -> Tensor:
        """The elements of a weight. Raises FormatError if the file holds fewer."""
        if slot >= len(self.weights):
            raise FormatError(f"layer {self.name} has {len(self.weights)} weights, expected {slot + 1} or more")
        return self.converted(self.weights[slot])

    def converted(self, tensor: Tensor) -> Tensor:
        """A weight in the dtype that the layer computes in."""
        wanted = self.dtype
        if wanted is tensor.dtype or not tensor.dtype.is_float:
            return tensor
        return Tensor.computed(wanted, tensor.shape, lambda: tensor.numpy().astype(wanted.numpy()))

    def weight(self, slot: int) -> Endpoint:
        """A weight. Raises FormatError if the file holds fewer."""
        return self.constant(f"weight_{slot}", self.tensor(slot))

    def add(self, op: str, suffix: str, inputs: Sequence[Endpoint], **attrs: Any) -> Endpoint:
        """A node of TensorFlow's, or one of those that only this folder knows."""
        name = f"{self.name}/{suffix}"
        self.nodes.append(TFNode(name, op, tuple(inputs), (), attrs))
        return Endpoint(name)

    def apply(
        self, function: ImportFunction | Operator, suffix: str, inputs: Sequence[Endpoint], **attrs: Any
    ) -> Endpoint:
        """A node that an import function of its own, or one operator of the graph's, expresses."""
        imported = direct_operator(function) if isinstance(function, Operator) else function
        return self.add(KERAS_LAYER, suffix, inputs, function=imported, **attrs)

    def autocast(self, held: Held) -> Held:
        """The value as the layer takes it: floats in the dtype that it computes in."""
        name = f"{self.name}/cast_{len(self.nodes)}"
        self.nodes.append(TFNode(name, KERAS_LAYER, (held.value,), (), {"function": cast_floats(self.dtype)}))
        return Held(Endpoint(name), held.mask)

    @property
    def operands(self) -> list[Held]:
        """The values of the first argument; for layers that take each value as an argument of its own, `values`."""
        return list(held_in(self.args[:1]))

    @property
    def inputs(self) -> list[Endpoint]:
        """The same without masks."""
        return [held.value for held in self.operands]

    @property
    def data(self) -> Endpoint:
        """The first operand."""
        return self.first.value

    @property
    def first(self) -> Held:
        """The same with its mask. Raises FormatError for a call without values."""
        found = self.operands
        if not found:
            raise FormatError(f"layer {self.name} is called without a value")
        return found[0]

    def argument(self, place: int, name: str) -> Any:
        """An argument, given by place or by name; None if it is not given."""
        return self.args[place] if place < len(self.args) else self.kwargs.get(name)

    def stated_mask(self) -> Endpoint | None:
        """The mask that the call states, else the one that the data carries."""
        stated = self.kwargs.get("mask")
        if isinstance(stated, Held):
            return stated.value
        return self.first.mask

    def numbers(self, key: str, axes: int, default: int = 1) -> list[int]:
        """A number for each of the spatial axes."""
        held = self.config.get(key, default)
        found = [held] * axes if isinstance(held, int) else list(held or ())
        if len(found) != axes:
            raise FormatError(f"layer {self.name}: {key} is {str(held)[:60]}, expected one number or {axes}")
        return found

    @property
    def channels_first(self) -> bool:
        """Whether the channels come before the spatial axes."""
        return self.config.get("data_format") == "channels_first"

    def data_format(self, axes: int = 2) -> str:
        """TensorFlow's name of the layout."""
        spatial = "DHW"[3 - axes :]
        return f"NC{spatial}" if self.channels_first else f"N{spatial}C"

    def whole(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """Numbers of spatial axes with 1 for batch and channels."""
        return (1, 1, *numbers) if self.channels_first else (1, *numbers, 1)

    def padding(self) -> str:
        """TensorFlow's padding."""
        held = self.config.get("padding", "valid")
        if held not in ("same", "valid"):
            raise Refusal(f"padding {held!r}")
        return str(held).upper()


def activation_name(held: Any) -> tuple[str, Mapping[str, Any]]:
    """The name of an activation and what is set of it, from a name, an object's entry, or None.

    >>> activation_name("relu"), activation_name({"class_name": "LeakyReLU", "config": {"negative_slope": 0.1}})
    (('relu', {}), ('LeakyReLU', {'negative_slope': 0.1}))
    >>> activation_name({"class_name": "function", "config": "gelu"}), activation_name(None)
    (('gelu', {}), ('linear', {}))
    """
    if isinstance(held, Mapping):
        config = held.get("config")
        if isinstance(config, str):
            return config, {}
        return str(held.get("class_name")), config if isinstance(config, Mapping) else {}
    return str(held or "linear"), {}


__all__ = [
    "KERAS_LAYER",
    "Held",
    "Layer",
    "activation_name",
    "flat",
    "held_in",
    "import_float",
    "import_layer",
]
