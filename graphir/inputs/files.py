"""Arrays from mappings and files: .npz, .npy, and images brought to the size and the layout of a model's input."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from graphir.arrays import Array
from graphir.errors import FormatError, VerificationError
from graphir.extras import install_hint
from graphir.files.reading import open_plain
from graphir.safety.arguments import PathLike

UNREADABLE = (OSError, EOFError, ValueError, AttributeError, TypeError, FormatError)
SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp")
MODES = {1: "L", 3: "RGB", 4: "RGBA"}
# The size for an input that states none: that of most classifiers.
USUAL_SIZE = 224
OPEN_BATCH = 4
# 64 million pixels, in float32 a gigabyte.
MOST_PIXELS = 1 << 26


def chosen(given: Mapping[str, Array], names: Sequence[str]) -> dict[str, Array]:
    """Return the arrays of the inputs. Raises VerificationError with all that are missing."""
    missing = [name for name in names if name not in given]
    if missing:
        raise VerificationError(f"the feeds lack {', '.join(missing)}; they have {', '.join(given) or 'nothing'}")
    return {name: given[name] for name in names}


def read_feeds(feeds: Mapping[str, Any] | PathLike) -> dict[str, Array]:
    """Return arrays by name, from a mapping or an .npz."""
    if isinstance(feeds, Mapping):
        return {name: np.asarray(array) for name, array in feeds.items()}
    return {name.removeprefix("input:"): array for name, array in read_npz(feeds).items()}


def npz_names(path: PathLike) -> list[str]:
    """Return the names of an .npz file's arrays. Raises VerificationError."""
    return list(_in_npz(path, lambda archive: archive.files))


def read_npz(path: PathLike, names: Sequence[str] | None = None) -> dict[str, Array]:
    """Return the arrays of an .npz, or those named. Raises VerificationError."""

    def read(archive: Any) -> dict[str, Array]:
        return {name: archive[name] for name in (archive.files if names is None else names)}

    arrays: dict[str, Array] = _in_npz(path, read)
    return arrays


def read_npy(path: Path) -> Array:
    """Return the array of an .npy. Raises VerificationError."""
    try:
        with open_plain(path) as file:
            array: Array = np.lib.format.read_array(file, allow_pickle=False)  # type: ignore[no-untyped-call]
    except UNREADABLE as error:
        raise VerificationError(f"cannot read {path} as an .npy: {error}") from error
    return array


def _in_npz(path: PathLike, read: Callable[[Any], Any]) -> Any:
    import zipfile
    import zlib

    try:
        with open_plain(path) as file, np.load(file, allow_pickle=False) as archive:
            return read(archive)
    except (*UNREADABLE, zipfile.BadZipFile, zlib.error) as error:
        raise VerificationError(f"cannot read {path} as an .npz of arrays: {error}") from error


def image_batches(
    files: Sequence[Path], name: str, shape: Sequence[object] | None, dtype: np.dtype[Any] | None
) -> tuple[list[tuple[list[Path], Callable[[], Array]]], str]:
    """Return the images in batches, each with what makes its array, and a sentence that says how they are prepared.

    The input has four axes, its channels (1, 3 or 4) second or last. A batch that it fixes is filled up with the last
    image. Raises VerificationError for another input, and without Pillow.
    """
    _pillow()
    last, channels, sizes = _layout(name, shape)
    batch = shape[0] if shape is not None and isinstance(shape[0], int) else None
    height, width = (size if isinstance(size, int) else USUAL_SIZE for size in sizes)
    whole = dtype is not None and dtype.kind in "iu"
    size = batch or min(OPEN_BATCH, len(files))
    batches: list[tuple[list[Path], Callable[[], Array]]] = []
    for start in range(0, len(files), size):
        part = list(files[start : start + size])
        filled = part + [part[-1]] * (size - len(part)) if batch else part
        target = np.dtype(np.float32) if dtype is None else dtype
        batches.append((part, partial(_batch, filled, (channels, height, width), last, target)))
    note = (
        f"images were read as {MODES[channels]}, resized to {height}x{width} (bilinear, not cropped) and fed with "
        f"{'values from 0 to 255' if whole else 'values from 0 to 1'}, channels {'last' if last else 'second'}; what "
        f"wants other numbers is fed with an .npz"
    )
    return batches, note


def _layout(name: str, shape: Sequence[object] | None) -> tuple[bool, int, Sequence[object]]:
    """Return whether channels are last, how many there are, and the sizes of height and width."""
    if shape is not None and len(shape) == 4:
        second, last = shape[1], shape[3]
        if second in MODES:
            return False, int(str(second)), shape[2:]
        if last in MODES:
            return True, int(str(last)), shape[1:3]
    shown = "of unknown rank" if shape is None else f"[{', '.join(map(str, shape))}]"
    raise VerificationError(
        f"input {name} is {shown}: images are fed to an input of four axes with 1, 3 or 4 channels second or last"
    )


def _batch(files: Sequence[Path], sizes: tuple[int, int, int], last: bool, dtype: np.dtype[Any]) -> Array:
    channels, height, width = sizes
    images = np.stack([_read(file, MODES[channels], (width, height)) for file in files])
    pixels = images.reshape(len(files), height, width, channels)
    if dtype.kind not in "iu":
        pixels = pixels.astype(np.float32) / np.float32(255)
    elif dtype == np.int8:
        pixels = pixels.astype(np.int16) - 128
    laid: Array = pixels if last else pixels.transpose(0, 3, 1, 2)
    return np.ascontiguousarray(laid.astype(dtype))


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
