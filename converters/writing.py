"""A graph made ready for a target, so that all that can be wrong with it is found before a file is touched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphir.converters.formats import PathLike, Ready, Target
from graphir.converters.table import FORMATS, writable
from graphir.errors import ArgumentError, ExportFailure
from graphir.safety.arguments import expect, expect_path
from graphir.safety.memory import memory_for

if TYPE_CHECKING:
    from graphir.graph import Graph


def target_format(path: PathLike, format: str | None = None) -> str:
    """Return the format that a target's name asks for. Raises ExportFailure if it is none that graphir writes."""
    expect_path(path, "the target")
    if format is not None:
        if expect(format, str, "format") not in writable():
            raise ExportFailure(f"unknown target format {format!r}; expected one of {', '.join(writable())}")
        return format
    for name in writable():
        if Path(path).name.endswith(target_of(name).suffix):
            return name
    *first, last = map(example, writable())
    raise ExportFailure(f"cannot tell the format of {path}: name it {', '.join(first)} or {last}")


def target_of(format: str) -> Target:
    """Return how a format is written. Raises ExportFailure for one that is not."""
    target = FORMATS[format].target if format in FORMATS else None
    if target is None:
        raise ExportFailure(f"unknown target format {format!r}; expected one of {', '.join(writable())}")
    return target


def example(format: str) -> str:
    """Return a name that a file of the format may have."""
    return f"something{target_of(format).suffix}"


def check_options(path: PathLike, format: str, options: Mapping[str, Any]) -> None:
    """Raise ExportFailure for an option that the target's format does not have."""
    for option, value in options.items():
        owner = next((name for name in writable() if option in target_of(name).options), None)
        if owner is None:
            known = ", ".join(sorted(known for name in writable() for known in target_of(name).options))
            raise ArgumentError(f"unknown option {option!r}; expected one of {known}")
        types = target_of(format).options.get(option)
        if types is None:
            brand = FORMATS[owner].brand
            raise ExportFailure(f"{option} is for {brand} targets; {path} is none ({example(owner)} is one)")
        if value is not None:
            expect(value, types, option)


def make_ready(graph: Graph, path: PathLike, format: str, options: Mapping[str, Any]) -> Ready:
    """Say the graph in the target's terms, without what no output depends on; nothing is written. Raises what `save`
    raises."""
    from graphir.graph import Graph
    from graphir.passes.pipelines import export

    expect(graph, Graph, "what is written")
    check_options(path, format, options)
    title = writable()[format]
    with memory_for(f"saying {graph.name} in the terms of {title}"), only_text(path), export().on_copy(graph) as live:
        return target_of(format).ready(live, path, options)


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
