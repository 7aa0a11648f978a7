"""`mx.gluon.data.vision.transforms`: what is done with images before a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphir.converters.mxnet.mx import image
from graphir.converters.mxnet.mx.gluon.block import Block
from graphir.converters.mxnet.mx.gluon.data.vision.colors import (
    RandomBrightness,
    RandomColorJitter,
    RandomContrast,
    RandomHue,
    RandomLighting,
    RandomSaturation,
)
from graphir.converters.mxnet.mx.gluon.hybrid_block import HybridBlock
from graphir.converters.mxnet.mx.gluon.nn import HybridSequential, Sequential
from graphir.converters.mxnet.mx.ndarray import NDArray
from graphir.converters.mxnet.mx.refusals import refused_name

Size = int | Sequence[int]


class Compose(Sequential):
    """Transforms behind each other; neighbours that are hybrid compute in one graph."""

    def __init__(self, transforms: Sequence[Any]) -> None:
        super().__init__()
        hybrid: list[Any] = []
        for block in [*transforms, None]:
            if isinstance(block, HybridBlock):
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
        """Return x in the dtype."""
        return F.cast(x, self._dtype)


class ToTensor(HybridBlock):
    """Images ([N,] H, W, C) of 0 to 255 as float32 ([N,] C, H, W) of 0 to 1."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Return the tensor."""
        return F.image.to_tensor(x)


class Normalize(HybridBlock):
    """Tensors ([N,] C, H, W) minus a mean, over a deviation, of each channel."""

    def __init__(self, mean: Any = 0.0, std: Any = 1.0) -> None:
        super().__init__()
        self._mean, self._std = mean, std

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Return the normalized tensor."""
        return F.image.normalize(x, self._mean, self._std)


class Resize(HybridBlock):
    """Images of a width and a height; with `keep_ratio` a single size is that of the shorter side."""

    def __init__(self, size: Size, keep_ratio: bool = False, interpolation: int = 1) -> None:
        super().__init__()
        self._keep, self._size, self._interpolation = keep_ratio, size, interpolation

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Return the resized image."""
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
        """Return the part."""
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


class RandomFlipLeftRight(HybridBlock):
    """The image or its mirror."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Return the image or its mirror."""
        return F.image.random_flip_left_right(x)


class RandomFlipTopBottom(HybridBlock):
    """The image or the image upside down."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Return the image or the image upside down."""
        return F.image.random_flip_top_bottom(x)


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
