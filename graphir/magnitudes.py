"""How large a model's numbers become, measured by runs of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from graphir.arrays import Array
from graphir.converters.session import lean_session
from graphir.errors import ExportFailure, VerificationError
from graphir.graph import Graph
from graphir.inputs.given import Feeds, feeds_of
from graphir.passes.pipelines import export
from graphir.safety.isolation import subject
from graphir.types import DType
from graphir.verification.running.candidate import OnnxCandidate

if TYPE_CHECKING:
    from graphir.converters.onnx.files.records import OnnxModel

# Values that no reduction measures are held at a time up to so many bytes, a quarter of the usual memory budget.
SLICE_BYTES = 256 << 20


def measure(graph: Graph, feeds: Feeds | None = None, seed: int = 0) -> dict[str, float]:
    """Return the largest finite magnitude of each float32 value, by its name, when onnxruntime runs the graph on the
    feeds, or on drawn ones.

    Values inside the graphs of If, Loop and Scan are not seen. One run reduces each value where it is computed, so that
    few are in memory at a time. Raises VerificationError or ExportFailure for a graph that cannot be run.
    """
    from graphir.converters.onnx.exporting.exporter import export_graph

    arrays = feeds_of(feeds, graph, seed)
    largest = {name: _largest(array) for name, array in arrays.items() if array.dtype == np.float32}
    with export().on_copy(graph) as live:
        model = export_graph(live)
    known = {name for node in model.nodes for name in node.outputs}
    names = [
        value.name for value in graph.values
        if value.producer is not None and value.dtype is DType.FLOAT32 and value.name in known
    ]  # fmt: skip
    with suppress(VerificationError, ExportFailure):  # what is wrong with the model itself shows without reductions
        largest |= _reduced(model, names, arrays)
    rest = [name for name in names if name not in largest]
    return largest | _compared(graph, rest, arrays) if rest else largest


def _reduced(model: OnnxModel, names: Sequence[str], arrays: Mapping[str, Array]) -> dict[str, float]:
    """The largest magnitudes of the values whose elements are all finite. Raises VerificationError where a value is
    empty, which onnxruntime does not reduce, and ExportFailure where weights outside of files are beyond 2 GiB."""
    from graphir.converters.onnx.files.writer import bytes_in_place
    from graphir.converters.onnx.probes import extent_addition, extent_names

    message, folder = bytes_in_place(model)
    with subject(OnnxCandidate.role):
        session = lean_session(message + extent_addition(names), "cpu", folder)
    results = session.run(arrays, [extent for name in names for extent in extent_names(name)])
    extents = {name: [float(results[extent]) for extent in extent_names(name)] for name in names}
    return {
        name: max(high, -low) for name, (low, high, total) in extents.items()
        if np.isfinite([low, high, total]).all()
    }  # fmt: skip


def _compared(graph: Graph, names: Sequence[str], arrays: Mapping[str, Array]) -> dict[str, float]:
    """The largest finite magnitudes of the values, in as many runs as keep few of them in memory at a time."""
    with OnnxCandidate(graph, optimize=False) as candidate:
        parts = candidate.slices(names, arrays, SLICE_BYTES)
        return {name: _largest(array) for part in parts for name, array in candidate.run(arrays, part).items()}


def _largest(array: Array) -> float:
    """The largest finite magnitude, 0 where there is none."""
    largest = float(max(array.max(initial=0.0), -array.min(initial=0.0)))
    return largest if np.isfinite(largest) else float(np.abs(array[np.isfinite(array)]).max(initial=0.0))
