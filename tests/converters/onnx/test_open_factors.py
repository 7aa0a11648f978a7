"""Factors of matrices whose number of axes is open are refused by name."""

from __future__ import annotations

import pytest

from graphir.converters.onnx import to_model
from graphir.errors import UnsupportedOpError
from graphir.graph import Graph
from graphir.ops.factorization import TriangularSolve
from graphir.types import DType, TensorType


def test_sides_of_open_rank() -> None:
    graph = Graph("solve")
    matrix = graph.add_input("matrix", TensorType(DType.FLOAT32, (3, 3)))
    sides = graph.add_input("sides", TensorType(DType.FLOAT32, None))
    graph.set_outputs([graph.add(TriangularSolve(rightside=True), matrix, sides)])
    with pytest.raises(UnsupportedOpError, match=r"the number of axes of sides .* is open; state the inputs' shapes"):
        to_model(graph)
