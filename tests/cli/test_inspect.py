"""`check`, `shapes`, `summary` and `params`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from graphir.converters.mxnet import read_params, write_params
from graphir.converters.onnx.exporting.exporter import DEFAULT_OPSET

from . import broken
from .conftest import Command


def test_everything_converts(graphir: Command, digits: Path) -> None:
    outcome = graphir("check", digits)
    assert outcome.code == 0, outcome.err
    assert f"everything converts to ONNX opset {DEFAULT_OPSET}" in outcome.out
    assert graphir("check", digits, "--json").data["target_operators"]["Gemm"] == 2


def test_check_needs_no_parameters(graphir: Command, digits: Path) -> None:
    Path(f"{digits}-0000.params").unlink()
    outcome = graphir("check", f"{digits}-symbol.json", "-i", "data:1,1,8,8")
    assert outcome.code == 0, outcome.err


def test_all_gaps_at_once(graphir: Command, digits: Path) -> None:
    broken.symbol(broken.rename_operators)(digits.parent)
    outcome = graphir("check", digits)
    assert outcome.code == 1
    assert "2 operators in 3 nodes cannot be read" in outcome.out
    assert "tanh1, relu2" in outcome.out
    gaps = graphir("check", digits, "--json").data["gaps"]
    assert {gap["operator"]: gap["nodes"] for gap in gaps} == {"_npx_mystery": ["tanh1", "relu2"], "HomeMade": ["fc1"]}


def test_shapes(graphir: Command, digits: Path) -> None:
    Path(f"{digits}-0000.params").unlink()
    outcome = graphir("shapes", f"{digits}-symbol.json", "-i", "data:N,1,8,8", "--json")
    assert outcome.code == 0, outcome.err
    found: dict[str, Any] = {row["name"]: row for row in outcome.data["values"]}
    assert found["pool2_output"]["shape"] == ["N", 32, 2, 2]
    assert found["pool2_output"]["operator"] == "MaxPool"
    assert found["fc1_weight"]["shape"] == [48, 128]
    assert found["fc1_weight"]["role"] == "parameter"
    assert "pool2_workspace" not in found
    assert "float32[N, 32, 2, 2]" in graphir("shapes", f"{digits}-symbol.json", "-i", "data:N,1,8,8").out


def test_summary(graphir: Command, digits: Path) -> None:
    outcome = graphir("summary", digits, "-i", "data:1,1,8,8")
    assert outcome.code == 0, outcome.err
    assert "parameters  11,642 (46.6 KB)" in outcome.out
    assert "not used    16 elements of the file, which inference does not read (bn1_gamma)" in outcome.out
    data = graphir("summary", digits, "-i", "data:1,1,8,8", "--json").data
    assert {layer["name"]: layer["macs"] for layer in data["layers"] if layer["macs"]} == {
        "conv1": 16 * 8 * 8 * 9,
        "conv2": 32 * 4 * 4 * 16 * 9,
        "fc1": 128 * 48,
        "fc2": 48 * 10,
    }


@pytest.mark.parametrize("strip", [(), ("--strip-prefix",)], ids=["as-is", "stripped"])
@pytest.mark.parametrize("suffix", [".safetensors", ".npz"])
def test_params_written(graphir: Command, digits: Path, tmp_path: Path, suffix: str, strip: tuple[str, ...]) -> None:
    target = tmp_path / f"w{suffix}"
    outcome = graphir("params", digits, "--to", target, *strip)
    assert outcome.code == 0, outcome.err
    assert f"wrote 15 arrays to {target}" in outcome.out
    found = load_file(target) if suffix == ".safetensors" else dict(np.load(target))
    stored = {
        (name[4:] if strip else name): tensor.numpy() for name, tensor in read_params(f"{digits}-0000.params").items()
    }
    assert found.keys() == stored.keys()
    assert all(np.array_equal(found[name], array) for name, array in stored.items())


def test_params_listed(graphir: Command, digits: Path) -> None:
    outcome = graphir("params", f"{digits}-0000.params")
    assert "15 arrays, 11,658 elements, 46.6 KB (container V2" in outcome.out
    assert "arg:fc1_weight" in outcome.out
    data = graphir("params", f"{digits}-0000.params", "--json").data
    assert data["arrays"][0] == {
        "name": "arg:conv1_weight", "dtype": "float32", "shape": [16, 1, 3, 3], "bytes": 576, "storage": "default",
    }  # fmt: skip


def test_bfloat16_does_not_fit_npz(graphir: Command, tmp_path: Path) -> None:
    import ml_dtypes

    source = tmp_path / "w.params"
    write_params(source, {"a": np.ones(3, ml_dtypes.bfloat16), "b": np.ones(3, np.float32)})
    outcome = graphir("params", source, "--to", tmp_path / "w.npz")
    assert outcome.code == 1
    assert "1 array (a); write .safetensors instead" in outcome.err
    assert graphir("params", source, "--to", tmp_path / "w.safetensors").code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["w.params", "w.safetensors"]


def test_names_that_would_clash(graphir: Command, tmp_path: Path) -> None:
    source = tmp_path / "w.params"
    write_params(source, {"arg:x": np.ones(3, np.float32), "aux:x": np.ones(3, np.float32)})
    outcome = graphir("params", source, "--to", tmp_path / "w.npz", "--strip-prefix")
    assert outcome.code == 1
    assert "two arrays would be called 'x'" in outcome.err
