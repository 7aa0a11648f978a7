"""The table of formats that the fuzzer knows."""

from __future__ import annotations

from tests.fuzz.case import Format
from tests.fuzz.formats import graphir_json, mxnet, onnx

_ALL = (mxnet.SYMBOL, mxnet.PARAMS, mxnet.NPZ, onnx.ONNX, graphir_json.GRAPHIR)

FORMATS: dict[str, Format] = {entry.name: entry for entry in _ALL}

__all__ = ["FORMATS"]
