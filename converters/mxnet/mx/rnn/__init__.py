"""`mx.rnn`: recurrent cells that compose symbols, their checkpoints, and sentences in buckets."""

from __future__ import annotations

import sys

from graphir.converters.mxnet.mx.rnn import cells, checkpoints, fused, modifiers, sentences
from graphir.converters.mxnet.mx.rnn.cells import *
from graphir.converters.mxnet.mx.rnn.checkpoints import *
from graphir.converters.mxnet.mx.rnn.fused import *
from graphir.converters.mxnet.mx.rnn.modifiers import *
from graphir.converters.mxnet.mx.rnn.sentences import *

rnn_cell = sys.modules[__name__]  # MXNet's file, as scripts name it: rnn.rnn_cell.LSTMCell

__all__ = [
    "rnn_cell", *cells.__all__, *checkpoints.__all__, *fused.__all__, *modifiers.__all__, *sentences.__all__,
]  # fmt: skip
