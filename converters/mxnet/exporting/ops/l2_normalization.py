"""x / sqrt(sum of x^2 + eps) is MXNet's L2Normalization, where the sum is over a sample, its channels or its pixels."""

from __future__ import annotations

from graphir.converters.mxnet.exporting.context import AnyNode
from graphir.graph import Value
from graphir.ops.base import normalize_axis
from graphir.ops.elementwise import Add, Mul, Sqrt
from graphir.ops.reduction import ReduceSum, ReduceSumSquare


def export_l2_normalization(node: AnyNode) -> bool:
    """A quotient as L2Normalization; whether it is one."""
    data, divisor = node.input(0), node.input(1)
    if data.rank is None or data.dtype is None or not data.dtype.is_float:
        return False
    root = divisor.producer
    if root is None or not isinstance(root.op, Sqrt) or root.inputs[0] is None:
        return False
    result = _raised(root.inputs[0])
    if result is None:
        return False
    total, epsilon = result
    axes = _summed_squares(total, data)
    modes = {"instance": range(1, data.rank), "channel": (1,), "spatial": range(2, data.rank)}
    for mode, wanted in modes.items():
        if axes is not None and axes == sorted(wanted) and (mode == "instance" or data.rank > 2):
            node.emit("L2Normalization", node.entry(0), mode=mode, eps=epsilon)
            return True
    return False


def _raised(value: Value) -> tuple[Value, float] | None:
    """What a constant number is added to, and that number."""
    producer = value.producer
    if producer is None or not isinstance(producer.op, Add):
        return None
    for slot in (0, 1):
        number, other = producer.inputs[1 - slot], producer.inputs[slot]
        if number is not None and other is not None and number.tensor is not None and number.tensor.size == 1:
            return other, float(number.tensor.numpy().reshape(-1)[0])
    return None


def _summed_squares(value: Value, data: Value) -> list[int] | None:
    """The axes over which a value sums the squares of the data, kept as 1; None if it does not."""
    producer = value.producer
    if producer is None or not isinstance(producer.op, ReduceSumSquare | ReduceSum) or not producer.op.keepdims:
        return None
    source = producer.inputs[0]
    if isinstance(producer.op, ReduceSum):
        square = None if source is None else source.producer
        if square is None or not isinstance(square.op, Mul) or square.inputs[0] is not square.inputs[1]:
            return None
        source = square.inputs[0]
    axes = producer.inputs[1] if len(producer.inputs) > 1 else None
    known = None if axes is None or axes.known is None else axes.known.integers()
    if source is not data or known is None or data.rank is None:
        return None
    return sorted(normalize_axis(axis, data.rank) for axis in known)
