"""`mx.model`: checkpoints, and `FeedForward`, the module of scripts older than modules."""

from __future__ import annotations

from typing import Any, NamedTuple

from graphir.converters.mxnet.mx.checkpoints import load_checkpoint, load_params, save_checkpoint
from graphir.converters.mxnet.mx.feed_forward import FeedForward


class BatchEndParam(NamedTuple):
    """What callbacks get at the end of a batch."""

    epoch: int
    nbatch: int
    eval_metric: Any
    locals: Any


__all__ = ["BatchEndParam", "FeedForward", "load_checkpoint", "load_params", "save_checkpoint"]
