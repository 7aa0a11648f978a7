"""Fused recurrent cells and layers.

A layer of which only the outputs are used is the graph's LSTM. What that cannot say (a bound on the cell, the gates'
values, weights that are computed) is the cell's arithmetic in a Scan over the steps. Source: `tf.raw_ops.BlockLSTM`,
`LSTMBlockCell`, `GRUBlockCell`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.converters.tensorflow.importing.context import ImportFunction, ImportNode
from graphir.converters.tensorflow.importing.cudnn import import_cudnn_rnn
from graphir.graph import Graph, Value
from graphir.ops import activation as act
from graphir.ops import elementwise as ew
from graphir.ops.control import Scan
from graphir.ops.linear import MatMul
from graphir.ops.recurrent import LSTM
from graphir.ops.shape import Expand, Pad, Reshape, Shape, Squeeze, Unsqueeze
from graphir.ops.shape_parts import Concat, Slice, Split
from graphir.tensor import Tensor
from graphir.types import UNKNOWN, DType, TensorType

Add = Callable[..., Any]
CUDNN = ("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3")
# Where input gate, new cell, forget gate and output gate stand in the product.
ICFO, IFCO = (0, 1, 2, 3), (0, 2, 1, 3)
H_ALONE = 6


@dataclass(frozen=True)
class LSTMWeights:
    """An LSTM's weights: w (features + units, 4 * units), bias (4 * units), peepholes of input, forget, output gate."""

    w: Value
    bias: Value
    peepholes: tuple[Value, ...]
    order: tuple[int, ...]
    forget_bias: float
    cell_clip: float


def _read_weights(node: ImportNode, first: int, order: tuple[int, ...]) -> LSTMWeights:
    """Return the weights of a node, of whose inputs w is number `first`."""
    peepholes = tuple(node.input(first + offset) for offset in (1, 2, 3)) if node.attrs["use_peephole"] else ()
    forget_bias = float(node.attrs.get("forget_bias", 0.0))
    clip = float(node.attrs["cell_clip"])
    w, bias = node.input(first), node.input(first + 4)
    rows, *columns = w.shape or (UNKNOWN,)
    sizes = [size for size in (*columns, *(bias.shape or ())) if isinstance(size, int)]
    if sizes and (len({*sizes}) > 1 or sizes[0] % 4 or (isinstance(rows, int) and rows < sizes[0] // 4)):
        node.refuse(f"w is {w.type} and b {bias.type}, expected (features + units, 4 * units) and (4 * units)")
    return LSTMWeights(w, bias, peepholes, order, forget_bias, clip)


def _add_lstm_step(
    add: Add, graph: Graph, x: Value, cell: Value, state: Value, weights: LSTMWeights
) -> tuple[Value, ...]:
    """Return i, cs, f, o, ci, co and h of one step; `add(op, *operands)` adds an operator."""

    def number(size: float) -> Value:
        dtype = x.dtype or DType.FLOAT32
        with np.errstate(over="ignore"):  # infinite in float16, as in TensorFlow
            return graph.constant(np.array(size, dtype.numpy()), name=graph.fresh_name("number"))

    product = add(ew.Add(), add(MatMul(), add(Concat(-1), x, state), weights.w), weights.bias)
    parts = add(Split(4, -1), product, results=4)
    i, new, f, o = (parts[gate] for gate in weights.order)
    if weights.forget_bias:
        f = add(ew.Add(), f, number(weights.forget_bias))
    if weights.peepholes:
        i = add(ew.Add(), i, add(ew.Mul(), cell, weights.peepholes[0]))
        f = add(ew.Add(), f, add(ew.Mul(), cell, weights.peepholes[1]))
    i, f, new = add(act.Sigmoid(), i), add(act.Sigmoid(), f), add(act.Tanh(), new)
    after = add(ew.Add(), add(ew.Mul(), new, i), add(ew.Mul(), cell, f))
    if weights.cell_clip > 0:
        after = add(ew.Clip(), after, number(-weights.cell_clip), number(weights.cell_clip))
    if weights.peepholes:
        o = add(ew.Add(), o, add(ew.Mul(), after, weights.peepholes[2]))
    o = add(act.Sigmoid(), o)
    bent = add(act.Tanh(), after)
    return i, after, f, o, new, bent, add(ew.Mul(), bent, o)


def _make_node_adder(node: ImportNode) -> Add:
    """Return a function that adds steps of the node itself."""

    def add(op: Any, *operands: Value, results: int = 1) -> Any:
        outputs = node.steps(op, *operands)
        return outputs if results > 1 else outputs[0]

    return add


def _make_body_adder(node: ImportNode, graph: Graph) -> Add:
    """Return a function that adds operators to a body of the node's."""

    def add(op: Any, *operands: Value, results: int = 1) -> Any:
        name = node.fresh_name(f"{node.name}__{op.name.lower()}")
        names = [name, *(node.fresh_name(f"{name}:{slot}") for slot in range(1, op.output_count))]
        outputs = graph.add_node(op, operands, name=name, output_names=names).outputs
        return outputs if results > 1 else outputs[0]

    return add


def import_lstm_cell(node: ImportNode) -> Sequence[Value]:
    """LSTMBlockCell: one step."""
    x, cell, state = (node.input(slot) for slot in range(3))
    return _add_lstm_step(_make_node_adder(node), node.graph, x, cell, state, _read_weights(node, 3, ICFO))


def import_gru_cell(node: ImportNode) -> Sequence[Value]:
    """GRUBlockCell: one step; the reset gate multiplies the state before its product."""
    x, state, gates, new, gates_bias, new_bias = node.inputs
    add = _make_node_adder(node)
    product = add(ew.Add(), add(MatMul(), add(Concat(-1), x, state), gates), gates_bias)
    gates_of: tuple[Value, Value] = add(Split(2, -1), add(act.Sigmoid(), product), results=2)
    reset, update = gates_of
    joined = add(Concat(-1), x, add(ew.Mul(), state, reset))
    fresh = add(act.Tanh(), add(ew.Add(), add(MatMul(), joined, new), new_bias))
    moved = add(ew.Sub(), node.scalar_like(x, 1.0), update)
    return reset, update, fresh, add(ew.Add(), add(ew.Mul(), moved, fresh), add(ew.Mul(), update, state))


def _make_block_lstm(order: tuple[int, ...]) -> ImportFunction:
    def import_block_lstm(node: ImportNode) -> Sequence[Value]:
        """Return the layer over (steps, batch, features); what lies behind `seq_len_max` is 0."""
        weights = _read_weights(node, 4, order)
        tensors = [value.tensor for value in (weights.w, weights.bias, *weights.peepholes)]
        used = [slot for slot in range(7) if node.used(slot)]
        known = [tensor for tensor in tensors if tensor is not None]
        if used == [H_ALONE] and weights.cell_clip <= 0 and len(known) == len(tensors):
            return _emit_lstm(node, weights, known)
        return _emit_scan(node, weights)

    return import_block_lstm


def _covers_all_steps(node: ImportNode, x: Value) -> bool:
    """Return whether `seq_len_max` is known to be the number of steps, or more."""
    known, shape = node.input(0).known, x.shape
    if known is None or not shape:
        return False
    most, steps = known.elements[0], shape[0]
    return most == steps or (isinstance(most, int) and isinstance(steps, int) and most >= steps)


def _emit_lstm(node: ImportNode, weights: LSTMWeights, tensors: Sequence[Tensor]) -> Sequence[Value]:
    x, cell, state = (node.input(slot) for slot in range(1, 4))
    whole, bias = tensors[:2]
    units = whole.shape[1] // 4
    width = whole.shape[0] - units
    gates = [weights.order[gate] for gate in (0, 3, 2, 1)]  # the graph's: input, output, forget, cell

    def rows(start: int, stop: int) -> Tensor:
        def compute() -> NDArray[Any]:
            blocks = np.split(whole.numpy()[start:stop].T, 4)
            array: NDArray[Any] = np.concatenate([blocks[gate] for gate in gates])[None]
            return array

        return Tensor.computed(whole.dtype, (1, 4 * units, stop - start), compute)

    def biases() -> NDArray[Any]:
        blocks = np.split(bias.numpy(), 4)
        blocks[weights.order[2]] = blocks[weights.order[2]] + np.asarray(weights.forget_bias, bias.numpy().dtype)
        array: NDArray[Any] = np.concatenate([*(blocks[gate] for gate in gates), np.zeros_like(bias.numpy())])[None]
        return array

    parts = [
        node.graph.add_parameter(node.fresh_name(f"{node.name}_{name}"), tensor)
        for name, tensor in (
            ("W", rows(0, width)),
            ("R", rows(width, width + units)),
            ("B", Tensor.computed(bias.dtype, (1, 8 * units), biases)),
        )
    ]
    lengths = None
    if not _covers_all_steps(node, x):
        batch = node.step(Slice(), node.step(Shape(), x), node.vector([1]), node.vector([2]), suffix="batch")
        stated = node.cast(node.input(0), DType.INT32, suffix="length")
        lengths = node.step(Expand(), stated, batch, suffix="lengths")
    begin = [node.step(Unsqueeze(), value, node.vector([0]), suffix="begin") for value in (state, cell)]
    operands = [x, *parts, lengths, *begin]
    if weights.peepholes:
        i, f, o = weights.peepholes
        joined = node.step(Concat(0), i, o, f, suffix="peepholes")
        operands.append(node.step(Unsqueeze(), joined, node.vector([0]), suffix="P"))
    sequence = node.step(LSTM(hidden_size=units), *operands, suffix="lstm")
    result = node.emit(Squeeze(), sequence, node.vector([1]))
    return [result] * 7


def _emit_scan(node: ImportNode, weights: LSTMWeights) -> Sequence[Value]:
    x, cell, state = (node.input(slot) for slot in range(1, 4))
    covered = _covers_all_steps(node, x)
    run = x
    if not covered:
        count = node.step(Reshape(), node.input(0), node.vector([1]), suffix="count")
        run = node.step(Slice(), x, node.vector([0]), count, node.vector([0]), suffix="run")
    body = Graph(f"{node.name}_body", parent=node.graph)
    before = [body.add_input(node.fresh_name(f"{node.name}__before"), value.type) for value in (cell, state)]
    shape = None if x.shape is None else x.shape[1:]
    step = body.add_input(node.fresh_name(f"{node.name}__step"), TensorType(x.dtype, shape))
    results = _add_lstm_step(_make_body_adder(node, body), body, step, before[0], before[1], weights)
    body.set_outputs([_copy(node, body, value) for value in (results[1], results[6], *results)])
    names = [node.fresh_name(f"{node.name}__scan_{slot}") for slot in range(9)]
    outputs = node.graph.add_node(
        Scan(1, 9), [cell, state, run], name=node.name, output_names=names, subgraphs=[body]
    ).outputs[2:]
    if covered:
        return outputs
    return [_pad_steps(node, value, x) for value in outputs]


def _copy(node: ImportNode, body: Graph, value: Value) -> Value:
    name = node.fresh_name(f"{node.name}__result")
    return body.add(ew.Identity(), value, name=name, output=name)


def _pad_steps(node: ImportNode, value: Value, x: Value) -> Value:
    """Return the value with zeros behind the steps that were run."""
    steps = [node.step(Slice(), node.step(Shape(), other), node.vector([0]), node.vector([1])) for other in (x, value)]
    missing = node.step(ew.Sub(), *steps, suffix="missing")
    pads = node.step(Concat(0), node.vector([0, 0, 0]), missing, node.vector([0, 0]), suffix="pads")
    return node.step(Pad(), value, pads, suffix="filled")


IMPORTS: dict[str, ImportFunction] = {
    "BlockLSTM": _make_block_lstm(ICFO),
    "BlockLSTMV2": _make_block_lstm(IFCO),
    **dict.fromkeys(CUDNN, import_cudnn_rnn),
    "GRUBlockCell": import_gru_cell,
    "LSTMBlockCell": import_lstm_cell,
}
