"""`mx.model`: checkpoints, and `FeedForward`, the module of scripts older than modules."""

from __future__ import annotations

from graphir.converters.mxnet.mx.checkpoints import load_checkpoint, load_params, save_checkpoint
from graphir.converters.mxnet.mx.feed_forward import FeedForward

__all__ = ["FeedForward", "load_checkpoint", "load_params", "save_checkpoint"]
