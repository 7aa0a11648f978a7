"""`load` and `save` write what `convert` writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import graphir
from graphir.padding import Explicit, Same
from tests.tensorflow.graphdef import const, node, placeholder
from tests.tensorflow.graphdef import graph_def as messages

F = "float32"


def same(folder: Path) -> Path:
    """A TensorFlow graph of convolutions and poolings with SAME, on sizes that are known."""
    weight = np.arange(3 * 3 * 2 * 2, dtype=np.float32).reshape(3, 3, 2, 2)
    windows = {"strides": (1, 2, 2, 1), "padding": "SAME", "data_format": "NHWC", "T": F}
    path = folder / "same.pb"
    path.write_bytes(
        messages(
            placeholder("x", F, (1, 8, 9, 2)),
            const("w", weight, F),
            node("Conv2D", "conv", ["x", "w"], dilations=(1, 1, 1, 1), **windows),
            node("MaxPool", "pool", ["conv"], ksize=(1, 3, 3, 1), **windows),
        )
    )
    return path


@pytest.mark.parametrize("target", ["onnx", "mxnet", "graphir"])
def test_same_padding(tmp_path: Path, target: str) -> None:
    source = same(tmp_path)
    suffix = {"onnx": ".onnx", "mxnet": "-symbol.json", "graphir": ".graphir.json"}[target]
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    graph = graphir.load(source)
    assert {type(node.op.padding) for node in graph.nodes if hasattr(node.op, "padding")} == {Explicit}
    graphir.save(graph, one / f"m{suffix}")
    report = graphir.convert(source, two / f"m{suffix}")
    assert [path.name for path in sorted(one.iterdir())] == [path.name for path in sorted(two.iterdir())]
    assert all(path.read_bytes() == (two / path.name).read_bytes() for path in one.iterdir())
    assert [made.text for made in graph.decisions] == [made.text for made in report.decisions]
    assert any(made.kind == "explicit padding" for made in report.decisions)


def test_a_format_of_our_own_keeps_same(tmp_path: Path) -> None:
    from graphir.converters.onnx import from_model
    from tests.building import parse_model

    window = 'MaxPool <kernel_shape = [3, 3], auto_pad = "SAME_UPPER", strides = [2, 2]> (x)'
    text = f"g (float[1, 1, 8, 9] x) => (float[N, 1, H, W] y) {{ y = {window} }}"
    graph = from_model(parse_model(text))
    graphir.save(graph, tmp_path / "m.graphir.json")
    (loaded,) = graphir.load(tmp_path / "m.graphir.json").nodes
    assert isinstance(loaded.op.padding, Same)  # type: ignore[attr-defined]
