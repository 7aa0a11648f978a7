"""NaN and infinities: ONNX's own operators by default, with a decision; what MXNet gives in a strict import."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import graphir
from graphir.cli import main
from graphir.converters.mxnet import from_symbol
from graphir.converters.onnx import to_model
from tests.building import run_model
from tests.equivalence.case import Case, case, data, values

NAN, INF = float("nan"), float("inf")
SPOILED = values(1.0, NAN, INF, 2.0, shape=(1, 4))
PAIR = (values(3.0, 1e30, name="lhs"), values(4.0, 1e30, name="rhs"))

# The nodes by default and of a strict import, and what the latter gives for special values.
ROWS: tuple[tuple[Case, int, int, list[float]], ...] = (
    (case("max", "axis", SPOILED, axis=1), 1, 6, [NAN]),
    (case("_np_min", "axis", values(1.0, NAN, shape=(1, 2), name="a"), axis=1), 1, 6, [NAN]),
    (case("argmax", "axis", SPOILED, axis=1), 2, 7, [1.0]),
    (case("norm", "l2", values(1e30, 1e30, shape=(1, 2)), axis=1), 1, 8, [1.4142136e30]),
    (case("norm", "l1", values(INF, 1.0, shape=(1, 2)), axis=1, ord=1), 1, 7, [NAN]),
    (case("broadcast_hypot", "pair", *PAIR), 4, 15, [5.0, 1.4142136e30]),
    (case("sign", "nan", values(NAN, -2.0)), 1, 3, [0.0, -1.0]),
)


def run(row: Case, *, strict: bool) -> tuple[int, list[str], list[float]]:
    """Return the number of ONNX nodes, the kinds of decisions, and what onnxruntime gives."""
    dtypes = dict.fromkeys(row.arrays(), "float32")
    graph = from_symbol(row.symbol_json(), {}, row.shapes(), dtypes=dtypes, strict=strict)
    model = to_model(graph)
    (result,) = run_model(model, row.arrays()).values()
    return len(model.graph.node), [str(made.kind) for made in graph.decisions], result.ravel().tolist()


@pytest.mark.parametrize(("row", "nodes", "strict_nodes", "expected"), ROWS, ids=[row[0].name for row in ROWS])
def test_a_strict_import_keeps_special_values(row: Case, nodes: int, strict_nodes: int, expected: list[float]) -> None:
    count, kinds, _ = run(row, strict=False)
    assert (count, kinds) == (nodes, ["special values"])
    count, kinds, result = run(row, strict=True)
    assert (count, kinds) == (strict_nodes, [])
    np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_the_command_takes_strict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    symbol = tmp_path / "net-symbol.json"
    symbol.write_text(case("max", "axis", data(2, 3), axis=1).symbol_json())
    kinds = []
    for flags in ([], ["--strict"]):
        target = str(tmp_path / f"net{len(flags)}.onnx")
        assert main(["convert", str(symbol), target, "-i", "max0_data:2,3", "--json", *flags]) == 0
        kinds.append({made["kind"] for made in json.loads(capsys.readouterr().out)["decisions"]})
    assert kinds == [{"input dtype", "special values"}, {"input dtype"}]
    assert len(graphir.load(symbol, shapes={"max0_data": (2, 3)}, strict=True).nodes) == 6


def test_float16_has_room_for_squares_by_default() -> None:
    row = case("norm", "half", values(300.0, 400.0, shape=(1, 2), dtype="float16"), axis=1)
    graph = from_symbol(row.symbol_json(), {}, row.shapes(), dtypes={"norm0_data": "float16"})
    (result,) = run_model(graph, row.arrays()).values()
    assert result.tolist() == [500.0]


@pytest.mark.parametrize(("computed", "count"), [(True, 1), (False, 6)])
def test_only_regions_that_are_fed_may_be_of_no_image(computed: bool, count: int) -> None:
    row = case("ROIPooling", "fed", data(1, 2, 8, 8), data(3, 5, name="rois"), pooled_size=(2, 2), spatial_scale=1)
    symbol = json.loads(row.symbol_json())
    if computed:
        symbol["nodes"][2:2] = [{"op": "relu", "name": "boxes", "inputs": [[1, 0, 0]]}]
        symbol["nodes"][3]["inputs"] = [[0, 0, 0], [2, 0, 0]]
        symbol |= {"heads": [[3, 0, 0]], "node_row_ptr": [0, 1, 2, 3, 4]}
    graph = from_symbol(json.dumps(symbol), {}, row.shapes())
    assert len(graph.nodes) == count + computed


@pytest.mark.parametrize("other", [-1.0, 0.0])
def test_a_level_of_a_pyramid_pools_the_regions_of_its_size(other: float) -> None:
    row = case("ROIPooling", "level", data(1, 2, 8, 8), data(3, 5, name="rois"), pooled_size=(2, 2), spatial_scale=1)
    symbol = json.loads(row.symbol_json())
    nodes = [
        ("relu", "boxes", {}, [1]), ("slice_axis", "sizes", {"axis": "1", "begin": "3", "end": "4"}, [2]),
        ("reshape", "flat", {"shape": "(-1,)"}, [3]), ("_greater_scalar", "is_large", {"scalar": "4"}, [4]),
        ("ones_like", "ones", {}, [2]), ("_mul_scalar", "others", {"scalar": str(other)}, [6]),
        ("where", "chosen", {}, [5, 2, 7]),
    ]  # fmt: skip
    symbol["nodes"][2:2] = [
        {"op": op, "name": name, "attrs": attrs, "inputs": [[place, 0, 0] for place in places]}
        for op, name, attrs, places in nodes
    ]
    symbol["nodes"][9]["inputs"] = [[0, 0, 0], [8, 0, 0]]
    symbol |= {"heads": [[9, 0, 0]], "node_row_ptr": list(range(11))}
    graph = from_symbol(json.dumps(symbol), {}, row.shapes())
    regions = np.array([[0, 0, 0, 3, 3], [0, 1, 1, 7, 7], [0, 0, 0, 2, 5]], np.float32)
    feeds = {"roipooling0_data": np.ones((1, 2, 8, 8), np.float32), "roipooling0_rois": regions}
    (result,) = run_model(graph, feeds).values()
    assert result.reshape(3, -1).any(axis=1).tolist() == [other == 0, True, other == 0]
