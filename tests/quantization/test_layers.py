"""Errors of layers that are quantized alone, against models in which only that layer is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from graphir.converters.onnx.files.cut import CutModel
from graphir.quantization.layers import LayerRanking, QuantizedLayer, RelativeError, quantized_layers
from graphir.quantization.run import fewest_kept
from graphir.quantization.samples import Batch

from .networks import rows, two_products


def coarse(path: Path, weight: str) -> CutModel:
    """The model with a weight rounded to few steps behind a pair of rounding nodes."""
    model = onnx.load_model(str(path))
    (tensor,) = (each for each in model.graph.initializer if each.name == weight)
    values = onnx.numpy_helper.to_array(tensor)
    scale = onnx.numpy_helper.from_array(np.asarray(np.abs(values).max() / 3, np.float32), f"{weight}_scale")
    zero = onnx.numpy_helper.from_array(np.asarray(0, np.int8), f"{weight}_zero")
    model.graph.initializer.extend([scale, zero])
    for kind, read, made in (("QuantizeLinear", weight, "q"), ("DequantizeLinear", f"{weight}_q", "dq")):
        node = onnx.helper.make_node(kind, [read, scale.name, zero.name], [f"{weight}_{made}"], name=f"{weight}_{made}")
        model.graph.node.insert(0 if made == "q" else 1, node)
    for node in model.graph.node[2:]:
        for slot, name in enumerate(node.input):
            if name == weight:
                node.input[slot] = f"{weight}_dq"
    return CutModel(model.SerializeToString())


@pytest.mark.parametrize("weight, value", [("w1", "first"), ("w2", "y")])
def test_only_the_layer_that_is_rounded_is_one(tmp_path: Path, weight: str, value: str) -> None:
    path = two_products(tmp_path / "model.onnx")
    reference, quantized = CutModel(path.read_bytes()), coarse(path, weight)
    layers = quantized_layers(reference, quantized)
    assert [layer.value for layer in layers] == [value]
    batch = Batch.write(tmp_path / "batch.npz", {"x": rows(8)}, 8)
    (ranked,) = LayerRanking(reference, quantized, [batch]).rank(layers)
    import onnxruntime

    part, _ = quantized.part({}, reference.outputs)
    (found,), (expected,) = (
        onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(["y"], {"x": rows(8)})
        for model in (part.SerializeToString(), path.read_bytes())
    )
    error = np.linalg.norm(found - expected) / np.linalg.norm(expected)
    assert ranked.caused == pytest.approx(error, rel=1e-2)  # the runtime rounds the operands of such products, too
    assert ranked.caused > 0.05
    assert ranked.own > 0.05
    assert isinstance(ranked, QuantizedLayer)


@pytest.mark.parametrize(
    "expected, found, error",
    [
        ([3.0, 4.0], [3.0, 4.0], 0.0),
        ([3.0, 4.0], [3.0, 4.5], 0.1),
        ([0.0, 0.0], [0.0, 1.0], np.inf),
        ([3.0, 4.0], [3.0, np.nan], np.inf),
        ([3.0, 4.0], [3.0], np.inf),
        ([1, 2, 3, 4], [1, 2, 3, 5], 0.25),
    ],
)
def test_difference(expected: list[float], found: list[float], error: float) -> None:
    difference = RelativeError()
    difference.add(np.asarray(expected), np.asarray(found))
    assert difference.error == pytest.approx(error)


@pytest.mark.parametrize("count", [1, 2, 5, 33])
def test_bisection_finds_the_fewest(count: int) -> None:
    for needed in range(count + 2):
        tried: list[int] = []

        def passes(kept: int, needed: int = needed, tried: list[int] = tried) -> bool:
            tried.append(kept)
            return kept >= needed

        kept = fewest_kept(count, passes)
        assert kept == (needed if needed < count else None)
        assert tried[0] == 0
        assert len(tried) <= 2 + count.bit_length()
