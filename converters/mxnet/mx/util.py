"""`mx.util`: whether shapes mean what they mean in numpy, where 0 is a size and -1 is unknown."""

from __future__ import annotations

from types import TracebackType

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


_SHAPES: Scopes[bool] = Scopes(bool)

__all__ = ["is_np_shape", "np_shape", "set_np_shape"]
