"""Augmenters: what is done with an image before it becomes part of a batch."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphir.converters.mxnet.mx.image.functions import (
    _get_interp_method,
    center_crop,
    color_normalize,
    imresize,
    random_crop,
    random_size_crop,
    resize_short,
)
from graphir.converters.mxnet.mx.ndarray import NDArray, array


class Augmenter:
    """A function of images. The arguments of a subclass become its attributes, and are written by `dumps`."""

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = {
            key: value.asnumpy().tolist() if isinstance(value, NDArray)
            else value.tolist() if isinstance(value, np.ndarray) else value
            for key, value in kwargs.items()
        }  # fmt: skip
        self.__dict__.update(kwargs)

    def dumps(self) -> Any:
        """Return the class's name and the arguments as JSON."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, src: NDArray) -> NDArray:
        """Return the changed image."""
        raise NotImplementedError(f"{type(self).__name__} does not define __call__")


class _Sized(Augmenter):
    size: Any
    interp: int

    def __init__(self, size: Any, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)


class ResizeAug(_Sized):
    """The shorter side gets a size."""

    def __call__(self, src: NDArray) -> NDArray:
        """Return the resized image."""
        return resize_short(src, self.size, self.interp)


class ForceResizeAug(_Sized):
    """Both sides get a size."""

    def __call__(self, src: NDArray) -> NDArray:
        """Return the resized image."""
        sizes = (src.shape[0], src.shape[1], self.size[1], self.size[0])
        return imresize(src, self.size[0], self.size[1], interp=_get_interp_method(self.interp, sizes))


class CenterCropAug(_Sized):
    """The middle of the image."""

    def __call__(self, src: NDArray) -> NDArray:
        """Return the middle."""
        return center_crop(src, self.size, self.interp)[0]


class RandomCropAug(_Sized):
    """A part of the image."""

    def __call__(self, src: NDArray) -> NDArray:
        """Return a part."""
        return random_crop(src, self.size, self.interp)[0]


class RandomSizedCropAug(Augmenter):
    """A part of the image with an area and a ratio within bounds."""

    def __init__(self, size: Any, area: Any, ratio: Any, interp: int = 2, **kwargs: Any) -> None:
        super().__init__(size=size, area=area, ratio=ratio, interp=interp)

    def __call__(self, src: NDArray) -> NDArray:
        """Return a part."""
        held = self.__dict__
        return random_size_crop(src, held["size"], held["area"], held["ratio"], held["interp"])[0]


class HorizontalFlipAug(Augmenter):
    """The image's mirror, with a probability."""

    p: float

    def __init__(self, p: float) -> None:
        super().__init__(p=p)

    def __call__(self, src: NDArray) -> NDArray:
        """Return the image or its mirror."""
        return NDArray(np.asarray(src)[:, ::-1].copy(), src.context) if random.random() < self.p else src


class CastAug(Augmenter):
    """The image in another dtype."""

    typ: str

    def __init__(self, typ: str = "float32") -> None:
        super().__init__(type=typ)
        self.typ = typ

    def __call__(self, src: NDArray) -> NDArray:
        """Return the image in the dtype."""
        return src.astype(self.typ)


class ColorNormalizeAug(Augmenter):
    """The image minus a mean, over a deviation."""

    def __init__(self, mean: Any, std: Any) -> None:
        super().__init__(mean=mean, std=std)
        self.mean = mean if mean is None or isinstance(mean, NDArray) else array(mean)
        self.std = std if std is None or isinstance(std, NDArray) else array(std)

    def __call__(self, src: NDArray) -> NDArray:
        """Return the normalized image."""
        return color_normalize(src, self.mean, self.std)


class SequentialAug(Augmenter):
    """Augmenters behind each other."""

    ts: list[Augmenter]

    def __init__(self, ts: Sequence[Augmenter]) -> None:
        super().__init__()
        self.ts = list(ts)

    def dumps(self) -> Any:
        """Return the class's name and what its augmenters write."""
        return [type(self).__name__.lower(), [augmenter.dumps() for augmenter in self.ts]]

    def __call__(self, src: NDArray) -> NDArray:
        """Return what the last one gives."""
        for augmenter in self.ts:
            src = augmenter(src)
        return src


class RandomOrderAug(SequentialAug):
    """Augmenters in a random order."""

    def __call__(self, src: NDArray) -> NDArray:
        """Return what the last one gives."""
        random.shuffle(self.ts)
        return super().__call__(src)


__all__ = [
    "Augmenter", "CastAug", "CenterCropAug", "ColorNormalizeAug", "ForceResizeAug",
    "HorizontalFlipAug", "RandomCropAug", "RandomOrderAug", "RandomSizedCropAug", "ResizeAug", "SequentialAug",
]  # fmt: skip
