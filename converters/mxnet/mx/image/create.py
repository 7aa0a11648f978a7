"""`mx.image.CreateAugmenter`: the augmenters that are used together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphir.converters.mxnet.mx.image.augmenters import (
    Augmenter,
    CastAug,
    CenterCropAug,
    ColorNormalizeAug,
    HorizontalFlipAug,
    RandomCropAug,
    RandomSizedCropAug,
    ResizeAug,
)
from graphir.converters.mxnet.mx.image.colors import color_augmenters
from graphir.converters.mxnet.mx.ndarray import array


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


__all__ = ["CreateAugmenter"]
