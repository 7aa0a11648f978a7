"""Models read: whichever format's row takes a path opens it."""

from __future__ import annotations

from dataclasses import replace

from graphir.converters.detection import detect_format
from graphir.converters.formats import Format, Manner, PathLike, Source
from graphir.converters.options import ModelOptions
from graphir.converters.table import FORMATS, origin_of, readable
from graphir.errors import ImportFailure
from graphir.safety.arguments import expect_path
from graphir.safety.memory import memory_for


def read_model(path: PathLike, options: ModelOptions | None = None, manner: Manner | None = None) -> Source:
    """Open a model file and make its graph. Raises what `load` raises."""
    options, manner = options or ModelOptions(), manner or Manner()
    expect_path(path, "the model")
    if options.format is not None and options.format not in readable():
        raise ImportFailure(f"unknown source format {options.format!r}; expected one of {', '.join(readable())}")
    manner.tell(f"reading {path}")
    with memory_for(f"reading {path}"):
        row = FORMATS[options.format or detect_format(path)]
        check_taken(path, row, options)
        assert row.source is not None
        found = row.source(path, options, manner)
        if found.description.framework:
            return found
        return replace(found, description=replace(found.description, framework=origin_of(found.graph.metadata)))


def check_taken(what: object, row: Format | None, options: ModelOptions) -> None:
    """Raise ImportFailure for options that `what`, a model of this format or a graph (None), does not have."""
    taken = frozenset() if row is None else row.takes
    parts = [name for name in options.parts() if name not in taken]
    if parts:
        owners = " and ".join(other.brand for other in FORMATS.values() if parts[0] in other.takes)
        chosen = " and ".join("a signature" if name == "signature" else name for name in parts)
        raise ImportFailure(f"{what}: {chosen} can be chosen of {owners} models only")
    if row is not None and options.params is not None and "params" not in taken:
        raise ImportFailure(f"{what}: {row.brand} models hold their own parameters; leave the params out")


__all__ = ["check_taken", "read_model"]
