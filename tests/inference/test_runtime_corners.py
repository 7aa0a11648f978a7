"""Corners in which a rule is easily wrong, or a runtime reads ONNX its own way: what is said is true there."""

from __future__ import annotations

import pytest

from graphir.converters.onnx import from_model
from graphir.inference import infer_types
from tests.coverage.judge import verdict
from tests.coverage.models import Case
from tests.coverage.test_operators import written
from tests.coverage.tools import with_sizes

COUNTING = """() => (last, counts) {
    limit = Constant <value = int64 {%s}> ()  on = Constant <value = bool {1}> ()
    start = Constant <value = int64 {0}> ()  one = Constant <value = int64 {1}> ()
    bound = Constant <value = int64 {%d}> ()
    last, counts = Loop <body = b (int64 i, bool going, int64 k) => (bool goes_on, int64 next, int64 seen) {
        next = Add (k, one)  goes_on = Less (next, bound)  seen = Identity (next) }> (%s, on, start) }"""

CASES = {
    # A condition that holds in the first iteration need not hold in all.
    "loop that its condition ends": (COUNTING % (10, 5, "limit"), {"last": "int64[]", "counts": "int64[5]"}),
    "loop that its limit ends": (COUNTING % (4, 5, "limit"), {"last": "int64[]", "counts": "int64[4]"}),
    "loop without a limit": (COUNTING % (4, 7, ""), {"last": "int64[]", "counts": "int64[7]"}),
    "loop of a single iteration": (COUNTING % (4, 1, "limit"), {"last": "int64[]", "counts": "int64[1]"}),
    "loop longer than is counted out": (COUNTING % (99, 90, "limit"), {"last": "int64[]", "counts": "int64[?]"}),
    "a scalar's places": (
        "(float[2,3] x) => (y) { s = ReduceSum <keepdims = 0> (x)  y = NonZero (s) }", {"y": "int64[?, y:count]"}
    ),
    "a known scalar's places": (
        "() => (y) { s = Constant <value = int64 {3}> ()  y = NonZero (s) }", {"y": "int64[?, y:count]"}
    ),
    "backwards from before the axis": ("""(float[3] x) => (y) {
        s = Constant <value_ints = [-100]> ()  e = Constant <value_ints = [-200]> ()  a = Constant <value_ints = [0]> ()
        d = Constant <value_ints = [-1]> ()  y = Slice (x, s, e, a, d) }""", {"y": "float32[1]"}),
    "backwards to the end": ("""(float[3] x) => (y) {
        s = Constant <value_ints = [1]> ()  e = Constant <value_ints = [2147483647]> ()
        a = Constant <value_ints = [0]> ()  d = Constant <value_ints = [-1]> ()
        y = Slice (x, s, e, a, d) }""", {"y": "float32[?]"}),
    "known elements backwards from before the axis": ("""(float[2,3,4] x) => (y) {
        z = Shape (x)  s = Constant <value_ints = [-9]> ()  e = Constant <value_ints = [-200]> ()
        a = Constant <value_ints = [0]> ()  d = Constant <value_ints = [-1]> ()  c = Slice (z, s, e, a, d)
        y = ConstantOfShape (c) }""", {"c": "int64[1]", "y": "float32[2]"}),
    "no axes to squeeze": (
        "(float[1,3] x) => (y) { a = Constant <value = int64[0] {}> ()  y = Squeeze (x, a) }", {"y": "float32[...]"}
    ),
    "no axes to squeeze, and none of size 1": (
        "(float[2,3] x) => (y) { a = Constant <value = int64[0] {}> ()  y = Squeeze (x, a) }", {"y": "float32[2, 3]"}
    ),
    # 4.3 / 0.1 in float32 is above or below 43, whether the difference is rounded or not.
    "a range at the edge of rounding": ("""() => (y) {
        s = Constant <value_float = -1.3> ()  e = Constant <value_float = 3.0> ()  d = Constant <value_float = 0.1> ()
        y = Range (s, e, d) }""", {"y": "float32[?]"}),
    "a range of fractions": ("""() => (y) {
        s = Constant <value_float = 0.0> ()  e = Constant <value_float = 3.0> ()  d = Constant <value_float = 0.5> ()
        y = Range (s, e, d) }""", {"y": "float32[6]"}),
    "one size looked up": ("""(float[2,3] x) => (y) {
        z = Shape (x)  p = Constant <value_ints = [1]> ()  n = GatherND (z, p)  a = Constant <value_ints = [0]> ()
        w = Unsqueeze (n, a)  y = ConstantOfShape (w) }""", {"n": "int64[]", "y": "float32[3]"}),
    "a condition longer than the axis": ("""(float[2] x) => (y) {
        c = Constant <value = bool[4] {0,1,1,1}> ()  y = Compress <axis = 0> (x, c) }""", {"y": "float32[1]"}),
    "slices of one place": ("""(float[3,2] x) => (y) {
        p = Constant <value_int = 1> ()  s = SplitToSequence <axis = 0, keepdims = 0> (x, p)
        y = SequenceAt (s, p) }""", {"y": "float32[...]"}),
    "the sum of no numbers": ("""(float[2,3] x) => (y) {
        z = Shape <start = 1, end = 1> (x)  a = Constant <value_ints = [0]> ()  s = ReduceSum (z, a)
        c = Constant <value_ints = [0, -1]> ()  r = Reshape <allowzero = 0> (s, c)  y = ReduceSum (r) }""",
        {"s": "int64[1]", "y": "int64[1, 1]"}),
}  # fmt: skip


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> tuple[Case, dict[str, str]]:
    text, expected = CASES[request.param]
    return written(text), expected


def test_says_so(case: tuple[Case, dict[str, str]]) -> None:
    model, expected = case
    types = infer_types(from_model(model.model.SerializeToString()))
    assert {name: str(types[name]) for name in expected} == expected


def test_a_runtime_agrees(case: tuple[Case, dict[str, str]]) -> None:
    model, expected = case
    types = infer_types(from_model(model.model.SerializeToString()))
    judged = {name: verdict(with_sizes(types[name], {}), true) for name, true in model.truth.items()}
    assert set(expected) <= set(judged)
    assert "wrong" not in judged.values()
