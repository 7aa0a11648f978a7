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


def import_leaky_relu(node: ImportNode) -> Value:
    """x, below zero times `alpha`."""
    return node.emit(act.LeakyRelu(node.attrs["alpha"]), node.input(0))


IMPORTS: dict[str, ImportFunction] = {
    "Elu": direct(act.Elu),
    "LeakyRelu": import_leaky_relu,
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
