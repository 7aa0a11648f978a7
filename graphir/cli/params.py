"""`graphir params`: the weights of a .params file or of any model, and the same as .safetensors or .npz."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from graphir.safety.foreign_text import one_line

from .options import SOURCE_HELP, add_format_option, add_output_options, one_of

if TYPE_CHECKING:
    from pathlib import Path

    from graphir.converters.mxnet.files.params import ParamsFile
    from graphir.tensor import Tensor

    from .console import Console

TARGETS = (".safetensors", ".npz")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("file", metavar="FILE", help=f"a .params file or .npz, or a model: {SOURCE_HELP}")
    add_format_option(parser)
    parser.add_argument("--to", metavar="TARGET", type=one_of(TARGETS), help="write the arrays: .safetensors or .npz")
    parser.add_argument("--strip-prefix", action="store_true", help="write names without arg: and aux:")
    add_output_options(parser)


def run(options: argparse.Namespace, console: Console) -> int:
    """List the arrays, and write them if asked."""
    if options.strip_prefix and options.to is None:
        options.parser.error("--strip-prefix says how to write; add --to")
    opened = _opened(options, console)
    written = None
    if options.to is not None:
        console.stage(f"writing {options.to}")
        arrays = named_arrays(opened, strip=options.strip_prefix)
        write_arrays(arrays, options.to)
        written = {"path": options.to, "bytes": os.path.getsize(options.to), "arrays": len(arrays)}
    console.data({**as_json(opened), "written": written})
    console.show(as_text(opened, listed=written is None or options.verbose > 0))
    if written is not None:
        from graphir.report.text import plural, size

        sparse = sum(entry.sparse is not None for entry in opened.entries)
        dense = f"; {plural(sparse, 'sparse array')} written dense" if sparse else ""
        nbytes = os.path.getsize(options.to)
        console.show(f"wrote {plural(len(opened.entries), 'array')} to {options.to} ({size(nbytes)}){dense}")
    return 0


def _opened(options: argparse.Namespace, console: Console) -> ParamsFile:
    """The arrays of a file, or of a model that holds its own."""
    from pathlib import Path

    from graphir.converters import detect_format
    from graphir.converters.mxnet.files.params import open_params

    path = Path(options.file)
    is_arrays = path.suffix in (".params", ".npz", ".npy") or not path.exists()
    kind = options.format or ("mxnet" if is_arrays or _is_other(path) else detect_format(path))
    return open_params(_file(options.file)) if kind == "mxnet" else _of_model(options.file, kind, console)


def _is_other(path: Path) -> bool:
    """Whether this is a file that is no model at all, which the reader of arrays names."""
    from graphir.converters import detect_format
    from graphir.errors import FormatError

    try:
        detect_format(path)
    except FormatError:
        return path.is_file()
    return False


def _of_model(path: str, kind: str, console: Console) -> ParamsFile:
    from graphir.analysis.summary import stored_bytes
    from graphir.converters.mxnet.files.arrays import ParamsEntry
    from graphir.converters.mxnet.files.params import ParamsFile
    from graphir.converters.opening import Choices, read_model
    from graphir.report.conversion import framework_of

    reading = read_model(path, Choices(), kind, progress=console.stage)
    entries = tuple(ParamsEntry(name, tensor) for name, tensor in reading.parameters().items())
    nbytes = sum(os.path.getsize(file) for file in reading.files)
    nbytes = nbytes or sum(stored_bytes(entry.tensor) for entry in entries)
    return ParamsFile(path, entries, framework_of(reading.graph), nbytes)


def _file(given: str) -> Path:
    from pathlib import Path

    from graphir.converters import detect_format
    from graphir.converters.mxnet.files.checkpoint import find_checkpoint
    from graphir.errors import ImportFailure

    path = Path(given)
    if path.suffix in (".params", ".npz", ".npy"):
        return path
    if path.is_file() and not _is_symbol(path):
        return path
    if not path.is_file():
        detect_format(path)
    found = find_checkpoint(path).params
    if found is None:
        raise ImportFailure(f"{given}: there are no parameters beside the symbol")
    return found


def _is_symbol(path: Path) -> bool:
    """Whether this is JSON, whose arrays lie in another file."""
    with open(path, "rb") as file:
        return file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def named_arrays(opened: ParamsFile, *, strip: bool) -> dict[str, Tensor]:
    """The arrays under the names that they are written with. Raises ExportFailure if two would share one."""
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
    """An uncompressed archive, as numpy.savez writes it, array by array."""
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


def as_text(opened: ParamsFile, *, listed: bool) -> str:
    """The table of arrays, and what else is in the file."""
    from graphir.analysis.summary import stored_bytes
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
        lines.append("  the arrays have no names in the file; they are called by their place")
    if opened.empty:
        lines.append(f"  without a shape, holding nothing: {', '.join(map(one_line, opened.empty))}")
    if opened.trailing:
        lines.append(f"  {opened.trailing} bytes after the last name, which MXNet ignores too")
    return "\n".join(lines)


def as_json(opened: ParamsFile) -> dict[str, Any]:
    """The same as plain data."""
    from graphir.analysis.summary import stored_bytes

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


__all__ = ["add_arguments", "as_json", "as_text", "named_arrays", "run", "write_arrays"]
