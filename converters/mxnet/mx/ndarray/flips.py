"""`mx.nd.image`: images that are turned over by chance, by `mx.random.seed`."""

from __future__ import annotations

import importlib

from graphir.converters.mxnet.mx.ndarray.array import NDArray


def _maybe_flipped(data: NDArray, axis: int, out: NDArray | None) -> NDArray:
    random = importlib.import_module("graphir.converters.mxnet.mx.random")  # which makes arrays itself
    image = data[:] if random.generator().random() < 0.5 else data.flip(axis=axis)
    return image.copy() if out is None else image.copyto(out)


def random_flip_left_right(data: NDArray, out: NDArray | None = None) -> NDArray:
    """Return an image (H, W, C), or its mirror."""
    return _maybe_flipped(data, 1, out)


def random_flip_top_bottom(data: NDArray, out: NDArray | None = None) -> NDArray:
    """Return an image (H, W, C), or the same upside down."""
    return _maybe_flipped(data, 0, out)


__all__ = ["random_flip_left_right", "random_flip_top_bottom"]
