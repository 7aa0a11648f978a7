"""Constants computed by way of ONNX, for passes that are handed an evaluator."""

from __future__ import annotations

from pathlib import Path

from graphir.graph import Graph
from graphir.runtime.evaluate import Evaluator


def onnx_evaluator() -> Evaluator:
    """onnxruntime, for graphs that our exporter writes as ONNX."""
    return Evaluator(_export)


def _export(graph: Graph, path: Path, opset: int | None) -> None:
    from graphir.converters.onnx import save

    save(graph, path, opset=opset)


__all__ = ["onnx_evaluator"]
