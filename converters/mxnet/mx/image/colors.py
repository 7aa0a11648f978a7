"""Augmenters that change colors at random: Python's `random` and NumPy draw, as in MXNet."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from graphir.converters.mxnet.mx import ndarray as nd
from graphir.converters.mxnet.mx.image.augmenters import Augmenter, RandomOrderAug
from graphir.converters.mxnet.mx.ndarray import NDArray, array

LUMINANCE = [[[0.299, 0.587, 0.114]]]
TO_YIQ = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]])
FROM_YIQ = np.array([[1.0, 0.956, 0.621], [1.0, -0.272, -0.647], [1.0, -1.107, 1.705]])
EIGENVALUES = np.array([55.46, 4.794, 1.148])
EIGENVECTORS = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]])
"""The colors of ImageNet, by which LightingAug of CreateAugmenter draws."""


class BrightnessJitterAug(Augmenter):
    """The image times a number near 1."""

    brightness: float

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness=brightness)

    def __call__(self, src: NDArray) -> NDArray:
        """Return the image, which is changed itself."""
        src *= 1.0 + random.uniform(-self.brightness, self.brightness)
        return src


class ContrastJitterAug(Augmenter):
    """The image nearer to its mean luminance, or farther from it."""

    contrast: float

    def __init__(self, contrast: float) -> None:
        super().__init__(contrast=contrast)
        self.coef = array(LUMINANCE)

    def __call__(self, src: NDArray) -> NDArray:
        """Return the image, which is changed itself."""
        alpha = 1.0 + random.uniform(-self.contrast, self.contrast)
        gray = src * self.coef
        gray = (3.0 * (1.0 - alpha) / gray.size) * nd.sum(gray)
        src *= alpha
        src += gray
        return src


class SaturationJitterAug(Augmenter):
    """The image nearer to its luminance, or farther from it."""

    saturation: float

    def __init__(self, saturation: float) -> None:
        super().__init__(saturation=saturation)
        self.coef = array(LUMINANCE)

    def __call__(self, src: NDArray) -> NDArray:
        """Return the image, which is changed itself."""
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
        """Return another image."""
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
    """The image plus a color drawn along the eigenvectors of a set of images."""

    alphastd: float
    eigval: Any
    eigvec: Any

    def __init__(self, alphastd: float, eigval: Any, eigvec: Any) -> None:
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)

    def __call__(self, src: NDArray) -> NDArray:
        """Return the image, which is changed itself."""
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
        """Return the image, or another one in gray."""
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


__all__ = [
    "BrightnessJitterAug", "ColorJitterAug", "ContrastJitterAug", "HueJitterAug", "LightingAug", "RandomGrayAug",
    "SaturationJitterAug", "color_augmenters",
]  # fmt: skip
