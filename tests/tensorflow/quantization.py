"""Fake quantization: bits, narrow ranges, ranges that are moved, constant and computed, for each channel."""

from __future__ import annotations

from typing import Any

from tests.tensorflow.case import Case, Input, case, data, ints

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


GIVEN = {"range_given": True}
BOTH_WAYS: tuple[tuple[str, tuple[Input, Input], dict[str, Any]], ...] = (
    ("default", (limit(0.0), limit(0.0)), {}),
    ("given", (limit(-2.0), limit(3.0)), GIVEN),
    ("low_side", (limit(-5.0), limit(1.0)), GIVEN),
    ("computed", (limit(-2.0, computed=True), limit(3.0, computed=True)), GIVEN),
    ("unsigned", (limit(0.0), limit(6.0)), {**GIVEN, "signed_input": False}),
    ("narrow", (limit(-3.0), limit(3.0)), {**GIVEN, "narrow_range": True}),
    ("bits_4", (limit(-2.0), limit(3.0)), {**GIVEN, "num_bits": 4}),
    ("half_up", (limit(-2.0), limit(3.0)), {**GIVEN, "round_mode": "HALF_UP"}),
    ("own_channels", (limit(0.0, 0.0, 0.0), limit(0.0, 0.0, 0.0)), {"axis": 1}),
)

# The drawn numbers are not within float32's precision of the middle between two steps, where either is right.
CASES: tuple[Case, ...] = (
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
    case(VARS, "without_zero", data(3), limit(1.0), limit(2.0), reason="does not hold zero"),
)
