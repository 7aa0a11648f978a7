"""`mx.mod`: networks with their parameters, for prediction."""

from __future__ import annotations

from graphir.converters.mxnet.mx.module.base_module import BaseModule
from graphir.converters.mxnet.mx.module.bucketing_module import BucketingModule
from graphir.converters.mxnet.mx.module.module import Module
from graphir.converters.mxnet.mx.module.sequential_module import SequentialModule

__all__ = ["BaseModule", "BucketingModule", "Module", "SequentialModule"]
