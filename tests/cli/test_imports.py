"""What a command or a call has to import is what it uses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
DIGITS = ROOT / "models" / "digits"
FOREIGN = ("onnx", "google.protobuf", "onnxruntime", "h5py", "tensorflow", "mxnet")
# What a plain network has no use for: compressions, expressions compiled on import, other roads, other formats.
UNUSED = (
    *("shutil", "lzma", "bz2", "zlib", "string", "importlib.metadata", "rich", "ml_dtypes", "safetensors"),
    *("graphir.converters.tensorflow.files", "graphir.converters.mxnet.exporting"),
    *("graphir.converters.mxnet.importing.cut", "graphir.converters.onnx.importing.types"),
    "graphir.converters.onnx.ops.foreign",
    *("graphir.converters.onnx.exporting.casts", "graphir.converters.onnx.exporting.cast_around"),
    *("graphir.passes.fold_constants", "graphir.passes.inline", "graphir.report.parts", "graphir.report.text"),
    *("graphir.serial", "graphir.structure.look", "graphir.structure.lookup", "graphir.verification.driver"),
)
COMMAND = "from graphir.cli import main\nassert main({arguments!r}) == 0\n"
LIBRARY = "import graphir\ngraphir.convert({source!r}, {target!r}).to_text()\n"


def imported(program: str) -> set[str]:
    """The modules that a program in a fresh interpreter has imported at its end."""
    told = "import sys\nprint('imported:', *sys.modules)\n"
    run = subprocess.run([sys.executable, "-c", program + told], capture_output=True, text=True, cwd=ROOT, check=True)
    return set(run.stdout.rpartition("imported:")[2].split())


@pytest.mark.parametrize("called", ["command", "library"])
def test_mxnet_to_onnx_imports_no_framework(called: str, tmp_path: Path) -> None:
    target = tmp_path / "digits.onnx"
    command = COMMAND.format(arguments=["convert", str(DIGITS), str(target)])
    program = command if called == "command" else LIBRARY.format(source=str(DIGITS), target=str(target))
    found = imported(program)
    assert found.isdisjoint(FOREIGN)
    assert target.is_file()


def test_mxnet_to_onnx_imports_what_it_uses(tmp_path: Path) -> None:
    """A report that nobody reads is not made into text. What numpy imports anyway costs nothing more."""
    program = f"import graphir\ngraphir.convert({str(DIGITS)!r}, {str(tmp_path / 'digits.onnx')!r})\n"
    assert sorted((imported(program) - imported("import numpy\n")).intersection(UNUSED)) == []


def test_mxnet_to_pytorch_imports_what_it_uses(tmp_path: Path) -> None:
    """Sessions compute constants, of which there are none, and files of our own have another format."""
    modules = imported(f"import graphir\ngraphir.convert({str(DIGITS)!r}, {str(tmp_path / 'digits.py')!r})\n")
    assert "graphir.converters.pytorch.exporting.ops.convolution" in modules
    assert modules.isdisjoint(FOREIGN)
    assert modules.isdisjoint((
        "graphir.runtime.session", "graphir.safety.isolation", "graphir.serial.reader", "graphir.ops.signal",
        "graphir.converters.pytorch.exporting.borders", "graphir.converters.pytorch.exporting.ops.recurrent",
    ))  # fmt: skip


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["convert", "--help"]], ids=" ".join)
def test_help_imports_next_to_nothing(arguments: list[str]) -> None:
    found = imported(COMMAND.format(arguments=arguments))
    assert found.isdisjoint((*FOREIGN, "numpy", "ml_dtypes", "safetensors", "graphir.graph"))
