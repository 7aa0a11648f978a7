"""The networks of models/ against Keras, with the same seeded weights, through ONNX and through MXNet."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir import Session, infer_types
from graphir.converters.mxnet import to_symbol
from graphir.passes.explicit_padding import make_padding_explicit
from models.efficientnet import efficientnet_b0
from models.inception_resnet_v2 import inception_resnet_v2
from models.layers import seeded, stored
from models.mobilenet import mobilenet, mobilenet_v2
from models.resnet50 import resnet50
from tests.equivalence.live import Live
from tests.models.keras_networks import image, keras_model
from tests.typed import present

BUILDERS = {
    "MobileNet": mobilenet,
    "MobileNetV2": mobilenet_v2,
    "EfficientNetB0": efficientnet_b0,
    "ResNet50": resnet50,
    "InceptionResNetV2": inception_resnet_v2,
}
SIZES = {"InceptionResNetV2": (299, 203)}


CASES = [(name, size) for name in BUILDERS for size in SIZES.get(name, (224, 203))]


@pytest.mark.live
@pytest.mark.parametrize(("name", "size"), CASES)
def test_the_built_network_is_keras(keras: ModuleType, name: str, size: int) -> None:
    x = image(size)
    wanted = keras_model(keras, name, size)(x, training=False).numpy()
    graph = BUILDERS[name](seeded(1), size=size)
    make_padding_explicit(graph)
    fed = np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    (found,) = Session(graph).run({graph.inputs[0].name: fed}).values()
    scale = np.abs(wanted).max()
    assert np.abs(found - wanted).max() <= 1e-4 * scale
    assert np.abs(wanted - wanted.mean()).max() > 1e-3 * scale


@pytest.mark.live
@pytest.mark.parametrize("name", BUILDERS)
def test_the_built_network_runs_in_mxnet(mxnet: ModuleType, name: str) -> None:
    size = 107
    graph = BUILDERS[name](seeded(1), size=size)
    x = np.random.default_rng(5).uniform(-1, 1, (1, 3, size, size)).astype(np.float32)
    (wanted,) = Session(graph).run({graph.inputs[0].name: x}).values()
    make_padding_explicit(graph)
    symbol, params = to_symbol(graph)
    arrays = {key.partition(":")[2]: array for key, array in params.items()} | {graph.inputs[0].name: x}
    with Live(onednn=True) as live:
        (found,) = live.run(symbol, arrays).values()
    assert np.abs(found - wanted).max() <= 1e-4 * np.abs(wanted).max()


@pytest.mark.parametrize("name", BUILDERS)
def test_open_sizes_stay_open(name: str) -> None:
    graph = BUILDERS[name](size="S", batch="N")
    types = infer_types(graph, {graph.inputs[0].name: ("N", 3, 107, 107)})
    assert str(types[graph.outputs[0].name]) == "float32[N, 1000]"
    assert str(graph.outputs[0].type) == "float32[N, 1000]"


def test_inception_resnet_v2_is_the_golden_one(shared: Path) -> None:
    golden = json.loads((shared / "golden" / "inception_resnet_v2.json").read_text())["keras"]
    arrays = {}
    for index, (name, shape) in enumerate(golden["weights_order"]):
        arrays[name.partition(":")[0]] = seeding_rule(name.partition(":")[0], tuple(shape), 1000 + index)
    graph = inception_resnet_v2(stored(arrays))
    x = np.random.RandomState(7).randn(1, 299, 299, 3).astype(np.float32).transpose(0, 3, 1, 2)
    (found,) = Session(graph).run({"input_1": np.ascontiguousarray(x)}).values()
    np.testing.assert_allclose(found[0], golden["predictions"], atol=1e-4 * max(golden["predictions"]))
    count = sum(present(value.tensor).size for value in graph.parameters if value.name in arrays)
    assert count == golden["total_params"]


def seeding_rule(name: str, shape: tuple[int, ...], seed: int) -> NDArray[Any]:
    """Weights as the golden file's own rule makes them."""
    random = np.random.RandomState(seed)
    if name.endswith("kernel"):
        array = random.randn(*shape) * np.sqrt(2 / np.prod(shape[:-1]))
    elif name.endswith("moving_variance"):
        array = random.uniform(0.5, 1.5, shape)
    else:
        array = 0.1 * random.randn(*shape)
    return array.astype(np.float32)
