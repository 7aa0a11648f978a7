"""Files as Keras 1 and 2 wrote them, made by hand: their names and forms, and what is refused of any version."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import graphir
from graphir.errors import GraphirError
from tests.requirements import missing

Arrays = Mapping[str, Sequence[NDArray[Any]]]
RANDOM = np.random.Generator(np.random.PCG64(5))


def draw(*shape: int) -> NDArray[Any]:
    """Elements of a weight."""
    return RANDOM.standard_normal(shape).astype(np.float32)


def write(path: Path, config: Mapping[str, Any], weights: Arrays, **attrs: str) -> Path:
    """A model as HDF5: its layers' weights in groups that list their names."""
    if importlib.util.find_spec("h5py") is None:
        missing("TensorFlow", "there is no h5py, which Keras's files need")
    import h5py

    with h5py.File(path, "w") as file:
        file.attrs["model_config"] = json.dumps(config)
        for name, value in attrs.items():
            file.attrs[name] = value
        groups = file.create_group("model_weights")
        for layer, arrays in weights.items():
            group = groups.create_group(layer)
            names = [f"{layer}/weight_{place}:0" for place in range(len(arrays))]
            group.attrs["weight_names"] = [name.encode() for name in names]
            for name, array in zip(names, arrays, strict=True):
                group[name] = array
    return path


def sequential(*layers: tuple[str, dict[str, Any]], shape: Sequence[int], listed: bool = False) -> dict[str, Any]:
    """A Sequential model; old ones list their layers without anything around."""
    entries: list[dict[str, Any]] = [{"class_name": name, "config": dict(config)} for name, config in layers]
    entries[0]["config"]["batch_input_shape"] = [None, *shape]
    return {"class_name": "Sequential", "config": entries if listed else {"name": "m", "layers": entries}}


def run(path: Path, x: NDArray[Any]) -> NDArray[Any]:
    """The first output."""
    graph = graphir.load(path)
    return next(iter(graphir.Session(graph).run({graph.inputs[0].name: x}).values()))


KERNEL, BIAS, TOP = draw(3, 2, 4, 5), draw(5), (draw(5, 3), draw(3))
CONV_2 = {
    "name": "c", "filters": 5, "kernel_size": [3, 2], "strides": [2, 1], "padding": "same", "activation": "relu",
    "data_format": "channels_last",
}  # fmt: skip
CONV_1 = {
    "name": "c", "nb_filter": 5, "nb_row": 3, "nb_col": 2, "subsample": [2, 1], "border_mode": "same",
    "activation": "relu", "dim_ordering": "tf", "bias": True,
}  # fmt: skip
LINE_2 = {"name": "c", "filters": 5, "kernel_size": [3], "padding": "valid", "activation": "linear"}
LINE_1 = {"name": "c", "nb_filter": 5, "filter_length": 3, "subsample_length": 1, "border_mode": "valid"}
LSTM_2 = {"name": "c", "units": 5, "activation": "tanh", "recurrent_activation": "hard_sigmoid"}
LSTM_1 = {"name": "c", "output_dim": 5, "activation": "tanh", "inner_activation": "hard_sigmoid"}
LINE, LSTM, GRU = draw(3, 4, 5), (draw(4, 20), draw(5, 20), draw(20)), (draw(4, 15), draw(5, 15), draw(15))


def gates(weights: Sequence[NDArray[Any]], order: Sequence[int]) -> list[NDArray[Any]]:
    """A recurrent layer's weights as version 1 has them: three for each gate."""
    parts = [np.split(array, len(order), axis=-1) for array in weights]
    return [part[gate] for gate in order for part in parts]


# A layer of version 2 and the same one of version 1, both with their weights, and the shape of a sample.
PAIRS: Mapping[str, tuple[tuple[str, dict[str, Any], Any], tuple[str, dict[str, Any], Any], tuple[int, ...]]] = {
    "conv2d": (("Conv2D", CONV_2, (KERNEL, BIAS)), ("Convolution2D", CONV_1, (KERNEL, BIAS)), (7, 6, 4)),
    "conv1d": (
        ("Conv1D", LINE_2, (LINE, BIAS)), ("Convolution1D", LINE_1, (LINE[:, None], BIAS)), (7, 4),
    ),
    "conv1d-older": (
        ("Conv1D", LINE_2, (LINE, BIAS)),
        ("Convolution1D", LINE_1, (np.ascontiguousarray(LINE[:, None].transpose(3, 2, 0, 1)), BIAS)), (7, 4),
    ),
    "lstm": (("LSTM", LSTM_2, LSTM), ("LSTM", LSTM_1, gates(LSTM, (0, 2, 1, 3))), (6, 4)),
    "gru": (("GRU", LSTM_2, GRU), ("GRU", LSTM_1, gates(GRU, (0, 1, 2))), (6, 4)),
    "dense": (
        ("Dense", {"name": "c", "units": 3, "activation": "softmax"}, TOP),
        ("Dense", {"name": "c", "output_dim": 3, "activation": "softmax", "bias": True}, TOP), (5,),
    ),
}  # fmt: skip


@pytest.mark.parametrize("title", PAIRS)
def test_version_1_means_what_version_2_does(tmp_path: Path, title: str) -> None:
    new, old, shape = PAIRS[title]
    paths = [
        write(
            tmp_path / f"{version}.h5", sequential(layer[:2], shape=shape, listed=version == "1.2.2"),
            {"c": layer[2]}, keras_version=version,
        )
        for version, layer in (("2.3.1", new), ("1.2.2", old))
    ]  # fmt: skip
    x = draw(2, *shape)
    found, wanted = (run(path, x) for path in paths)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_cudnn_layer_is_the_usual_one(tmp_path: Path, kind: str) -> None:
    count = 4 if kind == "LSTM" else 3
    config = {"name": "c", "units": 5, "activation": "tanh", "recurrent_activation": "sigmoid", "reset_after": True}
    kernels, recurrents = ([draw(5, width) for _ in range(count)] for width in (4, 5))
    biases = draw(2, count * 5)
    usual = [np.concatenate([part.T for part in parts], 1) for parts in (kernels, recurrents)]
    # cuDNN's order: each gate's matrix row by row, in blocks of the shapes that the variables have
    fused = [
        np.concatenate([part.reshape(4, 5) for part in kernels], 1), np.concatenate(recurrents, 1), biases.reshape(-1),
    ]  # fmt: skip
    x = draw(2, 6, 4)
    wanted = [*usual, biases.sum(0) if kind == "LSTM" else biases]
    model, fused_model = (
        sequential(layer, shape=(6, 4)) for layer in ((kind, config), (f"CuDNN{kind}", {"name": "c", "units": 5}))
    )
    np.testing.assert_allclose(
        run(write(tmp_path / "fused.h5", fused_model, {"c": fused}, keras_version="2.2"), x),
        run(write(tmp_path / "usual.h5", model, {"c": wanted}, keras_version="2.2"), x), atol=1e-6,
    )  # fmt: skip


def hard_sigmoid(x: NDArray[Any], version: int) -> NDArray[Any]:
    """By its definition in that version."""
    return np.clip(0.2 * x + 0.5 if version < 3 else x / 6 + 0.5, 0, 1)


@pytest.mark.parametrize(("text", "version"), [("1.0.4", 1), ("2.2.4-tf", 2), ("2.11.0", 2), ("3.0.0", 3)])
def test_hard_sigmoid_is_that_of_the_version(tmp_path: Path, text: str, version: int) -> None:
    model = sequential(("Activation", {"name": "c", "activation": "hard_sigmoid"}), shape=(5,))
    x = np.linspace(-4, 4, 15, dtype=np.float32).reshape(3, 5)
    found = run(write(tmp_path / "m.h5", model, {}, keras_version=text), x)
    np.testing.assert_allclose(found, hard_sigmoid(x, version), atol=1e-6)


def lstm(x: NDArray[Any], version: int) -> NDArray[Any]:
    """Keras's LSTM, step by step."""
    kernel, recurrent, bias = LSTM
    state, cell, found = np.zeros((len(x), 5)), np.zeros((len(x), 5)), []
    for step in range(x.shape[1]):
        i, f, c, o = np.split(x[:, step] @ kernel + state @ recurrent + bias, 4, axis=1)
        cell = hard_sigmoid(f, version) * cell + hard_sigmoid(i, version) * np.tanh(c)
        state = hard_sigmoid(o, version) * np.tanh(cell)
        found.append(state)
    return np.stack(found, 1)


@pytest.mark.parametrize("version", [2, 3])
def test_lstm_by_its_definition(tmp_path: Path, version: int) -> None:
    model = sequential(("LSTM", {**LSTM_2, "return_sequences": True}), shape=(6, 4))
    x = draw(2, 6, 4)
    found = run(write(tmp_path / "m.h5", model, {"c": LSTM}, keras_version=f"{version}.1"), x)
    np.testing.assert_allclose(found, lstm(x, version), atol=2e-5)


def test_stateful_layer_is_state(tmp_path: Path) -> None:
    model = sequential(("LSTM", {**LSTM_2, "stateful": True}), shape=(6, 4))
    graph = graphir.load(write(tmp_path / "m.h5", model, {"c": LSTM}, keras_version="2.1"))
    told = [held.text for held in graph.decisions if held.kind == "state"]
    assert len(told) == 2
    assert all("initially 0.0 throughout" in text for text in told)
    assert [value.name for value in graph.outputs][1:] == ["c/state_0_next", "c/state_1_next"]


def functional(*layers: dict[str, Any]) -> dict[str, Any]:
    """A Functional model of version 2: layers one behind the other, with the arguments that they are called with."""
    shape = {"name": "x", "batch_input_shape": [None, 4], "dtype": "float32"}
    entries: list[dict[str, Any]] = [{"name": "x", "class_name": "InputLayer", "config": shape, "inbound_nodes": []}]
    for layer in layers:
        calls = [[[entries[-1]["name"], 0, 0, layer.pop("kwargs", {})]]]
        entries.append({**layer, "name": layer["config"]["name"], "inbound_nodes": calls})
    ends = {"input_layers": [["x", 0, 0]], "output_layers": [[entries[-1]["name"], 0, 0]]}
    return {"class_name": "Model", "config": {"name": "m", "layers": entries, **ends}}


REFUSED: Mapping[str, tuple[dict[str, Any], Arrays, dict[str, str], str]] = {
    "lambda": (
        functional({"class_name": "Lambda", "config": {"name": "l", "function": ["abc", None, None]}}), {}, {},
        "Python code",
    ),
    "training": (
        functional({"class_name": "Dropout", "config": {"name": "d", "rate": 0.5}, "kwargs": {"training": True}}), {},
        {}, "training=True",
    ),
    "own-class": (functional({"class_name": "Mine", "config": {"name": "d"}}), {}, {}, "does not know this layer"),
    "operation": (
        functional({"class_name": "TFOpLambda", "config": {"name": "d", "function": "math.lgamma"}}), {}, {},
        "the operation math.lgamma",
    ),
    "policy": (
        functional({"class_name": "Dropout", "config": {"name": "d", "rate": 0.5, "dtype": "int8_from_float32"}}), {},
        {}, "the dtype policy int8_from_float32",
    ),
    "activation": (
        sequential(("LSTM", {**LSTM_2, "activation": "gelu"}), shape=(6, 4)), {"c": LSTM}, {},
        "the activation 'gelu' of a recurrent layer",
    ),
    "weights": (sequential(("LSTM", LSTM_2), shape=(6, 4)), {"c": LSTM[:2]}, {}, "has 2 weights, expected 3"),
    "other-weights": (sequential(("LSTM", LSTM_2), shape=(6, 4)), {"c": GRU}, {}, "expected 4 * 5"),
    "unrolled-backwards": (
        sequential(
            ("Embedding", {"name": "e", "input_dim": 3, "output_dim": 4, "mask_zero": True}),
            ("Bidirectional", {"name": "b", "layer": {"class_name": "LSTM", "config": {
                **LSTM_2, "unroll": True, "return_sequences": True}}}), shape=(6,),
        ),
        {"e": [draw(3, 4)], "b": [*LSTM, *LSTM]}, {}, "the mask turned round",
    ),
    "lora": (
        sequential(("Dense", {"name": "c", "units": 3, "lora_rank": 4}), shape=(5,)), {"c": TOP}, {}, "lora_rank",
    ),
    "no-list-of-layers": ({"class_name": "Model", "config": {"layers": 7}}, {}, {}, "not as Keras writes it"),
    "strings": (functional({"class_name": "StringLookup", "config": {"name": "d"}}), {}, {}, "strings and tables"),
    "theano": (
        sequential(("Conv2D", CONV_2), shape=(7, 6, 4)), {"c": (KERNEL, BIAS)}, {"backend": "theano"}, "Theano",
    ),
    "subclass": ({"class_name": "Mine", "config": {"name": "m"}}, {}, {}, "a Mine model"),
    "cycle": (
        {**functional({"class_name": "Dropout", "config": {"name": "a"}}),
         "config": {"layers": [{"name": "a", "class_name": "Dropout", "config": {"name": "a"},
                                "inbound_nodes": [[["a", 0, 0, {}]]]}],
                    "input_layers": [], "output_layers": [["a", 0, 0]]}}, {}, {}, "wait for each other",
    ),
}  # fmt: skip


@pytest.mark.parametrize("title", REFUSED)
def test_refused_with_the_reason(tmp_path: Path, title: str) -> None:
    model, weights, attrs, reason = REFUSED[title]
    path = write(tmp_path / "m.h5", model, weights, **{"keras_version": "2.4.0", **attrs})
    with pytest.raises(GraphirError) as raised:
        graphir.load(path)
    assert reason in str(raised.value)
