"""The symbol-API classics and gluon's whole vision zoo, random weights: equal to live MXNet, outputs and shapes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from graphir.converters.mxnet.importing.heads import dropped_heads
from graphir.converters.mxnet.reference.evaluate import ancestors, entry_names
from graphir.converters.mxnet.source import open_source
from tests.models import capture, symbols
from tests.models.judge import LIMIT, import_model, relative, run_onnx, shapes_by_source

PLAIN = tuple(name for name, classic in symbols.CLASSICS.items() if not classic.needs_onednn)
RECURRENT = tuple(name for name, classic in symbols.CLASSICS.items() if classic.needs_onednn)
# Networks of one family have the same operators with the same attributes; they differ in depth and width.
FAMILIES = {
    "resnet_v1 of two": ("resnet18_v1", "resnet34_v1"),
    "resnet_v1 of three": ("resnet50_v1", "resnet101_v1", "resnet152_v1"),
    "resnet_v2 of two": ("resnet18_v2", "resnet34_v2"),
    "resnet_v2 of three": ("resnet50_v2", "resnet101_v2", "resnet152_v2"),
    "vgg": ("vgg11", "vgg13", "vgg16", "vgg19"),
    "vgg_bn": ("vgg11_bn", "vgg13_bn", "vgg16_bn", "vgg19_bn"),
    "alexnet": ("alexnet",),
    "densenet": ("densenet121", "densenet161", "densenet169", "densenet201"),
    "squeezenet1.0": ("squeezenet1.0",),
    "squeezenet1.1": ("squeezenet1.1",),
    "inceptionv3": ("inceptionv3",),
    "mobilenet": ("mobilenet1.0", "mobilenet0.75", "mobilenet0.5", "mobilenet0.25"),
    "mobilenetv2": ("mobilenetv2_1.0", "mobilenetv2_0.75", "mobilenetv2_0.5", "mobilenetv2_0.25"),
}
ZOO = tuple((family, name) for family, names in FAMILIES.items() for name in names)


def judge_folder(folder: Path, capfd: Any) -> None:
    """Convert the captured model and compare outputs, the values before the heads, and every internal shape."""
    facts = json.loads((folder / "shapes.json").read_text())
    data = {name: tuple(shape) for name, shape in facts["data"].items()}
    with np.load(folder / "golden.npz") as archive:
        golden = {name: archive[name] for name in archive.files}
    feeds = {key.split(":", 1)[1]: array for key, array in golden.items() if key.startswith(("input:", "zero_input:"))}
    graph = import_model(folder / "model-symbol.json", folder / "model-0000.params", data)
    graph.check()
    by_source = {name: value for value in graph.values if value.producer is not None for name in value.sources}
    expected = {key.split(":", 2)[2]: array for key, array in golden.items() if key.startswith("output:")}
    outputs = [value.name for value in graph.outputs]
    before = {
        key.split(":", 2)[2]: array
        for key, array in golden.items()
        if key.startswith("before:") and key.split(":", 2)[2] in by_source
    }
    graph.set_outputs(
        [*graph.outputs, *(by_source[name] for name in before if by_source[name] not in graph.outputs)]
    )
    found = run_onnx(graph, folder, 17, feeds, capfd)
    assert set(outputs) <= set(expected)
    errors = {name: relative(found[name], expected[name]) for name in outputs}
    errors |= {name: relative(found[by_source[name].name], array) for name, array in before.items()}
    assert max(errors.values()) <= LIMIT, errors
    judge_shapes(folder, data, facts)


def judge_shapes(folder: Path, data: dict[str, tuple[int, ...]], facts: dict[str, Any]) -> None:
    """Every internal shape that inference computes, from the data's shapes alone, equal to MXNet's."""
    source = open_source(folder / "model-symbol.json")
    source.tensors = None
    symbol = source.symbol
    dropped = dropped_heads(symbol)
    read = ancestors(symbol, [head for place, head in enumerate(symbol.heads) if place not in dropped])
    wanted = {name for (index, _), name in entry_names(symbol).items() if index in read}
    found = shapes_by_source(source.to_graph(data, simplified=False))
    expected = {name: tuple(shape) for name, shape in facts["internals"].items() if name in wanted}
    assert {name: found.get(name) for name in expected} == expected


@pytest.mark.live
@pytest.mark.one_of(8)
@pytest.mark.parametrize("name", PLAIN)
def test_classics_equal_live_mxnet(mxnet: ModuleType, name: str, tmp_path: Path, capfd: Any) -> None:
    capture.capture(mxnet, name, tmp_path)
    judge_folder(tmp_path / name, capfd)
    shutil.rmtree(tmp_path / name)


@pytest.mark.live
@pytest.mark.one_of(8)
@pytest.mark.parametrize(("family", "name"), ZOO, ids=[name for _, name in ZOO])
def test_zoo_equals_live_mxnet(mxnet: ModuleType, family: str, name: str, tmp_path: Path, capfd: Any) -> None:
    from tests.models import zoo

    zoo.capture_zoo(name, tmp_path)
    judge_folder(tmp_path / name, capfd)
    shutil.rmtree(tmp_path / name)


@pytest.fixture(scope="module")
def recurrent(mxnet: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The networks whose fused operator needs oneDNN, which is chosen once a process."""
    folder = tmp_path_factory.mktemp("recurrent")
    subprocess.run(
        [sys.executable, "-m", "tests.models.capture", str(folder), *RECURRENT],
        check=True,
        capture_output=True,
        cwd=Path(__file__).resolve().parents[2],
        env={**os.environ, **capture.environment(onednn=True)},
    )
    return folder


@pytest.mark.live
@pytest.mark.parametrize("name", RECURRENT)
def test_recurrent_classics_equal_live_mxnet(recurrent: Path, name: str, capfd: Any) -> None:
    judge_folder(recurrent / name, capfd)


@pytest.mark.live
def test_zoo_is_complete(mxnet: ModuleType) -> None:
    from tests.models import zoo

    assert set(zoo.zoo_names(mxnet)) == {name for _, name in ZOO}
