"""keras.applications to ONNX and to MXNet: frozen by TensorFlow at the default size, saved by Keras at an odd one."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
import onnxruntime
import pytest

import graphir
from graphir.analysis.padding_audit import audit_graphs
from graphir.converters.mxnet import to_symbol
from graphir.converters.onnx import to_model
from graphir.converters.table import fixes_of
from tests.equivalence.live import Live
from tests.models.keras_networks import frozen, image, keras_model

# Nodes that tf2onnx 1.17.0 (with TensorFlow 2.15.1, opset 18) makes of the frozen graphs, with the top at the
# default size and of the pooled features at the odd one.
TF2ONNX_NODES = {
    ("MobileNet", 224): 90,
    ("MobileNet", 203): 87,
    ("MobileNetV2", 224): 140,
    ("MobileNetV2", 203): 138,
    ("MobileNetV3Small", 224): 247,
    ("MobileNetV3Small", 203): 238,
    ("MobileNetV3Large", 224): 275,
    ("MobileNetV3Large", 203): 265,
    ("EfficientNetB0", 224): 328,
    ("EfficientNetB0", 203): 325,
    ("Xception", 299): 130,
    ("Xception", 187): 128,
    ("InceptionV3", 299): 217,
    ("InceptionV3", 187): 215,
    ("InceptionResNetV2", 299): 619,
    ("InceptionResNetV2", 187): 617,
    ("ResNet50", 224): 231,
    ("ResNet50", 203): 229,
    ("ResNet50V2", 224): 162,
    ("ResNet50V2", 203): 160,
    ("DenseNet121", 224): 433,
    ("DenseNet121", 203): 431,
    ("NASNetMobile", 224): 669,
    ("NASNetMobile", 203): 667,
}
DEFAULT = (224, 299)


@pytest.mark.live
@pytest.mark.one_of(8)
@pytest.mark.parametrize(("name", "size"), TF2ONNX_NODES, ids=lambda value: str(value))
def test_a_network_is_the_same_in_onnx_and_mxnet(
    keras: ModuleType, mxnet: ModuleType, tmp_path: Path, name: str, size: int
) -> None:
    model = keras_model(keras, name, size, top=size in DEFAULT)
    path = tmp_path / ("frozen.pb" if size in DEFAULT else "saved.keras")
    if size in DEFAULT:
        path.write_bytes(frozen(model, size))
    else:
        model.save(path)
    given = image(size)
    wanted = model(given, training=False).numpy()
    limit = 1e-4 * np.abs(wanted).max()

    graph = graphir.load(path)
    (source,) = graph.inputs
    onnx_model = to_model(graph)
    session = onnxruntime.InferenceSession(onnx_model.SerializeToString(), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {source.name: given})
    assert np.abs(found - wanted).max() <= limit
    assert len(onnx_model.graph.node) <= TF2ONNX_NODES[name, size]
    assert sum(node.op_type == "Transpose" for node in onnx_model.graph.node) == 1

    symbol, params = to_symbol(graph)
    arrays = {key.partition(":")[2]: array for key, array in params.items()} | {source.name: given}
    with Live(onednn=True) as live:
        (computed,) = live.run(symbol, arrays).values()
    assert np.abs(computed - wanted).max() <= limit
    assert sum(node["op"] == "transpose" for node in json.loads(symbol)["nodes"]) == 1


@pytest.mark.live
def test_the_audit_of_the_published_inception_resnet_v2(keras: ModuleType, shared: Path, tmp_path: Path) -> None:
    """keras.applications' own network against the one that apache/mxnet publishes: its defects and nothing else."""
    path = tmp_path / "frozen.pb"
    path.write_bytes(frozen(keras_model(keras, "InceptionResNetV2", 299), 299))
    published = shared / "golden" / "irv2_apache_example_symbol.json"
    other = graphir.load(published, shapes={"data": (1, 3, 299, 299)})
    found = audit_graphs(graphir.load(path), other, fixes_of("mxnet"))
    kinds = Counter(text.kind for pair in found.pairs for text in pair.disagreements)
    assert kinds == {"padding": 40, "filters": 20, "divisor": 1}
    assert len(found.pairs) == 249
