"""Choosing what a model is held against, and holding it against that.

The reference is, in this order: a golden capture if one is given, live MXNet in a child process where an interpreter
has it, and graphir's numpy reference of MXNet otherwise; for ONNX files and graphs it is onnxruntime without
optimisations. The report names it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.converters.mxnet.references import LiveMXNet, ReferenceEvaluator, live_python
from graphir.converters.mxnet.source import MXNetSource, open_source
from graphir.errors import VerificationError
from graphir.graph import Graph
from graphir.runtime.candidate import OnnxCandidate
from graphir.runtime.equivalence import Reference, VerificationReport, verify_against
from graphir.runtime.feeds import make_feeds

Array = NDArray[Any]
PathLike = str | os.PathLike[str]
AGAINST = ("auto", "live", "reference")


class GoldenCapture:
    """Inputs, outputs and internals recorded in an .npz by the framework that the model was made with.

    Keys: `input:<name>`, `output:<index>:<name>`, `internal:<name>`.
    """

    def __init__(self, path: PathLike) -> None:
        self.label = f"golden capture {Path(path).name}"
        self._values: dict[str, Array] = {}
        self.outputs: list[str] = []
        self.feeds: dict[str, Array] = {}
        numbered: list[tuple[int, str]] = []
        for key, array in _read_npz(path).items():
            kind, _, rest = key.partition(":")
            if kind == "input":
                self.feeds[rest] = array
            elif kind == "internal":
                self._values[rest] = array
            elif kind == "output":
                index, _, name = rest.partition(":")
                numbered.append((int(index), name))
                self._values[name] = array
        self.outputs = [name for _, name in sorted(numbered)]
        if not self.outputs:
            raise VerificationError(
                f"{path} is no golden capture: it has no key like output:0:softmax_output "
                f"(found: {', '.join(sorted(self._values) or list(_read_npz(path))[:5])})"
            )

    def run(self, feeds: Mapping[str, Array], outputs: Sequence[str] | None = None) -> dict[str, Array]:
        """The recorded values."""
        return {name: self._values[name] for name in (self.outputs if outputs is None else outputs)}

    def values(self) -> list[str]:
        """The names of the recorded values."""
        return list(self._values)


class RuntimeReference:
    """A graph or an ONNX file itself, in onnxruntime without optimisations."""

    def __init__(self, model: Graph | PathLike) -> None:
        self._candidate = OnnxCandidate(model, optimize=False)
        self._graph = model if isinstance(model, Graph) else None
        self.label = self._candidate.label

    def run(self, feeds: Mapping[str, Array], outputs: Sequence[str] | None = None) -> dict[str, Array]:
        """The outputs, or the named values."""
        return self._candidate.run(feeds, outputs)

    def values(self) -> list[str]:
        """The names of the graph's results; of a file, its outputs."""
        if self._graph is None:
            return list(self._candidate.session.outputs)
        return [value.name for value in self._graph.values if value.producer is not None]


def mxnet_reference(
    source: MXNetSource, against: str, shapes: Mapping[str, object] | None
) -> Reference:
    """Live MXNet or the numpy reference, as asked or as available."""
    if against not in AGAINST:
        raise VerificationError(f"against={against!r}: expected one of {', '.join(AGAINST)}")
    tensors = source.plain_tensors(shapes)
    python = live_python()
    if against == "live" and python is None:
        raise VerificationError(
            "live MXNet was asked for, but this interpreter has none; set GRAPHIR_MXNET_PYTHON to one that has it"
        )
    if against == "live" or (against == "auto" and python is not None):
        return LiveMXNet(source.symbol, tensors, python=python)
    return ReferenceEvaluator(source.symbol, tensors)


def verify_conversion(
    source: MXNetSource | None,
    graph: Graph,
    candidate: Graph | PathLike,
    *,
    feeds: Mapping[str, Any] | PathLike | None = None,
    seed: int = 0,
    rtol: float | None = None,
    atol: float | None = None,
    per_layer: bool = False,
    against: str = "auto",
    providers: str | Sequence[str] = "cpu",
    shapes: Mapping[str, object] | None = None,
) -> VerificationReport:
    """Hold the result of a conversion against its source; without an MXNet source against the graph itself."""
    started = time.perf_counter()
    reference: Reference = RuntimeReference(graph) if source is None else mxnet_reference(source, against, shapes)
    arrays = _feeds(feeds, graph, seed)
    with OnnxCandidate(candidate, providers=providers) as under_test:
        report = verify_against(
            reference, under_test, arrays, graph=graph, rtol=rtol, atol=atol, per_layer=per_layer, seed=seed
        )
    report.seconds = time.perf_counter() - started
    return report


def verify(
    reference: Any,
    candidate: Any,
    *,
    feeds: Mapping[str, Any] | PathLike | None = None,
    seed: int = 0,
    rtol: float | None = None,
    atol: float | None = None,
    per_layer: bool = False,
    params: PathLike | Mapping[str, object] | None = None,
    shapes: Mapping[str, object] | None = None,
    against: str = "auto",
    providers: str | Sequence[str] = "cpu",
) -> VerificationReport:
    """Compare two models numerically.

    `reference` is an MXNet model (a path as `load` takes it), a golden capture (.npz), an .onnx file or a Graph;
    `candidate` an .onnx file, a Graph, or a path that `load` reads. Inputs come from `feeds` (a mapping or an .npz by
    input name), from the capture, or are drawn from `seed`. `against` chooses between live MXNet (`live`) and the numpy
    reference (`reference`). Without `rtol` and `atol`, the verdict follows from the measured noise floor.

    Raises VerificationError if the comparison cannot be made; a difference is not an error but a verdict.
    """
    started = time.perf_counter()
    graph: Graph | None = candidate if isinstance(candidate, Graph) else None
    model: Graph | PathLike = candidate
    if not isinstance(candidate, Graph) and Path(candidate).suffix != ".onnx":
        from graphir.converters import load

        graph = model = load(candidate, shapes=shapes)
    source: Reference
    arrays: dict[str, Array]
    if not isinstance(reference, Graph) and Path(reference).suffix == ".npz":
        golden = GoldenCapture(reference)
        source, arrays = golden, _read_feeds(feeds) if feeds is not None else golden.feeds
        with OnnxCandidate(model, providers=providers) as under_test:
            unused = set(golden.feeds) - set(under_test.session.inputs)
        arrays = {name: array for name, array in arrays.items() if name not in unused}
    elif isinstance(reference, Graph) or Path(reference).suffix == ".onnx":
        source = RuntimeReference(reference)
        if isinstance(reference, Graph):
            arrays = _feeds(feeds, reference, seed)
        elif graph is not None:
            arrays = _feeds(feeds, graph, seed)
        else:
            arrays = _read_feeds(feeds) if feeds is not None else _file_feeds(reference, seed, shapes)
    else:
        opened = open_source(reference, params)
        origin = opened.to_graph(shapes)
        source = mxnet_reference(opened, against, shapes)
        arrays = _feeds(feeds, origin, seed)
        graph = graph or origin
    with OnnxCandidate(model, providers=providers) as under_test:
        report = verify_against(
            source, under_test, arrays, graph=graph, rtol=rtol, atol=atol, per_layer=per_layer, seed=seed
        )
    report.seconds = time.perf_counter() - started
    return report


def _feeds(feeds: Mapping[str, Any] | PathLike | None, graph: Graph, seed: int) -> dict[str, Array]:
    if feeds is None:
        return make_feeds(graph, seed=seed)
    given = _read_feeds(feeds)
    names = {value.name for value in graph.inputs}
    missing = names - set(given)
    if missing:
        raise VerificationError(f"the feeds lack {', '.join(sorted(missing))}; they have {', '.join(sorted(given))}")
    return {name: array for name, array in given.items() if name in names}


def _read_feeds(feeds: Mapping[str, Any] | PathLike) -> dict[str, Array]:
    if isinstance(feeds, Mapping):
        return {name: np.asarray(array) for name, array in feeds.items()}
    return {name.removeprefix("input:"): array for name, array in _read_npz(feeds).items()}


def _read_npz(path: PathLike) -> dict[str, Array]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, AttributeError) as error:
        raise VerificationError(f"cannot read {path} as an .npz of arrays: {error}") from error


def _file_feeds(path: PathLike, seed: int, shapes: Mapping[str, object] | None) -> dict[str, Array]:
    """Standard normal values for the inputs of an ONNX file."""
    from graphir.runtime.session import Session

    session = Session(path, providers="cpu")
    generator = np.random.Generator(np.random.PCG64(seed))
    arrays = {}
    for name, shape in session.inputs.items():
        wanted = (shapes or {}).get(name, shape)
        sizes = [size if isinstance(size, int) else 2 for size in wanted]  # type: ignore[attr-defined]
        dtype = session.input_dtypes[name] or np.dtype("float32")
        drawn = generator.standard_normal(sizes) if dtype.kind == "f" else generator.integers(0, 2, sizes)
        arrays[name] = np.asarray(drawn).astype(dtype)
    return arrays


__all__ = ["AGAINST", "GoldenCapture", "RuntimeReference", "mxnet_reference", "verify", "verify_conversion"]
