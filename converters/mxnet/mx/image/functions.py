"""Images as arrays (H, W, C): read, resized, cropped, normalized, turned."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Sequence
from numbers import Number
from pathlib import Path
from typing import Any

import numpy as np

from graphir.converters.mxnet.mx import ndarray as nd
from graphir.converters.mxnet.mx.base import MXNetError, mxnet_errors
from graphir.converters.mxnet.mx.images import decoded_pixels
from graphir.converters.mxnet.mx.ndarray import NDArray, array
from graphir.converters.mxnet.reference.rare.image_resize import resized

Box = tuple[int, int, int, int]
BORDERS: Any = ("constant", "edge", "symmetric", "wrap", "reflect")
"""NumPy's names of OpenCV's borders, by OpenCV's numbers."""


def imread(filename: str | os.PathLike[str], flag: int = 1, to_rgb: int | bool = True) -> NDArray:
    """Return the image of a file. Raises MXNetError as `imdecode` does, and for a file that cannot be read."""
    try:
        content = Path(filename).read_bytes()
    except OSError as error:
        raise MXNetError(f"cannot read {os.fspath(filename)!r}: {error}") from error
    return imdecode(content, flag, to_rgb)


def imdecode(
    buf: bytes | NDArray | Any, flag: int = 1, to_rgb: int | bool = True, out: NDArray | None = None
) -> NDArray:
    """Return the image of a file's bytes as uint8, red first, without `to_rgb` blue first; of `flag` 0 in one channel.

    Raises MXNetError for what is no image.
    """
    content = bytes(np.asarray(buf)) if isinstance(buf, NDArray | np.ndarray) else bytes(buf)
    pixels = decoded_pixels(content, flag)
    if not to_rgb and pixels.shape[-1] >= 3:
        pixels = np.concatenate([pixels[..., 2::-1], pixels[..., 3:]], axis=-1)
    image = array(pixels, dtype=np.uint8)
    return image if out is None else image.copyto(out)


def imresize(src: NDArray, w: int, h: int, interp: int = 1, out: NDArray | None = None) -> NDArray:
    """Return an image with other sizes, pixel by pixel as OpenCV's.

    `interp` is 0 for the nearest pixel, 1 bilinear, 2 cubic, 3 by areas, 4 Lanczos. Raises MXNetError for sizes below
    1.
    """
    with mxnet_errors():
        if src.ndim != 3 or w < 1 or h < 1:
            raise MXNetError(f"an image (H, W, C) is resized to a width and a height, found {src.shape}, {w}, {h}")
        image = NDArray(resized(np.asarray(src), int(h), int(w), int(interp)), src.context)
    return image if out is None else image.copyto(out)


def copyMakeBorder(
    src: NDArray, top: int, bot: int, left: int, right: int, type: int = 0, value: Any = 0, values: Any = ()
) -> NDArray:
    """Return an image with a border, of one value, or by its pixels (`type` of OpenCV, 0 to 4)."""
    widths, pixels = ((top, bot), (left, right), (0, 0)), np.asarray(src)
    if BORDERS[type] != "constant":
        return NDArray(np.pad(pixels, widths, BORDERS[type]), src.context)
    bordered = np.empty((pixels.shape[0] + top + bot, pixels.shape[1] + left + right, pixels.shape[2]), pixels.dtype)
    bordered[...] = values or value
    bordered[top : top + pixels.shape[0], left : left + pixels.shape[1]] = pixels
    return NDArray(bordered, src.context)


def scale_down(src_size: Sequence[int], size: Sequence[int]) -> tuple[int, int]:
    """Return a width and height of the same ratio that an image of `src_size` holds.

    >>> scale_down((640, 480), (720, 120))
    (640, 106)
    """
    width, height = float(size[0]), float(size[1])
    if src_size[1] < height:
        width, height = width * src_size[1] / height, float(src_size[1])
    if src_size[0] < width:
        width, height = float(src_size[0]), height * src_size[0] / width
    return int(width), int(height)


def resize_short(src: NDArray, size: int, interp: int = 2) -> NDArray:
    """Return an image whose shorter side has a size."""
    height, width = src.shape[:2]
    new = (size * height // width, size) if height > width else (size, size * width // height)
    return imresize(src, new[1], new[0], interp=_get_interp_method(interp, (height, width, *new)))


def fixed_crop(
    src: NDArray, x0: int, y0: int, w: int, h: int, size: Sequence[int] | None = None, interp: int = 2
) -> NDArray:
    """Return a part of an image, resized to the width and height of `size`."""
    part = src[y0 : y0 + h, x0 : x0 + w]
    if size is None or (w, h) == tuple(size):
        return part
    return imresize(part, size[0], size[1], interp=_get_interp_method(interp, (h, w, size[1], size[0])))


def center_crop(src: NDArray, size: Sequence[int], interp: int = 2) -> tuple[NDArray, Box]:
    """Return the middle of an image, and where it lies: left, top, width, height."""
    height, width = src.shape[:2]
    new_width, new_height = scale_down((width, height), size)
    box = (int((width - new_width) / 2), int((height - new_height) / 2), new_width, new_height)
    return fixed_crop(src, *box, size, interp), box


def random_crop(src: NDArray, size: Sequence[int], interp: int = 2) -> tuple[NDArray, Box]:
    """Return a part of an image somewhere, and where it lies. Python's `random` draws, as in MXNet."""
    height, width = src.shape[:2]
    new_width, new_height = scale_down((width, height), size)
    left = random.randint(0, width - new_width)
    box = (left, random.randint(0, height - new_height), new_width, new_height)
    return fixed_crop(src, *box, size, interp), box


def random_size_crop(
    src: NDArray, size: Sequence[int], area: Any, ratio: tuple[float, float], interp: int = 2, **kwargs: Any
) -> tuple[NDArray, Box]:
    """Return a part of an image with an area and a ratio within bounds, and where it lies."""
    height, width = src.shape[:2]
    least, most = area if isinstance(area, tuple | list) else (area, 1.0)
    for _ in range(10):
        target = random.uniform(least, most) * height * width
        drawn = math.exp(random.uniform(math.log(ratio[0]), math.log(ratio[1])))
        new_width, new_height = round(math.sqrt(target * drawn)), round(math.sqrt(target / drawn))
        if new_width <= width and new_height <= height:
            left = random.randint(0, width - new_width)
            box = (left, random.randint(0, height - new_height), new_width, new_height)
            return fixed_crop(src, *box, size, interp), box
    return center_crop(src, size, interp)


def color_normalize(src: NDArray, mean: Any, std: Any = None) -> NDArray:
    """Return an image minus a mean, over a deviation. The image itself is changed, as in MXNet."""
    if mean is not None:
        src -= mean
    if std is not None:
        src /= std
    return src


def _get_interp_method(interp: int, sizes: Sequence[int] = ()) -> int:
    """Return an interpolation. 9 is cubic to enlarge, areas to shrink, else bilinear; 10 draws one."""
    if interp == 9:
        if not sizes:
            return 2
        old_height, old_width, height, width = sizes
        if height > old_height and width > old_width:
            return 2
        return 3 if height < old_height and width < old_width else 1
    if interp == 10:
        return random.randint(0, 4)
    if interp not in range(5):
        raise ValueError(f"Unknown interp method {interp}")
    return interp


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
    zooms = (zoom_in or zoom_out) and _zooms(np.float32(height), np.float32(width), radians)
    grid = np.stack([x, y], 1) * (zooms[1 if zoom_out else 0] if zooms else np.float32(1))
    sampled: NDArray = nd.BilinearSampler(src, array(grid.astype(np.float32)))
    return sampled


def _zooms(height: Any, width: Any, radians: Any) -> tuple[Any, Any]:
    """Return the factors that leave no border and that show the whole image, by where the corners come to lie."""
    diagonal, corner, angle = np.sqrt(height * height + width * width), np.arctan(height / width), np.abs(radians)
    places = (corner + angle, corner - angle)
    far_x, far_y = (np.maximum(*(np.abs(diagonal * of(place)) for place in places)) for of in (np.cos, np.sin))
    factors = np.minimum(width / far_x, height / far_y), np.maximum(far_x / width, far_y / height)
    return factors[0][..., None], factors[1][..., None]


def random_rotate(
    src: NDArray, angle_limits: Sequence[float], zoom_in: bool = False, zoom_out: bool = False
) -> NDArray:
    """Return images turned by degrees that NumPy draws between the limits."""
    count = None if src.ndim == 3 else src.shape[0]
    return imrotate(src, np.random.uniform(angle_limits[0], angle_limits[1], size=count), zoom_in, zoom_out)

__all__ = [
    "center_crop", "color_normalize", "copyMakeBorder", "fixed_crop", "imdecode", "imread", "imresize", "imrotate",
    "random_crop", "random_rotate", "random_size_crop", "resize_short", "scale_down",
]  # fmt: skip
