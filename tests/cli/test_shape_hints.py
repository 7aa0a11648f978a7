"""What an error or a check says of shapes that are missing, that do not fit, and that belong to what was cut away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import graphir as package
from graphir.converters.mxnet import mx
from graphir.converters.mxnet.importing.examples import example_shape
from graphir.converters.mxnet.source import open_source

from .conftest import Command


def variable(name: str = "x") -> Any:
    return mx.sym.Variable(name)


SYMBOLS = {
    "1,3,224,224": lambda x: mx.sym.Convolution(mx.sym.relu(x), num_filter=2, kernel=(3, 3), name="c"),
    "1,3,224": lambda x: mx.sym.Convolution(x, num_filter=2, kernel=(3,), name="c"),
    "1,3,16,112,112": lambda x: mx.sym.Pooling(x, kernel=(2, 2, 2), pool_type="max"),
    "1,128": lambda x: mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=2, name="f"),
    "1,32": lambda x: mx.sym.Embedding(x, input_dim=9, output_dim=4, name="e"),
    "1": lambda x: mx.sym.sqrt(x + 1),
}


@pytest.mark.parametrize("wanted", SYMBOLS)
def test_an_example_follows_what_reads_the_input(wanted: str) -> None:
    source = open_source(SYMBOLS[wanted](variable()))
    assert example_shape(source.symbol, "x", None) == wanted


@pytest.mark.parametrize("wanted", ["1,128", "1,32", "1"])
def test_onnx_asks_for_the_axes_of_an_input(wanted: str, graphir: Command, tmp_path: Path) -> None:
    """Where any number of axes can be imported, the export names the input, and the check says what it will need."""
    path = tmp_path / "net-symbol.json"
    net = SYMBOLS[wanted](variable("n_epoch"))
    net.save(str(path))
    held = {"e_weight": (9, 4), "f_weight": (2, 128), "f_bias": (2,)}
    arrays = {f"arg:{name}": mx.nd.ones(held[name]) for name in net.list_arguments() if name in held}
    mx.nd.save(str(tmp_path / "net-0000.params"), arrays)
    found = graphir("check", path)
    assert found.code == 0
    outcome = graphir("convert", path, tmp_path / "net.onnx")
    if outcome.code:
        assert f"-i n_epoch:{wanted}" in outcome.err
        assert f"given the shapes of its inputs, as in -i n_epoch:{wanted}" in found.out
        assert graphir("check", path, "--json").data["wanted"] == [f"-i n_epoch:{wanted}"]
    assert graphir("convert", path, tmp_path / "net.onnx", "-i", f"n_epoch:{wanted}").code == 0


def test_a_size_that_does_not_fit_names_one_that_does(graphir: Command, digits: Path, tmp_path: Path) -> None:
    outcome = graphir("convert", digits, tmp_path / "x.onnx", "-i", "data:1,1,28,28")
    assert outcome.code == 1
    assert "the weights fit -i data:N,1,8,8" in outcome.err


@pytest.mark.parametrize("suffix", ["mxnet", "onnx"])
def test_a_shape_of_what_was_cut_away_is_a_note(suffix: str, graphir: Command, tmp_path: Path) -> None:
    left = mx.sym.FullyConnected(variable("a"), num_hidden=4, name="left")
    net = mx.sym.Group([left, mx.sym.relu(variable("b"), name="right")])
    net.save(str(tmp_path / "net-symbol.json"))
    weights = {"arg:left_weight": mx.nd.ones((4, 8)), "arg:left_bias": mx.nd.ones(4)}
    mx.nd.save(str(tmp_path / "net-0000.params"), weights)
    model = tmp_path / "net-symbol.json"
    if suffix == "onnx":
        model = tmp_path / "whole.onnx"
        package.convert(tmp_path / "net-symbol.json", model, shapes={"a": (1, 8), "b": (1, 2, 3)})
    shapes = ["-i", "a:1,8", "-i", "b:1,2,3"]
    outcome = graphir("convert", model, tmp_path / "part.onnx", "--outputs", "left", *shapes)
    assert outcome.code == 0, outcome.err
    said = "shape not used: b: the chosen outputs do not depend on it"
    assert (said if suffix == "mxnet" else "unused inputs removed: no output depends on b") in outcome.out
    assert graphir("convert", model, tmp_path / "part.onnx", "--outputs", "left", "-i", "c:1").code == 1
