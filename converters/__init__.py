"""The formats that graphir reads and writes, and the way from one to another."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphir.converters.detection import detect_format
from graphir.converters.opening import READS, Choices, Reading, check_choice, read_model
from graphir.converters.writing import WRITES, after_writing, check_options, make_ready, only_text, target_format
from graphir.errors import ArgumentError, ExportFailure, GraphirError
from graphir.safety.arguments import expect, expect_mapping, expect_path
from graphir.safety.limits import Stated, bounded
from graphir.safety.memory import memory_for

if TYPE_CHECKING:
    from graphir.converters.mxnet.source import MXNetSource
    from graphir.converters.tensorflow.references import TensorFlowModel
    from graphir.graph import Graph
    from graphir.report import ConversionReport
    from graphir.verification.equivalence import VerificationReport

PathLike = str | os.PathLike[str]


@bounded
def load(
    path: PathLike,
    *,
    params: PathLike | Mapping[str, object] | None = None,
    shapes: Mapping[str, object] | None = None,
    dtypes: Mapping[str, object] | None = None,
    format: str | None = None,
    keep_loss: bool = False,
    signature: str | None = None,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] | None = None,
    limits: Stated = None,
) -> Graph:
    """The graph of a model file.

    An MXNet model is named by its symbol file, its prefix, its folder or its .params; parameters beside it are found.
    `shapes` are the inputs' shapes by name (integers, names of symbolic sizes, None). Weights stay on disk until they
    are needed. `signature` chooses among those of a TensorFlow SavedModel; `outputs` are the nodes of a TensorFlow
    graph (or `node:1`) whose results are wanted, `inputs` those at which it is cut, which become inputs. `limits` raise
    what a file may ask for beyond what it holds (`graphir.safety.limits.Limits`, or some of its fields by name). Raises
    FormatError, UnsupportedOpError or ImportFailure, each naming all that is wrong.
    """
    choices = Choices(params, shapes, dtypes, keep_loss, signature, inputs, outputs)
    return read_model(path, choices, format).graph


def save(graph: Graph, path: PathLike, *, format: str | None = None, **options: Any) -> list[Path]:
    """Write a graph and return the files written.

    Options for .onnx: `opset`, `weights` (auto, inline, external, reference); for an MXNet symbol: `mxnet_version`
    (`0.12`, `1.4.1`); for .graphir.json: `hashes`. What no output depends on is not written.
    A failure leaves what stood at the target. Raises ExportFailure.
    """
    ready = make_ready(graph, path, target_format(path, format), **options)
    with memory_for(f"writing {path}"), only_text(path):
        return ready.write()


def check_comparison(feeds: object, seed: object, rtol: object, atol: object) -> None:
    """Raise ArgumentError for what does not say how to compare."""
    if feeds is not None and not isinstance(feeds, Mapping):
        expect_path(feeds, "feeds (if not a mapping of arrays by name)")
    if expect(seed, int, "seed") < 0:
        raise ArgumentError(f"seed: expected a number that is 0 or more, found {seed}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        expect(value, (int, float, type(None)), name)


def _places(target: PathLike, kind: str) -> list[PathLike]:
    """The files that a conversion to `target` writes whatever the model, besides those for large weights."""
    if kind != "mxnet":
        return [target]
    from graphir.converters.mxnet import SYMBOL_SUFFIX

    return [target, os.fspath(target).removesuffix(SYMBOL_SUFFIX) + "-0000.params"]


@bounded
def convert(
    source: PathLike,
    target: PathLike,
    *,
    format: str | None = None,
    params: PathLike | Mapping[str, object] | None = None,
    shapes: Mapping[str, object] | None = None,
    dtypes: Mapping[str, object] | None = None,
    constants: Mapping[str, object] | None = None,
    opset: int | None = None,
    mxnet_version: str | None = None,
    verify: bool = False,
    weights: str = "auto",
    keep_loss: bool = False,
    signature: str | None = None,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] | None = None,
    feeds: Mapping[str, Any] | PathLike | None = None,
    seed: int = 0,
    rtol: float | None = None,
    atol: float | None = None,
    per_layer: bool = False,
    against: str = "auto",
    providers: str | Sequence[str] = "cpu",
    accuracy: PathLike | None = None,
    progress: Callable[[str], None] | None = None,
    limits: Stated = None,
) -> ConversionReport:
    """Convert a model file to another format and say what was done.

    With `verify` the result is run and compared with the source (see `verify`); the report's `verification` holds the
    outcome, and the target stays either way. `accuracy` names an .npz of labelled data on which both are run
    (`converters.accuracy`). `constants` are values by input name: such inputs become parameters, so that a target can
    have as attributes what ONNX takes as operands (axes, shapes, k); the result is then held against the graph in which
    they are bound. `signature`, `inputs`, `outputs` and `limits` are as for `load`. `mxnet_version` is the release that
    an MXNet target is written for, `format` that of the source where its content and name do not tell it. `progress` is
    told what is being done. Raises what `load` and `save` raise; nothing is written then. An error of the check that
    follows has a note that the target was written.
    """
    from graphir.report import ConversionReport

    tell = progress or (lambda stage: None)
    started = time.perf_counter()
    kind = target_format(target)
    options = {"opset": opset, "mxnet_version": mxnet_version, "weights": None if weights == "auto" else weights}
    stated = {name: value for name, value in options.items() if value is not None}
    check_options(target, kind, stated)
    if constants is not None:
        expect_mapping(constants, "constants")
    check_comparison(feeds, seed, rtol, atol)
    choices = Choices(params, shapes, dtypes, keep_loss, signature, inputs, outputs)
    reading = read_model(source, choices, format, progress=tell)
    graph = reading.graph
    sources = {os.path.realpath(file) for file in (source, *reading.files)}
    for place in _places(target, kind):
        if os.path.realpath(place) in sources:
            raise ExportFailure(f"{place} is a file of the source; write the result elsewhere")
    if constants:
        from graphir.passes.bind import bind_inputs

        bind_inputs(graph, constants)
    if reading.format == "tensorflow":
        from graphir.passes.pipelines import explicit_padding

        explicit_padding().run(graph)
    tell(f"writing {target}")
    try:
        ready = make_ready(graph, target, kind, **stated)
    except ExportFailure as error:
        if reading.mxnet is not None and reading.mxnet.tensors is None:
            error.add_note(reading.mxnet.no_parameters())
        raise
    report = ConversionReport.of(
        reading, source, target, kind, opset=ready.opset, operators=ready.operators, target_version=ready.version
    )
    with memory_for(f"writing {target}"), only_text(target):
        report.add_files(ready.write())
    report.seconds = time.perf_counter() - started
    under_test = target if kind == "onnx" else graph
    with _explained(graph, feeds is None and accuracy is None), after_writing(target, "the check of it"):
        if verify:
            tell("verifying")
            report.verification = _verified(
                reading, source, target, kind, under_test, bound=bool(constants), feeds=feeds, seed=seed, rtol=rtol,
                atol=atol, per_layer=per_layer, against=against, providers=providers, shapes=shapes,
                signature=signature,
            )  # fmt: skip
        if accuracy is not None:
            from graphir.verification.converted import measure_accuracy

            tell("measuring accuracy")
            report.accuracy = measure_accuracy(
                reading.mxnet, graph, under_test, accuracy, against=against, providers=providers, progress=progress
            )
    return report


def _verified(
    reading: Reading,
    source: PathLike,
    target: PathLike,
    kind: str,
    under_test: Graph | PathLike,
    *,
    bound: bool,
    signature: str | None,
    **how: Any,
) -> VerificationReport:
    """What was written, held against what it came from; against the graph where inputs were `bound`."""
    from graphir.verification.references import TensorFlowModel, verify_conversion

    origin: MXNetSource | TensorFlowModel | Path | None = reading.mxnet
    if reading.format in ("onnx", "tensorflow"):
        origin = Path(source) if reading.format == "onnx" else TensorFlowModel(source, signature)
    if bound:
        origin = None
    candidate = under_test
    if kind == "mxnet":  # the written files are what is to be proved: MXNet's side computes them
        from graphir.converters.mxnet.source import open_source

        origin, candidate = open_source(Path(target)), source if isinstance(origin, Path) else reading.graph
    return verify_conversion(origin, reading.graph, candidate, **how)


@contextmanager
def _explained(graph: Graph, drawn: bool) -> Iterator[None]:
    """Where a run fails on inputs that were drawn, say which sizes were made up."""
    try:
        yield
    except GraphirError as error:
        if drawn:
            error.add_note(_open_sizes(graph))
        raise


def _open_sizes(graph: Graph) -> str:
    """What to say when a run failed on sizes that were made up, "" if none were."""
    made_up = [
        f"{value.name} is {value.type}"
        for value in graph.inputs
        if value.shape is not None and not all(isinstance(dim, int) for dim in _behind_batch(value.shape))
    ]
    if not made_up:
        return ""
    return f"the sizes that stay open were made up for the check ({', '.join(made_up)}): give them with -i or --feeds"


def _behind_batch(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """The sizes without the batch's, which tensors of three axes and more are taken to have first."""
    return shape[1:] if len(shape) > 2 else shape


@bounded
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
    limits: Stated = None,
) -> VerificationReport:
    """Compare a candidate (a Graph, or a model file) with a reference; see `converters.verification.verify`."""
    from graphir.verification.references import verify as run

    check_comparison(feeds, seed, rtol, atol)
    with memory_for("the comparison"):
        return run(
            reference, candidate, feeds=feeds, seed=seed, rtol=rtol, atol=atol, per_layer=per_layer, params=params,
            shapes=shapes, against=against, providers=providers, candidate_params=candidate_params,
            candidate_shapes=candidate_shapes, signature=signature, inputs=inputs, outputs=outputs,
            candidate_signature=candidate_signature, match=match, format=format, candidate_format=candidate_format,
        )  # fmt: skip


__all__ = [
    "READS",
    "WRITES",
    "check_choice",
    "convert",
    "detect_format",
    "load",
    "save",
    "target_format",
    "verify",
]
