"""Loops that are recurrent layers: what they become, the same numbers, and why others stay."""

from __future__ import annotations

import numpy as np
import pytest

from graphir.converters.onnx import to_model
from graphir.errors import GraphirError
from graphir.graph import Graph, Node
from graphir.ops.recurrent import GRU, LSTM, RNN
from graphir.passes.recurrent import loops as recurrent_loops
from graphir.passes.recurrent.loops import recognize_recurrent_loops
from graphir.types import DType
from tests.passes.written import graph_of, model_of, run, unchanged

SIZES = {"N": 4, "T": 5}
WEIGHTS = "float[3,2] w, float[2,2] r, float[2] b"
STEP = "z = MatMul(x, w) q = MatMul(h, r) p = Add(z, q) t = Add(p, b) k = Tanh(t)"


def scanned(step: str = STEP) -> str:
    """The body of a Scan over x that carries h."""
    return f"body (float[4,2] h, float[4,3] x) => (float[4,2] k, float[4,2] y) {{ {step} y = Identity(k) }}"


def looped(step: str = STEP, batch: str = "4", dtype: str = "float") -> str:
    """The body of a Loop over xs that carries h."""
    state = f"{dtype}[{batch},2]"
    return f"""body (int64 i, bool c, {state} h) => (bool d, {state} k, {state} y)
      {{ d = Identity(c) x = Gather(xs, i) {step} y = Identity(k) }}"""


def over_rows(rest: str, outputs: str, body: str = "", given: str = "", xs: str = "xs") -> str:
    """A loop of five steps that gives `last` and `all`, and what is done with them."""
    return f"""g (float[5,4,3] x_in, {WEIGHTS}{given}) => ({outputs})
      <int64 n = {{5}}, float[4,2] a = {{0,0,0,0,0,0,0,0}}, int64[1] minus = {{-1}}, int64[1] far = {{-9999999999}},
       int64[1] nought = {{0}}, int64[1] one = {{1}}, int64 end = {{-1}}>
      {{ {"xs = Slice(x_in, minus, far, nought, minus)" if xs == "turned" else "xs = Identity(x_in)"}
         last, all = Loop (n, , a) <body = {body or looped()}> {rest} }}"""


# Gates input, output, forget, new as in ONNX; x and h stand beside each other, and Gemm takes the weight transposed.
LSTM_LOOP = """g (float[T,N,3] xs, float[8,5] w, float[8] b, float[N,2] a, float[N,2] e0)
     => (float[N,2] h_last, float[N,2] e_last)
  { sizes = Shape<start = 0, end = 1>(xs) most = Squeeze(sizes) h_last, e_last = Loop (most, , a, e0) <body =
    body (int64 i, bool c, float[N,2] h, float[N,2] e) => (bool d, float[N,2] k, float[N,2] f)
    <int64[4] parts = {2, 2, 2, 2}>
    { d = Identity(c) x = Gather(xs, i) v = Concat<axis = 1>(x, h) t = Gemm<transB = 1>(v, w, b)
      m, o, g, n = Split<axis = 1>(t, parts) mi = Sigmoid(m) mo = Sigmoid(o) mf = Sigmoid(g) mn = Tanh(n)
      kept = Mul(mf, e) added = Mul(mi, mn) f = Add(added, kept) shown = Tanh(f) k = Mul(mo, shown) }> }"""
GRU_WEIGHTS = ", ".join(f"float[3,2] w{gate}, float[2,2] r{gate}" for gate in "zrn")
GRU_STEP = """xz = MatMul(x, wz) hz = MatMul(h, rz) az = Add(hz, xz) z = Sigmoid(az)
  xr = MatMul(x, wr) hr = MatMul(h, rr) ar = Add(hr, xr) s = Sigmoid(ar) ones = Constant<value_float = 1.0>()
  rest = Sub(ones, z) reset = Mul(h, s) hn = MatMul(reset, rn) xn = MatMul(x, wn) an = Add(xn, hn) fresh = Relu(an)
  new = Mul(fresh, rest) old = Mul(h, z) k = Add(new, old)"""
BRANCH = f"""g (float[5,4,3] xs, {WEIGHTS}, float[4,2] a, bool which) => (float[4,2] last)
  {{ last = If (which) <then_branch = one () => (float[4,2] u) <int64 n = {{5}}> {{ u, all = Loop (n, , a) <body =
     {looped()}> }}, else_branch = two () => (float[4,2] v) {{ v = Identity(a) }}> }}"""

TURN = "y = Slice(all, minus, far, nought, minus)"

TOLD = [
    ("scan", f"""g (float[5,4,3] xs, float[4,2] a, {WEIGHTS}) => (float[4,2] last, float[5,4,2] all)
      {{ last, all = Scan <num_scan_inputs = 1, body = {scanned()}> (a, xs) }}""", "RNN", "FORWARD"),
    ("loop", over_rows("", "float[4,2] last, float[5,4,2] all"), "RNN", "FORWARD"),
    ("last-row", over_rows("y = Gather(all, end)", "float[4,2] y"), "RNN", "FORWARD"),
    ("last-turned", over_rows("", "float[4,2] last", xs="turned"), "RNN", "REVERSE"),
    ("rows-turned", over_rows("", "float[4,2] last, float[5,4,2] all", xs="turned"), "RNN", "FORWARD"),
    ("turned-twice", over_rows(TURN, "float[5,4,2] y", xs="turned"), "RNN", "REVERSE"),
    ("turned-twice-given-twice",
     over_rows(f"{TURN} {TURN.replace('y =', 'z =')}", "float[5,4,2] y, float[5,4,2] z", xs="turned"),
     "RNN", "REVERSE"),
    ("turned-behind-transpose",
     over_rows(f"t = Transpose<perm = [1,0,2]>(all) {TURN.replace('nought', 'one').replace('all', 't')}",
               "float[4,5,2] y", xs="turned"), "RNN", "REVERSE"),
    ("turned-on-another-axis", over_rows(TURN.replace("nought", "one"), "float[5,4,2] y", xs="turned"),
     "RNN", "FORWARD"),
    ("lstm", LSTM_LOOP, "LSTM", "FORWARD"),
    ("gru", f"""g (float[5,4,3] xs, {GRU_WEIGHTS}, float[4,2] a) => (float[4,2] last, float[5,4,2] all)
      <int64 n = {{5}}> {{ last, all = Loop (n, , a) <body = {looped(GRU_STEP)}> }}""", "GRU", "FORWARD"),
    ("cut-weights", f"""g (float[5,4,3] xs, float[6,3] all_w, {WEIGHTS.partition(", ")[2]}, float[4,2] a)
        => (float[4,2] last) <int64 n = {{5}}> {{ last, all = Loop (n, , a) <body = {looped(
            "two = Constant<value_ints = [2]>() four = Constant<value_ints = [4]>() at = Constant<value_ints = [0]>() "
            "part = Slice(all_w, two, four, at) w = Transpose(part) " + STEP)}> }}""", "RNN", "FORWARD"),
    ("in-a-branch", BRANCH, "RNN", "FORWARD"),
]  # fmt: skip
IDS = [row[0] for row in TOLD]


def layers(graph: Graph) -> list[Node]:
    """The recurrent layers, those in branches too."""
    inner = [layer for node in graph.nodes for body in node.subgraphs for layer in layers(body)]
    return inner + [node for node in graph.nodes if isinstance(node.op, RNN | GRU | LSTM)]


@pytest.mark.parametrize(("text", "kind", "direction"), [row[1:] for row in TOLD], ids=IDS)
def test_loop_becomes_a_layer(text: str, kind: str, direction: str) -> None:
    graph = graph_of(text)
    names = [value.name for value in graph.outputs]
    assert recognize_recurrent_loops(graph)
    graph.check()
    assert not recognize_recurrent_loops(graph)
    assert [value.name for value in graph.outputs] == names
    (node,) = layers(graph)
    assert (node.op.name, node.op.direction.name) == (kind, direction)  # type: ignore[attr-defined]
    assert [held.kind for held in graph.decisions] == ["recurrent loop"]
    before, after = run(model_of(text), SIZES), run(to_model(graph, opset=21), SIZES)
    assert list(after) == list(before)
    for name, wanted in before.items():
        np.testing.assert_allclose(after[name], wanted, rtol=2e-5, atol=2e-6)


RNN_LOOP = over_rows("", "float[4,2] last")
STAYS = [
    ("one-step-less", RNN_LOOP.replace("n = {5}", "n = {4}")),
    ("open-length", RNN_LOOP.replace("float[5,4,3] x_in", "float[T,4,3] x_in")),
    ("condition", RNN_LOOP.replace("d = Identity(c)", "d = Not(c)")),
    ("other-rows", over_rows("", "float[4,2] last, float[5,4,2] all").replace("y = Identity(k)", "y = Neg(k)")),
    ("state-added-twice", RNN_LOOP.replace("t = Add(p, b)", "p2 = Add(p, q) t = Add(p2, b)")),
    ("one-first-row", over_rows("", "float[4,2] last", looped(batch="M")).replace(
        "float[4,2] a = {0,0,0,0,0,0,0,0}", "float[1,2] a = {1,2}")),
    ("scan-backwards", f"""g (float[5,4,3] xs, float[4,2] a, {WEIGHTS}) => (float[4,2] last)
      {{ last, all = Scan <num_scan_inputs = 1, scan_input_directions = [1], body = {scanned()}> (a, xs) }}"""),
    ("bias-by-row", RNN_LOOP.replace("Add(p, b)", "Add(p, rows)").replace("float[2] b)", "float[4,2] rows)")),
]  # fmt: skip


@pytest.mark.parametrize("text", [row[1] for row in STAYS], ids=[row[0] for row in STAYS])
def test_other_loops_stay(text: str) -> None:
    unchanged(text, recognize_recurrent_loops)


def _double(text: str) -> str:
    return text.replace("float[", "double[").replace("value_float", "value_double")


def test_dtypes_without_kernels_stay_unless_they_are_wanted() -> None:
    graph = graph_of(_double(over_rows("", "float[4,2] last")))
    assert not recognize_recurrent_loops(graph)
    assert ["it stays a loop" in held.text for held in graph.decisions] == [True]
    assert recognize_recurrent_loops(graph, dtypes=[DType.FLOAT64])
    assert len(layers(graph)) == 1


def test_layer_has_the_name_that_is_asked_for() -> None:
    graph = graph_of(over_rows("", "float[4,2] last"))
    assert recognize_recurrent_loops(graph, layer_name=lambda name: f"scope/{len(name) > 0}")
    assert [node.name for node in layers(graph)] == ["scope/True"]


def test_nothing_changes_where_types_contradict(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise GraphirError("no")

    monkeypatch.setattr(recurrent_loops, "take_place", refuse)
    graph = graph_of(TOLD[0][1])
    shown = str(graph)
    assert not recognize_recurrent_loops(graph)
    graph.check()
    assert str(graph) == shown
