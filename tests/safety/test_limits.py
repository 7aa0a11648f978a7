"""What a file may ask for: counted together, refused beyond the limits, raised by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import graphir
from graphir.cli import main
from graphir.converters.onnx import from_model
from graphir.errors import FormatError, GraphirError, ImportFailure
from graphir.graph import Graph
from graphir.ops.shape_parts import Split
from graphir.safety.limits import (
    Limits,
    bounded,
    charge_elements,
    charge_nodes,
    check_count,
    check_depth,
    check_expansion,
    current,
    hold_nodes,
    limited,
)
from graphir.types import DType, TensorType
from tests.attacks.mxnet_rows import node, symbol
from tests.attacks.onnx_rows import calling, doubling, parsed

SMALL = Limits(elements=10, nodes=5, expansion=2, depth=3)


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        (None, Limits()),
        ("nodes=7", Limits(nodes=7)),
        ("nodes=1_000,depth=9", Limits(nodes=1000, depth=9)),
        ({"elements": 0}, Limits(elements=0)),
        (SMALL, SMALL),
    ],
)
def test_limits_that_can_be_stated(stated: object, expected: Limits) -> None:
    assert Limits.of(stated) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stated", "text"),
    [
        ("nodse=7", "no limit 'nodse'; the limits are elements, nodes, expansion, depth"),
        ("nodes", "write name=number"),
        ("nodes=-1", "write name=number"),
        ("nodes=" + "9" * 5000, "write name=number"),
        ({"nodes": -1}, "the limit nodes is -1"),
        ({"nodes": 1.5}, "the limit nodes is 1.5"),
        ({"nodes": True}, "the limit nodes is True"),
    ],
)
def test_limits_that_are_none(stated: object, text: str) -> None:
    with pytest.raises(GraphirError, match=text):
        Limits.of(stated)  # type: ignore[arg-type]


def test_what_is_charged_counts_together() -> None:
    with limited(SMALL):
        charge_elements(6, "a")
        charge_elements(4, "b")
        with pytest.raises(FormatError, match=r"c: 11 elements, at most 10 are made.*--limits elements=NUMBER"):
            charge_elements(1, "c")


def test_nodes_may_be_made_in_proportion_to_those_of_the_file() -> None:
    with limited(SMALL):
        hold_nodes(4)
        charge_nodes(13, "calls")
        with pytest.raises(FormatError, match="at most 13"):
            charge_nodes(1, "calls")


def test_a_count_of_one_node_is_not_used_up() -> None:
    with limited(SMALL):
        check_count(5, "results")
        check_count(5, "results")
        with pytest.raises(FormatError, match="results: 6 in one node, at most 5"):
            check_count(6, "results")


def test_expansion_and_depth() -> None:
    with limited(SMALL):
        check_expansion(16, 3, "rows")
        check_depth(3, "graphs")
        with pytest.raises(FormatError, match="17 elements of 3 stored, at most 16"):
            check_expansion(17, 3, "rows")
        with pytest.raises(FormatError, match="4 levels, at most 3"):
            check_depth(4, "graphs")


def test_nothing_is_counted_outside() -> None:
    charge_nodes(10**9, "a")
    charge_elements(10**9, "a")
    graph = Graph("g")
    data = graph.add_input("x", TensorType(DType.FLOAT32, (20_000,)))
    assert len(graph.add_node(Split(20_000), (data,)).outputs) == 20_000


def test_an_inner_block_counts_on_unless_it_states_limits() -> None:
    with limited(SMALL):
        with limited():
            charge_elements(10, "a")
        with limited("elements=3"):
            charge_elements(3, "b")
            assert current().nodes == Limits().nodes
        with pytest.raises(FormatError):
            charge_elements(1, "c")


def test_each_import_counts_alone() -> None:
    first, second = (bounded(lambda: charge_elements(Limits().elements, "all")) for _ in range(2))
    first()
    second()


def test_the_command_and_the_library_raise_a_limit(tmp_path: Path) -> None:
    (tmp_path / "m-symbol.json").write_bytes(symbol(node("_arange", start=0, stop=50, step=1)))
    source, target = tmp_path / "m-symbol.json", tmp_path / "m.graphir.json"
    assert main(["convert", str(source), str(target), "--limits", "elements=49"]) == 1
    assert not target.exists()
    assert main(["convert", str(source), str(target), "--limits", "elements=50"]) == 0
    assert main(["convert", str(source), str(target), "--limits", "elements=x"]) == 2
    with pytest.raises(ImportFailure, match=r"node \(_arange\)"):
        graphir.load(source, limits={"elements": 49})
    assert graphir.load(source, limits={"elements": 50}).outputs[0].shape == (50,)


def test_functions_are_expanded_as_far_as_the_limits_go() -> None:
    model = parsed(doubling(7))
    assert len(from_model(model)) == 128
    with limited("nodes=10,expansion=2"), pytest.raises(FormatError, match="'nodes'"):
        from_model(model)
    with limited("depth=7"), pytest.raises(FormatError, match="'depth'"):
        from_model(parsed(calling(7)))


def test_one_value_stays_one_value(tmp_path: Path) -> None:
    (tmp_path / "m-symbol.json").write_bytes(symbol(node("_full", shape="(100000000,)", value=2.5)))
    graphir.convert(tmp_path / "m-symbol.json", tmp_path / "m.onnx")
    graphir.convert(tmp_path / "m-symbol.json", tmp_path / "m.graphir.json")
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 10_000
    small = tmp_path / "s-symbol.json"
    small.write_bytes(symbol(node("_full", shape="(9, 1000)", value=2.5)))
    graphir.convert(small, tmp_path / "s.onnx")
    (found,) = graphir.Session(tmp_path / "s.onnx").run({}).values()
    np.testing.assert_array_equal(found, np.full((9, 1000), 2.5, np.float32))
