"""graphir's own JSON in the table of formats; `graphir.serial` reads and writes it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphir.converters.formats import Description, Format, Manner, PathLike, Ready, Source
from graphir.converters.options import ModelOptions

if TYPE_CHECKING:
    from graphir.converters.glance import Glance
    from graphir.graph import Graph

SUFFIX = ".graphir.json"
NAMED_FIRST = rb'"format"\s*:\s*"graphir"'


def open_model(path: PathLike, options: ModelOptions, manner: Manner) -> Source:
    """Return a graph as it was saved; it is described by what it came from."""
    from graphir.analysis.contents import count_operators
    from graphir.inference.declared import check_given
    from graphir.inference.engine import fix_types, parse_dims
    from graphir.serial.reader import load_graph

    graph = load_graph(path)
    if options.shapes or options.dtypes:
        given = {name: parse_dims(shape) for name, shape in (options.shapes or {}).items()}
        check_given(given, {value.name: getattr(value.declared, "shape", None) for value in graph.inputs})
        fix_types(graph, options.shapes, options.dtypes)
    described = Description(graph.name, Path(path).name)
    return Source("graphir", graph, [os.fspath(path)], described, count_operators(graph), is_graph=True)


class OwnTarget:
    """The JSON, and the weights beside it if there are any."""

    suffix = SUFFIX
    options: Mapping[str, tuple[type, ...]] = {"hashes": (bool,)}
    runs = False

    def named(self, options: Mapping[str, Any]) -> str:
        """`graphir`."""
        return "graphir"

    def places(self, path: PathLike) -> list[PathLike]:
        """Return the JSON; a model without weights has nothing else."""
        return [path]

    def ready(self, graph: Graph, path: PathLike, options: Mapping[str, Any]) -> Ready:
        """Return the graph as it is."""
        from graphir.analysis.contents import count_operators

        return Ready(count_operators(graph), lambda: _write(graph, Path(path), options))


def _write(graph: Graph, target: Path, options: Mapping[str, Any]) -> list[Path]:
    from graphir.serial.notation import WEIGHTS_SUFFIX
    from graphir.serial.writer import save_graph

    save_graph(graph, target, **options)
    weights_path = target.with_name(target.name.removesuffix(SUFFIX) + WEIGHTS_SUFFIX)
    return [target, weights_path] if weights_path.is_file() else [target]


def recognizes(glance: Glance) -> bool:
    """Every such file has the format's name in it, mostly at its beginning: what may be large is parsed by its reader
    only."""
    if not glance.json_start:
        return False
    if re.match(NAMED_FIRST, glance.json_start):
        return True
    return glance.has(b'"graphir"') and glance.document.get("format") == "graphir"


FORMAT = Format(
    name="graphir",
    brand="graphir",
    title="graphir's own JSON",
    recognizes=recognizes,
    source=open_model,
    target=OwnTarget(),
    suffixes=(SUFFIX,),
)
