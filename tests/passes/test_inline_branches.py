"""Branches of known conditions: which one stays, and where none can be chosen."""

from __future__ import annotations

import pytest

from graphir.passes.branches import inline_branches
from tests.building import list_operators
from tests.passes.written import graph_of, lowered, unchanged

THEN_OR_ELSE = """
  y = If (c) <then_branch = one () => (float[2] t) { t = Relu(x) },
              else_branch = two () => (float[2] e) { n = Neg(x)  e = Exp(n) }>
"""
TAKEN = [
    # text, operators left
    (f"g (float[2] x) => (float[2] y) <bool c = {{1}}> {{ {THEN_OR_ELSE} }}", "Relu"),
    (f"g (float[2] x) => (float[2] y) <bool c = {{0}}> {{ {THEN_OR_ELSE} }}", "Neg Exp"),
    (f"g (float[2] x) => (float[2] z) <bool[1] c = {{0}}> {{ {THEN_OR_ELSE} z = Abs(y) }}", "Neg Exp Abs"),
    # the branch gives a value from around it, or a constant: the output keeps its name
    ("""g (float[2] x) => (float[2] y) <bool c = {1}> { y = If (c)
         <then_branch = one () => (float[2] t) { t = Identity(x) }, else_branch = two () => (float[2] e) { e = Neg(x) }>
        }""", "Identity"),
    ("""g (float[2] x) => (float[2] y, float[2] z) <bool c = {1}> { a = Abs(x) y, z = If (c)
         <then_branch = one () => (float[2] t, float[2] s) { t = Relu(a) s = Constant<value = float[2] {1.0, 2.0}>() },
          else_branch = two () => (float[2] e, float[2] f) { e = Neg(x) f = Neg(e) }> }""", "Abs Relu Identity"),
    # one inside the other, and one whose inner condition is open
    ("""g (float[2] x) => (float[2] y) <bool c = {1}, bool d = {0}> { y = If (c)
         <then_branch = one () => (float[2] t) { a = Abs(x) t = If (d)
             <then_branch = three () => (float[2] u) { u = Neg(a) },
              else_branch = four () => (float[2] v) { v = Exp(a) }> },
          else_branch = two () => (float[2] e) { e = Neg(x) }> }""", "Abs Exp"),
    ("""g (float[2] x, bool d) => (float[2] y) <bool c = {1}> { y = If (c)
         <then_branch = one () => (float[2] t) { a = Abs(x) t = If (d)
             <then_branch = three () => (float[2] u) { u = Neg(a) },
              else_branch = four () => (float[2] v) { v = Exp(a) }> },
          else_branch = two () => (float[2] e) { e = Neg(x) }> }""", "Abs If"),
    ("""g (float[2] x, bool d) => (float[2] y) <bool c = {1}> { y = If (d)
         <then_branch = one () => (float[2] t) { a = Abs(x) t = If (c)
             <then_branch = three () => (float[2] u) { u = Neg(a) },
              else_branch = four () => (float[2] v) { v = Exp(a) }> },
          else_branch = two () => (float[2] e) { e = Neg(x) }> }""", "If"),
    # names inside the branch that the graph around has too, after inlining
    (f"g (float[2] x) => (float[2] z) <bool c = {{0}}> {{ y_e = Relu(x) y_n = Add(y_e, x) {THEN_OR_ELSE} "
     "z = Add(y, y_n) }", "Relu Add Neg Exp Add"),
]  # fmt: skip
KEPT = [
    f"g (float[2] x, bool c) => (float[2] y) {{ {THEN_OR_ELSE} }}",
    "g (float[2] x) => (float[2] y) { y = Relu(x) }",
]


@pytest.mark.parametrize(("text", "expected"), TAKEN)
def test_the_branch_that_runs_takes_the_place(text: str, expected: str) -> None:
    graph = lowered(text, inline_branches)
    assert list_operators(graph) == expected


@pytest.mark.parametrize("text", KEPT)
def test_without_a_known_condition_nothing_changes(text: str) -> None:
    unchanged(text, inline_branches)


def test_types_follow_the_branch_taken() -> None:
    graph = graph_of("""g (float[2,3] x) => (float[N,M] z) <bool c = {1}> { y = If (c)
        <then_branch = one () => (float[2,3] t) { t = Relu(x) },
         else_branch = two () => (float[3,2] e) { e = Transpose(x) }>
        z = Neg(y) }""")
    assert inline_branches(graph)
    assert str(graph["y"].type) == "float32[2, 3]"
    assert str(graph["z"].type) == "float32[2, 3]"


def test_what_the_dead_branch_used_is_free_again() -> None:
    graph = graph_of(f"g (float[2] x) => (float[2] y) <bool c = {{1}}> {{ {THEN_OR_ELSE} }}")
    inline_branches(graph)
    assert [node.op.name for node in graph["x"].users()] == ["Relu"]
