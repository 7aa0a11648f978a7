"""What people type in their first hour: mistakes get the next step, pipes and Ctrl-C are quiet, one file is itself."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

import graphir as package
from graphir.graph import Graph
from graphir.ops.activation import Relu
from graphir.types import DType, TensorType

from .conftest import Command

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["convert", "MODEL", "x.onnx", "--dtype", "fp16"], "; there is float16"),
        (["convert", "MODEL", "x.onnx", "--dtype", "half"], "; there is float16"),
        (["convert", "MODEL", "x.onnx", "--fp16"], "; there is --dtype float16"),
        (["verify", "MODEL", "x.onnx", "--tolerance", "1e-3"], "; there is --rtol, --atol"),
        (["convert", "MODEL", "x.onnx", "--shape", "data:1,1,8,8"], "; there is -i NAME:SHAPE"),
        (["convert", "MODEL", "-o", "x.onnx"], "; there is graphir convert MODEL OUT, without an option"),
        (["model.onnx"], "; that looks like a model: graphir summary model.onnx"),
        (["info", "MODEL"], "; there is summary"),
        (["draw", "MODEL"], "; there is plot"),
    ],
)
def test_wrong_usage_names_what_is_meant(graphir: Command, digits: Path, arguments: list[str], said: str) -> None:
    outcome = graphir(*(str(digits) if word == "MODEL" else word for word in arguments))
    assert outcome.code == 2
    assert said in outcome.err


@pytest.mark.parametrize("command", ["summary", "convert", "verify", "params"])
def test_addresses_are_not_read(graphir: Command, tmp_path: Path, command: str) -> None:
    address = "https://example.org/model.onnx"
    outcome = graphir(command, address, *([] if command in ("summary", "params") else [tmp_path / "out.onnx"]))
    assert outcome.code == 1
    assert f"{address}: graphir reads files, not addresses; download it first" in outcome.err


@pytest.mark.parametrize(
    "name, said",
    [
        ("model.pt", "a PyTorch file: write it as ONNX with torch.onnx.export"),
        ("model.pth", "a PyTorch file: write it as ONNX with torch.onnx.export"),
        ("model.caffemodel", "a Caffe file"),
        ("model.tflite", "a TensorFlow Lite file"),
        ("model.py", "`convert MODEL NET.py --verify` proves a module as it is written"),
        ("model.safetensors", "weights without a network"),
        ("model.mlmodel", "a Core ML file"),
        ("model.pkl", "a Python pickle"),
    ],
)
def test_files_of_other_tools_say_how_to_go_on(graphir: Command, tmp_path: Path, name: str, said: str) -> None:
    path = tmp_path / name
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02")
    outcome = graphir("convert", path, tmp_path / "out.onnx")
    assert outcome.code == 1
    assert said in outcome.err


def test_a_reader_that_closes_the_pipe_is_no_error(digits: Path, converted: Path, wrong: Path) -> None:
    for code, arguments in ((0, ["summary", digits]), (4, ["diff", converted, wrong])):
        command = [sys.executable, "-u", "-m", "graphir", *map(str, arguments)]
        read, write = os.pipe()
        os.close(read)
        try:
            run = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False, cwd=ROOT)
        finally:
            os.close(write)
        assert (run.returncode, run.stderr) == (code, "")


# Says when the interrupt has a handler of graphir's: what comes before is Python's own start.
STARTED = """
import signal, sys
import graphir.__main__
set_handler = signal.signal
def started(*arguments):
    signal.signal = set_handler
    set_handler(*arguments)
    print("started", flush=True)
signal.signal = started
sys.exit(graphir.__main__.run())
"""


@pytest.mark.parametrize("after", [0.0, 0.02, 0.05, 0.06, 0.07, 0.08, 0.1, 0.2, 0.4])
def test_an_interrupt_is_quiet_from_the_start(digits: Path, after: float) -> None:
    command = [sys.executable, "-c", STARTED, "verify", str(digits), str(digits), "--against", "reference"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        assert run.stdout.readline() == "started\n"
        time.sleep(after)
        run.send_signal(signal.SIGINT)
        said = run.stderr.read()
        printed = run.stdout.read()
    # A fast machine is done before the last of the signals, and says its whole verdict then.
    assert run.returncode in (130, -signal.SIGINT) or (run.returncode == 0 and "verified" in printed)
    assert said in ("", "graphir: error: interrupted\n")


# An interrupt comes while the module is imported whose name is the first argument.
INTERRUPTED_IMPORT = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what runs in the background without it
import graphir.__main__
class Finder:
    def find_spec(self, name, *_):
        if name == stop:
            os.kill(os.getpid(), signal.SIGINT)
stop = sys.argv.pop(1)
sys.meta_path.insert(0, Finder())
sys.exit(graphir.__main__.run())
"""
IMPORTED = (
    "graphir.cli", "graphir.cli.verify", "graphir.errors", "graphir.files.sources", "graphir.safety.counted",
    "graphir.safety.limits", "graphir.cli.console", "graphir.files.signals", "numpy", "graphir.verification",
)  # fmt: skip


@pytest.mark.parametrize("module", IMPORTED)
def test_an_interrupt_is_quiet_in_an_import(digits: Path, module: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED_IMPORT, module, "verify", str(digits), str(digits)]
    run = subprocess.run(
        [*command, "--against", "reference"], capture_output=True, text=True, check=False, cwd=ROOT
    )  # fmt: skip
    assert run.returncode in (130, -signal.SIGINT)
    assert run.stderr in ("", "graphir: error: interrupted\n")


# What C code does that is interrupted while it imports: it prints the interrupt and raises an error of its own.
PRINTED_INTERRUPT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import graphir.__main__
class Finder:
    def find_spec(self, name, *_):
        if name == "graphir.verification":
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                sys.excepthook(*sys.exc_info())
            raise ImportError("numpy.core.multiarray failed to import")
sys.meta_path.insert(0, Finder())
sys.exit(graphir.__main__.run())
"""


def test_an_interrupt_that_c_code_prints_is_said_once(digits: Path) -> None:
    command = [sys.executable, "-c", PRINTED_INTERRUPT, "verify", str(digits), str(digits), "--against", "reference"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (run.returncode, run.stderr) == (130, "graphir: error: interrupted\n")


@pytest.mark.parametrize("layers", [("first", "second", "third"), ("second", "second", "second", "second_1")])
def test_long_scopes_are_left_out_of_tables(graphir: Command, tmp_path: Path, layers: tuple[str, ...]) -> None:
    scope = "StatefulPartitionedCall_1/StatefulPartitionedCall/net_1/"
    graph = Graph("net")
    value = graph.add_input("x", TensorType(DType.FLOAT32, ("N", 8)))
    for index, name in enumerate(layers):
        value = graph.add(Relu(), value, name=f"{scope}{name}/Relu{index}")
    graph.set_outputs([value])
    path = tmp_path / "net.onnx"
    package.save(graph, path)
    for command in ("summary", "shapes", "cost"):
        shown = graphir(command, path).out
        assert "  second/Relu1  " in shown
        assert f"{scope} is omitted in front of names (-v shows it)" in " ".join(shown.split())
        assert shown.count(scope) == 1
        assert f"  {scope}second/Relu1  " in graphir(command, path, "-v").out
    assert f"{scope}second/Relu1" in graphir("layers", path).out
    assert scope in graphir("summary", path, "--json").out


def test_one_file_and_its_copy_are_identical(graphir: Command, converted: Path, tmp_path: Path) -> None:
    copy = shutil.copy(converted, tmp_path / "copy.onnx")
    for other in (converted, copy):
        outcome = graphir("verify", converted, other)
        assert (outcome.code, outcome.err) == (0, "")
        assert outcome.out.startswith("verified: identical (both files have the same bytes")
