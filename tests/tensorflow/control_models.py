"""Conditionals and loops as TensorFlow 1 and 2 write them; run as a program, with live TensorFlow, it writes them.

A model is NAME.pb and, in NAME.npz, the values of its inputs and outputs by the names of their nodes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Function = Callable[[Any], Any]
CHANNELS = 3


def _weight(tf: Any, *shape: int) -> Any:
    generator = np.random.Generator(np.random.PCG64([*shape]))
    return tf.constant(generator.standard_normal(shape) * 0.3, tf.float32)


def _convolutions(tf: Any) -> dict[str, Function]:
    nn, size = tf.nn, (3, 3, CHANNELS)
    return {
        "conv": lambda x: nn.conv2d(x, _weight(tf, *size, 4), 1, "SAME"),
        "conv_strided": lambda x: nn.conv2d(x, _weight(tf, *size, 4), 2, "SAME"),
        "conv_explicit": lambda x: nn.conv2d(x, _weight(tf, *size, 4), 1, [[0, 0], [1, 0], [2, 1], [0, 0]]),
        "conv_atrous": lambda x: nn.atrous_conv2d(x, _weight(tf, *size, 4), 2, "SAME"),
        "conv_1d": lambda x: nn.conv1d(x[:, 0], _weight(tf, *size[1:], 4), 1, "SAME"),
        "conv_3d": lambda x: nn.conv3d(x[:, None], _weight(tf, 2, *size, 4), [1] * 5, "SAME"),
        "conv_transposed": lambda x: nn.conv2d_transpose(
            x, _weight(tf, 3, 3, 2, CHANNELS), tf.concat([tf.shape(x)[:1], 2 * tf.shape(x)[1:3], [2]], 0), 2, "SAME"
        ),
        "depthwise": lambda x: nn.depthwise_conv2d(x, _weight(tf, *size, 2), [1] * 4, "SAME"),
        "separable": lambda x: nn.separable_conv2d(
            x, _weight(tf, *size, 1), _weight(tf, 1, 1, CHANNELS, 4), [1] * 4, "SAME"
        ),
        "dilation": lambda x: nn.dilation2d(x, _weight(tf, *size), [1] * 4, "SAME", "NHWC", [1] * 4),
        "two_layers": lambda x: nn.conv2d(
            nn.relu(nn.bias_add(nn.conv2d(x, _weight(tf, *size, 4), 1, "SAME"), _weight(tf, 4))),
            _weight(tf, 3, 3, 4, 2), 2, "SAME",
        ),
    }  # fmt: skip


def _resized(tf: Any) -> dict[str, Function]:
    image = tf.compat.v1.image
    return {
        "bilinear": lambda x: image.resize_bilinear(x, [7, 5]),
        "bilinear_corners": lambda x: image.resize_bilinear(x, [7, 5], align_corners=True),
        "bilinear_centers": lambda x: tf.image.resize(x, [7, 5]),
        "nearest": lambda x: image.resize_nearest_neighbor(x, [7, 5]),
        "bicubic": lambda x: image.resize_bicubic(x, [7, 5]),
        "area": lambda x: image.resize_area(x, [3, 2]),
        "crop_and_resize": lambda x: tf.image.crop_and_resize(x, [[0.1, 0.1, 0.8, 0.9]], [0], [4, 4]),
        "resize_with_pad": lambda x: tf.image.resize_with_pad(x, 8, 8),
        "crop": lambda x: tf.image.crop_to_bounding_box(x, 1, 1, 3, 2),
        "padded": lambda x: tf.pad(x, [[0, 0], [1, 2], [0, 1], [0, 0]]),
        "reflected": lambda x: tf.pad(x, [[0, 0], [1, 2], [0, 1], [0, 0]], "REFLECT"),
    }


def _channels_last(tf: Any) -> dict[str, Function]:
    nn = tf.nn
    vector = _weight(tf, CHANNELS)
    return {
        "max_pool": lambda x: nn.max_pool2d(x, 3, 2, "SAME"),
        "average_pool": lambda x: nn.avg_pool2d(x, 3, 2, "SAME"),
        "max_pool_3d": lambda x: nn.max_pool3d(x[:, None], [1, 2, 2], [1, 2, 2], "SAME"),
        "batch_norm": lambda x: tf.compat.v1.nn.fused_batch_norm(
            x, vector, vector, vector, tf.abs(vector), is_training=False
        )[0],
        "response_norm": lambda x: nn.lrn(x, 2),
        "global_pool": lambda x: tf.reduce_mean(x, [1, 2]),
        "space_to_batch": lambda x: tf.space_to_batch(x, [2, 2], [[0, 0], [0, 0]]),
        "space_to_depth": lambda x: nn.space_to_depth(x, 2),
        "depth_to_space": lambda x: nn.depth_to_space(tf.concat([x] * 4, -1), 2),
        "patches": lambda x: tf.image.extract_patches(x, [1, 2, 2, 1], [1, 2, 2, 1], [1] * 4, "SAME"),
        "contrast": lambda x: tf.image.adjust_contrast(x, 0.5),
    }


def operators(tf: Any) -> dict[str, Function]:
    """Every operator with padding, a grid or its channels last, on images."""
    return _convolutions(tf) | _resized(tf) | _channels_last(tf)


Functions = Sequence[Function]


def _looped(tf: Any, functions: Functions, x: Any) -> list[Any]:
    """Three iterations, which read what they carry and what is around."""

    def body(i: Any, *carried: Any) -> list[Any]:
        found = [a * 0.5 + tf.reduce_mean(f(a)) + tf.reduce_mean(f(x)) for f, a in zip(functions, carried, strict=True)]
        return [i + 1, *found]

    return list(tf.while_loop(lambda i, *_: i < 3, body, [0, *[x] * len(functions)])[1:])


def _loop_of_unknown_length(tf: Any, functions: Functions, x: Any) -> list[Any]:
    def body(*carried: Any) -> list[Any]:
        return [tf.abs(a) * 1.5 + 1.0 + tf.abs(tf.reduce_mean(f(a))) for f, a in zip(functions, carried, strict=True)]

    return list(tf.while_loop(lambda a, *_: tf.reduce_sum(a) < 4000.0, body, [x] * len(functions)))


def _conditional(tf: Any, functions: Functions, x: Any) -> list[Any]:
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: [f(x) for f in functions], lambda: [f(1.0 - x) for f in functions])


def _conditional_in_loop(tf: Any, functions: Functions, x: Any) -> list[Any]:
    def body(i: Any, *carried: Any) -> list[Any]:
        chosen = tf.cond(
            tf.equal(i % 2, 0),
            lambda: [tf.reduce_mean(f(a)) for f, a in zip(functions, carried, strict=True)],
            lambda: [tf.reduce_mean(f(x)) for f in functions],
        )
        return [i + 1, *(a * 0.5 + held for a, held in zip(carried, chosen, strict=True))]

    return list(tf.while_loop(lambda i, *_: i < 4, body, [0, *[x] * len(functions)])[1:])


def _loop_in_conditional(tf: Any, functions: Functions, x: Any) -> list[Any]:
    return tf.cond(tf.size(x) > 5, lambda: _looped(tf, functions, x), lambda: [x - 1.0] * len(functions))


def _loop_in_loop(tf: Any, functions: Functions, x: Any) -> list[Any]:
    def body(i: Any, *carried: Any) -> list[Any]:
        return [i + 1, *(a - b for a, b in zip(carried, _looped(tf, functions, carried[-1]), strict=True))]

    return list(tf.while_loop(lambda i, *_: i < 2, body, [0, *[x] * len(functions)])[1:])


def _read_inside(tf: Any, functions: Functions, x: Any) -> list[Any]:
    """What a layer outside gives is read by a loop's body and by a branch."""
    outside = [tf.nn.relu(f(x)) for f in functions]

    def body(i: Any, *carried: Any) -> list[Any]:
        return [i + 1, *(a * 0.5 + y for a, y in zip(carried, outside, strict=True))]

    looped = tf.while_loop(lambda i, *_: i < 3, body, [0, *outside])[1:]
    return tf.cond(
        tf.reduce_sum(x) > 0.0,
        lambda: [a + y for a, y in zip(looped, outside, strict=True)],
        lambda: [tf.nn.relu6(y) - a for a, y in zip(looped, outside, strict=True)],
    )


def _mapped(tf: Any, functions: Functions, x: Any) -> list[Any]:
    return tf.map_fn(lambda image: [f(image[None]) for f in functions], x, dtype=[tf.float32] * len(functions))


BODIES: Mapping[str, Callable[[Any, Functions, Any], list[Any]]] = {
    "map": _mapped,
    "loop": _looped,
    "loop_of_unknown_length": _loop_of_unknown_length,
    "conditional": _conditional,
    "conditional_in_loop": _conditional_in_loop,
    "loop_in_conditional": _loop_in_conditional,
    "loop_in_loop": _loop_in_loop,
    "read_inside": _read_inside,
}
VERSIONS = ("v1", "v2")


def write_bodies(folder: Path) -> None:
    """Each body, by each version of control flow, with every operator: an output for each, called y_ and its name."""
    import tensorflow as tf

    v1 = tf.compat.v1
    images = np.random.Generator(np.random.PCG64(1)).standard_normal((2, 6, 8, CHANNELS)).astype(np.float32)
    for version in VERSIONS:
        (v1.enable_control_flow_v2 if version == "v2" else v1.disable_control_flow_v2)()
        for name, body in BODIES.items():
            with tf.Graph().as_default() as graph, v1.Session(graph=graph, config=_plain(v1)) as session:
                x = v1.placeholder(tf.float32, images.shape, name="x")
                functions = operators(tf)
                results = body(tf, list(functions.values()), x)
                names = [f"y_{operator}" for operator in functions]
                made = {held: tf.identity(value, held) for held, value in zip(names, results, strict=True)}
                _write(folder / f"{version}-{name}", graph, {"x": images}, session.run(made, {x: images}))


def _plain(v1: Any) -> Any:
    """A session that runs a graph as it is: the optimizer puts nodes of loops into other frames."""
    config = v1.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def _write(path: Path, graph: Any, feeds: Mapping[str, NDArray[Any]], results: Mapping[str, NDArray[Any]]) -> None:
    from tensorflow.compat.v1.graph_util import extract_sub_graph

    definition = graph.as_graph_def()
    if path.name in WITH_REMAINS:
        definition = extract_sub_graph(definition, list(results))
    path.with_suffix(".pb").write_bytes(definition.SerializeToString())
    arrays = {f"in/{name}": value for name, value in feeds.items()}
    np.savez(path.with_suffix(".npz"), **arrays, **{f"out/{name}": value for name, value in results.items()})


# Functions of x (4, 3) and n, a number.


def _cases(tf: Any, x: Any, n: Any) -> list[Any]:
    """Three branches with two results each, one of them a constant."""
    return tf.switch_case(n, [lambda: (x, tf.ones([2])), lambda: (x * 2.0, x[0, :2]), lambda: (tf.exp(x), x[1, :2])])


def _constants(tf: Any, x: Any, n: Any) -> list[Any]:
    """Branches that take nothing from around: their nodes wait for the branch."""
    chosen = tf.cond(n > 1, lambda: tf.ones([2]) + 2.0, lambda: tf.zeros([2]))
    return [chosen, tf.switch_case(n, [lambda held=held: tf.constant(held) for held in (1.5, 2.5, 3.5)])]


def _alternatives(tf: Any, x: Any, n: Any) -> Any:
    pairs = [(tf.equal(n, held), lambda held=held: x * float(held)) for held in (5, 3, 1)]
    return tf.case(pairs, default=lambda: tf.exp(x))


def _nested_conditionals(tf: Any, x: Any, n: Any) -> Any:
    inner = lambda: tf.cond(x[0, 0] > 0.0, lambda: x, lambda: -x)  # noqa: E731
    return tf.cond(n > 0, lambda: tf.cond(n > 1, inner, lambda: tf.zeros([4, 3])), lambda: tf.ones([4, 3]))


def _doubled(tf: Any, x: Any, n: Any) -> Any:
    return tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * 2.0), [0, x])[1]


def _grown(tf: Any, x: Any, n: Any) -> Any:
    return tf.while_loop(lambda a: tf.reduce_sum(a) < 100.0, lambda a: [tf.abs(a) * 2.0 + 1.0], [x])[0]


def _cases_in_loop(tf: Any, x: Any, n: Any) -> Any:
    def body(i: Any, a: Any) -> tuple[Any, Any]:
        return i + 1, tf.switch_case(i % 3, [lambda: a * 2.0, lambda: a - x, lambda: tf.tanh(a)])

    return tf.while_loop(lambda i, a: i < 5, body, [0, x])[1]


def _loops_in_cases(tf: Any, x: Any, n: Any) -> Any:
    return tf.switch_case(n, [lambda: x, lambda: _grown(tf, x, n), lambda: _doubled(tf, x, n)])


def _conditional_in_condition(tf: Any, x: Any, n: Any) -> Any:
    def goes_on(i: Any, a: Any) -> Any:
        return tf.cond(i < n, lambda: True, lambda: tf.reduce_sum(a) < 50.0)

    return tf.while_loop(goes_on, lambda i, a: (i + 1, tf.abs(a) + 1.0), [0, x])[1]


def _continued(tf: Any, x: Any, n: Any) -> Any:
    a = x
    for i in tf.range(6):
        if tf.equal(i % 2, 0):
            continue
        a = a * 2.0 + tf.cast(i, tf.float32)
    return a


def _broken_off(tf: Any, x: Any, n: Any) -> Any:
    a, i = x, tf.constant(0)
    while i < 10:
        i += 1
        if tf.equal(i % 3, 0):
            continue
        if tf.reduce_sum(a) > 90.0:
            break
        a = tf.abs(a) * 1.5 + tf.cast(i, tf.float32)
    return a, i


def _arrays(tf: Any, x: Any, n: Any) -> list[Any]:
    """Lists of a stated size, of one that grows, and one that two branches write."""
    stated = tf.TensorArray(tf.float32, 4)
    grows = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    chosen = tf.TensorArray(tf.float32, 4, element_shape=[3])
    for i in tf.range(4):
        stated = stated.write(i, x[i] * tf.cast(i, tf.float32))
        grows = grows.write(i, x[3 - i])
        chosen = chosen.write(i, x[i]) if tf.equal(i % 2, 0) else chosen.write(i, -x[i])
    return [stated.stack(), grows.concat(), chosen.stack()]


def _asserted(tf: Any, x: Any, n: Any) -> Any:
    """What an output waits for is no output."""
    with tf.control_dependencies([tf.debugging.assert_less(n, 100), tf.debugging.assert_rank(x, 2)]):
        return tf.identity(x) * 2.0


def _detected(tf: Any, x: Any, n: Any) -> list[Any]:
    """A detector as the Object Detection API has them: each image resized, boxes chosen for each image and class."""
    images = tf.reshape(tf.tile(x, [2 * 16, 1]), [2, 8, 8, 3]) * tf.reshape(tf.linspace(0.5, 1.5, 128), [2, 8, 8, 1])
    resized = tf.map_fn(lambda image: tf.compat.v1.image.resize_images(image, [12, 12]), images)
    features = tf.nn.conv2d(resized, _weight(tf, *(3, 3, CHANNELS, 18)), 3, "SAME")
    raw = tf.reshape(features, [2, 48, 6])
    corners = tf.sigmoid(raw[..., :2])
    boxes = tf.concat([corners, corners + 0.2 + tf.sigmoid(raw[..., 2:4]) * 0.3], -1)
    scores = tf.sigmoid(raw[..., 4:] * 4.0)

    def choose(given: Any) -> tuple[Any, ...]:
        box, score = given
        found: list[tuple[Any, Any, Any]] = []
        for label in range(2):
            kept = tf.image.non_max_suppression(box, score[:, label], 5, 0.5, 0.3)
            number = tf.shape(kept)[0]
            found.append((tf.gather(box, kept), tf.gather(score[:, label], kept), tf.fill([number], float(label))))
        joined = [tf.concat(parts, 0) for parts in zip(*found, strict=True)]
        best, order = tf.nn.top_k(joined[1], tf.minimum(tf.size(joined[1]), 6))
        alive = tf.boolean_mask(order, best > 0.4)
        number = tf.size(alive)
        padded = [
            tf.pad(tf.gather(part, alive), [[0, 6 - number], *[[0, 0]] * (len(part.shape) - 1)]) for part in joined
        ]
        shaped = [tf.reshape(part, [6, 4] if place == 0 else [6]) for place, part in enumerate(padded)]
        return (*shaped, number)

    return list(tf.map_fn(choose, (boxes, scores), dtype=(tf.float32, tf.float32, tf.float32, tf.int32)))


FUNCTIONS: Mapping[str, Callable[[Any, Any, Any], Any]] = {
    "conditional": lambda tf, x, n: tf.cond(n > 1, lambda: (x * 2.0, x + 1.0), lambda: (x - 1.0, tf.exp(x))),
    "cases": _cases,
    "constants": _constants,
    "alternatives": _alternatives,
    "nested_conditionals": _nested_conditionals,
    "loop": _doubled,
    "loop_of_unknown_length": _grown,
    "loop_in_conditional": lambda tf, x, n: tf.cond(n > 1, lambda: _doubled(tf, x, n), lambda: x),
    "cases_in_loop": _cases_in_loop,
    "loops_in_cases": _loops_in_cases,
    "conditional_in_condition": _conditional_in_condition,
    "continue": _continued,
    "break": _broken_off,
    "arrays": _arrays,
    "assertions": _asserted,
    "detector": _detected,
    "map": lambda tf, x, n: tf.map_fn(lambda row: (row * 2.0, row[0]), x, dtype=(tf.float32, tf.float32)),
    "scan": lambda tf, x, n: [tf.scan(lambda a, row: a + row, x), tf.foldr(lambda a, row: a * 0.5 + row, x)],
}
# How graphs have it: in functions as TensorFlow 2, lowered as TensorFlow 2 freezes by default, and as version 1.
FORMS = ("functions", "lowered", "old")
# Graphs with a `range` or a `Cast` that nothing uses: nothing tells it from an output.
WITH_REMAINS = frozenset({"old-continue", "old-arrays", "old-detector"})


def write_functions(folder: Path) -> None:
    """Each function in each form, its outputs called y0, y1 and so on: nothing but them is to be an output."""
    import tensorflow as tf

    x = np.random.Generator(np.random.PCG64(2)).standard_normal((4, 3)).astype(np.float32)
    feeds = {"x": x, "n": np.array(2, np.int32)}
    for form in FORMS:
        for name, function in FUNCTIONS.items():
            (_write_old if form == "old" else _write_frozen)(tf, folder / f"{form}-{name}", function, feeds)


def _named(tf: Any, values: Any) -> list[Any]:
    return [tf.identity(value, f"y{place}") for place, value in enumerate(tf.nest.flatten(values))]


def _converted(tf: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its loops over tensors as loops of the graph."""
    return function if function.__name__ == "<lambda>" else tf.autograph.to_graph(function)


def _write_frozen(tf: Any, path: Path, function: Callable[..., Any], feeds: Mapping[str, NDArray[Any]]) -> None:
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    specs = [tf.TensorSpec(array.shape, array.dtype, name) for name, array in feeds.items()]
    traced = tf.function(
        lambda x, n: _named(tf, _converted(tf, function)(tf, x, n)), autograph=False
    ).get_concrete_function(*specs)
    results = [value.numpy() for value in traced(*map(tf.constant, feeds.values()))]
    frozen = convert_variables_to_constants_v2(traced, lower_control_flow=path.name.startswith("lowered"))
    names = [value.op.name for value in frozen.outputs]
    _write(path, frozen.graph, feeds, dict(zip(names, results, strict=True)))


def _write_old(tf: Any, path: Path, function: Callable[..., Any], feeds: Mapping[str, NDArray[Any]]) -> None:
    v1 = tf.compat.v1
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph, v1.Session(graph=graph, config=_plain(v1)) as session:
        given = {name: v1.placeholder(array.dtype, array.shape, name) for name, array in feeds.items()}
        made = {value.op.name: value for value in _named(tf, _converted(tf, function)(tf, *given.values()))}
        results = session.run(made, {given[name]: array for name, array in feeds.items()})
        _write(path, graph, feeds, results)


if __name__ == "__main__":
    write_functions(Path(sys.argv[1]))
    write_bodies(Path(sys.argv[1]))
