"""Results that a composition ends with, by their names."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from graphir.converters.mxnet.exporting.context import Entry, ExportNode
from graphir.tensor import Tensor
from graphir.types import DType


def bind_last(node: ExportNode, entry: Entry) -> None:
    """Say that what a step gave is the result; its node takes the result's name. An operand itself is copied."""
    if entry in node.entries():
        node.emit("_copy", entry)
        return
    node.export.rename(entry[0], node.stem)
    node.bind(entry)


def bind_named(node: ExportNode, entry: Entry, slot: int = 0) -> None:
    """Say that the only output of a step's node is a result; the node takes the result's name."""
    node.export.rename(entry[0], node.node.outputs[slot].name.removesuffix("_output"))
    node.bind(entry, slot)


def bind_constant(
    node: ExportNode, elements: NDArray[Any], dtype: DType, slot: int = 0, carried: DType | None = None
) -> None:
    """Say that a result is a constant, a variable with the result's name."""
    value = node.node.outputs[slot]
    name = node.export.fresh_variable(value.name.removesuffix("_output"))
    node.bind(node.export.variable(name, Tensor.of(elements, dtype), {}), slot, carried=carried)


__all__ = ["bind_constant", "bind_last", "bind_named"]
