"""Images as inputs: read by Pillow, brought to the size and the layout of a model's input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.errors import VerificationError
from graphir.extras import install_hint

Array = NDArray[Any]
SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp")
MODES = {1: "L", 3: "RGB", 4: "RGBA"}
# What an input takes that states no size.
USUAL_SIZE = 224
OPEN_BATCH = 4
MOST_PIXELS = 1 << 26


def image_batches(
    files: Sequence[Path], name: str, shape: Sequence[object] | None, dtype: np.dtype[Any] | None
) -> tuple[list[tuple[list[Path], Callable[[], Array]]], str]:
    """The images in batches, each with what makes its array, and a sentence that says how they are prepared.

    The input has four axes, its channels (1, 3 or 4) second or last. A batch that it fixes is filled up with the last
    image. Raises VerificationError for another input, and without Pillow.
    """
    _pillow()
    last, channels, sizes = _layout(name, shape)
    batch = shape[0] if shape is not None and isinstance(shape[0], int) else None
    height, width = (size if isinstance(size, int) else USUAL_SIZE for size in sizes)
    whole = dtype is not None and dtype.kind in "iu"
    size = batch or min(OPEN_BATCH, len(files))
    made: list[tuple[list[Path], Callable[[], Array]]] = []
    for start in range(0, len(files), size):
        part = list(files[start : start + size])
        filled = part + [part[-1]] * (size - len(part)) if batch else part
        target = np.dtype(np.float32) if dtype is None else dtype
        made.append((part, partial(_batch, filled, (channels, height, width), last, target)))
    note = (
        f"images were read as {MODES[channels]}, resized to {height}x{width} (bilinear, not cropped) and fed with "
        f"{'values from 0 to 255' if whole else 'values from 0 to 1'}, channels {'last' if last else 'second'}; what "
        f"wants other numbers is fed with an .npz"
    )
    return made, note


def _layout(name: str, shape: Sequence[object] | None) -> tuple[bool, int, Sequence[object]]:
    """Whether channels are last, how many there are, and the sizes of height and width."""
    if shape is not None and len(shape) == 4:
        second, last = shape[1], shape[3]
        if second in MODES:
            return False, int(str(second)), shape[2:]
        if last in MODES:
            return True, int(str(last)), shape[1:3]
    found = "of unknown rank" if shape is None else f"[{', '.join(map(str, shape))}]"
    raise VerificationError(
        f"input {name} is {found}: images are fed to an input of four axes with 1, 3 or 4 channels second or last"
    )


def _batch(files: Sequence[Path], sizes: tuple[int, int, int], last: bool, dtype: np.dtype[Any]) -> Array:
    channels, height, width = sizes
    images = np.stack([_read(file, MODES[channels], (width, height)) for file in files])
    pixels = images.reshape(len(files), height, width, channels)
    if dtype.kind not in "iu":
        pixels = pixels.astype(np.float32) / np.float32(255)
    elif dtype == np.int8:
        pixels = pixels.astype(np.int16) - 128
    found: Array = pixels if last else pixels.transpose(0, 3, 1, 2)
    return np.ascontiguousarray(found.astype(dtype))


def _read(file: Path, mode: str, size: tuple[int, int]) -> Array:
    module = _pillow()
    try:
        with module.open(file) as image:
            if image.width * image.height > MOST_PIXELS:
                raise VerificationError(f"{file}: an image of {image.width}x{image.height} is larger than is read here")
            return np.asarray(image.convert(mode).resize(size, module.Resampling.BILINEAR))
    except (OSError, ValueError, SyntaxError, module.DecompressionBombError) as error:
        raise VerificationError(f"cannot read {file} as an image: {error}") from error


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise VerificationError(
            f"images are read by Pillow, which is not installed: {install_hint('images')}"
        ) from error
    return Image


__all__ = ["SUFFIXES", "image_batches"]
