"""What reading and writing share: keys of a graph's metadata that stand for fields of a ModelProto, so that they come
back on export, and the names of ONNX's own domain."""

from __future__ import annotations

PRODUCER = "graphir"
FIELD = "onnx."
OPSET = "onnx.opset:"
DIM_PARAM = "onnx.dim_param:"
METADATA = "onnx.metadata:"  # before keys of the model's own that begin with FIELD

DEFAULT_DOMAINS = ("", "ai.onnx")

__all__ = ["DEFAULT_DOMAINS", "DIM_PARAM", "FIELD", "METADATA", "OPSET", "PRODUCER"]
