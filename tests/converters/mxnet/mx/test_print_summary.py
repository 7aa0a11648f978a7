"""`mx.viz.print_summary`: the text that MXNet 1.9.1 prints, character by character."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from graphir.converters.mxnet import mx
from graphir.converters.mxnet.mx.symbol import Symbol
from graphir.converters.mxnet.mx.visualization import print_summary

IMAGE = {"data": (1, 3, 224, 224)}
PERCEPTRON = json.dumps({
    "nodes": [
        {"op": "null", "name": "data", "inputs": []},
        {"op": "null", "name": "fc_weight", "inputs": []},
        {"op": "null", "name": "fc_bias", "inputs": []},
        {
            "op": "FullyConnected", "name": "fc", "attrs": {"num_hidden": "3"},
            "inputs": [[0, 0, 0], [1, 0, 0], [2, 0, 0]],
        },
    ],
    "arg_nodes": [0, 1, 2], "node_row_ptr": [0, 1, 2, 3, 4], "heads": [[3, 0, 0]],
    "attrs": {"mxnet_version": ["int", 10901]},
})  # fmt: skip

# name of a symbol: Python over `S` (mx.sym of the live framework), `d` (a variable) and `c` (a convolution); shapes.
SYMBOLS: dict[str, tuple[str, dict[str, tuple[int, ...]]]] = {
    "transposed": ("S.Deconvolution(c, num_filter=4, kernel=(3, 3), name='dc')", {"data": (1, 3, 16, 16)}),
    "embedding": ("S.Embedding(d, input_dim=10, output_dim=5, name='emb')", {"data": (2, 7)}),
    "group": ("S.Group([c, d])", {"data": (1, 3, 16, 16)}),
    "last a variable": ("S.Group([c, S.Variable('z')])", {"data": (1, 3, 16, 16), "z": (2, 3)}),
    "recurrent": (
        "S.RNN(d, state_size=5, num_layers=1, mode='lstm', state_outputs=True, name='rnn')", {"data": (4, 2, 7)},
    ),
    "split": ("S.Concat(*S.SliceChannel(d, num_outputs=3, name='sl'), name='cc')", {"data": (4, 3, 7)}),
    "mean and variance": ("S.BatchNorm(c, output_mean_var=True, name='bn')[0]", {"data": (1, 3, 16, 16)}),
    "long name, groups": (
        "S.Convolution(c, num_filter=8, kernel=(3, 3), num_group=4, no_bias=True, name='a' * 70)",
        {"data": (1, 3, 16, 16)},
    ),
    "four axes": ("S.FullyConnected(c, num_hidden=3, name='fc')", {"data": (1, 3, 16, 16)}),
    "one variable": ("d", {"data": (1, 3)}),
    "normalized rows": ("S.BatchNorm(d, name='bn')", {"data": (2, 3)}),
    "shared": (
        "S.FullyConnected(S.FullyConnected(d, weight=S.Variable('w'), num_hidden=4, name='f1'), "
        "weight=S.Variable('w'), num_hidden=4, name='f2')",
        {"data": (2, 4)},
    ),
}  # fmt: skip
LAYOUTS: tuple[tuple[Any, ...], ...] = (
    (), (80,), (100, [30, 60, 70, 100]), (60, (0.3, 0.6, 0.7, 1.0)),
)  # fmt: skip


def printed(capsys: pytest.CaptureFixture[str], show: Callable[..., None], *arguments: Any) -> str:
    """What a call prints."""
    capsys.readouterr()
    show(*arguments)
    return capsys.readouterr().out


def graphs(shared: Path) -> dict[str, Any]:
    return json.loads((shared / "golden" / "plot_network_dot.json").read_text())["graphs"]


@pytest.mark.parametrize(
    "name",
    ["mlp", "basic_g", "conv_factory", "inception_a", "composed", "group", "lightcnn_slice", "mixed_params",
     "lenet_1x1x32x32", "resnet18"],
)  # fmt: skip
@pytest.mark.parametrize("has_shapes", [True, False])
def test_golden_tables(shared: Path, capsys: pytest.CaptureFixture[str], name: str, has_shapes: bool) -> None:
    expected = json.loads((shared / "golden" / "print_summary.json").read_text())["summaries"]
    graph = graphs(shared)[name]
    shapes = {key: tuple(shape) for key, shape in graph["input_shapes"].items()}
    symbol = mx.sym.load_json(graph["symbol_json"])
    found = printed(capsys, print_summary, symbol, *([shapes] if has_shapes else []))
    assert found == expected[name if has_shapes else f"{name}__noshape"]


@pytest.mark.parametrize(
    ("file", "shapes", "copies"),
    [("print_summary_resnet18.txt", IMAGE, False), ("print_summary_resnet18_noshape.txt", None, False),
     ("print_summary_resnet18_v191builder.txt", IMAGE, True)],
)  # fmt: skip
def test_resnet18(
    shared: Path, capsys: pytest.CaptureFixture[str], file: str, shapes: dict[str, Any] | None, copies: bool
) -> None:
    text = (shared / "golden" / "resnet18_v2_symbol.json").read_text()
    symbol = mx.sym.load_json(with_copy(text) if copies else text)
    assert printed(capsys, print_summary, symbol, shapes) == (shared / "golden" / file).read_text()


def with_copy(text: str) -> str:
    """The symbol with a copy of its first variable behind that, as later versions of the network have it."""
    document = json.loads(text)
    for node in document["nodes"]:
        node["inputs"] = [[entry[0] + 1, *entry[1:]] for entry in node["inputs"]]
    document["nodes"].insert(1, {"op": "_copy", "name": "id", "inputs": [[0, 0, 0]]})
    document["arg_nodes"] = [index + 1 if index else 0 for index in document["arg_nodes"]]
    document["heads"] = [[head[0] + 1, *head[1:]] for head in document["heads"]]
    del document["node_row_ptr"]
    return json.dumps(document)


@pytest.mark.live
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("name", SYMBOLS)
def test_live(mxnet: ModuleType, capsys: pytest.CaptureFixture[str], name: str, layout: tuple[Any, ...]) -> None:
    sym = mxnet.sym
    data = sym.Variable("data")
    convolved = sym.Convolution(data, num_filter=8, kernel=(3, 2), name="c")
    expression, shapes = SYMBOLS[name]
    theirs = eval(expression, {"S": sym, "d": data, "c": convolved})
    ours = mx.sym.load_json(theirs.tojson())
    expected = printed(capsys, mxnet.viz.print_summary, theirs, shapes, *layout)
    assert expected
    assert printed(capsys, print_summary, ours, shapes, *layout) == expected


def test_small_table(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, print_summary, mx.sym.load_json(PERCEPTRON), {"data": (2, 5)}, 60)
    assert text.splitlines()[5] == "fc(FullyConnected)        3           18    data            "
    assert text.splitlines()[-2] == "Total params: 18"


def test_a_name_cannot_act_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    symbol = mx.sym.load_json(PERCEPTRON.replace('"fc"', '"\\u001b[2J\\n"'))
    assert "\\x1b[2J\\n(FullyConnected)" in printed(capsys, print_summary, symbol)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [((Symbol,), TypeError, "expected a Symbol, found"), (("net.json",), TypeError, "found str")],
)  # fmt: skip
def test_refused(arguments: tuple[Any, ...], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        print_summary(*arguments)


def test_open_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="shapes of the inputs leave others open"):
        print_summary(mx.sym.load_json(PERCEPTRON), {})
