"""Small pairs of models of kinds that no network of the planted faults holds: what differs for some numbers is never
called equal, and what computes the same never broken."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest

import graphir
from tests.building import parse_model

DRAWN = np.random.Generator(np.random.PCG64(7))
REAL, WHOLE, IMAGE, STEPS = "float[N, 6] x", "int64[N, 5] x", "float[N, 3, 8, 8] x", "float[N, L, 6] x"
BITS = "uint32[N, 5] x"
WEIGHTS: dict[str, Any] = {
    "w0": DRAWN.standard_normal((6, 6)).astype(np.float32), "w1": DRAWN.standard_normal((6, 6)).astype(np.float32),
    "b": DRAWN.standard_normal(6).astype(np.float32), "table": DRAWN.standard_normal((11, 6)).astype(np.float32),
    "zero": np.float32(0), "huge": np.float32(1e9), "half": np.float32(0.5), "two": np.float32(2), "t": np.bool_(True),
    "i0": np.int64(0), "i1": np.int64(1), "i2": np.int64(2), "i3": np.int64(3), "i6": np.int64(6), "i7": np.int64(7),
    "i10": np.int64(10), "i11": np.int64(11), "last": np.int64(-1), "v0": np.array([0]), "v1": np.array([1]),
    "ends": np.array([100]), "all": np.array([2**63 - 1]), "h0": np.float16(0.5), "h1": np.float16(0.52),
    "q0": np.float32(0.05), "q1": np.float32(0.051), "q2": np.float32(0.01), "z0": np.uint8(128), "z1": np.uint8(129),
    "boxes": np.array([5]), "bits": np.array([0, 1], np.float32), "overlap": np.array([0.5], np.float32),
    "mask0": np.array([1, 0, 1, 0, 1, 0], bool), "mask1": np.array([0, 1, 1, 0, 1, 0], bool),
    "u3": np.uint32(3), "u127": np.uint32(127), "u255": np.uint32(255), "u256": np.uint32(256), "n127": np.int32(127),
    "n255": np.int32(255), "word0": np.array(["a"], object), "word1": np.array(["b"], object),
}  # fmt: skip


class Pair(NamedTuple):
    """The nodes of both models, their inputs and outputs, and their opsets."""

    first: str
    second: str
    inputs: str = REAL
    outputs: str = "float y"
    opsets: tuple[int, int] = (18, 18)


def inside(nodes: str) -> str:
    """Nodes between two products, from h to z."""
    return f"h = MatMul(x, w0) {nodes} y = MatMul(z, w1)"


def chosen(yes: str, no: str, condition: str = "q = Greater(s, zero)") -> str:
    """An If between two products."""
    branches = f"then_branch = a () => (float[N, 6] o) {{ {yes} }}, else_branch = c () => (float[N, 6] p) {{ {no} }}"
    return inside(f"s = ReduceSum<keepdims = 0>(h) {condition} z = If (q) <{branches}>")


def repeated(body: str, rounds: str = "i3") -> str:
    """A Loop between two products."""
    head = "body = k (int64 i, bool c, float[N, 6] s) => (bool d, float[N, 6] o)"
    return inside(f"z = Loop ({rounds}, t, h) <{head} {{ {body} }}>")


def rare(yes: str, no: str = "p = Neg(h)") -> str:
    """An If between two products of which the first branch is taken for huge sums."""
    return chosen(yes, no, "q = Greater(s, huge)")


def usual(no: str) -> str:
    """The same of which the second branch is taken for huge sums."""
    return chosen("o = Neg(h)", no, "q = Less(s, huge)")


def nested(yes: str) -> str:
    """A branch of a branch that is taken for huge sums."""
    inner = f"then_branch = e () => (float[N, 6] i) {{ {yes} }}, else_branch = f () => (float[N, 6] j) {{ j = Neg(h) }}"
    return rare(f"r = Less(s, zero) o = If (r) <{inner}>")


def rarely_repeated(body: str, starts: str) -> str:
    """A Loop that has rounds for huge sums."""
    head = "body = k (int64 i, bool c, float[N, 6] v) => (bool d, float[N, 6] o)"
    return inside(f"s = ReduceSum<keepdims = 0>(h) q = Greater(s, huge) n = Cast<to = 7>(q) "
                  f"z = Loop ({starts}, h) <{head} {{ d = Identity(c) {body} }}>")  # fmt: skip


def scanned(body: str) -> str:
    """A Scan over the rows between two products."""
    head = "body = k (float[N, 6] v, float[6] e) => (float[N, 6] o)"
    return inside(f"z = Scan (h, h) <num_scan_inputs = 1, {head} {{ {body} }}>")


def looked_up(nodes: str) -> str:
    """A row of a table by an index that nodes compute."""
    return f"{nodes} e = Gather(table, z) y = ReduceMean<keepdims = 0>(e, v1)"


def chosen_row(nodes: str) -> str:
    """Rows e of a table, chosen by the largest of each row of numbers."""
    return f"h = MatMul(x, w0) k = ArgMax<axis = -1, keepdims = 0>(h) e = Gather(table, k) {nodes}"


BOX = "float[1, 9, 4] boxes_in, float[1, 2, 9] scores_in"
DIFFERING = {
    "another branch": Pair(chosen("o = Relu(h)", "p = Neg(h)"), chosen("o = Abs(h)", "p = Neg(h)")),
    "a branch that is never taken": Pair(rare("o = Add(h, two)"), rare("o = Mul(h, two)")),
    "a constant of such a branch": Pair(rare("o = Add(h, two)"), rare("o = Add(h, half)")),
    "a node more in such a branch": Pair(rare("o = Add(h, two)"), rare("a = Relu(h) o = Add(a, two)")),
    "a second branch that is never taken": Pair(usual("p = Add(h, two)"), usual("p = Mul(h, two)")),
    "a branch of such a branch": Pair(nested("i = Add(h, two)"), nested("i = Mul(h, two)")),
    "a loop without rounds": Pair(rarely_repeated("o = Add(v, two)", "n, t"),
                                  rarely_repeated("o = Mul(v, two)", "n, t")),
    "a loop that ends at once": Pair(rarely_repeated("o = Add(v, two)", "i3, q"),
                                     rarely_repeated("o = Mul(v, two)", "i3, q")),
    "a loop of no rounds": Pair(repeated("d = Identity(c) o = Add(s, two)", "i0"),
                                repeated("d = Identity(c) o = Mul(s, two)", "i0")),
    "a round more": Pair(repeated("d = Identity(c) o = Tanh(s)"), repeated("d = Identity(c) o = Tanh(s)", "i2")),
    "a round that ends": Pair(repeated("d = Identity(c) o = Mul(s, half)"),
                              repeated("d = Less(i, i1) o = Mul(s, half)")),
    "index of a round": Pair(repeated("d = Identity(c) f = Cast<to = 1>(i) o = Add(s, f)"),
                             repeated("d = Identity(c) j = Add(i, i1) f = Cast<to = 1>(j) o = Add(s, f)")),
    "a captured weight": Pair(repeated("d = Identity(c) o = MatMul(s, w0)"),
                              repeated("d = Identity(c) o = MatMul(s, w1)")),
    "fmod": Pair(looked_up("a = Mod(x, i11) z = Abs(a)"), looked_up("a = Mod<fmod = 1>(x, i11) z = Abs(a)"), WHOLE),
    "a negative index": Pair(looked_up("a = Clip(x, i0, i10) z = Sub(a, i2)"),
                             looked_up("a = Clip(x, i0, i10) n = Sub(a, i2) z = Max(n, i0)"), WHOLE),
    "through float32": Pair("y = Mul(x, i7)",
                            "f = Cast<to = 1>(x) g = Cast<to = 7>(f) y = Mul(g, i7)", WHOLE, "int64 y"),
    "through int32": Pair("y = Mul(x, i7)", "f = Cast<to = 6>(x) g = Cast<to = 7>(f) y = Mul(g, i7)", WHOLE, "int64 y"),
    "a limit of whole numbers": Pair("a = Less(x, i7) y = Cast<to = 1>(a)",
                                     "a = LessOrEqual(x, i7) y = Cast<to = 1>(a)", WHOLE),
    "a number in float16": Pair(inside("a = Cast<to = 10>(h) c = Add(a, h0) z = Cast<to = 1>(c)"),
                                inside("a = Cast<to = 10>(h) c = Add(a, h1) z = Cast<to = 1>(c)")),
    "outputs exchanged": Pair("y = Relu(x) u = Tanh(x)", "u = Relu(x) y = Tanh(x)", outputs="float y, float u"),
    "cut at another end": Pair("y = Relu(x)", "s = Slice(x, v0, ends, v0) r = Slice(x, ends, all, v0) a = Relu(s) "
                               "c = Abs(r) y = Concat<axis = 0>(a, c)"),
    "the least length": Pair("y = ReduceMean<keepdims = 0>(x, v1)",
                             "s = Shape<start = 1, end = 2>(x) f = Cast<to = 1>(s) "
                             "m = Max(f, two) a = ReduceSum<keepdims = 0>(x, v1) y = Div(a, m)", STEPS),
    "rounded, not cut": Pair(inside("a = Cast<to = 7>(h) z = Cast<to = 1>(a)"),
                             inside("r = Round(h) a = Cast<to = 7>(r) z = Cast<to = 1>(a)")),
    "a scale of 8 bits": Pair(inside("q = QuantizeLinear(h, q0, z0) z = DequantizeLinear(q, q0, z0)"),
                              inside("q = QuantizeLinear(h, q1, z0) z = DequantizeLinear(q, q1, z0)")),
    "a zero point of 8 bits": Pair("q = QuantizeLinear(x, q2, z0) y = DequantizeLinear(q, q2, z0)",
                                   "q = QuantizeLinear(x, q2, z1) y = DequantizeLinear(q, q2, z0)"),
    "booleans of a weight": Pair("y = Compress<axis = 1>(x, mask0)", "y = Compress<axis = 1>(x, mask1)"),
    "texts": Pair("e = Equal(x, word0) y = Cast<to = 1>(e)",
                  "e = Equal(x, word1) y = Cast<to = 1>(e)", "string[5] x", opsets=(19, 19)),
    "an order of a sequence": Pair("t1 = Tanh(x) s = SequenceConstruct(x, t1) y = ConcatFromSequence<axis = 1>(s)",
                                   "t1 = Tanh(x) s = SequenceConstruct(t1, x) y = ConcatFromSequence<axis = 1>(s)"),
    "the last of a sequence": Pair("t1 = Tanh(x) s = SequenceConstruct(x, t1) y = SequenceAt(s, i0)",
                                   "t1 = Tanh(x) s = SequenceConstruct(x, t1) y = SequenceAt(s, last)"),
    "centers for corners": Pair("y = NonMaxSuppression(boxes_in, scores_in, boxes, overlap)",
                                "y = NonMaxSuppression<center_point_box = 1>(boxes_in, scores_in, boxes, overlap)",
                                BOX, "int64 y"),
    "softmax of an older opset": Pair("y = Softmax(x)", "y = Softmax(x)", "float[N, 4, 5] x", opsets=(11, 13)),
    "axes of an older opset": Pair("y = Hardmax(x)", "y = Hardmax(x)", "float[N, 4, 5] x", opsets=(11, 13)),
    "a mean of averages": Pair("y = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x)",
                               "y = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1>(x)",
                               IMAGE),
    "8 bits that do not saturate": Pair("a = Cast<to = 17>(x) y = Cast<to = 1>(a)",
                                        "a = Cast<to = 17, saturate = 0>(x) y = Cast<to = 1>(a)", opsets=(19, 19)),
    "float16 for bfloat16": Pair("a = Cast<to = 16>(x) y = Cast<to = 1>(a)",
                                 "a = Cast<to = 10>(x) y = Cast<to = 1>(a)"),
    "whole numbers through a real type": Pair("y = Identity(x)", "a = Cast<to = 1>(x) y = Cast<to = 7>(a)", WHOLE,
                                              "int64 y"),
    "a mask of bits": Pair('a = BitShift<direction = "RIGHT">(x, u3) y = BitwiseAnd(a, u255)',
                           'a = BitShift<direction = "RIGHT">(x, u3) y = BitwiseAnd(a, u127)', BITS, "uint32 y"),
    "a mask of bits inside": Pair(inside("a = Abs(h) i = Cast<to = 6>(a) c = BitwiseAnd(i, n255) z = Cast<to = 1>(c)"),
                                  inside("a = Abs(h) i = Cast<to = 6>(a) c = BitwiseAnd(i, n127) z = Cast<to = 1>(c)")),
    "a new axis elsewhere": Pair("y = OneHot<axis = -1>(x, i7, bits)", "y = OneHot<axis = 1>(x, i7, bits)", WHOLE),
    "an axis of two of one size": Pair("y = OneHot(x, i7, bits)", "y = OneHot<axis = 1>(x, i7, bits)", "int64[N, 7] x"),
    "an output turned": Pair("y = Relu(x)", "a = Relu(x) y = Transpose<perm = [0, 2, 3, 1]>(a)", IMAGE),
    "rows turned behind a choice": Pair(
        chosen_row("y = Neg(e)"), chosen_row("a = Neg(e) y = Transpose<perm = [0, 2, 1]>(a)"), "float[N, 5, 6] x"),
    "a square turned behind a choice": Pair(
        chosen_row("y = Neg(e)"), chosen_row("a = Neg(e) y = Transpose<perm = [0, 2, 1]>(a)"), "float[N, 6, 6] x"),
    "a running sum": Pair(inside("z = CumSum(h, i1)"), inside("z = CumSum<exclusive = 1>(h, i1)")),
}  # fmt: skip
EQUAL = {
    "a condition negated": Pair(chosen("o = Relu(h)", "p = Neg(h)"),
                                chosen("o = Neg(h)", "p = Relu(h)", "g = Greater(s, zero) q = Not(g)")),
    "a branch that is never taken, and a node behind it": Pair(
        rare("o = Add(h, two)").replace("y = MatMul(z", "a = Neg(z) y = MatMul(a"),
        rare("o = Add(h, two)").replace("y = MatMul(z", "a = Sub(zero, z) y = MatMul(a")),
    "a branch that is taken": Pair(rare("o = Add(h, two)"), rare("o = Add(h, two)", "p = Sub(zero, h)")),
    "a body that runs": Pair(repeated("d = Identity(c) o = Neg(s)"), repeated("d = Identity(c) o = Sub(zero, s)")),
    "a body of rows": Pair(scanned("a = Neg(e) o = Add(v, a)"), scanned("o = Sub(v, e)")),
    "a loop unrolled": Pair(repeated("d = Identity(c) o = Tanh(s)"), inside("a = Tanh(h) c = Tanh(a) z = Tanh(c)")),
    "bounds one by one": Pair(looked_up("z = Clip(x, i0, i10)"), looked_up("a = Max(x, i0) z = Min(a, i10)"), WHOLE),
    "a limit one less": Pair("a = Less(x, i7) y = Cast<to = 1>(a)",
                             "a = LessOrEqual(x, i6) y = Cast<to = 1>(a)", WHOLE),
    "a magnitude by its sign": Pair("a = Sign(x) y = Mul(a, x)", "y = Abs(x)", WHOLE, "int64 y"),
    "the least by the negative": Pair("a = ArgMax<axis = 1>(x) y = Cast<to = 1>(a)",
                                      "n = Neg(x) a = ArgMin<axis = 1>(n) y = Cast<to = 1>(a)"),
    "a sequence joined": Pair("t1 = Tanh(x) s = SequenceConstruct(x, t1) y = ConcatFromSequence<axis = 1>(s)",
                              "t1 = Tanh(x) y = Concat<axis = 1>(x, t1)"),
    "a slice of all": Pair(inside("z = Relu(h)"), inside("a = Slice(h, v0, all, v0) z = Relu(a)")),
    "weights of 4 bits": Pair("a = DequantizeLinear(q4, q0) y = MatMul(x, a)",
                              "a = DequantizeLinear(q4, q0) c = Identity(a) y = MatMul(x, c)", opsets=(21, 21)),
    "a weight computed twice": Pair(
        "a = DequantizeLinear(q4, q0) c = Identity(a) g = MatMul(x, a) y = MatMul(g, c)",
        "a = DequantizeLinear(q4, q0) c = DequantizeLinear(q4, q0) g = MatMul(x, a) y = MatMul(g, c)", opsets=(21, 21)),
    "bits by a remainder": Pair('a = BitShift<direction = "RIGHT">(x, u3) y = BitwiseAnd(a, u255)',
                                'a = BitShift<direction = "RIGHT">(x, u3) y = Mod(a, u256)', BITS, "uint32 y"),
    "where a number is": Pair("a = Relu(x) y = NonZero(a)", "a = Greater(x, zero) y = NonZero(a)", outputs="int64 y"),
    "an older opset": Pair("y = Softmax<axis = 1>(x)", "y = Softmax<axis = 1>(x)", opsets=(11, 13)),
    "letters for a product": Pair("y = MatMul(x, w0)", 'y = Einsum<equation = "nij,jk->nik">(x, w0)', STEPS),
}  # fmt: skip


def verified(pair: Pair, folder: Path) -> graphir.VerificationReport:
    """What verify says of two files."""
    paths: list[Path] = []
    for nodes, opset in zip(pair[:2], pair.opsets, strict=True):
        model = parse_model(f"g ({pair.inputs}) => ({pair.outputs}) {{ {nodes} }}", opset=opset)
        words = set(re.findall(r"\w+", nodes))
        for name, array in WEIGHTS.items():
            if name in words:
                model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(array), name))
        if "q4" in words:
            packed = onnx.helper.make_tensor("q4", onnx.TensorProto.INT4, [6, 6], [n % 16 - 8 for n in range(36)])
            model.graph.initializer.append(packed)
        paths.append(folder / f"{len(paths)}.onnx")
        onnx.save(model, paths[-1])
    return graphir.verify(*paths)


@pytest.mark.one_of(8)
@pytest.mark.parametrize("pair", DIFFERING.values(), ids=DIFFERING)
def test_what_differs_is_not_equal(pair: Pair, tmp_path: Path) -> None:
    report = verified(pair, tmp_path)
    assert report.exit_code in (4, 5), str(report)


@pytest.mark.one_of(2)
@pytest.mark.parametrize("pair", EQUAL.values(), ids=EQUAL)
def test_what_is_written_otherwise_is_equal(pair: Pair, tmp_path: Path) -> None:
    report = verified(pair, tmp_path)
    assert report.ok, str(report)


def test_layers_are_no_rows_of_a_product(tmp_path: Path) -> None:
    """A product and its bias as a Gemm, for which onnxruntime's optimiser lays the numbers in rows: what it reads, and
    what it gives, has another rank, and each layer that both know is the same."""
    first = "h = Mul(x, two) g = Relu(h) p = MatMul(g, w0) s = Add(p, b) y = Tanh(s)"
    second = "h = Mul(x, two) g = Relu(h) r = Reshape(g, rows) p = Gemm(r, w0, b) s = Reshape(p, back) y = Tanh(s)"
    taken = {"two": WEIGHTS["two"], "w0": WEIGHTS["w0"], "b": WEIGHTS["b"]}
    shapes = {"rows": np.array([8, 6]), "back": np.array([2, 4, 6])}
    for name, nodes, weights in (("a", first, taken), ("b", second, taken | shapes)):
        text = f"g (float[2, 4, 6] x) => (float[2, 4, 6] y) {{ {nodes} }}"
        onnx.save(parse_model(text, **weights), tmp_path / f"{name}.onnx")
    report = graphir.verify(tmp_path / "a.onnx", tmp_path / "b.onnx", per_layer=True)
    assert report.ok, report.to_text()
    assert {layer.name for layer in report.layers if layer.verdict.passes} == {"h", "g", "s", "y"}
    assert len(report.layers) == 4, report.to_text()
