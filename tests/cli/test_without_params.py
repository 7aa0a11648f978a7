"""Models without parameters, or with parameters under names of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphir.converters.mxnet import write_params

from .conftest import Command


def symbol(folder: Path, *, classes: int = 10, layers: int = 1, dense: bool = True) -> Path:
    """Convolutions, and a fully connected layer whose weight depends on the size of the input."""
    nodes: list[dict[str, Any]] = [{"op": "null", "name": "data", "inputs": []}]
    last = 0
    for number in range(layers):
        nodes += [{"op": "null", "name": f"conv{number}_{part}", "inputs": []} for part in ("weight", "bias")]
        inputs = [[last, 0, 0], [len(nodes) - 2, 0, 0], [len(nodes) - 1, 0, 0]]
        attributes = {"kernel": "(3, 3)", "num_filter": "4", "pad": "(1, 1)"}
        nodes.append({"op": "Convolution", "name": f"conv{number}", "attrs": attributes, "inputs": inputs})
        last = len(nodes) - 1
    if dense:
        nodes += [{"op": "null", "name": f"fc_{part}", "inputs": []} for part in ("weight", "bias")]
        inputs = [[last, 0, 0], [len(nodes) - 2, 0, 0], [len(nodes) - 1, 0, 0]]
        nodes.append({"op": "FullyConnected", "name": "fc", "attrs": {"num_hidden": str(classes)}, "inputs": inputs})
        last = len(nodes) - 1
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "m-symbol.json"
    path.write_text(json.dumps({"nodes": nodes, "arg_nodes": [], "heads": [[last, 0, 0]]}))
    return path


def test_check_makes_sizes_up(graphir: Command, tmp_path: Path) -> None:
    source = symbol(tmp_path)
    outcome = graphir("check", source)
    assert outcome.code == 0, outcome.err
    assert "everything converts" in outcome.out
    assert "were assumed: data is float32[N, 3, 224, 224]" in " ".join(outcome.out.split())
    assert graphir("check", source, "--json").data["made_up"] == {"data": "float32[N, 3, 224, 224]"}


def test_check_keeps_what_is_stated(graphir: Command, tmp_path: Path) -> None:
    outcome = graphir("check", symbol(tmp_path), "-i", "data:1,5,8,8")
    assert (outcome.code, "made up" in outcome.out) == (0, False)


def test_check_advises_shapes(graphir: Command, tmp_path: Path) -> None:
    """None of the sizes that are tried divides into the parts; that is no gap of the model's."""
    path = tmp_path / "m-symbol.json"
    nodes = [
        {"op": "null", "name": "data", "inputs": []},
        {"op": "SliceChannel", "name": "parts", "attrs": {"num_outputs": "11", "axis": "1"}, "inputs": [[0, 0, 0]]},
        {"op": "null", "name": "fc_weight", "inputs": []},
        {"op": "null", "name": "fc_bias", "inputs": []},
        {"op": "FullyConnected", "name": "fc", "attrs": {"num_hidden": "2"},
         "inputs": [[1, 0, 0], [2, 0, 0], [3, 0, 0]]},
    ]  # fmt: skip
    path.write_text(json.dumps({"nodes": nodes, "arg_nodes": [0, 2, 3], "heads": [[4, 0, 0]]}))
    outcome = graphir("check", path)
    assert outcome.code == 1
    assert "-i data:" in outcome.err
    assert "-p" not in outcome.err
    assert graphir("check", path, "-i", "data:1,11,4,4").code == 0


def test_long_lists_are_capped(graphir: Command, tmp_path: Path) -> None:
    source = symbol(tmp_path, layers=40, dense=False)
    outcome = graphir("convert", source, tmp_path / "m.onnx", "-i", "data:1,3,8,8")
    assert outcome.code == 1
    assert "80 parameter(s) have no elements" in outcome.err
    assert "... and 61 more (-v shows all)" in outcome.err
    assert "beside m-symbol.json there is neither m-0000.params (of any epoch) nor m.params" in outcome.err
    assert "its folder holds no arrays" in outcome.err
    assert len(outcome.err.splitlines()) == 22
    assert len(graphir("convert", source, tmp_path / "m.onnx", "-i", "data:1,3,8,8", "-v").err.splitlines()) == 82


def arrays() -> dict[str, Any]:
    return {
        "arg:conv0_weight": np.ones((4, 3, 3, 3), np.float32), "arg:conv0_bias": np.ones(4, np.float32),
    }  # fmt: skip


def test_lone_parameters_are_found(graphir: Command, tmp_path: Path) -> None:
    source = symbol(tmp_path, dense=False)
    write_params(tmp_path / "weights.params", arrays())
    outcome = graphir("convert", source, tmp_path / "m.onnx")
    assert outcome.code == 0, outcome.err
    assert "checkpoint: weights.params: taken as the only .params beside the symbol" in outcome.out


@pytest.mark.parametrize("names", [("a.params", "b.params"), ("a.npz",), ("strange.params",)])
def test_other_files_are_named(graphir: Command, tmp_path: Path, names: tuple[str, ...]) -> None:
    source = symbol(tmp_path, dense=False)
    held = {"arg:of_another_model": np.ones(1, np.float32)} if names == ("strange.params",) else arrays()
    [write_params(tmp_path / name, held) for name in names]
    outcome = graphir("convert", source, tmp_path / "m.onnx", "-i", "data:1,3,8,8")
    assert outcome.code == 1
    assert f"its folder holds {', '.join(names)}: name the right one with -p" in outcome.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["verify", "A", "-i", "data:2,1,8,8", "B", "--against", "reference"],
        ["verify", "--against", "reference", "A", "--seed", "3", "B", "-i", "data:2,1,8,8"],
        ["convert", "A", "--opset", "17", "OUT", "-i", "data:2,1,8,8"],
        ["convert", "-i", "data:2,1,8,8", "A", "OUT", "--opset=17"],
        ["convert", "A", "--", "OUT"],
        ["shapes", "-i", "data:2,1,8,8", "A", "-v", "A"],
        ["diff", "A", "-v", "A"],
        ["padding", "A", "--json", "A"],
        ["params", "--json", "A"],
        ["summary", "-v", "A", "-i", "data:2,1,8,8"],
        ["check", "--opset", "17", "A", "--json"],
        ["shapes", "A", "--explain", "data"],
        ["summary", "A", "--format", "mxnet"],
        ["diff", "A", "--other-format", "mxnet", "A", "--format", "mxnet"],
    ],
)
def test_options_stand_anywhere(graphir: Command, digits: Path, tmp_path: Path, arguments: list[str]) -> None:
    places = {"A": str(digits), "B": str(digits), "OUT": str(tmp_path / "out.onnx")}
    outcome = graphir(*[places.get(word, word) for word in arguments])
    assert outcome.code == 0, outcome.err
