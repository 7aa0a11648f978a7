"""The opset and IR version of a file: the source's own, else the lowest that says the model, with what was decided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import onnx.helper
import pytest

import graphir
from graphir.converters.onnx import from_model, to_model
from graphir.converters.onnx.exporting import choice
from graphir.converters.onnx.exporting.opsets import IR_VERSIONS, ir_version_of
from graphir.errors import UnsupportedOpError
from graphir.graph import Graph
from graphir.node import Value
from graphir.ops.activation import Gelu, Relu
from graphir.ops.base import Operator
from graphir.ops.bitwise import BitwiseAnd
from graphir.ops.detection import RoiAlign
from graphir.ops.elementwise import Add
from graphir.ops.image import ImageDecoder
from graphir.ops.indexing import CumProd
from graphir.ops.random import Multinomial, RandomUniform
from tests.building import parse_model, save_model
from tests.ops.rule import tensor

RELU = "g (float[2] x) => (float[2] y) { y = Relu(x) }"


def graph_of(*nodes: tuple[Operator, tuple[str, ...]]) -> Graph:
    """A graph of nodes that stand beside each other, with inputs of these types."""
    made = Graph("g")
    results: list[Value] = []
    for number, (op, types) in enumerate(nodes):
        operands = [made.add_input(f"i{number}{slot}", tensor(text)) for slot, text in enumerate(types)]
        results += made.add_node(op, operands, name=f"n{number}").outputs
    made.set_outputs(results)
    return made


def versions(made: Any) -> tuple[int, int]:
    """The opset and the IR version."""
    return made.opset_import[0].version, made.ir_version


def kinds(graph: Graph, kind: str) -> list[str]:
    """The decisions of a kind, as texts."""
    return [f"{made.node}: {made.text}" for made in graph.decisions if made.kind == kind]


# Opset and IR version of a source, those asked for, those written.
OWN = [(13, 7, None, (13, 7)), (13, 4, None, (13, 4)), (15, 8, None, (15, 8)), (17, 8, None, (17, 8)),
       (17, 10, None, (17, 10)), (18, 9, None, (18, 9)), (21, 10, None, (21, 10)), (23, 11, None, (23, 11)),
       (28, 14, None, (28, 14)), (9, 4, None, (13, 7)), (12, 8, None, (13, 8)), (7, 3, None, (13, 7)),
       (17, 3, None, (17, 4)), (17, 10, 17, (17, 10)), (17, 10, 18, (18, 8)), (23, 11, 17, (17, 8)),
       (9, 4, 13, (13, 7)), (17, 8, 21, (21, 10))]  # fmt: skip


@pytest.mark.parametrize("opset, ir, asked, expected", OWN)
def test_a_model_keeps_its_own(opset: int, ir: int, asked: int | None, expected: tuple[int, int]) -> None:
    graph = from_model(parse_model(RELU, opset=opset, ir_version=ir))
    assert versions(to_model(graph, opset=asked)) == expected


@pytest.mark.parametrize("opset, ir, expected", [(13, 7, (13, 7)), (18, 9, (18, 9)), (11, 6, (13, 7))])
def test_own_survives_graphir_json(opset: int, ir: int, expected: tuple[int, int], tmp_path: Path) -> None:
    source = save_model(tmp_path / "a.onnx", parse_model(RELU, opset=opset, ir_version=ir))
    graphir.convert(source, tmp_path / "b.graphir.json")
    report = graphir.convert(tmp_path / "b.graphir.json", tmp_path / "c.onnx")
    assert versions(onnx.load(tmp_path / "c.onnx")) == expected
    assert report.opset == expected[0]


@pytest.mark.parametrize("opset, count", [(11, 1), (12, 1), (13, 0), (17, 0)])
def test_raising_is_said(opset: int, count: int) -> None:
    graph = from_model(parse_model(RELU, opset=opset))
    to_model(graph)
    to_model(graph)
    assert kinds(graph, "opset") == [f"-: the model's opset {opset} becomes 13, the lowest that is written"] * count


def test_a_node_that_a_pass_added_raises_the_opset() -> None:
    graph = from_model(parse_model("g (int32[2] x) => (int32[2] y) { y = Neg(x) }", opset=15))
    node = graph.add_node(BitwiseAnd(), [graph.inputs[0], graph.outputs[0]], name="both")
    graph.set_outputs(node.outputs)
    assert versions(to_model(graph)) == (18, 8)
    assert kinds(graph, "opset") == [
        "both: BitwiseAnd takes opset 18 instead of 15: BitwiseAnd exists from opset 18 on, the target is 15"
    ]


LOWEST: list[tuple[tuple[tuple[Operator, tuple[str, ...]], ...], tuple[int, int], str]] = [
    (((Relu(), ("float32[2]",)),), (17, 8), ""),
    (((Gelu(), ("float32[2]",)),), (17, 8), ""),
    (((BitwiseAnd(), ("int32[2]", "int32[2]")),), (18, 8), "n0: BitwiseAnd takes opset 18 instead of 17"),
    (((Relu(), ("float32[2]",)), (CumProd(), ("float32[2]", "int64[]"))), (26, 13), "n1: CumProd takes opset 26"),
    (((RandomUniform((2,)), ()),), (17, 8), ""),
    (((RoiAlign(output_height=2, output_width=2), ("float32[1,1,4,4]", "float32[1,4]", "int64[1]")),), (17, 8), ""),
]


@pytest.mark.parametrize("nodes, expected, decision", LOWEST)
def test_lowest_opset_that_says_the_model(
    nodes: tuple[tuple[Operator, tuple[str, ...]], ...], expected: tuple[int, int], decision: str
) -> None:
    graph = graph_of(*nodes)
    assert versions(to_model(graph)) == expected
    assert [text[: len(decision)] for text in kinds(graph, "opset")] == [decision] * bool(decision)


def test_what_only_an_old_and_what_only_a_new_opset_runs_is_refused_together() -> None:
    graph = graph_of((RandomUniform((2,)), ()), (CumProd(), ("float32[2]", "int64[]")))
    with pytest.raises(UnsupportedOpError, match=r"RandomUniform.*no kernel for RandomUniform at opset 28"):
        to_model(graph)


@pytest.mark.parametrize("op, types, operator", [
    (RandomUniform((2,)), (), "RandomUniform"),
    (Multinomial(), ("float32[1,3]",), "Multinomial"),
    (RoiAlign(output_height=2, output_width=2), ("float32[1,1,4,4]", "float32[1,4]", "int64[1]"), "RoiAlign"),
])  # fmt: skip
def test_an_opset_that_is_asked_for_is_honoured_and_the_lack_said(
    op: Operator, types: tuple[str, ...], operator: str
) -> None:
    graph = graph_of((op, types))
    assert versions(to_model(graph, opset=23)) == (23, 11)
    (text,) = kinds(graph, "no kernel")
    assert f"has no kernel for {operator} at opset 23" in text


def test_what_never_runs_is_refused_unless_an_opset_is_asked_for() -> None:
    graph = graph_of((ImageDecoder(), ("uint8[N]",)), (Add(), ("float32[2]", "float32[2]")))
    with pytest.raises(UnsupportedOpError, match=r"(?s)1 node.*opset 17 to 28.*ImageDecoder.*n0.*no kernel.*--opset"):
        to_model(graph)
    assert versions(to_model(graph, opset=20)) == (20, 9)


def test_an_opset_that_nothing_opens_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "opening", lambda opset: [] if opset == 28 else [opset])
    graph = graph_of((Relu(), ("float32[2]",)))
    to_model(graph, opset=28)
    assert "opens opset 28" in kinds(graph, "no kernel")[0]


@pytest.mark.parametrize("entry", onnx.helper.VERSION_TABLE, ids=lambda entry: entry[0])
def test_ir_versions_are_those_of_onnx(entry: tuple[Any, ...]) -> None:
    _, ir, opset, *more = entry
    first = next(row[1] for row in onnx.helper.VERSION_TABLE if row[2] == opset)
    assert ir_version_of(opset) == first
    assert ir_version_of(opset, {"ai.onnx.ml": more[0]}) == onnx.helper.find_min_ir_version_for(
        [onnx.helper.make_opsetid("", opset), onnx.helper.make_opsetid("ai.onnx.ml", more[0])], True
    )
    assert ir <= IR_VERSIONS[0][1]


