"""A graph made ready for a target, so that all that can be wrong with it is found before a file is touched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphir.converters.detection import OWN_SUFFIX, PathLike
from graphir.errors import ArgumentError, ExportFailure
from graphir.safety.arguments import expect, expect_path
from graphir.safety.collector import paused_collector
from graphir.safety.memory import memory_for

if TYPE_CHECKING:
    from graphir.graph import Graph

WRITES = {"onnx": "ONNX", "mxnet": "MXNet symbol and .params", "graphir": "graphir's own JSON"}
OPTIONS = {"onnx": ("opset", "weights"), "mxnet": ("mxnet_version",), "graphir": ("hashes",)}
KINDS: dict[str, tuple[type, ...]] = {
    "opset": (int,), "weights": (str,), "mxnet_version": (str, int), "hashes": (bool,),
}  # fmt: skip
EXAMPLES = {"onnx": "something.onnx", "mxnet": "something-symbol.json", "graphir": f"something{OWN_SUFFIX}"}


@dataclass(frozen=True)
class Ready:
    """What will be written: `operators` counts the target's nodes, `version` is the release that it is for (of MXNet),
    `write` writes and gives the files."""

    operators: Mapping[str, int]
    write: Callable[[], list[Path]]
    opset: int | None = None
    version: str = ""


def target_format(path: PathLike, format: str | None = None) -> str:
    """The format that a target's name asks for. Raises ExportFailure if it is none that graphir writes."""
    expect_path(path, "the target")
    if format is not None:
        if expect(format, str, "format") not in WRITES:
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


def check_options(path: PathLike, kind: str, options: Mapping[str, Any]) -> None:
    """Raise ExportFailure for an option that the target's format does not have."""
    for option, value in options.items():
        owner = next((name for name, known in OPTIONS.items() if option in known), None)
        if owner is None:
            known = ", ".join(sorted(name for names in OPTIONS.values() for name in names))
            raise ArgumentError(f"unknown option {option!r}; expected one of {known}")
        if owner != kind:
            named = "MXNet" if owner == "mxnet" else "ONNX" if owner == "onnx" else ".graphir.json"
            raise ExportFailure(f"{option} is for {named} targets; {path} is none ({EXAMPLES[owner]} is one)")
        if value is not None:
            expect(value, KINDS[option], option)


def make_ready(graph: Graph, path: PathLike, kind: str, **options: Any) -> Ready:
    """Say the graph in the target's terms, without what no output depends on; nothing is written. Raises what `save`
    raises."""
    from graphir.graph import Graph
    from graphir.passes.live_part import only_live

    expect(graph, Graph, "what is written")
    check_options(path, kind, options)
    with memory_for(f"saying {graph.name} in the terms of {WRITES[kind]}"), only_text(path), only_live(graph) as live:
        if kind == "onnx":
            return _ready_for_onnx(live, path, **options)
        if kind == "mxnet":
            return _ready_for_mxnet(live, path, **options)
        from graphir.analysis.summary import count_operators

        return Ready(count_operators(live), lambda: _write_own(live, path, options))


def _ready_for_onnx(graph: Graph, path: PathLike, *, opset: int | None = None, weights: str = "auto") -> Ready:
    from graphir.converters.onnx.counts import count_records
    from graphir.converters.onnx.exporting.exporter import export_graph
    from graphir.converters.onnx.files.writer import write_model

    with paused_collector():
        model = export_graph(graph, opset=opset)
    return Ready(count_records(model), lambda: write_model(model, path, weights=weights), opset=model.opset)


def _ready_for_mxnet(graph: Graph, path: PathLike, *, mxnet_version: str | int | None = None) -> Ready:
    from graphir.converters.mxnet import check_name, write
    from graphir.converters.mxnet.files.records import count_operators
    from graphir.converters.mxnet.schema.versions import export_for, parse_version, version_name

    check_name(path)
    symbol, params = export_for(graph, mxnet_version)
    version = version_name(parse_version(mxnet_version or "1.9.1"))
    return Ready(count_operators(symbol), lambda: write(symbol, params, path), version=version)


def _write_own(graph: Graph, path: PathLike, options: Mapping[str, Any]) -> list[Path]:
    from graphir.serial import WEIGHTS_SUFFIX, save_graph

    save_graph(graph, path, **options)
    target = Path(path)
    beside = target.with_name(target.name.removesuffix(OWN_SUFFIX) + WEIGHTS_SUFFIX)
    return [target, beside] if beside.is_file() else [target]


@contextmanager
def only_text(path: PathLike) -> Iterator[None]:
    """Turn the failure to encode a name into an ExportFailure that shows it."""
    try:
        yield
    except UnicodeEncodeError as error:
        shown = ascii(error.object[:80])
        raise ExportFailure(f"cannot write {path}: {shown} has a lone surrogate, which is no character") from error


@contextmanager
def after_writing(target: PathLike, what: str) -> Iterator[None]:
    """Whatever fails in here says that the target was written, and what of the rest is missing."""
    try:
        yield
    except Exception as error:  # passed on as it is: only what is known about the target is added
        error.add_note(f"{target} was written; only {what} could not be made")
        raise


__all__ = ["WRITES", "Ready", "after_writing", "check_options", "make_ready", "only_text", "target_format"]
