"""Constants computed by way of ONNX, for passes that are handed an evaluator; operators in other terms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from graphir.converters.kernel.terms import Definitions, Terms
from graphir.graph import Graph
from graphir.runtime.evaluate import OnnxEvaluator


def onnx_evaluator() -> OnnxEvaluator:
    """Return onnxruntime as an evaluator of graphs that our exporter writes as ONNX."""
    return OnnxEvaluator(_export)


def onnx_terms() -> Terms:
    """Return what ONNX defines operators by, and `onnx_evaluator`."""
    return Terms(_definitions, onnx_evaluator())


def _definitions(prepare: Callable[[Graph], None] | None) -> Definitions:
    from graphir.converters.onnx.exporting import expansion

    return expansion.OnnxDefinitions(prepare)


def _export(graph: Graph, path: Path, opset: int | None) -> None:
    from graphir.converters.onnx import save

    save(graph, path, opset=opset)
