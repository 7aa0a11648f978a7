"""The capture script: plain, printable, and what it records agrees with the converted model."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from .conftest import Command


def test_script_stands_alone(graphir: Command) -> None:
    outcome = graphir("verify", "--capture-script")
    assert outcome.code == 0
    assert outcome.out.isascii()
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(outcome.out))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [part.name for part in node.names])
    }
    assert imported == {"__future__", "io", "json", "mxnet", "numpy", "os", "sys", "zipfile"}


@pytest.mark.parametrize(
    ("version", "backend"), [("0.12.0", None), ("1.5.1", None), ("1.6.0", "NONE"), ("2.0.0b1", "NONE")]
)
def test_fusion_is_switched_off_where_it_is(
    version: str, backend: str | None, graphir: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MXNet 1.4 and 1.5 end with an error where the backend NONE is asked for."""
    script: dict[str, Any] = {"__name__": "capture"}
    exec(graphir("verify", "--capture-script").out, script)
    stand_in = ModuleType("mxnet")
    stand_in.__version__ = version  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mxnet", stand_in)
    monkeypatch.delenv("MXNET_SUBGRAPH_BACKEND", raising=False)
    assert script["import_mxnet"]() is stand_in
    assert os.environ.pop("MXNET_SUBGRAPH_BACKEND", None) == backend


@pytest.mark.live
def test_capture_agrees(graphir: Command, digits: Path, tmp_path: Path, mxnet: ModuleType) -> None:
    script, capture = tmp_path / "capture.py", tmp_path / "capture.npz"
    script.write_text(graphir("verify", "--capture-script").out)
    words = [f"{digits}-symbol.json", f"{digits}-0000.params", str(capture), "data:4,1,8,8", "--seed", "3"]
    subprocess.run([sys.executable, str(script), *words], check=True, capture_output=True)
    outcome = graphir("verify", capture, digits, "--per-layer")
    assert outcome.code == 0, outcome.err
    assert "reference  golden capture capture.npz" in outcome.out
    assert "14 values compared, none differs by more than rounding" in outcome.out
    with np.load(capture) as archive:
        stored = {name: archive[name] for name in archive.files}
    stored["internal:bn2_output"] = stored["internal:bn2_output"] * 1.01
    stored["output:0:softmax_output"] = stored["output:0:softmax_output"] * 1.01
    np.savez(capture, **stored)
    changed = graphir("verify", capture, digits, "--per-layer")
    assert changed.code == 4
    assert "the first is bn2_output" in changed.out
