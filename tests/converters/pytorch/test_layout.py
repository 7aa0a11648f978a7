"""`--layout NCHW`: modules of Keras models that take and give images with channels first, held against TensorFlow."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import graphir
from graphir.cli import main
from graphir.converters.formats import Judge
from graphir.converters.pytorch.exporting.borders import move_borders
from graphir.converters.pytorch.exporting.exporter import export_copy
from graphir.converters.pytorch.live.process import LiveTorch
from graphir.errors import ArgumentError
from graphir.graph import Graph
from graphir.ops.shape import Transpose
from graphir.verification.models import verify_conversion
from graphir.verification.options import ComparisonOptions
from tests.converters.pytorch.running import imported, need_torch, run_keras

pytestmark = pytest.mark.live
DIGITS = Path(__file__).parents[3] / "models" / "digits"
START = "import keras, numpy as np\nfrom keras import layers\nkeras.utils.set_random_seed(0)\n"
# A scaled image of any size, a softmax for each pixel, and an output without pixels.
SEGMENTS = """
image = keras.Input((None, None, 3), name="image")
x = layers.Conv2D(8, 3, strides=2, padding="same")(layers.Rescaling(1 / 127.5, offset=-1)(image))
x = layers.Conv2DTranspose(4, 2, strides=2)(layers.ReLU()(layers.BatchNormalization()(x)))
classes = layers.Conv2D(5, 1, activation="softmax", name="classes")(x)
keras.Model(image, [classes, layers.GlobalMaxPooling2D(name="most")(x)]).save("net.keras")
"""
STEPS = """
steps = keras.Input((7, 3), name="steps")
keras.Model(steps, layers.Dense(4, name="last")(layers.LSTM(5, return_sequences=True)(steps))).save("net.keras")
"""
RESNET = 'keras.applications.ResNet50(weights=None, input_shape=(64, 64, 3), classes=10).save("net.keras")'


def written(program: str, folder: Path, *words: str) -> str:
    """The text of the module of a Keras model, verified."""
    need_torch()
    run_keras(START + program, folder)
    command = ["convert", str(folder / "net.keras"), str(folder / "layout_net.py"), "--layout", "NCHW", "--verify"]
    assert main([*command, *words]) == 0
    return (folder / "layout_net.py").read_text(encoding="ascii")


@pytest.mark.parametrize("words", [(), ("--training",)], ids=["inference", "training"])
def test_no_transpose_is_left_where_both_ends_have_channels_first(words: tuple[str, ...], tmp_path: Path) -> None:
    import torch

    text = written(SEGMENTS, tmp_path, *words)
    assert "permute" not in text
    assert "image: channels come first, as was asked for: it is float32[N, H, W, 3] in the source\n" in text
    assert "\nInput image: float32[N, 3, H, W]\n" in text
    with torch.no_grad():
        classes, most = imported(tmp_path / "layout_net.py").load()(torch.zeros(2, 3, 10, 6))
    assert (classes.shape, most.shape) == ((2, 5, 10, 6), (2, 4))


def test_what_has_no_channels_last_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = written(STEPS, tmp_path)
    assert "channels come first" not in text
    assert main(["convert", str(DIGITS), str(tmp_path / "a.py"), "--layout", "NCHW"]) == 0
    assert main(["convert", str(DIGITS), str(tmp_path / "b.py")]) == 0
    assert (tmp_path / "a.py").read_bytes() == (tmp_path / "b.py").read_bytes()
    assert main(["convert", str(DIGITS), str(tmp_path / "b.onnx"), "--layout", "NCHW"]) == 2
    assert "layout is for PyTorch targets" in capsys.readouterr().err
    with pytest.raises(ArgumentError, match="layout='NHWC': expected 'NCHW'"):
        graphir.convert(DIGITS, tmp_path / "c.py", layout="NHWC")


def test_resnet50_of_keras(tmp_path: Path) -> None:
    text = written(RESNET, tmp_path)
    assert "permute" not in text
    assert "float32[N, 3, 64, 64]" in text


def test_a_wrong_order_of_axes_is_found(tmp_path: Path) -> None:
    """Height and width the wrong way round: the first output that has them differs."""
    need_torch()
    run_keras(START + SEGMENTS, tmp_path)
    source = graphir.load(tmp_path / "net.keras")
    assert isinstance(source, Graph)
    graph, orders = move_borders(source)
    assert orders == dict.fromkeys(("image", "classes"), (0, 3, 1, 2))
    assert not any(isinstance(node.op, Transpose) for node in graph.nodes)
    assert report(graph, source, orders).verdict.passes
    assert report(graph, source, {**orders, "classes": (0, 3, 2, 1)}).verdict.differs


def report(graph: Graph, source: Graph, orders: dict[str, tuple[int, ...]]) -> Any:
    module = export_copy(graph)
    judge = Judge(partial(LiveTorch, module.text("a test"), module, sys.executable, None, orders))
    return verify_conversion([judge], source, source, source, ComparisonOptions(feeds=["normal"]))
