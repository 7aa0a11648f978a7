"""What users look up after an import: TensorFlow's names on values and nodes, and every layer equal under its name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import graphir
from graphir.converters.tensorflow import load
from tests.tensorflow.graphdef import const, graph_def, node, placeholder

FLOAT = {"T": "float32"}
RANDOM = np.random.default_rng(3)


def weights(name: str, *shape: int) -> dict[str, object]:
    return const(name, RANDOM.normal(size=shape).astype(np.float32))


def conv(name: str, data: str, filters: str) -> dict[str, object]:
    return node("Conv2D", name, [data, filters], strides=[1, 1, 1, 1], padding="SAME", **FLOAT)


def norm(name: str, data: str) -> list[dict[str, object]]:
    """A batch normalization as Keras writes it out."""
    return [
        weights(f"{name}/scale", 6), weights(f"{name}/offset", 6),
        node("Mul", f"{name}/mul", [data, f"{name}/scale"], **FLOAT),
        node("AddV2", f"{name}/add", [f"{name}/mul", f"{name}/offset"], **FLOAT),
    ]  # fmt: skip


# Sizes, channels and batch are all 6: what stands channels first looks like what stands channels last.
IMAGES = [
    placeholder("x", "float32", (6, 6, 6, 3)), weights("a/w", 3, 3, 3, 6), weights("a/b", 6),
    conv("a/conv", "x", "a/w"), node("BiasAdd", "a/bias", ["a/conv", "a/b"], **FLOAT),
    node("Relu", "a/relu", ["a/bias"], **FLOAT),
    node("MaxPool", "pool", ["a/relu"], ksize=[1, 3, 3, 1], strides=[1, 1, 1, 1], padding="SAME", **FLOAT),
    weights("c/w", 3, 3, 6, 6), conv("c/conv", "pool", "c/w"), *norm("c/norm", "c/conv"),
    weights("d/w", 3, 3, 6, 6), weights("d/b", 6), conv("d/conv", "c/norm/add", "d/w"),
    node("BiasAdd", "d/bias", ["d/conv", "d/b"], **FLOAT),
]  # fmt: skip
DENSE = [
    placeholder("x", "float32", (3, 4)), weights("w", 4, 6), weights("b", 6), weights("v", 6, 5), weights("u", 5),
    node("MatMul", "fc", ["x", "w"], **FLOAT), node("BiasAdd", "fc/bias", ["fc", "b"], **FLOAT),
    node("Tanh", "act", ["fc/bias"], **FLOAT), node("MatMul", "head", ["act", "v"], **FLOAT),
    node("BiasAdd", "head/bias", ["head", "u"], **FLOAT), node("Sigmoid", "head/sigmoid", ["head/bias"], **FLOAT),
]  # fmt: skip
FIRST = [
    placeholder("x", "float32", (2, 3, 5, 6)), weights("w", 3, 3, 3, 6), weights("b", 6),
    node("Conv2D", "conv", ["x", "w"], strides=[1, 1, 1, 1], padding="VALID", data_format="NCHW", **FLOAT),
    node("BiasAdd", "bias", ["conv", "b"], data_format="NCHW", **FLOAT), node("Relu", "relu", ["bias"], **FLOAT),
]  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "names"),
    [
        (IMAGES, ["a/conv__to_nchw", "a/conv", "a/relu", "pool", "c/conv", "d/conv__nchw", "d/conv"]),
        (DENSE, ["fc", "act", "head", "head/sigmoid"]),
        (FIRST, ["conv", "relu"]),
    ],
)
def test_layers_keep_their_names(nodes: list[dict[str, object]], names: list[str]) -> None:
    graph = load(graph_def(*nodes))
    assert [node.name for node in graph.nodes] == names


@pytest.mark.parametrize(
    ("nodes", "names"),
    [
        (IMAGES, ["a/bias", "a/relu", "pool", "c/norm/add", "d/bias"]),
        (DENSE, ["fc/bias", "act", "head/bias", "head/sigmoid"]),
        (FIRST, ["bias", "relu"]),
    ],
)
def test_results_keep_their_names_and_nothing_else_has_them(nodes: list[dict[str, object]], names: list[str]) -> None:
    graph = load(graph_def(*nodes))
    sources = {value.name: value.sources for value in graph.values if value.producer is not None and value.sources}
    assert {name: sources[name] for name in names} == {name: (f"{name}:0",) for name in names}
    assert {source for held in sources.values() for source in held} == {f"{name}:0" for name in names}


@pytest.mark.live
@pytest.mark.usefixtures("live_tensorflow")
@pytest.mark.parametrize("nodes", [IMAGES, DENSE, FIRST])
def test_every_layer_equals_tensorflow(tmp_path: Path, nodes: list[dict[str, object]]) -> None:
    (tmp_path / "frozen.pb").write_bytes(graph_def(*nodes))
    report = graphir.convert(tmp_path / "frozen.pb", tmp_path / "out.onnx", verify=True, per_layer=True, against="live")
    assert report.verification is not None
    assert [str(layer) for layer in report.verification.layers if not layer.verdict.passes] == []
    assert report.verification.ok
    assert len(report.verification.layers) >= 2


def test_outputs_keep_their_names() -> None:
    graph = load(graph_def(*IMAGES), outputs=["pool:0", "a/relu", "d/bias"])
    assert [value.name for value in graph.outputs] == ["pool", "a/relu", "d/bias"]
