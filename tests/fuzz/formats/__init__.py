"""The table of formats that the fuzzer knows."""

from __future__ import annotations

from tests.fuzz.case import Format
from tests.fuzz.formats import graphir_json, keras, mxnet, onnx, operators, tensorflow

_ALL = (
    mxnet.SYMBOL, mxnet.PARAMS, mxnet.NPZ, onnx.ONNX, graphir_json.GRAPHIR, *tensorflow.FORMATS, *keras.FORMATS,
    *operators.OPERATORS,
)  # fmt: skip

FORMATS: dict[str, Format] = {entry.name: entry for entry in _ALL}

__all__ = ["FORMATS"]
