"""Transposes: how many are left, through every operator that works in any order of axes, and the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from graphir.converters.onnx import to_model
from graphir.graph import Graph
from graphir.passes import Outcome, simplify
from graphir.passes.transposes import inverse, move_transposes
from tests.building import list_operators
from tests.passes.written import graph_of, lowered, run, unchanged

LAST, FIRST = "Transpose<perm = [0,2,3,1]>", "Transpose<perm = [0,3,1,2]>"
POOL = "MaxPool<kernel_shape = [1,1]>"
HEAD = f"p = {POOL}(x) n = {LAST}(p)"
TAIL = f"f = {FIRST}(m) y = {POOL}(f)"


def moved(graph: Graph) -> Outcome:
    """The pass, and the folding that is meant to follow it."""
    outcome = move_transposes(graph)
    outcome |= simplify(graph)
    return outcome


def between(body: str, held: str = "") -> str:
    """Operators in NHWC, from n to m, between two that want NCHW."""
    constants = f" <{held}>" if held else ""
    return f"g (float[2,3,4,5] x) => (float[a,b,c,d] y){constants} {{ {HEAD} {body} {TAIL} }}"


def ending(body: str, result: str, held: str = "") -> str:
    """Operators in NHWC, from n to the output y, behind one that wants NCHW."""
    constants = f" <{held}>" if held else ""
    return f"g (float[2,3,4,5] x) => ({result} y){constants} {{ {HEAD} {body} }}"


def ints(name: str, *numbers: int) -> str:
    return f"int64[{len(numbers)}] {name} = {{{', '.join(map(str, numbers))}}}"


C = "float[3] v = {1.0, 2.0, 3.0}"
WITHOUT = [
    ("m = Relu(n)", ""),
    ("a = Relu(n) b = Sigmoid(n) m = Add(a, b)", ""),
    ("m = Mul(n, v)", C),
    ("a = Add(v, n) m = Div(a, s)", C + ", float s = {2.0}"),
    ("m = PRelu(n, v)", C),
    ("m = Add(n, w)", "float[5,1] w = {1.0, 2.0, 3.0, 4.0, 5.0}"),
    ("m = Clip(n, s)", "float s = {0.0}"),
    ("a = Greater(n, v) m = Where(a, n, v)", C),
    ("a = Relu(n) m = Concat<axis = 3>(n, a)", ""),
    ("a = Relu(n) m = Concat<axis = -2>(n, a)", ""),
    ("a, b = Split<axis = 1, num_outputs = 2>(n) m = Add(b, a)", ""),
    ("m = Softmax(n)", ""),
    ("m = LogSoftmax<axis = 1>(n)", ""),
    ("m = ReduceMax<keepdims = 1>(n, k)", ints("k", 1, 2)),
    ("m = ReduceMax(n)", ""),
    ("a = ArgMax<axis = 3>(n) m = Cast<to = 1>(a)", ""),
    ("m = Pad(n, k)", ints("k", 0, 1, 2, 0, 0, 3, 0, 1)),
    ("m = Pad<mode = \"reflect\">(n, k, , a)", ints("k", 1, 2, 0, 1) + ", " + ints("a", 2, 1)),
    ("m = Slice(n, k, e)", ints("k", 0, 1) + ", " + ints("e", 1, 3)),
    ("m = Slice(n, k, e, a, t)", f"{ints('k', 4)}, {ints('e', 0)}, {ints('a', 2)}, {ints('t', -2)}"),
    ("m = Tile(n, k)", ints("k", 1, 2, 1, 3)),
    ("a = ReduceMin<keepdims = 1>(n, k) m = Expand(a, e)", f"{ints('k', 1)}, {ints('e', 4, 1, 1)}"),
    ("m = CumSum(n, k)", "int64 k = {1}"),
    ("a, i = TopK<axis = 3>(n, k) b = Cast<to = 1>(i) m = Add(a, b)", ints("k", 2)),
    ("m = Gather<axis = 1>(n, k)", ints("k", 2, 0)),
    ("m = Resize<mode = \"nearest\">(n, , k)", "float[4] k = {1.0, 2.0, 3.0, 1.0}"),
    ("m = Resize<mode = \"linear\">(n, , , k)", ints("k", 2, 8, 7, 3)),
    ("m = Resize<mode = \"linear\", axes = [1,2]>(n, , k)", "float[2] k = {2.0, 1.5}"),
    ("a = ReduceMax<keepdims = 0>(n, k) b = Unsqueeze(a, k) m = Mul(n, b)", ints("k", 1, 2)),
    ("a = ReduceMax<keepdims = 0>(n, k) b = Reshape(a, e) m = Mul(n, b)",
     f"{ints('k', 1, 2)}, {ints('e', -1, 1, 1, 3)}"),
    ("m = Neg(n) q = Shape(n)", ""),
]  # fmt: skip
ENDS = [
    ("y = ReduceMax<keepdims = 0>(n, k)", "float[a,b]", ints("k", 1, 2)),
    ("y = ReduceMax<keepdims = 0>(n)", "float", ""),
    ("y = ArgMin<axis = 3, keepdims = 0>(n)", "int64[a,b,c]", ""),
    ("a = ReduceMax<keepdims = 1>(n, k) y = Squeeze(a, k)", "float[a,b]", ints("k", 1, 2)),
    ("a = ReduceMax<keepdims = 1>(n, k) y = Reshape(a, e)", "float[a,b]", f"{ints('k', 1, 2)}, {ints('e', 2, 3)}"),
    ("a = ReduceMax<keepdims = 1>(n, k) y = Flatten(a)", "float[a,b]", ints("k", 1, 2)),
    ("y = Gather<axis = 3>(n, k)", "float[a,b,c]", "int64 k = {1}"),
]
KEPT = [
    # one that is needed: the sizes of what is flattened are in another order
    ("y = Flatten(n)", "float[a,b]", "", 1),
    ("y = Reshape(n, k)", "float[a,b]", ints("k", 2, -1), 1),
    ("y = ReduceMax<keepdims = 0>(n, k)", "float[a,b,c]", ints("k", 1), 1),
    ("y = Relu(n)", "float[a,b,c,d]", "", 1),
    ("y = MatMul(n, w)", "float[a,b,c,d]", "float[3,1] w = {1.0, 2.0, 3.0}", 1),
]


@pytest.mark.parametrize(("body", "held"), WITHOUT)
def test_none_is_left_between(body: str, held: str) -> None:
    graph = lowered(between(body, held), moved)
    assert "Transpose" not in list_operators(graph)


@pytest.mark.parametrize(("body", "result", "held"), ENDS)
def test_none_is_left_at_an_end_without_a_layout(body: str, result: str, held: str) -> None:
    graph = lowered(ending(body, result, held), moved)
    assert "Transpose" not in list_operators(graph)


@pytest.mark.parametrize(("body", "result", "held", "count"), KEPT)
def test_what_is_needed_stays(body: str, result: str, held: str, count: int) -> None:
    text = ending(body, result, held)
    before = graph_of(text)
    after = graph_of(text)
    moved(after)
    after.check()
    assert list_operators(after).split().count("Transpose") == count
    assert [value.name for value in after.outputs] == ["y"]
    np.testing.assert_array_equal(run(to_model(after))["y"], run(to_model(before))["y"])


def test_one_is_left_where_two_branches_share_it() -> None:
    body = "a = Flatten(n) b = Relu(n) c = Flatten(b) y = Add(a, c)"
    graph = graph_of(ending(body, "float[a,b]"))
    moved(graph)
    assert list_operators(graph).split().count("Transpose") == 1


def test_they_move_to_where_fewer_are_needed() -> None:
    graph = lowered(
        f"g (float[2,4,5,3] x, float[2,4,5,3] z) => (float[a,b,c,d] y) {{ a = {FIRST}(x) b = {FIRST}(z) "
        f"c = Add(a, b) d = Relu(c) y = {POOL}(d) }}",
        moved,
    )
    assert list_operators(graph).split().count("Transpose") == 1


@pytest.mark.parametrize(
    "text",
    [
        f"g (float[2,3,4,5] x) => (float[a,b,c,d] y) {{ p = {POOL}(x) y = {LAST}(p) }}",
        f"g (float[2,4,5,3] x) => (float[a,b,c,d] y) {{ f = {FIRST}(x) y = {POOL}(f) }}",
        f"g (float[2,4,5,3] x) => (float[a,b,c,d] y, float[a,b,c,d] z) {{ f = {FIRST}(x) y = {POOL}(f) "
        f"z = {LAST}(y) }}",
    ],
)
def test_borders_stay(text: str) -> None:
    unchanged(text, move_transposes)


def test_swaps_that_undo_themselves() -> None:
    swap = "Transpose<perm = [1,0]>"
    text = f"g (float[2,3] x) => (float[a,b] y) {{ a = {swap}(x) b = Relu(a) y = {swap}(b) }}"
    assert list_operators(lowered(text, moved)) == "Relu"


BRANCHES = (
    "m = If (c) <then_branch = one () => (float[a,b,c,d] t) { t = Relu(n) }, "
    "else_branch = two () => (float[a,b,c,d] u) { u = Neg(n) }>"
)


def test_a_subgraph_that_uses_the_value_keeps_it() -> None:
    text = between(BRANCHES).replace("x)", "x, bool c)", 1)
    graph = graph_of(text)
    moved(graph)
    graph.check()
    assert list_operators(graph).split().count("Transpose") == 2


@pytest.mark.parametrize("order", [(0, 3, 1, 2), (1, 0), (2, 0, 1), (0, 4, 1, 2, 3)])
def test_inverse(order: tuple[int, ...]) -> None:
    assert [inverse(order)[axis] for axis in order] == list(range(len(order)))


def test_a_long_chain_is_quick() -> None:
    count = 3000
    layers = " ".join(
        f"t{i} = {FIRST}(n{i}) p{i} = {POOL}(t{i}) b{i} = {LAST}(p{i}) n{i + 1} = Relu(b{i})" for i in range(count)
    )
    graph = graph_of(f"g (float[1,2,2,1] n0) => (float[a,b,c,d] n{count}) {{ {layers} }}")
    assert move_transposes(graph)
    assert list_operators(graph).split().count("Transpose") == 2
