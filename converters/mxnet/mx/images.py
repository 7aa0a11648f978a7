"""The pixels of image files, read by Pillow into the arrays that OpenCV makes of them."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from graphir.arrays import Array
from graphir.converters.mxnet.mx.base import MXNetError
from graphir.extras import install_hint

GRAY, COLOR, UNCHANGED = 0, 1, -1


def import_pillow() -> Any:
    """Return `PIL.Image`. Raises MXNetError where Pillow is missing."""
    try:
        from PIL import Image
    except ImportError as error:
        raise MXNetError(f"images are read and written by Pillow: {install_hint('images')}") from error
    return Image


def decoded_pixels(content: bytes, flag: int = COLOR) -> Array:
    """Return the pixels (H, W, C), red first, of an image file's bytes, turned as its EXIF data states.

    `flag` is COLOR for three channels, GRAY for one, and UNCHANGED for those of the file, which is not turned.
    Raises MXNetError for what is no image, and for one of more pixels than Pillow allows.
    """
    Image = import_pillow()
    from PIL import ImageOps

    if not content:
        raise MXNetError("Input cannot be an empty buffer")
    try:
        image = Image.open(io.BytesIO(content))
        if flag == GRAY and image.format == "JPEG":
            image.draft("L", image.size)  # the luminance as it stands in the file, which OpenCV takes too
        kind = image.format
        image.load()
        if flag != UNCHANGED:
            image = ImageOps.exif_transpose(image)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise MXNetError(f"Decoding failed. Invalid image file: {error}") from error
    if image.mode.startswith("I;16"):
        image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    if image.mode == "1":
        image = image.convert("L")
    if flag == UNCHANGED and image.mode not in ("L", "RGB", "RGBA"):
        image = image.convert("RGBA" if "transparency" in image.info or image.mode == "LA" else "RGB")
    if flag == COLOR:
        image = image.convert("RGBA").convert("RGB") if image.mode == "P" else image.convert("RGB")
    if flag == GRAY and image.mode != "L":
        pixels = np.asarray(image.convert("RGB"), np.int32)
        # libpng's whole numbers of 15 bits, cut; OpenCV's own of 14 bits for all other files, rounded
        weights, bits, half = ((9797, 19234, 3737), 15, 0) if kind == "PNG" else ((4899, 9617, 1868), 14, 1 << 13)
        return np.asarray((pixels @ np.array(weights, np.int32) + half) >> bits, np.uint8)[..., None]
    pixels = np.array(image)
    return pixels[..., None] if pixels.ndim == 2 else pixels
