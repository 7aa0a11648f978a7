"""Activation functions and the softmax family."""

from __future__ import annotations

from graphir.converters.kernel.importing import direct
from graphir.converters.tensorflow.importing.context import ImportFunction
from graphir.ops import activation as act
from graphir.ops.elementwise import Clip

IMPORTS: dict[str, ImportFunction] = {
    "Elu": direct(act.Elu),
    "LeakyRelu": direct(act.LeakyRelu, "alpha"),
    "LogSoftmax": direct(act.LogSoftmax(-1)),
    "Relu": direct(act.Relu),
    "Relu6": lambda node: node.emit(
        Clip(), node.input(0), node.scalar_like(node.input(0), 0), node.scalar_like(node.input(0), 6)
    ),
    "Selu": direct(act.Selu),
    "Sigmoid": direct(act.Sigmoid),
    "Softmax": direct(act.Softmax(-1)),
    "Softplus": direct(act.Softplus),
    "Softsign": direct(act.Softsign),
    "Tanh": direct(act.Tanh),
}
