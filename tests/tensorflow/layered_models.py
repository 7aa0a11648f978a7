"""Run as a program, with live TensorFlow: write the models of test_layers_inside.py into a folder, the network in both
formats, and a detector."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any


def network() -> Any:
    """Convolutions, a model in the model, a layer that is called twice, a recurrent layer, operations."""
    import keras

    keras.utils.set_random_seed(3)
    layers = keras.layers
    image = keras.Input((8, 8, 3), name="image")
    x = layers.Conv2D(4, 3, padding="same", activation="relu", name="conv")(image)
    x = layers.BatchNormalization(name="norm")(x)
    inner = keras.Sequential([keras.Input((8, 8, 4)), layers.Conv2D(4, 1, name="point")], name="inner")
    x = layers.Add(name="sum")([x, inner(x)])
    shared = layers.Dense(4, name="shared")
    x = shared(keras.ops.tanh(shared(x)))
    x = layers.LSTM(5, name="memory")(layers.Reshape((16, 16), name="rows")(x))
    return keras.Model(image, layers.Dense(3, activation="softmax", name="head")(x))


def write_detector(folder: Path) -> None:
    """Boxes whose scores saturate: most are 1 up to some units in the last place, which order them."""
    import numpy as np
    import tensorflow as tf

    generator = np.random.default_rng(0)
    kernel = tf.constant(generator.normal(0, 1, (3, 3, 3, 8)), tf.float32)
    head = tf.constant(generator.normal(0, 1, (1, 1, 8, 5)), tf.float32)
    places = tf.constant(np.argwhere(np.ones((12, 12))), tf.float32)

    @tf.function(input_signature=[tf.TensorSpec([1, 12, 12, 3], tf.float32, name="image")])  # type: ignore[untyped-decorator]
    def detect(image: Any) -> Any:
        features = tf.nn.relu(tf.nn.conv2d(image, kernel, 1, "SAME"))
        rows = tf.reshape(tf.nn.conv2d(features, head, 1, "SAME"), [144, 5])
        scores = tf.sigmoid(8.0 + 4.0 * rows[:, 0])
        centers, sizes = places + tf.tanh(rows[:, 1:3]), 2.0 + tf.sigmoid(rows[:, 3:5])
        boxes = tf.concat([centers - sizes, centers + sizes], 1)
        kept = tf.image.non_max_suppression(boxes, scores, 20, 0.4, 0.3)
        return {"boxes": tf.gather(boxes, kept), "scores": tf.gather(scores, kept), "kept": kept}

    made = tf.Module()
    made.detect, made.kernel, made.head, made.places = detect, kernel, head, places
    tf.saved_model.save(made, str(folder), signatures=detect)


if __name__ == "__main__":
    model, folder = network(), Path(sys.argv[1])
    model.save(folder / "model.keras")
    model.export(str(folder / "saved"), verbose=False)
    write_detector(folder / "detector")
