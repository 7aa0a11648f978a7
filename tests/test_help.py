"""`graphir --help` answers without loading what only the work needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HEAVY = {"numpy", "onnx", "onnxruntime", "ml_dtypes", "safetensors", "google"}


def run(*arguments: str) -> tuple[subprocess.CompletedProcess[str], set[str]]:
    """The finished process and the top-level names of what it imported, as `-X importtime` lists them on stderr."""
    command = [sys.executable, "-X", "importtime", "-m", "graphir", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    lines = (line for line in done.stderr.splitlines() if line.startswith("import time:"))
    return done, {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("--help",), id="help"),
        pytest.param(("--version",), id="version"),
        pytest.param(("convert", "--help"), id="convert"),
    ],
)
def test_help_is_light(arguments: tuple[str, ...]) -> None:
    done, imported = run(*arguments)
    assert done.returncode == 0, done.stderr
    assert "graphir" in imported
    assert imported & HEAVY == set()


def test_help_names_the_commands() -> None:
    done, _ = run("--help")
    assert "convert" in done.stdout
    assert "verify" in done.stdout


def test_unknown_command_is_a_usage_error() -> None:
    done, _ = run("no-such-command")
    assert done.returncode == 2


# These two consist of blocks of live MXNet 2.0, without which they cannot be read.
TOOLS = [tool for tool in sorted((ROOT / "tools").glob("*.py")) if not tool.stem.startswith("mxnet_two")]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.stem)
def test_a_tool_says_what_it_does(tool: Path) -> None:
    command = [sys.executable, "-m", f"tools.{tool.stem}", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stdout[:6]) == (0, "usage:"), done.stderr


SCRIPTS = [path for folder in ("benchmarks", "tools", "models") for path in sorted((ROOT / folder).rglob("*.py"))]


@pytest.mark.parametrize(
    "script", [path for path in SCRIPTS if "__main__" in path.read_text()], ids=lambda path: str(path.name)
)
def test_every_script_knows_its_arguments(script: Path) -> None:
    assert "ArgumentParser(" in script.read_text(), f"{script.name} --help would be taken for an argument"
