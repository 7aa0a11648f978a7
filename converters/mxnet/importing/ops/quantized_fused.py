"""oneDNN's fused operators: a layer with a batch normalization, activations and a sum, in float32 or quantized.

What is fused stands as a symbol inside the node. MXNet takes its nodes by kind, and the operands by place: data,
weight, bias, the normalization's states, the addend, and the ends of the ranges of data and addend.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.fused import HALF_OF_INT32, FusedRecords, QuantizedWeights, inner, layer_weights
from graphir.converters.mxnet.importing.ops.quantized_products import (
    as_int32,
    fully_connected,
    integer_convolution,
    product_ends,
    real_bias,
    real_product,
    stated_weight,
)
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
    quantized,
    real,
    single,
    some_magnitude,
    step_of,
    stored,
)
from graphir.converters.mxnet.schema.operators import typed_attributes
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.elementwise import Add, Cast, Div, Max, Mul
from graphir.ops.shape import Reshape
from graphir.types import DType


def import_fused_convolution(node: ImportNode) -> Sequence[Value] | Value:
    """Convolution with a batch normalization, an activation, a sum and an activation behind it."""
    fused = FusedRecords(node, "Convolution")
    if not node.attrs["quantized"]:
        _check_clip(node, fused)
        result = inner(node, fused.layer, *node.inputs[: fused.operands])
        if fused.normalization is not None:
            result = inner(node, fused.normalization, result, *node.inputs[fused.operands : fused.operands + 4])
        return _finished(node, fused, result, node.input(fused.addend) if fused.addend else None)
    return _quantized_convolution(node, fused)


def _finished(node: ImportNode, fused: FusedRecords, found: Value, addend: Value | None) -> Value:
    """Return the activation, the sum and the activation behind it, as far as they are there, on real numbers."""
    if fused.before is not None and not (node.attrs["quantized"] and fused.before.op == "clip"):
        found = inner(node, fused.before, found)
    if addend is not None:
        found = node.step(Add(), found, addend, suffix="sum")
    return found if fused.behind is None else inner(node, fused.behind, found)


def _check_activations(node: ImportNode, fused: FusedRecords) -> None:
    """Refuse what MXNet would compute of quantized numbers as if they were real ones."""
    for record in (fused.before, fused.behind):
        if record is None or fused.is_linear(record):
            continue
        if record.op == "clip" and fused.addend is None and calibrated(node) is not None:
            node.decide(DecisionKind.QUANTIZATION, "MXNet limits by the calibrated range alone, not by the clip's ends")
            continue
        node.refuse(f"MXNet computes its {record.op} of quantized numbers as if they were real ones")


def _quantized_convolution(node: ImportNode, fused: FusedRecords) -> Sequence[Value]:
    _check_activations(node, fused)
    _check_clip(node, fused)
    dtype, first = byte_dtype(node), fused.first_range
    low, high = end(node, node.input(first)), end(node, node.input(first + 1))
    reach = some_magnitude(node, low, high)
    factor = apply(node, Div(), single(SPANS[dtype]), reach)
    weights = layer_weights(node, fused, factor, whole=calibrated(node) is None)
    if calibrated(node) is None:
        return _as_integers(node, fused, weights, reach)
    data_step = step_of(node, reach, SPANS[dtype])
    result = calibrated(node)
    assert result is not None
    made = DType.UINT8 if fused.is_positive(fused.last) else DType.INT8
    step = step_of(node, magnitude(node, *result), SPANS[made])
    sides = [as_end(node, result[0]), as_end(node, result[1])]
    # onnxruntime makes no integer kernel of a real convolution of data whose step is found at run time, nor of one that
    # a leaky ReLU follows.
    plain = fused.addend is None and (fused.before is None or fused.is_positive(fused.before))
    if plain and not isinstance(data_step, Value):
        stands = _real_convolution(node, fused, weights, (dtype, data_step, weights.step))
        return [quantized(node, _finished(node, fused, stands, None), made, step), *sides]
    product = apply(node, Mul(), data_step, weights.step)
    counts = node.cast(_integers(node, fused, weights), DType.FLOAT32, suffix="counts")
    stands = node.step(Mul(), counts, _along_channels(node, product), suffix="real")
    kept = made if fused.addend is None else byte_dtype(node, fused.addend)
    addend = None if fused.addend is None else _real_addend(node, fused, kept)
    total = _finished(node, fused, stands, addend)
    if kept is made:
        return [quantized(node, total, made, step), *sides]
    node.decide(DecisionKind.QUANTIZATION, f"MXNet limits the sum to {kept}, as the addend is, and takes it for {made}")
    return [node.emit(Cast(made), quantized(node, total, kept, step, "limited")), *sides]


def _real_addend(node: ImportNode, fused: FusedRecords, dtype: DType) -> Value:
    assert fused.addend is not None
    ends = [end(node, node.input(fused.first_range + slot)) for slot in (2, 3)]
    step = step_of(node, magnitude(node, *ends), SPANS[dtype])
    return real(node, node.input(fused.addend), dtype, step, suffix="addend")


def _real_convolution(
    node: ImportNode, fused: FusedRecords, weights: QuantizedWeights, how: tuple[DType, Known, Known]
) -> Value:
    """Return the convolution of what data and weight stand for, by their dtype and steps."""
    dtype, data_step, weight_step = how
    operands = [
        real(node, node.input(0), dtype, data_step, suffix="data"),
        real(node, weights.integers, DType.INT8, weight_step, 0, "weight"),
    ]
    operands += real_bias(node, weights.bias, apply(node, Mul(), data_step, weight_step))
    return inner(node, fused.with_bias(weights.bias is not None), *operands)


def _integers(node: ImportNode, fused: FusedRecords, weights: QuantizedWeights) -> Value:
    """Return the integers' convolution, with the bias."""
    op = integer_convolution(fused.view(node))
    total = node.step(op, node.input(0), weights.integers, suffix="integers")
    return as_int32(node, total, weights.bias, len(op.kernel_shape))


def _along_channels(node: ImportNode, vector: Known) -> Value:
    axes = node.rank(0) - 2
    if isinstance(vector, Value):
        return node.step(Reshape(), vector, node.vector([-1, *(1,) * axes]), suffix="channels")
    return node.constant(vector.reshape(-1, *(1,) * axes), DType.FLOAT32)


def _as_integers(node: ImportNode, fused: FusedRecords, weights: QuantizedWeights, reach: Known) -> Sequence[Value]:
    """Return the result as int32, and what it stands for by the range that MXNet gives it."""
    dtype = byte_dtype(node)
    steps = step_of(node, reach, LARGEST[dtype]), step_of(node, weights.reach, LARGEST[DType.INT8])
    step = apply(node, Mul(), *steps)
    whole = _integers(node, fused, weights)
    if isinstance(step, Value):
        stands = real(node, whole, DType.INT32, step)
    else:
        stands = _real_convolution(node, fused, weights, (dtype, *steps))
    if fused.addend is None and all(record is None or fused.is_relu(record) for record in (fused.before, fused.behind)):
        if fused.before is not None:
            whole = node.step(Max(), whole, node.constant(0, DType.INT32), suffix="positive")
        node.importer.reals[whole] = _finished(node, fused, stands, None)
        return [whole, *product_ends(node, step)]
    counts: Value = node.cast(whole, DType.FLOAT32, suffix="counts")
    addend = None
    if fused.addend is not None:
        kept = byte_dtype(node, fused.addend)
        addend = node.step(Mul(), _real_addend(node, fused, kept), held(node, weights.factor), suffix="scaled")
    result = cut(node, _finished(node, fused, counts, addend), rounded=True)
    assert isinstance(result, Value)
    return [result, *product_ends(node, step)]


def import_fused_fully_connected(node: ImportNode) -> Sequence[Value] | Value:
    """Dense layer with an activation, which is computed of real numbers."""
    fused = FusedRecords(node, "FullyConnected")
    _check_clip(node, fused)
    if not node.attrs["quantized"]:
        return _activated(node, fused, inner(node, fused.layer, *node.inputs[: fused.operands]))
    dtype, layer = byte_dtype(node), typed_attributes(fused.layer)
    rows = bool(node.attrs["channel_wise_quantize"])
    found, floats = calibrated(node), node.attrs["enable_float_output"]
    if rows and found is None and not floats:
        node.refuse("factors a row need a calibrated range or a float32 result: MXNet refuses it too")
    first = fused.operands
    reach = some_magnitude(node, end(node, node.input(first)), end(node, node.input(first + 1)))
    factor = apply(node, Div(), single(SPANS[dtype]), reach)
    if rows:
        stated_weight(node, layer)
        weights = layer_weights(node, fused, factor, whole=False)
    else:
        weights = _stored_weights(node, fused, layer, factor)
    if found is None and not floats:
        steps = step_of(node, reach, LARGEST[dtype]), step_of(node, weights.reach, LARGEST[DType.INT8])
        step = apply(node, Mul(), *steps)
        whole, stands = fully_connected(node, layer, weights.integers, (dtype, *steps, step), weights.bias)
        if fused.before is not None:
            if not fused.is_relu(fused.before):
                node.refuse(f"MXNet computes its {fused.before.op} of quantized numbers as if they were real ones")
            whole = node.step(Max(), whole, node.constant(0, DType.INT32), suffix="positive")
        node.importer.reals[whole] = _activated(node, fused, stands)
        return [whole, *product_ends(node, step)]
    data_step = step_of(node, reach, SPANS[dtype])
    how = (dtype, data_step, weights.step, apply(node, Mul(), data_step, weights.step))
    made = DType.UINT8 if fused.is_unsigned(fused.before) else DType.INT8
    whole, stands = fully_connected(node, layer, weights.integers, how, weights.bias)
    if dtype is not made and not floats and fused.is_positive(fused.before):
        stands = real_product(node, whole, how[3])  # onnxruntime's integer kernel keeps the dtype
    stands = _activated(node, fused, stands)
    if floats:
        return stands
    assert found is not None
    result = quantized(node, stands, made, step_of(node, magnitude(node, *found), SPANS[made]))
    return [result, as_end(node, found[0]), as_end(node, found[1])]


def _check_clip(node: ImportNode, fused: FusedRecords) -> None:
    """Refuse a clip that does not begin at 0, as all that MXNet fuses do: it would begin there nevertheless."""
    for record in (fused.before, fused.behind):
        if record is not None and record.op == "clip" and typed_attributes(record)["a_min"] != 0:
            node.refuse("MXNet fuses a clip from 0 on only")


def _activated(node: ImportNode, fused: FusedRecords, value: Value) -> Value:
    return value if fused.before is None else inner(node, fused.before, value)


def _stored_weights(node: ImportNode, fused: FusedRecords, layer: object, factor: Known) -> QuantizedWeights:
    """Weight and bias that the file holds as int8. A weight is made smaller where the bias would leave int32."""
    byte_dtype(node, 1, DType.INT8)
    first = fused.operands + 2
    reach = magnitude(node, end(node, node.input(first)), end(node, node.input(first + 1)))
    own = apply(node, Div(), single(SPANS[DType.INT8]), reach)
    weight, bias = stated_weight(node, layer), None
    elements = known(weight)
    if fused.operands == 3:
        byte_dtype(node, 2, DType.INT8)
        smaller, own, bias = _with_bias(node, elements, own, factor)
        weight = weight if smaller is elements else stored(node, smaller, DType.INT8, weight)
    return QuantizedWeights(weight, apply(node, Div(), single(1.0), own), bias, reach, apply(node, Mul(), own, factor))


def _with_bias(node: ImportNode, elements: Known, own: Known, factor: Known) -> tuple[Known, Known, Known]:
    result = known(node.input(2))
    bias = node.cast(result, DType.FLOAT32) if isinstance(result, Value) else result.astype(np.float32)
    reach = magnitude(node, end(node, node.input(7)), end(node, node.input(8)))  # behind those of data and weight
    bias_factor = apply(node, Div(), single(SPANS[DType.INT8]), reach)
    rescale = apply(node, Div(), apply(node, Mul(), factor, own), bias_factor)
    known_ones = [part for part in (elements, own, factor, rescale, reach) if not isinstance(part, Value)]
    if len(known_ones) == 5:
        most = apply(node, Div(), apply(node, Div(), single(HALF_OF_INT32 - 1), reach), bias_factor)
        if known_ones[3] > most:
            rescale = most
            smaller = apply(node, Div(), apply(node, Div(), apply(node, Mul(), most, bias_factor), factor), own)
            elements = halves_away(known_ones[0] * smaller).astype(np.int8)
            own = apply(node, Mul(), own, smaller)
    numbers = apply(node, Mul(), bias, rescale)
    if isinstance(numbers, Value):
        return elements, own, cut(node, numbers, rounded=True)
    return elements, own, cut(node, halves_away(numbers), rounded=False)


def halves_away(numbers: NDArray[Any]) -> NDArray[Any]:
    """C's round()."""
    return np.asarray(np.copysign(np.floor(np.abs(numbers) + 0.5), numbers))


IMPORTS: dict[str, ImportFunction] = {
    "_sg_mkldnn_conv": import_fused_convolution,
    "_sg_mkldnn_fully_connected": import_fused_fully_connected,
}
