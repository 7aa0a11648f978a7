"""`mx.gluon.data.vision`: sets of images in local files, and what is done with them before a network."""

from __future__ import annotations

from graphir.converters.mxnet.mx.gluon.data.vision import transforms
from graphir.converters.mxnet.mx.gluon.data.vision.datasets import (
    CIFAR10,
    CIFAR100,
    MNIST,
    FashionMNIST,
    ImageFolderDataset,
    ImageListDataset,
    ImageRecordDataset,
)

__all__ = [
    "CIFAR10", "CIFAR100", "MNIST", "FashionMNIST", "ImageFolderDataset", "ImageListDataset", "ImageRecordDataset",
    "transforms",
]  # fmt: skip
