"""One call of a Keras layer, as the functions that express layers see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from graphir.converters.kernel.importing import direct
from graphir.converters.kernel.refusals import Refusal
from graphir.converters.tensorflow.files.records import Endpoint, TFNode
from graphir.converters.tensorflow.importing.context import Imported, ImportFunction, ImportNode
from graphir.converters.tensorflow.keras.config import Settings
from graphir.converters.tensorflow.keras.signatures import Reads
from graphir.converters.tensorflow.keras.weights import LayerWeights
from graphir.errors import FormatError
from graphir.ops.base import Operator
from graphir.ops.elementwise import Cast, Greater
from graphir.tensor import Tensor
from graphir.types import DType

KERAS_LAYER = "Keras layer"


def import_layer(node: ImportNode) -> Imported:
    """Return a node that stands for a Keras layer, or a part of one, that TensorFlow has no operator for."""
    function: ImportFunction = node.attrs["function"]
    return function(node)


def cast_floats(dtype: DType) -> ImportFunction:
    """Return the import function that brings floats to a dtype and leaves everything else."""

    def import_cast(node: ImportNode) -> Imported:
        value = node.input(0)
        if value.dtype is None or not value.dtype.is_float or value.dtype is dtype:
            return value
        return node.emit(Cast(dtype), value)

    return import_cast


def import_float(node: ImportNode) -> Imported:
    """Return a value as floats: integers as float32."""
    value = node.input(0)
    return value if value.dtype is None or value.dtype.is_float else node.emit(Cast(DType.FLOAT32), value)


def _boolean(least: float) -> ImportFunction:
    """Return the import function of a mask as booleans."""

    def import_boolean(node: ImportNode) -> Imported:
        value = node.input(0)
        if value.dtype is DType.BOOL:
            return value
        if not least:
            return node.emit(Cast(DType.BOOL), value)
        return node.emit(Greater(), value, node.scalar_like(value, least))

    return import_boolean


class KerasValue(NamedTuple):
    """A value of the model, the mask (N, steps) that Keras carries with it: which steps count; and its dtype and shape
    where the file states them."""

    value: Endpoint
    mask: Endpoint | None = None
    dtype: str = ""
    shape: tuple[int | None, ...] | None = None


def values_in(structure: Any) -> Iterator[KerasValue]:
    """Yield the values in a nested structure of arguments, in order."""
    if isinstance(structure, KerasValue):
        yield structure
    elif isinstance(structure, Mapping):
        for inner in structure.values():
            yield from values_in(inner)
    elif isinstance(structure, (list, tuple)):
        for inner in structure:
            yield from values_in(inner)


def flat(argument: Any) -> Iterator[KerasValue | None]:
    """Yield what a model is called on, one by one as Keras flattens it: mappings by their sorted keys, None as a
    place."""
    if argument is None or isinstance(argument, KerasValue):
        yield argument
    elif isinstance(argument, Mapping):
        for key in sorted(argument):
            yield from flat(argument[key])
    elif isinstance(argument, (list, tuple)):
        for inner in argument:
            yield from flat(inner)


# Calls a layer that another one has inside: its configuration, the end of its name, its weights and the operands.
InnerCall = Callable[[Mapping[str, Any], str, LayerWeights, Sequence[KerasValue]], list[KerasValue]]


@dataclass
class LayerCall:
    """One call: the layer's configuration and weights, the arguments, and the nodes that are made for it.

    `args` is the first argument, `kwargs` the others by name. `mask` is the mask of the first `masked` results; with
    `takes_masks` the values that the call is given have none afterwards. `call` expresses another layer, which this one
    holds, on values. `owner` is the layer's path in the model, the same for all of its calls; `shared` holds what calls
    made of weights, by it.
    """

    name: str
    config: Settings
    stored: LayerWeights
    args: Sequence[Any]
    kwargs: Reads = field(default_factory=lambda: Reads({}))
    keras: int = 3
    class_name: str = ""
    nodes: list[TFNode] = field(default_factory=list)
    mask: Endpoint | None = None
    masked: int = 1
    takes_masks: bool = False
    dtype: DType = DType.FLOAT32
    owner: str = ""
    shared: dict[tuple[object, ...], Any] = field(default_factory=dict)
    call: InnerCall = lambda *_: []

    def __post_init__(self) -> None:
        self._masks: dict[str, Endpoint] = {}
        self.weights = self.stored.tensors()

    def constant(self, suffix: str, value: object, dtype: type = np.int32) -> Endpoint:
        """Add a constant node; tensors stay where they lie, floats are of the dtype that the layer computes in.

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
        endpoint: Endpoint = self.shared[key]
        return endpoint

    def tensor(self, slot: int) -> Tensor:
        """Return the elements of a weight. Raises FormatError if the file holds fewer."""
        if slot >= len(self.weights):
            raise FormatError(f"layer {self.name} has {len(self.weights)} weights, expected {slot + 1} or more")
        return self.converted(self.weights[slot])

    def converted(self, tensor: Tensor) -> Tensor:
        """Return a weight in the dtype that the layer computes in."""
        wanted = self.dtype
        if wanted is tensor.dtype or not tensor.dtype.is_float:
            return tensor
        return Tensor.computed(wanted, tensor.shape, lambda: tensor.numpy().astype(wanted.numpy()))

    def weight(self, slot: int, name: str) -> Endpoint:
        """Return a weight by its number, under Keras's name of it. Raises FormatError if the file holds fewer."""
        return self.constant(name, self.tensor(slot))

    def add(self, op: str, suffix: str, inputs: Sequence[Endpoint], **attrs: Any) -> Endpoint:
        """Add a node of TensorFlow's, or one of those that only this folder knows."""
        name = f"{self.name}/{suffix}"
        self.nodes.append(TFNode(name, op, tuple(inputs), (), attrs))
        return Endpoint(name)

    def apply(
        self, function: ImportFunction | Operator, suffix: str, inputs: Sequence[Endpoint], **attrs: Any
    ) -> Endpoint:
        """Add a node that an import function of its own, or one operator of the graph's, expresses."""
        imported = direct(function) if isinstance(function, Operator) else function
        return self.add(KERAS_LAYER, suffix, inputs, function=imported, **attrs)

    def autocast(self, operand: KerasValue) -> KerasValue:
        """Return the value as the layer takes it: floats in the dtype that it computes in."""
        name = f"{self.name}/cast_{len(self.nodes)}"
        self.nodes.append(TFNode(name, KERAS_LAYER, (operand.value,), (), {"function": cast_floats(self.dtype)}))
        return KerasValue(Endpoint(name), operand.mask)

    @property
    def operands(self) -> list[KerasValue]:
        """Return the values of the first argument."""
        return list(values_in(self.args[:1]))

    @property
    def inputs(self) -> list[Endpoint]:
        """Return the values of the first argument without their masks."""
        return [operand.value for operand in self.operands]

    @property
    def data(self) -> Endpoint:
        """Return the first operand."""
        return self.first.value

    @property
    def first(self) -> KerasValue:
        """Return the first operand with its mask. Raises FormatError for a call without values."""
        operands = self.operands
        if not operands:
            raise FormatError(f"layer {self.name} is called without a value")
        return operands[0]

    def given(self, name: str) -> KerasValue | None:
        """Return a value of the model that the call gives as an argument; None if it gives none. Refuses anything
        else."""
        stated = self.kwargs.get(name)
        if isinstance(stated, KerasValue | None):
            return stated
        raise Refusal(f"its argument {name} is no value of the model")

    def mask_argument(self, name: str, least: float = 0.0) -> Endpoint | None:
        """Return the mask that the call states as an argument; None if it states none. Of numbers those above `least`
        count, with 0 all others than 0."""
        return None if self.kwargs.get(name) is None else self._mask(name, self.kwargs[name], least)

    def mask_arguments(self, name: str) -> list[Endpoint | None]:
        """Return the masks in a list that the call states as an argument."""
        stated = self.kwargs.get(name)
        if not isinstance(stated, list):
            raise Refusal(f"its argument {name} is no list of masks")
        return [None if mask is None else self._mask(f"{name}_{slot}", mask) for slot, mask in enumerate(stated)]

    def _mask(self, name: str, stated: Any, least: float = 0.0) -> Endpoint:
        if isinstance(stated, (list, np.ndarray)) and not any(values_in(stated)):
            return self.constant(name, np.not_equal(stated, 0), np.bool_)
        if not isinstance(stated, KerasValue):
            raise Refusal(f"its argument {name} is no mask")
        if name not in self._masks:
            self._masks[name] = self.apply(_boolean(least), f"{name}_of_call", [stated.value])
        return self._masks[name]

    def stated_mask(self) -> Endpoint | None:
        """Return the mask that the call states, else the one that the data carries."""
        return self.mask_argument("mask") or self.first.mask

    def numbers(self, key: str, axes: int, default: int = 1) -> list[int]:
        """Return a number for each of the spatial axes."""
        setting = self.config.get(key, default)
        numbers = [setting] * axes if isinstance(setting, int) else list(setting or ())
        if len(numbers) != axes:
            raise FormatError(f"layer {self.name}: {key} is {str(setting)[:60]}, expected one number or {axes}")
        return numbers

    @property
    def channels_first(self) -> bool:
        """Return whether the channels come before the spatial axes."""
        return bool(self.config.get("data_format") == "channels_first")

    def data_format(self, axes: int = 2) -> str:
        """Return TensorFlow's name of the layout."""
        spatial = "DHW"[3 - axes :]
        return f"NC{spatial}" if self.channels_first else f"N{spatial}C"

    def whole(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """Return the numbers of spatial axes with 1 for batch and channels."""
        return (1, 1, *numbers) if self.channels_first else (1, *numbers, 1)

    def padding(self) -> str:
        """Return TensorFlow's name of the padding."""
        padding = self.config.get("padding", "valid")
        if padding not in ("same", "valid"):
            raise Refusal(f"padding {padding!r}")
        return str(padding).upper()


def activation_name(activation: Any) -> tuple[str, Mapping[str, Any]]:
    """Return the name of an activation and what is set of it, from a name, an object's entry, or None.

    >>> activation_name("relu"), activation_name({"class_name": "LeakyReLU", "config": {"negative_slope": 0.1}})
    (('relu', {}), ('LeakyReLU', {'negative_slope': 0.1}))
    >>> activation_name({"class_name": "function", "config": "gelu"}), activation_name(None)
    (('gelu', {}), ('linear', {}))
    """
    if isinstance(activation, Mapping):
        config = activation.get("config")
        if isinstance(config, str):
            return config, {}
        return str(activation.get("class_name")), config if isinstance(config, Mapping) else {}
    return str(activation or "linear"), {}
