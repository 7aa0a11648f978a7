"""Sequences and optional values of known structure become tensors; others stay and say why."""

from __future__ import annotations

import re

import pytest

from graphir.passes.static_sequences import resolve_structure
from tests.building import list_operators
from tests.passes.written import graph_of, lowered, unchanged

RESOLVED = [
    ("g (float[2] x, float[2] y) => (float[2] z) <int64 p = {1}> { s = SequenceConstruct(x, y) z = SequenceAt(s, p) }",
     "Identity"),
    ("g (float[2] x, float[2] y) => (float[2] z) <int64 p = {-2}> { s = SequenceConstruct(x, y) "
     "a = SequenceAt(s, p) z = Neg(a) }", "Neg"),
    ("g (float[2] x, float[2] y) => (float[2] z) <int32 p = {0}, int64 q = {0}> { e = SequenceEmpty() "
     "s = SequenceInsert(e, x) t = SequenceInsert(s, y, p) z = SequenceAt(t, q) }", "Identity"),
    ("g (float[2] x, float[2] y) => (float[2] z) <int64 p = {-1}, int64 q = {1}> { s = SequenceConstruct(x, x) "
     "t = SequenceInsert(s, y, p) z = SequenceAt(t, q) }", "Identity"),
    ("g (float[2] x, float[2] y) => (float[2] z) <int64 p = {2}, int64 q = {-1}> { s = SequenceConstruct(x, x) "
     "t = SequenceInsert(s, y, p) z = SequenceAt(t, q) }", "Identity"),
    ("g (float[2] x, float[2] y) => (float[2] z, int64 n) <int64 p = {0}> { s = SequenceConstruct(x, y, x) "
     "t = SequenceErase(s, p) u = SequenceErase(t) z = SequenceAt(u, p) n = SequenceLength(u) }", "Identity Identity"),
    ("g (float[2] x, float[3] y) => (float[5] z) { s = SequenceConstruct(x, y) z = ConcatFromSequence<axis = 0>(s) }",
     "Concat"),
    ("g (float[2] x, float[2] y) => (float[2,2] z) { s = SequenceConstruct(x, y) "
     "z = ConcatFromSequence<axis = -1, new_axis = 1>(s) }", "Unsqueeze Unsqueeze Concat"),
    ("g (float[2] x) => (float[2] z) { s = SequenceConstruct(x) z = ConcatFromSequence<axis = 0>(s) }", "Identity"),
    ("g (float[5,2] x) => (float[2,2] z) <int64 k = {2}, int64 p = {1}> { s = SplitToSequence<axis = 0>(x, k) "
     "z = SequenceAt(s, p) }", "Split Identity"),
    ("g (float[5,2] x) => (float[1,2] z) <int64 k = {2}, int64 p = {-1}> { s = SplitToSequence(x, k) "
     "z = SequenceAt(s, p) }", "Split Identity"),
    ("g (float[2,5] x) => (float[2,3] z) <int64[2] k = {2, 3}, int64 p = {1}> { s = SplitToSequence<axis = -1>(x, k) "
     "z = SequenceAt(s, p) }", "Split Identity"),
    ("g (float[3,2] x) => (float[2] z, int64 n) <int64 p = {2}> { s = SplitToSequence<keepdims = 0>(x) "
     "z = SequenceAt(s, p) n = SequenceLength(s) }", "Split Squeeze Identity Identity"),
    ("g (float[1,2] x) => (float[1,2] z) <int64 p = {0}> { s = SplitToSequence(x) z = SequenceAt(s, p) }", "Identity"),
    ("g (float[3,2] x) => (float[3,2] z) { s = SplitToSequence(x) t = Identity(s) "
     "u = SequenceMap <body = b (float[1,2] a) => (float[1,2] r) { h = Neg(a) r = Exp(h) }> (t) "
     "z = ConcatFromSequence<axis = 0>(u) }", "Split Neg Exp Neg Exp Neg Exp Concat"),
    ("g (float[2] x, float[2] y, float[2] w) => (float[4] z, float[4] m) { s = SequenceConstruct(x, y) "
     "u, v = SequenceMap <body = b (float[2] a, float[2] c) => (float[2] r, float[2] q) { r = Add(a, c) q = Mul(r, w) }"
     "> (s, w) z = ConcatFromSequence<axis = 0>(u) m = ConcatFromSequence<axis = 0>(v) }",
     "Add Mul Add Mul Concat Concat"),
    # sequences inside the body of a SequenceMap
    ("g (float[2] x, float[2] y) => (float[8] z) <int64 p = {0}> { s = SequenceConstruct(x, y) "
     "u = SequenceMap <body = b (float[2] a) => (float[4] r) { i = SequenceConstruct(a, x) "
     "r = ConcatFromSequence<axis = 0>(i) }> (s) z = ConcatFromSequence<axis = 0>(u) }", "Concat Concat Concat"),
    ("g (float[2] x) => (float[2] z, bool h) { o = Optional(x) h = OptionalHasElement(o) z = OptionalGetElement(o) }",
     "Identity Identity"),
    ("g (float[2] x) => (float[2] z, bool h, bool e) { z = OptionalGetElement(x) h = OptionalHasElement(x) "
     "e = OptionalHasElement() }", "Identity Identity Identity"),
    ("g (float[2] x) => (float[2] z) <int64 p = {0}> { s = SequenceConstruct(x, x) o = Optional(s) "
     "t = OptionalGetElement(o) z = SequenceAt(t, p) }", "Identity"),
]  # fmt: skip
STAYS = [
    ("g (seq(float[2]) s) => (float[2] z) <int64 p = {1}> { z = SequenceAt(s, p) }", r"s is .*, an input"),
    ("g (float[2] x, int64 p) => (float[2] z) { s = SequenceConstruct(x, x) z = SequenceAt(s, p) }",
     "the position p is computed at run time"),
    ("g (float[2] x) => (float[2] z) <int64 p = {2}> { s = SequenceConstruct(x, x) z = SequenceAt(s, p) }",
     "the position 2 is outside of a sequence of 2 elements"),
    ("g (float[N,2] x) => (float[1,2] z) <int64 p = {2}> { s = SplitToSequence(x) z = SequenceAt(s, p) }",
     r"how many parts there are, axis 0 of x float32\[N, 2\]"),
    ("g (float[4,2] x, int64 k) => (float[1,2] z) <int64 p = {2}> { s = SplitToSequence(x, k) z = SequenceAt(s, p) }",
     r"the sizes of the parts \(k\)"),
    ("g (optional(float[2]) o) => (float[2] z) { z = OptionalGetElement(o) }", "holds is known at run time only"),
    ("g (float[2] x) => (float[2] z) { e = SequenceEmpty() z = ConcatFromSequence<axis = 0>(e) }",
     "there are no elements to join"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), RESOLVED)
def test_known_structure_becomes_tensors(text: str, expected: str) -> None:
    graph = lowered(text, resolve_structure)
    assert list_operators(graph) == expected


@pytest.mark.parametrize(("text", "reason"), STAYS)
def test_what_stays_says_why(text: str, reason: str) -> None:
    graph = unchanged(text, resolve_structure)
    found, *_ = resolve_structure(graph).reasons.values()
    assert re.search(reason, found)


def test_an_output_that_is_a_sequence_stays() -> None:
    unchanged("g (float[2] x) => (seq(float[2]) s) { s = SequenceConstruct(x, x) }", resolve_structure)


def test_only_a_part_may_be_known() -> None:
    graph = graph_of("""g (float[2] x, seq(float[2]) s) => (float[2] a, float[2] b) <int64 p = {0}>
        { a = SequenceAt(s, p) t = SequenceConstruct(x) b = SequenceAt(t, p) }""")
    assert resolve_structure(graph)
    graph.check()
    assert list_operators(graph) == "SequenceAt Identity"
