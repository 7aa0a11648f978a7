"""Why a value has its type: steps back to what is declared or given."""

from __future__ import annotations

import json
from typing import Any

import pytest

from graphir.errors import GraphError, ShapeError
from graphir.graph import Graph
from graphir.inference import infer_outputs, trace
from graphir.inference.explain import Explanation, explain
from graphir.ops.activation import Relu
from graphir.ops.elementwise import Add, Cast
from graphir.ops.shape import Size
from graphir.types import ANYTHING, DType
from tests.inference.test_control_flow import chosen, loop, scan, steady
from tests.inference.test_engine import convolution, network, perceptron, reshaped
from tests.ops.rule import tensor


def path(found: Explanation, what: str | int) -> list[str]:
    """The facts from the answer to its first cause, each with its origin."""
    number = next(answer for answer in found.answers if found.steps[answer].what == what)
    steps = [found.steps[number]]
    while steps[-1].causes:
        steps.append(found.steps[steps[-1].causes[0]])
    return [f"{step.fact}: {step.origin}" for step in steps]


ROWS = [
    # graph, value, given shapes, dtypes, what of it, the steps
    (convolution(), "sum", {"data": "N,3,H,32"}, None, 2,
     ["sum[2] = (H+1)//2: Add sum", "bn[2] = (H+1)//2: BatchNormalization bn", "conv[2] = (H+1)//2: Conv conv",
      "data[2] = H: given"]),
    (convolution(), "sum", {"data": "N,3,H,32"}, None, 1,
     ["sum[1] = 8: Add sum", "bn[1] = 8: BatchNormalization bn", "conv[1] = 8: Conv conv", "weight[0] = 8: declared"]),
    (convolution(), "weight", {"data": "N,3,H,32"}, None, 1,
     ["weight[1] = 3: backwards from Conv conv", "data[1] = 3: given"]),
    (convolution(), "weight", {}, None, 2,
     ["weight[2] = 3: backwards from Conv conv, whatever its operands are"]),
    (convolution(), "data", {"weight": (8, 4, 3, 3)}, None, 1,
     ["data[1] = 4: backwards from Conv conv", "weight[1] = 4: given"]),
    (convolution(), "data", {"weight": (8, 4, 3, 3)}, None, 0, ["data[0] = ?: nothing fixes it"]),
    (convolution(), "skip", {}, {"data": "float16"}, "dtype",
     ["dtype of skip = float16: backwards from Add sum", "dtype of bn = float16: BatchNormalization bn",
      "dtype of conv = float16: Conv conv", "dtype of data = float16: given"]),
    (convolution(), "skip", {"data": (2, 3, 8, 8)}, None, 3,
     ["skip[3] = 4: backwards from Add sum", "bn[3] = 4: BatchNormalization bn", "conv[3] = 4: Conv conv",
      "data[3] = 8: given"]),
    (perceptron(), "data", {"fc2_relu": (5, None)}, None, 0,
     ["data[0] = 5: backwards from Gemm fc1", "fc1[0] = 5: backwards from Relu fc1_relu",
      "fc1_relu[0] = 5: backwards from Gemm fc2", "fc2[0] = 5: backwards from Relu fc2_relu",
      "fc2_relu[0] = 5: given"]),
    (perceptron(), "fc2", {"data": (5, 7)}, None, 1, ["fc2[1] = 3: Gemm fc2", "fc2_weight[0] = 3: declared"]),
    (reshaped("float32[N, 3, 4]")[0], "y", None, None, 0,
     ["y[0] = N: Reshape y", "elements of wanted = [N, -1]: Concat wanted", "elements of first = [N]: Gather first",
      "elements of shape = [N, 3, 4]: Shape shape", "x[0] = N: declared"]),
    (chosen(), "y", {"x": (4, 5)}, None, 0,
     ["y[0] = 4: If if", "twice[0] = 4: Concat twice", "x[0] = 4: given"]),
    (loop(steady, 7), "stacked0", {"x": "N,3"}, None, 0,
     ["stacked0[0] = 7: Loop loop", "elements of const = 7: the parameter's own"]),
    (loop(steady, 7), "stacked0", {"x": "N,3"}, None, 1,
     ["stacked0[1] = N: Loop loop", "next[0] = N: Neg next", "v[0] = N: Loop loop", "x[0] = N: given"]),
    (loop(steady, 7), "next", {"x": "N,3"}, None, 0,
     ["next[0] = N: Neg next", "v[0] = N: Loop loop", "x[0] = N: given"]),
    (scan((1,)), "rows", {"x": (4, 7)}, None, 0, ["rows[0] = 7: Scan scan", "x[1] = 7: given"]),
    (scan((1,)), "rows", {"x": ("H", 7)}, None, 1,
     ["rows[1] = H: Scan scan", "out[0] = H: Neg out", "row[0] = H: Scan scan", "x[0] = H: given"]),
]  # fmt: skip


@pytest.mark.parametrize(("graph", "value", "shapes", "dtypes", "what", "expected"), ROWS)
def test_steps(
    graph: Graph,
    value: str,
    shapes: dict[str, Any] | None,
    dtypes: dict[str, str] | None,
    what: int | str,
    expected: list[str],
) -> None:
    assert path(explain(graph, value, shapes, dtypes), what) == expected


def test_all_operands_that_a_size_needs_are_causes() -> None:
    found = explain(reshaped("float32[N, 3, 4]")[0], "y")
    step = found.steps[found.answers[1]]
    assert step.fact == "y[1] = 12"
    assert [found.steps[cause].fact for cause in step.causes] == [
        "x[0] = N", "x[1] = 3", "x[2] = 4", "elements of wanted = [N, -1]"
    ]  # fmt: skip


def test_elements_are_explained_too() -> None:
    graph = Graph("count")
    size = graph.add(Size(), graph.add_input("x", tensor("float32[N, 2]")), name="size")
    graph.add(Add(), size, graph.constant(3), name="more")
    assert path(explain(graph, "more"), "elements") == [
        "elements of more = 2*N+3: Add more", "elements of size = 2*N: Size size", "x[0] = N: declared"
    ]  # fmt: skip


def test_a_dtype_that_was_assumed() -> None:
    graph = Graph("assumed")
    x = graph.add_input("x", ANYTHING)
    x.graph.retype(x, tensor("float32[...]"))
    graph.add(Relu(), x, name="y")
    assert path(explain(graph, "y", {"x": (2,)}), "dtype") == [
        "dtype of y = float32: Relu y", "dtype of x = float32: assumed, as nothing states it"
    ]  # fmt: skip


def test_an_operator_alone_fixes_a_dtype() -> None:
    graph = Graph("cast")
    graph.add(Cast(DType.INT8), graph.add_input("x", tensor("float32[2]")), name="y")
    assert path(explain(graph, "y"), "dtype") == ["dtype of y = int8: Cast y, whatever its operands are"]


TEXT = """
a_59: float32[N, 8, 8, 8]
  a_59[0] = N   Add a
    ... 299 nodes pass it on, t to c; 60 other operand(s) on the way say the same
    data[0] = N   declared
  a_59[1] = 8   Add a
    ... 4 nodes pass it on, t to c
    w[0] = 8   the parameter's own
  a_59[2] = 8   Add a
    ... 299 nodes pass it on, t to c
    data[2] = 8   declared
  a_59[3] = 8   Add a
    ... 299 nodes pass it on, t to c
    data[3] = 8   declared
  dtype of a_59 = float32   Add a
    ... 299 nodes pass it on, t to c
    dtype of data = float32   declared
"""


def test_the_text_is_short_for_long_ways() -> None:
    assert str(explain(network(300), "a_59")) == TEXT.strip()


def test_what_was_told_is_not_told_again() -> None:
    text = str(explain(reshaped("float32[N, 3, 4]")[0], "y"))
    assert text.count("elements of shape = ") == 1
    assert "elements of wanted = [N, -1]   (see above)" in text


def test_json() -> None:
    found = explain(convolution(), "conv", {"data": "N,3,H,32"}).to_json()
    assert json.loads(json.dumps(found)) == found
    assert found["type"] == "float32[N, 8, (H+1)//2, 16]"
    answers = [found["steps"][number] for number in found["answers"]]
    assert [(step["what"], step["content"], step["source"]) for step in answers] == [
        (0, "N", "rule"), (1, "8", "rule"), (2, "(H+1)//2", "rule"), (3, "16", "rule"), ("dtype", "float32", "rule")
    ]  # fmt: skip
    assert answers[0]["direction"] == "forward"
    assert all(max(step["causes"], default=-1) < number for number, step in enumerate(found["steps"]))


def residual(blocks: int) -> Graph:
    """Blocks that are alike: a sum of the last value and itself, one of that and the block's input, and a Relu."""
    graph = Graph("residual")
    value = graph.add_input("x", tensor("float32[N, 4]"))
    for number in range(blocks):
        twice = graph.add(Add(), value, value, name=f"twice{number}")
        both = graph.add(Add(), twice, value, name=f"both{number}")
        value = graph.add(Relu(), both, name=f"relu{number}")
    graph.set_outputs([value])
    return graph


def test_nodes_that_are_alike_are_asked_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def noted(*view: Any) -> Any:
        asked.append(view)
        return infer_outputs(*view)

    monkeypatch.setattr(trace, "infer_outputs", noted)
    found = explain(residual(300), "relu299")
    assert len(found.steps) == 3 * 901
    assert len(asked) < 100


@pytest.mark.parametrize(("name", "causes"), [
    ("twice7", ["relu6[0] = N"]), ("both7", ["twice7[0] = N", "relu6[0] = N"]), ("relu7", ["both7[0] = N"]),
])  # fmt: skip
def test_alike_nodes_name_their_own_operands(name: str, causes: list[str]) -> None:
    found = explain(residual(9), name)
    (step,) = [found.steps[answer] for answer in found.answers if found.steps[answer].what == 0]
    assert [found.steps[cause].fact for cause in step.causes] == causes


@pytest.mark.parametrize(("graph", "name", "error", "text"), [
    (perceptron(), "nothing", GraphError, "no value 'nothing'"),
    (loop(steady), "v", None, ""), (loop(steady), "loop.body/v", None, ""),
    (perceptron(), "data", ShapeError, "fc1"),
])  # fmt: skip
def test_names(graph: Graph, name: str, error: type[Exception] | None, text: str) -> None:
    if error is None:
        assert explain(graph, name).value == "v"
        return
    with pytest.raises(error, match=text):
        explain(graph, name, {"data": (1, 2, 3)} if error is ShapeError else None)
