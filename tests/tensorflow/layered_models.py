"""Run as a program, with live TensorFlow: write the model of test_layers_inside.py into a folder, in both formats."""

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


if __name__ == "__main__":
    model, folder = network(), Path(sys.argv[1])
    model.save(folder / "model.keras")
    model.export(str(folder / "saved"), verbose=False)
