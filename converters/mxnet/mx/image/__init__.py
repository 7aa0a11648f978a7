"""`mx.image`: images read, resized and cropped, the augmenters that predictions use, and batches of images."""

from __future__ import annotations

from typing import Any

from graphir.converters.mxnet.mx.image.augmenters import (
    Augmenter,
    CastAug,
    CenterCropAug,
    ColorNormalizeAug,
    CreateAugmenter,
    ForceResizeAug,
    HorizontalFlipAug,
    RandomCropAug,
    RandomOrderAug,
    RandomSizedCropAug,
    ResizeAug,
    SequentialAug,
)
from graphir.converters.mxnet.mx.image.functions import (
    _get_interp_method as _get_interp_method,
)
from graphir.converters.mxnet.mx.image.functions import (
    center_crop,
    color_normalize,
    copyMakeBorder,
    fixed_crop,
    imdecode,
    imread,
    imresize,
    random_crop,
    random_size_crop,
    resize_short,
    scale_down,
)
from graphir.converters.mxnet.mx.image.iterator import ImageIter
from graphir.converters.mxnet.mx.refusals import refused_name

TRAINING = (
    "BrightnessJitterAug ColorJitterAug ContrastJitterAug CreateDetAugmenter CreateMultiRandCropAugmenter DetAugmenter "
    "DetBorrowAug DetHorizontalFlipAug DetRandomCropAug DetRandomPadAug DetRandomSelectAug HueJitterAug ImageDetIter "
    "LightingAug RandomGrayAug SaturationJitterAug imrotate random_rotate"
)
"""What changes images at random, or holds the boxes of detection's training sets."""


def __getattr__(name: str) -> Any:
    if name in TRAINING.split():
        return refused_name(f"mx.image.{name}", "it augments images that a network is trained with")
    raise AttributeError(f"mx.image.{name} is not here; there are {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted({*__all__, *TRAINING.split()})


__all__ = [
    "Augmenter", "CastAug", "CenterCropAug", "ColorNormalizeAug", "CreateAugmenter", "ForceResizeAug",
    "HorizontalFlipAug", "ImageIter", "RandomCropAug", "RandomOrderAug", "RandomSizedCropAug", "ResizeAug",
    "SequentialAug", "center_crop", "color_normalize", "copyMakeBorder", "fixed_crop", "imdecode", "imread", "imresize",
    "random_crop", "random_size_crop", "resize_short", "scale_down",
]  # fmt: skip
