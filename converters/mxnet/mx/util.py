"""`mx.util`: whether shapes mean what they mean in numpy, where 0 is a size and -1 is unknown."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from typing import Any, NoReturn

from graphir.converters.mxnet.mx.context import num_gpus
from graphir.converters.mxnet.mx.refusals import NUMPY, NotHere, refused_name
from graphir.converters.mxnet.mx.scopes import Scopes


class np_shape:
    """`with np_shape(True):` numpy's shapes; `with np_shape(False):` MXNet's own, where 0 is unknown."""

    def __init__(self, active: bool = True) -> None:
        self.active = bool(active)

    def __enter__(self) -> np_shape:
        _SHAPES.enter(self.active)
        return self

    def __exit__(self, *exception: object) -> None:
        _SHAPES.leave()


def is_np_shape() -> bool:
    """Return whether numpy's shapes are on in this thread."""
    return _SHAPES.current()


def set_np_shape(active: bool) -> bool:
    """Turn numpy's shapes on or off in this thread; gives what held before."""
    before = _SHAPES.current()
    _SHAPES.replace(bool(active))
    return before


def use_np_shape(func: Any) -> Any:
    """Return a function that runs with numpy's shapes on; of a class, all its methods and properties do, the class is
    changed.

    Raises TypeError for what can not be called.
    """
    if inspect.isclass(func):
        for name, member in inspect.getmembers(func):
            if isinstance(member, property):
                setattr(func, name, _scoped_property(member))
            elif inspect.isfunction(member) or inspect.ismethod(member):
                setattr(func, name, use_np_shape(member))
        return func
    if not callable(func):
        raise TypeError(f"use_np_shape is for functions and classes, got {func!r}")

    @functools.wraps(func)
    def scoped(*args: Any, **kwargs: Any) -> Any:
        with np_shape():
            return func(*args, **kwargs)

    return scoped


def is_np_array() -> bool:
    """Return False: there are no arrays with NumPy's functions here."""
    return False


def set_np(*args: object, **kwargs: object) -> NoReturn:
    """Raise TrainingError: there are no arrays with NumPy's functions here."""
    raise NotHere(f"mx.npx.set_np is not here: {NUMPY}")


def reset_np() -> None:
    """Turn numpy's shapes off."""
    set_np_shape(False)


def use_np(func: Any) -> Any:
    """Return a function that raises: there are no arrays with NumPy's functions here."""
    return refused_name(f"mx.util.use_np({getattr(func, '__name__', func)})", NUMPY, training=False)


use_np_array = use_np


def getenv(name: str) -> str | None:
    """Return an environment variable."""
    return os.environ.get(name)


def setenv(name: str, value: str | None) -> None:
    """Set an environment variable, or with None remove it."""
    os.environ.pop(name, None)
    if value is not None:
        os.environ[name] = value


def get_gpu_count() -> int:
    """Return the number of GPUs that onnxruntime can use."""
    return num_gpus()


def _scoped_property(accessors: property) -> property:
    def scoped(accessor: Callable[..., Any] | None) -> Any:
        return None if accessor is None else use_np_shape(accessor)

    return property(scoped(accessors.fget), scoped(accessors.fset), scoped(accessors.fdel), accessors.__doc__)


_SHAPES: Scopes[bool] = Scopes(bool)

__all__ = [
    "get_gpu_count", "getenv", "is_np_array", "is_np_shape", "np_shape", "reset_np", "set_np", "set_np_shape", "setenv",
    "use_np", "use_np_array", "use_np_shape",
]  # fmt: skip
