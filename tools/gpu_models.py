"""Write the networks that benchmarks on a device take, with drawn weights: `python tools/gpu_models.py OUT`.

ResNet-50 (224 x 224), BERT-base (12 layers, 128 words) and an SSD on VGG-16 (300 x 300), as ONNX, without a framework.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from graphir import convert, save
from graphir.converters.mxnet import mx
from models.resnet50 import resnet50

UNITS, HEADS, LAYERS, WORDS, VOCABULARY = 768, 12, 12, 128, 30522
BLOCKS = ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512))
# Channels, kernel, stride and padding of what follows VGG, and the scales of the anchors on each of its maps.
EXTRA = ((1024, 3, 1, 1), (512, 3, 2, 1), (256, 3, 2, 1), (256, 3, 2, 1))
SCALES = (0.1, 0.2, 0.37, 0.54, 0.71, 0.88)
RATIOS, CLASSES = (1.0, 2.0, 0.5), 20


def bert() -> Any:
    """The encoder of BERT-base: words first, then batches, as the interleaved products want it."""
    words = mx.sym.transpose(mx.sym.var("words"), axes=(1, 0))
    positions = mx.sym.var("positions_weight", shape=(WORDS, 1, UNITS))
    value = mx.sym.Embedding(words, input_dim=VOCABULARY, output_dim=UNITS, name="word")
    value = mx.sym.LayerNorm(mx.sym.broadcast_add(value, positions), name="embedded")
    for layer in range(LAYERS):
        name = f"layer{layer}"
        mixed = mx.sym.FullyConnected(value, num_hidden=3 * UNITS, flatten=False, name=f"{name}_qkv")
        scores = mx.sym.contrib.interleaved_matmul_selfatt_qk(mixed, heads=HEADS)
        context = mx.sym.contrib.interleaved_matmul_selfatt_valatt(mixed, mx.sym.softmax(scores), heads=HEADS)
        context = mx.sym.FullyConnected(context, num_hidden=UNITS, flatten=False, name=f"{name}_projection")
        value = mx.sym.LayerNorm(value + context, name=f"{name}_attended")
        hidden = mx.sym.FullyConnected(value, num_hidden=4 * UNITS, flatten=False, name=f"{name}_wide")
        hidden = mx.sym.LeakyReLU(hidden, act_type="gelu", name=f"{name}_gelu")
        hidden = mx.sym.FullyConnected(hidden, num_hidden=UNITS, flatten=False, name=f"{name}_narrow")
        value = mx.sym.LayerNorm(value + hidden, name=f"{name}_out")
    return value


def convolved(value: Any, name: str, channels: int, kernel: int = 3, stride: int = 1, pad: int = 1) -> Any:
    """A convolution and its Relu."""
    sizes = {"kernel": (kernel, kernel), "stride": (stride, stride), "pad": (pad, pad)}
    return mx.sym.relu(mx.sym.Convolution(value, num_filter=channels, name=name, **sizes))


def ssd() -> Any:
    """VGG-16, further maps, and detections from six of them."""
    value, maps = mx.sym.var("data"), []
    for block, (count, channels) in enumerate(BLOCKS):
        for number in range(count):
            value = convolved(value, f"vgg{block}_{number}", channels)
        if block == 3:
            maps.append(value)
        value = mx.sym.Pooling(value, kernel=(2, 2), stride=(2, 2), pool_type="max")
    maps.append(value)
    for number, row in enumerate(EXTRA):
        value = convolved(value, f"extra{number}", *row)
        maps.append(value)
    scores: list[Any] = []
    boxes: list[Any] = []
    anchors = []
    for number, (features, scale) in enumerate(zip(maps, SCALES, strict=True)):
        for parts, name, width in ((scores, "score", CLASSES + 1), (boxes, "box", 4)):
            head = mx.sym.Convolution(
                features, num_filter=len(RATIOS) * width, kernel=(3, 3), pad=(1, 1), name=f"{name}{number}"
            )
            parts.append(mx.sym.Flatten(mx.sym.transpose(head, axes=(0, 2, 3, 1))))
        anchors.append(mx.sym.Reshape(
            mx.sym.contrib.MultiBoxPrior(features, sizes=(scale,), ratios=RATIOS), shape=(1, -1, 4)
        ))  # fmt: skip
    rows = mx.sym.Reshape(mx.sym.concat(*scores, dim=1), shape=(0, -1, CLASSES + 1))
    likely = mx.sym.softmax(mx.sym.transpose(rows, axes=(0, 2, 1)), axis=1)
    return mx.sym.contrib.MultiBoxDetection(
        likely, mx.sym.concat(*boxes, dim=1), mx.sym.concat(*anchors, dim=1), nms_topk=400, name="detections"
    )


def drawn(symbol: Any, **shapes: tuple[int, ...]) -> dict[str, Any]:
    """Weights of a size that keeps activations near 1."""
    generator = np.random.default_rng(0)
    types, _, _ = symbol.infer_shape(**shapes)
    weights = {}
    for name, shape in zip(symbol.list_arguments(), types, strict=True):
        if name not in shapes:
            scale = (2.0 / max(1, int(np.prod(shape[1:])))) ** 0.5 if len(shape) > 1 else 0.0
            array = generator.standard_normal(shape, np.float32) * np.float32(scale)
            weights[f"arg:{name}"] = mx.nd.array(array + np.float32(name.endswith("gamma")))
    return weights


def main() -> None:
    """Write the three files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", metavar="OUT", type=Path)
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    save(resnet50(), folder / "resnet50.onnx")
    for name, symbol, inputs in (("bert", bert(), {"words": (1, WORDS)}), ("ssd", ssd(), {"data": (1, 3, 300, 300)})):
        with tempfile.TemporaryDirectory() as scratch:
            symbol.save(f"{scratch}/{name}-symbol.json")
            mx.nd.save(f"{scratch}/{name}-0000.params", drawn(symbol, **inputs))
            convert(f"{scratch}/{name}-symbol.json", folder / f"{name}.onnx", shapes=inputs)


if __name__ == "__main__":
    main()
