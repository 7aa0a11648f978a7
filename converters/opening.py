"""A model read: its graph, and what its file held before anything was assumed, merged or left out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphir.converters.detection import PathLike, detect_format
from graphir.errors import ImportFailure
from graphir.safety.arguments import expect, expect_items, expect_mapping, expect_path
from graphir.safety.memory import memory_for

if TYPE_CHECKING:
    from graphir.converters.mxnet.source import MXNetSource
    from graphir.graph import Graph
    from graphir.tensor import Tensor

READS = {
    "mxnet": "MXNet symbol and .params",
    "onnx": "ONNX",
    "tensorflow": "TensorFlow graphs",
    "graphir": "graphir's own JSON",
}


@dataclass(frozen=True)
class Choices:
    """What a user can choose about a model that is read; see `graphir.load`."""

    params: PathLike | Mapping[str, object] | None = None
    shapes: Mapping[str, object] | None = None
    dtypes: Mapping[str, object] | None = None
    keep_loss: bool = False
    signature: str | None = None
    inputs: Sequence[str] = ()
    outputs: Sequence[str] | None = None

    def __post_init__(self) -> None:
        for name in ("shapes", "dtypes"):
            if getattr(self, name) is not None:
                expect_mapping(getattr(self, name), name)
        if self.params is not None and not isinstance(self.params, Mapping):
            expect_path(self.params, "params (if not a mapping of arrays by name)")
        expect_items(self.inputs, str, "inputs", "a name")
        if self.outputs is not None:
            expect_items(self.outputs, str, "outputs", "a name")
        expect(self.signature, (str, type(None)), "signature")

    def check(self, path: PathLike, format: str) -> None:
        """Raise ImportFailure for what is chosen of a model that has none of it."""
        check_choice(path, format, self.signature, self.inputs, self.outputs)
        if self.params is not None and format != "mxnet":
            what = "variables" if format == "tensorflow" else "parameters"
            named = {"onnx": "an ONNX", "tensorflow": "a TensorFlow"}.get(format, "a graphir")
            raise ImportFailure(f"{path}: {named} model holds its own {what}; leave the params out")


@dataclass(frozen=True)
class Reading:
    """A model's graph; `operators` counts the nodes of its file by operator, those of subgraphs included; `parameters`
    gives the weights that it holds, by its own names; `folded` those of them that now are part of others; `files` are
    those that were read, `mxnet` the records of an MXNet model."""

    format: str
    graph: Graph
    operators: dict[str, int]
    parameters: Callable[[], dict[str, Tensor]]
    folded: dict[str, Tensor] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    mxnet: MXNetSource | None = None


def check_choice(
    path: PathLike, format: str, signature: str | None, inputs: Sequence[str], outputs: Sequence[str] | None
) -> None:
    """Raise ImportFailure where a part of a model is chosen that has none to choose from."""
    given = {"a signature": signature is not None, "inputs": bool(inputs), "outputs": outputs is not None}
    chosen = [name for name, is_given in given.items() if is_given]
    if chosen and format != "tensorflow":
        raise ImportFailure(f"{path}: {' and '.join(chosen)} can be chosen of TensorFlow models only")


def read_model(
    path: PathLike,
    choices: Choices,
    format: str | None = None,
    *,
    simplified: bool = True,
    settled: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Reading:
    """Read a model file. `simplified` and `settled` are as for `MXNetSource.to_graph`; raises what `load` raises."""
    expect_path(path, "the model")
    if format is not None and expect(format, str, "format") not in READS:
        raise ImportFailure(f"unknown source format {format!r}; expected one of {', '.join(READS)}")
    tell = progress or (lambda stage: None)
    tell(f"reading {path}")
    with memory_for(f"reading {path}"):
        kind = format or detect_format(path)
        choices.check(path, kind)
        if kind == "mxnet":
            return _read_mxnet(path, choices, simplified, settled, tell)
        if kind == "onnx":
            from graphir.converters.onnx import read as read_onnx

            return read_onnx(path, shapes=choices.shapes, dtypes=choices.dtypes)
        if kind == "tensorflow":
            from graphir.converters.tensorflow import read as read_tensorflow

            return read_tensorflow(
                path, shapes=choices.shapes, dtypes=choices.dtypes, inputs=choices.inputs, outputs=choices.outputs,
                signature=choices.signature,
            )  # fmt: skip
        return _read_own(path, choices)


def _read_mxnet(
    path: PathLike, choices: Choices, simplified: bool, settled: bool, tell: Callable[[str], None]
) -> Reading:
    from graphir.converters.mxnet.source import open_source

    opened = open_source(path, choices.params)
    tell("building the graph")
    graph = opened.to_graph(
        choices.shapes, dtypes=choices.dtypes, keep_loss=choices.keep_loss, simplified=simplified, settled=settled
    )

    def held() -> dict[str, Tensor]:
        return {} if opened.tensors is None else opened.plain_tensors(choices.shapes)

    return Reading("mxnet", graph, opened.operators(), held, files=list(opened.files), mxnet=opened)


def _read_own(path: PathLike, choices: Choices) -> Reading:
    from graphir.analysis.summary import count_operators, weights
    from graphir.inference.declared import check_given
    from graphir.inference.engine import fix_types, parse_dims
    from graphir.serial import load_graph

    graph = load_graph(path)
    if choices.shapes or choices.dtypes:
        given = {name: parse_dims(shape) for name, shape in (choices.shapes or {}).items()}
        check_given(given, {value.name: getattr(value.declared, "shape", None) for value in graph.inputs})
        fix_types(graph, choices.shapes, choices.dtypes)
    operators = count_operators(graph)
    return Reading("graphir", graph, operators, lambda: weights(graph, used=False), files=[os.fspath(path)])


__all__ = ["READS", "Choices", "Reading", "check_choice", "read_model"]
