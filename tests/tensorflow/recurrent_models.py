"""Recurrent layers as Keras and as TensorFlow 1 trace them; run as a program, with live TensorFlow, it writes them.

Inputs are called x (N, T, 3), u (T, N, 3) with the time first, h and c (N, 5), and lens (N); outputs y0, y1 and so on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

BIAS = {"bias_initializer": "random_normal"}
Build = Callable[[Any], Any]


def _on_x(*build: Build, width: int = 3, steps: int | None = None, dtype: str = "float32") -> Build:
    """Layers on x, one on the other."""

    def write(keras: Any) -> Any:
        x = value = keras.Input((steps, width), dtype=dtype, name="x")
        for layer in build:
            value = layer(keras.layers)(value)
        return keras.Model(x, value)

    return write


def _layer(kind: str, size: int = 5, **more: Any) -> Build:
    return lambda layers: getattr(layers, kind)(size, **(BIAS | more))


def _both(kind: str, merge: str = "concat", **more: Any) -> Build:
    return lambda layers: layers.Bidirectional(_layer(kind, **more)(layers), merge_mode=merge)


def _with_states(keras: Any) -> Any:
    x, h, c = keras.Input((None, 3), name="x"), keras.Input((5,), name="h"), keras.Input((5,), name="c")
    layer = keras.layers.LSTM(5, return_sequences=True, return_state=True, **BIAS)
    return keras.Model([x, h, c], layer(x, initial_state=[h, c]))


def _encoder_decoder(keras: Any) -> Any:
    x, u = keras.Input((None, 3), name="x"), keras.Input((None, 3), name="x_too")
    layers = keras.layers
    _, h, c = layers.LSTM(5, return_state=True, **BIAS)(x)
    return keras.Model([x, u], layers.Dense(2)(layers.LSTM(5, return_sequences=True)(u, initial_state=[h, c])))


def _both_ends(keras: Any) -> Any:
    x = keras.Input((None, 3), name="x")
    rows, *states = keras.layers.Bidirectional(_layer("LSTM", **STATES)(keras.layers))(x)
    return keras.Model(x, [rows[:, -1], rows[:, 0], rows, *states])


def _cells(layers: Any) -> Any:
    cells = [layers.LSTMCell(5, **BIAS), layers.GRUCell(4, **BIAS), layers.SimpleRNNCell(3)]
    return layers.RNN(cells, return_sequences=True, return_state=True)


ALL: dict[str, Any] = {"return_sequences": True}
STATES = {"return_sequences": True, "return_state": True}
STATE: dict[str, Any] = {"return_state": True}
BACK = {"go_backwards": True}
# Name: the operators that the import has to find, and the model.
KERAS: dict[str, tuple[str, Build]] = {
    "lstm": ("LSTM", _on_x(_layer("LSTM"))),
    "lstm_fixed": ("LSTM", _on_x(_layer("LSTM", **ALL), steps=7)),
    "lstm_all": ("LSTM", _on_x(_layer("LSTM", **STATES))),
    "lstm_backwards": ("LSTM", _on_x(_layer("LSTM", **STATES, **BACK))),
    "lstm_backwards_last": ("LSTM", _on_x(_layer("LSTM", **STATE, **BACK))),
    "lstm_last_state": ("LSTM", _on_x(_layer("LSTM", **STATE))),
    "gru_backwards_last": ("GRU", _on_x(_layer("GRU", **STATE, **BACK))),
    "gru_before_backwards_last": ("GRU", _on_x(_layer("GRU", reset_after=False, **STATE, **BACK), steps=7)),
    "rnn_backwards_last": ("RNN", _on_x(_layer("SimpleRNN", **STATE, **BACK))),
    "both_lstm_last": ("LSTM LSTM", _on_x(_both("LSTM", **STATE))),
    "both_lstm_every_end": ("LSTM LSTM", _both_ends),
    "lstm_narrow": ("LSTM", _on_x(_layer("LSTM", 1, **ALL), width=1)),
    "lstm_without_bias": ("LSTM", _on_x(_layer("LSTM", use_bias=False))),
    "lstm_forget": ("LSTM", _on_x(_layer("LSTM", unit_forget_bias=False, recurrent_dropout=0.0, dropout=0.0))),
    "lstm_first_implementation": ("LSTM", _on_x(_layer("LSTM", implementation=1))),
    "lstm_hard": ("LSTM", _on_x(_layer("LSTM", recurrent_activation="hard_sigmoid", activation="relu"))),
    "lstm_linear": ("LSTM", _on_x(_layer("LSTM", activation="linear"))),
    "lstm_elu": ("LSTM", _on_x(_layer("LSTM", activation="elu", recurrent_activation="softsign"))),
    "lstm_states": ("LSTM", _with_states),
    "lstm_half": ("LSTM", _on_x(_layer("LSTM", **ALL), dtype="float16")),
    "lstm_mixed": ("LSTM", _on_x(_layer("LSTM", dtype="mixed_float16"))),
    "encoder_decoder": ("LSTM LSTM", _encoder_decoder),
    "gru": ("GRU", _on_x(_layer("GRU"))),
    "gru_all": ("GRU", _on_x(_layer("GRU", **STATES))),
    "gru_before": ("GRU", _on_x(_layer("GRU", reset_after=False, **STATES))),
    "gru_before_backwards": ("GRU", _on_x(_layer("GRU", reset_after=False, **BACK))),
    "gru_without_bias": ("GRU", _on_x(_layer("GRU", use_bias=False))),
    "gru_softplus": ("GRU", _on_x(_layer("GRU", activation="softplus"))),
    "gru_narrow": ("GRU", _on_x(_layer("GRU", 1, **ALL), width=1)),
    "rnn": ("RNN", _on_x(_layer("SimpleRNN"))),
    "rnn_relu": ("RNN", _on_x(_layer("SimpleRNN", activation="relu", **STATES, **BACK))),
    "rnn_leaky": ("RNN", _on_x(_layer("SimpleRNN", activation="leaky_relu", **ALL))),
    "rnn_narrow": ("RNN", _on_x(_layer("SimpleRNN", 1), width=1)),
    "both_lstm": ("LSTM LSTM", _on_x(_both("LSTM", **ALL))),
    "both_gru_last": ("GRU GRU", _on_x(_both("GRU"))),
    "both_rnn_sum": ("RNN RNN", _on_x(_both("SimpleRNN", "sum", **STATES))),
    "stacked": ("LSTM GRU RNN", _on_x(_layer("LSTM", **ALL), _layer("GRU", 4, **ALL), _layer("SimpleRNN"))),
    "both_stacked": ("LSTM LSTM GRU GRU", _on_x(_both("LSTM", **ALL), _both("GRU"))),
    "cells": ("LSTM GRU RNN", _on_x(_cells)),
    "repeated": ("LSTM LSTM", _on_x(_layer("LSTM"), lambda layers: layers.RepeatVector(4), _layer("LSTM", **ALL))),
    "masked": ("Loop", _on_x(lambda layers: layers.Masking(), _layer("LSTM", **ALL))),
    "lstm_selu": ("Loop", _on_x(_layer("LSTM", activation="selu"))),
    "gru_double": ("Loop", _on_x(_layer("GRU", dtype="float64", **STATES), dtype="float64")),
    "lstm_double": ("Loop", _on_x(_layer("LSTM", dtype="float64", **STATES), dtype="float64")),
}


def _dynamic(*, time_first: bool = False, lens: bool = False, both: bool = False, steps: int | None = None) -> Build:
    """dynamic_rnn on the cells that the given function makes."""

    def write(make: Any) -> list[Any]:
        import tensorflow as tf

        v1 = tf.compat.v1
        shape = [steps, None, 3] if time_first else [None, steps, 3]
        x = v1.placeholder(tf.float32, shape, name="u" if time_first else "x")
        lengths = v1.placeholder(tf.int32, [None], name="lens") if lens else None
        more = {"dtype": tf.float32, "sequence_length": lengths, "time_major": time_first}
        with v1.variable_scope("net", initializer=v1.random_normal_initializer(stddev=0.5)):
            if both:
                return list(tf.nest.flatten(v1.nn.bidirectional_dynamic_rnn(make(), make(), x, **more)))
            return list(tf.nest.flatten(v1.nn.dynamic_rnn(make(), x, **more)))

    return write


def _turned_back(make: Any) -> list[Any]:
    """Rows of a layer that runs backwards, turned back; of both the ends; all of time first."""
    import tensorflow as tf

    v1 = tf.compat.v1
    u = v1.placeholder(tf.float32, [None, None, 3], name="u")
    with v1.variable_scope("net", initializer=v1.random_normal_initializer(stddev=0.5)):
        rows, state = v1.nn.dynamic_rnn(make(), tf.reverse(u, [0]), dtype=tf.float32, time_major=True)
    back = tf.reverse(rows, [0])
    return [rows[-1], back[-1], rows[0], back[0], *tf.nest.flatten(state)]


def _cell(kind: str, size: int = 5, **more: Any) -> Build:
    return lambda cells: getattr(cells, kind)(size, **more)


def _several(*build: Build) -> Build:
    return lambda cells: cells.MultiRNNCell([make(cells) for make in build])


# Name: the operators, the cell and the loop.
VERSION_1: dict[str, tuple[str, Build, Build]] = {
    "v1_basic": ("RNN", _cell("BasicRNNCell"), _dynamic(steps=7)),
    "v1_basic_lstm": ("LSTM", _cell("BasicLSTMCell"), _dynamic()),
    "v1_lstm": ("LSTM", _cell("LSTMCell", forget_bias=0.5), _dynamic(time_first=True)),
    "v1_gru": ("GRU", _cell("GRUCell"), _dynamic()),
    "v1_peepholes": ("LSTM", _cell("LSTMCell", use_peepholes=True), _dynamic()),
    "v1_lens": ("LSTM", _cell("LSTMCell"), _dynamic(lens=True)),
    "v1_gru_lens": ("GRU", _cell("GRUCell"), _dynamic(lens=True, time_first=True, steps=7)),
    "v1_both": ("LSTM LSTM", _cell("LSTMCell"), _dynamic(both=True)),
    "v1_both_lens": ("GRU GRU", _cell("GRUCell"), _dynamic(both=True, lens=True)),
    "v1_several": ("LSTM GRU", _several(_cell("LSTMCell"), _cell("GRUCell", 4)), _dynamic()),
    "v1_several_lens": ("RNN LSTM", _several(_cell("BasicRNNCell"), _cell("LSTMCell", 4)), _dynamic(lens=True)),
    "v1_turned_back": ("RNN", _cell("BasicRNNCell"), _turned_back),
    "v1_lstm_turned_back": ("LSTM", _cell("LSTMCell"), _turned_back),
    "v1_limited": ("Loop", _cell("LSTMCell", cell_clip=0.5), _dynamic()),
    "v1_projected": ("Loop", _cell("LSTMCell", num_proj=3), _dynamic()),
}
KINDS = {name: row[0].split() for name, row in KERAS.items()}
KINDS |= {name: row[0].split() for name, row in VERSION_1.items()}


def write_keras(folder: Path) -> None:
    """The models of KERAS as frozen graphs with the loops that TensorFlow 2 has."""
    import keras
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    keras.utils.set_random_seed(0)
    for name, (_, build) in KERAS.items():
        model = build(keras)

        def call(*given: Any, model: Any = model) -> list[Any]:
            values = tf.nest.flatten(model(list(given) if len(given) > 1 else given[0], training=False))
            return [tf.identity(value, name=f"y{place}") for place, value in enumerate(values)]

        specs = [tf.TensorSpec(held.shape, held.dtype, held.name) for held in model.inputs]
        traced = tf.function(call).get_concrete_function(*specs)
        frozen = convert_variables_to_constants_v2(traced, lower_control_flow=False)
        (folder / f"{name}.pb").write_bytes(frozen.graph.as_graph_def().SerializeToString())


def write_version_1(folder: Path, prefix: str, *, functions: bool) -> None:
    """The models of VERSION_1, with `functions` as the loops of TensorFlow 2."""
    import tensorflow as tf
    from tensorflow.python.keras.layers.legacy_rnn import rnn_cell_impl

    v1 = tf.compat.v1
    (v1.enable_control_flow_v2 if functions else v1.disable_control_flow_v2)()
    for name, (_, cell, loop) in VERSION_1.items():
        with tf.Graph().as_default() as graph, v1.Session() as session:
            v1.set_random_seed(0)
            values = loop(lambda cell=cell: cell(rnn_cell_impl))
            outputs = [tf.identity(value, name=f"y{place}").op.name for place, value in enumerate(values)]
            session.run(v1.global_variables_initializer())
            frozen = v1.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), outputs)
            (folder / f"{prefix}{name}.pb").write_bytes(frozen.SerializeToString())


def main() -> None:
    """Write everything."""
    folder = Path(sys.argv[1])
    write_keras(folder)
    write_version_1(folder, "", functions=False)
    write_version_1(folder, "functions_", functions=True)


if __name__ == "__main__":
    main()
