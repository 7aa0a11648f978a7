"""How large the numbers in a graph are, measured by running it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.graph import Graph, Value
from graphir.types import DType
from graphir.verification.running.candidate import OnnxCandidate

from .feeds import feeds_of
from .given import Feeds

PathLike = str | os.PathLike[str]
SLICE_ELEMENTS = 64 << 20
OPEN_SIZE = 8


def measure(graph: Graph, feeds: Feeds | None = None, seed: int = 0) -> dict[str, float]:
    """The largest finite magnitude of each float32 value, by its name, when onnxruntime runs the graph on the feeds, or
    on drawn ones.

    Values inside the graphs of If, Loop and Scan are not seen. Runs are made for slices of the values, so that few are
    in memory at a time. Raises VerificationError or ExportFailure for a graph that cannot be run.
    """
    arrays = feeds_of(feeds, graph, seed)
    found = {name: _largest(array) for name, array in arrays.items() if array.dtype == np.float32}
    with OnnxCandidate(graph, optimize=False) as candidate:
        known = candidate.structure.producers
        values = [
            value for value in graph.values
            if value.producer is not None and value.dtype is DType.FLOAT32 and value.name in known
        ]  # fmt: skip
        for part in _slices(values):
            results = candidate.run(arrays, [value.name for value in part])
            found |= {name: _largest(array) for name, array in results.items()}
    return found


def _slices(values: Sequence[Value]) -> Iterator[list[Value]]:
    part: list[Value] = []
    room = SLICE_ELEMENTS
    for value in values:
        shape = value.shape or ()
        size = int(np.prod([dim if isinstance(dim, int) else OPEN_SIZE for dim in shape], dtype=np.float64))
        if part and size > room:
            yield part
            part, room = [], SLICE_ELEMENTS
        part.append(value)
        room -= size
    if part:
        yield part


def _largest(array: NDArray[Any]) -> float:
    """The largest finite magnitude, 0 where there is none."""
    largest = float(max(array.max(initial=0.0), -array.min(initial=0.0)))
    return largest if np.isfinite(largest) else float(np.abs(array[np.isfinite(array)]).max(initial=0.0))


__all__ = ["measure"]
