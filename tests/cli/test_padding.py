"""`graphir padding`: the windows of one model, and what disagrees about those of two; 4 where they disagree."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphir import save
from graphir.graph import Graph
from graphir.ops.activation import Relu
from graphir.ops.convolution import Conv
from graphir.padding import Explicit, Same, symmetric
from graphir.symbolic.dims import symbol
from graphir.types import DType, TensorType
from tests.cli.conftest import Command

WEIGHT = np.random.default_rng(0).standard_normal((4, 3, 3, 3)).astype(np.float32)
SAME = Same()


def network(padding: Explicit | Same = SAME, size: int | str = 8, *, bare: bool = False) -> Graph:
    graph = Graph("net")
    dims = [symbol(size)] * 2 if isinstance(size, str) else [size] * 2
    value = graph.add_input("x", TensorType(DType.FLOAT32, (1, 3, *dims)))
    if not bare:
        weight = graph.constant(WEIGHT, name="weight")
        value = graph.add(Conv((3, 3), strides=(2, 2), padding=padding), value, weight, name="conv")
    graph.set_outputs([graph.add(Relu(), value, name="relu")])
    return graph


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Any]:
    """Writes graphs and gives their paths."""

    def write(*graphs: Graph, suffix: str = ".onnx") -> list[Path]:
        paths = [tmp_path / f"model{place}{suffix}" for place in range(len(graphs))]
        for graph, path in zip(graphs, paths, strict=True):
            save(graph, path)
        return paths

    return write


BEHIND = Explicit(((0, 1), (0, 1)))
PAIRS = [
    (network(), network(BEHIND), 0, "agreed: 1 window of both models read the same data"),
    (network(), network(symmetric((1, 1))), 4, "SAME_UPPER at stride 2x2 on 8x8 pads (0, 1), (0, 1); the second"),
    (network(symmetric((1, 1))), network(), 4, "fix: auto_pad='NOTSET', pads=[1, 1, 1, 1]"),
    (network(), network(size=9), 0, "note: the inputs have other sizes: 1x3x8x8 in the first model, 1x3x9x9"),
    (network(), network(bare=True), 4, "note: only 0 of 1 windows have a counterpart"),
    (network(bare=True), network(bare=True), 0, "agreed: nothing pads in either model"),
    (network(size="S"), network(symmetric((1, 1)), "S"), 4, "fix: state the inputs' shapes (-i)"),
]


@pytest.mark.parametrize(("left", "right", "code", "said"), PAIRS)
def test_two_models(
    graphir: Command, written: Callable[..., Any], left: Graph, right: Graph, code: int, said: str
) -> None:
    paths = written(left, right)
    outcome = graphir("padding", *paths)
    assert (outcome.code, outcome.err) == (code, "")
    assert said in " ".join(outcome.out.split())
    data = graphir("padding", *paths, "--json").data
    assert data["agrees"] == (code == 0)
    assert (data["first"], data["second"]) == tuple(map(str, paths))


@pytest.mark.parametrize(("arguments", "sizes"), [
    (["-i", "x:1,3,8,8"], ([8, 8], [8, 8])),
    (["-i", "x:1,3,8,8", "--other-input", "x:1,3,10,10"], ([8, 8], [10, 10])),
])  # fmt: skip
def test_shapes_are_given_for_both_or_for_each(
    graphir: Command, written: Callable[..., Any], arguments: list[str], sizes: tuple[list[int], ...]
) -> None:
    paths = written(network(size="S"), network(size="S"))
    (pair,) = graphir("padding", *paths, *arguments, "--json").data["pairs"]
    assert (pair["first"]["input"], pair["second"]["input"]) == sizes
    assert pair["first"]["pads"] == [[0, 1], [0, 1]]


@pytest.mark.parametrize("suffix", [".onnx", ".graphir.json", "-symbol.json"])
def test_one_model(graphir: Command, written: Callable[..., Any], suffix: str) -> None:
    (path,) = written(network(), suffix=suffix)
    outcome = graphir("padding", path)
    assert outcome.code == 0
    assert "(0, 1), (0, 1)" in outcome.out
    assert "1 window: 1 asymmetric" in outcome.out
    (window,) = graphir("padding", path, "--json").data["windows"]
    assert (window["pads"], window["input"], window["output"]) == ([[0, 1], [0, 1]], [8, 8], [4, 4])


def test_reports_are_written(graphir: Command, written: Callable[..., Any], tmp_path: Path) -> None:
    paths = written(network(), network(symmetric((1, 1))))
    page, data = tmp_path / "audit.html", tmp_path / "audit.json"
    assert graphir("padding", *paths, "--report", page, "-q").out == ""
    assert "output shifted by 1 pixel" in page.read_text()
    assert graphir("padding", *paths, "--report", data).code == 4
    assert json.loads(data.read_text())["pairs"][0]["disagreements"][0]["fix"] == "pads=[0, 0, 1, 1]"
    assert graphir("padding", paths[0], "--report", page).code == 0
    assert "SAME_UPPER" in page.read_text()


def test_verbose_lists_every_pair(graphir: Command, written: Callable[..., Any]) -> None:
    lines = graphir("padding", *written(network(), network(BEHIND)), "-v").out.splitlines()
    assert lines[-1].split()[:3] == ["conv", "conv", "Conv"]
    assert lines[-1].split()[-1] == "agreed"


def test_a_symbol_alone_that_was_written_is_read_again(
    graphir: Command, written: Callable[..., Any], tmp_path: Path
) -> None:
    (path,) = written(network(), suffix="-symbol.json")
    path.with_name(path.name.replace("-symbol.json", "-0000.params")).unlink()
    copy = tmp_path / "copy-symbol.json"
    shape = "x:1,3,8,8"
    assert graphir("convert", path, copy, "-i", shape).code == 0
    assert graphir("padding", path, copy, "-i", shape).code == 0
