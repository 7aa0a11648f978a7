"""`graphir layers`, and --outputs and --inputs of the commands that read a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.requirements import shared_folder

from .conftest import Command, bare

SHAPE = ("-i", "data:1,1,8,8")
MODELS = sorted(
    str(path.relative_to(folder))
    for folder in [shared_folder() or Path("none")]
    for pattern in ("models/mxnet/*", "models/onnx/*/*.onnx", "models/tf/*/*.pb")
    for path in folder.glob(pattern)
)
UNREADABLE = ("bmxnet-mnist-32", "mms-mnist", "tract-hey-snips")  # each says why


def test_what_can_be_cut(graphir: Command, digits: Path) -> None:
    layers = graphir("layers", digits, *SHAPE, "--json").data["layers"]
    assert layers[0] == {
        "name": "data", "layer": "data", "operator": "input", "type": "float32[1, 1, 8, 8]", "dtype": "float32",
        "shape": [1, 1, 8, 8], "parameters": 0, "is_output": False, "sources": ["data"],
    }  # fmt: skip
    assert [layer["name"] for layer in layers if layer["is_output"]] == [layers[-1]["name"]]
    summary = graphir("summary", digits, *SHAPE, "--json").data
    assert sum(layer["parameters"] for layer in layers) == summary["parameters"]
    for layer in layers[1:]:
        assert graphir("shapes", digits, *SHAPE, "--outputs", layer["name"], "-q").code == 0


def test_match(graphir: Command, digits: Path) -> None:
    outcome = graphir("layers", digits, "--match", "*_output", "--match", "input")
    assert "data " in outcome.out
    named = graphir("layers", digits, "--match", "Conv", "--json").data["layers"]
    assert {layer["operator"] for layer in named} == {"Conv"}
    assert graphir("layers", digits, "--match", "nothing*").out.rstrip().endswith("places")


@pytest.mark.parametrize("columns", [48, 60, 80, 200])
def test_names_are_whole_in_every_terminal(
    graphir: Command, terminal: Command, digits: Path, columns: int
) -> None:
    out = bare(terminal(columns, "layers", digits, *SHAPE).out)
    names = [layer["name"] for layer in graphir("layers", digits, *SHAPE, "--json").data["layers"]]
    assert set(names) <= set(out.split())
    assert max(map(len, out.splitlines()[1:])) <= columns


@pytest.mark.parametrize("command", ["check", "layers", "padding", "shapes", "summary"])
def test_commands_take_a_part(graphir: Command, digits: Path, command: str) -> None:
    names = [layer["name"] for layer in graphir("layers", digits, *SHAPE, "--json").data["layers"]]
    part = ("--inputs", names[1], "--outputs", f"{names[3]},{names[4]}")
    assert graphir(command, digits, *part).code == 0
    wrong = graphir(command, digits, "--outputs", f"{names[3]}_")
    assert wrong.code == 1
    assert f"there is {names[3]}" in wrong.err


def test_parts_of_two_models(graphir: Command, digits: Path) -> None:
    first, second = (layer["name"] for layer in graphir("layers", digits, *SHAPE, "--json").data["layers"][2:4])
    same = ("--inputs", first, "--outputs", second, "--other-inputs", first, "--other-outputs", second)
    assert graphir("diff", digits, digits, *SHAPE, *same).code == 0
    assert graphir("diff", digits, digits, *SHAPE, *same[:4]).code == 4


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS or ["models"])
def test_each_place_of_real_models(graphir: Command, shared: Path, name: str) -> None:
    if any(part in name for part in UNREADABLE):
        assert graphir("layers", shared / name).code == 1
        return
    layers = graphir("layers", shared / name, "--json").data["layers"]
    places = [layer for layer in layers if layer["operator"] != "input"]
    assert places
    for place in places[:: max(1, len(places) // 3)]:
        outcome = graphir("layers", shared / name, "--outputs", place["name"], "--json")
        assert (outcome.code, outcome.err) == (0, "")
        (found,) = [layer for layer in outcome.data["layers"] if layer["is_output"]]
        assert found["name"] == place["name"]
