"""Recurrent layers that MXNet's RNN cannot say, step by step: peepholes, other functions, bounds, lengths.

The equations are those of ONNX's RNN-22, GRU-22 and LSTM-22. The steps must be known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphir.converters.mxnet.exporting.context import Entry, ExportNode
from graphir.converters.mxnet.exporting.ops.results import bind_named
from graphir.graph import Value
from graphir.ops import recurrent as ir
from graphir.tensor import Tensor

DEFAULTS = {ir.RNN: ("tanh",), ir.GRU: ("sigmoid", "tanh"), ir.LSTM: ("sigmoid", "tanh", "tanh")}
ALPHA = {
    "leakyrelu": 0.01, "thresholdedrelu": 1.0, "elu": 1.0, "hardsigmoid": 0.2, "affine": 1.0, "scaledtanh": 1.0,
}  # fmt: skip
BETA = {"hardsigmoid": 0.5, "affine": 0.0, "scaledtanh": 1.0}
PLAIN = {"tanh": "tanh", "sigmoid": "sigmoid", "relu": "relu", "softsign": "softsign"}
MOST_STEPS = 1024


def export_unrolled(node: ExportNode) -> None:
    """Each direction step by step."""
    op: ir.RNN | ir.GRU | ir.LSTM = node.op
    (steps,) = node.sizes(node.shape(0)[:1], f"{node.value(0).name}'s steps, which are written one by one,")
    if steps > MOST_STEPS:
        node.refuse(f"{steps} steps of a layer that MXNet's RNN cannot say are too many to be written one by one")
    if steps == 0:
        node.refuse("MXNet has no tensors without elements")
    ways = [_Way(node, way, steps) for way in range(op.direction.count)]
    for way in ways:
        way.run()
    wholes = [way.whole() for way in ways]
    bind_named(node, _joined(node, wholes, 1, "whole"))
    for slot in range(1, len(node.node.outputs)):
        states = [way.state if slot == 1 else way.cell for way in ways]
        lasts = [node.step("expand_dims", state, suffix="last", axis=0) for state in states if state is not None]
        bind_named(node, _joined(node, lasts, 0, "lasts"), slot)


def starts_inside(lengths: Value) -> bool:
    """Whether all sequences are known to have an element."""
    return lengths.tensor is not None and bool((lengths.tensor.numpy() > 0).all())


def _joined(node: ExportNode, parts: list[Entry], axis: int, suffix: str) -> Entry:
    if len(parts) == 1:
        return parts[0]
    return node.step("Concat", *parts, suffix=suffix, dim=axis, num_args=len(parts))


class _Way:
    """One direction: its parameters, and the state as far as the steps are written."""

    def __init__(self, node: ExportNode, way: int, steps: int) -> None:
        self.node = node
        self.op: Any = node.op
        self.way = way
        self.steps = steps
        self.hidden = node.sizes(node.shape(2)[2:], node.value(2).name)[0]
        self.reverse = self.op.direction is ir.Direction.REVERSE or way == 1
        self.functions = _functions(node, way)
        rows = self.op.gates * self.hidden
        input_bias, self.state_bias = self._halves()
        self.weights = self._matrix(2, "R")
        self.parts = self._gate_parts()
        projected = self._dense(node.entry(0), self._matrix(1, "W"), input_bias, rows, "x", flatten=False)
        if steps == 1:
            self.inputs = [node.step("Reshape", projected, suffix=f"x{way}", shape=(-3, 0))]
        else:
            index = node.export.append(
                "SliceChannel",
                f"{node.stem}_x{way}_steps",
                [projected],
                {"num_outputs": steps, "axis": 0, "squeeze_axis": True},
            )
            self.inputs = [(index, place) for place in range(steps)]
        self.peephole = self._peephole()
        self.state = self._begin(5)
        self.cell = self._begin(6) if self.op.has_cell else None
        self.lengths = None if node.operand(4) is None else node.export.cast(node.entry(4), node.dtype())
        self.results: list[Entry] = [self.state] * steps

    def run(self) -> None:
        """Write all steps."""
        order = range(self.steps - 1, -1, -1) if self.reverse else range(self.steps)
        for place in order:
            state, cell = self._step(self.inputs[place])
            if self.lengths is None:
                self.state, self.cell, self.results[place] = state, cell, state
                continue
            inside = self._inside(place, state)
            self.results[place] = self._add("where", inside, state, self._add("zeros_like", state))
            self.state = self._add("where", inside, state, self.state)
            if cell is not None and self.cell is not None:
                self.cell = self._add("where", inside, cell, self.cell)
        if self.lengths is not None and not starts_inside(self.node.value(4)):
            self._clear_empty()

    def _clear_empty(self) -> None:
        """Zeros as the last state of sequences without elements, as onnxruntime has it."""
        inside = self._inside(0, self.state)
        self.state = self._add("where", inside, self.state, self._add("zeros_like", self.state), suffix="last")
        if self.cell is not None:
            self.cell = self._add("where", inside, self.cell, self._add("zeros_like", self.cell), suffix="last")

    def whole(self) -> Entry:
        """The results (T, 1, N, H)."""
        stacked = self._add("stack", *self.results, axis=0, num_args=self.steps)
        return self._add("expand_dims", stacked, axis=1)

    def _add(self, op: str, *inputs: Entry, suffix: str = "", **attributes: Any) -> Entry:
        name = f"d{self.way}_{suffix or op.lower().lstrip('_')}"
        return self.node.step(op, *inputs, suffix=name, **attributes)

    def _inside(self, place: int, like: Entry) -> Entry:
        """Where a step is before the sequence's end, (N, H)."""
        assert self.lengths is not None
        longer = self._add("_greater_scalar", self.lengths, suffix="inside", scalar=place)
        column = self._add("expand_dims", longer, suffix="inside", axis=1)
        return self._add("broadcast_like", column, like, suffix="inside")

    def _step(self, given: Entry) -> tuple[Entry, Entry | None]:
        """The state (and the cell) after one step."""
        if isinstance(self.op, ir.LSTM):
            return self._lstm(given)
        if isinstance(self.op, ir.GRU):
            return self._gru(given), None
        total = self._add("elemwise_add", given, self._recurrent(self.op.gates * self.hidden))
        return self.functions[0](self._clipped(total)), None

    def _recurrent(self, rows: int) -> Entry:
        """The state times all recurrent weights, with their bias."""
        return self._dense(self.state, self.weights, self.state_bias, rows, "h")

    def _lstm(self, given: Entry) -> tuple[Entry, Entry]:
        """Gates in the order input, output, forget, cell."""
        assert self.cell is not None
        gate, squash, shape = self.functions
        total = self._add("elemwise_add", given, self._recurrent(4 * self.hidden))
        input_, output, forget, fresh = self._split(total, 4)
        input_ = self._peeped(input_, self.cell, 0)
        i = gate(self._clipped(input_))
        if self.op.input_forget:
            f = self._add("_rminus_scalar", i, suffix="forget", scalar=1.0)
        else:
            f = gate(self._clipped(self._peeped(forget, self.cell, 2)))
        c = squash(self._clipped(fresh))
        kept = self._add("elemwise_mul", f, self.cell, suffix="kept")
        cell = self._add("elemwise_add", kept, self._add("elemwise_mul", i, c, suffix="new"), suffix="cell")
        o = gate(self._clipped(self._peeped(output, cell, 1)))
        return self._add("elemwise_mul", o, shape(cell), suffix="state"), cell

    def _gru(self, given: Entry) -> Entry:
        """Gates in the order update, reset, hidden."""
        gate, squash = self.functions
        size = self.hidden
        if self.op.linear_before_reset:
            update, reset, fresh = self._split(given, 3)
            own_update, own_reset, own_fresh = self._split(self._recurrent(3 * size), 3)
            z = gate(self._clipped(self._add("elemwise_add", update, own_update)))
            r = gate(self._clipped(self._add("elemwise_add", reset, own_reset)))
            total = self._add("elemwise_add", fresh, self._add("elemwise_mul", r, own_fresh))
        else:
            gate_weights, gate_bias, own_weights, own_bias = self.parts
            assert gate_weights is not None
            assert own_weights is not None
            both = self._dense(self.state, gate_weights, gate_bias, 2 * size, "zr")
            gates = self._add("slice_axis", given, suffix="gates", axis=1, begin=0, end=2 * size)
            update, reset = self._split(self._add("elemwise_add", gates, both), 2)
            z, r = gate(self._clipped(update)), gate(self._clipped(reset))
            reset_state = self._add("elemwise_mul", r, self.state, suffix="reset_state")
            own = self._dense(reset_state, own_weights, own_bias, size, "fresh")
            fresh = self._add("slice_axis", given, suffix="fresh", axis=1, begin=2 * size, end=3 * size)
            total = self._add("elemwise_add", fresh, own)
        h = squash(self._clipped(total))
        kept = self._add("elemwise_mul", z, self.state, suffix="kept")
        new = self._add("elemwise_mul", self._add("_rminus_scalar", z, suffix="rest", scalar=1.0), h, suffix="new")
        return self._add("elemwise_add", new, kept, suffix="state")

    def _gate_parts(self) -> tuple[Entry | None, Entry | None, Entry | None, Entry | None]:
        """Of a GRU that resets the state itself: weights and bias of the gates, and those of the new state."""
        if not isinstance(self.op, ir.GRU) or self.op.linear_before_reset:
            return None, None, None, None
        gates = self._rows(self.weights, 0, 2, "R_zr"), self._rows(self.state_bias, 0, 2, "bias_zr")
        return (*gates, self._rows(self.weights, 2, 3, "R_h"), self._rows(self.state_bias, 2, 3, "bias_h"))

    def _split(self, entry: Entry, count: int) -> list[Entry]:
        index = self.node.export.append(
            "SliceChannel", f"{self.node.stem}_d{self.way}_gates", [entry], {"num_outputs": count, "axis": 1}
        )
        return [(index, place) for place in range(count)]

    def _clipped(self, entry: Entry) -> Entry:
        bound = self.op.clip
        return entry if bound is None else self._add("clip", entry, a_min=-bound, a_max=bound)

    def _peeped(self, entry: Entry, cell: Entry, place: int) -> Entry:
        """The gate's input with what it sees of the cell."""
        if self.peephole is None:
            return entry
        bounds = {"begin": place * self.hidden, "end": (place + 1) * self.hidden}
        weights = self._add("slice_axis", self.peephole, suffix="peephole", axis=1, **bounds)
        return self._add("elemwise_add", entry, self._add("broadcast_mul", cell, weights, suffix="peeped"))

    def _dense(
        self, data: Entry, weight: Entry, bias: Entry | None, rows: int, suffix: str, *, flatten: bool = True
    ) -> Entry:
        inputs = (data, weight) if bias is None else (data, weight, bias)
        plain = {} if flatten else {"flatten": False}
        return self._add("FullyConnected", *inputs, suffix=suffix, num_hidden=rows, no_bias=bias is None, **plain)

    def _halves(self) -> list[Entry | None]:
        """The biases of the input and of the state."""
        if self.node.operand(3) is None:
            return [None, None]
        both, rows = self._matrix(3, "B"), self.op.gates * self.hidden
        return [
            self._add("slice_axis", both, suffix=name, axis=0, begin=side * rows, end=(side + 1) * rows)
            for side, name in enumerate(("input_bias", "state_bias"))
        ]

    def _rows(self, entry: Entry | None, begin: int, end: int, name: str) -> Entry | None:
        """Some rows, counted in gates, of the recurrent weights or of their bias."""
        if entry is None:
            return None
        bounds = {"begin": begin * self.hidden, "end": end * self.hidden}
        return self._add("slice_axis", entry, suffix=name, axis=0, **bounds)

    def _peephole(self) -> Entry | None:
        """The peephole weights (1, 3 * H)."""
        if self.node.operand(7) is None:
            return None
        entry = self.node.entry(7)
        if self.op.direction.count == 1:
            return entry
        return self._add("slice_axis", entry, suffix="peepholes", axis=0, begin=self.way, end=self.way + 1)

    def _begin(self, slot: int) -> Entry:
        """The begin state (N, H), zeros without one."""
        node = self.node
        if node.operand(slot) is None:
            like = self._add("slice_axis", self.inputs[0], suffix="like", axis=1, begin=0, end=self.hidden)
            return self._add("zeros_like", like, suffix=f"begin{slot}")
        entry = node.entry(slot)
        if self.op.direction.count > 1:
            entry = self._add("slice_axis", entry, suffix="begin", axis=0, begin=self.way, end=self.way + 1)
        return self._add("Reshape", entry, suffix=f"begin{slot}", shape=(-3, 0))

    def _matrix(self, slot: int, name: str) -> Entry:
        """This direction's part of a parameter, as one of its own if the elements are there."""
        node = self.node
        value: Value = node.value(slot)
        tensor = value.tensor
        if tensor is None:
            entry = node.entry(slot)
            if self.op.direction.count > 1:
                entry = self._add("slice_axis", entry, suffix=name, axis=0, begin=self.way, end=self.way + 1)
            return self._add("squeeze", entry, suffix=name, axis=(0,))
        if self.op.direction.count == 1:
            return node.export.reshaped(value, tensor.shape[1:])
        way = self.way
        part = Tensor.computed(tensor.dtype, tensor.shape[1:], lambda: np.asarray(tensor.numpy()[way]))
        name = f"{value.name}_{'reverse' if way else 'forward'}"
        return node.export.variable(node.export.fresh_variable(name), part, {})


def _functions(node: ExportNode, way: int) -> list[Callable[[Entry], Entry]]:
    """The functions of one direction; alphas and betas are stated for those functions that have one, in order."""
    op = node.op
    names = [name.lower() for name in op.activations] or list(DEFAULTS[type(op)]) * op.direction.count
    count = len(names) // op.direction.count
    alphas, betas = list(op.activation_alpha), list(op.activation_beta)
    found: list[Callable[[Entry], Entry]] = []
    for name in names:
        alpha = alphas.pop(0) if name in ALPHA and alphas else ALPHA.get(name, 0.0)
        beta = betas.pop(0) if name in BETA and betas else BETA.get(name, 0.0)
        found.append(_function(node, name, alpha, beta))
    return found[way * count : (way + 1) * count]


def _function(node: ExportNode, name: str, alpha: float, beta: float) -> Callable[[Entry], Entry]:
    """One of ONNX's functions."""
    if name in PLAIN:
        return lambda entry: node.step(PLAIN[name], entry)
    match name:
        case "softplus":
            return lambda entry: node.step("Activation", entry, suffix="softplus", act_type="softrelu")
        case "leakyrelu" | "elu":
            kind = "elu" if name == "elu" else "leaky"
            return lambda entry: node.step("LeakyReLU", entry, suffix=name, act_type=kind, slope=alpha)
        case "hardsigmoid":
            return lambda entry: node.step("hard_sigmoid", entry, alpha=alpha, beta=beta)
        case "affine":
            return lambda entry: _affine(node, entry, alpha, beta)
        case "scaledtanh":
            return lambda entry: _affine(node, node.step("tanh", _affine(node, entry, beta, 0.0)), alpha, 0.0)
        case "thresholdedrelu":
            return lambda entry: node.step(
                "where",
                node.step("_greater_scalar", entry, suffix="above", scalar=alpha),
                entry,
                node.step("zeros_like", entry),
                suffix=name,
            )
    node.refuse(f"activation {name} is none of ONNX's")


def _affine(node: ExportNode, entry: Entry, alpha: float, beta: float) -> Entry:
    entry = entry if alpha == 1 else node.step("_mul_scalar", entry, suffix="scaled", scalar=alpha)
    return entry if beta == 0 else node.step("_plus_scalar", entry, suffix="shifted", scalar=beta)


__all__ = ["export_unrolled", "starts_inside"]
