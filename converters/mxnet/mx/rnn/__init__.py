"""`mx.rnn`: recurrent cells that compose symbols, their checkpoints, and sentences in buckets."""

from __future__ import annotations

from graphir.converters.mxnet.mx.rnn import rnn_cell
from graphir.converters.mxnet.mx.rnn.checkpoints import (
    do_rnn_checkpoint,
    load_rnn_checkpoint,
    save_rnn_checkpoint,
)
from graphir.converters.mxnet.mx.rnn.rnn_cell import (
    BaseRNNCell,
    BidirectionalCell,
    ConvGRUCell,
    ConvLSTMCell,
    ConvRNNCell,
    DropoutCell,
    FusedRNNCell,
    GRUCell,
    LSTMCell,
    ModifierCell,
    ResidualCell,
    RNNCell,
    RNNParams,
    SequentialRNNCell,
    ZoneoutCell,
)
from graphir.converters.mxnet.mx.rnn.sentences import BucketSentenceIter, encode_sentences

__all__ = [
    "BaseRNNCell",
    "BidirectionalCell",
    "BucketSentenceIter",
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
    "do_rnn_checkpoint",
    "encode_sentences",
    "load_rnn_checkpoint",
    "rnn_cell",
    "save_rnn_checkpoint",
]
