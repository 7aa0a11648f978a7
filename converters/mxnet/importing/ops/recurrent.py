"""MXNet's fused RNN: each of its layers becomes one ONNX layer with parameters of its own."""

from __future__ import annotations

from graphir.converters.kernel.importing import direct
from graphir.converters.mxnet.importing.context import ImportNode
from graphir.converters.mxnet.importing.recurrent_weights import GATE_ORDER, RecurrentWeights, Sizes
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.activation import Dropout
from graphir.ops.creation import Fill
from graphir.ops.linear import MatMul
from graphir.ops.recurrent import GRU, LSTM, RNN, Direction
from graphir.ops.shape import Reshape, Squeeze, Transpose
from graphir.ops.shape_parts import Concat, Slice
from graphir.safety.limits import charge_nodes
from graphir.types import UNKNOWN, DType, Shape, TensorType


def import_rnn(node: ImportNode) -> list[Value]:
    """RNN: data (T, N, I), parameters, state (layers * D, N, H), with lstm a cell state; then lengths (N) if wanted."""
    attrs = node.attrs
    mode, layers, hidden = attrs["mode"], attrs["num_layers"], attrs["state_size"]
    directions = 2 if attrs["bidirectional"] else 1
    charge_nodes(layers * directions * 8, f"node {node.name!r} (RNN): its {layers} layers")
    projected = attrs["projection_size"] or 0
    if projected and mode != "lstm":
        node.refuse(f"projection_size {projected} is for mode lstm only, found {mode}")
    if mode == "lstm" and (attrs["lstm_state_clip_min"] is not None or attrs["lstm_state_clip_max"] is not None):
        node.refuse("lstm_state_clip_min and _max bound the cell state, which ONNX's LSTM cannot; unroll the cell")
    if projected:
        node.decide(
            DecisionKind.PROJECTION,
            "multiplied into the recurrent weights: equal but for rounding, and more to compute",
        )
    data = node.input(0)
    node.graph.refine(data, TensorType(None, (UNKNOWN, UNKNOWN, UNKNOWN)))
    weights = RecurrentWeights(node, Sizes(GATE_ORDER[mode], layers, directions, None, hidden, projected), data)
    batch = data.shape[1] if data.shape is not None else UNKNOWN
    starts = [_state(node, 2, (layers * directions, batch, projected or hidden))]
    if mode == "lstm":
        starts.append(_state(node, 3, (layers * directions, batch, hidden)))
    lengths = _lengths(node, 2 + len(starts)) if attrs["use_sequence_length"] else None
    finals: list[list[Value]] = [[] for _ in starts]
    for layer in range(layers):
        begins = [_part(node, start, layer) for start in starts]
        if projected and begins[0] is not None:
            begins[0] = node.step(MatMul(), begins[0], weights.unprojection(layer), suffix=f"l{layer}_begin_hidden")
        results = list(_add_layer(node, layer, [data, *weights.layer(layer), lengths, *begins]))
        if projected:
            matrix = weights.projection(layer)
            results[0] = node.step(MatMul(), results[0], matrix, suffix=f"l{layer}_projected")
            if attrs["state_outputs"]:
                results[1] = node.step(MatMul(), results[1], matrix, suffix=f"l{layer}_state_projected")
        for result, final in zip(finals, results[1:], strict=True):
            result.append(final)
        data = _merged(node, results[0], layer, directions)
    if not attrs["state_outputs"]:
        return [data]
    return [data, *(_stacked(node, result, suffix) for result, suffix in zip(finals, ("state", "cell"), strict=False))]


def _add_layer(node: ImportNode, layer: int, operands: list[Value | None]) -> tuple[Value, ...]:
    while operands[-1] is None:
        operands.pop()
    attrs, graph = node.attrs, node.graph
    op = _operator(attrs["mode"], attrs["state_size"], Direction.BIDIRECTIONAL if attrs["bidirectional"] else None)
    names = [graph.fresh_name(f"{node.name}_l{layer}_{output}") for output in op.outputs]
    name = node.name if attrs["num_layers"] == 1 else f"{node.name}_l{layer}"
    return graph.add_node(op, operands, name=name, output_names=names).outputs


def _operator(mode: str, hidden: int, both: Direction | None) -> RNN | GRU | LSTM:
    direction = both or Direction.FORWARD
    if mode == "lstm":
        return LSTM(hidden_size=hidden, direction=direction)
    if mode == "gru":
        return GRU(hidden_size=hidden, direction=direction, linear_before_reset=True)
    activations = ("Relu",) * direction.count if mode == "rnn_relu" else ()
    return RNN(hidden_size=hidden, direction=direction, activations=activations)


def _state(node: ImportNode, slot: int, shape: Shape) -> Value | None:
    """The begin state (layers * D, N, width); None if it is all zeros, ONNX's default."""
    state = node.input(slot)
    node.graph.refine(state, TensorType(None, shape))
    producer = state.producer
    if producer is not None and isinstance(producer.op, Fill) and producer.op.value == 0:
        return None
    return state


def _part(node: ImportNode, state: Value | None, layer: int) -> Value | None:
    """A layer's part of the begin state."""
    if state is None or node.attrs["num_layers"] == 1:
        return state
    directions = 2 if node.attrs["bidirectional"] else 1
    starts, stops = node.vector([layer * directions]), node.vector([(layer + 1) * directions])
    return node.step(Slice(), state, starts, stops, node.vector([0]), suffix=f"l{layer}_begin")


def _lengths(node: ImportNode, slot: int) -> Value:
    lengths = node.input(slot)
    node.decide(
        DecisionKind.SEQUENCE_LENGTH, "honoured, as on a GPU; MXNet's CPU build with oneDNN runs over the whole length"
    )
    node.graph.refine(lengths, TensorType(None, (UNKNOWN,)))
    if lengths.dtype is DType.INT32:
        return lengths
    return node.cast(lengths, DType.INT32, suffix="lengths")


def _merged(node: ImportNode, result: Value, layer: int, directions: int) -> Value:
    """(T, D, N, H) as (T, N, D * H)."""
    if directions == 1:
        return _dropped(node, node.step(Squeeze(), result, node.vector([1]), suffix=f"l{layer}_squeeze"), layer)
    turned = node.step(Transpose((0, 2, 1, 3)), result, suffix=f"l{layer}_transpose")
    return _dropped(node, node.step(Reshape(), turned, node.vector([0, 0, -1]), suffix=f"l{layer}_merge"), layer)


def _dropped(node: ImportNode, result: Value, layer: int) -> Value:
    """Return a layer's result, behind the Dropout that training has between layers."""
    p = node.attrs["p"]
    if p and layer == 0 and not node.training:
        node.decide(DecisionKind.DROPOUT_REMOVED, f"p {p:g} between the layers has no effect at inference")
    if not (p and node.training) or layer == node.attrs["num_layers"] - 1:
        return result
    ratio = node.constant(p, DType.FLOAT32)
    return node.step(Dropout(), result, ratio, suffix=f"l{layer}_dropout")


def _stacked(node: ImportNode, finals: list[Value], suffix: str) -> Value:
    return finals[0] if len(finals) == 1 else node.step(Concat(0), *finals, suffix=f"last_{suffix}")


IMPORTS = {"RNN": import_rnn, "_rnn_param_concat": direct(Concat, axis="dim")}
