"""`mx.gluon.nn`: the layers."""

from __future__ import annotations

from graphir.converters.mxnet.mx.gluon.block import Block
from graphir.converters.mxnet.mx.gluon.hybrid_block import HybridBlock, SymbolBlock
from graphir.converters.mxnet.mx.gluon.nn import activations, basic_layers, conv_layers
from graphir.converters.mxnet.mx.gluon.nn.activations import *
from graphir.converters.mxnet.mx.gluon.nn.basic_layers import *
from graphir.converters.mxnet.mx.gluon.nn.conv_layers import *

__all__ = [
    "Block", "HybridBlock", "SymbolBlock", *activations.__all__, *basic_layers.__all__, *conv_layers.__all__,
]  # fmt: skip
