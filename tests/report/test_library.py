"""The reports of the library: what they print, what they are true for, and what they say of wrong arguments."""

from __future__ import annotations

import inspect
import pickle
import pydoc
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphir
import graphir.inspection
from graphir.cli import main
from graphir.errors import ArgumentError, ImportFailure
from graphir.ops.activation import LeakyRelu
from graphir.ops.convolution import Conv
from graphir.ops.elementwise import Add
from graphir.ops.foreign import Foreign
from graphir.padding import Explicit
from graphir.tensor import Tensor
from graphir.types import ANYTHING

DIGITS = Path(__file__).parents[2] / "models" / "digits"
INSPECTED = ("summary", "shapes", "padding", "check")


@pytest.fixture(scope="module")
def graph() -> graphir.Graph:
    return graphir.load(DIGITS)


@pytest.mark.parametrize("name", INSPECTED)
def test_a_report_prints_what_its_command_prints(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    report = getattr(graphir, name)(DIGITS)
    assert main([name, str(DIGITS), *(["-v"] if name == "summary" else [])]) == 0
    assert capsys.readouterr().out == f"{report}\n"
    assert main([name, str(DIGITS), "--json"]) == 0
    assert '"source"' in capsys.readouterr().out


def inspected(name: str, graph: graphir.Graph) -> object:
    return getattr(graphir, name)(graph)


def compared(name: str, graph: graphir.Graph) -> object:
    return getattr(graphir, name)(graph, graph)


MADE: dict[str, Callable[[graphir.Graph], object]] = {
    **{name: partial(inspected, name) for name in (*INSPECTED, "cost")},
    **{f"{name} of two": partial(compared, name) for name in ("diff", "padding", "shapes", "verify")},
    "memory": lambda graph: graphir.memory(graph, shapes={"data": (1, 1, 8, 8)}),
    "bench": lambda graph: graphir.bench(graph, shapes={"data": (1, 1, 8, 8)}, seconds=0.5),
}  # fmt: skip


@pytest.mark.parametrize("name", MADE)
def test_an_interpreter_shows_the_first_line_of_a_report(name: str, graph: graphir.Graph) -> None:
    report = MADE[name](graph)
    shown, first = repr(report), next(filter(None, str(report).splitlines())).strip()
    assert shown == f"<{type(report).__name__}: {first}>"
    assert "\n" not in shown


def test_the_report_of_a_conversion_is_one_line_in_an_interpreter(tmp_path: Path) -> None:
    report = graphir.convert(DIGITS, tmp_path / "digits.onnx", verify=True)
    assert repr(report).startswith("<ConversionReport: digits-symbol.json + digits-0020.params (MXNet 1.9.1")
    assert repr(report.verification) == "<VerificationReport: verified: equal within rounding>"


def test_help_of_padding_shows_the_function() -> None:
    said = pydoc.render_doc(graphir.padding, renderer=pydoc.plaintext)  # type: ignore[attr-defined]
    assert said.startswith("Python Library Documentation: function padding\n")
    assert "Return what every convolution and pooling of a model pads" in said
    audit, ours = (inspect.signature(one) for one in (graphir.inspection.padding, graphir.padding))
    kinds = [[(one.name, one.kind, one.default) for one in held.parameters.values()] for held in (audit, ours)]
    assert kinds[0] == kinds[1]
    assert vars(graphir.padding)["Explicit"] is Explicit
    assert pickle.loads(pickle.dumps(Explicit(((1, 2),)))) == Explicit(((1, 2),))


@pytest.mark.parametrize("name", ["diff", "padding", "shapes"])
def test_a_report_of_two_models_prints_what_its_command_prints(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "digits.onnx"
    graphir.convert(DIGITS, target)
    report = getattr(graphir, name)(DIGITS, target)
    code = main([name, str(DIGITS), str(target)])
    assert capsys.readouterr().out == f"{report}\n"
    assert code == (0 if report else 4)


@pytest.mark.parametrize("name", INSPECTED)
def test_a_graph_is_inspected_as_its_file_is(name: str, graph: graphir.Graph) -> None:
    report = getattr(graphir, name)(graph)
    assert str(report).startswith(f"{graph.name} (")
    assert "Conv" in str(report)
    assert report._repr_html_().startswith("<pre>")
    assert report.to_json()


def test_open_sizes_of_a_graph_can_be_stated(graph: graphir.Graph) -> None:
    report = graphir.shapes(graph, shapes={"data": "5,1,8,8"})
    assert "float32[5, 10]" in str(report)
    assert "float32[N, 10]" in str(graphir.shapes(graph))
    assert report


def test_reports_of_two_models_are_true_where_they_agree(graph: graphir.Graph) -> None:
    other = graph.copy()
    assert graphir.diff(graph, other)
    assert graphir.padding(graph, other)
    assert graphir.shapes(graph, other)
    other.replace(other.node("relu3"), LeakyRelu(0.1))
    found = graphir.diff(graph, other)
    assert not found
    assert "relu3" in str(found)
    assert graphir.padding(graph, other)


def test_a_pad_that_is_one_off_makes_padding_false(graph: graphir.Graph) -> None:
    other = graph.copy()
    op = other.node("conv1").op
    assert isinstance(op, Conv)
    other.set_outputs([])
    for node in reversed(other.nodes):
        if node.name != "conv1":
            other.erase(node)
    shifted = replace(op, padding=Explicit(((0, 2), (0, 2))))
    made = other.add_node(shifted, other.node("conv1").inputs, name="shifted")
    other.erase(other.node("conv1"))
    other.set_outputs(made.outputs)
    assert not graphir.padding(graph, other)


REPORTS: dict[str, Callable[[graphir.Graph, Path], Any]] = {
    "conversion": lambda graph, folder: graphir.convert(DIGITS, folder / "a.onnx", verify=True),
    "verification": lambda graph, folder: graphir.verify(graph, graph),
    "cost": lambda graph, folder: graphir.cost(graph),
    "memory": lambda graph, folder: graphir.memory(graph, shapes={"data": (1, 1, 8, 8)}),
    "benchmark": lambda graph, folder: graphir.bench(graph, seconds=0.2, timing=graphir.BenchOptions(warm_up=1)),
}


@pytest.mark.parametrize("name", REPORTS)
def test_every_report_prints_a_text_for_people(name: str, graph: graphir.Graph, tmp_path: Path) -> None:
    report = REPORTS[name](graph, tmp_path)
    text = str(report)
    assert text == report.to_text()
    assert "\n" in text
    assert f"{type(report).__name__}(" not in text
    assert "<pre>" in report._repr_html_()
    assert isinstance(report.to_json(), dict)


def test_a_graph_is_no_file(graph: graphir.Graph, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"save, verify and Session take a Graph.*: expected a path as text"):
        graphir.convert(graph, tmp_path / "model.onnx")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [*INSPECTED, "diff"])
def test_what_is_no_model_is_told(name: str, graph: graphir.Graph) -> None:
    arguments = (3,) if name != "diff" else (3, graph)
    with pytest.raises(ArgumentError, match="expected a Graph or the path of a model, found int"):
        getattr(graphir, name)(*arguments)


def test_names_in_a_report_are_no_markup() -> None:
    graph = graphir.Graph("<b>g</b>")
    graph.set_outputs([graph.add_parameter("w", Tensor.of(np.zeros(2, np.float32)))])
    assert "<b>" not in graphir.summary(graph)._repr_html_()


def test_a_check_names_every_gap(graph: graphir.Graph) -> None:
    other = graph.copy()
    other.replace(other.node("relu3"), Foreign("strange", "Bend", ()))
    report = graphir.check(other, target="mxnet")
    assert not report
    assert "Foreign: 1 node" in str(report)
    assert "Bend of the domain strange" in str(report)
    assert [gap["nodes"] for gap in report.to_json()["gaps"]] == [["relu3"]]
    assert graphir.check(graph, target="mxnet")


def test_a_check_makes_sizes_up_and_says_so() -> None:
    net = graphir.Graph("open")
    data, weight = net.add_input("data"), net.add_parameter("w", type_=ANYTHING)
    net.set_outputs([net.add(Add(), data, weight)])
    with pytest.raises(ImportFailure, match="sizes of 1 parameter"):
        graphir.check(net)
