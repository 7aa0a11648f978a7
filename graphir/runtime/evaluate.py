"""Graphs without inputs, evaluated."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from graphir.errors import ExportFailure, VerificationError
from graphir.graph import Graph

from .session import Session, import_onnxruntime

# Tried in this order: onnxruntime lags behind in kernels of the newest opsets, and operators of those need them.
OPSETS = (None, 23)


def evaluate(graph: Graph) -> dict[str, NDArray[Any]] | None:
    """The outputs of a graph that has no inputs, by name, computed by onnxruntime on the CPU without optimisations.

    None if onnxruntime has no kernel for one of its nodes, or no opset can say it. Raises ProviderError if onnxruntime
    is not installed.
    """
    import_onnxruntime()
    for opset in OPSETS:
        try:
            return Session(graph, providers="cpu", optimize=False, threads=1, opset=opset).run({})
        except (VerificationError, ExportFailure):
            continue
    return None


def evaluator() -> str:
    """What evaluates, with its version, as reports name it."""
    return f"onnxruntime {import_onnxruntime().__version__}"


__all__ = ["evaluate", "evaluator"]
