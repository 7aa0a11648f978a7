"""Steps that compositions of several families share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphir.converters.mxnet.exporting.context import AnyNode, Entry
from graphir.converters.mxnet.exporting.dtypes import held_dtype
from graphir.graph import Value
from graphir.types import DType

MOST_SLICED_AXES = 5  # by MXNet's `slice`; slice_axis takes any number


def emit_first(node: AnyNode, op: str, *inputs: Entry, carried: DType | None = None, **attributes: Any) -> Entry:
    """Add the MXNet node whose first output is the node's first result, and give that."""
    entry = node.export.append(op, node.stem, inputs, attributes), 0
    node.bind(entry, carried=carried)
    return entry


def is_used(node: AnyNode, slot: int) -> bool:
    """Return whether something depends on a result."""
    if slot >= len(node.node.outputs):
        return False
    value: Value = node.node.outputs[slot]
    return bool(value.uses) or node.export.graph.is_output(value)


def operand_dtype(node: AnyNode, slot: int = 0) -> DType:
    """Return the dtype in which MXNet holds an operand."""
    return held_dtype(node.dtype(slot))


def computing(node: AnyNode) -> DType:
    """Return the dtype of floats in which to compute: float32 for float16, of which MXNet's CPU has neither products
    nor sums without loss, and for integers."""
    return DType.FLOAT64 if operand_dtype(node) is DType.FLOAT64 else DType.FLOAT32


def wide(node: AnyNode, slot: int) -> Entry:
    """Return an operand in the dtype in which to compute with the first one."""
    return cast(node, node.entry(slot), operand_dtype(node, slot), computing(node))


def cast(node: AnyNode, entry: Entry, source: DType, wanted: DType) -> Entry:
    """Return the entry in another dtype, itself if it has that."""
    return entry if source is wanted else node.export.cast(entry, wanted)


def emit_as(node: AnyNode, entry: Entry, source: DType, slot: int = 0) -> None:
    """Say that an entry, brought to the dtype of a result, is that result."""
    wanted = node.node.outputs[slot].dtype
    if wanted is None or held_dtype(wanted) is source:
        node.bind(entry, slot)
    elif slot == 0:
        emit_first(node, "Cast", entry, dtype=held_dtype(wanted).value)
    else:
        node.bind(node.export.cast(entry, wanted), slot)


def bind_named(node: AnyNode, entry: Entry, slot: int) -> None:
    """Say that the only output of a step's node is a result, whose name the node takes."""
    node.export.rename(entry[0], node.node.outputs[slot].name.removesuffix("_output"))
    node.bind(entry, slot)


def bind_last(node: AnyNode, entry: Entry) -> None:
    """Say that what a step gave is the result. An operand itself is copied."""
    if entry in node.entries():
        node.emit("_copy", entry)
    else:
        node.bind(entry)


def same_truths(node: AnyNode, values: Sequence[Value]) -> tuple[list[Entry], DType | None]:
    """Return the entries of values of one dtype, and what carries them: truths carried differently meet as float32."""
    export = node.export
    if all(value.dtype is not DType.BOOL for value in values):
        return [export.entry(value) for value in values], None
    entries = [export.raw(value) for value in values]
    result = {export.carried(value) for value in values}
    if len(result) == 1:
        return entries, result.pop()
    return [export.cast(entry, DType.FLOAT32) for entry in entries], DType.FLOAT32


def along(entry: Entry, node: AnyNode, axis: int, rank: int, suffix: str) -> Entry:
    """Return a vector as a tensor that broadcasts along one axis of `rank`."""
    if axis == rank - 1:
        return entry
    return node.step("Reshape", entry, suffix=suffix, shape=(*(1,) * axis, -1, *(1,) * (rank - axis - 1)))


def places(node: AnyNode, like: Entry, rank: int, axis: int) -> Entry:
    """For each element of `like`, which has `rank` axes, its place on one of them, in the dtype of `like`."""
    if rank == 1:
        return node.step("_contrib_arange_like", like, suffix="places", axis=0)
    line = node.step("_contrib_arange_like", like, suffix=f"places{axis}", axis=axis)
    shape = tuple(-1 if other == axis else 1 for other in range(rank))
    line = node.step("Reshape", line, suffix=f"places{axis}", shape=shape)
    return node.step("broadcast_like", line, like, suffix=f"places{axis}")
