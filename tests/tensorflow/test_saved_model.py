"""SavedModel folders and checkpoints that live TensorFlow writes, and broken ones."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import graphir
from graphir.cli import main
from graphir.converters.tensorflow import load
from graphir.converters.tensorflow.files.bundle import Bundle
from graphir.converters.tensorflow.live.process import LiveTensorFlow
from graphir.errors import FormatError, GraphirError, ImportFailure
from tests.equivalence.test_onnx import distance, run_model
from tests.tensorflow.written import write_models

pytestmark = pytest.mark.live

WRITER = Path(__file__).with_name("saved_models.py")
MODELS = {
    "keras_export": None,
    "tf_save": None,
    "lstm": None,
    "gru": None,
    "gru_before": None,
    "rnn_two_ways": None,
    "masked": None,
    "module": "affine",
    "loop": "power",
    "lookup": "lookup",
    "v1_reference": None,
    "v1_resource": None,
    "checkpoint_reference/model-3.meta": None,
    "checkpoint_resource/model-3.meta": None,
    "sharded/model.meta": None,
}


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The models, written by live TensorFlow."""
    return write_models(WRITER, tmp_path_factory.mktemp("models"))


@pytest.mark.parametrize("name", MODELS)
def test_saved_model_equals_tensorflow(models: Path, name: str) -> None:
    """Ours and live TensorFlow, which gets the variables that we read, equal TensorFlow that loads the model itself."""
    signature = MODELS[name]
    graph = load(models / name, signature=signature)
    graph.check()
    from graphir.converters.onnx import to_model

    path = models / name
    recorded = np.load(path / f"{signature or 'serving_default'}.npz" if path.is_dir() else path.with_suffix(".npz"))
    feeds = {value.name: recorded[f"in/{value.name}"] for value in graph.inputs}
    found = run_model(to_model(graph, opset=18), feeds)
    live = LiveTensorFlow(path, [value.name for value in graph.outputs], sys.executable, signature)
    expected = live.run(feeds)
    live.close()
    assert expected
    for value, (output, wanted) in zip(found, expected.items(), strict=True):
        own = recorded[f"out/{output}"]
        assert value.shape == wanted.shape == own.shape, output
        assert distance(value, own) <= 2e-5, output
        assert distance(wanted, own) <= 1e-6, output


def test_inputs_and_outputs_have_the_signature_s_names(models: Path) -> None:
    graph = load(models / "module", signature="affine")
    assert [value.name for value in graph.inputs] == ["x"]
    assert sorted(value.name for value in graph.outputs) == ["shifted", "y"]


def test_weights_are_views_of_the_checkpoint(models: Path) -> None:
    graph = load(models / "v1_reference", simplified=False)
    regions = [value.tensor.region for value in graph.parameters if value.tensor is not None and value.tensor.size > 8]
    assert regions
    assert all(region is not None and region.path.endswith(".data-00000-of-00001") for region in regions)


def test_partitioned_variable_is_put_together(models: Path) -> None:
    bundle = Bundle(models / "v1_reference" / "variables" / "variables")
    whole = bundle.tensor("part").numpy()
    parts = [bundle.tensor("part", text).numpy() for text in ("10 3 0,4:0,3", "10 3 4,3:0,3", "10 3 7,3:0,3")]
    assert whole.shape == (10, 3)
    np.testing.assert_array_equal(whole, np.concatenate(parts))
    np.testing.assert_array_equal(bundle.tensor("part", "10 3 2,4:-").numpy(), whole[2:6])


def test_texts_are_read(models: Path) -> None:
    texts = Bundle(models / "texts").tensor("texts").numpy()
    assert texts.tolist() == [["one", ""], ["three", "vier \u00e4"]]


def test_several_shards_are_read(models: Path) -> None:
    bundle = Bundle(models / "sharded" / "model")
    assert bundle.shards == 2
    assert {bundle.tensor(name).shape for name in bundle.names} == {(4, 3), (3,)}
    assert len(bundle.files) == 3


def test_a_choice_of_signatures_is_listed(models: Path) -> None:
    with pytest.raises(ImportFailure, match=r"2 signatures.*--signature.*\n  affine: \(x\) -> .*\n  total: \(x\)"):
        load(models / "module")
    with pytest.raises(ImportFailure, match=r"no signature 'other'; there are: affine, total"):
        load(models / "module", signature="other")


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["module"], 1, "choose one"),
        (["module", "--signature", "affine"], 0, "(TensorFlow SavedModel)"),
        (["module", "--signature", "affine", "--verify", "--against", "live"], 0, "in a child process"),
        (["keras_export", "--verify", "--against", "reference"], 5, "the imported graph was the reference"),
    ],
)
def test_convert_on_the_command_line(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, text: str
) -> None:
    target = tmp_path / "model.onnx"
    assert main(["convert", str(models / arguments[0]), str(target), *arguments[1:]]) == code
    printed = capsys.readouterr()
    assert text in printed.out + printed.err
    assert target.exists() == (code != 1)


def _cut(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


def _flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 0x40
    path.write_bytes(bytes(data))


INDEX, DATA = "variables/variables.index", "variables/variables.data-00000-of-00001"
BROKEN = [
    ("index-gone", lambda folder: (folder / INDEX).unlink(), ImportFailure, "variables.index"),
    ("data-gone", lambda folder: (folder / DATA).unlink(), ImportFailure, "wants 1 data file"),
    ("index-empty", lambda folder: _cut(folder / INDEX, 0), FormatError, "empty"),
    ("index-short", lambda folder: _cut(folder / INDEX, 20), FormatError, "less than its footer"),
    ("index-cut", lambda folder: _cut(folder / INDEX, 100), FormatError, "cut short"),
    ("index-damaged", lambda folder: _flip(folder / INDEX, 10), FormatError, "checksum"),
    ("data-cut", lambda folder: _cut(folder / DATA, 30), FormatError, "cut short"),
    ("graph-cut", lambda folder: _cut(folder / "saved_model.pb", 2000), FormatError, "cut short"),
    ("no-variables", lambda folder: shutil.rmtree(folder / "variables"), ImportFailure, "variables.index"),
]


@pytest.mark.parametrize(("harm", "error", "text"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_broken_folder_is_refused(
    models: Path, tmp_path: Path, harm: object, error: type[GraphirError], text: str
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(models / "keras_export", folder)
    assert callable(harm)
    harm(folder)
    with pytest.raises(error, match=text) as raised:
        graphir.load(folder)
    if error is FormatError:
        assert "byte" in str(raised.value) or "empty" in str(raised.value)
    assert main(["summary", str(folder)]) == 1


def test_checkpoint_of_another_model_is_refused(models: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(models / "v1_reference", folder)
    shutil.rmtree(folder / "variables")
    shutil.copytree(models / "v1_other" / "variables", folder / "variables")
    with pytest.raises(ImportFailure, match="belongs to another model"):
        graphir.load(folder)
