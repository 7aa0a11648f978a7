"""The calls that connect a Keras model's layers, in either version's notation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphir.converters.tensorflow.keras.config import is_dtype
from graphir.converters.tensorflow.keras.context import KerasValue
from graphir.errors import FormatError
from graphir.types import DType

Entry = Mapping[str, Any]
# A layer's name, the call's number in the file, its arguments by position and by name.
Call = tuple[str, int, list[Any], dict[str, Any]]


class CallResult(NamedTuple):
    """A result of a call: the layer's name, the call's number among the layer's, the result's number; and its dtype and
    shape where the file states them."""

    layer: str
    call: int
    result: int
    dtype: str = ""
    shape: tuple[int | None, ...] | None = None


def arguments_of(call: Any, entries: Mapping[str, Entry]) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a call in either version's notation, with References for values."""
    if isinstance(call, Mapping) and "args" in call:
        args, kwargs = call["args"], call.get("kwargs") or {}
        if not isinstance(args, list) or not isinstance(kwargs, Mapping) or "class_name" in kwargs:
            raise FormatError(f"its inbound_nodes are not as Keras writes them: {str(call)[:60]}")
        return parsed(args, {}), parsed(kwargs, {})
    if isinstance(call, Mapping):
        return [parsed(call, entries)], {}
    if not call:
        return [], {}
    if not isinstance(call, list):
        raise FormatError(f"its inbound_nodes are not as Keras writes them: {str(call)[:60]}")
    rows = [call] if isinstance(call[0], str) else call
    values = [_read_constant_or_reference(row) for row in rows]
    kwargs = {}
    for row in rows:
        if len(row) > 3 and row[3]:
            if not isinstance(row[3], Mapping):
                raise FormatError(f"its inbound_nodes are not as Keras writes them: {str(row)[:60]}")
            kwargs |= parsed(row[3], entries)
    return [values[0] if len(values) == 1 else values], kwargs


def _read_constant_or_reference(row: Any) -> Any:
    if isinstance(row, list) and len(row) > 2 and row[0] == "_CONSTANT_VALUE":
        return row[2]
    return _read_reference(row)


def _read_reference(row: Any) -> CallResult:
    """Return the result that a list of a layer's name, a call's number and a result's number means. Raises
    FormatError."""
    if isinstance(row, list) and len(row) > 2 and isinstance(row[0], str) and all(map(_is_place, row[1:3])):
        return CallResult(row[0], row[1], row[2])
    raise FormatError(f"{str(row)[:60]} is no reference to a layer's result, such as ['dense', 0, 0]")


def _is_place(number: Any) -> bool:
    return type(number) is int and 0 <= number < 1 << 31


def _read_array(config: Any) -> Any:
    """Return a constant array among the arguments of a call."""
    if not isinstance(config, Mapping) or not is_dtype(config.get("dtype")):
        raise FormatError(f"a constant that is not as Keras writes it: {str(config)[:60]}")
    try:
        return np.array(config.get("value"), DType.of(config["dtype"]).numpy())
    except (ValueError, TypeError, OverflowError) as error:
        raise FormatError(f"a constant that is no array of {config['dtype']}: {error}") from error


def parsed(data: Any, entries: Mapping[str, Entry]) -> Any:
    """Return a structure with References and arrays where the file has entries for them.

    `entries` are the layers whose names are references in version 2's notation; empty for version 3's.
    """
    if isinstance(data, Mapping):
        kind = data.get("class_name")
        if kind == "__keras_tensor__":
            config = data.get("config")
            if not isinstance(config, Mapping):
                return _read_reference(config)
            shape = config.get("shape")
            if not isinstance(shape, list) or not all(size is None or _is_place(size) for size in shape):
                shape = None
            return _read_reference(config.get("keras_history"))._replace(
                dtype=str(config.get("dtype")), shape=None if shape is None else tuple(shape)
            )
        if kind in ("__tensor__", "__numpy__"):
            return _read_array(data.get("config"))
        if kind == "__slice__":
            config = data.get("config")
            if not isinstance(config, Mapping):
                raise FormatError(f"a slice that is not as Keras writes it: {str(data)[:60]}")
            return {key: config.get(key) for key in ("start", "stop", "step")}
        return {key: parsed(value, entries) for key, value in data.items()}
    if isinstance(data, list):
        if len(data) in (3, 4) and isinstance(data[0], str) and data[0] in entries and isinstance(data[1], int):
            return _read_reference(data)
        return [parsed(value, entries) for value in data]
    if isinstance(data, int) and abs(data) >= 1 << 63:
        raise FormatError("a call with a number of more than 64 bits")
    return data


def references_in(structure: Any) -> Iterator[CallResult]:
    """Yield the references in a structure as Keras flattens it: mappings by their sorted keys."""
    if isinstance(structure, CallResult):
        yield structure
    elif isinstance(structure, Mapping):
        for key in sorted(structure):
            yield from references_in(structure[key])
    elif isinstance(structure, (list, tuple)):
        for inner in structure:
            yield from references_in(inner)


def mapped(structure: Any, function: Any) -> Any:
    """Return the structure with each value replaced."""
    if isinstance(structure, (KerasValue, CallResult)):
        return function(structure)
    if isinstance(structure, Mapping):
        return {key: mapped(value, function) for key, value in structure.items()}
    if isinstance(structure, list):
        return [mapped(value, function) for value in structure]
    return structure


def result_of(reference: CallResult, results: Mapping[tuple[str, int], Sequence[KerasValue]]) -> KerasValue:
    """Return what a call gave. Raises FormatError for a layer, a call or a result that there is not."""
    values = results.get((reference.layer, reference.call), ())
    if reference.result >= len(values):
        what = f"result {reference.result} of call {reference.call} of {reference.layer!r}"
        raise FormatError(f"the model uses {what}, which is not there")
    return values[reference.result]


def count_from_zero(
    calls: Sequence[Call], outputs: Sequence[CallResult], nested: Collection[str] | None
) -> tuple[list[Call], list[CallResult]]:
    """Return the calls and outputs with references that count each layer's calls from 0.

    Files may count those of models from 1, since they were called when they were made: version 2 everywhere; version 3
    among the outputs alone, for the `nested` models that it names.
    """
    counts = Counter(name for name, *_ in calls)

    def mover(references: Iterable[CallResult], surely: Collection[str] = ()) -> Callable[[CallResult], CallResult]:
        used: dict[str, set[int]] = {}
        for ref in references:
            used.setdefault(ref.layer, set()).add(ref.call)
        late = {name for name, ref in used.items() if counts[name] in ref or (name in surely and 0 not in ref)}
        return lambda ref: ref._replace(call=ref.call - 1) if ref.layer in late and ref.call else ref

    inner = [ref for call in calls for ref in references_in(call[2:])]
    move = mover(inner if nested is not None else [*inner, *outputs])
    moved = [(name, number, mapped(args, move), mapped(kwargs, move)) for name, number, args, kwargs in calls]
    return moved, list(map(move if nested is None else mover(outputs, nested), outputs))


def execution_order(calls: Sequence[Call], outputs: Sequence[CallResult]) -> list[Call]:
    """Return the calls in the order in which version 3 runs them: by their distance from the outputs, then as a walk
    from the last output back meets them. Calls that no output needs come last. Source: Keras's `map_graph`."""
    by_key = {call[:2]: call for call in calls}
    parents = {key: [reference[:2] for reference in references_in(call[2:])] for key, call in by_key.items()}
    finished: dict[tuple[str, int], None] = {}  # each after what it needs
    stack = [(reference[:2], False) for reference in reversed(outputs)]
    waiting: set[tuple[str, int]] = set()
    while stack:
        key, is_done = stack.pop()
        if is_done:
            finished[key] = None
        elif key not in waiting:
            waiting.add(key)
            stack.append((key, True))
            stack += [(reference, False) for reference in reversed(parents.get(key, []))]
    depths: dict[tuple[str, int], int] = {}
    of_layers: dict[str, int] = {}
    for key in reversed(finished):
        depth = max(depths.setdefault(key, 0), of_layers.get(key[0], 0))
        of_layers[key[0]] = depths[key] = depth
        for reference in parents.get(key, []):
            depths[reference] = max(depth + 1, depths.get(reference, 0))
    ordered = [by_key[key] for key in sorted(depths, key=lambda key: -depths[key]) if key in by_key]
    return ordered + [call for key, call in by_key.items() if key not in depths]


def listed(layers: Any) -> list[CallResult]:
    """`[["a", 0, 0]]`, or `["a", 0, 0]` for one, or a mapping of names to such, which Keras takes by sorted keys."""
    if isinstance(layers, Mapping):
        return [reference for key in sorted(layers) for reference in listed(layers[key])]
    if not isinstance(layers, list):
        raise FormatError(f"the model's inputs or outputs are {str(layers)[:60]}, expected layers' results")
    if layers and isinstance(layers[0], str):
        return [_read_reference(layers)]
    return [reference for inner in layers for reference in listed(inner)]


def output_names(layers: Any) -> list[str]:
    """Return the names of the outputs: their keys, or those of their layers."""
    if not isinstance(layers, Mapping):
        return [reference.layer for reference in listed(layers)]
    names: list[str] = []
    for key in sorted(layers):
        references = listed(layers[key])
        names += [key] if len(references) == 1 else [f"{key}_{index}" for index in range(len(references))]
    return names
