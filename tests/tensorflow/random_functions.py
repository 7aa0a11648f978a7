"""Random functions of TensorFlow: operators with random attributes on what is there, in several dtypes.

Run as a program, with live TensorFlow, it writes each function as a frozen graph and as a SavedModel, with inputs and
outputs by position:
    random_functions.py FOLDER FIRST COUNT
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Draw = random.Random
Make = Callable[[Draw, Any, Any], Any]
OPERATORS_AT_MOST = 9
LARGEST = 3000
FLOATS = ("float32", "float32", "float32", "float64")
INTEGERS = ("int32", "int64")
CURVES = ("abs", "ceil", "cos", "erf", "exp", "floor", "negative", "relu", "rint", "sigmoid", "sign", "sin", "softplus",
          "softsign", "square", "tanh", "elu", "selu", "relu6")  # fmt: skip


def axis_of(r: Draw, x: Any) -> int:
    """An axis, from either end."""
    rank = len(x.shape)
    return r.randint(-rank, rank - 1)


def flag(r: Draw) -> bool:
    """Yes or no."""
    return r.random() < 0.5


def curve(r: Draw, tf: Any, x: Any) -> Any:
    """A function of each element."""
    name = r.choice(CURVES)
    function = next(held for held in (getattr(tf.math, name, None), getattr(tf.nn, name, None)) if held is not None)
    return function(tf.clip_by_value(x, -5.0, 5.0) if name == "exp" else x)


def binary(r: Draw, tf: Any, x: Any) -> Any:
    """Arithmetic with a broadcast part of the same, or a constant."""
    other = tf.reduce_mean(x, axis_of(r, x), keepdims=True) if flag(r) else tf.constant(1.5, x.dtype)
    op = r.choice(("add", "subtract", "multiply", "maximum", "minimum", "squared_difference", "floormod", "floordiv"))
    if op in ("floormod", "floordiv"):
        return getattr(tf.math, op)(x, tf.constant(r.choice((0.75, -1.25, 2.0)), x.dtype))
    return getattr(tf.math, op)(*((x, other) if flag(r) else (other, x)))


def reduced(r: Draw, tf: Any, x: Any) -> Any:
    """A reduction over some axes."""
    rank = len(x.shape)
    axes = r.choice((None, axis_of(r, x), sorted(r.sample(range(rank), r.randint(1, rank)))))
    op = r.choice(("sum", "mean", "max", "min", "prod", "euclidean_norm", "std", "variance", "logsumexp"))
    return getattr(tf.math, f"reduce_{op}")(x, axes, keepdims=flag(r))


def sliced(r: Draw, tf: Any, x: Any) -> Any:
    """A part, with steps, new axes, an ellipsis and negative numbers."""
    parts: list[Any] = []
    for size in x.shape[: r.randint(1, len(x.shape))]:
        parts.append(r.choice((
            slice(None), slice(r.randint(-size, size - 1), None), slice(None, None, r.choice((-1, 2, -2))),
            r.randint(-size, size - 1), slice(None, r.randint(1, size)),
        )))  # fmt: skip
    if flag(r):
        parts.insert(r.randint(0, len(parts)), tf.newaxis)
    if flag(r):
        parts = [Ellipsis, *parts[: len(x.shape) - 1]]
    return x[tuple(parts)]


def gathered(r: Draw, tf: Any, x: Any) -> Any:
    """Elements by numbers."""
    axis = r.randrange(len(x.shape))
    size = int(x.shape[axis])
    indices = tf.constant(np.array([r.randrange(size) for _ in range(4)]).reshape(r.choice(((4,), (2, 2)))), tf.int32)
    return tf.gather(x, indices, axis=axis - (len(x.shape) if flag(r) else 0))


def rearranged(r: Draw, tf: Any, x: Any) -> Any:
    """Another order or shape."""
    rank = len(x.shape)
    size = int(np.prod(x.shape))
    return r.choice((
        lambda: tf.transpose(x, r.sample(range(rank), rank)), lambda: tf.reshape(x, [-1]),
        lambda: tf.reshape(x, [x.shape[0], -1]), lambda: tf.expand_dims(x, axis_of(r, x)),
        lambda: tf.reverse(x, [axis_of(r, x)]), lambda: tf.roll(x, r.randint(-3, 3), axis_of(r, x)),
        lambda: tf.tile(x, [r.randint(1, 2) for _ in range(rank)]) if size < 300 else x,
        lambda: tf.repeat(x, r.randint(1, 3), axis=axis_of(r, x)), lambda: tf.broadcast_to(x, [2, *x.shape]),
    ))()  # fmt: skip


def padded(r: Draw, tf: Any, x: Any) -> Any:
    """More around."""
    mode = r.choice(("CONSTANT", "REFLECT", "SYMMETRIC"))
    most = [2 if mode == "CONSTANT" else min(2, size - (mode == "REFLECT")) for size in x.shape]
    more = {"constant_values": r.choice((0, 3))} if mode == "CONSTANT" else {}
    return tf.pad(x, [[r.randint(0, end), r.randint(0, end)] for end in most], mode, **more)


def joined(r: Draw, tf: Any, x: Any) -> Any:
    """Parts, and together again otherwise."""
    axis = axis_of(r, x)
    size = int(x.shape[axis])
    first = r.randint(0, size)
    parts = tf.split(x, [first, size - first], axis)
    return r.choice((
        lambda: tf.concat([parts[1], parts[0], x], axis), lambda: tf.stack([x, -x], axis_of(r, x)),
        lambda: tf.add_n(tf.unstack(x, axis=axis)),
    ))()  # fmt: skip


def cumulated(r: Draw, tf: Any, x: Any) -> Any:
    """Sums or products so far."""
    op = r.choice((tf.cumsum, tf.math.cumprod))
    return op(tf.clip_by_value(x, -1.5, 1.5), axis_of(r, x), exclusive=flag(r), reverse=flag(r))


def normalized(r: Draw, tf: Any, x: Any) -> Any:
    """Softmax and its like."""
    return r.choice((
        lambda: tf.nn.softmax(x, axis_of(r, x)), lambda: tf.nn.log_softmax(x, axis_of(r, x)),
        lambda: tf.math.l2_normalize(x, axis_of(r, x), 1e-3), lambda: tf.nn.leaky_relu(x, 0.3),
        lambda: tf.clip_by_value(x, -0.5, 0.7), lambda: tf.where(x > 0.2, x, tf.zeros_like(x) - 1.0),
    ))()  # fmt: skip


def ranked(r: Draw, tf: Any, x: Any) -> Any:
    """The largest, or where they are: of numbers that all differ, because TensorFlow takes any of several."""
    noise = np.random.Generator(np.random.PCG64(5)).standard_normal([int(size) for size in x.shape])
    x = x + tf.constant(noise, x.dtype) * 0.1
    return r.choice((
        lambda: tf.math.top_k(x, r.randint(1, int(x.shape[-1])))[0],
        lambda: tf.cast(tf.argmax(x, axis_of(r, x)), x.dtype), lambda: tf.cast(tf.argmin(x, axis_of(r, x)), x.dtype),
        lambda: tf.sort(x, axis_of(r, x), r.choice(("ASCENDING", "DESCENDING"))),
        lambda: tf.cast(tf.math.is_finite(x) & (x < 0.5), x.dtype),
    ))()  # fmt: skip


def product(r: Draw, tf: Any, x: Any) -> Any:
    """A product of matrices."""
    width = int(x.shape[-1])
    weight = tf.constant(np.random.Generator(np.random.PCG64(width)).standard_normal((width, 3)), x.dtype)
    if len(x.shape) > 2 and flag(r):
        return tf.matmul(x, x, transpose_a=True) if flag(r) else tf.matmul(x, x, transpose_b=True)
    if len(x.shape) > 2:
        return tf.tensordot(x, weight, 1)
    return tf.matmul(weight, x, transpose_a=True, transpose_b=True) if flag(r) else x @ weight


def convolved(r: Draw, tf: Any, x: Any) -> Any:
    """A convolution, plain, depthwise or transposed, of images."""
    channels, generator = int(x.shape[-1]), np.random.Generator(np.random.PCG64(r.randint(0, 99)))
    size = [r.randint(1, 3), r.randint(1, 3)]
    padding = r.choice(("SAME", "VALID", [[0, 0], [r.randint(0, 2), 1], [0, r.randint(0, 2)], [0, 0]]))
    strided = flag(r)
    stride, dilation = (r.randint(1, 3), 1) if strided else (1, r.randint(1, 2))
    kind = r.randrange(3)
    if kind == 0:
        weight = tf.constant(generator.standard_normal((*size, channels, 3)), x.dtype)
        return tf.nn.conv2d(x, weight, [stride, r.randint(1, 2) if strided else 1], padding, dilations=dilation)
    if kind == 1:
        weight = tf.constant(generator.standard_normal((*size, channels, 2)), x.dtype)
        plain = padding if isinstance(padding, str) else "SAME"
        return tf.nn.depthwise_conv2d(x, weight, [1, stride, stride, 1], plain, dilations=[dilation, dilation])
    weight = tf.constant(generator.standard_normal((*size, 2, channels)), x.dtype)
    plain = r.choice(("SAME", "VALID"))
    sizes = [int(x.shape[axis]) * stride + (max(size[axis - 1] - stride, 0) if plain == "VALID" else 0)
             for axis in (1, 2)]  # fmt: skip
    return tf.nn.conv2d_transpose(x, weight, [x.shape[0], *sizes, 2], stride, plain)


def pooled(r: Draw, tf: Any, x: Any) -> Any:
    """A pooling, or another grid, of images."""
    size, stride, padding = [r.randint(1, 3), r.randint(1, 3)], r.randint(1, 3), r.choice(("SAME", "VALID"))
    target = [r.randint(1, 9), r.randint(1, 9)]
    v1 = tf.compat.v1.image
    corners = flag(r)
    return r.choice((
        lambda: tf.nn.max_pool2d(x, size, stride, padding), lambda: tf.nn.avg_pool2d(x, size, stride, padding),
        lambda: v1.resize_bilinear(x, target, align_corners=corners, half_pixel_centers=not corners and flag(r)),
        lambda: v1.resize_nearest_neighbor(x, target, align_corners=corners),
        lambda: tf.image.adjust_contrast(x, 0.7), lambda: tf.nn.local_response_normalization(x, 2, 1.0, 0.3, 0.6),
        lambda: tf.space_to_batch(x, [2, 2], [[int(x.shape[1]) % 2, 0], [0, int(x.shape[2]) % 2]]),
        lambda: tf.nn.depth_to_space(tf.concat([x] * 4, -1), 2),
    ))()  # fmt: skip


def whole(r: Draw, tf: Any, x: Any) -> Any:
    """Integers made of floats, computed with, and floats again."""
    held = tf.cast(tf.clip_by_value(x, -9.0, 9.0) * 3.0, r.choice((tf.int32, tf.int64)))
    number = tf.constant(r.choice((2, 3, -4)), held.dtype)
    found = r.choice((
        lambda: held // number, lambda: held % number, lambda: tf.math.truncatediv(held, number),
        lambda: tf.bitwise.bitwise_and(held, number),
        lambda: tf.bitwise.left_shift(tf.abs(held), tf.constant(2, held.dtype)),
        lambda: tf.reduce_max(held, axis_of(r, held)), lambda: tf.abs(held) - number,
        lambda: tf.cast(tf.equal(held, number), held.dtype),
        lambda: tf.one_hot(held % 3, 3, on_value=2, off_value=-1, axis=r.choice((-1, 0)), dtype=held.dtype),
    ))()  # fmt: skip
    return tf.cast(found, x.dtype)


ANY: Sequence[Make] = (
    curve, curve, binary, reduced, sliced, gathered, rearranged, rearranged, padded, joined, cumulated, normalized,
    ranked, whole,
)  # fmt: skip
BY_RANK = {2: (product,), 3: (product,), 4: (convolved, convolved, pooled, pooled)}


def draw_function(seed: int, tf: Any) -> tuple[Callable[..., list[Any]], list[NDArray[Any]]]:
    """The function of that number, and what to call it with."""
    r = random.Random(seed)
    generator = np.random.Generator(np.random.PCG64(seed))
    dtype = r.choice(FLOATS)
    feeds = [
        generator.standard_normal(r.choice(((2, 5, 6, 3), (1, 7, 4, 2), (3, 4, 5), (4, 6), (5,)))).astype(dtype)
        for _ in range(r.choice((1, 2, 3)))
    ]
    steps = r.randint(1, OPERATORS_AT_MOST)

    def function(*given: Any) -> list[Any]:
        drawn = random.Random(seed + 1)
        pool = list(given)
        for _ in range(steps):
            source = drawn.choice(pool) if drawn.random() < 0.3 else pool[-1]
            if not len(source.shape) or 0 in source.shape:
                source = drawn.choice(given)
            if np.prod(source.shape) > LARGEST or len(source.shape) > 5:
                continue
            make = drawn.choice((*ANY, *BY_RANK.get(len(source.shape), ()) * 3))
            try:
                pool.append(make(drawn, tf, source))
            except (ValueError, TypeError):  # attributes that do not fit the shape
                continue
        made = pool[len(given) :] or [tf.identity(given[0])]
        chosen = drawn.sample(made, min(len(made), drawn.choice((1, 2, 3))))
        return [tf.identity(value, name=f"y{place}") for place, value in enumerate(chosen)]

    return function, feeds


def write(folder: Path, seed: int) -> str:
    """One function; says why there is none."""
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    function, feeds = draw_function(seed, tf)
    specs = [tf.TensorSpec(held.shape, held.dtype, f"x{place}") for place, held in enumerate(feeds)]
    try:
        traced = tf.function(function).get_concrete_function(*specs)
        frozen = convert_variables_to_constants_v2(traced, lower_control_flow=False)
        found = [np.asarray(value) for value in tf.nest.flatten(frozen(*map(tf.constant, feeds)))]
    except Exception as error:  # what TensorFlow has no kernel for, or no meaning
        return f"{type(error).__name__}: {str(error)[:200]}"
    if not all(np.isfinite(value).all() for value in found):
        return "the results are not finite"
    (folder / f"{seed}.pb").write_bytes(frozen.graph.as_graph_def().SerializeToString())
    module = tf.Module()
    module.call = tf.function(lambda *given: {f"out{place}": value for place, value in enumerate(function(*given))})
    tf.saved_model.save(module, str(folder / f"{seed}.saved"), module.call.get_concrete_function(*specs))
    arrays = {f"in{place}": value for place, value in enumerate(feeds)}
    arrays |= {f"frozen{place}": value for place, value in enumerate(found)}
    names = [f"x{place}" for place in range(len(feeds))], [f"out{place}" for place in range(len(found))]
    np.savez(folder / f"{seed}.npz", saved_inputs=names[0], saved_outputs=names[1], **arrays)
    return ""


def main() -> None:
    """Write the functions from FIRST on."""
    folder, first, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    for seed in range(first, first + count):
        reason = write(folder, seed)
        if reason:
            (folder / f"{seed}.none").write_text(reason)


if __name__ == "__main__":
    main()
