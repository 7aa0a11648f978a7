"""Branches, loops and sequences as Python's, against onnxruntime."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import parser

from graphir.converters.onnx import from_model
from graphir.converters.pytorch import to_module
from graphir.errors import UnsupportedOpError
from tests.converters.pytorch.running import need_torch, run_module

HEAD = '<ir_version: 8, opset_import: ["" : 18]>\n'
X = np.array([[1, -2, 3], [4, 5, -6]], np.float32)

IF = """g (float[2, 3] x) => (float[2, 3] y) {
    whole = Constant <value_ints = [-1]> ()
    ones = Constant <value_floats = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]> ()
    flat = Reshape (x, whole)
    s = MatMul (flat, ones)
    zero = Constant <value_float = 0.0> ()
    c = Greater (s, zero)
    y = If (c) <then_branch = t () => (a) { r = Relu (x) a = Neg (r) },
                else_branch = e () => (b) { b = Sigmoid (x) }>
}"""
BOTH_RESULTS = """g (float[2, 3] x, bool c) => (float[2, 3] y, float[2, 3] z) {
    y, z = If (c) <then_branch = t () => (a, b) { a = Neg (x) b = Abs (x) },
                   else_branch = e () => (d, f) { d = Identity (x) f = Neg (d) }>
    }"""
# What torch.jit makes of `x.squeeze(1)`: how many axes its result has depends on a size.
SQUEEZED = """g (float[N, M, 4] x) => (float[K] y, float[N, 1, 4] z) {
    one = Constant <value_ints = [1]> ()
    last = Constant <value_ints = [-1]> ()
    w = Constant <value = float[1, 3, 2] {1, 2, 3, 4, 5, 6}> ()
    sizes = Shape <start = 1, end = 2> (x)
    is = Equal (sizes, one)
    c = Squeeze (is)
    h = If (c) <then_branch = t () => (a) { a = Squeeze (x, one) }, else_branch = e () => (b) { b = Identity (x) }>
    z = Conv <pads = [1, 0]> (h, w)
    u = Unsqueeze (h, last)
    n = Neg (u)
    y = Reshape (n, last)
}"""
COUNTED = """g (float[N, 3] x) => (float[N, 3] y, float[K, N, 3] all) {
    n = Constant <value = int64 {3}> ()
    t = Constant <value = bool {1}> ()
    y, all = Loop (n, t, x) <body = b (int64 i, bool go, float[N, 3] h) => (bool go2, float[N, 3] h2, float[N, 3] row) {
        go2 = Identity (go)
        f = Cast <to = 1> (i)
        row = Mul (h, f)
        h2 = Tanh (h)
    }>
}"""
OPEN_COUNT = """g (float[2, 3] x, int64 n) => (float[2, 3] y, float[K, 2, 3] all) {
    t = Constant <value = bool {1}> ()
    y, all = Loop (n, t, x) <body = b (int64 i, bool go, float[2, 3] h) => (bool go2, float[2, 3] h2, float[2, 3] row) {
        go2 = Identity (go)
        row = Neg (h)
        h2 = Add (h, x)
    }>
}"""
SWAPPED = """g (float[2, 3] x, float[2, 3] z, int64 n) => (float[2, 3] y, float[2, 3] w) {
    t = Constant <value = bool {1}> ()
    y, w = Loop (n, t, x, z) <body = b (int64 i, bool go, float[2, 3] h, float[2, 3] k)
                                     => (bool go2, float[2, 3] k2, float[2, 3] h2) {
        go2 = Identity (go)
        k2 = Identity (k)
        h2 = Identity (h)
    }>
}"""
WHILE = """g (float[2, 3] x, bool c) => (float[2, 3] y) {
    whole = Constant <value_ints = [-1]> ()
    ones = Constant <value_floats = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]> ()
    y = Loop (, c, x) <body = b (int64 i, bool go, float[2, 3] h) => (bool go2, float[2, 3] h2) {
        h2 = Add (h, h)
        flat = Reshape (h2, whole)
        s = MatMul (flat, ones)
        limit = Constant <value_float = 40.0> ()
        go2 = Less (s, limit)
    }>
}"""
BOUNDED = """g (float[2, 3] x, bool c, int64 n) => (float[2, 3] y, float[K] all) {
    whole = Constant <value_ints = [-1]> ()
    ones = Constant <value_floats = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]> ()
    y, all = Loop (n, c, x) <body = b (int64 i, bool go, float[2, 3] h) => (bool go2, float[2, 3] h2, float s) {
        h2 = Add (h, h)
        flat = Reshape (h, whole)
        s = MatMul (flat, ones)
        limit = Constant <value_float = 19.0> ()
        go2 = Less (s, limit)
    }>
}"""
AT_ITS_END = BOUNDED.replace("bool c, ", "").replace("(n, c, x)", "(n, , x)")
NESTED = """g (float[2, 3] x, int64 n) => (float[2, 3] y) {
    whole = Constant <value_ints = [-1]> ()
    ones = Constant <value_floats = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]> ()
    y = Loop (n, , x) <body = b (int64 i, bool go, float[2, 3] h) => (bool go2, float[2, 3] h2) {
        go2 = Identity (go)
        flat = Reshape (h, whole)
        s = MatMul (flat, ones)
        zero = Constant <value_float = 0.0> ()
        c = Greater (s, zero)
        h2 = If (c) <then_branch = t () => (a) { a = Sub (h, x) },
                     else_branch = e () => (d) { d = Loop (n, , h) <body = inner (int64 j, bool go3, float[2, 3] k)
                        => (bool go4, float[2, 3] k2) { go4 = Identity (go3) k1 = Add (k, x) k2 = Add (k1, h) }> }>
    }>
}"""
SCAN = """g (float[N, 3] x, float[3] h0) => (float[3] h, float[N, 3] ys) {
    h, ys = Scan <num_scan_inputs = 1, body = b (float[3] h1, float[3] xt) => (float[3] h2, float[3] y) {
        s = Add (h1, xt)
        h2 = Tanh (s)
        y = Neg (h2)
    }> (h0, x)
}"""
SCAN_AXES = """g (float[2, 3] x, float[3, 2] z) => (float[2] h, float[2, 3] ys) {
    h0 = Constant <value_floats = [0.0, 1.0]> ()
    h, ys = Scan <num_scan_inputs = 2, scan_input_axes = [1, 0], scan_input_directions = [1, 0],
                  scan_output_axes = [1], scan_output_directions = [1],
                  body = b (float[2] h1, float[2] xt, float[2] zt) => (float[2] h2, float[2] y) {
        s = Mul (h1, zt)
        h2 = Add (s, xt)
        y = Identity (h2)
    }> (h0, x, z)
}"""
SEQUENCE = """g (float[2, 3] x, int64 p) => (float[2, 3] y, float[M, 3] all, int64 n) {
    a = Neg (x)
    s = SequenceConstruct (x, a)
    b = Abs (x)
    t = SequenceInsert (s, b, p)
    u = SequenceErase (t, p)
    v = SequenceInsert (u, b)
    y = SequenceAt (v, p)
    all = ConcatFromSequence <axis = 0> (v)
    n = SequenceLength (v)
}"""
MAPPED = """g (float[2, 3] x, float[3] z) => (float[2, 3] y) {
    parts = SplitToSequence <axis = 0, keepdims = 0> (x)
    sums = SequenceMap (parts, z) <body = b (float[3] a, float[3] c) => (float[3] d) { d = Add (a, c) }>
    y = ConcatFromSequence <axis = 0, new_axis = 1> (sums)
}"""

WHOLE_PARTS = """g (float[2, 3] x, int64 p) => (float[2, 1] y, float[2, 3] all, int64 n) {
    e = SequenceEmpty ()
    two = Constant <value = int64 {2}> ()
    parts = SplitToSequence <axis = 1> (x, two)
    last = SequenceAt (parts, p)
    s = SequenceInsert (e, last)
    zero = Constant <value = int64 {0}> ()
    first = SequenceAt (parts, zero)
    t = SequenceInsert (s, first, zero)
    all = ConcatFromSequence <axis = -1> (t)
    u = SequenceErase (t)
    v = SequenceErase (t, zero)
    y = SequenceAt (v, zero)
    n = SequenceLength (u)
}"""
SIZED_PARTS = """g (float[2, 4] x, int64[2] z) => (float[2, 4] y, int64 n) {
    parts = SplitToSequence <axis = 1> (x, z)
    negative = SequenceMap (parts) <body = b (float[2, M] a) => (float[2, M] d) { d = Neg (a) }>
    y = ConcatFromSequence <axis = 1> (negative)
    e = SequenceEmpty <dtype = 7> ()
    n = SequenceLength (e)
}"""
TWO_LISTS = """g (float[2, 3] x) => (float[2, 3] y, float[2, 3] z, int64 n) {
    a = Abs (x)
    s = SequenceConstruct (x, a)
    t = SequenceConstruct (a, x)
    zero = Constant <value = int64 {0}> ()
    f, k = SequenceMap (s, t) <body = b (float[2, 3] c, float[2, 3] d) => (float[2, 3] h, float[2, 3] i) {
        h = Sub (c, d)
        i = Mul (c, d)
    }>
    y = SequenceAt (f, zero)
    one = Constant <value = int64 {1}> ()
    z = SequenceAt (k, one)
    g1 = SequenceEmpty ()
    g2 = SequenceInsert (g1, y)
    n = SequenceLength (g2)
}"""
SCAN_STATELESS = """g (float[4, 3] x) => (float[4, 2] ys) {
    half = Constant <value_floats = [0.5, 2.0]> ()
    one = Constant <value_ints = [1]> ()
    ys = Scan <num_scan_inputs = 1, body = b (float[3] xt) => (float[2] y) {
        s = ReduceMean <keepdims = 1> (xt)
        y = Mul (s, half)
    }> (x)
}"""
OPTIONAL = """g (float[2, 3] x) => (float[2, 3] y, bool has, bool absent) {
    o = Optional (x)
    g1 = OptionalGetElement (o)
    y = Neg (g1)
    has = OptionalHasElement (o)
    absent = OptionalHasElement ()
}"""
OPTIONAL_LIST = """g (float[2, 3] x) => (float[2, 3] y, bool has) {
    a = Neg (x)
    s = SequenceConstruct (x, a)
    o = Optional (s)
    has = OptionalHasElement (o)
    g1 = OptionalGetElement (o)
    one = Constant <value = int64 {1}> ()
    y = SequenceAt (g1, one)
}"""
OPTIONAL_INSIDE = """g (float[2, 3] x, bool c) => (float[2, 3] y, bool has) {
    y, has = If (c) <then_branch = t () => (a, b) { o = Optional (x) a = OptionalGetElement (o)
                                                    b = OptionalHasElement (o) },
                     else_branch = e () => (d, f) { d = OptionalGetElement (x) f = OptionalHasElement () }>
}"""


def true(value: bool) -> Any:
    return np.array(value)


def count(number: int) -> Any:
    return np.array(number, np.int64)


Z = np.array([[1, 2], [-1, 0.5], [2, 2]], np.float32)
CASES = {
    "if": (IF, [X], " > 0.0:\n            y = -F.relu(x)\n        else:\n"),
    "if else": (IF, [-X], ""),
    "two results": (BOTH_RESULTS, [X, true(True)], "            z = torch.abs(x)\n"),
    "two results else": (BOTH_RESULTS, [X, true(False)], ""),
    "axes": (SQUEEZED, [np.ones((2, 3, 4), np.float32)], ".unsqueeze(-1)"),
    "for": (COUNTED, [X], "        for i in torch.arange(3, device=device):\n"),
    "for open": (OPEN_COUNT, [X, count(4)], "        for _ in range(int(n)):\n"),
    "for never": (OPEN_COUNT, [X, count(0)], "stack_rows("),
    "swapped": (SWAPPED, [X, X * 2, count(3)], "            y, w = (w, y)\n"),
    "while": (WHILE, [X, true(True)], "        while running:\n"),
    "while never": (WHILE, [X, true(False)], ""),
    "for while": (BOUNDED, [X, true(True), count(9)], "            if not running:\n                break\n"),
    "for while counted": (BOUNDED, [X, true(True), count(2)], ""),
    "for while never": (BOUNDED, [X, true(False), count(2)], ""),
    "for break": (AT_ITS_END, [X, count(9)], "                break\n"),
    "nested": (NESTED, [X, count(3)], "                for _ in range(int(n)):\n"),
    "nested else": (NESTED, [-X, count(2)], ""),
    "scan": (SCAN, [X, X[0]], "        for xt in x:\n"),
    "scan axes": (SCAN_AXES, [X, Z], "        for xt, zt in zip(x.flip(1).unbind(1), z, strict=True):\n"),
    "sequence": (SEQUENCE, [X, count(1)], "        s = [x, a]\n"),
    "sequence from behind": (SEQUENCE, [X, count(-1)], ""),
    "whole parts": (WHOLE_PARTS, [X, count(1)], "        parts = list(x.split(2, 1))\n"),
    "parts of sizes": (SIZED_PARTS, [np.concatenate([X, X[:, :1]], 1), np.array([3, 1])], ".append("),
    "two lists": (TWO_LISTS, [X], "for c, d in zip("),
    "scan without state": (SCAN_STATELESS, [np.concatenate([X, -X])], "        for xt in x:\n"),
    "optional": (OPTIONAL, [X], ""),
    "optional list": (OPTIONAL_LIST, [X], ""),
    "optional in a branch": (OPTIONAL_INSIDE, [X, true(True)], ""),
    "optional in the other branch": (OPTIONAL_INSIDE, [X, true(False)], ""),
    "map": (MAPPED, [X, Z[:, 0].copy()], "            sums.append(d)\n"),
}


@pytest.mark.parametrize("name", CASES)
def test_course(name: str, tmp_path: Path) -> None:
    need_torch()
    text, feeds, said = CASES[name]
    model = parser.parse_model(HEAD + text)
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = session.run(None, {value.name: feed for value, feed in zip(model.graph.input, feeds, strict=True)})
    graph = from_model(model)
    found, written = run_module(graph, feeds)
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), written
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6, err_msg=written)
    assert said in written, written
    path = tmp_path / "net.py"
    path.write_text(written, encoding="ascii")
    for words in (["ruff", "format", "--isolated", "--diff"], ["ruff", "check", "--isolated"]):
        done = subprocess.run([sys.executable, "-m", *words, str(path)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_a_loop_without_end_is_refused() -> None:
    text = "g (float[2] x) => (float[2] y) { y = Loop (, , x) <body = b (int64 i, bool go, float[2] h)"
    model = parser.parse_model(HEAD + text + " => (bool go2, float[2] h2) { go2 = Identity (go) h2 = Neg (h) }> }")
    with pytest.raises(UnsupportedOpError, match="neither a trip count nor a condition"):
        to_module(from_model(model))
