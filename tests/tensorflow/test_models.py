"""Real frozen graphs, made by others, against what TensorFlow computed of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import graphir
from graphir.cli import main
from tests.models.judge import LIMIT, relative, run_onnx

# The nodes that an expert would write: no transpose but the one at the border.
MODELS = [
    ("facialrecog", {"Conv": 4, "Add": 4, "Relu": 3, "MaxPool": 3, "Transpose": 1, "ReduceMean": 1, "Sigmoid": 1}),
    (
        "tract-hey-snips",
        {"Conv": 6, "Relu": 5, "Unsqueeze": 2, "Transpose": 2, "MaxPool": 1, "Add": 1, "Squeeze": 1},
    ),
    (  # 28 steps, each with a bias and one Add for the forget gate and for the cell; the last ones are for open sizes
        "tf2onnx-lstm",
        {"MatMul": 29, "Add": 86, "Split": 28, "Sigmoid": 84, "Tanh": 56, "Mul": 86, "Concat": 30, "Gather": 29,
         "ConstantOfShape": 3, "Cast": 3, "Shape": 2, "Unsqueeze": 1, "Reshape": 1, "Div": 1, "Floor": 1,
         "RandomUniform": 1},
    ),
    ("tf2onnx-ae0", {"MatMul": 4, "Add": 4, "Sigmoid": 4}),
]
# What has to be said of inputs whose number of axes the file leaves open.
OPEN: dict[str, dict[str, tuple[int | str, ...]]] = {
    "tract-hey-snips": {"inputs": ("T", 40)},
    "tf2onnx-lstm": {"keep_prob": ()},
}


@pytest.mark.one_of(8)
@pytest.mark.parametrize("open_sizes", [False, True], ids=["fixed", "open"])
@pytest.mark.parametrize(("name", "most"), MODELS)
def test_model_equals_its_golden(
    shared: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str, most: dict[str, int], open_sizes: bool
) -> None:
    folder = shared / "models" / "tf" / name
    with np.load(folder / "golden.npz") as golden:
        arrays = dict(golden)
    feeds = {key.split(":")[1]: array for key, array in arrays.items() if key.startswith("input:")}
    shapes = OPEN.get(name) if open_sizes else {key: array.shape for key, array in feeds.items()}
    graph = graphir.load(folder / "frozen.pb", shapes=shapes)
    found = run_onnx(graph, tmp_path, 18, feeds, capfd)
    expected = {key.split(":")[1]: array for key, array in arrays.items() if key.startswith("output:")}
    assert list(found) == list(expected)
    assert max(relative(found[key], expected[key]) for key in expected) <= LIMIT
    assert sum(1 for _ in graph.nodes) <= sum(most.values())


@pytest.mark.live
@pytest.mark.usefixtures("live_tensorflow")
def test_what_hinders_a_check_is_told(shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model that draws random numbers, for which onnxruntime has kernels in old opsets only."""
    source = str(shared / "models" / "tf" / "tf2onnx-lstm" / "frozen.pb")
    np.savez(tmp_path / "feeds.npz", X=np.ones((1, 784), np.float32), keep_prob=np.float32(1))
    options = ["-i", "keep_prob:", "--verify", "--against", "live", "--feeds", str(tmp_path / "feeds.npz")]
    assert main(["convert", source, str(tmp_path / "new.onnx"), *options, "--opset", "22"]) == 1
    assert "an older RandomUniformLike: write opset 21" in capsys.readouterr().err
    assert main(["convert", source, str(tmp_path / "old.onnx"), *options, "--opset", "21"]) == 0
    assert "RandomUniformLike draws other numbers in every run" in capsys.readouterr().out


@pytest.mark.live
@pytest.mark.usefixtures("live_tensorflow")
def test_first_axes_of_steps_are_long_enough(shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(shared / "models" / "tf" / "tract-hey-snips" / "frozen.pb")
    assert main(["convert", source, str(tmp_path / "out.onnx"), "-i", "inputs:T,40", "--verify"]) == 0
    assert "inputs float32[64, 40]" in " ".join(capsys.readouterr().out.split())
