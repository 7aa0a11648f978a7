"""The formats that graphir reads and writes, and the way from one to another."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphir.collector import paused_collector
from graphir.errors import ExportFailure, FormatError, GraphirError, ImportFailure

if TYPE_CHECKING:
    from graphir.converters.mxnet.source import MXNetSource
    from graphir.graph import Graph
    from graphir.report import ConversionReport
    from graphir.runtime.equivalence import VerificationReport

PathLike = str | os.PathLike[str]

READS = {
    "mxnet": "MXNet symbol and .params",
    "onnx": "ONNX",
    "tensorflow": "TensorFlow graphs",
    "graphir": "graphir's own JSON",
}
WRITES = {"onnx": "ONNX", "mxnet": "MXNet symbol and .params", "graphir": "graphir's own JSON"}
OWN_SUFFIX = ".graphir.json"
TENSORFLOW_SUFFIXES = (".pbtxt", ".meta", ".keras", ".h5", ".hdf5")
SAVED_MODEL = ("saved_model.pb", "saved_model.pbtxt")


def detect_format(path: PathLike) -> str:
    """The format of a model: by content first, then by suffix. Raises FormatError if it is none that graphir reads."""
    from graphir.converters.onnx import looks_like_onnx
    from graphir.converters.tensorflow import looks_like_tensorflow

    place = Path(path)
    if place.is_dir() and any((place / name).is_file() for name in SAVED_MODEL):
        return "tensorflow"
    if place.is_dir() or place.name.endswith(".params"):
        return "mxnet"
    if not place.exists():
        if place.with_name(place.name + "-symbol.json").exists() or any(place.parent.glob(place.name + "-*.params")):
            return "mxnet"
        raise ImportFailure(f"{place}: no such file, folder or checkpoint prefix")
    with open(place, "rb") as file:
        head = file.read(4096)
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if text.startswith(b"{") and place.suffix != ".onnx":
        return "graphir" if b'"graphir"' in head or place.name.endswith(OWN_SUFFIX) else "mxnet"
    if place.suffix == ".json":
        return "mxnet"
    if place.suffix in TENSORFLOW_SUFFIXES or (place.suffix != ".onnx" and looks_like_tensorflow(head)):
        return "tensorflow"
    if place.suffix == ".onnx" or looks_like_onnx(head):
        return "onnx"
    if place.suffix == ".pb":
        return "tensorflow"
    raise FormatError(f"not a model that graphir reads ({', '.join(READS.values())})", path=place)


def check_choice(
    path: PathLike, format: str, signature: str | None, inputs: Sequence[str], outputs: Sequence[str] | None
) -> None:
    """Raise ImportFailure where a part of a model is chosen that has none to choose from."""
    given = {"a signature": signature is not None, "inputs": bool(inputs), "outputs": outputs is not None}
    chosen = [name for name, is_given in given.items() if is_given]
    if chosen and format != "tensorflow":
        raise ImportFailure(f"{path}: {' and '.join(chosen)} can be chosen of TensorFlow models only")


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
) -> Graph:
    """The graph of a model file.

    An MXNet model is named by its symbol file, its prefix, its folder or its .params; parameters beside it are found.
    `shapes` are the inputs' shapes by name (integers, names of symbolic sizes, None). Weights stay on disk until they
    are needed. `signature` chooses among those of a TensorFlow SavedModel; `outputs` are the nodes of a TensorFlow
    graph (or `node:1`) whose results are wanted, `inputs` those at which it is cut, which become inputs. Raises
    FormatError, UnsupportedOpError or ImportFailure, each naming all that is wrong.
    """
    chosen = format or detect_format(path)
    check_choice(path, chosen, signature, inputs, outputs)
    if chosen == "mxnet":
        from graphir.converters.mxnet.source import open_source

        return open_source(path, params).to_graph(shapes, dtypes=dtypes, keep_loss=keep_loss)
    if chosen == "graphir":
        from graphir.inference.engine import fix_types
        from graphir.serial import load_graph

        graph = load_graph(path)
        if shapes or dtypes:
            fix_types(graph, shapes, dtypes)
        return graph
    if chosen == "onnx":
        from graphir.converters.onnx import load as load_onnx

        if params is not None:
            raise ImportFailure(f"{path}: an ONNX model holds its own parameters; leave the params out")
        return load_onnx(path, shapes=shapes, dtypes=dtypes)
    if chosen == "tensorflow":
        from graphir.converters.tensorflow import load as load_tensorflow

        if params is not None:
            raise ImportFailure(f"{path}: a TensorFlow model holds its own variables; leave the params out")
        return load_tensorflow(
            path, shapes=shapes, dtypes=dtypes, inputs=inputs, outputs=outputs, signature=signature
        )
    raise ImportFailure(f"unknown source format {chosen!r}; expected one of {', '.join(READS)}")


def target_format(path: PathLike, format: str | None = None) -> str:
    """The format that a target's name asks for. Raises ExportFailure if it is none that graphir writes."""
    if format is not None:
        if format not in WRITES:
            raise ExportFailure(f"unknown target format {format!r}; expected one of {', '.join(WRITES)}")
        return format
    name = Path(path).name
    if name.endswith(".onnx"):
        return "onnx"
    if name.endswith(OWN_SUFFIX):
        return "graphir"
    if name.endswith("-symbol.json"):
        return "mxnet"
    raise ExportFailure(
        f"cannot tell the format of {path}: name it something.onnx or something{OWN_SUFFIX}, or something-symbol.json"
    )


def save(graph: Graph, path: PathLike, *, format: str | None = None, **options: Any) -> list[Path]:
    """Write a graph and return the files written.

    Options for .onnx: `opset`, `weights` (auto, inline, external, reference); for an MXNet symbol: `mxnet_version`
    (`0.12`, `1.4.1`); for .graphir.json: `hashes`.
    A failure leaves what stood at the target. Raises ExportFailure.
    """
    kind = target_format(path, format)
    if kind == "onnx":
        from graphir.converters.onnx import save as save_onnx

        return save_onnx(graph, path, **options)
    if kind == "mxnet":
        from graphir.converters.mxnet import save as save_mxnet

        return save_mxnet(graph, path, **options)
    from graphir.serial import WEIGHTS_SUFFIX, save_graph

    save_graph(graph, path, **options)
    target = Path(path)
    beside = target.with_name(target.name.removesuffix(OWN_SUFFIX) + WEIGHTS_SUFFIX)
    return [target, beside] if beside.is_file() else [target]


def _places(target: PathLike, kind: str) -> list[PathLike]:
    """The files that a conversion to `target` writes whatever the model, besides those for large weights."""
    if kind != "mxnet":
        return [target]
    from graphir.converters.mxnet import SYMBOL_SUFFIX

    return [target, os.fspath(target).removesuffix(SYMBOL_SUFFIX) + "-0000.params"]


def convert(
    source: PathLike,
    target: PathLike,
    *,
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
) -> ConversionReport:
    """Convert a model file to another format and say what was done.

    With `verify` the result is run and compared with the source (see `verify`); the report's `verification` holds the
    outcome, and the target stays either way. `accuracy` names an .npz of labelled data on which both are run
    (`converters.accuracy`). `constants` are values by input name: such inputs become parameters, so that a target can
    have as attributes what ONNX takes as operands (axes, shapes, k); the result is then held against the graph in which
    they are bound. `signature`, `inputs` and `outputs` are as for `load`. `mxnet_version` is the release that an MXNet
    target is written for. `progress` is told what is being done. Raises what `load` and `save` raise; nothing is
    written then.
    """
    from graphir.report import ConversionReport

    tell = progress or (lambda stage: None)
    started = time.perf_counter()
    kind = target_format(target)
    source_format = detect_format(source)
    opened = None
    if mxnet_version is not None and kind != "mxnet":
        raise ExportFailure(f"mxnet_version is for MXNet targets; {target} is none (something-symbol.json is one)")
    for option, stated in (("opset", opset is not None), ("weights", weights != "auto")):
        if stated and kind != "onnx":
            raise ExportFailure(f"{option} is for ONNX targets; {target} is none (something.onnx is one)")
    tell(f"reading {source}")
    check_choice(source, source_format, signature, inputs, outputs)
    if source_format == "mxnet":
        from graphir.converters.mxnet.source import open_source

        opened = open_source(source, params)
        tell("building the graph")
        graph = opened.to_graph(shapes, dtypes=dtypes, keep_loss=keep_loss)
    else:
        graph = load(
            source, params=params, shapes=shapes, dtypes=dtypes, format=source_format, signature=signature,
            inputs=inputs, outputs=outputs,
        )  # fmt: skip
    read = [source] if opened is None else opened.files
    sources = {os.path.realpath(file) for file in read}
    for place in _places(target, kind):
        if os.path.realpath(place) in sources:
            raise ExportFailure(f"{place} is a file of the source; write the result elsewhere")
    if constants:
        from graphir.passes.bind import bind_inputs

        bind_inputs(graph, constants)
    if source_format == "tensorflow":
        from graphir.passes.explicit_padding import make_padding_explicit

        make_padding_explicit(graph)
    tell(f"writing {target}")
    operators: Mapping[str, int] | None = None
    if kind == "onnx":
        from graphir.converters.onnx.exporter import export_graph
        from graphir.converters.onnx.writer import write_model

        with paused_collector():
            model = export_graph(graph, opset=opset)
            files = write_model(model, target, weights=weights)
        opset, operators = model.opset, Counter(node.op_type for node in model.nodes)
    else:
        options = {} if mxnet_version is None else {"mxnet_version": mxnet_version}
        opset, files = None, save(graph, target, format=kind, **options)
    written_for = ""
    if kind == "mxnet":
        from graphir.converters.mxnet.versions import parse_version, version_name

        written_for = version_name(parse_version(mxnet_version or "1.9.1"))
    report = ConversionReport.of(
        graph, source, target, files, opened, opset, operators=operators, source_format=source_format,
        target_format=kind, target_version=written_for,
    )  # fmt: skip
    report.seconds = time.perf_counter() - started
    under_test = target if kind == "onnx" else graph
    try:
        if verify:
            from graphir.converters.verification import TensorFlowModel, verify_conversion

            tell("verifying")
            origin: MXNetSource | TensorFlowModel | Path | None = opened
            if source_format in ("onnx", "tensorflow"):
                origin = Path(source) if source_format == "onnx" else TensorFlowModel(source, signature)
            if constants:
                origin = None
            candidate = under_test
            if kind == "mxnet":  # the written files are what is to be proved: MXNet's side computes them
                from graphir.converters.mxnet.source import open_source

                origin, candidate = open_source(target), source if isinstance(origin, Path) else graph
            report.verification = verify_conversion(
                origin, graph, candidate, feeds=feeds, seed=seed, rtol=rtol, atol=atol, per_layer=per_layer,
                against=against, providers=providers, shapes=shapes,
            )  # fmt: skip
        if accuracy is not None:
            from graphir.converters.accuracy import measure_accuracy

            tell("measuring accuracy")
            report.accuracy = measure_accuracy(
                opened, graph, under_test, accuracy, against=against, providers=providers, progress=progress
            )
    except GraphirError as error:
        error.add_note(f"{target} was written; only the check of it could not be made")
        if feeds is None and accuracy is None:
            error.add_note(_open_sizes(graph))
        raise
    return report


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
) -> VerificationReport:
    """Compare a candidate (a Graph, or a model file) with a reference; see `converters.verification.verify`."""
    from graphir.converters.verification import verify as run

    return run(
        reference, candidate, feeds=feeds, seed=seed, rtol=rtol, atol=atol, per_layer=per_layer, params=params,
        shapes=shapes, against=against, providers=providers, candidate_params=candidate_params,
        candidate_shapes=candidate_shapes, signature=signature, inputs=inputs, outputs=outputs,
        candidate_signature=candidate_signature, match=match,
    )  # fmt: skip


__all__ = ["check_choice", "convert", "detect_format", "load", "save", "target_format", "verify"]
