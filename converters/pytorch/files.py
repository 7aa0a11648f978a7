"""The files of a module or of weights alone, written at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from graphir.converters.formats import PathLike
from graphir.files.writing import replacing
from graphir.safety.collector import paused_collector
from graphir.serial.weights import Store
from graphir.tensor import Tensor

NameRow = dict[str, object]


def name_row(source: str | None, key: str, tensor: Tensor) -> NameRow:
    """Return what the file of names states of a tensor: its name in the source, its key and its shape."""
    return {"source": source, "key": key, "shape": list(tensor.shape)}


def write_files(
    weights: PathLike, tensors: Mapping[str, Tensor], rows: Callable[[], Sequence[NameRow]],
    names: PathLike | None = None, module: tuple[PathLike, str] | None = None,
) -> list[Path]:
    """Write tensors to `weights`, their rows to `names`, and a module's text to its path; returns the files, the
    module's first. Raises ExportFailure where one cannot be written."""
    paths = [path for path in (names, weights, module and module[0]) if path is not None]
    with paused_collector(), replacing(*paths) as (*tables, file):
        text_file, file = (file, tables.pop()) if module else (None, file)
        Store(tensors, form="pt").write(file)
        for table in tables:
            table.write("[\n{}\n]\n".format(",\n".join(map(json.dumps, rows()))).encode("ascii"))
        if module and text_file:
            text_file.write(module[1].encode("ascii"))
    return [Path(path) for path in reversed(paths)]
