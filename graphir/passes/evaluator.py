"""What computes constants: the passes are handed it, for they know no runtime."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from graphir.graph import Graph


class Evaluator(Protocol):
    """Computes graphs without inputs, such as `graphir.runtime.evaluate.OnnxEvaluator` with an exporter."""

    @property
    def name(self) -> str:
        """What computes, with its version, as decisions name it."""

    def __call__(self, graph: Graph) -> dict[str, NDArray[Any]] | None:
        """Return the outputs of a graph that has no inputs, by name; None if it cannot compute one of its nodes."""
