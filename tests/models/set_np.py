"""Networks of MXNet 1.9.1 under `npx.set_np()`, as gluon exports them.

    python -m tests.models.set_np OUT

writes OUT/NAME-symbol.json, OUT/NAME-0000.params and OUT/NAME-golden.npz (inputs by name, output0, ...) for the
networks of gluon's zoo that 1.9.1 builds so (all of them with GRAPHIR_ALL_ZOO=1), and for a BERT and a mixed network
written by hand.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tests.equivalence.live import import_mxnet

SMALL = ("mobilenet0.25", "resnet18_v1", "resnet18_v2")
LARGE = ("alexnet", "resnet34_v1", "resnet50_v2", "vgg11", "vgg11_bn") if os.environ.get("GRAPHIR_ALL_ZOO") else ()
ZOO = (*SMALL, *LARGE)
OWN = ("bert", "mixed")
# Sizes that leave every pooling something to pool.
SIZES = {"alexnet": 64, "vgg11": 32, "vgg11_bn": 32}


def own_networks(mxnet: Any) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Networks by name, each with its inputs in order."""
    from mxnet.gluon import HybridBlock, nn

    class Encoder(HybridBlock):  # type: ignore[misc]
        def __init__(self, units: int, heads: int) -> None:
            super().__init__()
            self.heads = heads
            self.query, self.key, self.value, self.out = (nn.Dense(units, flatten=False) for _ in range(4))
            self.norm, self.last = nn.LayerNorm(epsilon=1e-12), nn.LayerNorm(epsilon=1e-12)
            self.wide, self.narrow = nn.Dense(2 * units, flatten=False), nn.Dense(units, flatten=False)
            self.gelu = nn.GELU()

        def hybrid_forward(self, F: Any, x: Any, mask: Any) -> Any:
            parts = (F.npx.reshape(each(x), (-2, -2, self.heads, -1)) for each in (self.query, self.key, self.value))
            query, key, value = (F.np.transpose(each, (0, 2, 1, 3)) for each in parts)
            scores = F.np.matmul(query, F.np.swapaxes(key, 2, 3)) / 2.0
            scores = F.np.where(F.np.expand_dims(mask, 1), scores, F.np.ones_like(scores) * -1e18)
            context = F.np.transpose(F.np.matmul(F.npx.softmax(scores, axis=-1), value), (0, 2, 1, 3))
            x = self.norm(x + self.out(F.npx.reshape(context, (-2, -2, -1))))
            return self.last(x + self.narrow(self.gelu(self.wide(x))))

    class Bert(HybridBlock):  # type: ignore[misc]
        def __init__(self, units: int) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(19, units), nn.Embedding(12, units)
            self.first, self.second = Encoder(units, 2), Encoder(units, 2)
            self.pooler = nn.Dense(units, activation="tanh", flatten=False)

        def hybrid_forward(self, F: Any, tokens: Any, lengths: Any) -> Any:
            steps = F.npx.arange_like(tokens, axis=1)
            x = self.words(tokens) + F.np.expand_dims(self.places(steps), 0)
            mask = F.np.expand_dims(F.np.expand_dims(steps, 0) < F.np.expand_dims(lengths, 1), 1)
            x = self.second(self.first(x, mask), mask)
            first = F.np.squeeze(F.npx.slice(x, begin=(None, 0), end=(None, 1)), axis=1)
            return F.npx.sequence_mask(x, lengths, use_sequence_length=True, axis=1), self.pooler(first)

    class Mixed(HybridBlock):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.dense = nn.Conv2D(4, 3, padding=1), nn.Dense(6)

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            x = F.np.maximum(self.conv(x), 0.1 * self.conv(F.np.flip(x, 3)))
            mean, spread = x.mean(axis=(2, 3), keepdims=True), F.np.std(x, axis=(2, 3), keepdims=True)
            x = (x - mean) / (spread + 1e-5)
            left, right = F.np.split(x, 2, axis=1)
            joined = F.np.concatenate([left, F.np.tanh(right), F.np.abs(left) ** 0.5], axis=1)
            scores = self.dense(F.np.pad(joined, ((0, 0), (0, 0), (1, 0), (0, 2))))
            return F.np.where(scores > 0, scores, F.np.expm1(scores)), F.np.argmax(scores, axis=1)

    draw = np.random.Generator(np.random.PCG64(5))
    tokens = mxnet.np.array(draw.integers(0, 19, (2, 6)), dtype="float32")
    lengths = mxnet.np.array([6, 3], dtype="float32")
    image = mxnet.np.array(draw.standard_normal((2, 3, 9, 7)).astype(np.float32))
    return {"bert": (Bert(8), {"data0": tokens, "data1": lengths}), "mixed": (Mixed(), {"data": image})}


def main(folder: Path) -> None:
    """Export and run every network."""
    mxnet = import_mxnet()
    mxnet.npx.set_np()
    from mxnet.gluon.model_zoo import vision

    networks = own_networks(mxnet)
    draw = np.random.Generator(np.random.PCG64(6))
    for name in ZOO:
        size = SIZES.get(name, 32)
        image = draw.standard_normal((2, 3, size, size)).astype(np.float32)
        networks[name] = vision.get_model(name, classes=7), {"data": mxnet.np.array(image)}
    for name, (net, inputs) in networks.items():
        mxnet.random.seed(1)
        net.initialize(mxnet.init.Xavier(magnitude=2.5))
        net.hybridize()
        found = net(*inputs.values())
        net.export(str(folder / name))
        results = found if isinstance(found, (list, tuple)) else [found]
        arrays = {key: value.asnumpy() for key, value in inputs.items()}
        arrays |= {f"output{place}": result.asnumpy() for place, result in enumerate(results)}
        np.savez(folder / f"{name}-golden.npz", **arrays)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
