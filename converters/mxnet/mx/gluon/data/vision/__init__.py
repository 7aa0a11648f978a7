"""`mx.gluon.data.vision`: sets of images in local files, and what is done with them before a network."""

from __future__ import annotations

from graphir.converters.mxnet.mx.gluon.data.vision import datasets, transforms
from graphir.converters.mxnet.mx.gluon.data.vision.datasets import *

__all__ = ["transforms", *datasets.__all__]
