"""Quantized operators: the operator on real numbers, between what makes quantized numbers real and real ones quantized.

That is the form of which onnxruntime makes its integer kernels. A result of int32 is computed by integers; what it
stands for is kept beside it, so that a quantization behind it follows on the real operator.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops.indexing import import_embedding
from graphir.converters.mxnet.importing.ops.pooling import import_pooling
from graphir.converters.mxnet.importing.ops.quantized_products import product_ends
from graphir.converters.mxnet.importing.ranges import (
    LARGEST,
    SPANS,
    Known,
    apply,
    as_end,
    byte_dtype,
    calibrated,
    cut,
    end,
    held,
    known,
    magnitude,
    own_ends,
    quantized,
    range_step,
    real,
    single,
    some_magnitude,
    step_of,
    symmetric_ends,
)
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.elementwise import Abs, Add, Cast, Clip, Div, Equal, Max, Min, Mul, Sqrt, Sub, Where
from graphir.ops.quantization import DequantizeLinear
from graphir.ops.reduction import ReduceMax
from graphir.ops.shape import Flatten, Reshape
from graphir.ops.shape_parts import Concat
from graphir.types import DType, TensorType

ONE = single(1.0)
WIDEST = 2147483647.0
# The largest float32 that an int32 holds.
MOST = 2147483520.0


def _wanted_dtype(node: ImportNode) -> DType:
    """Return the result's dtype: `auto` is uint8 for a calibrated range without negative numbers."""
    stated = node.attrs["out_type"]
    if stated != "auto":
        return DType.of(stated)
    low, high = node.attrs["min_calib_range"], node.attrs["max_calib_range"]
    return DType.UINT8 if low is not None and high is not None and low >= 0 else DType.INT8


def _real_data(node: ImportNode) -> Value:
    data = node.input(0)
    if data.dtype is None:
        data.graph.refine(data, TensorType(DType.FLOAT32, None))
    if data.dtype is not DType.FLOAT32:
        node.refuse(f"{data.name} is {data.dtype}, expected float32")
    return data


def import_quantize(node: ImportNode) -> Sequence[Value]:
    """Real numbers by the range that two operands state."""
    dtype = DType.of(node.attrs["out_type"])
    data, low, high = _real_data(node), end(node, node.input(1)), end(node, node.input(2))
    reach = magnitude(node, low, high)
    result = quantized(node, data, dtype, step_of(node, reach, LARGEST[dtype]))
    return [result, *(symmetric_ends(node, reach) if dtype is DType.INT8 else node.inputs[1:])]


def import_quantize_v2(node: ImportNode) -> Sequence[Value]:
    """Real numbers by the calibrated range, or by that of the data themselves; quantized ones stay."""
    dtype, outcome = _wanted_dtype(node), calibrated(node)
    data = node.input(0)
    if data.dtype in (DType.INT8, DType.UINT8):
        byte_dtype(node, 0, dtype)
        whole = single(SPANS[dtype])
        low, high = outcome or (single(0.0) if dtype is DType.UINT8 else -whole, whole)
        return [data, as_end(node, low), as_end(node, high)]
    data = _real_data(node)
    low, high = outcome or own_ends(node, data)
    reach = magnitude(node, low, high)
    if outcome is None:  # the least element is half a step from the next number: as MXNet, multiply before rounding
        factor = apply(node, Div(), single(SPANS[dtype]), some_magnitude(node, low, high))
        scaled = node.step(Mul(), data, held(node, factor), suffix="scaled")
        if dtype is DType.INT8:  # 0 times infinity, as the largest int8: what it stands for is 0 again
            nothing = node.step(Equal(), held(node, reach), node.constant(0.0, DType.FLOAT32), suffix="nothing")
            scaled = node.step(Where(), nothing, node.constant(SPANS[dtype], DType.FLOAT32), scaled, suffix="scaled")
        result = quantized(node, scaled, dtype, ONE)
    else:
        result = quantized(node, data, dtype, step_of(node, reach, SPANS[dtype]))
    ends = symmetric_ends(node, reach) if dtype is DType.INT8 else [as_end(node, low), as_end(node, high)]
    return [result, *ends]


def import_dequantize(node: ImportNode) -> Value:
    """Quantized numbers as real ones."""
    dtype = byte_dtype(node)
    step = range_step(node, dtype, node.input(1), node.input(2))
    zero = node.constant(np.zeros((), dtype.numpy()), dtype)
    return node.emit(DequantizeLinear(), node.input(0), held(node, step), zero)


def import_requantize(node: ImportNode) -> Sequence[Value]:
    """int32 as int8 or uint8, by the calibrated range or by that of the numbers themselves."""
    dtype, outcome = _wanted_dtype(node), calibrated(node)
    data = node.input(0)
    byte_dtype(node, 0, DType.INT32)
    stands = node.importer.reals.get(data)
    if stands is None:
        reach = magnitude(node, end(node, node.input(1)), end(node, node.input(2)))
        stands = real(node, data, DType.INT32, step_of(node, reach, WIDEST))
    if outcome is not None:
        whole: Known = magnitude(node, *outcome)
    else:
        whole = node.step(ReduceMax(keepdims=False), node.step(Abs(), stands, suffix="magnitudes"), suffix="reach")
    result = quantized(node, stands, dtype, step_of(node, whole, LARGEST[dtype]))
    if dtype is DType.UINT8:
        return [result, as_end(node, single(0.0)), as_end(node, whole)]
    return [result, *symmetric_ends(node, whole)]


def import_quantized_pooling(node: ImportNode) -> Sequence[Value]:
    """Return the largest numbers of windows, or their means, which are rounded."""
    dtype, kind = byte_dtype(node), node.attrs["pool_type"]
    if kind not in ("max", "avg"):
        node.refuse(f"pool_type {kind}, expected max or avg")
    # A mean of integers is often half way between two: in units of 1 nothing is rounded before that is decided.
    step = ONE if kind == "avg" else range_step(node, dtype, node.input(1), node.input(2))
    stands = real(node, node.input(0), dtype, step, suffix="data")
    pooled = import_pooling(node.over(stands, suffix="pooled"))
    return [quantized(node, pooled, dtype, step), *node.inputs[1:]]


def import_quantized_activation(node: ImportNode) -> Sequence[Value]:
    """Return the positive numbers of int8; of uint8 all, which MXNet takes for int8 from there on, bit by bit."""
    dtype, kind = byte_dtype(node), node.attrs["act_type"]
    if kind != "relu":
        node.refuse(f"act_type {kind}, expected relu")
    if dtype is DType.UINT8:
        node.decide(DecisionKind.QUANTIZATION, "MXNet takes the bits of the uint8 result for int8: so they are taken")
        return [node.emit(Cast(DType.INT8), node.input(0)), *node.inputs[1:]]
    limits = (node.constant(0, dtype), node.constant(127, dtype))
    return [node.emit(Clip(), node.input(0), *limits), *node.inputs[1:]]


def import_quantized_batch_norm(node: ImportNode) -> Sequence[Value]:
    """Scale and shift of each channel; uint8 becomes int8 first. MXNet's kernel adds eps to a variance of 1 again.

    It takes axis 1 for the channels, whatever `axis` says, which only says how many they are."""
    attrs, outcome = node.attrs, calibrated(node)
    if outcome is None:
        node.refuse("it has no calibrated range (min_calib_range, max_calib_range): MXNet refuses it too")
    if attrs["eps"] < 0:
        node.refuse(f"eps {attrs['eps']}: variances below it have no root, of which MXNet makes numbers all the same")
    dtype, data = byte_dtype(node), node.input(0)
    stated, axis = node.axis(attrs["axis"], node.rank()), 1
    channels = node.shape()[stated]
    if stated != axis and node.sizes_if_known(0, (axis,)) != node.sizes_if_known(0, (stated,)):
        node.refuse(f"channels on axis {stated}: MXNet's kernel takes those of axis 1, which are not as many")
    states = [known(node.shaped(slot, (channels,))) for slot in range(1, 5)]
    gamma, beta, mean, var = states
    reach = magnitude(node, end(node, node.input(5)), end(node, node.input(6)))
    if dtype is DType.UINT8:
        inner = apply(node, Div(), single(SPANS[DType.UINT8]), single(SPANS[DType.INT8]))
        data = quantized(node, real(node, data, dtype, ONE, suffix="data"), DType.INT8, inner, "as_int8")
    deviation = apply(node, Sqrt(), apply(node, Add(), var, single(attrs["eps"])))
    slope = apply(node, Div(), gamma, deviation)
    shift = apply(node, Sub(), beta, apply(node, Mul(), mean, slope))
    slope = apply(node, Mul(), slope, single(1.0 / np.sqrt(1.0 + attrs["eps"])))
    behind = node.rank() - axis - 1
    stands = real(node, data, DType.INT8, step_of(node, reach, SPANS[DType.INT8]), suffix="real")
    scaled = node.step(Mul(), stands, _along(node, slope, behind), suffix="scaled")
    moved = node.step(Add(), scaled, _along(node, shift, behind), suffix="moved")
    whole = magnitude(node, *outcome)
    result = quantized(node, moved, DType.INT8, step_of(node, whole, SPANS[DType.INT8]))
    return [result, as_end(node, outcome[0]), as_end(node, outcome[1])]


def _along(node: ImportNode, vector: Known, behind: int) -> Value:
    """Return a vector along an axis with so many behind it."""
    if isinstance(vector, Value):
        return node.step(Reshape(), vector, node.vector([-1, *(1,) * behind])) if behind else vector
    return node.constant(vector.reshape(-1, *(1,) * behind), DType.FLOAT32)


def import_quantized_concat(node: ImportNode) -> Sequence[Value]:
    """Return all operands in the range that holds 0 and all of theirs; uint8 if all are."""
    count = node.attrs["num_args"]
    dtypes = [byte_dtype(node, slot) for slot in range(count)]
    ends = [end(node, value) for value in node.inputs[count:]]
    low = high = np.zeros((), np.float32)  # type: Known
    for start, stop in zip(ends[::2], ends[1::2], strict=True):
        low, high = apply(node, Min(), low, start), apply(node, Max(), high, stop)
    dtype = DType.UINT8 if set(dtypes) == {DType.UINT8} else DType.INT8
    parts = [
        real(node, node.input(slot), own, step_of(node, magnitude(node, start, stop), SPANS[own]), suffix="part")
        for slot, own, start, stop in zip(range(count), dtypes, ends[::2], ends[1::2], strict=True)
    ]
    joined = node.step(Concat(node.attrs["dim"]), *parts, suffix="joined")
    result = quantized(node, joined, dtype, step_of(node, magnitude(node, low, high), SPANS[dtype]))
    return [result, as_end(node, low), as_end(node, high)]


def import_quantized_add(node: ImportNode) -> Sequence[Value]:
    """Return the sum in the calibrated range: uint8 if both operands are, else int8. Without a range int32."""
    node.same_shapes(node.input(0), node.input(1))
    dtypes, outcome = [byte_dtype(node, 0), byte_dtype(node, 1)], calibrated(node)
    alike = dtypes[0] is dtypes[1]
    if outcome is None and not alike:
        node.refuse("without a calibrated range MXNet cuts an uint8 operand beside an int8 one off at 127 of 2^31")
    reaches = [magnitude(node, end(node, node.input(slot)), end(node, node.input(slot + 1))) for slot in (2, 4)]
    steps = [step_of(node, reach, SPANS[own]) for reach, own in zip(reaches, dtypes, strict=True)]
    dtype = dtypes[0] if alike else DType.INT8
    largest = apply(node, Add(), *reaches)
    whole = largest if outcome is None else magnitude(node, *outcome)
    step = step_of(node, whole, WIDEST if outcome is None else SPANS[dtype])
    parts = [real(node, node.input(slot), dtypes[slot], steps[slot], suffix=f"part{slot}") for slot in (0, 1)]
    if not alike:
        slot = dtypes.index(DType.UINT8)
        parts[slot] = real(node, quantized(node, parts[slot], dtype, step, "as_int8"), dtype, step, suffix="rounded")
    total = node.step(Add(), *parts, suffix="sum")
    if outcome is not None:
        return [quantized(node, total, dtype, step), as_end(node, outcome[0]), as_end(node, outcome[1])]
    counts = node.step(Div(), total, held(node, step), suffix="counts")
    limited = node.step(Clip(), counts, node.constant(-(2.0**31), DType.FLOAT32), node.constant(MOST, DType.FLOAT32))
    result = cut(node, limited, rounded=True)
    assert isinstance(result, Value)
    node.importer.reals[result] = total
    return [result, *symmetric_ends(node, largest)]


def import_quantized_mul(node: ImportNode) -> Sequence[Value]:
    """Return the product: int32, float32 if wanted, or with a calibrated range int8, cut and not limited."""
    node.same_shapes(node.input(0), node.input(1))
    for slot in (0, 1):
        byte_dtype(node, slot, DType.INT8)
    sides = [node.cast(node.input(slot), DType.INT32, suffix=f"side{slot}") for slot in (0, 1)]
    integers, result = node.step(Mul(), *sides, suffix="integers"), calibrated(node)
    reaches = [magnitude(node, end(node, node.input(slot)), end(node, node.input(slot + 1))) for slot in (2, 4)]
    if result is None and not node.attrs["enable_float_output"]:
        steps = [step_of(node, reach, LARGEST[DType.INT8]) for reach in reaches]
        step = apply(node, Mul(), *steps)
        return [integers, *product_ends(node, step)]
    numbers = node.cast(integers, DType.FLOAT32, suffix="counts")
    whole = single(SPANS[DType.INT8])
    # Divided one after the other, as MXNet does: a product that is cut shows the last digit.
    is_real = bool(node.attrs["enable_float_output"])
    scale: Known = ONE if is_real or result is None else apply(node, Div(), whole, magnitude(node, *result))
    for reach in reaches:
        scale = apply(node, Div(), scale, apply(node, Div(), whole, reach))
    if is_real:
        return [node.emit(Mul(), numbers, held(node, scale))]
    assert result is not None
    outcome = cut(node, node.step(Mul(), numbers, held(node, scale), suffix="scaled"), rounded=False)
    node.decide(DecisionKind.QUANTIZATION, "MXNet cuts the product and lets it wrap around beyond int8; so it is here")
    return [node.emit(Cast(DType.INT8), held(node, outcome)), as_end(node, result[0]), as_end(node, result[1])]


def import_quantized_embedding(node: ImportNode) -> Sequence[Value]:
    """Rows of an int8 table."""
    byte_dtype(node, 1, DType.INT8)
    return [import_embedding(node), *node.inputs[2:]]


IMPORTS: dict[str, ImportFunction] = {
    "_contrib_dequantize": import_dequantize,
    "_contrib_quantize": import_quantize,
    "_contrib_quantize_v2": import_quantize_v2,
    "_contrib_quantized_act": import_quantized_activation,
    "_contrib_quantized_batch_norm": import_quantized_batch_norm,
    "_contrib_quantized_concat": import_quantized_concat,
    "_contrib_quantized_elemwise_add": import_quantized_add,
    "_contrib_quantized_elemwise_mul": import_quantized_mul,
    "_contrib_quantized_embedding": import_quantized_embedding,
    "_contrib_quantized_flatten": lambda node: [node.emit(Flatten(), node.input(0)), *node.inputs[1:]],
    "_contrib_quantized_pooling": import_quantized_pooling,
    "_contrib_requantize": import_requantize,
}
