"""`mx.gluon.data`: sets of samples, the order in which they are taken, and batches of them."""

from __future__ import annotations

import importlib
from typing import Any

from graphir.converters.mxnet.mx.gluon.data.dataloader import DataLoader, default_batchify_fn, default_mp_batchify_fn
from graphir.converters.mxnet.mx.gluon.data.dataset import ArrayDataset, Dataset, RecordFileDataset, SimpleDataset
from graphir.converters.mxnet.mx.gluon.data.sampler import (
    BatchSampler,
    FilterSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
)


def __getattr__(name: str) -> Any:
    if name == "vision":
        return importlib.import_module(f"{__name__}.vision")
    raise AttributeError(f"mx.gluon.data.{name} is not here; there are {', '.join(__all__)}")


__all__ = [
    "ArrayDataset", "BatchSampler", "DataLoader", "Dataset", "FilterSampler", "RandomSampler", "RecordFileDataset",
    "Sampler", "SequentialSampler", "SimpleDataset", "default_batchify_fn", "default_mp_batchify_fn",
]  # fmt: skip
