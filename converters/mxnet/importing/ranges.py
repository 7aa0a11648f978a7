"""Quantized tensors of MXNet: integers, and the two ends of the range that they stand for.

ONNX holds one number for that, the step between two quantized numbers: the larger magnitude of the two ends over the
dtype's span. Where the ends are parameters or attributes the step is computed here, in float32 as MXNet does it, and
stands in the graph as a constant; where they are fed, or found from the data, the graph computes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from graphir.converters.mxnet.importing.context import ImportNode
from graphir.graph import Value
from graphir.ops.base import Operator
from graphir.ops.elementwise import Abs, Add, Div, Max, Min, Mul, Neg, Round, Sqrt, Sub
from graphir.ops.quantization import DequantizeLinear, QuantizeLinear
from graphir.ops.reduction import ReduceMax, ReduceMin
from graphir.ops.shape import Reshape
from graphir.tensor import Tensor
from graphir.types import DType, TensorType

# What an operator is computed from: elements that are known, or a value of the graph.
Known = Union[NDArray[Any], Value]

SPANS = {DType.INT8: 127.5, DType.UINT8: 255.5, DType.INT32: 2147483647.0}
LARGEST = {DType.INT8: 127.0, DType.UINT8: 255.0, DType.INT32: 2147483647.0}
LIMITS = {DType.INT8: (-128, 127), DType.UINT8: (0, 255)}
# The smallest normal number: a range without extent has no step of its own, and all that it holds is 0.
SMALLEST = np.float32(2.0**-126)
LEAST_REACH = np.float32(2.0**-100)
_FUNCTIONS: dict[type[Operator], Callable[..., Any]] = {
    Abs: np.abs, Add: np.add, Div: np.divide, Max: np.maximum, Min: np.minimum, Mul: np.multiply, Neg: np.negative,
    Sqrt: np.sqrt, Sub: np.subtract,
}  # fmt: skip


def known(value: Value) -> Known:
    """Return the elements of a parameter that has them, else the value."""
    return value if value.tensor is None or value.producer is not None else value.tensor.numpy()


def single(number: float) -> NDArray[Any]:
    """Return a number in float32, without axes."""
    return np.array(number, np.float32)


def held(node: ImportNode, operand: Known, dtype: DType = DType.FLOAT32) -> Value:
    """Return the operand as a value of the graph: large ones as a parameter, small ones as a shared constant."""
    return operand if isinstance(operand, Value) else node.constant(operand, dtype)


def stored(node: ImportNode, elements: Known, dtype: DType, origin: Value) -> Value:
    """Return what was made of a parameter of the file: a parameter too, where its elements are known."""
    if isinstance(elements, Value):
        return elements
    value = node.graph.add_parameter(node.fresh_name(f"{origin.name}_{dtype}"), Tensor.of(elements, dtype))
    value.sources = origin.sources
    return value


def apply(node: ImportNode, op: Operator, *operands: Known) -> Known:
    """Return an operator of float32 on what is known, else in the graph."""
    arrays = [operand for operand in operands if not isinstance(operand, Value)]
    if len(arrays) == len(operands):
        with np.errstate(all="ignore"):
            return np.asarray(_FUNCTIONS[type(op)](*arrays), np.float32)
    return node.step(op, *(held(node, operand) for operand in operands))


def end(node: ImportNode, value: Value) -> Known:
    """Return an end of a range, which MXNet holds as one element on one axis, without axes."""
    value.graph.refine(value, TensorType(DType.FLOAT32, (1,)))
    result = known(value)
    if isinstance(result, Value):
        return node.step(Reshape(), result, node.vector([]), suffix="number")
    return result.astype(np.float32).reshape(())


def magnitude(node: ImportNode, low: Known, high: Known) -> Known:
    """Return the larger magnitude of the two ends."""
    return apply(node, Max(), apply(node, Abs(), low), apply(node, Abs(), high))


def some_magnitude(node: ImportNode, low: Known, high: Known) -> Known:
    """Return the larger magnitude of the two ends, and never 0: of data that are all 0 only a bias is left."""
    return apply(node, Max(), magnitude(node, low, high), np.asarray(LEAST_REACH))


def step_of(node: ImportNode, reach: Known, span: float) -> Known:
    """Return the step of a dtype of this span whose range reaches so far from 0."""
    return apply(node, Max(), apply(node, Div(), reach, single(span)), np.asarray(SMALLEST))


def range_step(node: ImportNode, dtype: DType, low: Value, high: Value) -> Known:
    """Return the step of a quantized operand, from the values that hold its ends."""
    return step_of(node, magnitude(node, end(node, low), end(node, high)), SPANS[dtype])


def calibrated(node: ImportNode) -> tuple[Known, Known] | None:
    """Return the range that calibration found, None without both ends."""
    low, high = node.attrs["min_calib_range"], node.attrs["max_calib_range"]
    stated = low is not None and high is not None
    if stated and low > high:
        node.refuse(f"its calibrated range goes from {low} to {high}: no calibration finds that one")
    if stated and node.op.startswith("_sg_") and node.attrs.get("enable_float_output"):
        node.refuse("it states a calibrated range and a float32 result, and MXNet scales by both: state one of them")
    return None if low is None or high is None else (single(low), single(high))


def as_end(node: ImportNode, number: Known) -> Value:
    """Return a number as MXNet gives the end of a range: one element on one axis."""
    if isinstance(number, Value):
        return node.step(Reshape(), number, node.vector([1]), suffix="end")
    return node.constant(number.reshape(1), DType.FLOAT32)


def symmetric_ends(node: ImportNode, reach: Known) -> list[Value]:
    """Return the ends of a range that reaches equally far on both sides of 0."""
    return [as_end(node, apply(node, Neg(), reach)), as_end(node, reach)]


def own_ends(node: ImportNode, data: Value) -> tuple[Known, Known]:
    """Return the least and the greatest element."""
    low = node.step(ReduceMin(keepdims=False), data, suffix="least")
    return low, node.step(ReduceMax(keepdims=False), data, suffix="greatest")


def byte_dtype(node: ImportNode, slot: int = 0, *allowed: DType) -> DType:
    """Return the dtype of a quantized operand; an unknown one is the first allowed, others are refused."""
    allowed = allowed or (DType.INT8, DType.UINT8)
    value = node.input(slot)
    if value.dtype is None:
        value.graph.refine(value, TensorType(allowed[0], None))
    if value.dtype not in allowed:
        names = " or ".join(str(dtype) for dtype in allowed)
        node.refuse(f"input {slot} ({value.name}) is {value.dtype}, expected {names}")
    assert value.dtype is not None
    return value.dtype


def zero(node: ImportNode, dtype: DType, step: Known) -> Value:
    """Return the zero point 0, of the step's shape."""
    shape = () if isinstance(step, Value) else step.shape
    return node.constant(np.zeros(shape, dtype.numpy()), dtype)


def real(node: ImportNode, value: Value, dtype: DType, step: Known, axis: int = 1, suffix: str = "real") -> Value:
    """Return what a quantized value stands for. int32 has no zero point in ONNX, and 0 may be left out."""
    operands = [value, held(node, step)]
    if dtype is not DType.INT32 and (not isinstance(step, Value) or step.rank == 0):
        operands.append(zero(node, dtype, step))
    return node.step(DequantizeLinear(axis), *operands, suffix=suffix)


def quantized(node: ImportNode, value: Value, dtype: DType, step: Known, suffix: str = "") -> Value:
    """Real numbers as quantized ones: the node's result, or a step before it with a suffix."""
    operands = (value, held(node, step), zero(node, dtype, step))
    if suffix:
        return node.step(QuantizeLinear(), *operands, suffix=suffix)
    return node.emit_all(QuantizeLinear(), *operands)[0]


def cut(node: ImportNode, numbers: Known, *, rounded: bool) -> Known:
    """float32 numbers as int32: rounded to the nearest even, or cut."""
    if isinstance(numbers, Value):
        counts = node.step(Round(), numbers) if rounded else numbers
        return node.cast(counts, DType.INT32, suffix="int32")
    whole = np.rint(numbers) if rounded else np.trunc(numbers)
    return np.asarray(np.clip(whole.astype(np.float64), -(2.0**31), 2.0**31 - 1), np.int32)
