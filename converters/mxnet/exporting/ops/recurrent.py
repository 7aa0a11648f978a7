"""Recurrent layers as MXNet's fused RNN, where it can say them; lowering makes loops of the others."""

from __future__ import annotations

from typing import Any

from graphir.converters.mxnet.exporting.context import AnyNode, Entry, ExportNode, row, table
from graphir.converters.mxnet.exporting.ops.recurrent_chain import Chain, chain_of, is_zero, mode_of
from graphir.converters.mxnet.exporting.ops.recurrent_vector import parameter_vector
from graphir.converters.mxnet.exporting.ops.steps import bind_named, is_used
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import recurrent as ir
from graphir.passes.recurrent.to_loop import all_positive
from graphir.types import DType

Recurrent = ir.RNN | ir.GRU | ir.LSTM


def export_recurrent(node: ExportNode[Recurrent]) -> None:
    """RNN, with all the layers that follow. Lengths are masked around it, which gives no last cell."""
    mode = mode_of(node.node)
    lengths = node.optional(4)
    differ = lengths is not None and not _whole(node, lengths)
    if mode is None:
        node.refuse("MXNet's RNN has no such functions, gates, bounds or peepholes")
    if differ and isinstance(node.op, ir.LSTM) and is_used(node, 2):
        node.refuse("MXNet's RNN gives no last cells of sequences of several lengths")
    _check_dtype(node)
    if differ:
        _export_with_lengths(node, mode)
    else:
        _export_chain(node, mode)


def _whole(node: ExportNode[Recurrent], lengths: Value) -> bool:
    """Return whether all sequences are known to be as long as the data."""
    steps = node.shape(0)[0]
    numbers = None if lengths.tensor is None else lengths.tensor.numpy()
    return numbers is not None and isinstance(steps, int) and bool((numbers == steps).all())


def _check_dtype(node: ExportNode[Recurrent]) -> None:
    if node.dtype() is DType.FLOAT16:
        node.decide(
            DecisionKind.FLOAT16_RECURRENT_LAYER, "it runs on a GPU; MXNet's CPU build has no products of float16"
        )


def _state(node: ExportNode[Recurrent], slot: int, layers: int) -> Entry:
    """A begin state (layers * directions, batch, hidden); without one zeros, whose batch MXNet infers."""
    given = node.optional(slot)
    if given is not None and not is_zero(given):
        return node.entry(slot)
    batch = node.shape(0)[1]
    count = layers * node.op.direction.count
    shape = (count, batch if isinstance(batch, int) else 0, _hidden(node))
    name = "begin_state" if slot == 5 else "begin_state_cell"
    return node.step("_zeros", suffix=name, shape=shape, dtype=node.dtype().value)


def _hidden(node: ExportNode[Recurrent]) -> int:
    return node.fixed(node.shape(2)[2:], node.input(2).name)[0]


def _export_chain(node: ExportNode[Recurrent], mode: str) -> None:
    """All layers as one RNN."""
    chain = chain_of(node.node, node.export.graph)
    op = node.op
    reverse = op.direction is ir.Direction.REVERSE
    data = node.entry(0)
    if reverse:
        data = node.step("reverse", data, suffix="backwards", axis=0)
    layers = len(chain.layers)
    states = [_begin(node, chain, slot) for slot in ((5, 6) if op.has_cell else (5,))]
    wants_states = any(any(finals) for finals in chain.finals)
    vector = parameter_vector(node, chain.layers, mode)
    attributes: dict[str, Any] = {
        "state_size": _hidden(node),
        "num_layers": layers,
        "mode": mode,
        "bidirectional": True if op.direction.count == 2 else None,
        "state_outputs": True if wants_states else None,
    }
    stem = chain.stem(node.stem)
    index = node.export.append("RNN", stem, [data, vector, *states], attributes)
    result = (index, 0)
    if reverse:
        result = node.step("reverse", result, suffix="forwards", axis=0)
    _bind_results(node, chain, result)
    for slot, finals in enumerate(chain.finals):
        _bind_finals(node, chain, finals, (index, slot + 1))
    node.export.covers(chain.covered)


def _begin(node: ExportNode[Recurrent], chain: Chain, slot: int) -> Entry:
    source = chain.begins.get(slot)
    return _state(node, slot, len(chain.layers)) if source is None else node.export.entry(source)


def _bind_results(node: ExportNode[Recurrent], chain: Chain, result: Entry) -> None:
    """(T, N, D * H) as what the chain ends with, or with the directions on an axis of their own."""
    if chain.merged is not None:
        node.export.bind(chain.merged, result)
        return
    last, apart = chain.layers[-1].outputs[0], _apart(node, result, node.op.direction.count)
    node.export.rename(apart[0], last.name.removesuffix("_output"))
    node.export.bind(last, apart)


def _apart(node: ExportNode[Recurrent], result: Entry, directions: int) -> Entry:
    """(T, N, D * H) as (T, D, N, H)."""
    if directions == 1:
        return node.step("expand_dims", result, suffix="directions", axis=1)
    split = node.step("Reshape", result, suffix="directions", shape=(0, 0, 2, -1))
    return node.step("transpose", split, suffix="directions_first", axes=(0, 2, 1, 3))


def _bind_finals(node: ExportNode[Recurrent], chain: Chain, finals: list[Value | None], entry: Entry) -> None:
    """The last states of all layers, stacked, or those of each."""
    joined = chain.joined(finals)
    if joined is not None:
        node.export.bind(joined, entry)
        return
    count = node.op.direction.count
    for layer, value in enumerate(finals):
        if value is None:
            continue
        if len(finals) == 1:
            node.export.bind(value, entry)
            continue
        bounds = {"begin": layer * count, "end": (layer + 1) * count}
        node.export.bind(value, node.step("slice_axis", entry, suffix=f"state{layer}", axis=0, **bounds))


def _export_with_lengths(node: ExportNode[Recurrent], mode: str) -> None:
    """One RNN a direction: MXNet's CPU build reads no lengths, so that sequences are turned and masked around it.

    The last state of a sequence without elements is 0, as onnxruntime has it; SequenceLast would read before the data.
    """
    op = node.op
    lengths = node.export.cast(node.entry(4), node.dtype())
    data, ends = node.entry(0), lengths
    if not all_positive(node.input(4)):
        ends = node.step("_maximum_scalar", lengths, suffix="ends", scalar=1)
    results, lasts = [], []
    for way in range(op.direction.count):
        reverse = op.direction is ir.Direction.REVERSE or way == 1
        given = data
        if reverse:
            given = node.step("SequenceReverse", data, lengths, suffix=f"backwards{way}", use_sequence_length=True)
        states = [_direction_state(node, slot, way) for slot in ((5, 6) if op.has_cell else (5,))]
        vector = parameter_vector(node, [node.node], mode, way)
        attributes = {"state_size": _hidden(node), "num_layers": 1, "mode": mode}
        result = node.step("RNN", given, vector, *states, suffix=f"direction{way}", **attributes)
        result = node.step("SequenceMask", result, lengths, suffix=f"masked{way}", use_sequence_length=True)
        last = node.step("SequenceLast", result, ends, suffix=f"last{way}", use_sequence_length=True)
        lasts.append(node.step("expand_dims", last, suffix=f"state{way}", axis=0))
        if reverse:
            result = node.step("SequenceReverse", result, lengths, suffix=f"forwards{way}", use_sequence_length=True)
        results.append(node.step("expand_dims", result, suffix=f"way{way}", axis=1))
    bind_named(node, _joined(node, results, 1, "whole"), 0)
    if len(node.node.outputs) > 1:
        bind_named(node, _joined(node, lasts, 0, "states"), 1)


def _direction_state(node: ExportNode[Recurrent], slot: int, way: int) -> Entry:
    state = _state(node, slot, 1)
    if node.op.direction.count == 1:
        return state
    return node.step("slice_axis", state, suffix=f"begin{slot}_{way}", axis=0, begin=way, end=way + 1)


def _joined(node: AnyNode, parts: list[Entry], axis: int, suffix: str) -> Entry:
    if len(parts) == 1:
        return parts[0]
    return node.step("Concat", *parts, suffix=suffix, dim=axis, num_args=len(parts))


EXPORTS = table(row(ir.RNN, export_recurrent), row(ir.GRU, export_recurrent), row(ir.LSTM, export_recurrent))
