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
    pytest.importorskip("h5py")
    config, layers = sequential(title)
    path = tmp_path / f"model.{suffix}"
    path.write_bytes(archive(config, weights_file(layers)) if suffix == "keras" else legacy(config, layers))
    expected = sum(math.prod(shape) for _, _, shapes in layers for shape in shapes)
    for command in ("cost", "summary"):
        data = graphir(command, path, "--json").data
        assert data["parameters"] == expected
        assert data["auxiliary_parameters"] == STATISTICS.get(title, 0)
