"""What a model of Keras's own files costs: each weight of the file is counted once, in files written without Keras."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.cli.conftest import Command, graphir  # noqa: F401  (the fixture)

from .keras_files import MODELS, archive, legacy, sequential, weights_file

STATISTICS = {"image": 8}  # a mean and a variance for each of four channels


@pytest.mark.parametrize("title", MODELS)
@pytest.mark.parametrize("suffix", ["keras", "h5"])
def test_every_weight_of_the_file_is_counted(
    title: str, suffix: str, graphir: Command, tmp_path: Path  # noqa: F811
) -> None:
    config, layers = sequential(title)
    path = tmp_path / f"model.{suffix}"
    path.write_bytes(archive(config, weights_file(layers)) if suffix == "keras" else legacy(config, layers))
    expected = sum(math.prod(shape) for _, _, shapes in layers for shape in shapes)
    for command in ("cost", "summary"):
        data = graphir(command, path, "--json").data
        assert data["parameters"] == expected
        assert data["auxiliary_parameters"] == STATISTICS.get(title, 0)


def test_what_a_layer_leaves_out_is_no_weight(graphir: Command, tmp_path: Path) -> None:  # noqa: F811
    """A batch normalization without gamma or beta has no ones or zeros in their places."""
    config, layers = sequential("image")
    norm = layers[1]
    layers[1] = (norm[0], norm[1] | {"scale": False, "center": False}, norm[2][:2])
    config["config"]["layers"][2]["config"] = layers[1][1]
    path = tmp_path / "model.keras"
    path.write_bytes(archive(config, weights_file(layers)))
    data = graphir("cost", path, "--json").data
    assert data["parameters"] == sum(math.prod(shape) for _, _, shapes in layers for shape in shapes)
    assert data["auxiliary_parameters"] == 8
