"""Small ONNX models as text, for tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser

Change = Callable[[Any], object]


def model(text: str, *, opset: int = 17, ir_version: int = 8, more_opsets: str = "") -> Any:
    """The model of a graph in onnx's text form: `g (float[N] x) => (float[N] y) { y = Neg(x) }`."""
    imports = f'"" : {opset}{more_opsets}'
    return onnx.parser.parse_model(f"<ir_version: {ir_version}, opset_import: [{imports}]>\n{text}")


def add_weight(target: Any, name: str, array: Any) -> None:
    """Put an initializer with raw data into a model."""
    target.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(array), name))


def external(name: str, shape: tuple[int, ...], *, data_type: int = 1, **entries: str) -> Any:
    """A TensorProto whose elements lie in another file."""
    proto = onnx.TensorProto(name=name, dims=shape, data_type=data_type, data_location=onnx.TensorProto.EXTERNAL)
    for key, text in entries.items():
        proto.external_data.add(key=key, value=text)
    return proto


def write(path: Path, target: Any) -> Path:
    """Write a model without any of onnx's own checks."""
    path.write_bytes(target.SerializeToString())
    return path
