"""A model's own functions: each call becomes the nodes that it stands for."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from graphir.converters.onnx import from_model, to_model
from graphir.errors import GraphirError
from tests.building import parse_model, run_model

X = np.array([[-4, 1], [2, -8]], np.float32)
LEAKY = """<domain: "own", opset_import: ["" : 17]>
        leaky <alpha: float = 0.25> (a) => (b) { b = LeakyRelu <alpha: float = @alpha> (a) }"""
PLAIN = """<domain: "own", opset_import: ["" : 17]>
        leaky <alpha> (a) => (b) { b = LeakyRelu <alpha: float = @alpha> (a) }"""
LIMIT = """<domain: "own", opset_import: ["" : 17]> limit (a, low, high) => (b) { b = Clip(a, low, high) }"""
BOTH = """<domain: "own", opset_import: ["" : 17]> both (a) => (n, a2, m) { m = Abs(a) n = Neg(m) a2 = Abs(n) }"""
BRANCH = """<domain: "own", opset_import: ["" : 17]> branch <alpha: float = 0.5> (a, c) => (b) {
        b = If (c) <then_branch = t () => (r) { r = LeakyRelu <alpha: float = @alpha> (a) },
                    else_branch = e () => (r) { s = Neg(a) r = Add(s, a) }> }"""
NESTED = """<domain: "own", opset_import: ["" : 17, "own" : 1]>
        outer <alpha: float = 0.125> (a) => (b) { t = own.leaky <alpha: float = @alpha> (a) b = Neg(t) }"""
OLDER = """<domain: "own", opset_import: ["" : 11]> sums (a) => (b) { b = ReduceSum <axes = [1], keepdims = 0> (a) }"""
SAME = """<domain: "own", opset_import: ["" : 17]> same (a) => (a) { unused = Neg(a) }"""
LEAKY_X = np.where(X < 0, X / 4, X)

CALLS = [
    ("a default", "y = own.leaky(x)", LEAKY, LEAKY_X),
    ("a default that the call overrides", "y = own.leaky<alpha = 0.5>(x)", LEAKY, np.where(X < 0, X / 2, X)),
    ("an attribute that nothing states", "y = own.leaky(x)", PLAIN, np.where(X < 0, X * np.float32(0.01), X)),
    ("an absent operand", "h = Constant<value_float = 1.5>() y = own.limit(x, , h)", LIMIT, np.minimum(X, 1.5)),
    ("operands left out", "y = own.limit(x)", LIMIT, X),
    ("results left out", "y = own.both(x)", BOTH, -np.abs(X)),
    ("a result in the middle", "p, y = own.both(x)", BOTH, np.abs(X)),
    ("an attribute inside a branch", "c = Constant<value_int = 1>() d = Cast<to = 9>(c) y = own.branch(x, d)", BRANCH,
     np.where(X < 0, X / 2, X)),
    ("a branch with the caller's names", "c = Constant<value_int = 0>() r = Cast<to = 9>(c) s = Neg(x)"
     " y = own.branch(s, r)", BRANCH, X * 0),
    ("a function in a function", "y = own.outer(x)", NESTED + LEAKY, -np.where(X < 0, X / 8, X)),
    ("called twice", "t = own.leaky(x) y = own.leaky(t)", LEAKY, np.where(X < 0, X / 16, X)),
    ("another opset than the model's", "z = own.sums(x) y = Add(z, x)", OLDER, X.sum(1) + X),
    ("a result that is an operand", "y = own.same(x)", SAME, X),
    ("inside a branch", """c = Constant<value_int = 1>() d = Cast<to = 9>(c)
        y = If (d) <then_branch = t () => (r) { r = own.leaky(x) }, else_branch = e () => (r) { r = Neg(x) }>""",
     LEAKY, LEAKY_X),
    ("a name of ONNX's own", "y = Neg(x)", '<domain: "", opset_import: ["" : 17]> Neg (a) => (b) { b = Abs(a) }',
     np.abs(X)),
]  # fmt: skip


def parsed(nodes: str, functions: str) -> onnx.ModelProto:
    """A model of these nodes from x to y, with functions."""
    text = f"g (float[N, 2] x) => (float[N, 2] y) {{ {nodes} }} {functions}"
    return parse_model(text, ir_version=10, domains={"own": 1})


def result(model: onnx.ModelProto) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """What onnxruntime gives for X."""
    return next(iter(run_model(model, {"x": X}).values()))


@pytest.mark.parametrize("nodes, functions, expected", [row[1:] for row in CALLS], ids=[row[0] for row in CALLS])
def test_calls(nodes: str, functions: str, expected: object) -> None:
    graph = from_model(parsed(nodes, functions))
    graph.check()
    assert {decision.kind for decision in graph.decisions} <= {"function inlined", "dead branch"}
    written = to_model(graph, opset=17)
    onnx.checker.check_model(written, full_check=True)
    assert not written.functions
    np.testing.assert_array_equal(result(written), np.asarray(expected, np.float32))


def test_overloads() -> None:
    model = parsed("t = own.leaky(x) y = own.leaky(t)", LEAKY + LEAKY.replace("0.25", "0.5"))
    model.functions[1].overload = model.graph.node[1].overload = "half"
    np.testing.assert_array_equal(result(to_model(from_model(model))), np.where(X < 0, X / 8, X))


def test_a_domain_that_only_a_function_imports_keeps_its_version() -> None:
    thing = '<domain: "own", opset_import: ["" : 17, "other" : 7]> f (a) => (b) { b = other.Thing(a) }'
    written = to_model(from_model(parsed("y = own.f(x)", thing)))
    assert {entry.domain: entry.version for entry in written.opset_import}["other"] == 7


def test_names_say_which_call_a_node_comes_from() -> None:
    named = '<domain: "own", opset_import: ["" : 17]> f (a) => (b) { [first] t = Neg(a) [second] b = Abs(t) }'
    graph = from_model(parsed("[call] y = own.f(x)", named))
    assert [node.name for node in graph.nodes] == ["call_first", "call_second"]
    assert [node.output.name for node in graph.nodes] == ["call_t", "y"]


LOOP = """<domain: "own", opset_import: ["" : 17, "own" : 1]> f (a) => (b) { b = own.g(a) }
          <domain: "own", opset_import: ["" : 17, "own" : 1]> g (a) => (b) { b = own.f(a) }"""
THING = '<domain: "own", opset_import: ["" : 17, "other" : {}]> {} (a) => (b) {{ b = other.Thing(a) }}'
BAD = [
    ("[n] y = own.f(x)", LOOP, "node y .*calls itself: own::f -> own::g -> own::f"),
    ("[n] y = own.leaky<beta = 1.0>(x)", LEAKY, "node n .*own::leaky.*no attribute beta"),
    ("[n] y = own.leaky(x, x)", LEAKY, "node n .*called with 2 inputs, but has 1"),
    ("[n] y, z = own.leaky(x)", LEAKY, "node n .*called with 2 outputs, but has 1"),
    ("[n] y = own.leaky(x)", LEAKY + LEAKY, "function own::leaky twice"),
    ("[n] y = own.f(x)", '<domain: "own", opset_import: ["" : 17]> f (a) => (b) { [m] b = Add(a, x) }',
     "node n .*node m.*uses x"),
    ("[n] y = own.f(x)", '<domain: "own", opset_import: ["" : 17]> f (a) => (b) { [m] c = Neg(a) }',
     "node n .*gives no y"),
    ("[n] y = own.f(x)", '<domain: "own", opset_import: ["" : 17]> f (a) => (b) { [m] b = Gelu(a) }',
     "(?s)Gelu.*n_m.*opset 17"),
    ("t = own.f(x) [n] y = own.g(t)", THING.format(1, "f") + THING.format(2, "g"),
     "domain other in version 2, .* version 1"),
]  # fmt: skip


@pytest.mark.parametrize("nodes, functions, reason", BAD, ids=[reason for *_, reason in BAD])
def test_bad_calls_are_refused_by_name(nodes: str, functions: str, reason: str) -> None:
    with pytest.raises(GraphirError, match=reason):
        from_model(parsed(nodes, functions))
