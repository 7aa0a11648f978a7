"""`mx.gluon.data`: sets of samples, the order in which they are taken, and batches of them."""

from __future__ import annotations

import importlib
from typing import Any

from graphir.converters.mxnet.mx.gluon.data import dataloader, dataset, sampler
from graphir.converters.mxnet.mx.gluon.data.dataloader import *
from graphir.converters.mxnet.mx.gluon.data.dataset import *
from graphir.converters.mxnet.mx.gluon.data.sampler import *


def __getattr__(name: str) -> Any:
    if name == "vision":
        return importlib.import_module(f"{__name__}.vision")
    raise AttributeError(f"mx.gluon.data.{name} is not here; there are {', '.join(__all__)}")


__all__ = [*dataloader.__all__, *dataset.__all__, *sampler.__all__]
