"""Augmenters: what is done with an image before it joins a batch. Python's `random` and NumPy draw, as in MXNet."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphir.converters.mxnet.mx import ndarray as nd
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
        return resize_short(src, self.size, self.interp)


class ForceResizeAug(_Sized):
    """Both sides get a size."""

    def __call__(self, src: NDArray) -> NDArray:
        sizes = (src.shape[0], src.shape[1], self.size[1], self.size[0])
        return imresize(src, self.size[0], self.size[1], interp=_get_interp_method(self.interp, sizes))


class CenterCropAug(_Sized):
    """The middle of the image."""

    def __call__(self, src: NDArray) -> NDArray:
        return center_crop(src, self.size, self.interp)[0]


class RandomCropAug(_Sized):
    """A part of the image."""

    def __call__(self, src: NDArray) -> NDArray:
        return random_crop(src, self.size, self.interp)[0]


class RandomSizedCropAug(Augmenter):
    """A part of the image with an area and a ratio within bounds."""

    def __init__(self, size: Any, area: Any, ratio: Any, interp: int = 2, **kwargs: Any) -> None:
        super().__init__(size=size, area=area, ratio=ratio, interp=interp)

    def __call__(self, src: NDArray) -> NDArray:
        stated = self.__dict__
        return random_size_crop(src, stated["size"], stated["area"], stated["ratio"], stated["interp"])[0]


class HorizontalFlipAug(Augmenter):
    """The image's mirror, with a probability."""

    p: float

    def __init__(self, p: float) -> None:
        super().__init__(p=p)

    def __call__(self, src: NDArray) -> NDArray:
        return NDArray(np.asarray(src)[:, ::-1].copy(), src.context) if random.random() < self.p else src


class CastAug(Augmenter):
    """The image in another dtype."""

    typ: str

    def __init__(self, typ: str = "float32") -> None:
        super().__init__(type=typ)
        self.typ = typ

    def __call__(self, src: NDArray) -> NDArray:
        return src.astype(self.typ)


class ColorNormalizeAug(Augmenter):
    """The image minus a mean, over a deviation."""

    def __init__(self, mean: Any, std: Any) -> None:
        super().__init__(mean=mean, std=std)
        self.mean = mean if mean is None or isinstance(mean, NDArray) else array(mean)
        self.std = std if std is None or isinstance(std, NDArray) else array(std)

    def __call__(self, src: NDArray) -> NDArray:
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
        for augmenter in self.ts:
            src = augmenter(src)
        return src


class RandomOrderAug(SequentialAug):
    """Augmenters in a random order."""

    def __call__(self, src: NDArray) -> NDArray:
        random.shuffle(self.ts)
        return super().__call__(src)


LUMINANCE = [[[0.299, 0.587, 0.114]]]
TO_YIQ = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]])
FROM_YIQ = np.array([[1.0, 0.956, 0.621], [1.0, -0.272, -0.647], [1.0, -1.107, 1.705]])
EIGENVALUES = np.array([55.46, 4.794, 1.148])
EIGENVECTORS = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]])
"""The colors of ImageNet, by which LightingAug of CreateAugmenter draws."""


class BrightnessJitterAug(Augmenter):
    """The image times a number near 1, in place."""

    brightness: float

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness=brightness)

    def __call__(self, src: NDArray) -> NDArray:
        src *= 1.0 + random.uniform(-self.brightness, self.brightness)
        return src


class ContrastJitterAug(Augmenter):
    """The image nearer to its mean luminance, or farther from it, in place."""

    contrast: float

    def __init__(self, contrast: float) -> None:
        super().__init__(contrast=contrast)
        self.coef = array(LUMINANCE)

    def __call__(self, src: NDArray) -> NDArray:
        alpha = 1.0 + random.uniform(-self.contrast, self.contrast)
        gray = src * self.coef
        gray = (3.0 * (1.0 - alpha) / gray.size) * nd.sum(gray)
        src *= alpha
        src += gray
        return src


class SaturationJitterAug(Augmenter):
    """The image nearer to its luminance, or farther from it, in place."""

    saturation: float

    def __init__(self, saturation: float) -> None:
        super().__init__(saturation=saturation)
        self.coef = array(LUMINANCE)

    def __call__(self, src: NDArray) -> NDArray:
        alpha = 1.0 + random.uniform(-self.saturation, self.saturation)
        gray = nd.sum(src * self.coef, axis=2, keepdims=True)
        gray *= 1.0 - alpha
        src *= alpha
        src += gray
        return src


class HueJitterAug(Augmenter):
    """The image with its colors turned."""

    hue: float

    def __init__(self, hue: float) -> None:
        super().__init__(hue=hue)

    def __call__(self, src: NDArray) -> NDArray:
        angle = random.uniform(-self.hue, self.hue) * np.pi
        u, w = np.cos(angle), np.sin(angle)
        turn = np.array([[1.0, 0.0, 0.0], [0.0, u, -w], [0.0, w, u]])
        turned: NDArray = nd.dot(src, array(np.dot(np.dot(FROM_YIQ, turn), TO_YIQ).T))
        return turned


class ColorJitterAug(RandomOrderAug):
    """Brightness, contrast and saturation in a random order."""

    def __init__(self, brightness: float, contrast: float, saturation: float) -> None:
        rows = ((BrightnessJitterAug, brightness), (ContrastJitterAug, contrast), (SaturationJitterAug, saturation))
        super().__init__([kind(most) for kind, most in rows if most > 0])


class LightingAug(Augmenter):
    """The image plus a color drawn along the eigenvectors of a set of images, in place."""

    alphastd: float
    eigval: Any
    eigvec: Any

    def __init__(self, alphastd: float, eigval: Any, eigvec: Any) -> None:
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)

    def __call__(self, src: NDArray) -> NDArray:
        alpha = np.random.normal(0, self.alphastd, size=(3,))
        src += array(np.dot(self.eigvec * alpha, self.eigval))
        return src


class RandomGrayAug(Augmenter):
    """The image in gray, with a probability."""

    p: float

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.mat = array([[share] * 3 for share in (0.21, 0.72, 0.07)])

    def __call__(self, src: NDArray) -> NDArray:
        gray: NDArray = nd.dot(src, self.mat) if random.random() < self.p else src
        return gray


def color_augmenters(
    brightness: float, contrast: float, saturation: float, hue: float, pca_noise: float, rand_gray: float
) -> list[Augmenter]:
    """Return the augmenters of colors that CreateAugmenter makes, in its order."""
    jitter = ColorJitterAug(brightness, contrast, saturation) if brightness or contrast or saturation else None
    rows = (jitter, HueJitterAug(hue) if hue else None,
            LightingAug(pca_noise, EIGENVALUES, EIGENVECTORS) if pca_noise > 0 else None,
            RandomGrayAug(rand_gray) if rand_gray > 0 else None)  # fmt: skip
    return [augmenter for augmenter in rows if augmenter is not None]


def CreateAugmenter(
    data_shape: Sequence[int],
    resize: int = 0,
    rand_crop: bool = False,
    rand_resize: bool = False,
    rand_mirror: bool = False,
    mean: Any = None,
    std: Any = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    hue: float = 0,
    pca_noise: float = 0,
    rand_gray: float = 0,
    inter_method: int = 2,
) -> list[Augmenter]:
    """Return the augmenters of a data shape (C, H, W). `mean` and `std` are True for those of ImageNet."""
    augmenters: list[Augmenter] = [ResizeAug(resize, inter_method)] if resize > 0 else []
    size = (data_shape[2], data_shape[1])
    if rand_resize:
        if not rand_crop:
            raise AssertionError("rand_resize needs rand_crop")
        augmenters.append(RandomSizedCropAug(size, 0.08, (3.0 / 4.0, 4.0 / 3.0), inter_method))
    else:
        augmenters.append((RandomCropAug if rand_crop else CenterCropAug)(size, inter_method))
    augmenters += [HorizontalFlipAug(0.5)] if rand_mirror else []
    augmenters += [CastAug(), *color_augmenters(brightness, contrast, saturation, hue, pca_noise, rand_gray)]
    mean = array([123.68, 116.28, 103.53]) if mean is True else mean
    std = array([58.395, 57.12, 57.375]) if std is True else std
    return [*augmenters, ColorNormalizeAug(mean, std)] if mean is not None or std is not None else augmenters

__all__ = [
    "Augmenter", "BrightnessJitterAug", "CastAug", "CenterCropAug", "ColorJitterAug", "ColorNormalizeAug",
    "ContrastJitterAug", "CreateAugmenter", "ForceResizeAug", "HorizontalFlipAug", "HueJitterAug", "LightingAug",
    "RandomCropAug", "RandomGrayAug", "RandomOrderAug", "RandomSizedCropAug", "ResizeAug", "SaturationJitterAug",
    "SequentialAug",
]  # fmt: skip
