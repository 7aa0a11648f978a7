"""`graphir params`: the weights of a .params file or of any model, and the same as .safetensors or .npz."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphir.safety.foreign_text import one_line

from .options import SOURCE_HELP, add_format_option, add_output_options, add_plugin_option, one_of

if TYPE_CHECKING:
    from graphir.converters.formats import StoredArrays
    from graphir.tensor import Tensor
    from graphir.types import DType

    from .console import Console

TARGETS = (".safetensors", ".npz")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.add_argument("file", metavar="FILE", help=f"a .params file or .npz, or a model: {SOURCE_HELP}")
    add_format_option(parser)
    add_plugin_option(parser)
    parser.add_argument("--to", metavar="TARGET", type=one_of(TARGETS), help="write the arrays: .safetensors or .npz")
    parser.add_argument("--strip-prefix", action="store_true", help="write names without arg: and aux:")
    add_output_options(parser)


def run(options: argparse.Namespace, console: Console) -> int:
    """List the arrays, and write them with --to. Return 0."""
    if options.strip_prefix and options.to is None:
        options.parser.error("--strip-prefix needs --to")
    opened = _read_arrays(options, console)
    written = None
    if options.to is not None:
        console.stage(f"writing {options.to}")
        arrays = named_arrays(opened, strip=options.strip_prefix)
        write_arrays(arrays, options.to)
        written = {"path": options.to, "bytes": os.path.getsize(options.to), "arrays": len(arrays)}
    console.data({**as_json(opened), "written": written})
    console.show(lambda: as_text(opened, listed=written is None or options.verbose > 0))
    if written is not None:
        from graphir.report.text import plural, size

        sparse = sum(entry.sparse is not None for entry in opened.entries)
        dense = f"; {plural(sparse, 'sparse array')} written dense" if sparse else ""
        nbytes = os.path.getsize(options.to)
        console.show(f"wrote {plural(len(opened.entries), 'array')} to {options.to} ({size(nbytes)}){dense}")
    return 0


def _read_arrays(options: argparse.Namespace, console: Console) -> StoredArrays:
    """Return the arrays of a file, or of a model that holds its own."""
    from graphir.converters.table import FORMATS

    row = FORMATS[options.format or _format_of(options.file)]
    return _weights_of_model(options.file, row.name, console) if row.arrays is None else row.arrays(options.file)


def _format_of(path: str) -> str:
    """Return the format of a model or a file of arrays, else a format of arrays, whose reader reports the error."""
    from graphir.converters import detect_format
    from graphir.converters.table import FORMATS
    from graphir.errors import FormatError

    try:
        return detect_format(path)
    except FormatError:
        if not os.path.isfile(path):
            raise
        return next(name for name, row in FORMATS.items() if row.arrays is not None)


@dataclass(frozen=True)
class _ModelWeight:
    """A weight of a model, as `StoredArray` has it."""

    name: str
    tensor: Tensor
    sparse: None = None
    storage: str = "default"

    @property
    def bare_name(self) -> str:
        return self.name

    @property
    def dtype(self) -> DType:
        return self.tensor.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.tensor.shape


@dataclass(frozen=True)
class _ModelWeights:
    """The weights of a model, as `StoredArrays` has them."""

    path: str
    entries: tuple[_ModelWeight, ...]
    container: str
    nbytes: int
    empty: tuple[str, ...] = ()
    trailing: int = 0
    named: bool = True


def _weights_of_model(path: str, format: str, console: Console) -> _ModelWeights:
    from graphir.analysis.contents import stored_bytes
    from graphir.converters.formats import Manner
    from graphir.converters.opening import read_model
    from graphir.converters.options import ModelOptions

    model = read_model(path, ModelOptions(format=format), Manner(tell=console.stage))
    entries = tuple(_ModelWeight(name, tensor) for name, tensor in model.parameters().items())
    nbytes = sum(os.path.getsize(file) for file in model.files)
    nbytes = nbytes or sum(stored_bytes(entry.tensor) for entry in entries)
    return _ModelWeights(path, entries, model.description.made_by, nbytes)


def named_arrays(opened: StoredArrays, *, strip: bool) -> dict[str, Tensor]:
    """Return the arrays under the names that they are written with. Raises ExportFailure if two would share one."""
    from graphir.errors import ExportFailure

    arrays: dict[str, Tensor] = {}
    for entry in opened.entries:
        name = entry.bare_name if strip else entry.name
        if name in arrays:
            hint = "; write it without --strip-prefix" if strip else ""
            raise ExportFailure(f"{opened.path}: two arrays would be called {name!r}{hint}")
        arrays[name] = entry.tensor
    return arrays


def write_arrays(arrays: dict[str, Tensor], target: str) -> None:
    """Write a .safetensors or .npz, beside its place first; weights are streamed. Raises ExportFailure."""
    from graphir.files.writing import replacing

    if target.endswith(".npz"):
        _refuse_for_npz(arrays)
        with replacing(target) as (file,):
            _write_npz(arrays, file)
        return
    from graphir.errors import ExportFailure
    from graphir.serial.weights import Store
    from graphir.types import DType

    texts = [name for name, tensor in arrays.items() if tensor.dtype is DType.STRING]
    if texts:
        raise ExportFailure(f".safetensors cannot hold the texts of {', '.join(texts[:5])}")
    store = Store()
    store.tensors = dict(arrays)
    with replacing(target) as (file,):
        store.write(file)


def _refuse_for_npz(arrays: dict[str, Tensor]) -> None:
    from graphir.errors import ExportFailure
    from graphir.report.text import plural

    foreign = [name for name, tensor in arrays.items() if tensor.dtype.numpy().kind in "VO"]
    if foreign:
        shown = ", ".join(foreign[:5]) + (", ..." if len(foreign) > 5 else "")
        dtypes = ", ".join(sorted({str(arrays[name].dtype) for name in foreign}))
        raise ExportFailure(f"numpy has no {dtypes} of its own, so .npz cannot hold {plural(len(foreign), 'array')} "
                            f"({shown}); write .safetensors instead")  # fmt: skip


def _write_npz(arrays: dict[str, Tensor], file: Any) -> None:
    """Write an uncompressed archive array by array, as numpy.savez does."""
    import zipfile

    import numpy as np
    from numpy.lib import format as npy

    write_array_header_1_0: Any = npy.write_array_header_1_0
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, tensor in arrays.items():
            header = {
                "descr": np.dtype(tensor.dtype.numpy()).str, "fortran_order": False, "shape": tensor.shape,
            }  # fmt: skip
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                write_array_header_1_0(member, header)
                for chunk in tensor.chunks():
                    member.write(chunk)


def as_text(opened: StoredArrays, *, listed: bool) -> str:
    """Return the table of arrays and remarks on the file."""
    from graphir.analysis.contents import stored_bytes
    from graphir.report.text import plural, size, table

    elements = sum(entry.tensor.size for entry in opened.entries)
    nbytes = sum(stored_bytes(entry.tensor) for entry in opened.entries)
    head = (
        f"{one_line(opened.path)}: {plural(len(opened.entries), 'array')}, {elements:,} elements, {size(nbytes)} "
        f"(container {opened.container}, file {size(opened.nbytes)})"
    )
    lines = [head]
    if listed and opened.entries:
        rows = [
            (
                entry.name,
                str(entry.dtype),
                "x".join(map(str, entry.shape)) or "scalar",
                f"{stored_bytes(entry.tensor):,}",
                "" if entry.sparse is None else entry.storage,
            )
            for entry in opened.entries
        ]
        lines += ["", table(("name", "dtype", "shape", "bytes", "storage" if any(row[4] for row in rows) else ""), rows,
                            right=(3,))]  # fmt: skip
    if not opened.named:
        lines.append("  the file has no names; arrays are numbered by position")
    if opened.empty:
        lines.append(f"  without shape and data: {', '.join(map(one_line, opened.empty))}")
    if opened.trailing:
        lines.append(f"  {opened.trailing} bytes after the last name, which MXNet ignores too")
    return "\n".join(lines)


def as_json(opened: StoredArrays) -> dict[str, Any]:
    """Return the arrays as plain data."""
    from graphir.analysis.contents import stored_bytes

    return {
        "path": opened.path,
        "container": opened.container,
        "file_bytes": opened.nbytes,
        "named": opened.named,
        "elements": sum(entry.tensor.size for entry in opened.entries),
        "bytes": sum(stored_bytes(entry.tensor) for entry in opened.entries),
        "empty": list(opened.empty),
        "trailing_bytes": opened.trailing,
        "arrays": [
            {
                "name": entry.name,
                "dtype": str(entry.dtype),
                "shape": list(entry.shape),
                "bytes": stored_bytes(entry.tensor),
                "storage": entry.storage,
            }
            for entry in opened.entries
        ],
    }
