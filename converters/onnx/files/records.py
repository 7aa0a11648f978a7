"""Keys of a graph's metadata that stand for fields of a ModelProto, so that they come back on export."""

from __future__ import annotations

PRODUCER = "graphir"
FIELD = "onnx."
OPSET = "onnx.opset:"
DIM_PARAM = "onnx.dim_param:"
METADATA = "onnx.metadata:"  # before keys of the model's own that begin with FIELD

__all__ = ["DIM_PARAM", "FIELD", "METADATA", "OPSET", "PRODUCER"]
