"""RNN, GRU and LSTM, which ONNX has as they are."""

from __future__ import annotations

from graphir.converters.onnx.context import ExportNode, ExportTable
from graphir.converters.onnx.import_context import ImportTable
from graphir.ops.recurrent import GRU, LSTM, RNN, Direction


def export_recurrent(node: ExportNode) -> None:
    """RNN, GRU or LSTM; `hidden_size` is stated wherever it is known, since runtimes insist on it."""
    op: RNN | GRU | LSTM = node.op
    recurrent = node.value(2)
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


EXPORTS: ExportTable = {RNN: export_recurrent, GRU: export_recurrent, LSTM: export_recurrent}

IMPORTS: ImportTable = {}

__all__ = ["EXPORTS", "IMPORTS"]
