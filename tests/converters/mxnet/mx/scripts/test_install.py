"""`python -m graphir.mxnet` runs a script as Python does, with the facade for MXNet."""

# ruff: noqa: E501 - scripts are kept short, not narrow
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[5]


def run(folder: Path, arguments: list[str], source: str = "") -> subprocess.CompletedProcess[str]:
    (folder / "script.py").write_text(source)
    environment: dict[str, Any] = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


ALIKE = {
    "arguments": "import sys; print(sys.argv, __name__, __file__, sys.path[0], __spec__, __package__)",
    "globals": "print(sorted(globals()), __builtins__.__name__); import __main__; print(__main__.__dict__ is globals())",
    "status": "import sys; print('out'); sys.exit(7)",
    "message": "raise SystemExit('the end')",
    "traceback": "def inner():\n    return 1 / 0\ninner()\n",
    "cause": "try:\n    {}['a']\nexcept KeyError as error:\n    raise ValueError('b') from error\n",
    "syntax": "print('never'\n",
    "hook": "import sys; sys.excepthook = lambda kind, error, trace: print(kind, error, trace.tb_lineno)\nraise OSError(5)\n",
    "interrupt": "raise KeyboardInterrupt\n",
    "at exit": "import atexit; atexit.register(print, 'bye'); print('first')",
    "pickle": "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A)",
    "neighbour": "import neighbour; print(neighbour.VALUE)",
    "names of submodules": "import io; from image.image import VALUE; print(VALUE)",
}


@pytest.mark.one_of(8)
@pytest.mark.parametrize("name", ALIKE)
def test_a_script_runs_as_under_python(name: str, tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("VALUE = 5\n")
    (tmp_path / "image").mkdir()
    (tmp_path / "image" / "__init__.py").touch()
    (tmp_path / "image" / "image.py").write_text("VALUE = 6\n")
    plain = run(tmp_path, ["script.py", "a", "-b"], ALIKE[name])
    ours = run(tmp_path, ["-m", "graphir.mxnet", "script.py", "a", "-b"], ALIKE[name])
    assert (ours.returncode, ours.stdout, ours.stderr) == (plain.returncode, plain.stdout, plain.stderr)
    assert plain.stdout or plain.stderr


IMPORTS = """
import sys, mxnet, mxnet as mx, mxnet.gluon.nn as nn
from mxnet import nd, sym
from mxnet.gluon.block import HybridBlock
from mxnet.gluon.model_zoo import vision
import mxnet.ndarray.ndarray, mxnet.contrib.nd, mxnet.gluon.model_zoo.vision.vgg, mxnet.optimizer, mxnet.np
from mxnet.io import io as inner
assert mxnet.__name__ == "graphir.converters.mxnet.mx" and mxnet.nd is nd and issubclass(nn.Dense, HybridBlock)
assert inner.NDArrayIter is mx.io.NDArrayIter and mxnet.gluon.model_zoo.vision.vgg.VGG is vision.VGG
assert mxnet.ndarray.ndarray.NDArray is nd.NDArray
try:
    import mxnet.nothing
except ModuleNotFoundError as error:
    print(error, error.name)
"""


@pytest.mark.parametrize(
    ("arguments", "first"),
    [(["-m", "graphir.mxnet", "script.py"], ""), (["script.py"], "import graphir.converters.mxnet.mx.install\n"),
     (["-m", "graphir.mxnet", "-m", "script"], "")],
)  # fmt: skip
def test_every_module_is_imported(arguments: list[str], first: str, tmp_path: Path) -> None:
    result = run(tmp_path, arguments, first + IMPORTS)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "No module named 'mxnet.nothing': graphir's MXNet has no such module mxnet.nothing\n"


def test_another_mxnet_that_is_imported_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "mxnet.py").write_text("")
    result = run(tmp_path, ["script.py"], "import mxnet\nimport graphir.converters.mxnet.mx.install\n")
    assert result.returncode == 1
    assert "ImportError: mxnet is imported already, from" in result.stderr


def test_usage(tmp_path: Path) -> None:
    without = run(tmp_path, ["-m", "graphir.mxnet"])
    assert (without.returncode, without.stderr.startswith("usage: python -m graphir.mxnet")) == (1, True)
    helped = run(tmp_path, ["-m", "graphir.mxnet", "--help"])
    assert (helped.returncode, "usage:" in helped.stdout) == (0, True)
    missing = run(tmp_path, ["-m", "graphir.mxnet", "nothing.py"])
    assert (missing.returncode, "can't open file" in missing.stderr) == (2, True)
    assert run(tmp_path, ["-m", "graphir", "--version"]).returncode == 0
