"""Poolings that no ONNX runtime loads are refused when they are written."""

from __future__ import annotations

import pytest

from graphir.converters.onnx import to_model
from graphir.errors import UnsupportedOpError
from graphir.graph import Graph
from graphir.ops.pooling import MaxPool
from graphir.pads import Explicit
from graphir.types import DType, TensorType


@pytest.mark.parametrize(("pad", "dilation", "refused"), [(2, 1, False), (3, 1, True), (4, 2, False), (5, 2, True)])
def test_windows_of_padding_alone_are_refused(pad: int, dilation: int, refused: bool) -> None:
    graph = Graph("net")
    data = graph.add_input("data", TensorType(DType.FLOAT32, (1, 2, 7, 7)))
    op = MaxPool((3, 3), dilations=(dilation, dilation), padding=Explicit(((pad, 0), (0, 0))))
    graph.set_outputs([graph.add_node(op, [data]).outputs[0]])
    if refused:
        with pytest.raises(UnsupportedOpError, match="windows of padding alone"):
            to_model(graph)
    else:
        to_model(graph)
