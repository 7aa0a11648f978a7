"""Reductions over axes."""

from __future__ import annotations

from graphir.converters.tensorflow.context import ImportFunction, ImportNode
from graphir.graph import Value
from graphir.ops import reduction as red
from graphir.ops.base import Operator


def reducing(cls: type[Operator]) -> ImportFunction:
    """The import function of a reduction whose second input names the axes."""

    def import_reduction(node: ImportNode) -> Value:
        data, axes = node.input(0), node.input(1)
        keepdims = bool(node.attrs["keep_dims"])
        known = node.known(1)
        if known == ():
            return data  # TensorFlow reduces nothing; ONNX would reduce everything
        operand = node.int64(axes) if known is None else node.vector(known)
        if known is None:
            node.decide("axes", f"the axes ({axes.name}) are computed; an empty list of them would reduce nothing")
            return node.emit(cls(keepdims=keepdims, noop_with_empty_axes=True), data, operand)
        return node.emit(cls(keepdims=keepdims), data, operand)

    return import_reduction


IMPORTS: dict[str, ImportFunction] = {
    "Max": reducing(red.ReduceMax),
    "Mean": reducing(red.ReduceMean),
    "Min": reducing(red.ReduceMin),
    "Prod": reducing(red.ReduceProd),
    "Sum": reducing(red.ReduceSum),
}

__all__ = ["IMPORTS"]
