"""TensorFlow's operators as `operators.json` describes them: inputs, outputs, and attributes with their defaults.

The file is written by `tools/tensorflow_schema.py` from a live TensorFlow; nothing here knows an operator by name.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphir.converters.kernel.attributes import Attributes
from graphir.converters.tensorflow.dtypes import DataType, named_type
from graphir.converters.tensorflow.files.records import Argument
from graphir.errors import FormatError
from graphir.files.rows import Rows, read_rows
from graphir.plugins import source_operator
from graphir.types import UNKNOWN, DType


@dataclass(frozen=True, slots=True)
class OperatorSchema:
    """One operator: its inputs and outputs, the kinds of its attributes (`list(int)`), and their defaults.

    `limits` has, by attribute, the least number, the least length of a list, or the list of the texts that are allowed.
    """

    name: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    kinds: Mapping[str, str]
    defaults: Mapping[str, Any]
    limits: Mapping[str, Any]


def attributes_of(stated: Mapping[str, Any], schema: OperatorSchema | None, what: str) -> Attributes:
    """Return a node's attributes as Python has them; those that the file leaves out have TensorFlow's defaults."""
    values = stated if schema is None else {**schema.defaults, **stated}
    text = "{} has no attribute {!r}, and TensorFlow has no default for it"
    return Attributes(values, stated.keys(), lambda name: FormatError(text.format(what, name)))


@functools.cache
def _document() -> Rows:
    return read_rows(Path(__file__).with_name("operators.json"))


@functools.cache
def operator_schema(op: str) -> OperatorSchema | None:
    """Return the operator's schema; None if TensorFlow 2.21 has no such operator."""
    entry = _document().get(op)
    if entry is None:
        return None
    attrs: dict[str, list[Any]] = entry["attrs"]
    return OperatorSchema(
        op,
        tuple(_argument(name, text, attrs) for name, text in entry["inputs"].items()),
        tuple(_argument(name, text, attrs) for name, text in entry["outputs"].items()),
        {name: spec[0] for name, spec in attrs.items()},
        {name: _default(*spec) for name, spec in attrs.items() if len(spec) > 1},
        entry.get("limits", {}),
    )


def _argument(name: str, text: str, attrs: Mapping[str, object]) -> Argument:
    if text.startswith("list("):
        return Argument(name, "", text[5:-1], is_list=True)
    count, _, dtype = text.rpartition("*")
    return Argument(name, "", dtype, count) if dtype in attrs else Argument(name, named_type(dtype), "", count)


def _default(kind: str, value: Any) -> Any:
    """Return a default as `attributes.plain` gives values of that kind."""
    if kind.startswith("list("):
        return tuple(_default(kind[5:-1], entry) for entry in value or ())
    if kind == "type":
        return named_type(value)
    if kind == "float":
        return float(value)
    if kind == "shape":
        return None if value is None else tuple(UNKNOWN if size < 0 else size for size in value)
    return value


def counted(argument: Argument, schema: OperatorSchema, attrs: Mapping[str, Any]) -> int:
    """Return how many inputs or outputs an argument is, of a node whose attributes fit the schema."""
    name = argument.dtype_attr if argument.is_list else argument.count
    if not name:
        return 1
    stated = attrs[name] if name in attrs else schema.defaults[name]
    return len(stated) if argument.is_list else int(stated)


def output_types(op: str, attrs: Mapping[str, Any]) -> list[DataType | None] | None:
    """Return the dtype of every result of a node (None: not stated); None for an operator that is not in the schema."""
    schema = operator_schema(op)
    if schema is None:
        return None
    known = attributes_of(attrs, schema, op)
    types: list[DataType | None] = []
    for output in schema.outputs:
        types += _types(output, known)
    return types


def output_slots(op: str, attrs: Mapping[str, Any]) -> dict[str, int]:
    """Return the slot of the first result of each output by name, which functions refer to; of an operator that is not
    in the schema as a plugin states them, else empty."""
    schema = operator_schema(op)
    plugin = source_operator("tensorflow", op) if schema is None else None
    if plugin is not None:
        return {name: slot for slot, name in enumerate(plugin.outputs)}
    slots: dict[str, int] = {}
    slot = 0
    for output in () if schema is None else schema.outputs:
        slots[output.name] = slot
        slot += len(_types(output, attributes_of(attrs, schema, op)))
    return slots


def _types(argument: Argument, attrs: Attributes) -> list[DataType | None]:
    if argument.is_list:
        return list(attrs[argument.dtype_attr])
    dtype = attrs.get(argument.dtype_attr) if argument.dtype_attr else argument.dtype
    if not isinstance(dtype, str | DType):
        dtype = None
    count = attrs[argument.count] if argument.count else 1
    return [dtype] * (count if isinstance(count, int) else 1)
