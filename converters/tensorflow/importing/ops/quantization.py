"""Quantized and fake-quantized values: floats brought to a few steps of a range.

A fake quantization moves its range (min, max) so that zero is one of its steps: with `steps` = 2^bits - 1 (one less in
a narrow range), scale = (max - min) / steps, and the step of zero is lowest - min / scale, rounded and kept in range.
Source: `tf.quantization.fake_quant_with_min_max_args`, `tf.quantization.quantize_and_dequantize_v2`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from graphir.converters.tensorflow.importing.context import ImportFunction, ImportNode
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops.quantization import DequantizeLinear, QuantizeLinear
from graphir.ops.reduction import ReduceMax, ReduceMin
from graphir.ops.shape import Unsqueeze
from graphir.types import DType

if TYPE_CHECKING:
    from numpy import ndarray

BYTE = 8


class Steps(NamedTuple):
    """A range of steps: scalars, or vectors with an entry for each channel. All are float32 but the zero points."""

    scale: ndarray[Any, Any]
    zero: ndarray[Any, Any]
    lowest: ndarray[Any, Any]
    highest: ndarray[Any, Any]


def steps_of(low: ndarray[Any, Any], high: ndarray[Any, Any], bits: int, narrow: bool) -> Steps:
    """Return the range (low, high) moved so that zero is a step, in float32 as TensorFlow computes it. (0, 0) stays
    empty.

    >>> import numpy as np
    >>> found = steps_of(np.float32(-6.0), np.float32(6.0), 8, False)
    >>> round(float(found.scale), 6), int(found.zero), round(float(found.lowest), 4)
    (0.047059, 128, -6.0235)
    """
    import numpy as np

    single = np.float32
    least, most = single(1 if narrow else 0), single(2**bits - 1)
    empty = (low == 0) & (high == 0)
    scale = np.where(empty, single(1), (high - low) / (most - least)).astype(single)
    zero = least - low / scale
    zero = np.clip(np.floor(zero + single(0.5)), least, most).astype(single)
    lowest = np.where(empty, single(0), (least - zero) * scale).astype(single)
    highest = np.where(empty, single(0), (most - zero) * scale).astype(single)
    return Steps(scale, zero, lowest, highest)


def _fake_bits(node: ImportNode) -> int:
    """Return the bits of a fake quantization, within what TensorFlow's kernels take."""
    bits = int(node.attrs["num_bits"])
    if not 2 <= bits <= 16:
        node.refuse(f"num_bits {bits}; TensorFlow takes 2 to 16")
    return bits


def _fake_quantize(node: ImportNode, low: ndarray[Any, Any], high: ndarray[Any, Any]) -> Value:
    """Return the data as fake quantization over a constant range gives them."""
    import numpy as np

    bits, narrow = _fake_bits(node), bool(node.attrs["narrow_range"])
    if not np.all(np.isfinite(low) & np.isfinite(high)):
        node.refuse(f"the range {low.tolist()} to {high.tolist()} is not finite")
    if not np.all((low < high) | ((low == 0) & (high == 0))) or np.any(low > 0) or np.any(high < 0):
        node.refuse(f"the range {low.tolist()} to {high.tolist()} does not hold zero")
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # what is not finite is refused below
        steps = steps_of(low, high, bits, narrow)
    numbers = (steps.scale, steps.zero, steps.lowest, steps.highest)
    if not all(np.all(np.isfinite(array)) for array in numbers) or np.any(steps.scale == 0):
        node.refuse(f"float32 holds no steps of the range {low.tolist()} to {high.tolist()}")
    data = node.input(0)
    empty = bool(np.any(steps.lowest == steps.highest))
    if bits != BYTE:
        return _quantize_by_arithmetic(node, data, steps)
    if narrow or empty:
        limits = node.constant(steps.lowest, DType.FLOAT32), node.constant(steps.highest, DType.FLOAT32)
        data = node.step(ew.Min(), node.step(ew.Max(), data, limits[0], suffix="above"), limits[1], suffix="below")
    node.decide(
        DecisionKind.ROUNDING,
        "QuantizeLinear rounds halves to the nearest even step, TensorFlow rounds them up: what is within float32's "
        "precision of the middle between two steps may become the other one",
    )
    scale = node.constant(steps.scale, DType.FLOAT32)
    zero = node.constant(steps.zero.astype(np.uint8), DType.UINT8)
    axis = node.rank(data) - 1 if steps.scale.ndim else 1
    quantized = node.step(QuantizeLinear(axis=axis), data, scale, zero)
    return node.emit(DequantizeLinear(axis=axis), quantized, scale, zero)


def _quantize_by_arithmetic(node: ImportNode, data: Value, steps: Steps) -> Value:
    """Return floor((x - lowest) / scale + 0.5) * scale + lowest, for numbers of bits that no quantized dtype has."""
    scale, lowest, highest = (
        node.constant(numbers, DType.FLOAT32) for numbers in (steps.scale, steps.lowest, steps.highest)
    )
    return _round_to_steps(node, data, scale, lowest, highest)


def _round_to_steps(node: ImportNode, data: Value, scale: Value, lowest: Value, highest: Value) -> Value:
    data = node.step(ew.Min(), node.step(ew.Max(), data, lowest, suffix="above"), highest, suffix="below")
    steps = node.step(ew.Div(), node.step(ew.Sub(), data, lowest, suffix="shifted"), scale, suffix="place")
    steps = node.step(ew.Floor(), node.step(ew.Add(), steps, node.scalar_like(data, 0.5), suffix="up"))
    return node.emit(ew.Add(), node.step(ew.Mul(), steps, scale, suffix="scaled"), lowest)


def import_fake_quant_args(node: ImportNode) -> Value:
    """FakeQuantWithMinMaxArgs, whose range is two attributes."""
    import numpy as np

    return _fake_quantize(node, np.float32(node.attrs["min"]), np.float32(node.attrs["max"]))  # type: ignore[arg-type]


def import_fake_quant_vars(node: ImportNode) -> Value:
    """FakeQuantWithMinMaxVars and ...PerChannel, whose range is two inputs: scalars, or vectors for the last axis."""
    if any(node.input(slot).tensor is None for slot in (1, 2)):
        return _quantize_over_computed_range(node)
    return _fake_quantize(node, node.elements(1, "min"), node.elements(2, "max"))


def _quantize_over_computed_range(node: ImportNode) -> Value:
    """Return the fake-quantized data by arithmetic alone, for a range that is computed. An empty range gives 0."""
    data, low, high = node.inputs
    least = 1 if node.attrs["narrow_range"] else 0
    most = 2 ** _fake_bits(node) - 1
    width = node.step(ew.Sub(), high, low, suffix="width")
    nothing, unit = node.scalar_like(low, 0), node.scalar_like(low, 1)
    empty = node.step(ew.Equal(), width, nothing, suffix="empty")
    scale = node.step(ew.Div(), width, node.scalar_like(low, most - least), suffix="scale")
    scale = node.step(ew.Where(), empty, unit, scale, suffix="scale")
    first = node.scalar_like(low, least)
    zero = node.step(ew.Sub(), first, node.step(ew.Div(), low, scale), suffix="zero")
    zero = node.step(ew.Floor(), node.step(ew.Add(), zero, node.scalar_like(low, 0.5)))
    last = node.scalar_like(low, most)
    zero = node.step(ew.Clip(), zero, first, last, suffix="zero")
    lowest = node.step(ew.Mul(), node.step(ew.Sub(), first, zero), scale, suffix="lowest")
    highest = node.step(ew.Mul(), node.step(ew.Sub(), last, zero), scale, suffix="highest")
    lowest, highest = (node.step(ew.Where(), empty, nothing, limit) for limit in (lowest, highest))
    return _round_to_steps(node, data, scale, lowest, highest)


def import_quantize_and_dequantize(node: ImportNode) -> Value:
    """QuantizeAndDequantizeV2 to V4: round(x / step) * step, where zero is a step and both ends are at most the range.

    The range is two inputs, scalars or vectors for `axis`, or that of the data. V3 has its bits as an input.
    """
    bits = node.integer(3, "num_bits") if len(node) > 3 else int(node.attrs["num_bits"])
    signed, given = bool(node.attrs["signed_input"]), bool(node.attrs["range_given"])
    largest = 61 if signed else 62
    if not 1 <= bits <= largest:
        node.refuse(f"num_bits {bits}; TensorFlow takes 1 to {largest} here")
    least = -(2 ** (bits - 1)) + bool(node.attrs["narrow_range"]) if signed else 0
    most = 2 ** (bits - 1) - 1 if signed else 2**bits - 1
    data, axis = node.input(0), int(node.attrs["axis"])
    if given:
        ends = tuple(_align_to_axis(node, node.input(slot), axis) for slot in (1, 2))
    else:
        others = [] if axis == -1 else [node.vector([other for other in range(node.rank(data)) if other != axis])]
        ends = node.step(ReduceMin(), data, *others, suffix="low"), node.step(ReduceMax(), data, *others, suffix="high")
    step = _compute_step(node, ends, least, most)
    node.decide(
        DecisionKind.ROUNDING,
        "x is divided by the size of a step, TensorFlow multiplies by its inverse: what is within float32's precision "
        "of the middle between two steps may become the other one",
    )
    steps = node.step(ew.Div(), data, step, suffix="place")
    if node.attrs.get("round_mode", "HALF_TO_EVEN") == "HALF_TO_EVEN":
        steps = node.step(ew.Round(), steps)
    else:
        steps = node.step(ew.Floor(), node.step(ew.Add(), steps, node.scalar_like(data, 0.5), suffix="up"))
    if given:
        steps = node.step(ew.Clip(), steps, node.scalar_like(data, least), node.scalar_like(data, most), suffix="kept")
    return node.emit(ew.Mul(), steps, step)


def _align_to_axis(node: ImportNode, end: Value, axis: int) -> Value:
    """Return an end of the range, a scalar or a vector, so that it broadcasts along an axis of the data."""
    behind = 0 if axis == -1 else node.rank(node.input(0)) - 1 - axis
    return node.step(Unsqueeze(), end, node.vector(range(1, behind + 1)), suffix="end") if behind else end


def _compute_step(node: ImportNode, ends: tuple[Value, ...], least: int, most: int) -> Value:
    """Return the smallest step that lets `least` to `most` steps reach both ends; 1 for a range of nothing."""
    low, high = ends
    nothing = node.scalar_like(high, 0)
    sides = [
        node.step(ew.Div(), end, node.scalar_like(end, steps), suffix=suffix)
        for end, steps, suffix in ((high, most, "step"), (low, least, "step_below")) if steps
    ]  # fmt: skip
    if not sides:
        node.refuse("one bit with a sign and narrow_range leaves zero as the only step")
    step = sides[0] if len(sides) == 1 else node.step(ew.Max(), *sides, suffix="step")
    empty = node.step(ew.LessOrEqual(), step, nothing, suffix="empty")
    return node.step(ew.Where(), empty, node.scalar_like(high, 1), step, suffix="step")


def import_dequantize(node: ImportNode) -> Value:
    """Dequantize: integers of a range (min, max) as floats, in three ways. Source: TensorFlow's kernel."""
    dtype, wanted, mode = node.dtype(), node.attrs["dtype"], node.attrs["mode"]
    axis = int(node.attrs["axis"])
    if axis != -1 and mode == "MIN_FIRST":
        node.refuse("mode MIN_FIRST along an axis, which TensorFlow does not compute either")
    low, high = (_align_to_axis(node, node.input(slot), axis) for slot in (1, 2))
    real = node.cast(node.input(0), DType.FLOAT32, suffix="float")
    count = 2**dtype.bits
    signed = dtype in (DType.INT8, DType.INT16, DType.INT32)
    least = -(count // 2) if signed else 0
    if mode == "MIN_COMBINED":
        step = node.step(ew.Div(), node.step(ew.Sub(), high, low), node.scalar_like(low, count - 1), suffix="step")
        if least:
            real = node.step(ew.Add(), real, node.scalar_like(real, -least), suffix="from_zero")
        real = node.step(ew.Add(), node.step(ew.Mul(), real, step), low, suffix="found")
    elif mode == "MIN_FIRST":
        real = _dequantize_min_first(node, real, count, least)
    elif mode == "SCALED":
        least += bool(node.attrs["narrow_range"]) and signed
        step = node.step(ew.Div(), high, node.scalar_like(high, count - 1 - (count // 2 if least else 0)))
        if least:
            below = node.step(ew.Div(), low, node.scalar_like(low, least), suffix="step_below")
            step = node.step(ew.Max(), step, below, suffix="step")
        real = node.step(ew.Mul(), real, step, suffix="found")
    else:
        node.refuse(f"mode {mode!r}; TensorFlow has MIN_COMBINED, MIN_FIRST and SCALED")
    return node.emit(ew.Cast(wanted), real)


def _dequantize_min_first(node: ImportNode, data: Value, count: int, least: int) -> Value:
    """Return the real numbers of mode MIN_FIRST: steps from the range's lower end, moved to the nearest step."""
    low, high = node.input(1), node.input(2)
    width = node.cast(node.step(ew.Sub(), high, low, suffix="width"), DType.FLOAT64, suffix="wide")
    step = node.step(ew.Div(), width, node.constant(float(count - 1), DType.FLOAT64), suffix="wide_step")
    step = node.cast(step, DType.FLOAT32, suffix="step")
    steps = node.step(ew.Div(), low, step, suffix="place")
    size = node.step(ew.Add(), node.step(ew.Abs(), steps), node.scalar_like(steps, 0.5), suffix="size")
    rounded = node.step(ew.Mul(), node.step(ew.Sign(), steps), node.step(ew.Floor(), size), suffix="rounded")
    first = node.step(ew.Mul(), rounded, step, suffix="first")
    if least:
        start = node.step(ew.Mul(), step, node.scalar_like(step, least), suffix="start")
        first = node.step(ew.Sub(), first, start, suffix="first")
    real = node.step(ew.Add(), node.step(ew.Mul(), data, step), first, suffix="found")
    empty = node.step(ew.Equal(), low, high, suffix="empty")
    return node.step(ew.Where(), empty, low, real, suffix="chosen")


IMPORTS: dict[str, ImportFunction] = {
    "Dequantize": import_dequantize,
    "FakeQuantWithMinMaxArgs": import_fake_quant_args,
    "FakeQuantWithMinMaxVars": import_fake_quant_vars,
    "FakeQuantWithMinMaxVarsPerChannel": import_fake_quant_vars,
    "QuantizeAndDequantizeV2": import_quantize_and_dequantize,
    "QuantizeAndDequantizeV3": import_quantize_and_dequantize,
    "QuantizeAndDequantizeV4": import_quantize_and_dequantize,
}
