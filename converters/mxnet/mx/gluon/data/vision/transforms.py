"""`mx.gluon.data.vision.transforms`: what is done with images before a network."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphir.arrays import Array
from graphir.converters.mxnet.mx import image
from graphir.converters.mxnet.mx import ndarray as nd
from graphir.converters.mxnet.mx.base import MXNetError
from graphir.converters.mxnet.mx.gluon.block import Block
from graphir.converters.mxnet.mx.gluon.hybrid_block import HybridBlock
from graphir.converters.mxnet.mx.gluon.nn import HybridSequential, Sequential
from graphir.converters.mxnet.mx.image.augmenters import EIGENVALUES, EIGENVECTORS, LUMINANCE
from graphir.converters.mxnet.mx.ndarray import NDArray
from graphir.converters.mxnet.mx.refusals import refused_name

WEIGHTS = np.array(LUMINANCE, np.float32)
SECTORS = np.array([[0, 3, 1], [2, 0, 1], [1, 0, 3], [1, 2, 0], [3, 1, 0], [0, 1, 2]])
"""Which of four numbers red, green and blue are in each sixth of the circle of hues."""
Change = Callable[[Array, Any], Array]


def _brightness(pixels: Array, factor: Any) -> Array:
    return np.asarray(pixels * factor)


def _contrast(pixels: Array, factor: Any) -> Array:
    mean = (pixels * WEIGHTS).sum(-1).mean(dtype=np.float32)
    return np.asarray(pixels * factor + (1 - factor) * mean)


def _saturation(pixels: Array, factor: Any) -> Array:
    # MXNet's operator takes the last channel's share alone for the luminance
    return np.asarray(pixels * factor + (1 - factor) * pixels[..., 2:] * WEIGHTS[..., 2:])


def _hue(pixels: Array, turns: Any) -> Array:
    pixels = pixels / np.float32(255)
    red, green, blue = np.moveaxis(pixels, -1, 0)
    most, least = pixels.max(-1), pixels.min(-1)
    lightness, spread = (most + least) * np.float32(0.5), most - least
    is_gray = spread <= np.finfo(np.float32).eps
    step = np.float32(60) / np.where(is_gray, 1, spread)
    hue = np.where(most == red, (green - blue) * step, np.where(
        most == green, (blue - red) * step + 120, (red - green) * step + 240))  # fmt: skip
    part = np.where(lightness < 0.5, most + least, 2 - most - least)
    saturation = spread / np.where(is_gray, 1, part)
    high = np.where(lightness <= 0.5, lightness * (1 + saturation), lightness + saturation - lightness * saturation)
    low = 2 * lightness - high
    place = (hue + np.where(hue < 0, np.float32(360), 0) + turns * np.float32(360)) * np.float32(1 / 60)
    place = np.mod(place, np.float32(6))
    sector = np.minimum(place.astype(np.int64), 5)
    rest = place - sector.astype(np.float32)
    numbers = np.stack([high, low, low + (high - low) * (1 - rest), low + (high - low) * rest], -1)
    turned = np.take_along_axis(numbers, SECTORS[sector], -1)
    return np.asarray(np.where(is_gray[..., None], lightness[..., None], turned) * np.float32(255))


def _lighting(pixels: Array, amounts: Any) -> Array:
    return np.asarray(pixels + np.dot(EIGENVECTORS * amounts, EIGENVALUES).astype(np.float32))


def _changed(image: NDArray, change: Change, amount: Any) -> NDArray:
    """Return an image (H, W, 3) after a change, in its dtype; whole numbers are cut and kept within bounds.

    Raises MXNetError for an image without three channels.
    """
    if len(image.shape) != 3 or image.shape[-1] != 3:
        raise MXNetError(f"colors are changed in images (H, W, 3), got {image.shape}")
    pixels = change(np.asarray(image).astype(np.float32), np.asarray(amount, np.float32))
    if np.dtype(image.dtype).kind in "iu":
        bounds: Any = np.iinfo(image.dtype)
        pixels = np.clip(pixels, bounds.min, bounds.max)
    return NDArray(pixels.astype(image.dtype), image.context)


class _RandomFactor(Block):
    def __init__(self, change: Change, most: float) -> None:
        super().__init__()
        self._change, self._args = change, (max(0, 1 - most), 1 + most)

    def forward(self, x: NDArray) -> NDArray:
        """Return the changed image."""
        return _changed(x, self._change, random.uniform(*self._args))


class RandomBrightness(_RandomFactor):
    """The image times a number near 1."""

    def __init__(self, brightness: float) -> None:
        super().__init__(_brightness, brightness)


class RandomContrast(_RandomFactor):
    """The image nearer to its mean luminance, or farther from it."""

    def __init__(self, contrast: float) -> None:
        super().__init__(_contrast, contrast)


class RandomSaturation(_RandomFactor):
    """The image with paler or stronger colors, as MXNet's operator computes them."""

    def __init__(self, saturation: float) -> None:
        super().__init__(_saturation, saturation)


class RandomHue(_RandomFactor):
    """The image with its hues turned: by a number of whole turns near 1."""

    def __init__(self, hue: float) -> None:
        super().__init__(_hue, hue)


class RandomColorJitter(Block):
    """Brightness, contrast, saturation and hue in a random order; those of 0 are left out."""

    def __init__(self, brightness: float = 0, contrast: float = 0, saturation: float = 0, hue: float = 0) -> None:
        super().__init__()
        rows = (_brightness, brightness, 1), (_contrast, contrast, 1), (_saturation, saturation, 1), (_hue, hue, 0)
        self._rows = [row for row in rows if row[1] > 0]

    def forward(self, x: NDArray) -> NDArray:
        """Return the changed image."""
        for change, most, middle in random.sample(self._rows, len(self._rows)):
            x = _changed(x, change, middle + random.uniform(-most, most))
        return x


class RandomLighting(Block):
    """The image plus a color drawn along the eigenvectors of ImageNet's colors."""

    def __init__(self, alpha: float) -> None:
        super().__init__()
        self._alpha = alpha

    def forward(self, x: NDArray) -> NDArray:
        """Return the changed image."""
        return _changed(x, _lighting, [random.gauss(0, self._alpha) for _ in range(3)])


Size = int | Sequence[int]


class Compose(Sequential):
    """Transforms behind each other; neighbours that are hybrid and draw nothing compute in one graph."""

    def __init__(self, transforms: Sequence[Any]) -> None:
        super().__init__()
        hybrid: list[Any] = []
        for block in [*transforms, None]:
            if isinstance(block, HybridBlock) and not isinstance(block, _Flip):
                hybrid.append(block)
                continue
            if len(hybrid) > 1:
                whole = HybridSequential()
                whole.add(*hybrid)
                whole.hybridize()
                self.add(whole)
            else:
                self.add(*hybrid)
            hybrid = []
            if block is not None:
                self.add(block)


class Cast(HybridBlock):
    """Another dtype."""

    def __init__(self, dtype: str = "float32") -> None:
        super().__init__()
        self._dtype = dtype

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.cast(x, self._dtype)


class ToTensor(HybridBlock):
    """Images ([N,] H, W, C) of 0 to 255 as float32 ([N,] C, H, W) of 0 to 1."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.image.to_tensor(x)


class Normalize(HybridBlock):
    """Tensors ([N,] C, H, W) minus a mean, over a deviation, of each channel."""

    def __init__(self, mean: Any = 0.0, std: Any = 1.0) -> None:
        super().__init__()
        self._mean, self._std = mean, std

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.image.normalize(x, self._mean, self._std)


class Resize(HybridBlock):
    """Images of a width and a height; with `keep_ratio` a single size is that of the shorter side."""

    def __init__(self, size: Size, keep_ratio: bool = False, interpolation: int = 1) -> None:
        super().__init__()
        self._keep, self._size, self._interpolation = keep_ratio, size, interpolation

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.image.resize(x, self._size, self._keep, self._interpolation)


class CenterCrop(Block):
    """The middle of an image, of a width and a height; a smaller image is enlarged."""

    def __init__(self, size: Size, interpolation: int = 1) -> None:
        super().__init__()
        self._args = ((size, size) if isinstance(size, int) else size), interpolation

    def forward(self, x: Any) -> Any:
        """Return the middle."""
        return image.center_crop(x, *self._args)[0]


class CropResize(HybridBlock):
    """A part of an image, resized to `size`."""

    def __init__(
        self, x: int, y: int, width: int, height: int, size: Size | None = None, interpolation: int | None = None
    ) -> None:
        super().__init__()
        self._box, self._size, self._interpolation = (x, y, width, height), size, interpolation

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        part = F.image.crop(x, *self._box)
        return F.image.resize(part, self._size, False, self._interpolation or 1) if self._size else part


class RandomResizedCrop(Block):
    """A part of an image with an area and a ratio within bounds, resized."""

    def __init__(
        self,
        size: Size,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: int = 1,
    ) -> None:
        super().__init__()
        self._args = ((size, size) if isinstance(size, int) else size), scale, ratio, interpolation

    def forward(self, x: NDArray) -> NDArray:
        """Return a part."""
        return image.random_size_crop(x, *self._args)[0]


class _Flip(HybridBlock):
    """The image, or with a probability of one half turned over; drawn for each image, also behind `hybridize`."""

    _function = ""

    def forward(self, x: Any, *args: Any) -> Any:
        """Return the image or the other one."""
        return getattr(nd.image, self._function)(x) if isinstance(x, NDArray) else super().forward(x, *args)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Return the image or the other one."""
        return getattr(F.image, self._function)(x)


class RandomFlipLeftRight(_Flip):
    """The image or its mirror."""

    _function = "random_flip_left_right"


class RandomFlipTopBottom(_Flip):
    """The image or the image upside down."""

    _function = "random_flip_top_bottom"


TRAINING = "RandomApply RandomRotation Rotate HybridCompose HybridRandomApply RandomCrop RandomGray"


def __getattr__(name: str) -> Any:
    if name in TRAINING.split():
        hint = "it augments images that a network is trained with"
        return refused_name(f"mx.gluon.data.vision.transforms.{name}", hint)
    raise AttributeError(f"mx.gluon.data.vision.transforms.{name} is not here; there are {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted({*__all__, *TRAINING.split()})

__all__ = [
    "Cast", "CenterCrop", "Compose", "CropResize", "Normalize", "RandomBrightness", "RandomColorJitter",
    "RandomContrast", "RandomFlipLeftRight", "RandomFlipTopBottom", "RandomHue", "RandomLighting", "RandomResizedCrop",
    "RandomSaturation", "Resize", "ToTensor",
]  # fmt: skip
