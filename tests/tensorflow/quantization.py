"""Fake quantization: bits, narrow ranges, ranges that are moved, constant and computed, for each channel."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.tensorflow.case import Case, Input, Network, case, data, ints
from tests.tensorflow.graphdef import node, quantized

ARGS, VARS, CHANNELS = "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel"
WIDE = data(3, 4, 5, kind="scale:4")


def limit(*numbers: float, computed: bool = False) -> Input:
    """An end of a range: one number, or one for each channel."""
    shape = () if len(numbers) == 1 else (len(numbers),)
    return Input("limit", shape, role="data" if computed else "param", values=numbers)


def over(op: str, variant: str, low: tuple[float, ...], high: tuple[float, ...], **more: Any) -> tuple[Case, ...]:
    """A range that is constant, and the same computed."""
    shape = (4, 3, len(low)) if op == CHANNELS else (4, 5)
    return tuple(
        case(op, f"{variant}{'_computed' * computed}", data(*shape, kind="scale:4"),
             limit(*low, computed=computed), limit(*high, computed=computed), **more)
        for computed in (False, True)
    )  # fmt: skip


def number(value: float, dtype: str) -> Input:
    """An end of a range of another dtype."""
    return Input("limit", (), dtype, role="param", values=(value,))


def dequantized(dtype: str, mode: str, low: float, high: float, variant: str = "", **attrs: Any) -> Network:
    """Weights of a quantized type, as tools that make graphs smaller store them, over a range that is fed."""
    elements = np.random.Generator(np.random.PCG64(3)).integers(-300, 300, (3, 5)).astype(dtype.removeprefix("q"))
    ends = [Input(name, (), role="data", values=(value,)) for name, value in (("low", low), ("high", high))]
    return Network(
        f"Dequantize-{dtype}-{mode}{variant}", tuple(ends), {},
        nodes=(quantized("q", elements, dtype), node("Dequantize", "y", ["q", "low", "high"], T=dtype, mode=mode,
                                                     **attrs)),
    )  # fmt: skip


GIVEN = {"range_given": True}
BOTH_WAYS: tuple[tuple[str, tuple[Input, Input], dict[str, Any]], ...] = (
    ("default", (limit(0.0), limit(0.0)), {}),
    ("given", (limit(-2.0), limit(3.0)), GIVEN),
    ("low_side", (limit(-5.0), limit(1.0)), GIVEN),
    ("computed", (limit(-2.0, computed=True), limit(3.0, computed=True)), GIVEN),
    ("unsigned", (limit(0.0), limit(6.0)), {**GIVEN, "signed_input": False}),
    ("narrow", (limit(-3.0), limit(3.0)), {**GIVEN, "narrow_range": True}),
    ("bits_4", (limit(-2.0), limit(3.0)), {**GIVEN, "num_bits": 4}),
    ("bits_1", (limit(-2.0), limit(3.0)), {**GIVEN, "num_bits": 1}),
    ("bits_1_unsigned", (limit(0.0), limit(3.0)), {**GIVEN, "num_bits": 1, "signed_input": False}),
    ("bits_2", (limit(-2.0), limit(3.0)), {**GIVEN, "num_bits": 2}),
    ("half_up", (limit(-2.0), limit(3.0)), {**GIVEN, "round_mode": "HALF_UP"}),
    ("own_channels", (limit(0.0, 0.0, 0.0), limit(0.0, 0.0, 0.0)), {"axis": 1}),
)

# The drawn numbers are not within float32's precision of the middle between two steps, where either is right.
CASES: tuple[Case, ...] = (
    *(dequantized("quint8", mode, -1.3, 2.6) for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED")),
    dequantized("qint8", "MIN_COMBINED", -1.3, 2.6),
    dequantized("qint16", "SCALED", -1.3, 2.6),
    dequantized("quint16", "MIN_COMBINED", -1.3, 2.6),
    dequantized("qint32", "MIN_FIRST", -1.3, 2.6),
    dequantized("quint8", "MIN_FIRST", -3.0, -1.0, "-half-a-step"),
    dequantized("qint8", "MIN_FIRST", 2.0, 2.0, "-empty"),
    dequantized("qint8", "SCALED", -5.0, 2.0, "-narrow", narrow_range=True),
    Network(
        "Dequantize-channels", (Input("low", (3,), role="param", values=(-1.0, 0.0, -2.0)),
                                Input("high", (3,), role="param", values=(1.0, 2.0, 3.0))), {},
        nodes=(quantized("q", np.arange(24, dtype=np.int8).reshape(2, 3, 4), "qint8"),
               node("Dequantize", "y", ["q", "low", "high"], T="qint8", mode="SCALED", axis=1)),
    ),
    case(ARGS, "default", WIDE),
    case(ARGS, "range", WIDE, min=-1.0, max=3.0),
    case(ARGS, "narrow", WIDE, min=-2.5, max=2.5, narrow_range=True),
    case(ARGS, "bits_4", WIDE, min=-2.0, max=4.0, num_bits=4),
    case(ARGS, "bits_16", WIDE, min=-3.0, max=5.0, num_bits=16),
    case(ARGS, "from_zero", WIDE, min=0.0, max=6.0),
    case(ARGS, "scalar", data(), min=-1.0, max=1.0),
    *over(VARS, "default", (-1.3,), (2.6,)),
    *over(VARS, "narrow", (-2.0,), (2.0,), narrow_range=True),
    *over(VARS, "bits_5", (-3.0,), (1.0,), num_bits=5),
    *over(VARS, "empty", (0.0,), (0.0,)),
    *over(CHANNELS, "four", (-1.0, -2.0, -0.5, 0.0), (1.0, 3.0, 4.0, 6.0)),
    *over(CHANNELS, "narrow", (-1.0, -2.0, -0.5), (1.0, 2.0, 0.5), narrow_range=True),
    *over(CHANNELS, "one_empty", (-1.0, 0.0, -0.5), (1.0, 0.0, 4.0)),
    *over(CHANNELS, "bits_4", (-1.0, -3.0), (1.0, 2.0), num_bits=4),
    case(CHANNELS, "vector", data(3, kind="scale:2"), limit(-1.0, -2.0, -0.5), limit(1.0, 3.0, 4.0)),
    *(case(f"QuantizeAndDequantizeV{version}", name, data(2, 3, 4, kind="scale:4"), *ends, **attrs)
      for version in (2, 4) for name, ends, attrs in BOTH_WAYS),
    case("QuantizeAndDequantizeV2", "float64", data(3, 4, dtype="float64"), number(-1.0, "float64"),
         number(2.0, "float64"), range_given=True),
    # V2 and V4 have the same, but TensorFlow 2.21 refuses the vectors there.
    case("QuantizeAndDequantizeV3", "channels", data(2, 3, 4, kind="scale:2"), limit(-2.0, -1.0, -3.0),
         limit(3.0, 1.0, 0.5), ints(8, shape=()), axis=1),
    case("QuantizeAndDequantizeV3", "default", WIDE, limit(-2.0), limit(3.0), ints(8, shape=())),
    case("QuantizeAndDequantizeV3", "bits_5", WIDE, limit(-2.0), limit(1.0), ints(5, shape=()), range_given=False),
)
REFUSED: tuple[Case, ...] = (
    case(CHANNELS, "many", data(3), limit(-1.0, -2.0, -1.0), limit(1.0, 1.0), reason="as many elements"),
    case(VARS, "vectors", data(3), limit(-1.0, -1.0), limit(1.0, 1.0), reason="expected a scalar"),
    case(VARS, "without_zero", data(3), limit(1.0), limit(2.0), reason="does not hold zero"),
    case(VARS, "endless", data(3), limit(-1.0), limit(float("inf")), reason="is not finite"),
    case(VARS, "tiny", data(3), limit(-1e-45), limit(1e-45), reason="float32 holds no steps"),
    *(case(operator, f"bits_{bits}", data(3), *ends, num_bits=bits, reason="TensorFlow takes 2 to 16")
      for operator, ends in ((ARGS, ()), (VARS, (limit(-1.0), limit(1.0))),
                             (VARS, (limit(-1.0, computed=True), limit(1.0, computed=True))))
      for bits in (-1, 1, 17, 2**62)),
    *(case("QuantizeAndDequantizeV2", f"bits_{bits}_{signed}", data(3), limit(-1.0), limit(1.0), num_bits=bits,
           signed_input=signed, reason="TensorFlow takes 1 to")
      for bits, signed in ((0, True), (62, True), (63, False), (2**40, False))),
    case("QuantizeAndDequantizeV2", "one_step", data(3), limit(-1.0), limit(1.0), num_bits=1, narrow_range=True,
         range_given=True, reason="leaves zero as the only step"),
)
