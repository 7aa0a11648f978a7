"""Activation functions and the softmax family."""

from __future__ import annotations

from graphir.converters.tensorflow.importing.context import ImportFunction, ImportNode, direct
from graphir.graph import Value
from graphir.ops import activation as act
from graphir.ops.elementwise import Clip


def import_relu6(node: ImportNode) -> Value:
    """x limited to 0 and 6."""
    data = node.input(0)
    return node.emit(Clip(), data, node.scalar_like(data, 0), node.scalar_like(data, 6))


IMPORTS: dict[str, ImportFunction] = {
    "Elu": direct(act.Elu),
    "LeakyRelu": lambda node: node.emit(act.LeakyRelu(node.attrs["alpha"]), node.input(0)),
    "LogSoftmax": direct(act.LogSoftmax, -1),
    "Relu": direct(act.Relu),
    "Relu6": import_relu6,
    "Selu": direct(act.Selu),
    "Sigmoid": direct(act.Sigmoid),
    "Softmax": direct(act.Softmax, -1),
    "Softplus": direct(act.Softplus),
    "Softsign": direct(act.Softsign),
    "Tanh": direct(act.Tanh),
}
