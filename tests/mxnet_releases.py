"""Are symbols that are written for an older MXNet read, and computed right, by that MXNet itself?

    python tests/mxnet_releases.py 0.9.5=old/libmxnet.so ... [--list]

Each library, out of a wheel of PyPI, is run in a process of its own through its C prediction API, which takes the JSON
text and the bytes of a .params file. What is written are the cases of tests/equivalence, float32 only, and what is
computed is compared with the reference of them. Prints a line a release, and with --list what went wrong.
"""

from __future__ import annotations

import ctypes
import io
import json
import select
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

LIMIT = 2e-5
BROKEN = "its process ended, or gave no answer"
PATIENCE = 15


class Library:
    """One release in this process."""

    def __init__(self, path: str) -> None:
        for beside in sorted(Path(path).parent.glob("*.so*")):
            if beside.name != Path(path).name:
                try:
                    ctypes.CDLL(str(beside), ctypes.RTLD_GLOBAL)
                except OSError:
                    continue  # a part that this model does not need, or that the system has
        self.lib = ctypes.CDLL(path)
        self.lib.MXGetLastError.restype = ctypes.c_char_p

    def check(self, code: int) -> None:
        if code:
            lines = self.lib.MXGetLastError().decode(errors="replace").strip().splitlines()
            raise ValueError(next((line for line in lines if "Check failed" in line or "Error" in line), lines[0]))

    def predict(self, text: bytes, params: bytes, feeds: dict[str, Any]) -> list[Any]:
        """The outputs of a symbol; all inputs are float32, for the prediction API knows nothing else."""
        handle = ctypes.c_void_p()
        names = (ctypes.c_char_p * len(feeds))(*(name.encode() for name in feeds))
        sizes = [size for array in feeds.values() for size in array.shape]
        ends = np.cumsum([0, *(array.ndim for array in feeds.values())]).tolist()
        starts = (ctypes.c_uint * len(ends))(*ends)
        shapes = (ctypes.c_uint * len(sizes))(*sizes)
        model = (text, params, len(params), 1, 0)
        self.check(self.lib.MXPredCreate(*model, len(feeds), names, starts, shapes, ctypes.byref(handle)))
        for name, array in feeds.items():
            held = np.ascontiguousarray(array, np.float32)
            data = held.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
            self.check(self.lib.MXPredSetInput(handle, name.encode(), data, held.size))
        self.check(self.lib.MXPredForward(handle))
        found = [self._output(handle, slot) for slot in range(len(json.loads(text)["heads"]))]
        self.check(self.lib.MXPredFree(handle))
        return found

    def _output(self, handle: Any, slot: int) -> Any:
        sizes, count = ctypes.POINTER(ctypes.c_uint)(), ctypes.c_uint()
        self.check(self.lib.MXPredGetOutputShape(handle, slot, ctypes.byref(sizes), ctypes.byref(count)))
        result = np.empty([sizes[axis] for axis in range(count.value)], np.float32)
        data = result.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        self.check(self.lib.MXPredGetOutput(handle, slot, data, result.size))
        return result


def send(stream: IO[bytes], header: object, parts: dict[str, Any]) -> None:
    body = io.BytesIO()
    np.savez(body, **parts)
    text = json.dumps(header).encode()
    stream.write(struct.pack("<QQ", len(text), body.tell()) + text + body.getvalue())
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[Any, dict[str, Any]]:
    lengths = stream.read(16)
    if len(lengths) < 16:
        raise EOFError
    text, body = (stream.read(length) for length in struct.unpack("<QQ", lengths))
    with np.load(io.BytesIO(body)) as archive:
        return json.loads(text), {name: archive[name] for name in archive.files}


def serve(path: str) -> None:
    """Answer until standard input ends."""
    import os

    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    library = Library(path)
    while True:
        try:
            header, parts = receive(sys.stdin.buffer)
        except EOFError:
            return
        feeds = {name: parts[f"f{slot}"] for slot, name in enumerate(header["feeds"])}
        try:
            found = library.predict(parts["text"].tobytes(), parts["params"].tobytes(), feeds)
        except ValueError as error:
            send(replies, {"error": str(error)}, {})
        else:
            send(replies, {}, {f"o{slot}": array for slot, array in enumerate(found)})


class Release:
    """A release in a child process, which is started again when it was ended."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.child: subprocess.Popen[bytes] | None = None

    def predict(self, text: str, params: bytes, feeds: dict[str, Any]) -> list[Any]:
        if self.child is None:
            self.child = subprocess.Popen(
                [sys.executable, __file__, "--serve", self.path],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        parts = {f"f{slot}": array for slot, array in enumerate(feeds.values())}
        parts["text"], parts["params"] = (np.frombuffer(held, np.uint8) for held in (text.encode(), params))
        try:
            send(self.child.stdin, {"feeds": list(feeds)}, parts)
            if not select.select([self.child.stdout], [], [], PATIENCE)[0]:
                raise EOFError
            header, found = receive(self.child.stdout)
        except (EOFError, OSError):
            self.child.kill()
            self.child.wait()
            self.child = None
            raise ValueError(BROKEN) from None
        if "error" in header:
            raise ValueError(header["error"])
        return list(found.values())


def models() -> Iterator[tuple[str, Any, dict[str, Any], list[Any]]]:
    """Cases in float32: name, graph, feeds, what the reference computes."""
    from graphir.converters.mxnet import from_symbol
    from graphir.converters.mxnet.files.nnvm_json import read_symbol
    from graphir.converters.mxnet.importing.ops import import_table
    from graphir.converters.mxnet.reference.evaluate import evaluate
    from graphir.errors import GraphirError
    from tests.equivalence.table import CASES

    for case in CASES:
        arrays = case.arrays()
        if case.onednn or case.op not in import_table() or any(array.dtype != np.float32 for array in arrays.values()):
            continue
        weights = {name: arrays[name] for name in case.variables("param", "aux")}
        data = {name: arrays[name] for name in case.variables("data", "label")}
        try:
            graph = from_symbol(case.symbol_json(), weights, {name: array.shape for name, array in data.items()})
        except GraphirError:
            continue
        expected = list(evaluate(read_symbol(case.symbol_json()), arrays).values())
        if any(array.dtype != np.float32 for array in expected):
            continue  # the prediction API gives out float32 only
        yield case.name, graph, data, expected


def written(graph: Any, version: str) -> tuple[str, bytes, set[str]]:
    """The text, the bytes of the parameters, and the names of the variables."""
    from graphir.converters.mxnet.files.ndarray_list import write_list
    from graphir.converters.mxnet.schema.versions import array_layout, export_for, to_text

    symbol, params = export_for(graph, version)
    body = io.BytesIO()
    write_list(body, params, np_shape=symbol.np_shape, layout=array_layout(symbol.version))
    text = to_text(symbol)
    return text, body.getvalue(), {node["name"] for node in json.loads(text)["nodes"] if node["op"] == "null"}


def floats_of(graph: Any, version: str) -> dict[str, Any]:
    """The parameters as inputs; the prediction API sets only float32 ones."""
    from graphir.converters.mxnet.schema.versions import export_for

    held = {name.partition(":")[2]: tensor.numpy() for name, tensor in export_for(graph, version)[1].items()}
    return {name: array for name, array in held.items() if array.dtype == np.float32}


def verdict(release: Release, version: str, graph: Any, data: dict[str, Any], expected: list[Any]) -> str:
    """`right`, or what is not."""
    from graphir.errors import GraphirError

    try:
        text, params, names = written(graph, version)
    except GraphirError as error:
        return f"refused: {str(error).splitlines()[-1].strip()}"
    feeds = {name: array for name, array in data.items() if name in names}
    try:
        found = release.predict(text, params, feeds)
    except ValueError as error:
        if "infer_complete" not in str(error):
            return f"fails: {error}"
        try:  # the prediction API infers parameters from inputs, never the other way round
            found = release.predict(text, params, feeds | floats_of(graph, version))
        except ValueError as again:
            return f"fails: {again}"
    for one, other in zip(found, expected, strict=True):
        if one.shape != (other.shape or (1,)):
            return f"wrong shape: {one.shape} for {other.shape}"
        wanted = other.astype(np.float64)
        finite = np.isfinite(wanted)
        scale = max(float(np.abs(wanted[finite]).max(initial=0.0)), 1e-30)
        if not np.abs(one.astype(np.float64) - wanted)[finite].max(initial=0.0) / scale <= LIMIT:
            return "wrong numbers"
    return "right"


def main(arguments: list[str]) -> int:
    if arguments[0] == "--serve":
        serve(arguments[1])
        return 0
    held = list(models())
    shown = "--list" in arguments
    failed = 0
    for given in (argument for argument in arguments if argument != "--list"):
        version, _, path = given.partition("=")
        release = Release(path)
        verdicts = {name: verdict(release, version, graph, data, wanted) for name, graph, data, wanted in held}
        counts = Counter(found.partition(":")[0] for found in verdicts.values())
        print(f"{version:8} {len(held)} cases: " + ", ".join(f"{count} {kind}" for kind, count in counts.most_common()))
        bad = {name: found for name, found in verdicts.items() if not found.startswith(("right", "refused"))}
        failed += len(bad)
        if shown:
            print("".join(f"    {name}: {found[:200]}\n" for name, found in bad.items()), end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
