"""The calls that connect a Keras model's layers, in either version's notation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphir.converters.tensorflow.keras.context import Held

Entry = Mapping[str, Any]


class Reference(NamedTuple):
    """A result of a call: the layer's name, the call's number among the layer's, the result's number."""

    layer: str
    call: int
    result: int


def arguments_of(call: Any, entries: Mapping[str, Entry]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call in either version's notation, with References for values."""
    if isinstance(call, Mapping) and "args" in call:
        return parsed(call["args"], {}), parsed(call.get("kwargs") or {}, {})
    if isinstance(call, Mapping):
        return [parsed(call, entries)], {}
    if not call:
        return [], {}
    rows = [call] if isinstance(call[0], str) else call
    values = [row[2] if row[0] == "_CONSTANT_VALUE" else Reference(row[0], row[1], row[2]) for row in rows]
    kwargs: dict[str, Any] = {}
    for row in rows:
        kwargs |= parsed(row[3], entries) if len(row) > 3 and row[3] else {}
    return [values[0] if len(values) == 1 else values], kwargs


def parsed(data: Any, entries: Mapping[str, Entry]) -> Any:
    """A structure with References and arrays where the file has entries for them.

    `entries` are the layers whose names are references in version 2's notation; empty for version 3's.
    """
    if isinstance(data, Mapping):
        kind = data.get("class_name")
        if kind == "__keras_tensor__":
            return Reference(*data["config"]["keras_history"])
        if kind in ("__tensor__", "__numpy__"):
            return np.array(data["config"]["value"], data["config"]["dtype"])
        if kind == "__slice__":
            return {key: data["config"].get(key) for key in ("start", "stop", "step")}
        return {key: parsed(value, entries) for key, value in data.items()}
    if isinstance(data, list):
        if len(data) in (3, 4) and isinstance(data[0], str) and data[0] in entries and isinstance(data[1], int):
            return Reference(data[0], data[1], data[2])
        return [parsed(value, entries) for value in data]
    return data


def references_in(structure: Any) -> Iterator[Reference]:
    if isinstance(structure, Reference):
        yield structure
    elif isinstance(structure, Mapping):
        for inner in structure.values():
            yield from references_in(inner)
    elif isinstance(structure, list):
        for inner in structure:
            yield from references_in(inner)


def mapped(structure: Any, function: Any) -> Any:
    """The structure with each value replaced."""
    if isinstance(structure, (Held, Reference)):
        return function(structure)
    if isinstance(structure, Mapping):
        return {key: mapped(value, function) for key, value in structure.items()}
    if isinstance(structure, list):
        return [mapped(value, function) for value in structure]
    return structure


def filled(structure: Any, results: Mapping[tuple[str, int], Sequence[Held]]) -> Any:
    return mapped(structure, lambda held: results[held.layer, held.call][held.result])


def first_calls(
    calls: Sequence[tuple[str, int, list[Any], dict[str, Any]]], outputs: Sequence[Reference]
) -> dict[str, int]:
    """The number of the first call of each layer: 1 for nested models, which were called when they were made."""
    counts: dict[str, int] = {}
    for name, *_ in calls:
        counts[name] = counts.get(name, 0) + 1
    wanted = [held for _, _, args, kwargs in calls for held in references_in([args, kwargs])]
    return {held.layer: 1 for held in (*wanted, *outputs) if held.call >= counts.get(held.layer, held.call + 1)}


def listed(layers: Any) -> list[Reference]:
    """`[["a", 0, 0]]`, or `["a", 0, 0]` for one, or a mapping of names to such, which Keras takes by sorted keys."""
    if isinstance(layers, Mapping):
        return [reference for key in sorted(layers) for reference in listed(layers[key])]
    if layers and isinstance(layers[0], str):
        return [Reference(layers[0], layers[1], layers[2])]
    return [reference for inner in layers for reference in listed(inner)]


def output_names(layers: Any) -> list[str]:
    """The names of the outputs: their keys, or those of their layers."""
    if not isinstance(layers, Mapping):
        return [reference.layer for reference in listed(layers)]
    found: list[str] = []
    for key in sorted(layers):
        held = listed(layers[key])
        found += [key] if len(held) == 1 else [f"{key}_{place}" for place in range(len(held))]
    return found


__all__ = [
    "Reference", "arguments_of", "filled", "first_calls", "listed", "mapped", "output_names", "parsed", "references_in",
]
