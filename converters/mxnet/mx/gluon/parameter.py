"""Parameters of blocks: shapes that may still be open, and arrays once they are known."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphir.converters.mxnet.mx import initializer
from graphir.converters.mxnet.mx.base import MXNetError
from graphir.converters.mxnet.mx.context import Context, context_of
from graphir.converters.mxnet.mx.ndarray import NDArray, array, empty
from graphir.converters.mxnet.mx.ndarray.array import numpy_dtype
from graphir.converters.mxnet.mx.refusals import refused_method

Shape = tuple[int, ...] | None


class DeferredInitializationError(MXNetError):
    """A parameter waits for its shape, which the first batch gives."""


class Parameter:
    """A named array of a block. Sizes of `shape` that are 0 stay open until data tells them.

    `lr_mult`, `wd_mult` and `grad_req` are held and written as MXNet does; nothing here trains.
    """

    def __init__(
        self,
        name: str,
        grad_req: str = "write",
        shape: int | Sequence[int] | None = None,
        dtype: Any = np.float32,
        lr_mult: float = 1.0,
        wd_mult: float = 1.0,
        init: Any = None,
        allow_deferred_init: bool = False,
        differentiable: bool = True,
        stype: str = "default",
        grad_stype: str = "default",
    ) -> None:
        self.name = name
        self.dtype = dtype
        self.lr_mult = lr_mult
        self.wd_mult = wd_mult
        self.init = init
        self._shape: Shape = (shape,) if isinstance(shape, int) else None if shape is None else tuple(shape)
        self._grad_req = grad_req if differentiable else "null"
        self._differentiable = differentiable
        self._allow_deferred_init = allow_deferred_init
        self._stype, self._grad_stype = stype, grad_stype
        self._data: NDArray | None = None
        self._waiting: tuple[Any, Any, Context] | None = None
        self._var: Any = None

    def __repr__(self) -> str:
        return f"Parameter {self.name} (shape={self.shape}, dtype={self.dtype})"

    @property
    def grad_req(self) -> str:
        """What training does with the gradient: `write`, `add`, `null`."""
        return self._grad_req

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        if req not in ("write", "add", "null"):
            raise AssertionError(f"grad_req is {req!r}, expected write, add or null")
        self._grad_req = req if self._differentiable else "null"

    @property
    def shape(self) -> Shape:
        """The sizes, 0 where they are open."""
        return self._shape

    @shape.setter
    def shape(self, new_shape: Sequence[int]) -> None:
        sizes = tuple(int(size) for size in new_shape)
        old = self._shape
        if old is not None:
            fits = len(old) == len(sizes) and all(size in (0, other) for size, other in zip(old, sizes, strict=True))
            if not fits:
                raise AssertionError(f"the Parameter {self.name} has the shape {old}, which {sizes} does not fit")
        self._shape = sizes

    @property
    def stype(self) -> str:
        """The storage type."""
        return self._stype

    def initialize(
        self, init: Any = None, ctx: Any = None, default_init: Any = None, force_reinit: bool = False
    ) -> None:
        """Make the array and fill it: by `init`, by the parameter's own initializer, or by `default_init`.

        An array that is there stays unless `force_reinit`. With sizes that are open it is made when data tells them;
        ValueError where that is not allowed.
        """
        if self._data is not None and not force_reinit:
            return
        self._data = None
        wanted = self.init if init is None and self.init is not None else init
        default = initializer.Uniform() if default_init is None else default_init
        self._waiting = (wanted, default, context_of(ctx))
        if self._is_open():
            if not self._allow_deferred_init:
                raise ValueError(
                    f"Cannot initialize Parameter {self.name!r} because it has invalid shape: {self.shape}"
                )
            return
        self._finish_deferred_init()

    def data(self, ctx: Any = None) -> NDArray:
        """Return the array. Raises DeferredInitializationError while its shape is open, RuntimeError if nothing made
        it."""
        if self._data is not None:
            return self._data
        if self._waiting is not None:
            raise DeferredInitializationError(
                f"the Parameter {self.name!r} has no array yet: its shape is deferred until a first batch went through "
                "the network"
            )
        raise MXNetError(
            f"the Parameter {self.name!r} has no values: call initialize() or load_parameters() on the block; "
            "of a block within another, collect_params() holds the parameters of both"
        )

    def list_data(self) -> list[NDArray]:
        """Return the array, as on the one device that there is."""
        return [self.data()]

    def list_ctx(self) -> list[Context]:
        """Return the device of the array."""
        if self._data is None and self._waiting is not None:
            return [self._waiting[2]]
        return [self.data().context]

    def set_data(self, data: Any) -> None:
        """Write the array, and make it if it waits for its shape. Raises AssertionError for one of another shape."""
        given = data if isinstance(data, NDArray) else array(data, dtype=self.dtype)
        self.shape = given.shape
        if self._data is None:
            if self._waiting is None:
                raise AssertionError(f"the Parameter {self.name!r} has no values: initialize() comes first")
            self._data = given.astype(self.dtype).copyto(self._waiting[2])
            self._waiting = None
        else:
            self._data[:] = given

    def reset_ctx(self, ctx: Any) -> None:
        """Move the array to another device."""
        if self._data is not None:
            self._data = self._data.as_in_context(context_of(ctx))

    def cast(self, dtype: Any) -> None:
        """Change the dtype."""
        self.dtype = dtype
        self._var = None
        if self._data is not None:
            self._data = self._data.astype(dtype)

    def var(self) -> Any:
        """Return the variable of symbols that stands for the parameter."""
        if self._var is None:
            from graphir.converters.mxnet.mx.symbol import var

            self._var = var(
                self.name,
                shape=self.shape,
                dtype=self.dtype,
                lr_mult=self.lr_mult,
                wd_mult=self.wd_mult,
                init=self.init,
                stype=self._stype,
            )
        return self._var

    grad = list_grad = refused_method("Parameter.grad")

    def zero_grad(self) -> None:
        """Nothing: there are no gradients."""

    def _is_open(self) -> bool:
        return self.shape is None or math.prod(self.shape) <= 0

    def _finish_deferred_init(self) -> None:
        if self._waiting is None:
            return
        wanted, default, ctx = self._waiting
        if self._is_open():
            raise DeferredInitializationError(f"the shape of Parameter {self.name!r} is still {self.shape}")
        filled = empty(self.shape or (), ctx, self.dtype)
        chosen = default if wanted is None else wanted
        if isinstance(chosen, str | initializer.Initializer):
            initializer.create(chosen).fill(self.name, filled)
        else:
            chosen(initializer.InitDesc(self.name), filled)
        self._data, self._waiting = filled, None

    def _load_init(self, data: NDArray, ctx: Any, cast_dtype: bool = False, dtype_source: str = "current") -> None:
        """Take an array of a file. Raises AssertionError for one of another shape or, without `cast_dtype`, dtype."""
        if self.shape is not None and (
            len(self.shape) != len(data.shape)
            or not all(own in (0, stored) for own, stored in zip(self.shape, data.shape, strict=True))
        ):
            raise AssertionError(
                f"the Parameter {self.name!r} has the shape {self.shape}, the stored array {data.shape}"
            )
        own = numpy_dtype(self.dtype)
        if own != numpy_dtype(data.dtype):
            if not cast_dtype:
                raise AssertionError(
                    f"the Parameter {self.name!r} is {own}, the stored array {numpy_dtype(data.dtype)}; "
                    "cast_dtype=True converts it"
                )
            if dtype_source == "saved":
                self.cast(data.dtype)
        place = self._data.context if self._data is not None else context_of(ctx)
        waiting = self._waiting[2] if self._waiting is not None and ctx is None else place
        self._shape = data.shape
        self._var = None
        self._data = data.astype(self.dtype, copy=False).copyto(waiting)
        self._waiting = None


class Constant(Parameter):
    """A parameter that is a given array and that nothing trains."""

    def __init__(self, name: str, value: Any) -> None:
        self.value = value if isinstance(value, NDArray) else array(value)
        super().__init__(name, "null", self.value.shape, self.value.dtype, init=initializer.Constant(self.value))

    def __repr__(self) -> str:
        return f"Constant {self.name} (shape={self.shape}, dtype={self.dtype})"


tensor_types = (NDArray,)


def __getattr__(name: str) -> Any:
    if name != "ParameterDict":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}_dict").ParameterDict  # it imports this module


__all__ = ["Constant", "DeferredInitializationError", "Parameter"]
