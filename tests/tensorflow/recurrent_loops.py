"""Loops over lists that are recurrent layers, and loops that only look like some.

`LAYERS` are rows with the operators that they have to become, `LOOPS` rows that have to stay loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tests.equivalence.case import Role
from tests.tensorflow.case import Case, Input, data, ints
from tests.tensorflow.graphdef import const, function, node
from tests.tensorflow.networks import network

F, I, V = "float32", "int32", "variant"  # noqa: E741
STEPS, BATCH, WIDTH, HIDDEN = 5, 2, 3, 4
LOOP = "scope/layer/while"
LIMITS = ("Maximum", "Minimum")
SCALAR = "MXNet has no arrays without axes that could be fed"
NO_HALF = "MXNet's CPU build has no products of float16"
RESULTS = {
    "BiasAdd": "output", "Const": "output", "ConcatV2": "output", "Elu": "activations", "GreaterEqual": "z",
    "MatMul": "product", "Relu": "activations", "Relu6": "activations", "Sigmoid": "y", "Softplus": "activations",
    "Softsign": "activations", "Split": "output", "Tanh": "y", "TensorListGetItem": "item",
    "TensorListSetItem": "output_handle", "LeakyRelu": "activations", "StridedSlice": "output", "SelectV2": "output",
}  # fmt: skip


@dataclass
class Body:
    """A function's nodes in the making; `add` gives what its result is called inside the function."""

    dtype: str = F
    nodes: list[dict[str, Any]] = field(default_factory=list)

    def add(self, op: str, *inputs: str, slot: int = 0, **attrs: Any) -> str:
        """A node of the body's dtype."""
        name = f"n{len(self.nodes)}"
        self.nodes.append(node(op, name, inputs, **({"T": self.dtype} | attrs)))
        return f"{name}:{RESULTS.get(op, 'z')}:{slot}"

    def number(self, value: Any, dtype: str = "") -> str:
        """A constant."""
        name = f"n{len(self.nodes)}"
        self.nodes.append(const(name, value, dtype or self.dtype))
        return f"{name}:output:0"

    def parts(self, value: str, count: int, axis: int = 1) -> list[str]:
        """Equal parts of a matrix."""
        found = self.add("Split", self.number(axis, I), value, num_split=count)
        return [f"{found[:-1]}{place}" for place in range(count)]

    def gates(self, x: str = "x_t", h: str = "h") -> str:
        """x W + h R + b, as Keras writes it."""
        both = self.add("AddV2", self.add("MatMul", x, "w"), self.add("MatMul", h, "r"))
        return self.add("BiasAdd", both, "b")

    def joined(self, *values: str, axis: int = 1) -> str:
        """Matrices beside each other."""
        return self.add("ConcatV2", *values, self.number(axis, I), N=len(values), Tidx=I)


# What a cell is: it writes a body, and gives the next states and the row, by what they are called there.
Cell = Callable[[Body], tuple[Sequence[str], str]]


def lstm(
    order: str = "ifgo", gate: str = "Sigmoid", squash: str = "Tanh", shape: str = "Tanh", joined: bool = False
) -> Cell:
    """An LSTM whose gates lie in this order: input, forget, new (g), output."""

    def write(body: Body) -> tuple[Sequence[str], str]:
        total = body.add("BiasAdd", body.add("MatMul", body.joined("x_t", "h"), "w"), "b") if joined else body.gates()
        parts = dict(zip(order, body.parts(total, 4), strict=True))
        i, f, o = (body.add(gate, parts[name]) for name in "ifo")
        g = body.add(squash, parts["g"])
        cell = body.add("AddV2", body.add("Mul", "c", f), body.add("Mul", i, g))
        state = body.add("Mul", body.add(shape, cell), o)
        return (state, cell), state

    return write


def turned(cell: Cell) -> Cell:
    """The cell with its states the other way round."""

    def write(body: Body) -> tuple[Sequence[str], str]:
        states, row = cell(body)
        return states[::-1], row

    return write


def odd_lstm(change: str) -> Cell:
    """An LSTM but for one thing."""

    def write(body: Body) -> tuple[Sequence[str], str]:
        i, f, g, o = body.parts(body.gates(), 4)
        i = body.add("Tanh" if change == "input-gate-by-tanh" else "Sigmoid", i)
        o = body.add("Relu" if change == "output-gate-by-relu" else "Sigmoid", o)
        f = body.add("Sigmoid", f)
        g = body.add("Tanh", g)
        kept = body.add("Mul", f, "h" if change == "keeps-the-output" else "c")
        new = body.add("AddV2" if change == "adds-the-gate" else "Mul", i, g)
        cell = body.add("Sub" if change == "subtracts" else "AddV2", kept, new)
        shaped = body.add("Tanh", "c" if change == "shows-the-cell-before" else cell)
        state = body.add("Mul", o, shaped)
        if change == "adds-one":
            state = body.add("AddV2", state, body.number(1.0))
        if change == "cell-limited":
            cell = body.add("Relu6", cell)
        row = {"row-is-the-cell": cell, "row-is-the-state-before": "h", "row-is-scaled": body.add("Mul", state, o)}
        return (state, cell), row.get(change, state)

    return write


def gru(late: bool = True, activation: str = "Tanh") -> Cell:
    """A GRU with the gates update, reset, new; `late` resets the product with the state, not the state."""

    def write(body: Body) -> tuple[Sequence[str], str]:
        given = body.parts(body.add("BiasAdd", body.add("MatMul", "x_t", "w"), "b"), 3)
        weights = body.parts("r", 3)
        if late:
            own = body.parts(body.add("BiasAdd", body.add("MatMul", "h", "r"), "d"), 3)
        else:
            own = [body.add("MatMul", "h", weight) for weight in weights[:2]]
        z, r = (body.add("Sigmoid", body.add("AddV2", *pair)) for pair in zip(given[:2], own[:2], strict=True))
        inner = body.add("Mul", r, own[2]) if late else body.add("MatMul", body.add("Mul", r, "h"), weights[2])
        new = body.add(activation, body.add("AddV2", given[2], inner))
        rest = body.add("Sub", body.number(1.0), z)
        state = body.add("AddV2", body.add("Mul", z, "h"), body.add("Mul", rest, new))
        return (state,), state

    return write


def odd_gru(change: str) -> Cell:
    """A GRU but for one thing."""

    def write(body: Body) -> tuple[Sequence[str], str]:
        z, r, g = body.parts(body.add("BiasAdd", body.add("MatMul", "x_t", "w"), "b"), 3)
        own = body.parts(body.add("MatMul", "h", "r"), 3)
        z, r = (body.add("Sigmoid", body.add("AddV2", *pair)) for pair in ((z, own[0]), (r, own[1])))
        inner = body.add("Mul", z if change == "update-resets" else r, own[2])
        if change == "resets-the-input":
            inner, g = own[2], body.add("Mul", r, g)
        new = body.add("Tanh", body.add("AddV2", g, inner))
        rest = body.add("Sub", body.number(2.0 if change == "two-less" else 1.0), z)
        pair = (rest, z) if change == "mixes-the-other-way" else (z, rest)
        state = body.add("AddV2", body.add("Mul", pair[0], "h"), body.add("Mul", pair[1], new))
        return (state,), state

    return write


def rnn(function_: str = "Tanh") -> Cell:
    """The plain layer."""

    def write(body: Body) -> tuple[Sequence[str], str]:
        total = body.gates()
        state = body.add(function_, total) if function_ else total
        return (state,), state

    return write


def hard_rnn(scale: float, shift: float, top: float, divisor: float, limits: tuple[str, str] = LIMITS) -> Cell:
    """The plain layer with min(max(x * scale + shift, 0), top) / divisor, limited first by the one or by the other."""

    def write(body: Body) -> tuple[Sequence[str], str]:
        total = body.add("AddV2", body.add("Mul", body.gates(), body.number(scale)), body.number(shift))
        for name in limits:
            total = body.add(name, total, body.number(0.0 if name == "Maximum" else top))
        state = body.add("RealDiv", total, body.number(divisor))
        return (state,), state

    return write


def odd_rnn(change: str) -> Cell:
    """The plain layer but for one thing."""

    def write(body: Body) -> tuple[Sequence[str], str]:
        x = body.add("Tanh", "x_t") if change == "input-by-tanh" else "x_t"
        total = body.gates(x, body.add("Relu", "h") if change == "state-by-relu" else "h")
        if change == "weights-by-step":
            step = body.add("Cast", "i", SrcT=I, DstT=body.dtype, T=I).replace(":z:", ":y:")
            total = body.add("Mul", total, step)
        if change == "adds-the-state":
            total = body.add("AddV2", total, "h")
        if change == "bias-by-row":
            total = body.add("AddV2", total, "rows")
        state = body.add("Tanh", total)
        return (state,), state

    return write


def ending(
    cell: Cell, states: str = "h", *, row: str = "zero", compare: str = "GreaterEqual", goes_on: bool = False
) -> Cell:
    """The cell whose states stay what they are behind a sequence's length, where the row is 0, the state, or goes on.

    With `goes_on` the first state does not stay.
    """

    def write(body: Body) -> tuple[Sequence[str], str]:
        after, given = cell(body)
        ended = body.add(compare, "i", "lens", T=I)
        column = body.add("ExpandDims", ended, body.number(1, I), T="bool", Tdim=I).replace(":z:", ":output:")
        kept = [body.add("SelectV2", column, *pair) for pair in zip(states, after, strict=True)]
        if row != "goes-on":
            behind = body.number(np.zeros((BATCH, HIDDEN))) if row == "zero" else "h"
            given = body.add("SelectV2", column, behind, given)
        return [after[0] if goes_on else kept[0], *kept[1:]], given

    return write


def _functions(cell: Cell, dtype: str, states: str, weights: Sequence[Input], index: str) -> tuple[dict[str, str], Any]:
    """The loop's variables, and its condition and body: the counter, states, rows, slices, the limit, the weights."""
    body = Body(dtype)
    place = body.add("Sub", body.number(STEPS - 1, I), "i", T=I) if index == "backwards" else "i"
    x_t = body.add("TensorListGetItem", "xs", place, body.number([BATCH, WIDTH], I), element_dtype=dtype)
    after, row = cell(body)
    written = body.add("TensorListSetItem", "ys", "i", row, element_dtype=dtype)
    count = body.add("AddV2", "i", body.number(1, I), T=I)
    for item in body.nodes:
        item["input"] = [x_t if name == "x_t" else name for name in item["input"]]
    variables = {"i": I, **dict.fromkeys(states, dtype), "ys": V, "xs": V, "n": I}
    variables |= {held.name: held.dtype for held in weights}
    results = {"i": count, **dict(zip(states, after, strict=True)), "ys": written}
    named = {f"{name}_after": (kind, results.get(name, name)) for name, kind in variables.items()}
    below = function("below", variables, {"on": ("bool", "less:z:0")}, node("Less", "less", ["i", "n"], T=I))
    return variables, (below, function("step", variables, named, *body.nodes))


def layer(
    title: str,
    cell: Cell,
    gates: int,
    states: str = "h",
    *,
    weights: Sequence[Input] | None = None,
    initial: dict[str, Input] | None = None,
    steps: int | Input | None = STEPS,
    **more: Any,
) -> Case:
    """A loop over x (T, N, I), from states that are fed or 0; the result is what its rows are stacked to.

    Without `steps` there are as many as x has slices. `more`: the dtype, the name of the index, `places`,
    which names how many rows the list of rows has place for, and what `network` takes.
    """
    dtype: str = more.pop("dtype", F)
    index, places = more.pop("index", ""), more.pop("places", "n")
    columns = gates * HIDDEN
    if weights is None:
        weights = [_weight("w", WIDTH, columns), _weight("r", HIDDEN, columns), _weight("b", columns)]
    weights = [replace(held, dtype=dtype) if held.dtype == F else held for held in weights]
    variables, functions = _functions(cell, dtype, states, weights, index)
    begins = initial or {}
    zeros = [node("Fill", f"{name}_zero", ["row_shape", "nought"], T=dtype) for name in states if name not in begins]
    given = {"i": "start", "ys": "reserved", "xs": "slices"}
    given |= {name: begins[name].name if name in begins else f"{name}_zero" for name in states}
    lists = {"element_dtype": dtype, "shape_type": I}
    operands = [given.get(name, name) for name in variables]
    nodes = (
        const("start", 0, I), const("seven", 7, I), const("nought", 0.0, dtype), const("row_shape", [BATCH, HIDDEN], I),
        *zeros, const("slice_shape", [BATCH, WIDTH], I),
        node("TensorListFromTensor", "slices", ["x", "slice_shape"], **lists),
        node("TensorListReserve", "reserved", ["row_shape", places], **lists),
        node("While", LOOP, operands, T=list(variables.values()), cond="below", body="step"),
        node("TensorListStack", "y", [f"{LOOP}:{1 + len(states)}", "row_shape"], element_dtype=dtype),
        *(node("Identity", f"last_{name}", [f"{LOOP}:{place}"], T=dtype) for place, name in enumerate(states, 1)),
    )  # fmt: skip
    limit = () if steps is None else (steps if isinstance(steps, Input) else ints(steps, name="n", shape=()),)
    inputs = (data(STEPS, BATCH, WIDTH, name="x", dtype=dtype), *limit, *weights, *begins.values())
    counted = () if limit else COUNTED
    return network(f"layer-{title}", *counted, *nodes, inputs=inputs, functions=functions, **more)


COUNTED = (
    const("first", [0], I), const("second", [1], I), node("Shape", "sizes", ["x"], T=F),
    node("StridedSlice", "n", ["sizes", "first", "second", "second"], T=I, Index=I, shrink_axis_mask=1),
)  # fmt: skip


def _weight(name: str, *shape: int, role: Role = "param") -> Input:
    return Input(name, shape, kind="scale:0.6", role=role)


def _state(name: str, batch: int = BATCH, dtype: str = F) -> Input:
    return data(batch, HIDDEN, name=name, dtype=dtype)


BOTH = {"h": _state("h0"), "c": _state("c0")}
ENDS = ("y:0", "last_h:0", "last_c:0")
GRU_WEIGHTS = (_weight("w", WIDTH, 12), _weight("r", HIDDEN, 12), _weight("b", 12), _weight("d", 12))
JOINED = (_weight("w", WIDTH + HIDDEN, 16), _weight("b", 16))
FED = (_weight("w", WIDTH, HIDDEN, role="data"), _weight("r", HIDDEN, HIDDEN, role="data"), _weight("b", HIDDEN))
LENGTHS = Input("lens", (BATCH,), I, values=(0, 4))
LENS = (_weight("w", WIDTH, HIDDEN), _weight("r", HIDDEN, HIDDEN), _weight("b", HIDDEN), LENGTHS)
LSTM_LENS = (_weight("w", WIDTH, 16), _weight("r", HIDDEN, 16), _weight("b", 16), LENGTHS)
ROWS = (_weight("w", WIDTH, HIDDEN), _weight("r", HIDDEN, HIDDEN), _weight("b", HIDDEN), _weight("rows", BATCH, HIDDEN))

LAYERS: dict[str, tuple[Case, ...]] = {
    "LSTM": (
        layer("lstm", lstm(), 4, "hc"),
        layer("lstm-counted", lstm(), 4, "hc", steps=None, open_axes="batch", fetch=ENDS),
        layer("lstm-states", lstm(), 4, "hc", initial=BOTH, fetch=ENDS),
        layer("lstm-last", lstm(), 4, "hc", fetch=ENDS[2:]),
        layer("lstm-cell-first", turned(lstm("gofi")), 4, "ch", initial=BOTH, fetch=ENDS),
        layer("lstm-joined", lstm("igfo", joined=True), 4, "hc", weights=JOINED),
        layer("lstm-functions", lstm(gate="Relu", squash="Softsign", shape="Elu"), 4, "hc"),
        layer("lstm-one-function", lstm(gate="Tanh"), 4, "hc"),
        layer("lstm-lengths", ending(lstm(), "hc"), 4, "hc", weights=LSTM_LENS, fetch=ENDS),
        layer("lstm-lengths-states", ending(lstm(), "hc"), 4, "hc", weights=LSTM_LENS, initial=BOTH, fetch=ENDS),
        layer("lstm-half", lstm(), 4, "hc", dtype="float16", mxnet_lacks=NO_HALF),
    ),
    "GRU": (
        layer("gru", gru(), 3, weights=GRU_WEIGHTS),
        layer("gru-state", gru(), 3, weights=GRU_WEIGHTS, initial={"h": _state("h0")}, fetch=ENDS[:2]),
        layer("gru-before", gru(late=False), 3),
        layer("gru-softplus", gru(late=False, activation="Softplus"), 3, steps=None, open_axes="batch"),
        layer("gru-one-gate", odd_gru("update-resets"), 3),
    ),
    "RNN": (
        layer("rnn", rnn(), 1),
        layer("rnn-relu", rnn("Relu"), 1, fetch=ENDS[1:2]),
        layer("rnn-more-places", rnn(), 1, places="seven"),
        layer("rnn-linear", rnn(""), 1),
        layer("rnn-leaky", rnn("LeakyRelu"), 1),
        layer("rnn-hard", hard_rnn(0.2, 0.5, 1.0, 1.0), 1),
        layer("rnn-hard-6", hard_rnn(1.0, 3.0, 6.0, 6.0, LIMITS[::-1]), 1),
        layer("rnn-lengths", ending(rnn()), 1, weights=LENS, fetch=ENDS[:2]),
        layer("rnn-lengths-state", ending(rnn()), 1, weights=LENS, initial={"h": _state("h0")}, fetch=ENDS[:2]),
        layer("rnn-fed-weights", rnn(), 1, weights=FED, open_axes=""),
    ),
}  # fmt: skip
ODD_LSTMS = (
    "input-gate-by-tanh", "output-gate-by-relu", "keeps-the-output", "adds-the-gate", "subtracts",
    "shows-the-cell-before", "adds-one", "cell-limited", "row-is-the-cell", "row-is-the-state-before", "row-is-scaled",
)  # fmt: skip
LOOPS: tuple[Case, ...] = (
    *(layer(f"lstm-{change}", odd_lstm(change), 4, "hc", fetch=ENDS) for change in ODD_LSTMS),
    *(layer(f"gru-{change}", odd_gru(change), 3) for change in ("resets-the-input", "two-less", "mixes-the-other-way")),
    *(layer(f"rnn-{change}", odd_rnn(change), 1) for change in ("input-by-tanh", "state-by-relu", "weights-by-step")),
    layer("rnn-adds-the-state", odd_rnn("adds-the-state"), 1),
    layer("rnn-bias-by-row", odd_rnn("bias-by-row"), 1, weights=ROWS),
    layer("rnn-other-limit", hard_rnn(1.0, 3.0, 6.0, 5.0), 1),
    layer("rnn-lengths-rows-go-on", ending(rnn(), row="goes-on"), 1, weights=LENS, fetch=ENDS[:2]),
    layer("rnn-lengths-rows-repeat", ending(rnn(), row="state"), 1, weights=LENS, fetch=ENDS[:2]),
    layer("rnn-lengths-state-goes-on", ending(rnn(), goes_on=True), 1, weights=LENS, fetch=ENDS[:2]),
    layer("lstm-lengths-state-goes-on", ending(lstm(), "hc", goes_on=True), 4, "hc", weights=LSTM_LENS, fetch=ENDS),
    layer("rnn-lengths-one-more", ending(rnn(), compare="Greater"), 1, weights=LENS, fetch=ENDS[:2]),
    layer("rnn-backwards", rnn(), 1, index="backwards"),
    layer("rnn-fewer-steps", rnn(), 1, steps=3),
    layer("rnn-fed-steps", rnn(), 1, steps=Input("n", (), I, values=(3,)), places="seven", mxnet_lacks=SCALAR),
    layer("rnn-one-first-row", rnn(), 1, initial={"h": _state("h0", 1)}, fetch=ENDS[:2]),
    layer("lstm-double", lstm(), 4, "hc", dtype="float64", fetch=ENDS),
    layer("gru-double", gru(), 3, dtype="float64", weights=GRU_WEIGHTS),
)  # fmt: skip
CASES: tuple[Case, ...] = (*(case for cases in LAYERS.values() for case in cases), *LOOPS)
