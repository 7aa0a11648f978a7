"""`mx.gluon.utils`: batches cut into parts, for scripts that spread them over devices."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from graphir.converters.mxnet.mx.base import MXNetError
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
    """Return a batch in so many parts along an axis; without `even_split` the first ones may have a row more.

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
    """Return a batch in as many parts as there are devices, each on its device. Raises ValueError as `split_data`
    does."""
    batch = data if isinstance(data, NDArray) else array(data, ctx=ctx_list[0])
    parts = [batch] if len(ctx_list) == 1 else split_data(batch, len(ctx_list), batch_axis, even_split)
    return [part.as_in_context(ctx) for part, ctx in zip(parts, ctx_list, strict=True)]


def check_sha1(filename: str, sha1_hash: str) -> bool:
    """Return whether a file's SHA-1 begins with one."""
    digest = hashlib.sha1(Path(filename).read_bytes()).hexdigest()
    return digest[: len(sha1_hash)] == sha1_hash


def download(
    url: str, path: str | None = None, overwrite: bool = False, sha1_hash: str | None = None, retries: int = 5,
    verify_ssl: bool = True,
) -> str:  # fmt: skip
    """Return the file of a URL that is on the disk already. Raises MXNetError if it is not: nothing is downloaded."""
    name = url.split("/")[-1]
    file = Path(name if path is None else path).expanduser()
    file = file / name if file.is_dir() else file
    if not file.is_file() or (sha1_hash is not None and not check_sha1(str(file), sha1_hash)):
        raise MXNetError(f"nothing is downloaded here: put {url} into {file}")
    return str(file)


def shape_is_known(shape: Any) -> bool:
    """Return whether all sizes of a shape are known."""
    return shape is not None and all(size > 0 for size in shape)


__all__ = ["HookHandle", "check_sha1", "download", "shape_is_known", "split_and_load", "split_data"]
