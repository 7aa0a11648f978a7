"""Conditionals and loops: with functions, and as TensorFlow 1 has them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tests.tensorflow import recurrent_loops
from tests.tensorflow.case import Case, Input, Network, data, ints, param
from tests.tensorflow.graphdef import const, function, node
from tests.tensorflow.networks import network

SCALAR = "MXNet has no arrays without axes that could be fed"
F, I, B = "float32", "int32", "bool"  # noqa: E741


def _number(name: str, value: float, dtype: str = I) -> dict[str, Any]:
    return const(name, value, dtype)


def _op(op: str, name: str, *inputs: str, dtype: str = F, **attrs: Any) -> dict[str, Any]:
    return node(op, name, inputs, T=dtype, **attrs)


# Branches that take x and give x + x and -x.
TWICE = function("twice", {"x": F}, {"y": (F, "sum:z:0")}, _op("AddV2", "sum", "x", "x"))
NEGATED = function("negated", {"x": F}, {"y": (F, "neg:y:0")}, _op("Neg", "neg", "x"))
SAME = function("same", {"x": F}, {"y": (F, "x")})
HALF = function(
    "half", {"x": F}, {"y": (F, "cut:output:0")}, const("begin", [0], I), const("size", [1], I),
    node("Slice", "cut", ["x", "begin:output:0", "size:output:0"], T=F, Index=I),
)  # fmt: skip
NESTED = function(
    "nested", {"x": F}, {"y": (F, "inner:output:0")}, _number("zero", 0.0, F), const("axes", [0], I),
    node("Max", "top", ["x", "axes:output:0"], T=F),
    node("Less", "low", ["top:output:0", "zero:output:0"], T=F),
    node("StatelessIf", "inner", ["low:z:0", "x"], Tcond=B, Tin=[F], Tout=[F], then_branch="twice",
         else_branch="negated"),
)  # fmt: skip
BRANCHES = (TWICE, NEGATED, SAME, HALF, NESTED)


def _conditional(
    title: str, condition: Input, then: str, other: str, op: str = "If", dtype: str = B, **more: Any
) -> Network:
    total = more.pop("total", False)
    made = node(
        op, "chosen" if total else "y", [condition.name, "x"], Tcond=dtype, Tin=[F], Tout=[F], then_branch=then,
        else_branch=other,
    )  # fmt: skip
    summed = [const("axes", [0], I), node("Sum", "y", ["chosen", "axes"], T=F)] if total else []
    return network(f"{op}-{title}", made, *summed, inputs=(condition, data(4, name="x")), functions=BRANCHES, **more)


def _flag(value: bool, role: Literal["data", "param"] = "data") -> Input:
    return Input("c", (), B, role=role, values=(value,))


def _cases(title: str, index: Input, *branches: str, op: str = "Case", **more: Any) -> Network:
    """`branches` are set by hand: the schema knows lists of functions, the writer of attributes one at a time."""
    made = node(op, "y", ["i", "x"], Tin=[F], Tout=[F])
    made["attr"]["branches"] = {"list": {"func": [{"name": name} for name in branches]}}
    return network(f"{op}-{title}", made, inputs=(index, data(4, name="x")), functions=BRANCHES, **more)


def _index(value: int, role: Literal["data", "param"] = "data") -> Input:
    return Input("i", (), I, role=role, values=(value,))


IFS: tuple[Case, ...] = (
    _conditional("true", _flag(True), "twice", "negated"),
    _conditional("false", _flag(False), "twice", "negated", op="StatelessIf"),
    _conditional("unchanged", _flag(True), "same", "negated"),
    _conditional("shapes-differ", _flag(False), "same", "half", total=True),
    _conditional("nested", _flag(True), "nested", "same"),
    _conditional("known", _flag(False, "param"), "twice", "negated"),
    _conditional("number", Input("c", (), F, values=(2.5,)), "twice", "negated", dtype=F),
    _conditional("integer", Input("c", (), I, values=(0,)), "twice", "negated", dtype=I),
    _conditional("training-flag", Input("is_training", (), B, values=(False,)), "twice", "negated"),
    _cases("first", _index(0), "twice", "negated", "same"),
    _cases("last", _index(2), "twice", "negated", "same", op="StatelessCase"),
    _cases("outside", _index(-1), "twice", "negated", "same"),
    _cases("known", _index(1, "param"), "twice", "negated", "same"),
    _cases("known-outside", _index(7, "param"), "twice", "negated"),
)  # fmt: skip


def _below(limit: str, op: str = "Less") -> dict[str, Any]:
    return node(op, "below", ["i", limit], T=I)


def _loop(
    title: str,
    condition: tuple[dict[str, Any], ...],
    body: tuple[dict[str, Any], ...],
    results: tuple[str, str],
    *,
    op: str = "While",
    start: int = 0,
    slot: int = 1,
    **more: Any,
) -> Network:
    """A loop over i, a number that starts at `start`, and a, which starts as x; `n` is a value from around."""
    variables = {"i": I, "a": F, "n": I}
    functions = (
        function("condition", variables, {"goes_on": (B, f"{condition[-1]['name']}:z:0")}, *condition),
        function("body", variables, {"i1": (I, results[0]), "a1": (F, results[1]), "n1": (I, "n")}, *body),
        *more.pop("functions", ()),
    )
    nodes = (
        _number("i", start),
        node(op, "loop", ["i", "x", "n"], T=[I, F, I], cond="condition", body="body"),
        node("Identity", "y", [f"loop:{slot}"], T=I if slot == 0 else F),
    )
    inputs = more.pop("inputs", (data(2, 3, name="x"), ints(4, name="n", shape=())))
    return network(f"{op}-{title}", *nodes, inputs=inputs, functions=functions, **more)


ADD_ONE = (_number("one", 1), _op("AddV2", "next", "i", "one:output:0", dtype=I))
DOUBLE = _op("AddV2", "double", "a", "a")
WEIGHTED = (
    node("Cast", "weight", ["i"], SrcT=I, DstT=F), _op("Mul", "term", "a", "weight:y:0"),
    _op("AddV2", "sum", "term:z:0", "a"),
)  # fmt: skip
GROW = (
    _number("axis", 0),
    node("ConcatV2", "grown", ["a", "a", "axis:output:0"], T=F, N=2, Tidx=I),
)
BIG = (
    const("axes", [0, 1], I), node("Sum", "total", ["a", "axes:output:0"], T=F), _number("most", 100.0, F),
    node("Less", "below", ["total:output:0", "most:output:0"], T=F),
)  # fmt: skip
SQUARE = (_op("Square", "square", "a"), _number("one_f", 1.0, F), _op("AddV2", "more", "square:y:0", "one_f:output:0"))

LOOPS: tuple[Case, ...] = (
    _loop("counted", (_below("n"),), (*ADD_ONE, DOUBLE), ("next:z:0", "double:z:0")),
    _loop("counter-used", (_below("n"),), (*ADD_ONE, *WEIGHTED), ("next:z:0", "sum:z:0"), op="StatelessWhile"),
    _loop("counter-given", (_below("n"),), (*ADD_ONE, DOUBLE), ("next:z:0", "double:z:0"), slot=0),
    _loop("starts-later", (_below("n"),), (*ADD_ONE, *WEIGHTED), ("next:z:0", "sum:z:0"), start=2),
    _loop("limit-counts", (_below("n", "LessEqual"),), (*ADD_ONE, *WEIGHTED), ("next:z:0", "sum:z:0")),
    _loop(
        "other-way-round", (node("Greater", "below", ["n", "i"], T=I),), (*ADD_ONE, *WEIGHTED), ("next:z:0", "sum:z:0")
    ),
    _loop(
        "steps-of-two", (_below("n"),),
        (_number("two", 2), _op("AddV2", "next", "two:output:0", "i", dtype=I), *WEIGHTED),
        ("next:z:0", "sum:z:0"), start=1, inputs=(data(2, 3, name="x"), ints(6, name="n", shape=())),
    ),
    _loop(
        "steps-to-fed-limit", (_below("n"),),
        (_number("two", 2), _op("AddV2", "next", "two:output:0", "i", dtype=I), *WEIGHTED),
        ("next:z:0", "sum:z:0"), start=1, inputs=(data(2, 3, name="x"), Input("n", (), I, values=(6,))),
        mxnet_lacks=SCALAR,
    ),
    _loop(
        "two-limits",
        (
            _number("five", 5), node("Less", "first", ["i", "five:output:0"], T=I),
            node("Less", "second", ["i", "n"], T=I),
            node("LogicalAnd", "both", ["first:z:0", "second:z:0"]),
        ),
        (*ADD_ONE, *WEIGHTED), ("next:z:0", "sum:z:0"), inputs=(data(2, 3, name="x"), Input("n", (), I, values=(3,))),
        mxnet_lacks=SCALAR,
    ),
    _loop("fed-limit", (_below("n"),), (*ADD_ONE, *WEIGHTED), ("next:z:0", "sum:z:0"), slot=0,
          inputs=(data(2, 3, name="x"), Input("n", (), I, values=(3,)))),
    _loop("never-runs", (_below("n"),), (*ADD_ONE, *WEIGHTED), ("next:z:0", "sum:z:0"), start=9),
    _loop("never-runs-counter", (_below("n"),), (*ADD_ONE, *WEIGHTED), ("next:z:0", "sum:z:0"), start=9, slot=0),
    _loop("grows", (_below("n"),), (*ADD_ONE, *GROW), ("next:z:0", "grown:output:0")),
    _loop("computed-condition", BIG, (*ADD_ONE, *SQUARE), ("next:z:0", "more:z:0")),
    _loop("computed-condition-counts", BIG, (*ADD_ONE, *SQUARE), ("next:z:0", "more:z:0"), slot=0,
          mxnet_lacks=SCALAR),
    _loop(
        "counts-by-weights", (_below("n"),), (*ADD_ONE, _op("Mul", "scaled", "a", "a")), ("next:z:0", "scaled:z:0"),
    ),
    _loop(
        "conditional-inside", (_below("n"),),
        (
            *ADD_ONE, _number("middle", 2), node("Less", "early", ["i", "middle:output:0"], T=I),
            node("If", "chosen", ["early:z:0", "a"], Tcond=B, Tin=[F], Tout=[F], then_branch="twice",
                 else_branch="negated"),
        ),
        ("next:z:0", "chosen:output:0"), functions=(TWICE, NEGATED),
    ),
    _loop(
        "loop-inside", (_below("n"),),
        (
            *ADD_ONE, _number("zero", 0),
            node("While", "inner", ["zero:output:0", "a", "i"], T=[I, F, I], cond="inner_condition", body="inner_body"),
        ),
        ("next:z:0", "inner:output:1"),
        functions=(
            function("inner_condition", {"j": I, "b": F, "m": I}, {"on": (B, "below:z:0")},
                     node("Less", "below", ["j", "m"], T=I)),
            function("inner_body", {"j": I, "b": F, "m": I},
                     {"j1": (I, "next:z:0"), "b1": (F, "sum:z:0"), "m1": (I, "m")},
                     _number("one", 1), _op("AddV2", "next", "j", "one:output:0", dtype=I),
                     _number("half", 0.5, F), _op("AddV2", "sum", "b", "half:output:0")),
        ),
    ),
)  # fmt: skip


def _switches(*names: str) -> list[dict[str, Any]]:
    return [node("Switch", f"{name}_switch", [name, "c"], T=F) for name in names]


def _old_loop(
    frame: str,
    body: tuple[dict[str, Any], ...],
    start: str,
    following: str,
    limit: str,
    prefix: str = "",
    first: str = "zero",
) -> list[dict[str, Any]]:
    """A loop of TensorFlow 1 over i and a, whose limit is a value from around."""

    def named(name: str) -> str:
        return f"{prefix}{name}"

    def enter(name: str, source: str, dtype: str, **more: Any) -> dict[str, Any]:
        return node("Enter", named(name), [source], T=dtype, frame_name=frame, **more)

    nodes = [
        enter("enter_i", first, I), enter("enter_a", start, F), enter("limit", limit, I, is_constant=True),
        node("Merge", named("merge_i"), [named("enter_i"), named("next_i")], T=I, N=2),
        node("Merge", named("merge_a"), [named("enter_a"), named("next_a")], T=F, N=2),
        node("Less", named("less"), [named("merge_i"), named("limit")], T=I),
        node("LoopCond", named("goes_on"), [named("less")]),
        node("Switch", named("switch_i"), [named("merge_i"), named("goes_on")], T=I),
        node("Switch", named("switch_a"), [named("merge_a"), named("goes_on")], T=F),
        node("Identity", named("i"), [named("switch_i:1")], T=I),
        node("Identity", named("a"), [named("switch_a:1")], T=F),
        const(named("step"), 1, I) | {"input": [f"^{named('i')}"]},
        node("AddV2", named("count"), [named("i"), named("step")], T=I),
        *body,
        node("NextIteration", named("next_i"), [named("count")], T=I),
        node("NextIteration", named("next_a"), [following], T=F),
        node("Exit", named("exit"), [named("switch_a")], T=F),
    ]  # fmt: skip

    return nodes


ZERO = _number("zero", 0)
X_AND_C = (data(2, 3, name="x"), Input("c", (), B, values=(True,)))
OLD: tuple[Case, ...] = (
    network(
        "old-conditional", *_switches("x"), node("Neg", "neg", ["x_switch"], T=F),
        node("AddV2", "twice", ["x_switch:1", "x_switch:1"], T=F), node("Merge", "merged", ["neg", "twice"], T=F, N=2),
        node("Identity", "y", ["merged"], T=F), inputs=X_AND_C,
    ),
    network(
        "old-conditional-false", *_switches("x"), node("Neg", "neg", ["x_switch"], T=F),
        node("AddV2", "twice", ["x_switch:1", "x_switch:1"], T=F), node("Merge", "merged", ["twice", "neg"], T=F, N=2),
        node("Identity", "y", ["merged"], T=F),
        inputs=(data(2, 3, name="x"), Input("c", (), B, values=(False,))),
    ),
    network(
        "old-conditional-which", *_switches("x"), node("Merge", "merged", ["x_switch", "x_switch:1"], T=F, N=2),
        node("Identity", "y", ["merged:1"], T=I), inputs=X_AND_C,
    ),
    network(
        "old-conditional-which-reversed", *_switches("x"),
        node("Merge", "merged", ["x_switch:1", "x_switch"], T=F, N=2), node("Identity", "y", ["merged:1"], T=I),
        inputs=X_AND_C,
    ),
    *(
        network(
            f"old-cases-{number}", node("_SwitchN", "x_switch", ["x", "i"], T=F, num_outs=3),
            node("Neg", "neg", ["x_switch"], T=F), node("Exp", "exp", ["x_switch:2"], T=F),
            node("Merge", "merged", ["exp", "neg", "x_switch:1"], T=F, N=3),
            node("Cast", "which", ["merged:1"], SrcT=I, DstT=F), node("AddV2", "y", ["merged", "which"], T=F),
            inputs=(data(2, 3, name="x"), _index(number)),
        )
        for number in (0, 1, 2, 5, -1)
    ),
    network(
        "old-conditional-constant", *_switches("x"), node("Switch", "side", ["c", "c"], T=B),
        node("Identity", "pivot", ["side:1"], T=B),
        const("five", np.full((2, 3), 5.0), F) | {"input": ["^pivot"]}, node("Neg", "neg", ["x_switch"], T=F),
        node("Merge", "merged", ["neg", "five"], T=F, N=2), node("Identity", "y", ["merged"], T=F), inputs=X_AND_C,
    ),
    network(
        "old-conditional-known", *_switches("x"), node("Neg", "neg", ["x_switch"], T=F),
        node("Square", "square", ["x_switch:1"], T=F), node("Merge", "y", ["neg", "square"], T=F, N=2),
        inputs=(data(2, 3, name="x"), Input("c", (), B, role="param", values=(False,))),
    ),
    network(
        "old-two-results", *_switches("x", "z"), node("Neg", "neg", ["x_switch"], T=F),
        node("Merge", "m/first", ["neg", "x_switch:1"], T=F, N=2),
        node("Merge", "m/second", ["z_switch", "z_switch:1"], T=F, N=2),
        node("AddV2", "y", ["m/first", "m/second"], T=F), inputs=(*X_AND_C, data(2, 3, name="z")),
    ),
    network(
        "old-nested-conditional", *_switches("x"), node("Switch", "d_inside", ["d", "c"], T=B),
        node("Switch", "inner", ["x_switch:1", "d_inside:1"], T=F), node("Neg", "neg", ["inner"], T=F),
        node("Square", "square", ["inner:1"], T=F), node("Merge", "k/inside", ["neg", "square"], T=F, N=2),
        node("Merge", "y", ["x_switch", "k/inside"], T=F, N=2),
        inputs=(*X_AND_C, Input("d", (), B, values=(False,))),
    ),
    network(
        "old-loop", ZERO, *_old_loop("f", (node("AddV2", "double", ["a", "a"], T=F),), "x", "double", "n"),
        node("Identity", "y", ["exit"], T=F), inputs=(data(2, 3, name="x"), ints(3, name="n", shape=())),
    ),
    network(
        "old-loop-fed-limit", ZERO,
        *_old_loop("f", (node("AddV2", "double", ["a", "a"], T=F),), "x", "double", "n"),
        node("Identity", "y", ["exit"], T=F), inputs=(data(2, 3, name="x"), Input("n", (), I, values=(3,))),
        mxnet_lacks=SCALAR,
    ),
    network(
        "old-loop-in-loop", ZERO,
        *_old_loop(
            "f",
            (
                node("Enter", "w_in", ["w"], T=F, frame_name="f", is_constant=True),
                const("inner_zero", 0, I) | {"input": ["^i"]},
                *_old_loop(
                    "g", (
                        node("Enter", "w_deep", ["w_in"], T=F, frame_name="g", is_constant=True),
                        node("Mul", "product", ["inner_a", "w_deep"], T=F),
                    ), "a", "product", "i", prefix="inner_", first="inner_zero",
                ),
            ),
            "x", "inner_exit", "n",
        ),
        node("Identity", "y", ["exit"], T=F),
        inputs=(data(2, 3, name="x"), ints(3, name="n", shape=()), param("w", 2, 3)),
    ),
    network(
        "old-conditional-in-loop", ZERO,
        *_old_loop(
            "f",
            (
                node("Less", "early", ["i", "step"], T=I), node("Switch", "a_switch", ["a", "early"], T=F),
                node("Neg", "neg", ["a_switch"], T=F), node("Square", "square", ["a_switch:1"], T=F),
                node("Merge", "m/chosen", ["neg", "square"], T=F, N=2),
            ),
            "x", "m/chosen", "n",
        ),
        node("Identity", "y", ["exit"], T=F), inputs=(data(2, 3, name="x"), ints(3, name="n", shape=())),
    ),
    network(
        "old-loop-in-conditional", ZERO, *_switches("x"),
        *_old_loop("f", (node("AddV2", "double", ["a", "a"], T=F),), "x_switch:1", "double", "n"),
        node("Merge", "y", ["x_switch", "exit"], T=F, N=2), inputs=(*X_AND_C, ints(3, name="n", shape=())),
    ),
)  # fmt: skip

CASES: tuple[Case, ...] = (*IFS, *LOOPS, *OLD, *recurrent_loops.CASES)
REFUSED: tuple[Case, ...] = (
    _conditional("no-such-function", _flag(True), "twice", "lost", reason="'lost' is not in the library"),
    network(
        "old-conditional-constant-on-no-side", *_switches("x"), const("five", np.full((2, 3), 5.0), F),
        node("Neg", "neg", ["x_switch"], T=F), node("Merge", "y", ["neg", "five"], T=F, N=2), inputs=X_AND_C,
        reason="operands of y do not stand on the sides of one condition",
    ),
)  # fmt: skip
