"""Keys of a graph's metadata that stand for fields of a ModelProto, so that they come back on export."""

from __future__ import annotations

PRODUCER = "graphir"
FIELD = "onnx."
OPSET = "onnx.opset:"
DIM_PARAM = "onnx.dim_param:"

__all__ = ["DIM_PARAM", "FIELD", "OPSET", "PRODUCER"]
