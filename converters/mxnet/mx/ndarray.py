"""`mx.nd`: arrays that hold their elements and no more, with the names that MXNet's NDArray has for reading them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray as NumpyArray

from graphir.converters.mxnet.files.params import open_params, write_params
from graphir.converters.mxnet.mx.context import Context, cpu
from graphir.tensor import Tensor


class NDArray:
    """An array that is read, not computed with: its elements may still lie in a file.

    `asnumpy` gives a copy, as MXNet's does; `np.asarray(array)` a read-only view. `==` and `!=` compare element by
    element and give 1 and 0 in the array's own dtype.
    """

    __slots__ = ("context", "tensor")
    __hash__ = object.__hash__
    stype = "default"

    def __init__(self, elements: object, context: Context | None = None) -> None:
        self.tensor = Tensor.of(elements)
        self.context = cpu() if context is None else context

    @property
    def ctx(self) -> Context:
        """The device that the array was said to be on."""
        return self.context

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return self.tensor.shape

    @property
    def dtype(self) -> type:
        """The element type, as the class that numpy has for it."""
        return self.tensor.dtype.numpy().type

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.tensor.size

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.tensor.shape)

    def asnumpy(self) -> NumpyArray[Any]:
        """A copy of the elements."""
        return np.array(self.tensor.numpy())

    def asscalar(self) -> Any:
        """The only element. Raises ValueError if there are several."""
        if self.size != 1:
            raise ValueError(f"an array of shape {self.shape} is no scalar")
        return self.tensor.numpy().reshape(-1)[0]

    def astype(self, dtype: object, copy: bool = True) -> NDArray:
        """The elements in another type; the array itself if it has that type and `copy` is false."""
        wanted = np.dtype(dtype)  # type: ignore[call-overload]
        if not copy and wanted == self.tensor.dtype.numpy():
            return self
        return NDArray(self.tensor.numpy().astype(wanted), self.context)

    def reshape(self, *shape: Any) -> NDArray:
        """The elements under another shape, in which one -1 stands for what is left."""
        sizes = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return NDArray(self.tensor.numpy().reshape(tuple(sizes)), self.context)

    def copy(self) -> NDArray:
        """The same elements: nothing here changes them."""
        return NDArray(self.tensor, self.context)

    def as_in_context(self, context: Context) -> NDArray:
        """The same elements, said to be elsewhere."""
        return NDArray(self.tensor, context)

    def copyto(self, other: Context) -> NDArray:
        """The same elements, said to be elsewhere. Raises TypeError for an array: nothing here changes one."""
        if not isinstance(other, Context):
            raise TypeError(f"copyto does not support type {type(other)}: only contexts, as no array is changed")
        return self.as_in_context(other)

    @property
    def T(self) -> NDArray:
        """The elements with the axes in reverse."""
        return NDArray(self.tensor.numpy().T, self.context)

    def wait_to_read(self) -> None:
        """Nothing: the elements are there."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NumpyArray[Any]:
        elements = self.tensor.numpy()
        if dtype is None or np.dtype(dtype) == elements.dtype:
            return np.array(elements) if copy else elements
        if copy is False:
            raise ValueError(f"{elements.dtype} becomes {np.dtype(dtype)} by a copy only")
        return elements.astype(dtype)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without axes has no length")
        return self.shape[0]

    def __getitem__(self, key: Any) -> NDArray:
        return NDArray(np.asarray(self.tensor.numpy()[key]), self.context)

    def __eq__(self, other: object) -> Any:
        return self._compared(np.equal, other)

    def __ne__(self, other: object) -> Any:
        return self._compared(np.not_equal, other)

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(f"the truth of an array of {self.size} elements is ambiguous")
        return bool(self.asscalar())

    def __repr__(self) -> str:
        sizes = "x".join(map(str, self.shape))
        return f"\n{self.tensor.numpy()}\n<NDArray {sizes} @{self.context}>"

    def _compared(self, compare: Any, other: object) -> NDArray:
        elements = self.tensor.numpy()
        theirs = other.tensor.numpy() if isinstance(other, NDArray) else other
        return NDArray(compare(elements, theirs).astype(elements.dtype), self.context)


def array(source_array: object, ctx: Context | None = None, dtype: object = None) -> NDArray:
    """An array of what is given, copied. Without a `dtype` it is float32, or the NDArray's own."""
    source = source_array.tensor.numpy() if isinstance(source_array, NDArray) else source_array
    wanted = dtype or (source_array.dtype if isinstance(source_array, NDArray) else np.float32)
    return NDArray(np.array(source, dtype=np.dtype(wanted)), ctx)  # type: ignore[call-overload]


def zeros(shape: int | Sequence[int], ctx: Context | None = None, dtype: object = None) -> NDArray:
    """An array of zeros, float32 without a `dtype`."""
    return NDArray(np.zeros(shape, np.dtype(dtype or np.float32)), ctx)  # type: ignore[call-overload]


def ones(shape: int | Sequence[int], ctx: Context | None = None, dtype: object = None) -> NDArray:
    """An array of ones, float32 without a `dtype`."""
    return NDArray(np.ones(shape, np.dtype(dtype or np.float32)), ctx)  # type: ignore[call-overload]


def load(fname: str | os.PathLike[str]) -> dict[str, NDArray] | list[NDArray]:
    """The arrays of a file: by name, or in order where the file has no names. Raises FormatError."""
    opened = open_params(fname)
    if opened.named:
        return {entry.name: NDArray(entry.tensor) for entry in opened.entries}
    return [NDArray(entry.tensor) for entry in opened.entries]


def save(fname: str | os.PathLike[str], data: NDArray | Mapping[str, NDArray] | Sequence[NDArray]) -> None:
    """Write arrays by name, or without names where they come in a sequence or alone. Raises ExportFailure."""
    if isinstance(data, Mapping):
        write_params(fname, {str(name): tensor_of(held) for name, held in data.items()})
        return
    held = [data] if isinstance(data, NDArray) else data
    write_params(fname, {str(slot): tensor_of(found) for slot, found in enumerate(held)}, named=False)


def tensor_of(held: object) -> Tensor:
    """The elements of an NDArray, of MXNet's own, or of anything that numpy takes."""
    if isinstance(held, NDArray):
        return held.tensor
    asnumpy = getattr(held, "asnumpy", None)
    return Tensor.of(held if asnumpy is None else asnumpy())


__all__ = ["NDArray", "array", "load", "ones", "save", "tensor_of", "zeros"]
