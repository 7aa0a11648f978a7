"""Graphs without inputs, evaluated."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from graphir.errors import ExportFailure, VerificationError
from graphir.graph import Graph
from graphir.safety.memory import machine_memory

from .providers import import_onnxruntime

if TYPE_CHECKING:
    from .session import OnnxSession

# Tried in this order: onnxruntime lags behind in kernels of the newest opsets, and operators of those need them.
OPSETS = (None, 23)
# What the constants of a graph may take to compute.
SECONDS = 600.0
# Writes a graph as an .onnx file, of an opset or (None) of the one that it chooses.
Export = Callable[[Graph, Path, int | None], object]


class OnnxEvaluator:
    """onnxruntime on the CPU without optimisations, for graphs that `export` writes as ONNX."""

    def __init__(self, export: Export) -> None:
        self._export = export

    @property
    def name(self) -> str:
        """What evaluates, with its version, as decisions name it. Raises ProviderError if it is not installed."""
        return f"onnxruntime {import_onnxruntime().__version__}"

    def __call__(self, graph: Graph) -> dict[str, NDArray[Any]] | None:
        """Return the outputs of a graph that has no inputs, by name.

        None if onnxruntime has no kernel for one of its nodes, or ends the child process that it runs in, or no opset
        can say it. Raises ProviderError if onnxruntime is not installed.
        """
        from graphir.safety.isolation import Caps, run_isolated

        from .session import OnnxSession

        import_onnxruntime()
        with tempfile.TemporaryDirectory(prefix="graphir-") as folder:
            for opset in OPSETS:
                target = Path(folder) / f"model-{opset or 'default'}.onnx"
                try:
                    self._export(graph, target, opset)
                    return run_isolated(partial(_evaluate_model, OnnxSession, target), Caps(SECONDS, machine_memory()))
                except (VerificationError, ExportFailure):
                    continue
        return None


def _evaluate_model(session: type[OnnxSession], model: Path) -> dict[str, NDArray[Any]]:
    return session(model, providers="cpu", optimize=False, threads=1).run({})
