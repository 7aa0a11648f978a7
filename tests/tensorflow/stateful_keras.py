"""Run with live Keras: models with stateful recurrent layers, and what three calls of each give.

    stateful_keras.py FOLDER

Of each model NAME it writes FOLDER/NAME.keras and FOLDER/NAME.h5, of some the SavedModel FOLDER/NAME, and of some those
of version 2 as NAME_2; and FOLDER/NAME.npz with `N/in` and `N/out` of step 0, 1 and 2.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np

BATCH, LENGTH, WIDTH = 2, 4, 3


def sequential(*layers: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A model of layers, each made with the package of layers of either version."""

    def make(package: Any) -> Any:
        value = source = package.Input(batch_shape=(BATCH, LENGTH, WIDTH))
        for layer in layers:
            value = layer(package.layers)(value)
        return package.Model(source, value)

    return make


def begun(package: Any) -> Any:
    """A layer that begins with a state of the data, and keeps its last one."""
    source = package.Input(batch_shape=(BATCH, LENGTH, WIDTH))
    start = package.layers.Dense(3)(package.layers.GlobalAveragePooling1D()(source))
    return package.Model(source, package.layers.GRU(3, stateful=True, name="rnn")(source, initial_state=start))


def inside(package: Any) -> Any:
    """A layer of a model in a model."""
    inner = package.Sequential([package.layers.LSTM(3, stateful=True, name="rnn")], name="inner")
    source = package.Input(batch_shape=(BATCH, LENGTH, WIDTH))
    return package.Model(source, inner(source))


def called_twice(package: Any) -> Any:
    """A layer that two calls share."""
    source = package.Input(batch_shape=(BATCH, LENGTH, WIDTH))
    layer = package.layers.GRU(3, stateful=True, return_sequences=True)
    return package.Model(source, layer(layer(source)))


MODELS: dict[str, Callable[[Any], Any]] = {
    "lstm": sequential(lambda k: k.LSTM(5, stateful=True, return_sequences=True, name="rnn")),
    "gru": sequential(lambda k: k.GRU(5, stateful=True, go_backwards=True, name="rnn")),
    "simple": sequential(lambda k: k.SimpleRNN(5, stateful=True, unroll=True, name="rnn")),
    "two_ways": sequential(lambda k: k.Bidirectional(k.LSTM(5, stateful=True), name="rnn")),
    "masked": sequential(lambda k: k.Masking(), lambda k: k.LSTM(5, stateful=True, name="rnn")),
    "cells": sequential(lambda k: k.RNN([k.LSTMCell(4), k.GRUCell(5)], stateful=True, name="rnn")),
    "stacked": sequential(
        lambda k: k.LSTM(4, stateful=True, return_sequences=True, name="below"),
        lambda k: k.Dense(3),
        lambda k: k.GRU(3, stateful=True, name="above"),
    ),
    "begun": begun,
    "inside": inside,
}
EXPORTED = ("lstm", "masked", "two_ways")  # SavedModels, which take longest to write
VERSION_2 = ("lstm", "two_ways", "masked", "begun")


def write(folder: Path, name: str, model: Any) -> None:
    """Save a model in every format, and record three steps."""
    for suffix in ("keras", "h5"):
        model.save(folder / f"{name}.{suffix}")
    if name in EXPORTED:
        model.export(folder / name, verbose=False)
    generator = np.random.default_rng(len(name))
    held: dict[str, Any] = {}
    for step in range(3):
        x = generator.standard_normal((BATCH, LENGTH, WIDTH)).astype(np.float32)
        x[0, 1:3] = 0
        held |= {f"{step}/in": x, f"{step}/out": np.array(model(x, training=False))}
    np.savez(folder / f"{name}.npz", **held)


def main() -> None:
    """Write everything."""
    folder = Path(sys.argv[1])
    for name, make in MODELS.items():
        keras.utils.set_random_seed(7)
        write(folder, name, make(keras))
    called_twice(keras).save(folder / "called_twice.keras")
    try:
        import tf_keras
    except ImportError:
        return
    for name, make in [(name, MODELS[name]) for name in VERSION_2]:
        tf_keras.utils.set_random_seed(7)
        write(folder, f"{name}_2", make(tf_keras))


if __name__ == "__main__":
    main()
