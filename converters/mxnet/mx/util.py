"""`mx.util`: whether shapes mean what they mean in numpy, where 0 is a size and -1 is unknown."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import TracebackType
from typing import Any

from graphir.converters.mxnet.mx.scopes import Scopes


class np_shape:
    """`with np_shape(True):` numpy's shapes; `with np_shape(False):` MXNet's own, where 0 is unknown."""

    def __init__(self, active: bool = True) -> None:
        self.active = bool(active)

    def __enter__(self) -> np_shape:
        _SHAPES.enter(self.active)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _SHAPES.leave()


def is_np_shape() -> bool:
    """Whether numpy's shapes are on in this thread."""
    return _SHAPES.current()


def set_np_shape(active: bool) -> bool:
    """Turn numpy's shapes on or off in this thread; gives what held before."""
    before = _SHAPES.current()
    _SHAPES.replace(bool(active))
    return before


def use_np_shape(func: Any) -> Any:
    """A function that runs with numpy's shapes on; of a class, all its methods and properties do, the class is changed.

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


def _scoped_property(held: property) -> property:
    def scoped(accessor: Callable[..., Any] | None) -> Any:
        return None if accessor is None else use_np_shape(accessor)

    return property(scoped(held.fget), scoped(held.fset), scoped(held.fdel), held.__doc__)


_SHAPES: Scopes[bool] = Scopes(bool)

__all__ = ["is_np_shape", "np_shape", "set_np_shape", "use_np_shape"]
