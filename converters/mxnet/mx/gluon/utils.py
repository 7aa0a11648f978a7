"""`mx.gluon.utils`: batches cut into parts, for scripts that spread them over devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphir.converters.mxnet.mx.context import Context
from graphir.converters.mxnet.mx.ndarray import NDArray, array


class HookHandle:
    """A function that is called when a block runs, until `detach`, or until the end of a `with` statement."""

    def __init__(self, hooks: dict[int, Callable[..., Any]], hook: Callable[..., Any]) -> None:
        self._hooks = hooks
        self._key = id(hook)
        hooks[self._key] = hook

    def detach(self) -> None:
        """Call the function no more."""
        self._hooks.pop(self._key, None)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.detach()


def split_data(data: NDArray, num_slice: int, batch_axis: int = 0, even_split: bool = True) -> list[NDArray]:
    """A batch in so many parts along an axis; without `even_split` the first ones may have a row more.

    Raises ValueError for a batch that cannot be cut like that.
    """
    size = data.shape[batch_axis]
    if even_split and size % num_slice:
        raise ValueError(
            f"{size} along the axis {batch_axis} of {data.shape} cannot be divided evenly by {num_slice}; "
            "even_split=False makes parts of different sizes"
        )
    if size < num_slice:
        raise ValueError(f"data of {data.shape} cannot be cut into {num_slice} along the axis {batch_axis}")
    parts = np.array_split(np.asarray(data), num_slice, batch_axis)
    return [NDArray(np.ascontiguousarray(part), data.context) for part in parts]


def split_and_load(data: Any, ctx_list: list[Context], batch_axis: int = 0, even_split: bool = True) -> list[NDArray]:
    """A batch in as many parts as there are devices, each on its device. Raises ValueError as `split_data` does."""
    held = data if isinstance(data, NDArray) else array(data, ctx=ctx_list[0])
    parts = [held] if len(ctx_list) == 1 else split_data(held, len(ctx_list), batch_axis, even_split)
    return [part.as_in_context(ctx) for part, ctx in zip(parts, ctx_list, strict=True)]


__all__ = ["HookHandle", "split_and_load", "split_data"]
