"""`foreach`, `while_loop` and `cond` of `mx.sym.contrib` write what live MXNet writes."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from graphir.converters.mxnet import mx


def running_sum(sym: Any, a: Any, b: Any, w: Any, h: Any) -> Any:
    return sym.contrib.foreach(lambda part, states: (part + states[0], [part * w + states[0]]), a, [b])


def two_data_and_an_outer_value(sym: Any, a: Any, b: Any, w: Any, h: Any) -> Any:
    outer = sym.exp(h)
    return sym.contrib.foreach(lambda d, s: ([d[0] + s, d[1] * outer], s + outer + w), [a, b], h)


def an_input_that_is_an_output(sym: Any, a: Any, b: Any, w: Any, h: Any) -> Any:
    return sym.contrib.foreach(lambda part, states: (part, [states[0] + part]), a, [b])


def loop(sym: Any, a: Any, b: Any, w: Any, h: Any) -> Any:
    step = lambda i, x: ([i + x * w], [i + 1, x * w])  # noqa: E731
    return sym.contrib.while_loop(lambda i, x: i < 5, step, [a, b], max_iterations=7)


def loop_with_an_outer_value(sym: Any, a: Any, b: Any, w: Any, h: Any) -> Any:
    outer = sym.exp(h)
    step = lambda i, x: (i + outer, [i + 1, x + outer])  # noqa: E731
    return sym.contrib.while_loop(lambda i, x: sym.sum(i) < sym.sum(outer), step, [a, b], max_iterations=7)


def choice(sym: Any, a: Any, b: Any, w: Any, h: Any) -> Any:
    return sym.contrib.cond(a < b, lambda: a + w, lambda: sym.exp(b) * h)


def choice_of_two(sym: Any, a: Any, b: Any, w: Any, h: Any) -> Any:
    outer = sym.exp(h)
    return sym.contrib.cond(sym.sum(a) < sym.sum(b), lambda: [a + outer, outer], lambda: [b, outer * w])


def loops_in_loops(sym: Any, a: Any, b: Any, w: Any, h: Any) -> Any:
    inner = lambda part, state: (part + state, state * w)  # noqa: E731
    return sym.contrib.foreach(lambda part, state: sym.contrib.foreach(inner, part, state), a, b)


def states_that_training_changes(sym: Any, a: Any, b: Any, w: Any, h: Any) -> Any:
    parts = sym.split(h, num_outputs=2)

    def body(part: Any, states: Any) -> Any:
        return part + states[0] + parts[1], [sym.BatchNorm(states[0], name="bn") + parts[0] * parts[1]]

    return sym.contrib.foreach(body, a, [b])


CASES = [
    *(running_sum, two_data_and_an_outer_value, an_input_that_is_an_output, loop, loop_with_an_outer_value),
    *(choice, choice_of_two, loops_in_loops, states_that_training_changes),
]


def flat(nested: Any) -> list[Any]:
    return [symbol for part in nested for symbol in flat(part)] if isinstance(nested, list | tuple) else [nested]


def composed(library: Any, case: Any) -> Any:
    numbers = mx.attribute.SUBGRAPH_NAMES if library is mx else library.attribute.AttrScope._subgraph_names
    numbers.clear()
    with library.name.NameManager():
        return library.sym.Group(flat(case(library.sym, *(library.sym.var(name) for name in "abwh"))))


@pytest.mark.live
@pytest.mark.parametrize("case", CASES)
def test_writes_what_live_mxnet_writes(case: Any, mxnet: ModuleType) -> None:
    ours, live = composed(mx, case), composed(mxnet, case)
    assert ours.tojson() == live.tojson()
    assert ours.list_arguments() == live.list_arguments()


@pytest.mark.parametrize("case", CASES)
def test_is_read_again(case: Any) -> None:
    symbol = composed(mx, case)
    assert mx.sym.load_json(symbol.tojson()).tojson() == symbol.tojson()


def test_loops_run_over_what_is_read() -> None:
    a, b = mx.sym.var("a"), mx.sym.var("b")
    with pytest.raises(AssertionError, match="a has to be used in the loop body"):
        mx.sym.contrib.foreach(lambda part, state: (state, state + 1), a, b)
    with pytest.raises(ValueError, match="max_iterations is not given"):
        mx.sym.contrib.while_loop(lambda i: i < 5, lambda i: (i, [i + 1]), [a])
    with pytest.raises(ValueError, match="1 and 2 outputs, expected as many"):
        mx.sym.contrib.cond(a, lambda: b + 1, lambda: [a + 1, b + 1])
