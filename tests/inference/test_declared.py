"""Shapes given from outside that contradict what a model declares, in every front end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import graphir
from graphir.cli import main
from graphir.errors import GraphirError, ImportFailure
from graphir.graph import Graph
from graphir.inference.declared import contradiction, nearest
from graphir.ops.activation import Relu
from graphir.types import UNKNOWN, Dim, DType, TensorType, symbol
from tests.tensorflow.graphdef import graph_def, node, placeholder

DECLARED = (1, 8, 9, 3)
N = symbol("N")


def write_onnx(folder: Path) -> Path:
    """A Relu of the declared shape."""
    graph = Graph()
    graph.set_outputs([graph.add(Relu(), graph.add_input("data", TensorType(DType.FLOAT32, DECLARED)), name="y")])
    graphir.save(graph, folder / "model.onnx")
    return folder / "model.onnx"


def write_json(folder: Path) -> Path:
    """The same as graphir's JSON."""
    graphir.save(graphir.load(write_onnx(folder)), folder / "model.graphir.json")
    return folder / "model.graphir.json"


def write_tensorflow(folder: Path) -> Path:
    """The same as a frozen graph."""
    graph = graph_def(placeholder("data", "float32", DECLARED), node("Relu", "y", ["data"], T="float32"))
    (folder / "model.pb").write_bytes(graph)
    return folder / "model.pb"


def write_mxnet(folder: Path) -> Path:
    """The same as a symbol."""
    nodes = [
        {"op": "null", "name": "data", "attrs": {"__shape__": str(DECLARED)}, "inputs": []},
        {"op": "relu", "name": "y", "inputs": [[0, 0, 0]]},
    ]
    symbol_json = {"nodes": nodes, "arg_nodes": [0], "heads": [[1, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}
    (folder / "model-symbol.json").write_text(json.dumps(symbol_json))
    return folder / "model-symbol.json"


WRITERS = [write_onnx, write_json, write_tensorflow, write_mxnet]
Writer = Callable[[Path], Path]


@pytest.mark.parametrize("write", WRITERS)
def test_other_order_is_refused_with_both_shapes(tmp_path: Path, write: Writer) -> None:
    text = r"input data: the model declares \[1, 8, 9, 3\], given was \[1, 3, 8, 9\].*in another order; give 1,8,9,3"
    with pytest.raises(ImportFailure, match=text):
        graphir.load(write(tmp_path), shapes={"data": (1, 3, 8, 9)})


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("given", [(1, 8, 10, 3), (1, 8, 9), (1, 8, 9, 3, 1)])
def test_other_sizes_are_refused(tmp_path: Path, write: Writer, given: tuple[int, ...]) -> None:
    with pytest.raises(ImportFailure, match=r"declares \[1, 8, 9, 3\], given was .*; give a shape that fits"):
        graphir.load(write(tmp_path), shapes={"data": given})


@pytest.mark.parametrize("write", WRITERS)
def test_what_fits_is_taken(tmp_path: Path, write: Writer) -> None:
    graph = graphir.load(write(tmp_path), shapes={"data": ("N", 8, None, 3)})
    assert graph.inputs[0].shape is not None
    assert graph.inputs[0].shape[1] == 8


@pytest.mark.parametrize("write", WRITERS)
def test_unknown_input_lists_the_inputs(tmp_path: Path, write: Writer) -> None:
    with pytest.raises(GraphirError, match=r"datta.*inputs are: data"):
        graphir.load(write(tmp_path), shapes={"datta": (1, 8, 9, 3)})


def test_another_batch_of_a_symbol_is_taken_and_said(tmp_path: Path) -> None:
    graph = graphir.load(write_mxnet(tmp_path), shapes={"data": (4, 8, 9, 3)})
    assert graph.outputs[0].shape == (4, 8, 9, 3)
    assert [held.text for held in graph.decisions if held.kind == "input shape"] == [
        "the symbol declares [1, 8, 9, 3]; the batch of [4, 8, 9, 3] is used"
    ]


@pytest.mark.parametrize("write", WRITERS)
def test_nothing_is_written(tmp_path: Path, write: Writer, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "result.onnx"
    assert main(["convert", str(write(tmp_path)), str(target), "-i", "data:1,3,8,9"]) == 1
    assert "in another order; give 1,8,9,3" in capsys.readouterr().err
    assert not target.exists()


@pytest.mark.parametrize(
    ("given", "declared", "text"),
    [
        ((1, 3, 4), (1, 3, 4), ""),
        ((2, 3), (N, 3), ""),
        (("N", 3), (UNKNOWN, 3), ""),
        (None, (2,), ""),
        ((2,), None, ""),
        ((1, 3, 5, 6), (N, 5, 6, 3), "give 1,5,6,3"),
        ((3, 5, 6, 1), (N, 5, 6, 3), "give 1,5,6,3"),
        ((2, 2), (2, 3), "or none"),
        ((1,) * 9, (2,) * 9, "or none"),
    ],
)
def test_contradictions(given: tuple[Dim, ...] | None, declared: tuple[Dim, ...] | None, text: str) -> None:
    given = None if given is None else tuple(symbol(dim) if isinstance(dim, str) else dim for dim in given)
    found = contradiction("x", given, declared)
    assert text in found
    assert bool(found) == bool(text)


def test_nearest_names_come_first_and_are_capped() -> None:
    names = [f"layer_{place}" for place in range(20)] + ["image"]
    assert nearest("imge", names).startswith("the inputs are: image, ")
    assert nearest("imge", names).endswith(" and 13 more")
