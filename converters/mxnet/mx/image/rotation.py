"""`mx.image.imrotate`: images turned around their middle."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np

from graphir.converters.mxnet.mx import ndarray as nd
from graphir.converters.mxnet.mx.ndarray import NDArray, array


def imrotate(src: NDArray, rotation_degrees: Any, zoom_in: bool = False, zoom_out: bool = False) -> NDArray:
    """Return images (C, H, W) or (N, C, H, W) of float32, turned by degrees: one number, or one for each image.

    `zoom_in` leaves no border, `zoom_out` shows the whole image. Raises ValueError and TypeError for what does not fit
    each other.
    """
    if zoom_in and zoom_out:
        raise ValueError("`zoom_in` and `zoom_out` cannot be both True")
    if src.dtype is not np.float32:
        raise TypeError("Only `float32` images are supported by this function")
    if src.ndim not in (3, 4):
        raise ValueError("Only 3D and 4D are supported by this function")
    if src.ndim == 3:
        if not isinstance(rotation_degrees, Number):
            raise TypeError("When a single image is passed the rotation angle is required to be a scalar.")
        turned: NDArray = imrotate(src.expand_dims(axis=0), rotation_degrees, zoom_in, zoom_out)[0]
        return turned
    count, _, height, width = src.shape
    angles = np.full(count, rotation_degrees) if isinstance(rotation_degrees, Number) else np.asarray(rotation_degrees)
    if len(angles) != count:
        raise ValueError("The number of images must be equal to the number of rotation angles")
    radians = (np.float32(np.pi) * angles.astype(np.float32) / np.float32(180))[:, None, None]
    rows, columns = (np.arange(size, dtype=np.float32) - np.float32((size - 1) / 2) for size in (height, width))
    cosine, sine = np.cos(radians), np.sin(radians)
    x = (columns * cosine - rows[:, None] * sine) / np.float32((width - 1) / 2)
    y = (columns * sine + rows[:, None] * cosine) / np.float32((height - 1) / 2)
    grid = np.stack([x, y], 1) * _scale(np.float32(height), np.float32(width), radians, zoom_in, zoom_out)
    sampled: NDArray = nd.BilinearSampler(src, array(grid.astype(np.float32)))
    return sampled


def _scale(height: Any, width: Any, radians: Any, zoom_in: bool, zoom_out: bool) -> Any:
    """Return how much larger what is read is, by where the corners come to lie."""
    if not (zoom_in or zoom_out):
        return np.float32(1)
    diagonal, corner, angle = np.sqrt(height * height + width * width), np.arctan(height / width), np.abs(radians)
    places = (corner + angle, corner - angle)
    far_x, far_y = (np.maximum(*(np.abs(diagonal * of(place)) for place in places)) for of in (np.cos, np.sin))
    scale = np.maximum(far_x / width, far_y / height) if zoom_out else np.minimum(width / far_x, height / far_y)
    return scale[..., None]


def random_rotate(
    src: NDArray, angle_limits: Sequence[float], zoom_in: bool = False, zoom_out: bool = False
) -> NDArray:
    """Return images turned by degrees that NumPy draws between the limits."""
    count = None if src.ndim == 3 else src.shape[0]
    return imrotate(src, np.random.uniform(angle_limits[0], angle_limits[1], size=count), zoom_in, zoom_out)


__all__ = ["imrotate", "random_rotate"]
