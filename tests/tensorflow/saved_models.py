"""Run as a program, with live TensorFlow: write the models that test_saved_model.py reads into a folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np


def write_keras(folder: Path) -> None:
    """A Sequential model by Keras's own export and by TensorFlow's."""
    import keras
    import tensorflow as tf

    keras.utils.set_random_seed(0)
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((8, 9, 3)),
            layers.Conv2D(4, 3, strides=2, padding="same", bias_initializer="random_normal"),
            layers.BatchNormalization(gamma_initializer="random_normal", beta_initializer="random_normal"),
            layers.ReLU(),
            layers.Flatten(),
            layers.Dropout(0.5),
            layers.Dense(5, activation="softmax"),
        ]
    )
    model.export(str(folder / "keras_export"), verbose=False)
    tf.saved_model.save(model, str(folder / "tf_save"))


def write_recurrent(folder: Path) -> None:
    """Recurrent layers, which Keras exports as loops over lists of tensors."""
    import keras

    layers = keras.layers
    built = {
        "lstm": [keras.Input((7, 3)), layers.LSTM(6, return_sequences=True)],
        "gru": [keras.Input((None, 3)), layers.GRU(6), layers.Dense(2)],
        "gru_before": [keras.Input((7, 3)), layers.GRU(6, reset_after=False, go_backwards=True)],
        "rnn_two_ways": [keras.Input((7, 3)), layers.Bidirectional(layers.SimpleRNN(5, return_sequences=True))],
        "masked": [keras.Input((None, 3)), layers.Masking(), layers.LSTM(6)],
    }
    for name, members in built.items():
        keras.Sequential(members).export(str(folder / name), verbose=False)


def write_modules(folder: Path) -> None:
    """Modules with several signatures, and a loop."""
    import tensorflow as tf

    class Module(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = tf.Variable(np.arange(6, dtype=np.float32).reshape(2, 3))
            self.count = tf.Variable(3)
            self.half = tf.Variable(tf.constant([1.0, -2.5], tf.bfloat16))

        @tf.function
        def affine(self, x: Any) -> Any:
            return {"y": x @ self.weight, "shifted": x + tf.cast(self.half, tf.float32)}

        @tf.function
        def total(self, x: Any) -> Any:
            return {"total": tf.reduce_sum(x @ self.weight)}

        @tf.function
        def power(self, x: Any) -> Any:
            return {"power": tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), [0, x])[1]}

        @tf.function
        def lookup(self, x: Any) -> Any:
            rows = tf.cast(tf.abs(x) * 8.0, tf.int32) % 2
            return {"rows": tf.gather(self.weight, rows), "element": tf.gather_nd(self.weight, rows)}

    module = Module()
    spec = tf.TensorSpec([None, 2], tf.float32, name="x")
    names = ("affine", "total", "power", "lookup")
    concrete = {name: getattr(module, name).get_concrete_function(spec) for name in names}
    tf.saved_model.save(module, str(folder / "module"), {name: concrete[name] for name in ("affine", "total")})
    tf.saved_model.save(module, str(folder / "loop"), {"power": concrete["power"]})
    tf.saved_model.save(module, str(folder / "lookup"), {"lookup": concrete["lookup"]})


def write_version_1(folder: Path, name: str, *, resource: bool, width: int = 3) -> None:
    """A graph of TensorFlow 1 with a partitioned variable, as SavedModel and as checkpoint."""
    import tensorflow as tf

    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        v1.set_random_seed(1)
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        weight = v1.get_variable("weight", [4, width], use_resource=resource)
        parts = v1.fixed_size_partitioner(3)
        part = tf.convert_to_tensor(v1.get_variable("part", [10, width], partitioner=parts, use_resource=resource))
        y = tf.identity(x @ weight + tf.reduce_sum(part, 0), name="y")
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(folder / f"v1_{name}"), {"data": x}, {"result": y})
        v1.train.Saver().save(session, str(folder / f"checkpoint_{name}" / "model"), global_step=3)


def write_others(folder: Path) -> None:
    """Texts in a checkpoint, and one of several shards."""
    import tensorflow as tf

    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        texts = np.array([["one", ""], ["three", "vier \u00e4"]], object)
        variable = v1.get_variable("texts", initializer=tf.constant(texts), use_resource=True)
        session.run(variable.initializer)
        v1.train.Saver().save(session, str(folder / "texts"))
    config = v1.ConfigProto(device_count={"CPU": 2})
    with tf.Graph().as_default(), v1.Session(config=config) as session:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        with tf.device("/cpu:0"):
            weight = v1.get_variable("weight", [4, 3])
        with tf.device("/cpu:1"):
            bias = v1.get_variable("bias", [3])
        tf.identity(x @ weight + bias, name="y")
        session.run(v1.global_variables_initializer())
        (folder / "sharded").mkdir()
        v1.train.Saver(sharded=True).save(session, str(folder / "sharded" / "model"))


def record(folder: Path) -> None:
    """What TensorFlow computes with each model as it loads it itself, in MODEL.npz: its inputs and outputs by name."""
    import tensorflow as tf

    v1 = tf.compat.v1
    random = np.random.default_rng(3)

    def drawn(shape: Any, dtype: Any) -> Any:
        return random.standard_normal([size or 2 for size in shape]).astype(dtype.as_numpy_dtype)

    for path in folder.glob("*/saved_model.pb"):
        for name, function in tf.saved_model.load(str(path.parent)).signatures.items():
            given = {key: drawn(spec.shape, spec.dtype) for key, spec in function.structured_input_signature[1].items()}
            results = function(**{key: tf.constant(value) for key, value in given.items()})
            found = {f"out/{key}": value.numpy() for key, value in results.items()}
            np.savez(path.parent / f"{name}.npz", **{f"in/{key}": value for key, value in given.items()}, **found)
    for path in folder.glob("*/*.meta"):
        with tf.Graph().as_default() as graph, v1.Session() as session:
            v1.train.import_meta_graph(str(path), clear_devices=True).restore(session, str(path)[: -len(".meta")])
            x = drawn(graph.get_tensor_by_name("x:0").shape, tf.float32)
            np.savez(path.with_suffix(".npz"), **{"in/x": x, "out/y": session.run("y:0", {"x:0": x})})


def main() -> None:
    """Write everything."""
    folder = Path(sys.argv[1])
    write_keras(folder)
    write_recurrent(folder)
    write_modules(folder)
    write_version_1(folder, "reference", resource=False)
    write_version_1(folder, "resource", resource=True)
    write_version_1(folder, "other", resource=False, width=2)
    write_others(folder)
    record(folder)


if __name__ == "__main__":
    main()
