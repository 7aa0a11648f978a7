"""`mx.image`: images read, resized and cropped, the augmenters that predictions use, and batches of images."""

from __future__ import annotations

from typing import Any

from graphir.converters.mxnet.mx.image.augmenters import (
    Augmenter,
    CastAug,
    CenterCropAug,
    ColorNormalizeAug,
    ForceResizeAug,
    HorizontalFlipAug,
    RandomCropAug,
    RandomOrderAug,
    RandomSizedCropAug,
    ResizeAug,
    SequentialAug,
)
from graphir.converters.mxnet.mx.image.colors import (
    BrightnessJitterAug,
    ColorJitterAug,
    ContrastJitterAug,
    HueJitterAug,
    LightingAug,
    RandomGrayAug,
    SaturationJitterAug,
)
from graphir.converters.mxnet.mx.image.create import CreateAugmenter
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
from graphir.converters.mxnet.mx.image.rotation import imrotate, random_rotate
from graphir.converters.mxnet.mx.refusals import refused_name

TRAINING = (
    "CreateDetAugmenter CreateMultiRandCropAugmenter DetAugmenter DetBorrowAug DetHorizontalFlipAug DetRandomCropAug "
    "DetRandomPadAug DetRandomSelectAug ImageDetIter"
)
"""What holds the boxes of detection's training sets."""


def __getattr__(name: str) -> Any:
    if name in TRAINING.split():
        return refused_name(f"mx.image.{name}", "it holds the boxes that a detector is trained with")
    raise AttributeError(f"mx.image.{name} is not here; there are {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted({*__all__, *TRAINING.split()})


__all__ = [
    "Augmenter", "BrightnessJitterAug", "CastAug", "CenterCropAug", "ColorJitterAug", "ColorNormalizeAug",
    "ContrastJitterAug", "CreateAugmenter", "ForceResizeAug", "HorizontalFlipAug", "HueJitterAug", "ImageIter",
    "LightingAug", "RandomCropAug", "RandomGrayAug", "RandomOrderAug", "RandomSizedCropAug", "ResizeAug",
    "SaturationJitterAug", "SequentialAug", "center_crop", "color_normalize", "copyMakeBorder", "fixed_crop",
    "imdecode", "imread", "imresize", "imrotate", "random_crop", "random_rotate", "random_size_crop", "resize_short",
    "scale_down",
]  # fmt: skip
