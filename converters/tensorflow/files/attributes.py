"""AttrValues as Python has them.

Texts are str (bytes where they are no UTF-8), dtypes DType (or TensorFlow's name), shapes tuples with UNKNOWN (None:
unknown rank), tensors Tensor, functions FunctionCall, lists tuples.
"""

from __future__ import annotations

from typing import Any

from graphir.converters.tensorflow.dtypes import data_type
from graphir.converters.tensorflow.files.records import Bound, FunctionCall
from graphir.converters.tensorflow.files.tensors import TensorSource, text_of
from graphir.converters.tensorflow.files.wire import Message
from graphir.errors import FormatError
from graphir.types import UNKNOWN, Shape

_LISTS = ("s", "i", "f", "b", "type", "shape", "tensor", "func")


def plain(value: Message, tensors: TensorSource, what: str) -> Any:
    """Return the value of an AttrValue. Raises FormatError for one that states nothing or a broken tensor."""
    for kind, content in value.items():
        if kind == "list":
            return _read_list(content, tensors, what)
        if kind == "placeholder":
            return Bound(content)
        return _read_single(kind, content, tensors, what)
    return ()  # an empty list states nothing at all


def _read_list(value: Message, tensors: TensorSource, what: str) -> tuple[Any, ...]:
    stated = [kind for kind in _LISTS if value.get(kind)]
    if len(stated) > 1:
        raise FormatError(f"{what}: a list of both {' and '.join(stated)}", path=tensors.path)
    return tuple(_read_single(kind, content, tensors, what) for kind in stated for content in value[kind])


def _read_single(kind: str, content: Any, tensors: TensorSource, what: str) -> Any:
    if kind == "s":
        return text_of(content)
    if kind == "type":
        return data_type(content)
    if kind == "shape":
        return shape_of(content)
    if kind == "tensor":
        return tensors.tensor(content, what)
    if kind == "func":
        return FunctionCall(
            content.get("name", ""),
            {name: plain(inner, tensors, f"{what}.{name}") for name, inner in content.get("attr", {}).items()},
        )
    return content


def shape_of(message: Message) -> Shape | None:
    """Return the shape of a TensorShapeProto: None for an unknown rank, UNKNOWN for -1."""
    if message.get("unknown_rank"):
        return None
    sizes = [dim.get("size", 0) for dim in message.get("dim", ())]
    return tuple(UNKNOWN if size < 0 else size for size in sizes)
