"""`NDArray`: elements in main memory with the names that MXNet's NDArray has for reading, writing and computing."""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray as NumpyArray

from graphir.converters.mxnet.mx.arithmetic import Arithmetic
from graphir.converters.mxnet.mx.base import MXNetError, WrongValue
from graphir.converters.mxnet.mx.context import Context, check_device, context_of
from graphir.converters.mxnet.mx.ndarray.elements import (
    HELD,
    NUMBERS,
    Home,
    compute_absolute,
    compute_with_array,
    compute_with_number,
    has_own_memory,
)
from graphir.converters.mxnet.mx.refusals import refused_method
from graphir.converters.mxnet.reference.shape import reshaped_shape
from graphir.errors import ShapeError
from graphir.tensor import Tensor
from graphir.types import DType


class NotADtype(MXNetError, TypeError):
    """Something that names no dtype was given for one."""


class NDArray(Arithmetic):
    """An array whose elements lie in main memory, or still in a file.

    Parts along the first axes and other shapes are views: what is written to them, the array shows. `asnumpy` gives a
    copy, as MXNet's does; `np.asarray(array)` a read-only view. Comparisons give 1 and 0 in the array's own dtype, and
    numbers are taken in that dtype too, so that 1.5 is 1 beside integers, as in MXNet.
    """

    __slots__ = ("_home", "_view", "context")
    stype = "default"
    grad = None

    def __init__(
        self, elements: object, context: Context | None = None, *, view_of: Home | None = None, is_own: bool = False
    ) -> None:
        self.context = context_of(context)
        self._view: NumpyArray[Any] | None = None
        if view_of is None:
            self._home = Home(elements if is_own and has_own_memory(elements) else Tensor.of(elements))
        else:
            self._home = view_of
            self._view = np.asarray(elements)

    @property
    def tensor(self) -> Tensor:
        """The elements as they are now; later writes may show in it."""
        if self._view is None and self._home.array is None:
            return Tensor.of(self._home.tensor)
        return Tensor.of(self._elements())

    @property
    def version(self) -> int:
        """How often the elements, or those that they are part of, were written."""
        return self._home.version

    @property
    def ctx(self) -> Context:
        """The device that the array was said to be on."""
        return self.context

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return self._home.shape if self._view is None else self._view.shape

    @property
    def dtype(self) -> type:
        """The element type, as the class that numpy has for it."""
        return self._home.dtype

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def asnumpy(self) -> NumpyArray[Any]:
        """Return a copy of the elements."""
        return np.array(self._elements())

    def asscalar(self) -> Any:
        """Return the only element. Raises ValueError if there are several."""
        if self.size != 1:
            raise ValueError(f"an array of shape {self.shape} is no scalar")
        return self._elements().reshape(-1)[0]

    def astype(self, dtype: object, copy: bool = True) -> NDArray:
        """Return the elements in another type; the array itself if it has that type and `copy` is false."""
        wanted = numpy_dtype(dtype)
        elements = self._elements()
        if wanted == elements.dtype:
            return self.copy() if copy else self
        with np.errstate(invalid="ignore", over="ignore"):
            return NDArray(elements.astype(wanted), self.context)

    def reshape(self, *shape: Any, **kwargs: Any) -> NDArray:
        """Return the same elements under another shape, a view of them.

        In `shape` 0 keeps a size, -1 is what is left, -2 all further sizes, -3 the product of two, and -4 splits one
        into the next two; with `reverse` they are read from the last axis. Raises WrongValue for another number of
        elements.
        """
        reverse = bool(kwargs.pop("reverse", False))
        if "shape" in kwargs:
            shape = (kwargs.pop("shape"),)
        if kwargs or not shape:
            raise TypeError(f"reshape takes a shape and `reverse`, found {', '.join(kwargs) or 'no shape'}")
        codes = shape[0] if len(shape) == 1 and not isinstance(shape[0], int | np.integer) else shape
        sizes = _sizes(self.shape, tuple(int(code) for code in codes), reverse)
        return NDArray(self._own().reshape(sizes), self.context, view_of=self._home)

    def broadcast_to(self, shape: Sequence[int]) -> NDArray:
        """Return the elements repeated along new axes in front and along axes of size 1. Raises ValueError for other
        sizes."""
        return NDArray(np.array(np.broadcast_to(self._elements(), tuple(shape))), self.context)

    def broadcast_like(self, other: NDArray) -> NDArray:
        """Return the elements repeated to the shape of another array, as `broadcast_to` does it."""
        return self.broadcast_to(other.shape)

    def reshape_like(self, rhs: NDArray) -> NDArray:
        """Return the same elements under the shape of another array."""
        return self.reshape(rhs.shape)

    def copy(self) -> NDArray:
        """Return an array of its own with the same elements."""
        if self._view is None and self._home.array is None:
            return NDArray(self._home.tensor, self.context)
        return NDArray(self.asnumpy(), self.context)

    def tostype(self, stype: str) -> NDArray:
        """Return the elements with a storage type: `default`, `csr` or `row_sparse`."""
        cast: Any = importlib.import_module("graphir.converters.mxnet.mx.ndarray.sparse_arrays").cast_storage
        return cast(self, stype)  # type: ignore[no-any-return]

    def detach(self) -> NDArray:
        """Return a view of all elements."""
        return NDArray(self._own(), self.context, view_of=self._home)

    def as_in_context(self, context: Context) -> NDArray:
        """Return the array itself if it is on that device, else a copy that is said to be there."""
        return self if context == self.context else self.copyto(context)

    as_in_ctx = as_in_context

    def copyto(self, other: Context | NDArray) -> NDArray:
        """Return the same elements on a device, or written into another array of this shape.

        Raises MXNetError for one of another shape, and TypeError for what is neither.
        """
        if isinstance(other, NDArray):
            if other is self:
                return other
            if other.shape != self.shape:
                raise MXNetError(f"an array of shape {self.shape} is not copied to one of shape {other.shape}")
            other[:] = self
            return other
        if not isinstance(other, Context):
            raise TypeError(f"copyto does not support type {type(other)}, expected a Context or an NDArray")
        copy = self.copy()
        copy.context = check_device(other)
        return copy

    @property
    def T(self) -> NDArray:
        """A copy of the elements with the axes in reverse."""
        return NDArray(np.ascontiguousarray(self._elements().T), self.context)

    def wait_to_read(self) -> None:
        """Nothing: the elements are there."""

    def wait_to_write(self) -> None:
        """Nothing: nothing reads them still."""

    attach_grad = refused_method("NDArray.attach_grad")
    backward = refused_method("NDArray.backward")

    def __getattr__(self, name: str) -> Any:
        """Return the functions of `mx.nd` that MXNet has as methods, such as `sum`, with this array as their first
        operand."""
        if name.startswith("_"):
            raise AttributeError(f"an NDArray has no {name!r}")
        # by its name: operators are composed of symbols, which have executors, which hold arrays
        operators = importlib.import_module("graphir.converters.mxnet.mx.ndarray.operators")
        return functools.partial(operators.method(name), self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NumpyArray[Any]:
        elements = self._elements()
        if dtype is None or np.dtype(dtype) == elements.dtype:
            if copy:
                return np.array(elements)
            view = elements.view()
            view.flags.writeable = False
            return view
        if copy is False:
            raise ValueError(f"{elements.dtype} becomes {np.dtype(dtype)} by a copy only")
        return elements.astype(dtype)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without axes has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[NDArray]:
        return (self[index] for index in range(len(self)))

    def __getitem__(self, key: Any) -> NDArray:
        plain, is_basic = index_key(key)
        if not is_basic:
            return NDArray(np.ascontiguousarray(self._elements()[plain]), self.context)
        part = np.asarray(self._own()[plain])
        if not part.shape and self.shape:
            part = self._own()[_kept(plain, self.shape)].reshape(1)
        if part.flags.c_contiguous:
            return NDArray(part, self.context, view_of=self._home)
        return NDArray(np.ascontiguousarray(part), self.context)

    def __setitem__(self, key: Any, value: object) -> None:
        plain, _ = index_key(key)
        own = self._own()
        if not own.shape and plain == (slice(None),):  # all of an array that has no axis to slice
            plain = ()
        given = value._elements() if isinstance(value, NDArray) else np.asarray(value)
        with np.errstate(invalid="ignore", over="ignore"):
            cast = given.astype(own.dtype)
            own[plain] = cast.reshape(()) if cast.size == 1 else cast
        self._home.version += 1

    def __contains__(self, value: object) -> bool:
        return bool((self._elements() == value).any())

    def __bool__(self) -> bool:
        if self.size > 1:
            raise ValueError(f"the truth of an array of {self.size} elements is ambiguous")
        return self.size == 1 and bool(self.asscalar())

    def __repr__(self) -> str:
        sizes = "x".join(map(str, self.shape))
        return f"\n{self._elements()}\n<NDArray {sizes} @{self.context}>"

    def __reduce__(self) -> tuple[type, tuple[NumpyArray[Any], Context]]:
        return NDArray, (self.asnumpy(), self.context)

    def _elements(self) -> NumpyArray[Any]:
        return self._home.elements() if self._view is None else self._view

    def _own(self) -> NumpyArray[Any]:
        """Return the elements to be written to, for this array and all its views."""
        return self._home.own() if self._view is None else self._view

    def _elements_of(self, name: str, other: object, *, turned: bool = False) -> NumpyArray[Any]:
        """Return the elements that an operation gives. Raises TypeError for an operand that is no number and no
        array."""
        if isinstance(other, NUMBERS):
            return compute_with_number(name, self._elements(), other, turned=turned)
        if not isinstance(other, NDArray):
            raise TypeError(f"type {type(other)} not supported")
        return compute_with_array(name, self._elements(), other._elements())

    def _operate(self, name: str, other: object, *, turned: bool = False) -> Any:
        return NDArray(self._elements_of(name, other, turned=turned), self.context)

    def _operate_in_place(self, name: str, other: object) -> NDArray:
        elements = self._elements_of(name, other)
        if elements.shape != self.shape:
            raise MXNetError(f"a result of shape {elements.shape} is not written to an array of shape {self.shape}")
        self[:] = elements
        return self

    __iadd__ = functools.partialmethod(_operate_in_place, "add")
    __isub__ = functools.partialmethod(_operate_in_place, "subtract")
    __imul__ = functools.partialmethod(_operate_in_place, "multiply")
    __itruediv__ = functools.partialmethod(_operate_in_place, "divide")
    __imod__ = functools.partialmethod(_operate_in_place, "modulo")

    def __neg__(self) -> NDArray:
        return self * -1

    def __abs__(self) -> NDArray:
        return NDArray(compute_absolute(self._elements()), self.context)


def _sizes(shape: tuple[int, ...], codes: tuple[int, ...], reverse: bool) -> tuple[int, ...]:
    count = int(np.prod(shape, dtype=np.int64))
    try:
        sizes = tuple(reshaped_shape(shape, codes, reverse))
    except (IndexError, ZeroDivisionError, StopIteration) as error:
        raise WrongValue(f"the shape {shape} has too few axes for {codes}") from error
    except ValueError as error:
        raise WrongValue(f"an array of shape {shape} under the shape {codes}: {error}") from error
    if int(np.prod(sizes, dtype=np.int64)) != count:
        raise WrongValue(f"cannot reshape an array of shape {shape} into shape {codes}")
    return sizes


def numpy_dtype(dtype: object) -> np.dtype[Any]:
    """numpy's dtype for what a script says (`bfloat16` too). Raises NotADtype, and MXNetError for what MXNet lacks."""
    try:
        known = DType.of(dtype)
    except ShapeError as error:
        raise NotADtype(f"{dtype!r} is no dtype: {error}") from error
    if known not in HELD:
        raise MXNetError(f"there are no arrays of {known}, only of {', '.join(map(str, HELD))}")
    return known.numpy()


def index_key(key: Any) -> tuple[Any, bool]:
    """Return a key as numpy takes it, and whether it is made of integers, slices, None and `...` only."""
    parts = key if isinstance(key, tuple) else (key,)
    plain = tuple(map(_part, parts))
    is_basic = all(part is None or part is Ellipsis or isinstance(part, int | np.integer | slice) for part in plain)
    return plain, is_basic


def _part(part: Any) -> Any:
    if isinstance(part, NDArray):
        return part.asnumpy().astype(np.int64)
    if isinstance(part, np.ndarray | list):
        return np.asarray(part).astype(np.int64)
    if isinstance(part, bool) or not (
        part is None or part is Ellipsis or isinstance(part, int | np.integer | slice | range | tuple)
    ):
        raise ValueError(f"an NDArray cannot be indexed by {part!r}, a {type(part).__name__}")
    return list(part) if isinstance(part, range | tuple) else part


def _kept(plain: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Return the key of one element with its last axis kept, so that what it selects stays a view."""
    places = [part for part in plain if part is not None and part is not Ellipsis]
    last = int(places[-1]) % shape[-1]
    return (*places[:-1], slice(last, last + 1))
