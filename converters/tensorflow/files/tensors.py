"""TensorProto to Tensor: `tensor_content` stays in its file; typed fields are few elements or one for all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from graphir.converters.tensorflow.dtypes import data_type
from graphir.converters.tensorflow.files.wire import Blob, Message
from graphir.errors import FormatError
from graphir.safety.limits import charge_elements
from graphir.tensor import Tensor, byte_size, why_unheld
from graphir.types import DType

_FIELDS = {
    DType.FLOAT32: "float_val", DType.FLOAT64: "double_val", DType.INT32: "int_val", DType.INT16: "int_val",
    DType.INT8: "int_val", DType.UINT8: "int_val", DType.UINT16: "int_val", DType.INT4: "int_val",
    DType.UINT4: "int_val", DType.INT64: "int64_val", DType.BOOL: "bool_val", DType.FLOAT16: "half_val",
    DType.BFLOAT16: "half_val", DType.UINT32: "uint32_val", DType.UINT64: "uint64_val", DType.STRING: "string_val",
    DType.COMPLEX64: "scomplex_val", DType.COMPLEX128: "dcomplex_val",
}  # fmt: skip
_SPLAT = 1 << 12
# So many elements does one text count for: each is an object, and looked at by itself.
_TEXT = 16


class Splat(Tensor):
    """A tensor that holds one element throughout, however many it states."""

    __slots__ = ("element",)

    def __init__(self, dtype: DType, shape: tuple[int, ...], element: np.generic) -> None:
        super().__init__(dtype, shape, compute=lambda: np.broadcast_to(element, shape))
        self.element = element


@dataclass
class TensorSource:
    """Where tensors lie: the file that was read (None: in memory)."""

    path: Path | None = None

    def tensor(self, message: Message, what: str) -> Tensor:
        """Return the tensor of a TensorProto; `what` names it in errors. Raises FormatError."""
        dtype = data_type(message.get("dtype", 0))
        if not isinstance(dtype, DType):
            self._fail(what, f"elements of type {dtype or 'none'} cannot be read")
        shape = self._read_shape(message, dtype, what)
        content: Blob | None = message.get("tensor_content")
        if content is not None and len(content.data):
            return self._read_content(content, dtype, shape, what)
        field = _FIELDS.get(dtype)
        if field is None:
            self._fail(what, f"elements of {dtype} outside tensor_content cannot be read")
        return self._read_typed(message.get(field, []), dtype, shape, what)

    def _read_shape(self, message: Message, dtype: DType, what: str) -> tuple[int, ...]:
        stated = message.get("tensor_shape", {})
        sizes = tuple(dim.get("size", 0) for dim in stated.get("dim", ()))
        if stated.get("unknown_rank") or any(size < 0 for size in sizes):
            self._fail(what, f"a constant of the shape {list(sizes)}, which is not fixed")
        reason = why_unheld(dtype, sizes)
        if reason:
            self._fail(what, f"a constant of the shape {list(sizes)}, which {reason}")
        return sizes

    def _read_content(self, content: Blob, dtype: DType, shape: tuple[int, ...], what: str) -> Tensor:
        if dtype is DType.STRING:
            self._fail(what, "strings in tensor_content cannot be read")
        width = max(dtype.bits, 8) // 8  # TensorFlow keeps elements of 4 bits in a byte each
        wanted = math.prod(shape) * width
        if len(content.data) != wanted:
            raise FormatError(
                f"{what}: {len(content.data)} bytes of elements, but {dtype}{list(shape)} takes {wanted}",
                path=self.path,
                offset=content.offset,
            )
        if self.path is not None and content.offset is not None and wanted == byte_size(dtype, shape):
            return Tensor.at(self.path, content.offset, dtype, shape)
        return Tensor.of(np.frombuffer(content.data, dtype.numpy()).reshape(shape))

    def _read_typed(self, stated: list[Any], dtype: DType, shape: tuple[int, ...], what: str) -> Tensor:
        if dtype in (DType.COMPLEX64, DType.COMPLEX128):
            if len(stated) % 2:
                self._fail(what, f"{len(stated)} numbers, which are no whole number of complex ones")
            stated = [complex(*pair) for pair in zip(stated[::2], stated[1::2], strict=True)]
        size = math.prod(shape)
        if len(stated) > size:
            self._fail(what, f"{len(stated)} elements for {dtype}{list(shape)}")
        if dtype is DType.STRING:
            charge_elements(_TEXT * (size - len(stated)), f"{what}, texts of the shape {list(shape)}")
            texts = [text_of(entry) for entry in stated]
            filled = np.empty(size, object)
            filled[:] = texts + [texts[-1] if texts else ""] * (size - len(texts))
            return Tensor.of(filled.reshape(shape))
        if dtype in (DType.FLOAT16, DType.BFLOAT16):
            elements = (np.array(stated, np.int64) & 0xFFFF).astype(np.uint16).view(dtype.numpy())
        else:
            elements = np.array(stated).astype(dtype.numpy())
        last: Any = elements[-1] if len(elements) else np.zeros((), dtype.numpy())[()]
        if len(elements) <= 1 and size > _SPLAT:
            return Splat(dtype, shape, last)
        charge_elements(size - len(elements), f"{what}, of the shape {list(shape)}")
        rest = np.full(size - len(elements), last, dtype.numpy())
        return Tensor.of(np.concatenate([elements, rest]).reshape(shape))

    def _fail(self, what: str, reason: str) -> NoReturn:
        raise FormatError(f"{what}: {reason}", path=self.path)


def text_of(data: bytes) -> str | bytes:
    """Return the text that bytes hold, or the bytes where they are none."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data
