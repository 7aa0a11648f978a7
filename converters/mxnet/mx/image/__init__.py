"""`mx.image`: images read, resized and cropped, the augmenters that predictions use, and batches of images."""

from __future__ import annotations

from typing import Any

from graphir.converters.mxnet.mx.image import augmenters, functions
from graphir.converters.mxnet.mx.image.augmenters import *
from graphir.converters.mxnet.mx.image.functions import *
from graphir.converters.mxnet.mx.image.functions import _get_interp_method as _get_interp_method
from graphir.converters.mxnet.mx.image.iterator import ImageIter
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


__all__ = ["ImageIter", *augmenters.__all__, *functions.__all__]
