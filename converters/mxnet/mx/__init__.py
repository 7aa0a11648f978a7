"""MXNet's own names without MXNet: symbols, arrays, checkpoints, and the ONNX functions, for old scripts.

    from graphir.converters.mxnet import mx
    mx.onnx.export_model("model-symbol.json", "model-0000.params", [(1, 3, 224, 224)])

What is here behaves as in MXNet 1.9.1. Training is not here.
"""

from __future__ import annotations

from graphir.converters.mxnet.mx import contrib, model, ndarray, onnx, symbol
from graphir.converters.mxnet.mx import ndarray as nd
from graphir.converters.mxnet.mx import symbol as sym
from graphir.converters.mxnet.mx.context import Context, cpu, gpu

__version__ = "1.9.1"  # the MXNet whose behaviour this is, which scripts ask for

__all__ = ["Context", "contrib", "cpu", "gpu", "model", "nd", "ndarray", "onnx", "sym", "symbol"]
