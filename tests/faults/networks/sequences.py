"""Recurrent networks and transformers."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto

from tests.faults.builder import Builder, Feeds, Generator, Network, normal

INT32, INT64 = TensorProto.INT32, TensorProto.INT64


def lstm(seed: int) -> onnx.ModelProto:
    """A bidirectional LSTM with initial states and lengths of the sequences, a second one with peepholes."""
    net = Builder("lstm", seed)
    x = net.input("frames", "T", "N", 6)
    lengths = net.input("lengths", "N", kind=INT32)
    h, c = net.input("hidden", 2, "N", 5), net.input("cell", 2, "N", 5)
    x = net.op(
        "LSTM", x, net.normal("l0_w", 2, 20, 6, scale=0.5), net.normal("l0_r", 2, 20, 5, scale=0.5),
        net.normal("l0_b", 2, 40, scale=0.3), lengths, h, c, name="lstm0", results=3, hidden_size=5,
        direction="bidirectional",
    )  # fmt: skip
    x = net.op(
        "Reshape", net.op("Transpose", x, name="merge0", perm=[0, 2, 1, 3]), net.const("merged", [0, 0, 10]),
        name="rows0",
    )  # fmt: skip
    net.op(
        "LSTM", x, net.normal("l1_w", 1, 24, 10, scale=0.5), net.normal("l1_r", 1, 24, 6, scale=0.5),
        net.normal("l1_b", 1, 48, scale=0.3), lengths, "", "", net.normal("l1_p", 1, 18, scale=0.5), name="lstm1",
        results=3, hidden_size=6,
    )  # fmt: skip
    last = net.op("Squeeze", "lstm1_out1", net.const("directions", [0]), name="last_state")
    net.output(net.op("Tanh", net.dense(last, 6, 4), name="tanh0"), "N", 4)
    net.output("lstm1_out2", 1, "N", 6)
    return net.build()


def gru(seed: int) -> onnx.ModelProto:
    """An embedding, a GRU of Keras' kind and one in reverse, a plain RNN, a classifier for each word."""
    net = Builder("gru", seed)
    x = net.op("Gather", net.normal("table", 17, 6, scale=1.0), net.input("words", "N", "T", kind=INT64), name="embed0")
    x = net.op("Transpose", x, name="time_first", perm=[1, 0, 2])
    for number, (size, inside, reset, direction) in enumerate(((5, 6, 1, "forward"), (5, 5, 0, "reverse"))):
        x = net.op(
            "GRU", x, net.normal(f"g{number}_w", 1, 3 * size, inside, scale=0.6),
            net.normal(f"g{number}_r", 1, 3 * size, size, scale=0.6),
            net.normal(f"g{number}_b", 1, 6 * size, scale=0.4),
            name=f"gru{number}", results=2, hidden_size=size, linear_before_reset=reset, direction=direction,
        )  # fmt: skip
        x = net.op("Squeeze", x, net.const(f"direction{number}", [1]), name=f"squeeze{number}")
    x = net.op(
        "RNN", x, net.normal("r_w", 1, 5, 5, scale=0.6), net.normal("r_r", 1, 5, 5, scale=0.6),
        net.normal("r_b", 1, 10, scale=0.4), name="rnn0", results=2, hidden_size=5,
    )  # fmt: skip
    x = net.op(
        "Transpose", net.op("Squeeze", x, net.const("direction2", [1]), name="squeeze2"), name="batch_first",
        perm=[1, 0, 2],
    )  # fmt: skip
    net.output(net.op("LogSoftmax", net.linear(x, 5, 17), name="words_out", axis=-1), "N", "T", 17)
    return net.build()


def tagger(seed: int) -> onnx.ModelProto:
    """An LSTM over five steps, no more and no less, that is fed nothing but these; a label for each step."""
    net = Builder("tagger", seed)
    x = net.input("steps", 5, "N", 4)
    x = net.op(
        "LSTM", x, net.normal("l0_w", 1, 24, 4, scale=0.6), net.normal("l0_r", 1, 24, 6, scale=0.6),
        net.normal("l0_b", 1, 48, scale=0.3), name="lstm0", results=3, hidden_size=6,
    )  # fmt: skip
    x = net.op("Transpose", net.op("Squeeze", x, net.const("direction0", [1]), name="squeeze0"), name="batch_first",
               perm=[1, 0, 2])  # fmt: skip
    x = net.op("LeakyRelu", net.linear(x, 6, 8), name="leaky0", alpha=0.05)
    net.output(net.op("Softmax", net.linear(x, 8, 3), name="labels", axis=-1), "N", 5, 3)
    return net.build()


def attention(net: Builder, x: str, prefix: str, mask: str, width: int = 12, heads: int = 2) -> str:
    """Scaled dot-product attention over (N, T, width); `mask` is added to the scores."""
    split = net.const(f"{prefix}_split", [0, 0, heads, width // heads])
    parts = []
    for part, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])):
        rows = net.op("Reshape", net.linear(x, width, width), split, name=f"{prefix}_{part}_rows")
        parts.append(net.op("Transpose", rows, name=f"{prefix}_{part}_heads", perm=order))
    scores = net.op("MatMul", parts[0], parts[1], name=f"{prefix}_scores")
    scores = net.op(
        "Mul", scores, net.const(f"{prefix}_scale", float((width // heads) ** -0.5)), name=f"{prefix}_scaled"
    )
    scores = net.op("Add", scores, mask, name=f"{prefix}_masked")
    weights = net.op("Softmax", scores, name=f"{prefix}_softmax", axis=-1)
    x = net.op("MatMul", weights, parts[2], name=f"{prefix}_mixed")
    x = net.op("Transpose", x, name=f"{prefix}_back", perm=[0, 2, 1, 3])
    x = net.op("Reshape", x, net.const(f"{prefix}_join", [0, 0, width]), name=f"{prefix}_joined")
    return net.linear(x, width, width)


def layer_norm(net: Builder, x: str, name: str, width: int = 12) -> str:
    """LayerNormalization as one operator."""
    return net.op(
        "LayerNormalization", x, net.positive(f"{name}_gamma", width), net.normal(f"{name}_beta", width, scale=0.3),
        name=name, axis=-1, epsilon=1e-3,
    )  # fmt: skip


def layer_norm_by_parts(net: Builder, x: str, name: str, width: int = 12) -> str:
    """LayerNormalization as Torch exported it before opset 17."""
    centred = net.op("Sub", x, net.op("ReduceMean", x, name=f"{name}_mean", axes=[-1]), name=f"{name}_centred")
    square = net.op("Pow", centred, net.const(f"{name}_two", 2.0), name=f"{name}_square")
    variance = net.op("ReduceMean", square, name=f"{name}_variance", axes=[-1])
    shifted = net.op("Add", variance, net.const(f"{name}_eps", 1e-3), name=f"{name}_shifted")
    scaled = net.op("Div", centred, net.op("Sqrt", shifted, name=f"{name}_sqrt"), name=f"{name}_div")
    scaled = net.op("Mul", scaled, net.positive(f"{name}_gamma", width), name=f"{name}_mul")
    return net.op("Add", scaled, net.normal(f"{name}_beta", width, scale=0.3), name=f"{name}_add")


def gelu(net: Builder, x: str, name: str) -> str:
    """x / 2 * (1 + erf(x / sqrt 2)), by parts (Hendrycks and Gimpel 2016)."""
    inner = net.op("Div", x, net.const(f"{name}_root", float(np.sqrt(2.0))), name=f"{name}_div")
    inner = net.op("Add", net.op("Erf", inner, name=f"{name}_erf"), net.const(f"{name}_one", 1.0), name=f"{name}_add")
    return net.op(
        "Mul", net.op("Mul", x, inner, name=f"{name}_mul"), net.const(f"{name}_half", 0.5), name=f"{name}_mul2"
    )


def gelu_tanh(net: Builder, x: str, name: str) -> str:
    """The approximation by tanh, by parts."""
    cube = net.op("Pow", x, net.const(f"{name}_three", 3.0), name=f"{name}_cube")
    small = net.op("Mul", cube, net.const(f"{name}_c", 0.044715), name=f"{name}_small")
    inner = net.op(
        "Mul", net.op("Add", x, small, name=f"{name}_sum"), net.const(f"{name}_root", float(np.sqrt(2 / np.pi))),
        name=f"{name}_arg",
    )  # fmt: skip
    inner = net.op("Add", net.op("Tanh", inner, name=f"{name}_tanh"), net.const(f"{name}_one", 1.0), name=f"{name}_add")
    return net.op(
        "Mul", net.op("Mul", x, inner, name=f"{name}_mul"), net.const(f"{name}_half", 0.5), name=f"{name}_mul2"
    )


def transformer(seed: int) -> onnx.ModelProto:
    """Two encoder blocks over real frames, a causal mask computed from the length, GELU of both kinds."""
    net = Builder("transformer", seed)
    frames = net.input("frames", "N", "T", 7)
    x = net.linear(frames, 7, 12)
    length = net.op("Gather", net.op("Shape", frames, name="shape0"), net.const("one", 1), name="length0")
    steps = net.op("Range", net.const("start", 0), length, net.const("stride", 1), name="range0")
    rows = net.op("Unsqueeze", steps, net.const("last", [1]), name="rows0")
    seen = net.op("LessOrEqual", steps, rows, name="causal0")
    mask = net.op("Where", seen, net.const("kept", 0.0), net.const("hidden", -1e9), name="mask0")
    x = layer_norm(net, net.op("Add", x, attention(net, x, "att0", mask), name="residual0"), "norm0")
    inner = net.linear(gelu(net, net.linear(x, 12, 24), "gelu0"), 24, 12)
    x = layer_norm_by_parts(net, net.op("Add", x, inner, name="residual1"), "norm1")
    x = layer_norm(net, net.op("Add", x, attention(net, x, "att1", mask), name="residual2"), "norm2")
    inner = net.linear(gelu_tanh(net, net.linear(x, 12, 24), "gelu1"), 24, 12)
    x = net.op("Add", x, inner, name="residual3")
    net.output(net.linear(x, 12, 5), "N", "T", 5)
    return net.build()


def bert(seed: int) -> onnx.ModelProto:
    """Integer inputs only: words, segments, a mask; one block, a pooled output and one for each word."""
    net = Builder("bert", seed)
    words, segments = (net.input(name, "N", "T", kind=INT64) for name in ("words", "segments"))
    mask = net.input("mask", "N", "T", kind=INT64)
    length = net.op(
        "Slice", net.op("Shape", words, name="shape0"), net.const("from1", [1]), net.const("to2", [2]), name="length0"
    )
    places = net.op(
        "Slice", net.normal("place_table", 16, 12, scale=0.5), net.const("from0", [0]), length, name="places0"
    )
    x = net.op("Gather", net.normal("word_table", 23, 12, scale=0.7), words, name="word_embed")
    x = net.op(
        "Add", x, net.op("Gather", net.normal("segment_table", 2, 12, scale=0.5), segments, name="segment_embed"),
        name="embed0",
    )  # fmt: skip
    x = layer_norm(net, net.op("Add", x, places, name="embed1"), "embed_norm")
    wide = net.op(
        "Cast", net.op("Unsqueeze", mask, net.const("axes", [1, 2]), name="mask_rows"), name="mask_real", to=1
    )
    hidden = net.op("Sub", net.const("one", 1.0), wide, name="mask_hidden")
    added = net.op("Mul", hidden, net.const("far", -10000.0), name="mask_added")
    x = layer_norm(net, net.op("Add", x, attention(net, x, "att0", added), name="residual0"), "norm0")
    inner = net.linear(gelu(net, net.linear(x, 12, 24), "gelu0"), 24, 12)
    x = layer_norm(net, net.op("Add", x, inner, name="residual1"), "norm1")
    first = net.op("Gather", x, net.const("first_word", 0), name="first0", axis=1)
    net.output(net.op("Tanh", net.dense(first, 12, 12), name="pooled"), "N", 12)
    net.output(net.op("Softmax", net.linear(x, 12, 3), name="tags", axis=-1), "N", "T", 3)
    return net.build()


def draw_lstm(generator: Generator, batch: int, scale: float) -> Feeds:
    steps = int(generator.choice([4, 7]))
    return {
        "frames": normal(generator, scale, steps, batch, 6),
        "lengths": generator.integers(1, steps + 1, batch).astype(np.int32),
        "hidden": normal(generator, 0.5, 2, batch, 5),
        "cell": normal(generator, 0.5, 2, batch, 5),
    }


def draw_tagger(generator: Generator, batch: int, scale: float) -> Feeds:
    return {"steps": normal(generator, scale, 5, batch, 4)}


def draw_gru(generator: Generator, batch: int, scale: float) -> Feeds:
    return {"words": generator.integers(0, 17, (batch, int(generator.choice([5, 8]))))}


def draw_transformer(generator: Generator, batch: int, scale: float) -> Feeds:
    return {"frames": normal(generator, scale, batch, int(generator.choice([5, 9])), 7)}


def draw_bert(generator: Generator, batch: int, scale: float) -> Feeds:
    steps = int(generator.choice([6, 11]))
    mask = (np.arange(steps) < generator.integers(2, steps + 1, batch)[:, None]).astype(np.int64)
    return {
        "words": generator.integers(0, 23, (batch, steps)),
        "segments": generator.integers(0, 2, (batch, steps)),
        "mask": mask,
    }


NETWORKS = (
    Network("lstm", "LSTM", lstm, draw_lstm),
    Network("tagger", "LSTM of a known length", tagger, draw_tagger),
    Network("gru", "GRU", gru, draw_gru),
    Network("transformer", "transformer", transformer, draw_transformer),
    Network("bert", "integer inputs", bert, draw_bert),
)

__all__ = ["NETWORKS"]
