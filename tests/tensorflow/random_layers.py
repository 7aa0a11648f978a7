"""Layers with random attributes, by the rank of what they are called on; rows of `random_keras`."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Draw = random.Random
Make = Callable[[Draw, "Layers", Any], Any]


class Layers(NamedTuple):
    """Keras's layers, and Keras itself."""

    layers: Any
    keras: Any


ACTIVATIONS = (
    None, "relu", "tanh", "sigmoid", "elu", "selu", "softplus", "softsign", "swish", "gelu", "hard_sigmoid", "relu6",
    "exponential", "linear", "softmax",
)  # fmt: skip
CURVES = (None, "relu", "tanh", "sigmoid", "elu", "softsign", "hard_sigmoid", "linear", "softplus")
GATES = ("sigmoid", "sigmoid", "hard_sigmoid", "tanh", "softsign")


def sizes(value: Any) -> tuple[int | None, ...]:
    """The sizes behind the batch."""
    return tuple(value.shape)[1:]


def some(r: Draw, rank: int, least: int, most: int) -> int | tuple[int, ...]:
    """One number for all axes, or one for each."""
    return r.randint(least, most) if r.random() < 0.5 else tuple(r.randint(least, most) for _ in range(rank))


def even(r: Draw, least: int, most: int) -> int:
    """One number, for layers that take the same for all axes."""
    return r.randint(least, most)


def flag(r: Draw) -> bool:
    """Yes or no."""
    return r.random() < 0.5


def _first(r: Draw) -> str:
    return "channels_first" if r.random() < 0.2 else "channels_last"


def _channels(value: Any, layout: str) -> int:
    channels = sizes(value)[0 if layout == "channels_first" else -1]
    if channels is None:
        raise ValueError("the number of channels is open, which Keras refuses as well")
    return int(channels)


def _groups(r: Draw, channels: int) -> int:
    return r.choice([number for number in (1, 1, 2, 3) if channels % number == 0])


def conv(rank: int) -> Make:
    """A convolution."""

    def make(r: Draw, k: Layers, x: Any) -> Any:
        layout, strided = _first(r), flag(r)
        groups = 1 if r.random() < 0.6 else _groups(r, _channels(x, layout))
        paddings = ("same", "valid", "causal") if rank == 1 and layout == "channels_last" else ("same", "valid")
        return getattr(k.layers, f"Conv{rank}D")(
            groups * r.randint(1, 4), some(r, rank, 1, 4), strides=some(r, rank, 1, 3) if strided else 1,
            dilation_rate=1 if strided else some(r, rank, 1, 2), padding=r.choice(paddings), groups=groups,
            data_format=layout, use_bias=flag(r), activation=r.choice(ACTIVATIONS),
        )(x)  # fmt: skip

    return make


def transposed(rank: int) -> Make:
    """A transposed convolution."""

    def make(r: Draw, k: Layers, x: Any) -> Any:
        strides = r.randint(1, 3)
        extra = {"output_padding": r.randint(0, strides - 1)} if strides > 1 and r.random() < 0.3 else {}
        return getattr(k.layers, f"Conv{rank}DTranspose")(
            r.randint(1, 4), some(r, rank, 1, 4), strides=strides, padding=r.choice(("same", "valid")),
            use_bias=flag(r), activation=r.choice(ACTIVATIONS), **extra,
        )(x)  # fmt: skip

    return make


def depthwise(rank: int) -> Make:
    """A depthwise convolution."""

    def make(r: Draw, k: Layers, x: Any) -> Any:
        strides = even(r, 1, 3)
        return getattr(k.layers, f"DepthwiseConv{rank}D")(
            some(r, rank, 1, 4), strides=strides, dilation_rate=1 if strides > 1 else even(r, 1, 2),
            depth_multiplier=r.randint(1, 3), padding=r.choice(("same", "valid")), use_bias=flag(r),
            activation=r.choice(ACTIVATIONS),
        )(x)  # fmt: skip

    return make


def separable(rank: int) -> Make:
    """A separable convolution."""

    def make(r: Draw, k: Layers, x: Any) -> Any:
        strides = even(r, 1, 2)
        return getattr(k.layers, f"SeparableConv{rank}D")(
            r.randint(1, 4), some(r, rank, 1, 4), strides=strides, dilation_rate=1 if strides > 1 else even(r, 1, 2),
            depth_multiplier=r.randint(1, 2), padding=r.choice(("same", "valid")), use_bias=flag(r),
            activation=r.choice(ACTIVATIONS),
        )(x)  # fmt: skip

    return make


def pool(rank: int) -> Make:
    """A pooling."""

    def make(r: Draw, k: Layers, x: Any) -> Any:
        return getattr(k.layers, f"{r.choice(('Max', 'Average'))}Pooling{rank}D")(
            some(r, rank, 1, 4), strides=None if flag(r) else some(r, rank, 1, 3), padding=r.choice(("same", "valid")),
            data_format=_first(r),
        )(x)  # fmt: skip

    return make


def pool_all(rank: int) -> Make:
    """A pooling over everything."""
    return lambda r, k, x: getattr(k.layers, f"Global{r.choice(('Max', 'Average'))}Pooling{rank}D")(
        data_format=_first(r), keepdims=flag(r)
    )(x)


def pad(rank: int) -> Make:
    """Zeros around, or a part."""

    def make(r: Draw, k: Layers, x: Any) -> Any:
        kind = r.choice(("ZeroPadding", "Cropping"))
        pairs = tuple((r.randint(0, 2), r.randint(0, 2)) for _ in range(rank))
        more = {} if rank == 1 else {"data_format": _first(r)}
        return getattr(k.layers, f"{kind}{rank}D")(pairs[0] if rank == 1 else pairs, **more)(x)

    return make


def upsample(rank: int) -> Make:
    """More of everything."""

    def make(r: Draw, k: Layers, x: Any) -> Any:
        more: dict[str, Any] = {} if rank == 1 else {"data_format": _first(r)}
        if rank == 2:
            more["interpolation"] = r.choice(("nearest", "bilinear"))
        return getattr(k.layers, f"UpSampling{rank}D")(r.randint(1, 3) if rank == 1 else some(r, rank, 1, 3), **more)(x)

    return make


def dense(r: Draw, k: Layers, x: Any) -> Any:
    """A product."""
    return k.layers.Dense(r.randint(1, 7), activation=r.choice(ACTIVATIONS), use_bias=flag(r))(x)


def activation(r: Draw, k: Layers, x: Any) -> Any:
    """A function of each element, or a softmax."""
    made = [
        lambda: k.layers.Activation(r.choice(ACTIVATIONS[1:])),
        lambda: k.layers.LeakyReLU(r.choice((0.1, 0.3))),
        lambda: k.layers.ELU(r.choice((0.5, 1.0))),
        lambda: k.layers.PReLU(shared_axes=list(range(1, len(sizes(x)))) or None),
        lambda: k.layers.ReLU(r.choice((None, 0.8)), r.choice((0.0, 0.2)), r.choice((0.0, 0.1))),
        lambda: k.layers.Softmax(r.choice([-1, *range(1, len(sizes(x)) + 1)])),
        lambda: k.layers.Rescaling(0.5, r.choice((0.0, -0.3))),
        lambda: k.layers.Dropout(0.3),
        lambda: k.layers.GaussianNoise(0.3),
    ]
    return r.choice(made)()(x)


def normalize(r: Draw, k: Layers, x: Any) -> Any:
    """A normalization."""
    rank = len(sizes(x))
    axis = r.choice([-1, -1, *range(1, rank + 1)])
    made = [
        lambda: k.layers.BatchNormalization(
            axis=axis, epsilon=r.choice((1e-3, 0.1)), center=flag(r), scale=flag(r), momentum=0.8
        ),
        lambda: k.layers.LayerNormalization(
            axis=r.choice([-1, axis, list(range(1, rank + 1))]), epsilon=0.01, center=flag(r), scale=flag(r)
        ),
        lambda: k.layers.UnitNormalization(axis=axis),
        lambda: k.layers.GroupNormalization(
            groups=r.choice((-1, 1, 2)), axis=-1, epsilon=0.01, center=flag(r), scale=flag(r)
        ),
    ]
    return r.choice(made)()(x)


def reshape(r: Draw, k: Layers, x: Any) -> Any:
    """Another shape, or another order."""
    shape = sizes(x)
    rank = len(shape)
    made = [
        lambda: k.layers.Flatten(data_format=_first(r)),
        lambda: k.layers.Permute(tuple(r.sample(range(1, rank + 1), rank))),
        lambda: k.layers.Reshape(r.choice(((-1,), (-1, 1), (1, -1), (1, *shape), (-1, shape[-1]))))
        if None not in shape else k.layers.Reshape((-1, shape[-1])),
    ]
    return r.choice(made)()(x)


def recurrent(r: Draw, k: Layers, x: Any) -> Any:
    """A recurrent layer, of one direction or both."""
    kind = r.choice(("LSTM", "GRU", "SimpleRNN"))
    more: dict[str, Any] = {"return_sequences": flag(r), "return_state": r.random() < 0.4, "use_bias": r.random() < 0.8}
    if kind != "SimpleRNN" and flag(r):
        more["recurrent_activation"] = r.choice(GATES)
    if flag(r):
        more["activation"] = r.choice(CURVES)
    if kind == "GRU":
        more["reset_after"] = flag(r)
    if kind == "LSTM":
        more["unit_forget_bias"] = flag(r)
    if sizes(x)[0] is not None and r.random() < 0.2:
        more["unroll"] = True
    units = r.randint(1, 5)
    if r.random() < 0.3:
        merge = r.choice(("concat", "sum", "mul", "ave", "concat"))
        return k.layers.Bidirectional(getattr(k.layers, kind)(units, **more), merge_mode=merge)(x)
    return getattr(k.layers, kind)(units, go_backwards=flag(r), **more)(x)


def begun(r: Draw, k: Layers, x: Any) -> Any:
    """A recurrent layer that begins with another one's states."""
    kind, units = r.choice(("LSTM", "GRU", "SimpleRNN")), r.randint(1, 5)
    layer = getattr(k.layers, kind)
    _, *states = layer(units, return_state=True, go_backwards=flag(r))(x)
    more: dict[str, Any] = {"return_sequences": flag(r), "return_state": flag(r), "go_backwards": flag(r)}
    return layer(units, **more)(x, initial_state=states if len(states) > 1 else states[0])


def cells(r: Draw, k: Layers, x: Any) -> Any:
    """Cells in one loop."""
    drawn = [getattr(k.layers, f"{r.choice(('LSTM', 'GRU', 'SimpleRNN'))}Cell")(r.randint(1, 4)) for _ in range(2)]
    more: dict[str, Any] = {"return_sequences": flag(r), "go_backwards": flag(r)}
    return k.layers.RNN(drawn if flag(r) else drawn[0], **more)(x)


def attention(r: Draw, k: Layers, x: Any) -> Any:
    """What a sequence says of itself."""
    made = [
        lambda: k.layers.Attention(use_scale=flag(r))([x, x]),
        lambda: k.layers.AdditiveAttention(use_scale=flag(r))([x, x]),
        lambda: k.layers.MultiHeadAttention(r.randint(1, 3), r.randint(1, 4), use_bias=flag(r))(x, x),
        lambda: k.layers.MultiHeadAttention(2, 3, value_dim=2)(x, x, return_attention_scores=True),
    ]
    return r.choice(made)()


def masking(r: Draw, k: Layers, x: Any) -> Any:
    """Steps of zeros masked."""
    return k.layers.Masking(0.0)(x)


def each_step(r: Draw, k: Layers, x: Any) -> Any:
    """A layer on each step."""
    inner: Callable[[], Any] = {
        2: lambda: k.layers.Dense(r.randint(1, 4), activation=r.choice(ACTIVATIONS)),
        3: lambda: r.choice((k.layers.LSTM, k.layers.GRU))(r.randint(1, 3), return_sequences=flag(r)),
        4: lambda: k.layers.Conv2D(r.randint(1, 3), 2, padding=r.choice(("same", "valid"))),
    }[len(sizes(x))]
    return k.layers.TimeDistributed(inner())(x)


def sliced(r: Draw, k: Layers, x: Any) -> Any:
    """A part, by indexing."""
    size = sizes(x)[0]
    if size is None:
        return r.choice((lambda: x[:, -1], lambda: x[:, 1:], lambda: x[:, ::-1]))()
    place = r.randint(-size, size - 1)
    return r.choice((lambda: x[:, place], lambda: x[:, ::2], lambda: x[:, place:], lambda: x[..., 0]))()


def arithmetic(r: Draw, k: Layers, x: Any) -> Any:
    """Arithmetic with a number."""
    number = r.choice((0.5, 2.0, -1.5))
    return r.choice((lambda: x + number, lambda: number - x, lambda: x * number, lambda: x / number, lambda: -x))()


def repeat(r: Draw, k: Layers, x: Any) -> Any:
    """A vector at each of several steps."""
    return k.layers.RepeatVector(r.randint(1, 5))(x)


def twice(r: Draw, k: Layers, x: Any) -> Any:
    """A layer that is called twice."""
    layer = k.layers.Dense(sizes(x)[-1], activation=r.choice(ACTIVATIONS))
    return layer(layer(x))


def _merged(name: str) -> Make:
    return lambda r, k, values: getattr(k.layers, name)()(values)


def concatenate(r: Draw, k: Layers, values: Any) -> Any:
    """One behind the other."""
    return k.layers.Concatenate(axis=r.choice([-1, *range(1, len(sizes(values[0])) + 1)]))(values)


def dot(r: Draw, k: Layers, values: Any) -> Any:
    """Products along an axis."""
    return k.layers.Dot(axes=r.choice(range(1, len(sizes(values[0])) + 1)), normalize=flag(r))(values[:2])


def attend(r: Draw, k: Layers, values: Any) -> Any:
    """What one sequence says of another."""
    return k.layers.Attention()(values[:2])


def subtract(r: Draw, k: Layers, values: Any) -> Any:
    """A difference."""
    return k.layers.Subtract()(values[:2])


ANY: Mapping[str, Make] = {"dense": dense, "activation": activation, "normalize": normalize, "reshape": reshape,
                           "arithmetic": arithmetic, "sliced": sliced, "twice": twice}  # fmt: skip


def _spatial(rank: int) -> dict[str, Make]:
    made = {"conv": conv, "transposed": transposed, "pool": pool, "pool-all": pool_all, "pad": pad,
            "upsample": upsample}  # fmt: skip
    if rank < 3:
        made |= {"depthwise": depthwise, "separable": separable}
    return {name: make(rank) for name, make in made.items()}


BY_RANK: Mapping[int, Mapping[str, Make]] = {
    2: {**ANY, "repeat": repeat},
    3: {
        **ANY, **_spatial(1), "recurrent": recurrent, "recurrent-again": recurrent, "begun": begun, "cells": cells,
        "attention": attention, "masking": masking, "each-step": each_step,
    },
    4: {**ANY, **_spatial(2), "each-step": each_step},
    5: {**ANY, **_spatial(3), "each-step": each_step},
}  # fmt: skip
MERGE: Mapping[str, Make] = {
    **{name: _merged(name) for name in ("Add", "Multiply", "Average", "Maximum", "Minimum")},
    "subtract": subtract, "concatenate": concatenate, "dot": dot, "attend": attend,
}  # fmt: skip
EMBED: tuple[Callable[[Draw, Layers], Any], ...] = (
    lambda r, k: k.layers.Embedding(5, r.randint(1, 5), mask_zero=True),
    lambda r, k: k.layers.Embedding(6, r.randint(1, 5)),
)
