"""Inference through the subgraphs of If, Loop, Scan and SequenceMap, with shapes given at insertion or later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from graphir.errors import ShapeError
from graphir.graph import Graph, Value
from graphir.inference import infer, infer_graph, infer_types
from graphir.ops.control import If, Loop, Scan
from graphir.ops.elementwise import Add, Greater, Identity, Neg
from graphir.ops.linear import MatMul
from graphir.ops.sequence import SequenceMap
from graphir.ops.shape import Reshape, Shape, Transpose
from graphir.ops.shape_parts import Concat
from graphir.tensor import Tensor
from graphir.types import DType, SequenceType
from tests.ops.rule import tensor


def branch(graph: Graph, name: str, build: Callable[[Graph], Value]) -> Graph:
    inner = Graph(name, parent=graph)
    inner.set_outputs([build(inner)])
    return inner


def chosen(condition: object = None) -> Graph:
    """If: x joined with itself, or turned."""
    graph = Graph("chosen")
    x = graph.add_input("x", tensor("float32[...]"))
    flag = graph.add_input("flag", tensor("bool[]")) if condition is None else graph.constant(condition, DType.BOOL)
    branches = [
        branch(graph, "joined", lambda inner: inner.add(Concat(1), x, x, name="twice")),
        branch(graph, "turned", lambda inner: inner.add(Transpose((0, 1)), x, name="same")),
    ]
    graph.set_outputs([graph.add_node(If(1), [flag], name="if", output_names=["y"], subgraphs=branches).output])
    return graph


def loop(
    build: Callable[[Graph, Value], tuple[Value, list[Value]]],
    trips: object = None,
    start: str = "float32[2, 3]",
    condition: Callable[[Graph, Value], Value] | None = None,
) -> Graph:
    """Loop over one carried value `v`, which starts as the input `x`; `build` gives its next and further slices."""
    graph = Graph("loop")
    x = graph.add_input("x", tensor(start))
    limit = graph.add_input("m", tensor("int64[]")) if trips is None else graph.constant(trips, DType.INT64)
    body = Graph("body", parent=graph)
    body.add_input("i", tensor("int64[]"))
    going = body.add_input("going", tensor("bool[]"))
    carried = body.add_input("v", tensor("?[...]"))
    following, slices = build(body, carried)
    goes_on = body.add(Identity(), going, name="goes_on") if condition is None else condition(body, following)
    body.set_outputs([goes_on, following, *slices])
    names = ["last", *(f"stacked{place}" for place in range(len(slices)))]
    made = graph.add_node(Loop(len(names)), [limit, None, x], name="loop", output_names=names, subgraphs=[body])
    graph.set_outputs(made.outputs)
    return graph


def steady(body: Graph, carried: Value) -> tuple[Value, list[Value]]:
    made = body.add(Neg(), carried, name="next")
    return made, [made]


def growing(body: Graph, carried: Value) -> tuple[Value, list[Value]]:
    made = body.add(Concat(0), carried, carried, name="next")
    return made, [body.add(Shape(), made, name="size")]


def widening(body: Graph, carried: Value) -> tuple[Value, list[Value]]:
    row = body.add_parameter("row", Tensor.of([[1.0, 2.0, 3.0]], DType.FLOAT32))
    return body.add(Concat(0), carried, row, name="next"), []


def stops(body: Graph, following: Value) -> Value:
    zero = body.constant(0.0, DType.FLOAT32)
    return body.add(Greater(), following, zero, name="goes_on")


ROWS = [
    # graph, given shapes, what follows
    (chosen(), {"x": (4, 5)}, {"y": "float32[4, ?]"}), (chosen(), {"x": "N,5"}, {"y": "float32[N, ?]"}),
    (chosen(), {"x": None}, {"y": "float32[...]"}),
    (chosen(True), {"x": (4, 5)}, {"y": "float32[4, 10]"}), (chosen(False), {"x": (4, 5)}, {"y": "float32[4, 5]"}),
    (loop(steady), {}, {"last": "float32[2, 3]", "stacked0": "float32[?, 2, 3]"}),
    (loop(steady, 7), {}, {"last": "float32[2, 3]", "stacked0": "float32[7, 2, 3]"}),
    (loop(steady, 0), {}, {"last": "float32[2, 3]", "stacked0": "float32[0, 2, 3]"}),
    (loop(steady, 7), {"x": "N,H,W"}, {"last": "float32[N, H, W]", "stacked0": "float32[7, N, H, W]"}),
    (loop(steady, 7, "float32[...]"), {}, {"last": "float32[...]", "stacked0": "float32[...]"}),
    (loop(growing), {}, {"last": "float32[?, 3]", "stacked0": "int64[?, 2]"}),
    (loop(growing, 3), {}, {"last": "float32[16, 3]", "stacked0": "int64[3, 2]"}),
    (loop(growing, 3), {"x": "N,4"}, {"last": "float32[8*N, 4]"}),
    (loop(growing, 1000), {}, {"last": "float32[?, 3]", "stacked0": "int64[1000, 2]"}),
    (loop(widening, 5), {}, {"last": "float32[7, 3]"}), (loop(widening), {}, {"last": "float32[?, 3]"}),
    (loop(widening, 5), {"x": "N,3"}, {"last": "float32[N+5, 3]"}),
    (loop(steady, 7, "float32[]", stops), {}, {"last": "float32[]", "stacked0": "float32[?]"}),
]  # fmt: skip


@pytest.mark.parametrize(("graph", "given", "expected"), ROWS)
def test_results(graph: Graph, given: dict[str, Any], expected: dict[str, str]) -> None:
    found = infer_types(graph, given)
    assert {name: str(found[name]) for name in expected} == expected


def conditional(start: object, after: object) -> Graph:
    """A loop without a limit over a value that grows, whose condition is a constant, before it and in it."""
    graph = Graph("conditional")
    x = graph.add_input("x", tensor("float32[2, 3]"))
    body = Graph("body", parent=graph)
    body.add_input("i", tensor("int64[]"))
    going, carried = body.add_input("going", tensor("bool[]")), body.add_input("v", tensor("?[...]"))
    on = body.add(Identity(), going if after is None else body.constant(after, DType.BOOL), name="on")
    following = body.add(Concat(0), carried, carried, name="next")
    body.set_outputs([on, following, following])
    operands = [None, None if start is None else graph.constant(start, DType.BOOL), x]
    graph.add_node(Loop(2), operands, name="loop", output_names=["last", "all"], subgraphs=[body])
    return graph


@pytest.mark.parametrize(("start", "after", "expected"), [
    (False, None, ["float32[2, 3]", "float32[0, ?, 3]"]), (True, False, ["float32[4, 3]", "float32[1, 4, 3]"]),
    (None, False, ["float32[4, 3]", "float32[1, 4, 3]"]), (None, None, ["float32[?, 3]", "float32[?, ?, 3]"]),
    (False, True, ["float32[2, 3]", "float32[0, ?, 3]"]),
])  # fmt: skip
def test_conditions_that_are_known(start: bool | None, after: bool | None, expected: list[str]) -> None:
    graph = conditional(start, after)
    assert [str(graph[name].type) for name in ("last", "all")] == expected


def test_results_at_insertion_are_stored_as_well_as_what_is_inside() -> None:
    graph = loop(growing, 2)
    body = graph.nodes[0].subgraphs[0]
    assert [str(graph["last"].type), str(body["v"].type), str(body["next"].type)] == [
        "float32[8, 3]", "float32[?, 3]", "float32[?, 3]"
    ]  # fmt: skip
    graph.retype(graph["x"], tensor("float32[N, 5]"), tensor("float32[N, 5]"))
    for name in ("last", "stacked0"):
        graph.retype(graph[name], tensor("?[...]"))
    assert infer_graph(graph)
    assert [str(graph["last"].type), str(body["next"].type)] == ["float32[4*N, 5]", "float32[?, 5]"]
    graph.check()


def test_inner_values_of_a_run_beside_the_graph() -> None:
    graph = chosen()
    run = infer(graph, {"x": (4, 5)})
    joined, turned = graph.nodes[0].subgraphs
    assert [str(run.types[joined["twice"]]), str(run.types[turned["same"]])] == ["float32[4, 10]", "float32[4, 5]"]
    assert str(joined["twice"].type) == "float32[...]"


def nested() -> Graph:
    """A loop whose body chooses, by a flag from outside, between two ways to go on."""
    graph = Graph("nested")
    flag = graph.add_input("flag", tensor("bool[]"))
    x = graph.add_input("x", tensor("float32[...]"))
    body = Graph("body", parent=graph)
    body.add_input("i", tensor("int64[]"))
    going = body.add_input("going", tensor("bool[]"))
    carried = body.add_input("v", tensor("?[...]"))
    branches = [
        branch(body, "negated", lambda inner: inner.add(Neg(), carried, name="negative")),
        branch(body, "added", lambda inner: inner.add(Add(), carried, x, name="sum")),
    ]
    made = body.add_node(If(1), [flag], name="if", output_names=["next"], subgraphs=branches).output
    body.set_outputs([body.add(Identity(), going, name="goes_on"), made])
    graph.set_outputs(
        graph.add_node(Loop(1), [graph.constant(3), None, x], name="loop", output_names=["y"], subgraphs=[body]).outputs
    )
    return graph


@pytest.mark.parametrize(("given", "expected"), [({"x": (2, 3)}, "float32[2, 3]"), ({"x": "N,3"}, "float32[N, 3]")])
def test_nested(given: dict[str, Any], expected: str) -> None:
    assert str(infer_types(nested(), given)["y"]) == expected


def test_a_shape_that_comes_from_behind_reaches_the_body() -> None:
    """The input's shape follows backwards from a later node; the loop before it is inferred again."""
    graph = loop(steady, 4, "float32[...]")
    last = graph.add(Add(same_shape=True), graph["x"], graph.add_input("side", tensor("float32[5, 6]")), name="sum")
    graph.set_outputs([*graph.outputs, last])
    found = infer_types(graph)
    assert [str(found["x"]), str(found["last"]), str(found["stacked0"])] == [
        "float32[5, 6]", "float32[5, 6]", "float32[4, 5, 6]"
    ]  # fmt: skip


def scan(axes: tuple[int, ...] = (), output_axes: tuple[int, ...] = (), state: str = "float32[4]") -> Graph:
    """Scan: a running sum over the rows of x, each of which is given out too, turned around."""
    graph = Graph("scan")
    start, x = graph.add_input("start", tensor(state)), graph.add_input("x", tensor("float32[...]"))
    body = Graph("body", parent=graph)
    total, row = body.add_input("total", tensor("?[...]")), body.add_input("row", tensor("?[...]"))
    body.set_outputs([body.add(Add(), total, row, name="next"), body.add(Neg(), row, name="out")])
    op = Scan(1, 2, scan_input_axes=axes, scan_output_axes=output_axes)
    made = graph.add_node(op, [start, x], name="scan", output_names=["last", "rows"], subgraphs=[body])
    graph.set_outputs(made.outputs)
    return graph


@pytest.mark.parametrize(("graph", "given", "expected"), [
    (scan(), {"x": (7, 4)}, ["float32[4]", "float32[7, 4]"]), (scan(), {"x": "T,4"}, ["float32[4]", "float32[T, 4]"]),
    (scan((1,)), {"x": (4, 7)}, ["float32[4]", "float32[7, 4]"]),
    (scan((1,), (1,)), {"x": (4, 7)}, ["float32[4]", "float32[4, 7]"]),
    (scan((-1,), (-1,)), {"x": ("H", 7)}, ["float32[4]", "float32[H, 7]"]),
    (scan(), {"x": None}, ["float32[4]", "float32[...]"]),
])  # fmt: skip
def test_scan(graph: Graph, given: dict[str, Any], expected: list[str]) -> None:
    found = infer_types(graph, given)
    assert [str(found["last"]), str(found["rows"])] == expected


def test_sequence_map() -> None:
    graph = Graph("map")
    parts = graph.add_input("parts", SequenceType(tensor("float32[N, 3]")))
    weight = graph.add_input("w", tensor("float32[3, 5]"))
    body = Graph("body", parent=graph)
    body.set_outputs([body.add(MatMul(), body.add_input("part", tensor("?[...]")), weight, name="product")])
    made = graph.add_node(SequenceMap(1), [parts], name="map", output_names=["y"], subgraphs=[body])
    assert str(made.output.type) == "sequence(float32[N, 5])"


def reshaped() -> Graph:
    """A branch reshapes what is around it to a size that is computed from another value around it."""
    graph = Graph("reshaped")
    flag = graph.add_input("flag", tensor("bool[]"))
    x, like = graph.add_input("x", tensor("float32[...]")), graph.add_input("like", tensor("float32[...]"))
    wanted = graph.add(Shape(), like, name="wanted")
    branches = [branch(graph, name, lambda inner: inner.add(Reshape(), x, wanted, name="fit")) for name in "ab"]
    graph.set_outputs([graph.add_node(If(1), [flag], name="if", output_names=["y"], subgraphs=branches).output])
    return graph


def test_sizes_that_are_computed_around_a_branch() -> None:
    assert str(infer_types(reshaped(), {"x": (6, 4), "like": ("N", 8)})["y"]) == "float32[N, 8]"


BAD = [
    # graph, given shapes, words of the error: both nodes, both sides, the subgraph
    (reshaped(), {"x": (6, 4), "like": (5, 5)}, ["node if", "subgraph a", "node fit", "x: float32[6, 4]", "[5, 5]",
                                                 "node wanted"]),
    (scan(state="float32[1]"), {"x": (7, 4)}, ["node scan", "start: float32[1]", "x: float32[7, 4]"]),
    (scan(), {"x": (7, 5)}, ["node scan", "subgraph body", "node next", "total: float32[4]", "row: float32[5]"]),
    (chosen(), {"x": (4,)}, ["node if", "subgraph joined", "node twice", "x: float32[4]"]),
]  # fmt: skip


@pytest.mark.parametrize(("graph", "given", "words"), BAD)
def test_contradictions_inside(graph: Graph, given: dict[str, tuple[int, ...]], words: list[str]) -> None:
    with pytest.raises(ShapeError) as caught:
        infer_types(graph, given)
    assert [word for word in words if word not in str(caught.value)] == []


def test_a_branch_that_never_runs_need_not_fit() -> None:
    assert str(infer_types(chosen(True), {"x": (4, 5)})["y"]) == "float32[4, 10]"
    with pytest.raises(ShapeError, match="subgraph joined"):
        infer_types(chosen(True), {"x": (4,)})
    graph = Graph("dead")
    x = graph.add_input("x", tensor("float32[4]"))
    branches = [
        branch(graph, "live", lambda inner: inner.add(Neg(), x, name="n")),
        branch(graph, "dead", lambda inner: inner.add(Transpose((0,)), x, name="t")),
    ]
    flag = graph.constant(True, DType.BOOL)
    graph.set_outputs([graph.add_node(If(1), [flag], name="if", output_names=["y"], subgraphs=branches).output])
    graph.retype(x, tensor("float32[4, 5]"), tensor("float32[4, 5]"))
    assert str(infer_types(graph)["y"]) == "float32[4, 5]"


def test_a_value_that_a_loop_only_hands_on_keeps_its_elements() -> None:
    """The carried shape vector does not change, so that what is reshaped by it behind the loop has known sizes."""
    graph = Graph("kept")
    x = graph.add_input("x", tensor("float32[N, 6]"))
    body = Graph("body", parent=graph)
    body.add_input("i", tensor("int64[]"))
    going, shape = body.add_input("going", tensor("bool[]")), body.add_input("shape", tensor("int64[2]"))
    body.set_outputs([body.add(Identity(), going, name="on"), body.add(Identity(), shape, name="same")])
    start = graph.add(Shape(), x, name="start")
    made = graph.add_node(Loop(1), [None, None, start], name="loop", output_names=["kept"], subgraphs=[body])
    assert str(graph.add(Reshape(), x, made.output, name="y").type) == "float32[N, 6]"
