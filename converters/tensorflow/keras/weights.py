"""The weights of Keras's files: found by class and number (version 3's archives) or by name (HDF5 files)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from graphir.converters.tensorflow.keras.hdf5 import Group
from graphir.errors import FormatError
from graphir.tensor import Tensor

# Classes that files call otherwise than Python, whose names weights have.
PYTHON_CLASSES = {"GroupQueryAttention": "GroupedQueryAttention"}


class LayerWeights(Protocol):
    """The weights of a model, of a layer, or of a part of one."""

    def tensors(self) -> list[Tensor]:
        """Return all weights, in Keras's order."""

    def part(self, attribute: str, index: int = 0, parts: int = 1) -> LayerWeights:
        """Return the weights of an object that a layer holds; where weights have names only, the `index`-th of equal
        parts."""

    def layers(self, entries: Sequence[tuple[str, str]]) -> list[LayerWeights]:
        """Return the weights of the layers of a model, stated as (name, class)."""

    def count_from(self, start: int, count: int, *path: str) -> LayerWeights:
        """Return the weights of one of several different objects that a layer holds, at this path, or by their
        number."""


class StoredByClass:
    """A group of a `.keras` archive: layers are called after their class, numbered in the order of the model's layers.

    Weights are numbered below `vars`; parts are groups with the names of Python's attributes.
    """

    def __init__(self, group: Group | None) -> None:
        self._group = group

    def tensors(self) -> list[Tensor]:
        """Return the weights of this object alone."""
        values = self._find_group("vars")
        if values is None:
            return []
        return [values.tensor(str(index)) for index in range(len(values))]

    def part(self, attribute: str, index: int = 0, parts: int = 1) -> StoredByClass:
        """Return the group of that name; with a line before it, as version 2 has it, or behind it."""
        names = (attribute, f"_{attribute}", attribute.removeprefix("_"))
        return StoredByClass(next((group for group in map(self._find_group, names) if group is not None), None))

    def layers(self, entries: Sequence[tuple[str, str]]) -> list[LayerWeights]:
        """Return the groups of the model's layers."""
        groups = self._find_group("layers")
        if groups is None:
            groups = self._find_group("_layer_checkpoint_dependencies")
        counts: Counter[str] = Counter()
        stored: list[LayerWeights] = []
        for _, class_name in entries:
            snake = _snake_case(PYTHON_CLASSES.get(class_name, class_name))
            key = f"{snake}_{counts[snake]}" if counts[snake] else snake
            counts[snake] += 1
            stored.append(StoredByClass(None if groups is None else groups.group(key)))
        return stored

    def count_from(self, start: int, count: int, *path: str) -> StoredByClass:
        """Return the group at that path."""
        stored: StoredByClass = self
        for name in path:
            stored = stored.part(name)
        return stored

    def _find_group(self, name: str) -> Group | None:
        return None if self._group is None else self._group.group(name)


def _snake_case(name: str) -> str:
    """Keras's own rule.

    >>> _snake_case("Conv2D"), _snake_case("ReLU"), _snake_case("BatchNormalization")
    ('conv2d', 're_lu', 'batch_normalization')
    """
    name = re.sub(r"\W+", "", name)
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


class StoredByName:
    """Weights with their names (`lstm/lstm_cell/kernel:0`), in the order in which the file lists them."""

    def __init__(self, tensors: Sequence[tuple[str, Tensor]], owner: str) -> None:
        self._tensors = list(tensors)
        self._owner = owner

    def tensors(self) -> list[Tensor]:
        """Return all weights: a layer's list holds those of its parts too."""
        return [tensor for _, tensor in self._tensors]

    def part(self, attribute: str, index: int = 0, parts: int = 1) -> StoredByName:
        """Return the `index`-th of equal parts. Raises FormatError if there are none."""
        size, left = divmod(len(self._tensors), parts)
        if left:
            count = len(self._tensors)
            raise FormatError(f"layer {self._owner} has {count} weights, expected {parts} equal parts of them")
        return StoredByName(self._tensors[index * size : (index + 1) * size], self._owner)

    def count_from(self, start: int, count: int, *path: str) -> StoredByName:
        """Return the weights from that number on."""
        return StoredByName(self._tensors[start : start + count], self._owner)

    def layers(self, entries: Sequence[tuple[str, str]]) -> list[LayerWeights]:
        """Return the weights whose name has the layer's name in it, by layer. Raises FormatError for a weight of no
        layer."""
        names = {name for name, _ in entries}
        by_layer: dict[str, list[tuple[str, Tensor]]] = {}
        for text, tensor in self._tensors:
            inner = [part for part in text.split("/")[:-1] if part in names]
            if not inner:
                raise FormatError(f"the weight {text} of {self._owner} belongs to no layer of that model")
            by_layer.setdefault(inner[-1] if inner[0] == self._owner else inner[0], []).append((text, tensor))
        return [StoredByName(by_layer.get(name, []), name) for name, _ in entries]


class StoredInGroups:
    """An HDF5 file: each layer of the model has a group that lists its weights by name."""

    def __init__(self, groups: Group, path: Path) -> None:
        self._groups = groups
        self._path = path

    def tensors(self) -> list[Tensor]:
        """Return nothing: a model has no weights of its own."""
        return []

    def part(self, attribute: str, index: int = 0, parts: int = 1) -> StoredInGroups:
        """Return this: a model has no parts but its layers."""
        return self

    def count_from(self, start: int, count: int, *path: str) -> StoredInGroups:
        """Return this: a model has no parts but its layers."""
        return self

    def layers(self, entries: Sequence[tuple[str, str]]) -> list[LayerWeights]:
        """Return the groups of the layers."""
        return [StoredByName(self._group(name), name) for name, _ in entries]

    def _group(self, name: str) -> list[tuple[str, Tensor]]:
        group = self._groups.group(name)
        if group is None:
            return []
        texts = group.attrs.get("weight_names")
        if not isinstance(texts, list):
            raise FormatError(f"the weights of layer {name} have no list of their names", path=self._path)
        return [(text, group.tensor(text)) for text in texts]
