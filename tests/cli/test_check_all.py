"""`graphir check` of several models."""

from __future__ import annotations

from pathlib import Path

from tests.registry import zoo

from .conftest import Command


def fill(folder: Path) -> None:
    """Two good models, two with the same gap, a broken one, one in an archive."""
    zoo.dense(folder / "x", "good")
    zoo.digits(folder / "y", "good")
    for name in ("strange", "odd"):
        zoo.dense(folder, name, "NobodyKnows")
    (folder / "cut.onnx").write_bytes(b"\x08\x07\x12")
    zoo.tar(folder / "packed.tar.gz", zoo.model_files())


def test_a_row_a_model_and_the_gaps_of_all(graphir: Command, tmp_path: Path) -> None:
    fill(tmp_path)
    told = graphir("check", tmp_path, "--json")
    assert told.code == 1
    assert {row["name"]: row["ok"] for row in told.data["models"]} == {
        "cut": False, "odd": False, "packed": True, "strange": False, "x/good": True, "y/good": True
    }  # fmt: skip
    (gap,) = told.data["gaps"]
    assert (gap["operator"], gap["nodes"], gap["models"]) == ("NobodyKnows", 2, ["odd", "strange"])
    text = graphir("check", tmp_path).out
    assert "6 models: 3 convert completely" in text
    assert "NobodyKnows: 2 nodes of 2 models" in text
    assert "cut: " in text.partition("could not be checked:")[2]
    assert "graphir-check-" not in text


def test_several_sources(graphir: Command, tmp_path: Path) -> None:
    fill(tmp_path)
    told = graphir("check", tmp_path / "x", tmp_path / "y" / "good-symbol.json", tmp_path / "y", "--json")
    assert (told.code, len(told.data["models"])) == (0, 2)
    told = graphir("check", f"{tmp_path}/?/*-symbol.json", "--json")
    assert len({row["name"] for row in told.data["models"]}) == 2


def test_limits_are_those_of_each_model(graphir: Command, tmp_path: Path) -> None:
    made = {"op": "_arange", "name": "numbers", "inputs": [], "attrs": {"start": "0", "stop": "900"}}
    for name in ("a", "b"):
        symbol = zoo.dense(tmp_path, name)
        symbol.write_text(str({"nodes": [made], "arg_nodes": [], "heads": [[0, 0, 0]]}).replace("'", '"'))
    assert graphir("check", tmp_path, "--limits", "elements=1000").code == 0
    assert graphir("check", tmp_path, "--limits", "elements=100", "--json").data["models"][0]["error"]


def test_a_folder_with_one_model_right_in_it_is_that_model(graphir: Command, tmp_path: Path) -> None:
    zoo.digits(tmp_path, "m")
    zoo.digits(tmp_path / "below", "m")
    assert graphir("check", tmp_path, "--json").data["source"] == str(tmp_path)
