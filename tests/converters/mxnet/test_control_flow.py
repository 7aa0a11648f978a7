"""MXNet's `_foreach`, `_while_loop` and `_cond`: imported, they compute what live MXNet and the reference compute."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from graphir.converters.mxnet import from_symbol, to_symbol
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.onnx import from_model, to_model
from graphir.errors import UnsupportedOpError, VerificationError
from tests.converters.mxnet.exporting import Array, difference, mxnet_outputs, onnxruntime_outputs
from tests.equivalence.live import Live
from tests.passes.written import feed, graph_of, model_of

Node = dict[str, Any]


def symbol(*lines: str, heads: str, inside: Mapping[str, Sequence[dict[str, Any]]] | None = None) -> dict[str, Any]:
    """A symbol from lines `name = op(inputs) key=value ...`; a line that is a name alone is a variable."""
    nodes: list[Node] = []
    places: dict[str, int] = {}
    for line in lines:
        name, _, call = (part.strip() for part in line.partition("="))
        op, _, rest = call.partition("(")
        operands, _, attributes = rest.partition(")")
        node: Node = {"op": op or "null", "name": name, "inputs": [_entry(places, one) for one in operands.split()]}
        if attributes.strip():
            node["attrs"] = dict(pair.split("=") for pair in attributes.replace(", ", ",").split())
        if inside and name in inside:
            node["subgraphs"] = list(inside[name])
        places[name] = len(nodes)
        nodes.append(node)
    variables = [index for index, node in enumerate(nodes) if node["op"] == "null"]
    return {"nodes": nodes, "arg_nodes": variables, "node_row_ptr": list(range(len(nodes) + 1)),
            "heads": [_entry(places, one) for one in heads.split()]}  # fmt: skip


def _entry(places: Mapping[str, int], text: str) -> list[int]:
    name, _, slot = text.partition(":")
    return [places[name], int(slot or 0), 0]


@dataclass(frozen=True)
class Row:
    """A symbol and what it runs on. `rows` says how many rows of an output count, where MXNet leaves others open."""

    name: str
    document: dict[str, Any]
    arrays: Mapping[str, Array]
    rows: Mapping[int, int] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The symbol's JSON."""
        return json.dumps({**self.document, "attrs": {"mxnet_version": ["int", 10901]}})

    def counting(self, outputs: Sequence[Array]) -> list[Array]:
        """The rows of each output that count."""
        return [array[: self.rows.get(slot, len(array))] for slot, array in enumerate(outputs)]


def drawn(**shapes: tuple[int, ...]) -> dict[str, Array]:
    """Fixed numbers."""
    generator = np.random.Generator(np.random.PCG64(7))
    return {name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


RUNNING = symbol("d", "w", "p = broadcast_mul(d w)", "s", "o = elemwise_add(p s)", "q = _mul_scalar(o) scalar=2",
                 "n = elemwise_add(s d)", "t", "u = _plus_scalar(t) scalar=1", heads="o q n u")  # fmt: skip
FOREACH = "in_data_locs=[0] in_state_locs=[2,3] remain_locs=[1] num_args=5 num_out_data=2 num_outputs=4"
CELL = symbol("x", "w", "b", "i = FullyConnected(x w b) num_hidden=3", "h", "v",
              "r = FullyConnected(h v) num_hidden=3 no_bias=True", "g = elemwise_add(i r)",
              "a = Activation(g) act_type=tanh", "c = _copy(a)", heads="a c")  # fmt: skip
CHOOSE = [symbol("k", "p = _copy(k)", heads="p"), symbol("x", "e = exp(x)", "w", "c = _copy(w)", heads="e c"),
          symbol("x", "m = _mul_scalar(x) scalar=2", "c = _copy(x)", heads="m c")]  # fmt: skip
COND = "cond_input_locs=[0] then_input_locs=[1,2] else_input_locs=[1] num_args=6 num_outputs=2"
COUNTING = [symbol("i", "b = _lesser_scalar(i) scalar=3", heads="b"),
            symbol("s", "o = _mul_scalar(s) scalar=2", "i", "n = _plus_scalar(i) scalar=1",
                   "t = broadcast_add(s i)", heads="o n t")]  # fmt: skip
WHILE = "cond_input_locs=[0] func_input_locs=[1,0] func_var_locs=[1,0] max_iterations={most} num_args=4 {outs}"
SILENT = [COUNTING[0], symbol("s", "i", "n = _plus_scalar(i) scalar=1", "t = broadcast_add(s i)", heads="n t")]
# MXNet 1.9.1 infers no shapes through a _cond inside a _foreach, and refuses what its own API builds of them.
NOT_IN_MXNET = {"branch_in_a_loop"}
GROWING = [symbol("s", "t = sum(s)", "b = _lesser_scalar(t) scalar=40", heads="b"),
           symbol("s", "w", "o = elemwise_mul(s w)", "i", "c = _copy(i)", "n = elemwise_add(s w)",
                  heads="o c n")]  # fmt: skip
ROWS = [
    Row("foreach", symbol("x", "s", "t", "w", f"f = _foreach(x s t w) {FOREACH}", heads="f:0 f:1 f:2 f:3",
                          inside={"f": [RUNNING]}), drawn(x=(3, 2), s=(2,), t=(4,), w=(1,))),
    Row("foreach_of_a_vector", symbol("x", "s", "t", "w", f"f = _foreach(x s t w) {FOREACH}", heads="f:0 f:2",
                                      inside={"f": [RUNNING]}), drawn(x=(3,), s=(1,), t=(4,), w=(1,))),
    Row("foreach_without_states", symbol(
        "x", "y", "f = _foreach(x y) in_data_locs=[0,1] in_state_locs=[] remain_locs=[] num_args=3 num_out_data=1 "
        "num_outputs=1", "z = _mul_scalar(f) scalar=3", heads="z",
        inside={"f": [symbol("a", "b", "c = elemwise_mul(a b)", heads="c")]}), drawn(x=(3, 2), y=(3, 2))),
    Row("recurrent_cell", symbol(
        "x", "h", "w", "b", "v", "f = _foreach(x h w b v) in_data_locs=[0] in_state_locs=[3] remain_locs=[1,2,4] "
        "num_args=6 num_out_data=1 num_outputs=2", heads="f:0 f:1", inside={"f": [CELL]}),
        drawn(x=(4, 2, 5), h=(2, 3), w=(3, 5), b=(3,), v=(3, 3))),
    Row("branch_in_a_loop", symbol(
        "x", "s", "f = _foreach(x s) in_data_locs=[0] in_state_locs=[1] remain_locs=[] num_args=3 num_out_data=1 "
        "num_outputs=2", heads="f:0 f:1",
        inside={"f": [symbol(*("x", "s", "k = sum(x)", "g = _greater_scalar(k) scalar=0", f"c = _cond(g x s) {COND}",
                               "n = elemwise_add(s c)", "m = _copy(c:1)"), heads="m n", inside={"c": CHOOSE})]}),
        drawn(x=(5, 2), s=(2,))),
    *(Row(f"cond_{sign}", symbol("x", "w", "k = sum(x)", "g = _greater_scalar(k) scalar=0", f"c = _cond(g x w) {COND}",
                                 heads="c:0 c:1", inside={"c": CHOOSE}),
          {"x": np.array([1, 2], np.float32) * sign, "w": np.array([5, 6], np.float32)}) for sign in (1, -1)),
    *(Row(f"while_loop_{most}", symbol(
        "i", "s", f"l = _while_loop(i s) {WHILE.format(most=most, outs='num_out_data=1 num_outputs=3')}",
        heads="l:0 l:1 l:2", inside={"l": COUNTING}),
        {"i": np.array([0], np.float32), "s": np.array([7, 8], np.float32)}, {0: min(most, 3)}) for most in (2, 3, 7)),
    *(Row(f"while_loop_without_rows_{first}", symbol(
        "i", "s", "l = _while_loop(i s) cond_input_locs=[0] func_input_locs=[0,1] func_var_locs=[0,1] "
        "max_iterations=5 num_args=4 num_out_data=0 num_outputs=2", heads="l:0 l:1", inside={"l": SILENT}),
        {"i": np.array([first], np.float32), "s": np.array([7, 8], np.float32)}) for first in (0, 2, 5)),
    Row("while_loop_of_a_sum", symbol(
        "s", "w", "i", "l = _while_loop(s w i) cond_input_locs=[0] func_input_locs=[0,1,2] func_var_locs=[2,0] "
        "max_iterations=6 num_args=5 num_out_data=1 num_outputs=3", heads="l:0 l:1 l:2", inside={"l": GROWING}),
        {"s": np.array([7, 7], np.float32), "w": np.array([3, 4], np.float32), "i": np.array([1], np.float32)}, {0: 4}),
]  # fmt: skip


def referred(row: Row) -> list[Array]:
    """What the reference computes."""
    return list(evaluate(read_symbol(row.text), row.arrays).values())


@pytest.mark.live
@pytest.mark.parametrize("row", [row for row in ROWS if row.name not in NOT_IN_MXNET], ids=lambda row: row.name)
def test_the_reference_computes_what_mxnet_computes(row: Row, live: Live) -> None:
    found = mxnet_outputs(live, row.text, {}, row.arrays)
    assert difference(row.counting(referred(row)), row.counting(found)) == ""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_imported_it_computes_the_same(row: Row) -> None:
    shapes = {name: array.shape for name, array in row.arrays.items()}
    graph = from_symbol(row.text, None, shapes)
    graph.check()
    model = to_model(graph)
    feeds = {info.name: row.arrays[info.name] for info in model.graph.input}
    assert difference(onnxruntime_outputs(model, feeds), referred(row)) == ""
    assert [output.name for output in model.graph.output] == list(evaluate(read_symbol(row.text), row.arrays))


UNROLLED = ("foreach", "foreach_of_a_vector", "foreach_without_states", "recurrent_cell", "cond_1", "cond_-1",
            "while_loop_without_rows_2", "branch_in_a_loop")  # fmt: skip


@pytest.mark.live
@pytest.mark.parametrize("row", [row for row in ROWS if row.name in UNROLLED], ids=lambda row: row.name)
def test_written_again_it_computes_the_same(row: Row, live: Live) -> None:
    shapes = {name: array.shape for name, array in row.arrays.items()}
    text, params = to_symbol(from_symbol(row.text, None, shapes))
    arrays = {key.partition(":")[2]: array for key, array in params.items()}
    assert difference(mxnet_outputs(live, text, arrays, row.arrays), referred(row)) == ""


def test_the_weights_of_a_body_are_parameters() -> None:
    row = next(row for row in ROWS if row.name == "recurrent_cell")
    weights = {name: row.arrays[name] for name in ("w", "b", "v")}
    graph = from_symbol(row.text, weights, {"x": (4, 2, 5), "h": (2, 3)})
    assert [value.name for value in graph.inputs] == ["x", "h"]
    assert [value.name for value in graph.parameters] == ["w", "b", "v"]


def test_what_cannot_be_imported_inside_is_named() -> None:
    body = symbol("d", "o = Custom(d) op_type=mine", heads="o")
    document = symbol(
        "x", "f = _foreach(x) in_data_locs=[0] in_state_locs=[] remain_locs=[] num_args=2 num_out_data=1 num_outputs=1",
        heads="f", inside={"f": [body]},
    )  # fmt: skip
    with pytest.raises(UnsupportedOpError, match=r"_foreach: 1 node \(f\): inside it Custom \(o\)"):
        from_symbol(json.dumps({**document, "attrs": {"mxnet_version": ["int", 10901]}}), None, {"x": (3, 2)})


def test_a_loop_of_no_iterations_is_refused_by_the_reference() -> None:
    row = next(row for row in ROWS if row.name == "while_loop_2")
    with pytest.raises(VerificationError, match="no iteration"):
        evaluate(read_symbol(row.text), {**row.arrays, "i": np.array([9], np.float32)})


NATIVE: dict[str, tuple[str, dict[str, tuple[int, ...]]]] = {
    "scan": ("""g (float[2] s, float[N,2] xs) => (float[2] last, float[N,2] all)
        { last, all = Scan <num_scan_inputs = 1, body =
          b (float[2] a, float[2] x) => (float[2] n, float[2] r) { n = Add(a, x) r = Exp(n) }> (s, xs) }""",
        {"xs": (5, 2)}),
    "scan_with_weights": ("""g (float[1,3] h, float[N,1,4] xs) => (float[1,3] last, float[N,1,3] all)
        <float[3,4] w = {0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1.0,1.1,1.2},
         float[3,3] v = {0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9}>
        { last, all = Scan <num_scan_inputs = 1, body = b (float[1,3] a, float[1,4] x) => (float[1,3] n, float[1,3] r)
          <float[1,3] k = {0.5,0.6,0.7}> { p = Gemm<transB = 1>(x, w) q = MatMul(a, v) s = Add(p, q) t = Add(s, k)
          n = Tanh(t) r = Identity(n) }> (h, xs) }""", {"xs": (4, 1, 4)}),
    "other_axes_backwards": ("""g (float[2,N] xs) => (float[2,N] all) { all = Scan <num_scan_inputs = 1,
        scan_input_axes = [1], scan_input_directions = [1], scan_output_axes = [-1], scan_output_directions = [1],
        body = b (float[2] x) => (float[2] r) { r = Exp(x) }> (xs) }""", {"xs": (2, 5)}),
    "directions_differ": ("""g (float[N,2] xs) => (float[2,N] all) { all = Scan <num_scan_inputs = 1,
        scan_input_directions = [1], scan_output_axes = [1],
        body = b (float[2] x) => (float[2] r) { r = Exp(x) }> (xs) }""", {"xs": (5, 2)}),
    "numbers": ("""g (float[N] xs, float[1] s0) => (float[N] all, float[1] last)
        { s = ReduceSum<keepdims = 0>(s0) l, all = Scan <num_scan_inputs = 1,
        body = b (float a, float x) => (float n, float r) { n = Add(a, x) r = Mul(n, x) }> (s, xs)
        k = Constant<value = int64[1] {0}>() last = Unsqueeze(l, k) }""", {"xs": (5,)}),
    "what_is_not_read": ("""g (float[2] s, float[N,2] xs, float[N,3] ys) => (float[2] last, float[N,2] all)
        { last, all = Scan <num_scan_inputs = 2, body = b (float[2] a, float[2] x, float[3] y) =>
          (float[2] n, float[2] r) { n = Neg(x) r = Identity(x) }> (s, xs, ys) }""", {"xs": (5, 2), "ys": (5, 3)}),
    "operators_of_other_terms_inside": ("""g (float[2] s, float[N,2] xs) => (float[2] last, float[N,2] all)
        { last, all = Scan <num_scan_inputs = 1, body = b (float[2] a, float[2] x) => (float[2] n, float[2] r)
          { one = Constant<value_float = 1.0>() c = CastLike(one, x) e = Exp(c) t = Constant<value = bool {1}>()
            n = If (t) <then_branch = p () => (float[2] u) { u = Add(a, e) },
                        else_branch = q () => (float[2] v) { v = Neg(a) }>
            z = Constant<value_float = 0.0>() m = ReduceMax<keepdims = 0>(x)
            g = Less(m, z)
            r = If (g) <then_branch = y () => (float[2] w) { w = Neg(x) }, else_branch = h () => (float[2] i)
            { i = Exp(x) }> }> (s, xs) }""", {"xs": (5, 2)}),
    "long_loop": ("""g (float[2] x) => (float[2] s, float[7000,2] rows) <int64 n = {7000}, float k = {0.001}>
        { s, rows = Loop (n, , x) <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] b, float[2] r)
          { d = Identity(c) f = Cast<to = 1>(i) g = Mul(f, k) h = Sin(g) b = Add(a, h) r = Identity(b) }> }""", {}),
    "long_loop_that_does_not_count": ("""g (float[2] x) => (float[2] s) <int64 n = {9000}, bool t = {1}>
        { s = Loop (n, t, x) <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] b)
          { d = Identity(c) h = Sin(a) q = Cos(h) b = Add(h, q) }> }""", {}),
}  # fmt: skip


WHILE_LOOPS: dict[str, tuple[str, dict[str, list[Any]]]] = {
    "trip_count_at_run_time": ("""g (float[2] x, int64[1] m, float[2] w) => (float[2] s)
        { n = Squeeze(m) s = Loop (n, , x) <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] b)
          { d = Identity(c) f = Cast<to = 1>(i) g = Add(f, w) b = Add(a, g) }> }""", {"m": [0, 1, 4]}),
    "both_at_run_time": ("""g (float[2] x, int64[1] m, float[1] most) => (float[2] s)
        { n = Squeeze(m) o = Squeeze(most) z = ReduceSum<keepdims = 0>(x) k = Less(z, o)
          s = Loop (n, k, x) <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] b)
          { one = Constant<value_float = 1.0>() b = Add(a, one) t = ReduceSum<keepdims = 0>(b) d = Less(t, o) }> }""",
        {"m": [1, 4, 40], "most": [-9.0, 5.0, 20.0]}),
    "condition_only": ("""g (float[2] x, float[1] most) => (float[2] s, float[2] p) <bool k = {1}>
        { o = Squeeze(most) s, p = Loop (, k, x, x) <body = b (int64 i, bool c, float[2] a, float[2] q) =>
          (bool d, float[2] b, float[2] r) { one = Constant<value_float = 1.0>() b = Add(a, one) r = Exp(a)
            t = ReduceSum<keepdims = 0>(b) d = Less(t, o) }> }""", {"most": [5.0, 20.0]}),
}
SETS = [(name, slot) for name, (_, sets) in WHILE_LOOPS.items() for slot in range(len(next(iter(sets.values()))))]


@pytest.mark.live
@pytest.mark.parametrize(("name", "slot"), SETS)
def test_loops_whose_course_is_open_become_while_loops(name: str, slot: int, live: Live) -> None:
    text, sets = WHILE_LOOPS[name]
    model = model_of(text)
    feeds = {key: np.array([numbers[slot]], np.int64 if key == "m" else np.float32) for key, numbers in sets.items()}
    feeds |= {info.name: feed((2,), np.dtype(np.float32)) for info in model.graph.input if info.name not in feeds}
    written, params = to_symbol(from_model(model))
    assert '"op": "_while_loop"' in written
    arrays = {key.partition(":")[2]: array for key, array in params.items()}
    expected = onnxruntime_outputs(model, feeds)
    assert difference(mxnet_outputs(live, written, arrays, feeds), expected) == ""
    again = from_symbol(written, arrays, {key: array.shape for key, array in feeds.items()},
                        dtypes={key: array.dtype for key, array in feeds.items()})  # fmt: skip
    assert difference(onnxruntime_outputs(to_model(again), feeds), expected) == ""


@pytest.mark.live
@pytest.mark.parametrize("name", NATIVE)
def test_loops_that_cannot_be_taken_apart_become_mxnets_own(name: str, live: Live) -> None:
    text, shapes = NATIVE[name]
    model = model_of(text)
    feeds = {}
    for info in model.graph.input:
        stated = tuple(dim.dim_value for dim in info.type.tensor_type.shape.dim)
        feeds[info.name] = feed(shapes.get(info.name, stated), np.dtype(np.float32))
    expected = onnxruntime_outputs(model, feeds)
    written, params = to_symbol(from_model(model))
    assert '"op": "_foreach"' in written
    arrays = {key.partition(":")[2]: array for key, array in params.items()}
    assert difference(mxnet_outputs(live, written, arrays, feeds), expected, 1e-4) == ""
    again = from_symbol(written, arrays, {name: array.shape for name, array in feeds.items()})
    again.check()
    assert difference(onnxruntime_outputs(to_model(again), feeds), expected, 1e-4) == ""


REFUSED = [
    ("g (float[2] x, int64 n) => (float[N,2] r) { s, r = Loop (n, , x) <body = b (int64 i, bool c, float[2] a) => "
     "(bool d, float[2] b, float[2] q) { d = Identity(c) b = Add(a, x) q = Neg(b) }> }",
     "how often it runs is computed at run time, and with it the sizes of r"),
    ("g (float[N,2] xs) => (float[N,2] all) { all = Scan <num_scan_inputs = 1, body = b (float[2] x) => (float[2] r) "
     "{ u, i, j, k = Unique(x) r = Expand(u, i) }> (xs) }", "inside it Unique"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_what_mxnets_loops_cannot_say_is_refused(text: str, reason: str) -> None:
    with pytest.raises(UnsupportedOpError, match=reason):
        to_symbol(graph_of(text))
