"""Layers of Keras that a model calls twice: their weights are parameters once, and the numbers are Keras's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import graphir
from graphir.converters.formats import Manner
from graphir.converters.opening import read_model
from graphir.converters.options import ModelOptions

Build = Callable[[Any], Any]


def on_two(shape: tuple[int, ...], layer: Build, dtype: str = "float32") -> Build:
    """A model that calls one layer on two inputs, and on what it gave where that fits."""

    def build(keras: Any) -> Any:
        one, other = (keras.Input(shape, dtype=dtype, name=name) for name in ("one", "other"))
        made = layer(keras)
        return keras.Model([one, other], keras.layers.Subtract()([made(one), made(other)]))

    return build


def nested(keras: Any) -> Any:
    """A model that is called twice, and has a layer that it calls twice itself."""
    inside = keras.Input((4,))
    dense = keras.layers.Dense(4, activation="tanh", name="inner_dense")
    tower = keras.Model(inside, keras.layers.Add()([dense(dense(inside)), keras.layers.Dense(4)(inside)]), name="tower")
    one, other = keras.Input((4,)), keras.Input((4,))
    return keras.Model([one, other], keras.layers.Concatenate()([tower(one), tower(other), tower(tower(one))]))


def chained(keras: Any) -> Any:
    """A sequence of layers that is called twice, in a row."""
    layers = keras.layers
    parts = [layers.Input((6, 4)), layers.LSTM(4, return_sequences=True), layers.Dense(4)]
    block = keras.Sequential(parts, name="block")
    source = keras.Input((6, 4))
    return keras.Model(source, block(block(source)))


def confusable(keras: Any) -> Any:
    """A layer with the name that the second call of another would have."""
    source = keras.Input((4,))
    one = keras.layers.Dense(4, name="fc")
    other = keras.layers.Dense(4, name="fc_call_1")
    return keras.Model(source, other(one(one(source))))


MODELS: Mapping[str, Build] = {
    "dense": on_two((5,), lambda keras: keras.layers.Dense(3)),
    "convolution": on_two((8, 8, 3), lambda keras: keras.layers.Conv2D(4, 3)),
    "depthwise": on_two((8, 8, 3), lambda keras: keras.layers.SeparableConv2D(4, 3)),
    "normalization": on_two((8, 3), lambda keras: keras.layers.BatchNormalization()),
    "lstm": on_two((6, 3), lambda keras: keras.layers.LSTM(4)),
    "gru": on_two((6, 3), lambda keras: keras.layers.GRU(4, return_sequences=True)),
    "bidirectional": on_two((6, 3), lambda keras: keras.layers.Bidirectional(keras.layers.LSTM(4))),
    "cells": on_two(
        (6, 3), lambda keras: keras.layers.RNN([keras.layers.LSTMCell(4), keras.layers.LSTMCell(5)])
    ),
    "embedding": on_two((6,), lambda keras: keras.layers.Embedding(9, 4), dtype="int32"),
    "wrapped": on_two((6, 3), lambda keras: keras.layers.TimeDistributed(keras.layers.Dense(4))),
    "nested": nested,
    "chained": chained,
    "confusable": confusable,
}


@pytest.mark.one_of(8)
@pytest.mark.parametrize("suffix", ["keras", "h5"])
@pytest.mark.parametrize("name", MODELS)
def test_a_layer_that_is_called_twice_has_its_weights_once(
    keras: ModuleType, name: str, suffix: str, tmp_path: Path
) -> None:
    model = MODELS[name](keras)
    drawn = np.random.default_rng(3)
    model.set_weights([drawn.uniform(0.1, 0.5, held.shape) for held in model.get_weights()])
    path = tmp_path / f"model.{suffix}"
    model.save(path)
    source = read_model(path, ModelOptions(), Manner())
    graph = source.graph
    assert sum(tensor.size for tensor in source.parameters().values()) == model.count_params()
    held = [value.tensor.sha256() for value in graph.parameters if value.tensor is not None and value.tensor.size > 4]
    assert len(set(held)) == len(held)
    rng = np.random.default_rng(5)
    given = []
    for source_input in model.inputs:
        shape = (2, *source_input.shape[1:])
        array = rng.integers(0, 9, shape) if source_input.dtype == "int32" else rng.standard_normal(shape)
        given.append(array.astype(source_input.dtype))
    expected = np.asarray(model(given if len(given) > 1 else given[0]))
    names = [value.name for value in graph.inputs]
    found = graphir.Session(graph, providers="cpu").run(dict(zip(names, given, strict=True)))
    assert np.abs(next(iter(found.values())) - expected).max() <= 1e-5 * max(np.abs(expected).max(), 1.0)
