"""`mx.rnn.rnn_cell`: all cells by the name of MXNet's module."""

from __future__ import annotations

from graphir.converters.mxnet.mx.rnn.base import BaseRNNCell, RNNParams
from graphir.converters.mxnet.mx.rnn.cells import (
    ConvGRUCell,
    ConvLSTMCell,
    ConvRNNCell,
    GRUCell,
    LSTMCell,
    RNNCell,
)
from graphir.converters.mxnet.mx.rnn.fused import FusedRNNCell
from graphir.converters.mxnet.mx.rnn.modifiers import (
    BidirectionalCell,
    DropoutCell,
    ModifierCell,
    ResidualCell,
    SequentialRNNCell,
    ZoneoutCell,
)

__all__ = [
    "BaseRNNCell",
    "BidirectionalCell",
    "ConvGRUCell",
    "ConvLSTMCell",
    "ConvRNNCell",
    "DropoutCell",
    "FusedRNNCell",
    "GRUCell",
    "LSTMCell",
    "ModifierCell",
    "RNNCell",
    "RNNParams",
    "ResidualCell",
    "SequentialRNNCell",
    "ZoneoutCell",
]
