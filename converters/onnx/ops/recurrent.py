"""RNN, GRU and LSTM, which ONNX has as they are."""

from __future__ import annotations

from typing import Any

from graphir.converters.onnx.exporting.context import ExportNode, row, table
from graphir.converters.onnx.importing.context import ImportFunction, ImportNode, ImportTable
from graphir.ops.recurrent import GRU, LSTM, RNN, Direction
from graphir.ops.shape import Transpose


def export_recurrent(node: ExportNode[RNN | GRU | LSTM]) -> None:
    """Write RNN, GRU or LSTM; `hidden_size` is stated wherever it is known, since runtimes insist on it."""
    op = node.op
    recurrent = node.optional(2)
    hidden = op.hidden_size
    if hidden is None and recurrent is not None and recurrent.shape is not None:
        size = recurrent.shape[2]
        hidden = size if isinstance(size, int) else None
    node.emit(
        op.name,
        node.input_names(),
        hidden_size=hidden,
        direction=op.direction.value if op.direction is not Direction.FORWARD else None,
        activations=op.activations or None,
        activation_alpha=op.activation_alpha or None,
        activation_beta=op.activation_beta or None,
        clip=op.clip,
        linear_before_reset=1 if isinstance(op, GRU) and op.linear_before_reset else None,
        input_forget=1 if isinstance(op, LSTM) and op.input_forget else None,
    )


EXPORTS = table(row(RNN, export_recurrent), row(GRU, export_recurrent), row(LSTM, export_recurrent))


def import_recurrent(cls: type[RNN | GRU | LSTM]) -> ImportFunction:
    """RNN, GRU or LSTM: before opset 7 `output_sequence` repeats what the outputs say, `layout` came with 14."""

    def import_layer(node: ImportNode) -> None:
        fields = _fields(node, cls)
        node.ignore("output_sequence")
        if node.attribute("layout", 0):
            _batch_first(node, cls(**fields))
        else:
            node.emit(cls(**fields), *node.inputs)

    return import_layer


def _fields(node: ImportNode, cls: type[RNN | GRU | LSTM]) -> dict[str, Any]:
    """ONNX's default for `activations` is for both directions even where there is one, and `direction` of GRU-1 has a
    misspelled default: neither is asked for unless stated."""
    fields = {name: node.attribute(name) for name in cls.field_names if node.has(name)}
    if "direction" in fields:
        fields["direction"] = node.enum("direction", Direction, Direction.FORWARD)
    for name in ("linear_before_reset", "input_forget"):
        if name in fields:
            fields[name] = node.flag(name)
    return fields


def _batch_first(node: ImportNode, op: RNN | GRU | LSTM) -> None:
    """layout=1: the batch is the first axis of X, the states and the results."""
    operands = list(node.inputs)
    for slot in (0, 5, 6):
        value = node.optional(slot)
        if value is not None:
            operands[slot] = node.step(Transpose((1, 0, 2)), value)
    names = [node.fresh_name(f"{node.name}_{name}") for name in op.outputs]
    layer = node.graph.add_node(op, operands, name=node.name, output_names=names)
    for slot, name in enumerate(node.output_names):
        if name:
            perm = (2, 0, 1, 3) if slot == 0 else (1, 0, 2)
            node.bind(slot, node.step(Transpose(perm), layer.outputs[slot]))


IMPORTS: ImportTable = {cls.__name__: {1: import_recurrent(cls)} for cls in (RNN, GRU, LSTM)}
