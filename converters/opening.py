"""Models read: whichever format's row takes a path opens it."""

from __future__ import annotations

import os
from dataclasses import replace

from graphir.converters.detection import detect_format
from graphir.converters.formats import Description, Format, Manner, PathLike, Source
from graphir.converters.options import ModelOptions
from graphir.converters.parts import split_given
from graphir.converters.table import FORMATS, origin_of, readable
from graphir.errors import GraphError, GraphirError, ImportFailure, ShapeError
from graphir.safety.arguments import expect_path
from graphir.safety.memory import memory_for

CUTS = frozenset({"inputs", "outputs"})


def read_model(path: PathLike, options: ModelOptions | None = None, manner: Manner | None = None) -> Source:
    """Open a model file and make its graph. Raises what `load` raises."""
    options, manner = options or ModelOptions(), manner or Manner()
    expect_path(path, "the model file (save, verify and Session take a Graph)")
    if options.format is not None and options.format not in readable():
        raise ImportFailure(f"unknown source format {options.format!r}; expected one of {', '.join(readable())}")
    manner.tell(f"reading {path}")
    with memory_for(f"reading {path}"):
        row = FORMATS[options.format or detect_format(path)]
        check_taken(path, row, options)
        model = _open_source(path, row, options, manner)
        if model.description.framework:
            return model
        return replace(model, description=replace(model.description, framework=origin_of(model.graph.metadata)))


def _open_source(path: PathLike, row: Format, options: ModelOptions, manner: Manner) -> Source:
    """Return the model, cut by its own format where that knows better than its graph what can be left out."""
    assert row.source is not None
    if not options.is_cut:
        return row.source(path, options, manner)
    try:
        if row.takes >= CUTS:
            return row.source(path, options, manner)
        before, behind = split_given(options, {name: name for name in options.inputs})
        whole = row.source(path, replace(before, outputs=None, inputs=()), manner)
        return whole.cut(options.outputs, options.inputs, behind)
    except (GraphError, ShapeError) as error:
        raise ImportFailure(f"{path}: {error}") from error


def read_outline(path: PathLike, options: ModelOptions, error: GraphirError) -> Source:
    """Open a model that failed to become a graph with `error` as what its file states: every node is an operator of the
    source. Raises `error` where the format has no outline, and for files that cannot be read."""
    row = FORMATS[options.format or detect_format(path)]
    if row.outline is None:
        raise error
    graph = row.outline(path, options)
    name = os.path.basename(os.path.normpath(path))
    from graphir.analysis.contents import count_operators

    return Source(row.name, graph, [os.fspath(path)], Description(name, name, row.brand), count_operators(graph))


def check_taken(what: object, row: Format | None, options: ModelOptions) -> None:
    """Raise ImportFailure for options that `what`, a model of this format or a graph (None), does not have."""
    taken = frozenset() if row is None else row.takes
    if options.signature is not None and "signature" not in taken:
        owners = " and ".join(other.brand for other in FORMATS.values() if "signature" in other.takes)
        raise ImportFailure(f"{what}: a signature can be chosen of {owners} models only")
    if row is not None and options.params is not None and "params" not in taken:
        raise ImportFailure(f"{what}: {row.brand} models hold their own parameters; leave the params out")
