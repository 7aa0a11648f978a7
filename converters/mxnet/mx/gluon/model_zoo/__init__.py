"""`mx.gluon.model_zoo`: the networks of MXNet's zoo, without their weights."""

from __future__ import annotations

from graphir.converters.mxnet.mx.gluon.model_zoo import model_store, vision

__all__ = ["model_store", "vision"]
