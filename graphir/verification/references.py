"""Choosing what a model is held against, and holding it against that.

The reference is, in this order: a golden capture if one is given, live MXNet in a child process where an interpreter
has it, and graphir's numpy reference of MXNet otherwise; for TensorFlow models live TensorFlow in a child process, or
the imported graph; for ONNX files and graphs it is onnxruntime without optimisations. The report names it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from graphir.converters.detection import is_symbol_text
from graphir.converters.mxnet.references import (
    PYTHON_VARIABLE,
    LiveMXNet,
    MXNetMissing,
    MXNetRefuses,
    ReferenceEvaluator,
    live_python,
)
from graphir.converters.mxnet.source import MXNetSource, open_source
from graphir.converters.tensorflow.references import TensorFlowModel, against_tensorflow
from graphir.errors import ArgumentError, VerificationError
from graphir.graph import Graph
from graphir.safety.arguments import expect_items
from graphir.verification.candidate import OnnxCandidate
from graphir.verification.equivalence import Reference, VerificationReport, verify_against
from graphir.verification.feeds import chosen as chosen_feeds
from graphir.verification.feeds import feeds_of, file_feeds, golden_feeds, npz_names, read_feeds, read_npz
from graphir.verification.heads import Wiring
from graphir.verification.matches import parse_match

Array = NDArray[Any]
PathLike = str | os.PathLike[str]
AGAINST = ("auto", "live", "reference")


class GoldenCapture:
    """Inputs, outputs and internals recorded in an .npz by the framework that the model was made with.

    Keys: `input:<name>`, `output:<index>:<name>`, `internal:<name>`; others are passed over. Arrays are read when they
    are wanted.
    """

    def __init__(self, path: PathLike) -> None:
        self.label = f"golden capture {Path(path).name}"
        self._path = path
        self._keys: dict[str, str] = {}
        inputs: dict[str, str] = {}
        numbered: list[tuple[int, str]] = []
        keys = npz_names(path)
        for key in keys:
            kind, _, rest = key.partition(":")
            index, _, name = rest.partition(":")
            if kind == "input":
                inputs[rest] = key
            elif kind == "internal":
                self._keys[rest] = key
            elif kind == "output" and index.isdecimal() and name:
                numbered.append((int(index), name))
                self._keys[name] = key
        self.outputs: list[str] = [name for _, name in sorted(numbered)]
        if not self.outputs:
            found = ", ".join(sorted(keys)[:5]) or "nothing"
            raise VerificationError(
                f"{path} is no golden capture: it has no key like output:0:softmax_output (found: {found})"
            )
        self.feeds = {name: self._read(key) for name, key in inputs.items()}

    @property
    def may_lack(self) -> frozenset[str]:
        """All outputs: a capture does not say which of them are losses. A note names those that are missing."""
        return frozenset(self.outputs)

    def values(self) -> list[str]:
        """The names of the recorded values."""
        return list(self._keys)

    def stream(self, feeds: Mapping[str, Array], names: Iterable[str]) -> Iterator[tuple[str, Array]]:
        """The recorded values, whatever the feeds."""
        for name in names:
            yield name, self._read(self._keys[name])

    def run(self, feeds: Mapping[str, Array], outputs: Sequence[str] | None = None) -> dict[str, Array]:
        """The recorded values."""
        return dict(self.stream(feeds, self.outputs if outputs is None else outputs))

    def close(self) -> None:
        """Nothing is held."""

    def _read(self, key: str) -> Array:
        return read_npz(self._path, [key])[key]


class RuntimeReference:
    """A graph or an ONNX file itself, in onnxruntime without optimisations."""

    def __init__(self, model: Graph | PathLike) -> None:
        self._candidate = OnnxCandidate(model, optimize=False)
        self.label = self._candidate.label

    @property
    def outputs(self) -> list[str]:
        """The names of the model's outputs."""
        return list(self._candidate.session.outputs)

    @property
    def inputs(self) -> list[str]:
        """The names of the model's inputs."""
        return list(self._candidate.session.inputs)

    @property
    def may_lack(self) -> frozenset[str]:
        """None: the model that comes back has every output."""
        return frozenset()

    @property
    def structure(self) -> Any:
        """Which operator makes which value."""
        return self._candidate.structure

    def values(self) -> list[str]:
        """The names of the model's results, in the file's order."""
        return list(self._candidate.structure.producers)

    def stream(self, feeds: Mapping[str, Array], names: Iterable[str]) -> Iterator[tuple[str, Array]]:
        """The named values, a few at a time."""
        pending = list(names)
        for start in range(0, len(pending), VALUES_AT_ONCE):
            yield from self._candidate.run(feeds, pending[start : start + VALUES_AT_ONCE]).items()

    def run(self, feeds: Mapping[str, Array], outputs: Sequence[str] | None = None) -> dict[str, Array]:
        """The outputs, or the named values."""
        return self._candidate.run(feeds, outputs)

    def close(self) -> None:
        """Remove the files made."""
        self._candidate.close()


VALUES_AT_ONCE = 64


def mxnet_reference(
    source: MXNetSource, against: str, shapes: Mapping[str, object] | None
) -> LiveMXNet | ReferenceEvaluator:
    """Live MXNet or the numpy reference, as asked or as available. Raises VerificationError for live MXNet where no
    interpreter has it."""
    if against not in AGAINST:
        raise VerificationError(f"against={against!r}: expected one of {', '.join(AGAINST)}")
    tensors = source.plain_tensors(shapes)
    python = live_python()
    if against == "live" and python is None:
        raise VerificationError(
            f"live MXNet was asked for, but this interpreter has none; set {PYTHON_VARIABLE} to one that has it"
        )
    if against == "live" or (against == "auto" and python is not None):
        return LiveMXNet(source.symbol, tensors, python=python)
    return ReferenceEvaluator(source.symbol, tensors)


def _against_mxnet(
    source: MXNetSource,
    against: str,
    shapes: Mapping[str, object] | None,
    check: Callable[[Reference], VerificationReport],
) -> VerificationReport:
    """Check against MXNet. One that is there but cannot be imported, or whose CPU build cannot run the model (NHWC
    convolutions, float16), is passed over with a note, unless it was asked for."""
    note = ""
    with closing(mxnet_reference(source, against, shapes)) as reference:
        try:
            return check(reference)
        except MXNetMissing:
            if against == "live" or os.environ.get(PYTHON_VARIABLE):
                raise
        except MXNetRefuses as error:
            if against == "live":
                raise
            note = f"the numpy reference stands in for MXNet, which could not run the model: {error}"
    with closing(mxnet_reference(source, "reference", shapes)) as reference:
        report = check(reference)
    if note:
        report.notes.append(note)
    return report


def verify_conversion(
    source: MXNetSource | TensorFlowModel | Path | None,
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
    """Hold the result of a conversion against its source: an MXNet or TensorFlow model or an ONNX file; without one the
    graph."""
    started = time.perf_counter()
    arrays = feeds_of(feeds, graph, seed)
    with OnnxCandidate(candidate, providers=providers) as under_test:

        def check(reference: Reference) -> VerificationReport:
            return verify_against(
                reference, under_test, arrays, graph=graph, rtol=rtol, atol=atol, per_layer=per_layer, seed=seed
            )

        if isinstance(source, TensorFlowModel):
            report = against_tensorflow(source, against, graph, check, RuntimeReference)
        elif source is None or isinstance(source, Path):
            with closing(RuntimeReference(graph if source is None else source)) as reference:
                report = check(reference)
        else:
            report = _against_mxnet(source, against, shapes, check)
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
    candidate_params: PathLike | Mapping[str, object] | None = None,
    candidate_shapes: Mapping[str, object] | None = None,
    signature: str | None = None,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] | None = None,
    candidate_signature: str | None = None,
    match: Sequence[str] = (),
    format: str | None = None,
    candidate_format: str | None = None,
) -> VerificationReport:
    """Compare two models numerically.

    `reference` is an MXNet or TensorFlow model (a path as `load` takes it), a golden capture (.npz), an .onnx or
    .graphir.json file or a Graph; `candidate` an .onnx file, a Graph, or a path that `load` reads. Inputs come from
    `feeds` (a mapping or an .npz by the reference's input names), from the capture (which answers for its own inputs
    only), or from `seed`. `against` chooses between the live framework (`live`) and the numpy reference of MXNet or the
    imported TensorFlow graph (`reference`). Without `rtol` and `atol`, the verdict follows from the measured noise
    floor.

    A candidate whose inputs have other names is fed by shape, then by position, one that has its channels elsewhere
    with transposed feeds; its results are brought into the reference's order. `candidate_shapes` are those of its
    own inputs, `shapes` without them, `candidate_params` its parameters. `signature`, `inputs` and `outputs` say
    what is meant of a TensorFlow reference, as for `load`; `candidate_signature` of such a candidate. `match` says
    which input or output of the reference is which of the candidate, where names do not: `A=B`, or `A=B:0,2,3,1`
    with the order of axes in which a feed is handed to the candidate, or a result to the reference. `format` and
    `candidate_format` are those of the models, where their content and names do not tell them.

    Raises VerificationError if the comparison cannot be made; a difference is not an error but a verdict.
    """
    from graphir.converters import check_choice

    started = time.perf_counter()
    matches = [parse_match(text) for text in expect_items(match, str, "match", "a text such as A=B")]
    own_shapes = shapes if candidate_shapes is None else candidate_shapes
    graph = _graph_of(
        candidate, kind_of(candidate, candidate_format), own_shapes, candidate_params, signature=candidate_signature
    )
    kind = kind_of(reference, format)
    tensorflow = TensorFlowModel(reference, signature) if kind == "tensorflow" else None
    if tensorflow is None:
        check_choice(reference, "", signature, inputs, outputs)
    chosen = {"signature": signature, "inputs": inputs, "outputs": outputs}
    if kind != "mxnet":
        reference = _graph_of(reference, kind, shapes, params, **chosen) or reference
    with OnnxCandidate(candidate if graph is None else graph, providers=providers) as under_test:

        def check(
            source: Reference, arrays: Mapping[str, Array], layers: Graph | None = graph, origin: Graph | None = None
        ) -> VerificationReport:
            wiring = getattr(source, "structure", None) if origin is None else Wiring.of(origin)
            return verify_against(
                source, under_test, arrays, graph=layers, rtol=rtol, atol=atol, per_layer=per_layer, seed=seed,
                matches=matches, wiring=wiring,
            )  # fmt: skip

        if tensorflow is not None and isinstance(reference, Graph):
            arrays, origin = feeds_of(feeds, reference, seed), reference
            report = against_tensorflow(
                *(tensorflow, against, origin),
                *(lambda source: check(source, arrays, graph or origin, origin), RuntimeReference),
            )
        elif isinstance(reference, Graph):
            with closing(RuntimeReference(reference)) as source:
                report = check(source, feeds_of(feeds, reference, seed))
        elif kind == CAPTURE:
            golden = GoldenCapture(reference)
            report = check(golden, golden_feeds(golden.feeds, feeds, list(under_test.session.inputs)))
        elif kind == "onnx":
            with closing(RuntimeReference(reference)) as source:
                given = None if feeds is None else chosen_feeds(read_feeds(feeds), source.inputs)
                report = check(source, file_feeds(reference, seed, shapes) if given is None else given)
        else:
            opened = open_source(reference, params)
            origin = opened.to_graph(shapes)
            arrays = feeds_of(feeds, origin, seed)
            report = _against_mxnet(
                opened, against, shapes, lambda source: check(source, arrays, graph or origin, origin)
            )
    report.seconds = time.perf_counter() - started
    return report


CAPTURE = "capture"


def kind_of(model: Any, format: str | None = None) -> str:
    """The format of what is to be compared: of a path's model, `capture` for an .npz, "" for a Graph. Raises
    ImportFailure and FormatError as `detect_format` does."""
    from graphir.converters import detect_format

    if isinstance(model, Graph):
        return ""
    if not isinstance(model, str | os.PathLike):
        raise ArgumentError(f"expected a Graph or the path of a model, found {type(model).__name__}")
    if format is not None:
        return format
    if is_symbol_text(model):
        return "mxnet"
    return CAPTURE if Path(model).suffix == ".npz" else detect_format(model)


def _graph_of(
    model: Any,
    kind: str,
    shapes: Mapping[str, object] | None,
    params: PathLike | Mapping[str, object] | None = None,
    **chosen: Any,
) -> Graph | None:
    """The graph of what is one or is loaded as one, with what is `chosen` of it; None for ONNX files and captures,
    which are run and read as they are."""
    if isinstance(model, Graph):
        return model
    if kind in ("onnx", CAPTURE):
        return None
    from graphir.converters import load

    return load(model, params=params, shapes=shapes, format=kind, **chosen)


__all__ = ["AGAINST", "GoldenCapture", "RuntimeReference", "TensorFlowModel", "mxnet_reference", "verify",
           "verify_conversion"]
