"""`mx.image`: images read, resized and cropped, augmenters, and batches of images, with boxes too."""

from __future__ import annotations

from graphir.converters.mxnet.mx.image import augmenters, detection, functions
from graphir.converters.mxnet.mx.image import detection as det
from graphir.converters.mxnet.mx.image.augmenters import *
from graphir.converters.mxnet.mx.image.box_iterator import ImageDetIter
from graphir.converters.mxnet.mx.image.detection import *
from graphir.converters.mxnet.mx.image.functions import *
from graphir.converters.mxnet.mx.image.functions import _get_interp_method as _get_interp_method
from graphir.converters.mxnet.mx.image.iterator import ImageIter

__all__ = ["ImageDetIter", "ImageIter", "det", *augmenters.__all__, *detection.__all__, *functions.__all__]
