"""What a model does with an input of integers: which of them it can take without another meaning.

An index must lie in its table, a divisor must not be 0 (onnxruntime's process ends by a signal), and what becomes a
shape, an axis or a number of rounds must stay what it is for. Any other integer may be any number of its type.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from graphir.graph import Graph, Value
from graphir.node import Node
from graphir.ops import traits_of
from graphir.ops.traits import Decision
from graphir.types import Dim, DType

PASSED_ON = (
    *("Cast", "Clip", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Floor"),
    *("Max", "Min", "Mod", "Split", "Slice"),
)
LOOKUPS = ("Gather", "GatherElements", "GatherND", "OneHot", "ScatterElements", "ScatterND")
# Operators that compute with the integers of their operands, whatever these are.
COMPUTES = frozenset(
    (
        *("Abs", "Add", "And", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Cast", "Clip", "Concat", "Div"),
        *("Equal", "Flatten", "Greater", "GreaterOrEqual", "Identity", "Less", "LessOrEqual", "MatMul", "Max", "Min"),
        *("Mod", "Mul", "Neg", "Relu", "Sign", "Squeeze", "Sub", "Sum", "Transpose", "Unsqueeze", "Where", "Gemm"),
        *("ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean", "ReduceL1", "ReduceSumSquare", "ArgMax", "ArgMin"),
        *("Not", "Or", "Xor", "ConvInteger", "MatMulInteger", "DequantizeLinear", "QLinearConv", "QLinearMatMul"),
        *("BitCast", "CastLike"),
    )
)
# Operators whose first operand is data, and whose others say what is done with it.
MOVES = frozenset(
    (
        *("Compress", "CumSum", "DepthToSpace", "Expand", "Gather", "GatherElements", "GatherND", "Pad", "Reshape"),
        *("Slice", "SpaceToDepth", "Split", "Tile", "TopK", "Trilu", "Unique"),
    )
)
# Where lengths of sequences go in, which are at most as long as their axis.
LENGTHS = {"RNN": 4, "GRU": 4, "LSTM": 4, "ReverseSequence": 1}
DIVIDES = frozenset({"Div", "Mod"})
# What leaves lengths what they are, and what moves them by some.
ALONG = frozenset({*PASSED_ON, "Expand", "Tile"})
SHIFTS = frozenset({"Add", "Sub"})
COMPARES = frozenset({"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"})
# The root of float32's largest number: products of larger ones overflow.
LARGEST_THRESHOLD = 2.0**64
# So many numbers beside an input are names of kinds; more of them are data.
MOST_MET = 8


class Role(enum.Enum):
    """What an integer input is for: to compute with, to divide by, to compute indices of a table, or to control."""

    NUMBER = "number"
    DIVISOR = "divisor"
    INDEX = "index"
    CONTROL = "control"


@dataclass(frozen=True)
class Table:
    """The tables that an input looks up in: how many rows all of them have, and whether what lies outside is led back
    into each of them before (`Clip`)."""

    rows: int
    guarded: bool


def index_limit(value: Value) -> int | None:
    """How many rows the tables have that the value looks up in; None if it is no index."""
    table = table_of(value)
    return None if table is None else table.rows


def table_of(value: Value) -> Table | None:
    """The tables that the value looks up in; None if it is no index."""
    limits: list[int] = []
    open_ways: list[bool] = []
    pending, seen = [(value, False)], {(value, False)}
    while pending:
        held, clipped = pending.pop()
        for node, slot in held.uses:
            if node.op.name in LOOKUPS and slot == (0 if node.op.name == "OneHot" else 1):
                table = node.inputs[0]
                axis = getattr(node.op, "axis", 0)
                size = table.shape[axis] if node.op.name != "OneHot" and table is not None and table.shape else 2
                limits.append(size if isinstance(size, int) else 2)
                open_ways.append(not clipped and node.op.name != "OneHot")
            elif node.op.name in PASSED_ON and slot == 0:
                guard = clipped or _leads_back(node)
                fresh = [(result, guard) for result in node.outputs if (result, guard) not in seen]
                seen.update(fresh)
                pending.extend(fresh)
    return Table(min(limits), not any(open_ways)) if limits else None


def _leads_back(node: Node) -> bool:
    """Whether what lies outside of a table lies in it behind the node."""
    if node.op.name == "Clip":
        return len(node.inputs) == 3 and None not in node.inputs
    return node.op.name == "Mod"


def role_of(value: Value) -> Role:
    """Return what an integer input is for that is no index itself."""
    found = Role.NUMBER
    pending, seen = [value], {value}
    while pending:
        for node, slot in pending.pop().uses:
            name = node.op.name
            if name in LOOKUPS and slot == 1:
                found = Role.INDEX if found is Role.NUMBER else found
                continue
            if name not in COMPUTES and not (name in MOVES and slot == 0):
                return Role.CONTROL
            if name in DIVIDES and slot == 1:
                found = Role.DIVISOR
            for result in node.outputs:
                if result not in seen and _is_whole(result):
                    seen.add(result)
                    pending.append(result)
    return found


def numbers_met(value: Value) -> list[int]:
    """The whole numbers that an integer input is compared with, as it is or moved: a rate of samples, a kind of task.
    What stands behind such a comparison is reached by them alone."""
    found: dict[int, None] = {}
    pending, seen = [value], {value}
    while pending:
        held = pending.pop()
        for node, slot in held.uses:
            if node.op.name in COMPARES:
                other = node.inputs[1 - slot]
                array = other.tensor.numpy() if other is not None and other.tensor is not None else None
                if array is not None and array.size <= MOST_MET and array.dtype.kind in "iu":
                    found |= dict.fromkeys(int(number) for number in array.reshape(-1))
            elif slot == 0 and (node.op.name in PASSED_ON or node.op.name in MOVES):
                fresh = [result for result in node.outputs if result not in seen and _is_whole(result)]
                seen.update(fresh)
                pending.extend(fresh)
    return list(found)


def largest_threshold(nodes: Iterable[Node]) -> float:
    """Return the largest magnitude of the constants that these nodes compare with, 0 without any.

    Constants beyond LARGEST_THRESHOLD stand for no bound.
    """
    numbers = []
    for node in nodes:
        if node.op.decides:
            tensors = [value.tensor for value in node.inputs if value is not None and value.tensor is not None]
            numbers += [tensor.numpy() for tensor in tensors if tensor.dtype.is_float]
            attributes = [getattr(node.op, name) for name in node.op.field_names]
            numbers += [np.asarray(value) for value in attributes if isinstance(value, float)]
    sizes = [np.abs(array.astype(np.float64)) for array in numbers]
    return float(max((size[size < LARGEST_THRESHOLD].max(initial=0.0) for size in sizes), default=0.0))


def _is_whole(value: Value) -> bool:
    return value.dtype is None or not (value.dtype.is_float or value.dtype is DType.BOOL)


def length_limit(value: Value) -> Dim | None:
    """The size of the axis that the value gives lengths along, for each sequence of a batch; None if it gives none.

    It does where an operator takes it for that, where it is compared with the positions along an axis, or where what
    is picked stands one before it."""
    pending, seen = [(value, False)], {value}
    while pending:
        held, less = pending.pop()
        for node, slot in held.uses:
            name = node.op.name
            if LENGTHS.get(name) == slot:
                return _size(node.inputs[0], getattr(node.op, "time_axis", 0))
            if name in COMPARES and (count := _positions(node.inputs[1 - slot])) is not None:
                return count
            if less and name in LOOKUPS and slot == 1:
                return _size(node.inputs[0], getattr(node.op, "axis", getattr(node.op, "batch_dims", 0)))
            if name in SHIFTS or (name in ALONG and slot == 0):
                fresh = [result for result in node.outputs if result not in seen]
                seen.update(fresh)
                pending.extend((result, less or name == "Sub") for result in fresh)
    return None


def _size(data: Value | None, axis: int) -> Dim | None:
    return data.shape[axis] if data is not None and data.shape is not None and axis < len(data.shape) else None


def _positions(value: Value | None) -> Dim | None:
    """How many places along an axis a value counts, from 0 or 1 on; None if it is something else."""
    while value is not None and value.producer is not None and value.producer.op.name in ALONG:
        value = value.producer.inputs[0]
    if value is None:
        return None
    if value.producer is not None:
        return _size(value, 0) if value.producer.op.name == "Range" else None
    if value.tensor is None or value.tensor.numpy().dtype.kind not in "iuf":
        return None
    numbers = value.tensor.numpy().reshape(-1)
    counted = numbers.size > 1 and numbers[0] in (0, 1) and bool((numbers[1:] - numbers[:-1] == 1).all())
    return int(numbers.size) if counted else None


def order_sensitive(graph: Graph) -> list[str]:
    """The operators of the graph, those of its subgraphs included, that choose among equal elements: two correct models
    need not take the same."""
    from graphir.analysis.held import count_operators

    return sorted(name for name in count_operators(graph) if traits_of(name).decides >= Decision.ORDERS)


__all__ = [
    "Role", "Table", "index_limit", "largest_threshold", "length_limit", "numbers_met", "order_sensitive", "role_of",
    "table_of",
]  # fmt: skip
