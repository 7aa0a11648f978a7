"""The formats that graphir reads and writes: `load` and `save`, by the table of formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphir.converters.detection import detect_format
from graphir.converters.opening import read_model
from graphir.converters.options import ModelOptions
from graphir.converters.table import FORMATS, readable, writable
from graphir.converters.writing import make_ready, only_text, target_format
from graphir.safety.arguments import PathLike
from graphir.safety.limits import Stated, bounded
from graphir.safety.memory import memory_for

if TYPE_CHECKING:
    from graphir.graph import Graph



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
    state: str = "keep",
    strict: bool = False,
) -> Graph:
    """Return the graph of a model file.

    An MXNet model is named by its symbol file, its prefix, its folder or its .params; parameters beside it are found.
    `shapes` are the inputs' shapes by name (integers, names of symbolic sizes, None). Weights stay on disk until they
    are needed. `signature` chooses among those of a TensorFlow SavedModel. `outputs` name the values or layers whose
    results are wanted (`fc1_output`, `fc1`, `split:1`), what they do not need is left out; `inputs` those that become
    inputs, so that what comes before them is left out: their types are inferred, and `shapes` may give them others.
    `graphir layers` lists the names. Variables that a TensorFlow model writes become inputs and outputs; where `state`
    is `refuse` such a model is refused. With `strict` NaN and infinities give what MXNet gives, at the cost of more
    nodes (docs/mxnet-numbers.md). `limits` raise what a file may ask for beyond what it holds
    (`graphir.safety.limits.Limits`, or some of its fields by name). Raises FormatError, UnsupportedOpError or
    ImportFailure, each naming all that is wrong.
    """
    options = ModelOptions(
        params, shapes, dtypes, format, keep_loss, signature, inputs, outputs, state, strict=strict
    )
    return read_model(path, options).graph


def save(graph: Graph, path: PathLike, *, format: str | None = None, **options: Any) -> list[Path]:
    """Write a graph and return the files written.

    Options for .onnx: `opset`, `weights` (auto, inline, external, reference); for .graphir.json:
    `hashes`. What no output depends on is not written.
    A failure leaves what stood at the target. Raises ExportFailure.
    """
    ready = make_ready(graph, path, target_format(path, format), options)
    with memory_for(f"writing {path}"), only_text(path):
        return ready.write()


__all__ = ["FORMATS", "detect_format", "load", "readable", "save", "target_format", "writable"]
