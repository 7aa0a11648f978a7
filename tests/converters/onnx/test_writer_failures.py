"""The writer when something fails, and what it costs in memory."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphir.converters.mxnet.files.params import read_params, write_params
from graphir.converters.onnx.files.writer import write_model
from graphir.errors import ExportFailure, FormatError, GraphError
from graphir.tensor import Tensor
from graphir.types import DType

from .test_writer import model

F32 = DType.FLOAT32


@pytest.fixture
def mapped(tmp_path: Path) -> dict[str, Tensor]:
    """Weights that lie in a .params file."""
    generator = np.random.Generator(np.random.PCG64(5))
    shapes = {"large": (1 << 18,), "middle": (40, 50), "small": (3,)}
    write_params(
        tmp_path / "w.params", {n: generator.standard_normal(shape).astype(np.float32) for n, shape in shapes.items()}
    )
    return read_params(tmp_path / "w.params")


def raises(error: Exception) -> Callable[[Path], Tensor]:
    def compute() -> Any:
        raise error

    return lambda folder: Tensor.computed(F32, (1000,), compute)


def wrong_shape(folder: Path) -> Tensor:
    return Tensor.computed(F32, (1000,), lambda: np.zeros(999, np.float32))


def cut_short(folder: Path) -> Tensor:
    path = folder / "short.bin"
    path.write_bytes(bytes(100))
    return Tensor.at(path, 0, F32, (1000,))


def gone(folder: Path) -> Tensor:
    return Tensor.at(folder / "gone.bin", 0, F32, (1000,))


@pytest.mark.parametrize(
    "last, error, message",
    [
        (raises(RuntimeError("no weight")), RuntimeError, "no weight"),
        (raises(KeyboardInterrupt("stop")), KeyboardInterrupt, "stop"),  # type: ignore[arg-type]
        (raises(OSError(28, "No space left on device")), ExportFailure, "cannot write .*m.onnx: No space left"),
        (wrong_shape, GraphError, r"gave float32\[999\], expected float32\[1000\]"),
        (cut_short, FormatError, "weights end 3900 bytes early"),
        (gone, FormatError, "cannot read weights"),
    ],
)
@pytest.mark.parametrize("mode", ["inline", "external"])
def test_failures_leave_what_stood_there(
    mode: str, last: Any, error: type[BaseException], message: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "m.onnx").write_bytes(b"old")
    (out / "m.onnx.data").write_bytes(b"old data")
    tensors = {"first": Tensor.of(np.ones(5000, np.float32)), "last": last(tmp_path)}
    with pytest.raises(error, match=message):
        write_model(model(tensors), out / "m.onnx", weights=mode)
    assert sorted(path.name for path in out.iterdir()) == ["m.onnx", "m.onnx.data"]
    assert (out / "m.onnx").read_bytes() == b"old"
    assert (out / "m.onnx.data").read_bytes() == b"old data"


@pytest.mark.parametrize("mode", ["inline", "external"])
@pytest.mark.parametrize(
    "target, message", [("nowhere/m.onnx", "its folder does not exist"), ("folder", "it is a folder")]
)
def test_targets_that_cannot_be_written(target: str, message: str, mode: str, mapped: Any, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(ExportFailure, match=message):
        write_model(model(mapped), tmp_path / target, weights=mode)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "w.params"]


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root writes everywhere")
def test_folder_without_permission(mapped: Any, tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o555)
    with pytest.raises(ExportFailure, match="Permission denied"):
        write_model(model(mapped), tmp_path / "locked" / "m.onnx")


def in_child(program: str, *words: object) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *map(str, words)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


FULL_DISK = """
    import resource, signal, sys
    from graphir.converters.onnx.files.writer import write_model
    from graphir.converters.mxnet.files.params import read_params
    from graphir.errors import ExportFailure
    from graphir.tensor import Tensor
    from tests.converters.onnx.test_writer import model
    tensors = read_params(sys.argv[1])
    if sys.argv[3] == "array":
        tensors = {name: Tensor.of(tensor.numpy().copy()) for name, tensor in tensors.items()}
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
    try:
        write_model(model(tensors), sys.argv[2], weights=sys.argv[4])
    except ExportFailure as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of file sizes are POSIX")
@pytest.mark.parametrize("mode", ["inline", "external"])
@pytest.mark.parametrize("held", ["array", "file"])
def test_full_disk(mode: str, held: str, mapped: Any, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    found = in_child(FULL_DISK, tmp_path / "w.params", tmp_path / "out" / "m.onnx", held, mode)
    assert found == f"cannot write {tmp_path}/out/m.onnx: File too large"
    assert list((tmp_path / "out").iterdir()) == []


FULL_AND_FAILING = """
    import resource, signal, sys
    from graphir.files.writing import replacing

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
    try:
        with replacing(sys.argv[1]) as (file,):
            file.write(bytes(100))
            raise ValueError("in the middle")
    except ValueError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of file sizes are POSIX")
def test_failure_with_bytes_that_no_longer_fit(tmp_path: Path) -> None:
    assert in_child(FULL_AND_FAILING, tmp_path / "m.onnx") == "in the middle"
    assert list(tmp_path.iterdir()) == []


def sparse_params(path: Path, elements: int) -> None:
    """A .params of one float32 array whose elements are a hole in the file."""
    head = struct.pack("<QQQIiIqiii", 0x112, 0, 1, 0xF993FAC9, 0, 1, elements, 1, 0, 0)
    with open(path, "wb") as file:
        file.write(head)
        file.seek(4 * elements, os.SEEK_CUR)
        file.write(struct.pack("<QQ", 1, 5) + b"arg:w")


MEMORY = """
    import sys, onnx, numpy
    from graphir.converters.onnx.files.writer import write_model
    from graphir.converters.mxnet.files.params import read_params
    from tests.converters.onnx.test_writer import model

    def anonymous():
        lines = open("/proc/self/status").read().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

    import threading, time
    before = anonymous()
    peak = [before]

    def watch():
        while True:
            peak[0] = max(peak[0], anonymous())
            time.sleep(0.002)

    threading.Thread(target=watch, daemon=True).start()
    tensors = {f"{name}{index}": tensor for name, tensor in read_params(sys.argv[1]).items() for index in range(2)}
    write_model(model(tensors), sys.argv[2], weights=sys.argv[3])
    print((max(peak[0], anonymous()) - before) // 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="measures memory through /proc")
@pytest.mark.parametrize("mode", ["inline", "external"])
def test_memory_does_not_grow_with_the_weights(mode: str, tmp_path: Path) -> None:
    sparse_params(tmp_path / "w.params", 64 << 20)
    megabytes = int(in_child(MEMORY, tmp_path / "w.params", tmp_path / "m.onnx", mode))
    assert sum(path.stat().st_size for path in tmp_path.glob("m.onnx*")) > 500 << 20
    assert megabytes < 64
