"""`mx.gluon.rnn`: recurrent layers, and cells that are unrolled."""

from __future__ import annotations

import sys

from graphir.converters.mxnet.mx.gluon.rnn import cells, layers, modifiers
from graphir.converters.mxnet.mx.gluon.rnn.cells import *
from graphir.converters.mxnet.mx.gluon.rnn.layers import *
from graphir.converters.mxnet.mx.gluon.rnn.modifiers import *

rnn_cell = rnn_layer = sys.modules[__name__]  # MXNet's files, as scripts name them: rnn.rnn_cell.LSTMCell

__all__ = [*cells.__all__, *layers.__all__, *modifiers.__all__]
