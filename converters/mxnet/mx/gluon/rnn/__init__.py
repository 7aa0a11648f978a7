"""`mx.gluon.rnn`: recurrent layers, and cells that are unrolled."""

from __future__ import annotations

import sys

from graphir.converters.mxnet.mx.gluon.rnn.cells import GRUCell, LSTMCell, RNNCell
from graphir.converters.mxnet.mx.gluon.rnn.layers import GRU, LSTM, RNN
from graphir.converters.mxnet.mx.gluon.rnn.modifiers import (
    BidirectionalCell,
    DropoutCell,
    HybridSequentialRNNCell,
    ModifierCell,
    ResidualCell,
    SequentialRNNCell,
    ZoneoutCell,
)
from graphir.converters.mxnet.mx.gluon.rnn.unrolling import HybridRecurrentCell, RecurrentCell

rnn_cell = rnn_layer = sys.modules[__name__]  # MXNet's files, as scripts name them: rnn.rnn_cell.LSTMCell

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "BidirectionalCell",
    "DropoutCell",
    "GRUCell",
    "HybridRecurrentCell",
    "HybridSequentialRNNCell",
    "LSTMCell",
    "ModifierCell",
    "RNNCell",
    "RecurrentCell",
    "ResidualCell",
    "SequentialRNNCell",
    "ZoneoutCell",
]
