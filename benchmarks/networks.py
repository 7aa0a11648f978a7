"""Networks of full size with seeded weights, written as MXNet checkpoints without MXNet.

    python benchmarks/networks.py OUT [resnet50 resnet152 vgg16 vgg19 densenet121 bert]

OUT/NAME-symbol.json, NAME-0000.params and NAME-feeds.json are what the other scripts take. The same weights come out
everywhere: each is drawn from PCG64 with a seed that its name gives, and has the scale that keeps activations alive.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from graphir.converters.mxnet import mx
from tests.models.capture import parameter
from tests.models.nets_vision import densenet, resnet_v1, vgg

PICTURE = {"data": (1, 3, 224, 224)}
TOKENS = 128
BERT_INPUTS = {"tokens": (1, TOKENS), "segments": (1, TOKENS), "mask": (1, TOKENS)}


def bert(_: Any, layers: int = 12, units: int = 768, heads: int = 12, words: int = 30522) -> Any:
    """Devlin et al. 2018, BERT-base: the states of the last layer and the pooled first of them, without dropout."""
    sym = mx.sym

    def embedding(name: str, count: int) -> Any:
        numbers = sym.Variable(name, dtype="int32")
        return sym.Embedding(numbers, input_dim=count, output_dim=units, name=f"{name}_embedding")

    def dense(net: Any, size: int, name: str) -> Any:
        return sym.FullyConnected(net, num_hidden=size, flatten=False, name=name)

    def split(net: Any) -> Any:
        """From (batch, tokens, units) to (batch * heads, tokens, units / heads)."""
        net = sym.transpose(sym.reshape(net, shape=(0, 0, heads, -1)), axes=(0, 2, 1, 3))
        return sym.reshape(net, shape=(-3, 0, 0))

    places = sym.Variable("place_embedding", shape=(1, TOKENS, units))
    net = embedding("tokens", words) + embedding("segments", 2)
    net = sym.LayerNorm(sym.broadcast_add(net, places), eps=1e-12, name="embedding_norm")
    hidden = (1 - sym.Variable("mask")) * -10000
    hidden = sym.expand_dims(sym.expand_dims(hidden, axis=1), axis=1)
    for layer in range(layers):
        name = f"layer{layer}"
        query, key, value = (split(dense(net, units, f"{name}_{part}")) for part in ("query", "key", "value"))
        scores = sym.batch_dot(query, key, transpose_b=True, name=f"{name}_scores") / (units / heads) ** 0.5
        scores = sym.broadcast_add(sym.reshape(scores, shape=(-4, -1, heads, -2)), hidden)
        weights = sym.reshape(sym.softmax(scores, axis=-1, name=f"{name}_attention"), shape=(-3, -2))
        seen = sym.reshape(sym.batch_dot(weights, value), shape=(-4, -1, heads, -2))
        seen = sym.reshape(sym.transpose(seen, axes=(0, 2, 1, 3)), shape=(0, 0, -3))
        net = sym.LayerNorm(net + dense(seen, units, f"{name}_projection"), eps=1e-12, name=f"{name}_norm1")
        wide = sym.LeakyReLU(dense(net, 4 * units, f"{name}_wide"), act_type="gelu", name=f"{name}_gelu")
        net = sym.LayerNorm(net + dense(wide, units, f"{name}_narrow"), eps=1e-12, name=f"{name}_norm2")
    first = sym.reshape(sym.slice_axis(net, axis=1, begin=0, end=1), shape=(0, -1))
    return sym.Group([net, sym.Activation(dense(first, units, "pooler"), act_type="tanh", name="pooled")])


NETWORKS: dict[str, tuple[Callable[..., Any], Mapping[str, tuple[int, ...]]]] = {
    "resnet50": (
        partial(resnet_v1, units=(3, 4, 6, 3), filters=(64, 256, 512, 1024, 2048), bottleneck=True), PICTURE
    ),
    "resnet152": (
        partial(resnet_v1, units=(3, 8, 36, 3), filters=(64, 256, 512, 1024, 2048), bottleneck=True), PICTURE
    ),
    "vgg16": (partial(vgg, depth=16), PICTURE),
    "vgg19": (partial(vgg, depth=19), PICTURE),
    "densenet121": (densenet, PICTURE),
    "bert": (bert, BERT_INPUTS),
}  # fmt: skip


def build(name: str, folder: Path) -> None:
    """Write one network's symbol, weights and sizes of inputs."""
    builder, inputs = NETWORKS[name]
    symbol = builder(mx)
    shapes, _, more = symbol.infer_shape(**inputs)
    arguments = dict(zip(symbol.list_arguments(), shapes, strict=True))
    states = dict(zip(symbol.list_auxiliary_states(), more, strict=True))
    held = {key: shape for key, shape in arguments.items() if key not in inputs and not key.endswith("_label")}
    symbol.save(str(folder / f"{name}-symbol.json"))
    mx.nd.save(
        str(folder / f"{name}-0000.params"),
        {
            **{f"arg:{key}": mx.nd.array(parameter(key, shape)) for key, shape in held.items()},
            **{f"aux:{key}": mx.nd.array(parameter(key, shape)) for key, shape in states.items()},
        },
    )
    (folder / f"{name}-feeds.json").write_text(json.dumps({key: list(shape) for key, shape in inputs.items()}))
    size = sum(int(np.prod(shape)) for shape in (*held.values(), *states.values())) * 4
    print(f"{name}: {len(held) + len(states)} weights, {size / 1e6:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description="Networks of full size with seeded weights, as MXNet checkpoints.")
    parser.add_argument("folder", type=Path, metavar="OUT")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which of {', '.join(NETWORKS)}; all of them without")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(NETWORKS))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(NETWORKS)}")
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.names or NETWORKS:
        build(name, options.folder)


if __name__ == "__main__":
    main()
