"""Images prepared inside a network, in numpy: pixels to numbers, crops, flips, borders, light."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, require

EIGENVALUES = np.array([55.46, 4.794, 1.148])
EIGENVECTORS = np.array(
    [[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]]
)


def expect_image(data: Array, channels: tuple[int, ...] = (1, 3)) -> None:
    """Raise ValueError unless it is one image (H, W, C) of numbers."""
    require(data.ndim == 3 and data.dtype != np.bool_, f"{data.dtype} of the shape {data.shape}, expected (H, W, C)")
    require(data.shape[2] in channels, f"{data.shape[2]} channels, expected one of {channels}")


def stored(numbers: Array, dtype: np.dtype[np.generic]) -> Array:
    """Numbers as MXNet stores them in an image: bytes limited and cut."""
    if dtype == np.uint8:
        numbers = np.clip(numbers, 0, 255)
    return numbers.astype(dtype)


def to_tensor(attrs: Attributes, data: Array) -> Array:
    """0 to 255 as 0 to 1 in float32, the channels before rows and columns."""
    require(data.ndim in (3, 4) and data.dtype != np.bool_, f"{data.dtype} of the shape {data.shape}")
    divided = data / data.dtype.type(255) if data.dtype.kind == "f" else data.astype(np.float32) / np.float32(255)
    return np.ascontiguousarray(np.moveaxis(divided.astype(np.float32), -1, -3))


def normalize(attrs: Attributes, data: Array) -> Array:
    """(x - mean) / std of each channel of (C, H, W) or a batch."""
    require(data.ndim in (3, 4) and data.dtype != np.bool_, f"{data.dtype} of the shape {data.shape}")
    channels = data.shape[-3]
    result = []
    for name, default in (("mean", (0.0,) * 4), ("std", (1.0,) * 4)):
        numbers = np.array(attrs.get(name, default), np.float32)
        require(channels in (1, 3) and len(numbers) in (1, channels), f"{name} {numbers} for {channels} channels")
        result.append(numbers.reshape(-1, 1, 1))
    wide = data if data.dtype == np.float64 else data.astype(np.float32)
    scaled = (wide - result[0]) / result[1]
    if data.dtype == np.int32:  # what is too large for it becomes the least one, as of a processor's conversion
        return np.asarray(np.where(np.abs(scaled) < 2.0**31, scaled.astype(np.int64), -(2**31))).astype(data.dtype)
    return np.asarray(scaled if data.dtype.kind == "f" else scaled.astype(np.int64)).astype(data.dtype)


def crop(attrs: Attributes, data: Array) -> Array:
    """Return a part of the rows and columns."""
    require(data.ndim in (3, 4) and data.dtype != np.bool_, f"{data.dtype} of the shape {data.shape}")
    require(data.shape[-1] in (1, 3), f"{data.shape[-1]} channels, expected 1 or 3")
    top, left, height, width = (int(attrs[name]) for name in ("y", "x", "height", "width"))
    inside = top + height <= data.shape[-3] and left + width <= data.shape[-2]
    require(inside and min(top, left) >= 0 and min(height, width) > 0, f"a part beyond {data.shape}")
    return data[..., top : top + height, left : left + width, :]


def flip(axis: int, attrs: Attributes, data: Array) -> Array:
    """Rows or columns in reverse order."""
    expect_image(data)
    return np.flip(data, axis)


def adjust_lighting(attrs: Attributes, data: Array) -> Array:
    """Return every pixel moved along the principal components of colours."""
    expect_image(data, (3,))
    moved = EIGENVECTORS @ (EIGENVALUES * np.array(attrs["alpha"][:3], np.float32))
    return stored(data.astype(np.float32) + moved.astype(np.float32), data.dtype)


BORDERS = {1: "edge", 2: "symmetric", 3: "wrap", 4: "reflect"}


def border(attrs: Attributes, data: Array) -> Array:
    """Rows and columns around an image, as OpenCV makes them."""
    require(data.ndim == 3 and data.dtype.name in ("uint8", "float32", "float64"), f"{data.dtype}, {data.shape}")
    pads = (attrs["top"], attrs["bot"]), (attrs["left"], attrs["right"]), (0, 0)
    kind = int(attrs.get("type", 0))
    require(kind in (0, *BORDERS) and min(*pads[0], *pads[1]) >= 0, f"type {kind} and margins {pads}")
    if kind:
        return np.pad(data, pads, BORDERS[kind])  # type: ignore[call-overload,no-any-return]
    numbers = attrs.get("values") or (attrs.get("value", 0.0),) * 3  # a fourth channel gets 0
    planes = [
        np.pad(data[..., index], pads[:2], constant_values=_filling((*numbers, 0.0, 0.0, 0.0)[index], data.dtype))
        for index in range(data.shape[2])
    ]
    return np.stack(planes, axis=2)


def _filling(number: float, dtype: np.dtype[np.generic]) -> Array:
    return np.array(min(max(round(number), 0), 255) if dtype == np.uint8 else number).astype(dtype)


OPERATORS: Mapping[str, Reference] = {
    "_cvcopyMakeBorder": border,
    "_image_adjust_lighting": adjust_lighting,
    "_image_crop": crop,
    "_image_flip_left_right": partial(flip, 1),
    "_image_flip_top_bottom": partial(flip, 0),
    "_image_normalize": normalize,
    "_image_to_tensor": to_tensor,
}
