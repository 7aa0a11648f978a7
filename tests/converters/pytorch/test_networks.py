"""Whole networks as modules: the same numbers from one file for several batches, text that is as a person writes it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

import graphir
from graphir.converters.pytorch import to_module
from graphir.graph import Graph
from models.efficientnet import efficientnet_b0
from models.inception_resnet_v2 import inception_resnet_v2
from models.mobilenet import mobilenet, mobilenet_v2
from models.resnet50 import resnet50
from tests.converters.pytorch.running import need_torch, run_session, to_numpy, to_torch, written_class
from tests.requirements import shared_folder

pytestmark = pytest.mark.live
DIGITS = Path(__file__).parents[3] / "models" / "digits"
NETWORKS: dict[str, Callable[[], Graph]] = {
    "digits": lambda: loaded(DIGITS),
    "gluon digits": lambda: loaded(DIGITS / "gluon"),
    "resnet50": lambda: resnet50(batch="N", size=64),
    "mobilenet": lambda: mobilenet(batch="N", size=64),
    "mobilenet v2": lambda: mobilenet_v2(batch="N", size=64),
    "efficientnet": lambda: efficientnet_b0(batch="N", size=64),
    "inception-resnet": lambda: inception_resnet_v2(batch="N", size=107),
}


def loaded(path: Path) -> Graph:
    graph = graphir.load(path)
    assert isinstance(graph, Graph)
    return graph


@pytest.mark.parametrize("make", NETWORKS.values(), ids=NETWORKS)
def test_a_network_gives_what_onnxruntime_gives_for_every_batch(make: Callable[[], Graph], tmp_path: Path) -> None:
    need_torch()
    import torch

    graph = without_softmax(make())
    net, text = written_class(graph)
    (given,) = graph.inputs
    for batch in (1, 3):
        shape = [batch, *(dim if isinstance(dim, int) else 33 for dim in (given.shape or ())[1:])]
        feed = np.random.default_rng(batch).standard_normal(shape).astype(np.float32)
        with torch.no_grad():
            found = to_numpy(net(to_torch(feed)))
        expected = run_session(graph, {given.name: feed})[0]
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5 * float(np.abs(expected).max()))
    readable(text, tmp_path)
    open_batch = ({0: torch.export.Dim("batch")},)
    exported = torch.export.export(net, (to_torch(feed),), dynamic_shapes=open_batch)
    again = to_numpy(exported.module()(to_torch(feed[:2])))
    np.testing.assert_allclose(again, found[:2], rtol=0, atol=2e-5 * float(np.abs(expected).max()))


def without_softmax(graph: Graph) -> Graph:
    """The network up to its scores, which show more than what a softmax leaves of them."""
    last = graph.outputs[0].producer
    if last is not None and last.op.name == "Softmax" and last.inputs[0] is not None:
        graph.set_outputs([last.inputs[0]])
    return graph


def readable(text: str, folder: Path) -> None:
    """What a reader may expect of every file: its lines, and that ruff leaves it as it is."""
    assert max(map(len, text.splitlines())) <= 120
    assert longest_method(text) <= 60
    (folder / "net.py").write_text(text, encoding="ascii")
    for words in (["check"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *words, "--isolated", "net.py"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def longest_method(text: str) -> int:
    """Return the lines of the longest `forward`, or of one of its parts."""
    classes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    methods = [node for each in classes for node in each.body if isinstance(node, ast.FunctionDef)]
    return max((node.end_lineno or 0) - node.lineno + 1 for node in methods if node.name != "__init__")


def test_a_resnet_is_a_page_with_one_block() -> None:
    need_torch()
    _, text = written_class(resnet50(batch="N", size=64))
    assert len(text.splitlines()) <= 100
    assert text.count("\nclass ") == 2
    assert "            Block(64, 64, 256, project=True),\n            Block(256, 64, 256),\n" in text


LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


@pytest.mark.one_of(8)
@pytest.mark.parametrize("path", sorted(LIGHT.glob("*.onnx")), ids=lambda path: path.stem)
def test_networks_whose_weights_are_computed(path: Path, tmp_path: Path) -> None:
    """onnx's light models fill their weights in the graph: hundreds of values that are made before they are read."""
    need_torch()
    readable(to_module(loaded(path)).text("a test"), tmp_path)


MODELS = (shared_folder() or Path("-")) / "models"
# A build of somebody's own, a file without opsets.
NOT_IMPORTED = {"bmxnet-mnist-32", "mms-mnist"}
REAL = sorted(path for kind in ("mxnet", "onnx") for path in (MODELS / kind).glob("*"))


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_models(path: Path, tmp_path: Path) -> None:
    """Files of other people's: each is written and readable, but for those that are named here."""
    need_torch()
    model = next(path.glob("*.onnx"), path)
    if path.name in NOT_IMPORTED:
        with pytest.raises(graphir.GraphirError):
            loaded(model)
    else:
        readable(written_class(loaded(model))[1], tmp_path)
