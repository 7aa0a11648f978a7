"""`mx.contrib`: the ONNX functions under the name that they had before MXNet 1.9."""

from __future__ import annotations

from graphir.converters.mxnet.mx.contrib import onnx

__all__ = ["onnx"]
