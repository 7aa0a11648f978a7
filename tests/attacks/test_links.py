"""Links in a model's folder that lead out of it, pipes and folders in place of its files: refused, not read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx.helper
import onnx.numpy_helper
import pytest

import graphir
from graphir.converters.mxnet.files.params import write_params
from graphir.errors import FormatError, GraphirError
from graphir.files.paths import resolve_beside
from tests.building import make_model
from tests.tensorflow.written import write_models

LARGE = np.arange(1000, dtype=np.float32)
SYMBOL = """{"nodes": [{"op": "null", "name": "data", "inputs": []}, {"op": "null", "name": "w", "inputs": []},
{"op": "broadcast_add", "name": "sum", "inputs": [[0, 0, 0], [1, 0, 0]]}],
"arg_nodes": [0, 1], "heads": [[2, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}"""


def onnx_model(folder: Path) -> Path:
    """A sum with 4 KB of external data."""
    node = onnx.helper.make_node("Add", ["x", "w"], ["y"])
    model = make_model([node], {"x": [1000]}, {"y": [1000]}, {"w": LARGE})
    onnx.save(model, folder / "m.onnx", save_as_external_data=True, location="weights", size_threshold=0)
    return folder / "m.onnx"


def graphir_model(folder: Path) -> Path:
    """The same as graphir's own."""
    (folder / "made").mkdir()
    graphir.save(graphir.load(onnx_model(folder / "made")), folder / "m.graphir.json")
    shutil.rmtree(folder / "made")
    os.rename(folder / "m.graphir.safetensors", folder / "weights")
    text = (folder / "m.graphir.json").read_text()
    (folder / "m.graphir.json").write_text(text.replace("m.graphir.safetensors", "weights"))
    return folder / "m.graphir.json"


def mxnet_model(folder: Path) -> Path:
    """The same for MXNet, by its symbol."""
    (folder / "m-symbol.json").write_text(SYMBOL)
    write_params(folder / "m-0000.params", {"arg:w": LARGE})
    return folder / "m-symbol.json"


def mxnet_params(folder: Path) -> Path:
    """By its parameters."""
    mxnet_model(folder)
    return folder / "m-0000.params"


# How each is made, what its other file is called, and what the error calls that.
PAIRS: list[tuple[Callable[[Path], Path], str, str]] = [
    (onnx_model, "weights", "external data at 'weights'"),
    (graphir_model, "weights", "the file of its weights, 'weights',"),
    (mxnet_model, "m-0000.params", "the file of parameters beside it"),
    (mxnet_params, "m-symbol.json", "the symbol beside it"),
]


@pytest.mark.parametrize("make, other, what", PAIRS)
def test_a_link_out_of_the_folder(tmp_path: Path, make: Callable[[Path], Path], other: str, what: str) -> None:
    (tmp_path / "inside").mkdir()
    model = make(tmp_path / "inside")
    os.rename(tmp_path / "inside" / other, tmp_path / "outside")
    (tmp_path / "inside" / other).symlink_to("../outside")
    with pytest.raises(GraphirError, match=f"{what} is a link to .*outside, outside .*inside"):
        graphir.load(model)


@pytest.mark.parametrize("make, other, what", PAIRS)
def test_links_in_the_folder_and_in_a_cache(
    tmp_path: Path, make: Callable[[Path], Path], other: str, what: str
) -> None:
    for folder in ("inside", "names", "blobs"):
        (tmp_path / folder).mkdir()
    model = make(tmp_path / "inside")
    os.rename(tmp_path / "inside" / other, tmp_path / "inside" / "elsewhere")
    (tmp_path / "inside" / other).symlink_to("elsewhere")
    expected = graphir.load(model).parameters[0].tensor
    assert expected is not None
    os.rename(tmp_path / "inside" / "elsewhere", tmp_path / "blobs" / "first")
    os.rename(model, tmp_path / "blobs" / "second")
    (tmp_path / "names" / other).symlink_to("../blobs/first")
    (tmp_path / "names" / model.name).symlink_to("../blobs/second")
    found = graphir.load(tmp_path / "names" / model.name).parameters[0].tensor
    assert found is not None
    np.testing.assert_array_equal(found.numpy(), LARGE)


@pytest.mark.parametrize("location, said", [
    ("../outside", "climbs out"), ("/etc/hosts", "only a path relative"), ("link", "is a link to"),
])  # fmt: skip
@pytest.mark.parametrize("use", [graphir.Session, lambda model: graphir.verify(model, model)], ids=["run", "verify"])
def test_a_file_that_onnxruntime_opens(
    tmp_path: Path, location: str, said: str, use: Callable[[Path], object]
) -> None:
    (tmp_path / "inside").mkdir()
    model = onnx_model(tmp_path / "inside")
    os.rename(tmp_path / "inside" / "weights", tmp_path / "outside")
    (tmp_path / "inside" / "link").symlink_to("../outside")
    held = onnx.load(model, load_external_data=False)
    held.graph.initializer[0].external_data[0].value = location
    model.write_bytes(held.SerializeToString())
    with pytest.raises(FormatError, match=f"tensor w: external data at .*{said}"):
        use(model)


@pytest.mark.parametrize("make, other, what", PAIRS[:3])
@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir], ids=["fifo", "folder"])
def test_what_is_no_file(
    tmp_path: Path, make: Callable[[Path], Path], other: str, what: str, put: Callable[[Path], None]
) -> None:
    model = make(tmp_path)
    (tmp_path / other).unlink()
    put(tmp_path / other)
    with pytest.raises(GraphirError, match=f"{what} is no file"):
        graphir.load(model)


@pytest.mark.parametrize("name", ["../weights", "/weights", "sub/weights", "..", "a\\\\b"])
def test_names_that_lead_out_of_the_folder(tmp_path: Path, name: str) -> None:
    model = graphir_model(tmp_path)
    model.write_text(model.read_text().replace('"weights": "weights"', f'"weights": "{name}"'))
    with pytest.raises(FormatError, match="not a plain file name"):
        graphir.load(model)


def test_a_loop_of_links(tmp_path: Path) -> None:
    model = mxnet_model(tmp_path)
    (tmp_path / "m-0000.params").unlink()
    (tmp_path / "m-0000.params").symlink_to("m-0000.params")
    with pytest.raises(GraphirError):
        graphir.load(model)


def test_parameters_that_the_user_names_may_lie_anywhere(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "elsewhere").mkdir()
    model = mxnet_model(tmp_path / "model")
    os.rename(tmp_path / "model" / "m-0000.params", tmp_path / "elsewhere" / "w.params")
    assert len(graphir.load(model, params=tmp_path / "elsewhere" / "w.params").parameters) == 1


def test_beside_follows_links_of_folders(tmp_path: Path) -> None:
    (tmp_path / "real" / "variables").mkdir(parents=True)
    (tmp_path / "real" / "variables" / "index").touch()
    (tmp_path / "name").symlink_to("real")
    found = resolve_beside(tmp_path / "name" / "model.pb", tmp_path / "name" / "variables" / "index", "index")
    assert found == tmp_path / "real" / "variables" / "index"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SavedModels and checkpoints, written by live TensorFlow."""
    return write_models(Path(__file__).with_name("linked_models.py"), tmp_path_factory.mktemp("saved"))


@pytest.mark.live
@pytest.mark.parametrize("model, moved", [
    ("v1", "variables"), ("v1", "variables/variables.index"), ("v1", "variables/variables.data-00000-of-00001"),
    ("checkpoint/model.meta", "model.index"), ("checkpoint/model.meta", "model.data-00000-of-00001"),
])  # fmt: skip
def test_variables_behind_links(saved: Path, tmp_path: Path, model: str, moved: str) -> None:
    shutil.copytree(saved, tmp_path / "inside")
    folder = tmp_path / "inside" / model.partition("/")[0]
    assert graphir.load(tmp_path / "inside" / model).outputs
    os.rename(folder / moved, tmp_path / "outside")
    (folder / moved).symlink_to(tmp_path / "outside")
    with pytest.raises(FormatError, match=r"the checkpoint's file .* is a link to .*, outside"):
        graphir.load(tmp_path / "inside" / model)
