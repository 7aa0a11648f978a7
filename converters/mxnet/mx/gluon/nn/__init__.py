"""`mx.gluon.nn`: the layers."""

from __future__ import annotations

import sys

from graphir.converters.mxnet.mx.gluon.block import Block
from graphir.converters.mxnet.mx.gluon.hybrid_block import HybridBlock
from graphir.converters.mxnet.mx.gluon.nn.activations import (
    ELU,
    GELU,
    SELU,
    Activation,
    LeakyReLU,
    PReLU,
    Swish,
)
from graphir.converters.mxnet.mx.gluon.nn.basic import (
    Dense,
    Dropout,
    Embedding,
    Flatten,
    HybridLambda,
    HybridSequential,
    Lambda,
    Sequential,
)
from graphir.converters.mxnet.mx.gluon.nn.convolutions import (
    Conv1D,
    Conv1DTranspose,
    Conv2D,
    Conv2DTranspose,
    Conv3D,
    Conv3DTranspose,
    ReflectionPad2D,
)
from graphir.converters.mxnet.mx.gluon.nn.normalizations import (
    BatchNorm,
    BatchNormReLU,
    GroupNorm,
    InstanceNorm,
    LayerNorm,
)
from graphir.converters.mxnet.mx.gluon.nn.poolings import (
    AvgPool1D,
    AvgPool2D,
    AvgPool3D,
    GlobalAvgPool1D,
    GlobalAvgPool2D,
    GlobalAvgPool3D,
    GlobalMaxPool1D,
    GlobalMaxPool2D,
    GlobalMaxPool3D,
    MaxPool1D,
    MaxPool2D,
    MaxPool3D,
)
from graphir.converters.mxnet.mx.gluon.symbol_block import SymbolBlock

basic_layers = conv_layers = sys.modules[__name__]  # MXNet's files, as scripts name them: nn.basic_layers.Dropout

__all__ = [
    "ELU",
    "GELU",
    "SELU",
    "Activation",
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "BatchNorm",
    "BatchNormReLU",
    "Block",
    "Conv1D",
    "Conv1DTranspose",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
    "Dense",
    "Dropout",
    "Embedding",
    "Flatten",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
    "GroupNorm",
    "HybridBlock",
    "HybridLambda",
    "HybridSequential",
    "InstanceNorm",
    "Lambda",
    "LayerNorm",
    "LeakyReLU",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
    "PReLU",
    "ReflectionPad2D",
    "Sequential",
    "Swish",
    "SymbolBlock",
]
