"""What the sets draw for each kind of input: the same numbers everywhere, and none that a model cannot take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import TensorProto

import graphir
from graphir.converters.onnx import from_model
from graphir.errors import OutOfMemory
from graphir.graph import Graph
from graphir.inputs.draws import EDGES, MASK, NORMAL, WIDE, Draw, make_feeds, perturbed
from graphir.inputs.roles import Role, numbers_met, order_sensitive, role_of, table_of, texts_met
from graphir.inputs.sets import drawn_sets
from graphir.inputs.sizes import OpenSizes
from graphir.types import UNKNOWN, Dim, DType, TensorType, parse_shape, symbol
from graphir.verification.running.candidate import OnnxCandidate
from graphir.verification.running.noise import RoundedRuns
from tests.inputs.test_input_sets import FLOAT, INT32, INT64, Side, Types, make
from tests.verification.models import onnx_model

FOUR = (NORMAL, EDGES, WIDE, MASK)
VALUES = [
    (DType.FLOAT32, NORMAL, [0.12573022, -0.13210486, 0.64042264]),
    (DType.FLOAT32, WIDE, [1.005841732, -0.6605243087, 8.3254947662]),
    (DType.FLOAT32, MASK, [1, 1, 1]),
    (DType.INT64, NORMAL, [6, 5, 4]),
    (DType.INT64, EDGES, [5, 2, 0]),
    (DType.INT64, WIDE, [2526497193922298463, -4246685573565524191, -8467543927005779784]),
    (DType.UINT8, WIDE, [217, 163, 130]),
]


def alone(dtype: DType, shape: tuple[Dim, ...] = (3,)) -> Graph:
    graph = Graph("alone")
    graph.add_input("x", TensorType(dtype, shape))
    return graph


def drawn(graph: Graph, draw: Draw, **options: Any) -> NDArray[Any]:
    (found,) = make_feeds(graph, draw=draw, **options).values()
    return found


@pytest.mark.parametrize(("dtype", "draw", "values"), VALUES, ids=[f"{dtype}-{draw.name}" for dtype, draw, _ in VALUES])
def test_the_same_seed_draws_the_same_everywhere(dtype: DType, draw: Draw, values: list[float]) -> None:
    found = drawn(alone(dtype), draw)
    assert found.dtype == dtype.numpy()
    assert found.tolist() == np.asarray(values, found.dtype).tolist()


RANGES = [
    (DType.FLOAT32, WIDE, -50, 50, 100),
    (DType.FLOAT32, MASK, 0, 0, 1),
    (DType.INT8, WIDE, -120, 120, 127),
    (DType.INT64, WIDE, -(2**62), 2**62, 2**63 - 1),
    (DType.INT32, EDGES, -8, 7, 8),
    (DType.INT32, MASK, 0, 1, 1),
    (DType.UINT8, WIDE, 5, 250, 255),
    (DType.UINT8, EDGES, 5, 250, 255),
    (DType.INT4, WIDE, -7, 7, 7),
    (DType.UINT16, WIDE, 99, 65000, 65535),
]


@pytest.mark.parametrize(("dtype", "draw", "low", "high", "most"), RANGES)
def test_ranges(dtype: DType, draw: Draw, low: int, high: int, most: int) -> None:
    found = drawn(alone(dtype, (1000,)), draw)
    numbers = found.astype(np.float64) if dtype.is_float or dtype.bits < 8 else found
    assert int(numbers.min()) <= low
    assert int(numbers.max()) >= high
    assert float(np.abs(numbers.astype(np.float64)).max()) <= most * 2.5


def graph_of(*nodes: Any, **weights: Any) -> Graph:
    side = Side(*nodes, **weights)
    is_real = nodes[-1].op_type in ("Gather", "Relu", "ConstantOfShape", "ScatterElements")
    element = FLOAT if is_real else INT64
    return from_model(onnx_model(side.nodes, {"x": (INT64, ["N"])}, {"y": (element, None)}, side.weights))  # type: ignore[dict-item]


TABLE = np.zeros((40, 4), np.float32)
LINE = np.zeros(40, np.float32)
LOOKED_UP = [
    ([make("Gather", ["table", "x"], ["y"])], {"table": TABLE}, 40, False),
    (
        [make("Clip", ["x", "low", "high"], ["i"]), make("Gather", ["table", "i"], ["y"])],
        {"table": TABLE, "low": np.int64(0), "high": np.int64(39)},
        40,
        True,
    ),
    (
        [make("Mod", ["x", "n"], ["i"]), make("Gather", ["table", "i"], ["y"])],
        {"table": TABLE, "n": np.int64(40)},
        40,
        True,
    ),
    (
        [make("Clip", ["x", "low"], ["i"]), make("Gather", ["table", "i"], ["y"])],
        {"table": TABLE, "low": np.int64(0)},
        40,
        False,
    ),
    ([make("ScatterElements", ["line", "x", "new"], ["y"])], {"line": LINE, "new": LINE[:24]}, 40, False),
]


@pytest.mark.parametrize(
    ("nodes", "weights", "rows", "guarded"), LOOKED_UP, ids=["plain", "clip", "mod", "half", "written"]
)
def test_tables(nodes: list[Any], weights: dict[str, Any], rows: int, guarded: bool) -> None:
    graph = graph_of(*nodes, **weights)
    table = table_of(graph["x"])
    assert table is not None
    assert (table.low, table.high, table.guarded) == (0, rows - 1, guarded)
    found = drawn(graph, EDGES, shapes={"x": (24,)})
    assert {0, rows - 1} <= set(found.reshape(-1).tolist())
    assert bool(((found < 0) | (found >= rows)).any()) == guarded
    wide = drawn(graph, WIDE, shapes={"x": (24,)})
    inside = (wide >= 0) & (wide < rows)
    assert inside.any()
    assert bool((~inside).any()) == guarded, "what is led back into the table may be a number elsewhere"


SPANS = [
    ([make("Add", ["x", "three"], ["i"])], (-3, 36, -43, False)),
    ([make("Sub", ["three", "x"], ["i"])], (-36, 3, -36, False)),
    ([make("Mul", ["x", "three"], ["i"])], (0, 13, -13, False)),
    ([make("Div", ["x", "three"], ["i"])], (-2, 119, -122, False)),
    ([make("Div", ["x", "three"], ["z"]), make("Clip", ["z", "low", "high"], ["w"]), make("Add", ["w", "four"], ["i"])],
     (-14, 107, 0, True)),
    ([make("Add", ["x", "offsets"], ["i"])], (0, 9, -40, False)),
]  # fmt: skip


@pytest.mark.parametrize(("nodes", "expected"), SPANS, ids=["add", "from", "mul", "div", "clip", "offsets"])
def test_what_is_computed_with_before_a_table_is_drawn_over_its_whole_range(
    nodes: list[Any], expected: tuple[int, int, int, bool]
) -> None:
    numbers = {"three": 3, "four": 4, "low": -4, "high": 35, "offsets": [0, 10, 20, 30]}
    weights = {name: np.asarray(number, np.int64) for name, number in numbers.items()}
    graph = graph_of(*nodes, make("Gather", ["table", "i"], ["y"]), table=TABLE, **weights)
    table = table_of(graph["x"])
    assert table is not None
    assert (table.low, table.high, table.least, table.guarded) == expected
    low, high = expected[:2]
    usual = drawn(graph, NORMAL, shapes={"x": (4,) * 4}).reshape(-1)
    assert low <= usual.min()
    assert usual.max() <= high
    edges = set(drawn(graph, EDGES, shapes={"x": (4,) * 4}).reshape(-1).tolist())
    assert {low, high} <= edges
    assert expected[3] == (not edges <= set(range(low, high + 1)))


ROW = [make("Gather", ["three", "i"], ["y"])]
MOVED = [
    ("labels", [make("NegativeLogLikelihoodLoss", ["scores", "x"], ["y"], ignore_index=-100)], {-100, 0, 1, 2}),
    ("ignored", [make("Equal", ["x", "none"], ["e"]), make("Not", ["e"], ["k"]),
                 make("Where", ["k", "x", "zero"], ["i"]), *ROW], {-7, 0, 1, 2}),
    ("wrapped", [make("Less", ["x", "zero"], ["l"]), make("Add", ["x", "size"], ["a"]),
                 make("Where", ["l", "a", "x"], ["i"]), *ROW], {-3, -2, -1, 0, 1, 2}),
    ("offset", [make("Less", ["x", "zero"], ["l"]), make("Add", ["x", "none"], ["a"]),
                make("Where", ["l", "a", "x"], ["i"]), *ROW], {0, 1, 2}),
    ("picked", [make("Gather", ["x", "other"], ["i"]), *ROW], {0, 1, 2}),
    ("joined", [make("Concat", ["other", "x"], ["i"], axis=0), *ROW], {0, 1, 2}),
    ("pairs", [make("Reshape", ["x", "pairs"], ["i"]), make("GatherND", ["three", "i"], ["y"])], {0, 1}),
]  # fmt: skip


@pytest.mark.parametrize(("nodes", "expected"), [row[1:] for row in MOVED], ids=[row[0] for row in MOVED])
def test_indices_that_are_moved_or_chosen_first_stay_in_their_table(nodes: list[Any], expected: set[int]) -> None:
    numbers = {"none": -7, "zero": 0, "size": 3, "other": [1, 2], "pairs": [12, 2]}
    weights: dict[str, Any] = {name: np.asarray(number, np.int64) for name, number in numbers.items()}
    side = Side(*nodes, scores=np.zeros((24, 3), np.float32), three=np.zeros((3, 2), np.float32), **weights)
    graph = from_model(onnx_model(side.nodes, {"x": (INT64, [24])}, {"y": (FLOAT, None)}, side.weights))  # type: ignore[dict-item]
    assert {min(expected), max(expected)} <= set(drawn(graph, EDGES).tolist()) <= expected
    assert set(drawn(graph, NORMAL).tolist()) <= expected


def test_labels_do_not_count_from_the_end() -> None:
    side = Side(*MOVED[0][1], scores=np.zeros((24, 3), np.float32))
    graph = from_model(onnx_model(side.nodes, {"x": (INT64, [24])}, {"y": (FLOAT, None)}, side.weights))  # type: ignore[dict-item]
    assert set(drawn(graph, Draw("edges", rows="negative")).tolist()) == {-100, 0, 1, 2}


def test_rows_that_the_model_compares_with_are_drawn() -> None:
    """What fills up short sentences, among some thousand words."""
    nodes = [make("Equal", ["x", "pad"], ["z"]), make("Gather", ["table", "x"], ["y"])]
    graph = graph_of(*nodes, table=np.zeros((5000, 2), np.float32), pad=np.int64(3))
    assert all(3 in drawn(graph, draw, shapes={"x": (24,)}) for draw in (EDGES, MASK))


def test_the_batch_of_recurrent_layers_stands_second() -> None:
    side = Side(
        make("GRU", ["x", "w", "r"], ["", "y"], hidden_size=2), w=np.zeros((1, 6, 4), np.float32),
        r=np.zeros((1, 6, 2), np.float32),
    )  # fmt: skip
    graph = from_model(onnx_model(side.nodes, {"x": (FLOAT, [5, "N", 4])}, {"y": (FLOAT, None)}, side.weights))  # type: ignore[dict-item]
    assert [one.attempts[0]()["x"].shape[1] for one in drawn_sets(graph)(False)] == [2, 9, 5, 1]


ROLES = [
    ([make("Add", ["x", "x"], ["y"])], Role.NUMBER),
    ([make("Cast", ["x"], ["f"], to=FLOAT), make("Relu", ["f"], ["y"])], Role.NUMBER),
    ([make("Div", ["n", "x"], ["y"])], Role.DIVISOR),
    ([make("Add", ["n", "x"], ["z"]), make("Mod", ["n", "z"], ["y"])], Role.DIVISOR),
    ([make("Expand", ["n", "x"], ["y"])], Role.CONTROL),
    ([make("Tile", ["x", "n"], ["y"])], Role.NUMBER),
    ([make("Mul", ["x", "x"], ["z"]), make("Gather", ["n", "z"], ["w"]),
      make("Add", ["w", "w"], ["y"])], Role.INDEX),
    ([make("Abs", ["x"], ["z"]), make("ConstantOfShape", ["z"], ["y"])], Role.CONTROL),
]


@pytest.mark.parametrize(("nodes", "role"), ROLES, ids=[nodes[-1].op_type for nodes, _ in ROLES])
def test_roles_of_integers(nodes: list[Any], role: Role) -> None:
    graph = graph_of(*nodes, n=np.array([3], np.int64))
    assert role_of(graph["x"]) is role


@pytest.mark.parametrize("draw", FOUR, ids=lambda draw: draw.name)
def test_no_divisor_is_zero(draw: Draw) -> None:
    graph = graph_of(make("Div", ["n", "x"], ["y"]), n=np.array([3], np.int64))
    found = drawn(graph, draw, shapes={"x": (900,)})
    assert (found != 0).all()
    assert found.min() > -(2**63)


@pytest.mark.parametrize("draw", FOUR, ids=lambda draw: draw.name)
def test_what_becomes_a_shape_stays_small(draw: Draw) -> None:
    graph = graph_of(make("Expand", ["n", "x"], ["y"]), n=np.array([3], np.int64))
    found = drawn(graph, draw, shapes={"x": (900,)})
    assert set(found.reshape(-1).tolist()) == set(range(8))


def test_a_condition_is_drawn_both_ways() -> None:
    graph = Graph("conditions")
    for name in "ab":
        graph.add_input(name, TensorType(DType.BOOL, ()))
    found = [make_feeds(graph, draw=draw) for draw in (EDGES, WIDE)]
    assert [{name: bool(array) for name, array in feeds.items()} for feeds in found] == [
        {"a": False, "b": True},
        {"a": True, "b": False},
    ]


SIZES = [
    ("N, 3, H, W", {}, [(9, 3, 37, 45), (9, 3, 64, 96), (9, 3, 32, 32)]),
    ("N, 3, H, H", {}, [(9, 3, 37, 37), (9, 3, 64, 64), (9, 3, 32, 32)]),
    ("N, 3, 8, 8", {}, [(9, 3, 8, 8)]),
    ("N, 3, 8, 8", {"N": 3}, []),
    ("N, 3, H, W", {"H": 32}, [(9, 3, 32, 37), (9, 3, 32, 64), (9, 3, 32, 32)]),
    ("1, 3, 8, 8", {}, []),
    ("T, N, 4", {}, [(9, 37, 4), (9, 64, 4), (9, 32, 4)]),
]


@pytest.mark.parametrize(("shape", "settled", "expected"), SIZES)
def test_open_sizes_differ(shape: str, settled: dict[str, int], expected: list[tuple[int, ...]]) -> None:
    graph = alone(DType.FLOAT32, parse_shape(shape))
    assert [shapes["x"] for shapes in OpenSizes(graph, settled).others()] == expected


def test_open_sizes_without_a_name_differ() -> None:
    graph = alone(DType.FLOAT32, (UNKNOWN, 3, UNKNOWN, UNKNOWN))
    assert OpenSizes(graph).others()[0] == {"x": (9, 3, 37, 45)}


def test_light_sets_have_one_sample() -> None:
    graph = alone(DType.FLOAT32, parse_shape("N, 3"))
    shapes = {one.name: one.attempts[0]()["x"].shape for one in drawn_sets(graph)(True)}
    assert shapes == {"normal": (2, 3), "edges": (1, 3), "wide": (1, 3), "mask": (1, 3)}


def test_no_mask_where_equal_numbers_are_chosen_among() -> None:
    graph = from_model(
        onnx_model([make("ArgMax", ["x"], ["y"])], {"x": (FLOAT, ["N", 30])}, {"y": (INT64, None)})  # type: ignore[dict-item]
    )
    assert order_sensitive(graph) == ["ArgMax"]
    masks = drawn_sets(graph, names=("mask",))(False)
    assert len(np.unique(masks[0].attempts[0]()["x"])) == 30


def test_batches_of_one_two_five_and_nine() -> None:
    graph = alone(DType.FLOAT32, parse_shape("N, 3, 8, 8"))
    batches = [one.attempts[0]()["x"].shape[0] for one in drawn_sets(graph)(False)]
    assert batches == [2, 9, 5, 1]
    assert [one.attempts[0]()["x"].shape[0] for one in drawn_sets(graph)(True)] == [2, 1, 1, 1]


@pytest.mark.parametrize(("bound", "largest"), [(6.0, 250.0), (500.0, 1000.0), (1e30, 250.0)])
def test_wide_numbers_reach_beyond_what_the_model_compares_with(bound: float, largest: float) -> None:
    side = Side(make("Clip", ["x", "", "high"], ["y"]), high=np.float32(bound))
    graph = from_model(onnx_model(side.nodes, {"x": (FLOAT, ["N", 500])}, {"y": (FLOAT, None)}, side.weights))  # type: ignore[dict-item]
    (wide,) = drawn_sets(graph, names=("wide",))(False)
    reached = np.abs(wide.attempts[0]()["x"]).max()
    assert 0.5 * largest < reached <= largest


@pytest.mark.parametrize("bound", [3.0, 30.0, 700.0])
@pytest.mark.parametrize("seed", range(5))
def test_some_number_lies_beyond_every_constant_for_every_seed(bound: float, seed: int) -> None:
    side = Side(make("Clip", ["x", "low", "high"], ["y"]), low=np.float32(-bound), high=np.float32(bound))
    graph = from_model(onnx_model(side.nodes, {"x": (FLOAT, [3])}, {"y": (FLOAT, None)}, side.weights))  # type: ignore[dict-item]
    wide = drawn(graph, WIDE, seed=seed)
    assert wide.min() < -bound
    assert wide.max() > bound


def test_lengths_are_at_most_as_long_as_their_sequences() -> None:
    side = Side(
        make("LSTM", ["x", "w", "r", "", "lengths"], ["", "y"], hidden_size=2),
        w=np.zeros((1, 8, 4), np.float32), r=np.zeros((1, 8, 2), np.float32),
    )  # fmt: skip
    inputs: Types = {"x": (FLOAT, ["T", "N", 4]), "lengths": (INT32, ["N"])}
    graph = from_model(onnx_model(side.nodes, inputs, {"y": (FLOAT, None)}, side.weights))  # type: ignore[dict-item]
    assert OpenSizes(graph).others()[0] == {"x": (9, 11, 4), "lengths": (11,)}
    drawn_lengths = [make_feeds(graph, sizes={"T": 9, "N": 200}, draw=draw)["lengths"].tolist() for draw in FOUR]
    normal, edges, wide, mask = drawn_lengths
    assert set(normal) == set(edges) == set(range(1, 10))
    assert (normal[:2], edges[:2]) == ([9, 1], [1, 9])
    assert len(set(wide)) == 1, "equal lengths"
    assert set(mask) == {9}


def test_rows_are_counted_from_the_end_where_the_reference_is_onnx() -> None:
    graph = graph_of(make("Gather", ["table", "x"], ["y"]), table=TABLE)
    first, second = (drawn_sets(graph, names=("edges",))(False)[0].attempts[place]()["x"] for place in (0, -1))
    assert {-1, -len(TABLE)} & set(first.reshape(-1).tolist())
    assert (second >= 0).all()
    graph.metadata.clear()
    assert all((make()["x"] >= 0).all() for make in drawn_sets(graph, names=("edges",))(False)[0].attempts)


def node(op: str, name: str, *inputs: str, **attributes: str) -> dict[str, Any]:
    return {"op": op, "name": name, "inputs": inputs, "attrs": attributes}


STEPS, BATCH, WIDTH = 9, 40, 3
SEQUENCES = [
    pytest.param(node("SequenceMask", "y", "x", "n", use_sequence_length="True"), id="mask"),
    pytest.param(node("SequenceLast", "y", "x", "n", use_sequence_length="True"), id="last"),
    pytest.param(node("SequenceReverse", "y", "x", "n", use_sequence_length="True"), id="reverse"),
    pytest.param(node("softmax", "y", "x", "n", use_length="True", axis="0", dtype="float32"), id="softmax"),
]


@pytest.mark.parametrize("sequence", SEQUENCES)
@pytest.mark.parametrize("open_steps", [False, True])
def test_mxnet_lengths_are_whole_and_no_longer_than_their_sequences(
    sequence: dict[str, Any], open_steps: bool, tmp_path: Path
) -> None:
    """Beyond them MXNet writes where nothing of its own is, and its process ends."""
    rows: list[dict[str, Any]] = [{"op": "null", "name": name, "inputs": []} for name in ("x", "n")]
    places = {"x": [0, 0, 0], "n": [1, 0, 0]}
    rows.append({**sequence, "inputs": [places[name] for name in sequence["inputs"]]})
    path = tmp_path / "m-symbol.json"
    path.write_text(json.dumps({"nodes": rows, "arg_nodes": [0, 1], "heads": [[2, 0, 0]]}))
    first: Dim = symbol("T") if open_steps else STEPS
    lengths = (BATCH, WIDTH) if sequence["op"] == "softmax" else (BATCH,)
    graph = graphir.load(path, shapes={"x": (first, BATCH, WIDTH), "n": lengths})
    for draw in FOUR:
        feeds = make_feeds(graph, sizes={"T": STEPS}, draw=draw)
        assert set(feeds["n"].reshape(-1).tolist()) <= set(map(float, range(1, STEPS + 1)))
    moved = perturbed(graph, feeds)
    assert moved is not None
    assert np.array_equal(moved["n"], feeds["n"])
    assert not np.array_equal(moved["x"], feeds["x"])


def test_what_is_looked_up_as_floats_moves_weights_instead() -> None:
    """Words and lengths are floats in MXNet: none of them can be moved a little, and yet the floor has to be seen."""
    side = Side(
        make("Cast", ["words"], ["rows"], to=INT64), make("Gather", ["drawn", "rows"], ["e"]),
        make("Unsqueeze", ["n", "first"], ["lengths"]), make("Less", ["positions", "lengths"], ["kept"]),
        make("Unsqueeze", ["kept", "last"], ["mask"]), make("Where", ["mask", "e", "zero"], ["y"]),
        drawn=np.random.Generator(np.random.PCG64(3)).standard_normal((50, 4)).astype(np.float32),
        positions=np.arange(6, dtype=np.float32), first=np.array([1]), last=np.array([2]), zero=np.float32(0),
    )  # fmt: skip
    inputs: Types = {"words": (FLOAT, [2, 6]), "n": (FLOAT, [2])}
    graph = from_model(onnx_model(side.nodes, inputs, {"y": (FLOAT, None)}, side.weights))  # type: ignore[dict-item]
    feeds = make_feeds(graph)
    assert perturbed(graph, feeds) is None
    with OnnxCandidate(graph) as candidate:
        rounding = RoundedRuns(candidate, graph, feeds, 0)
        assert rounding.moves_weights
        runs = list(rounding.runs(["y"]))
    assert any(not np.array_equal(runs[0]["y"], run["y"]) for run in runs[1:])


def test_wide_numbers_have_something_in_common_at_all_places() -> None:
    found = drawn(alone(DType.FLOAT32, (2, 3, 40, 40)), WIDE)
    assert float(np.abs(found.mean(axis=(2, 3))).max()) > 20


def test_texts_are_those_that_the_model_compares_with_and_numbers() -> None:
    nodes = [make("Equal", ["x", "other"], ["y"])]
    weights, element = {"other": np.array(["a", "b"], object)}, TensorProto.STRING
    model = onnx_model(nodes, {"x": (element, [30, 1])}, {"y": (TensorProto.BOOL, None)}, weights, opset=19)  # type: ignore[dict-item]
    graph = from_model(model)
    assert texts_met(graph["x"]) == ["b", "a"]
    assert {"a", "b", "-2.5"} < set(drawn(graph, NORMAL).reshape(-1).tolist())


def test_numbers_that_an_input_cannot_be_are_not_fed() -> None:
    """A byte that is widened and compared with numbers beyond it."""
    nodes = [make("Cast", ["x"], ["wide"], to=INT64), make("Equal", ["wide", "other"], ["y"])]
    weights = {"other": np.array([-1, 16000, 7])}
    graph = from_model(onnx_model(nodes, {"x": (TensorProto.UINT8, [30, 3])}, {"y": (TensorProto.BOOL, None)}, weights))  # type: ignore[dict-item]
    assert numbers_met(graph["x"]) == [-1, 16000, 7]
    for draw in FOUR:
        assert drawn(graph, draw).dtype == np.uint8
    assert 7 in drawn(graph, MASK)


def test_an_input_that_no_array_can_be_is_too_large() -> None:
    with pytest.raises(OutOfMemory, match=r"the input x of the shape \[1099511627776, 1099511627776\] has more"):
        make_feeds(alone(DType.FLOAT32, (1 << 40, 1 << 40)))


REGIONS = [
    ("MaxRoiPool", {"pooled_shape": [2, 2], "spatial_scale": 0.5}, {"rois": [6, 5]}),
    ("RoiAlign", {"spatial_scale": 0.5}, {"rois": [6, 4], "images": [6]}),
]


@pytest.mark.parametrize(("operator", "attributes", "inputs"), REGIONS)
@pytest.mark.parametrize("draw", [NORMAL, EDGES, WIDE, MASK], ids=lambda draw: draw.name)
def test_regions_lie_in_their_images(operator: str, attributes: Any, inputs: Any, draw: Draw) -> None:
    types: Types = {"x": (FLOAT, [2, 3, 8, 12])}
    types |= {name: (INT64 if name == "images" else FLOAT, shape) for name, shape in inputs.items()}
    node = make(operator, ["x", *inputs], ["y"], **attributes)
    graph = from_model(onnx_model([node], types, {"y": (FLOAT, None)}))  # type: ignore[dict-item]
    feeds = make_feeds(graph, draw=draw)
    images = feeds["images"] if "images" in feeds else feeds["rois"][:, 0]
    assert set(images.tolist()) <= {0, 1}
    first, last = feeds["rois"][:, -4:-2], feeds["rois"][:, -2:]
    assert (first >= 0).all()
    assert (first <= last).all()
    assert (last <= [22, 14]).all()
    assert perturbed(graph, {"rois": feeds["rois"]}) is None, "a region is no measured number"
