"""Numbers stored in few bits, in torch."""

from __future__ import annotations

from typing import Any

import ml_dtypes  # gives numpy the narrow floats
import numpy as np
import pytest

from graphir.errors import UnsupportedOpError
from graphir.ops import quantization as ir
from graphir.padding import Explicit, Same
from graphir.types import DType
from tests.converters.pytorch.cases import Case, Check, Constant, uniform
from tests.converters.pytorch.running import run_module

Q, D = ir.QuantizeLinear, ir.DequantizeLinear
TIES = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 3.5, 1e9, -1e9, np.inf, -np.inf, 126.5, 0.0], np.float32)


def f32(*numbers: float) -> Any:
    return np.array(numbers if len(numbers) > 1 else numbers[0], np.float32)


def whole(dtype: str, *shape: int, seed: int = 0) -> Any:
    """Integers of the whole range of a type."""
    info = np.iinfo(dtype)
    generator: Any = np.random.default_rng(seed)
    return generator.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


def i8(*numbers: int) -> Any:
    return np.array(numbers if len(numbers) > 1 else numbers[0], np.int8)


def u8(*numbers: int) -> Any:
    return np.array(numbers if len(numbers) > 1 else numbers[0], np.uint8)


def narrowed(quotient: Any, dtype: Any, saturate: bool) -> Any:
    """What ml_dtypes makes of quotients."""
    largest = NARROW[dtype]
    return (np.clip(quotient, -largest, largest) if saturate else quotient).astype(dtype)


WIDE = np.append(uniform(50, low=-900, high=900), [1e9, -1e9, np.inf, np.nan]).astype(np.float32)
WHOLE = np.arange(-90, 900, 37, dtype=np.int32)
X = uniform(3, 5, 7, low=-40, high=40)
SCALES, ZEROS = f32(0.1, 0.25, 0.5, 1, 2), i8(0, 3, -7, 100, -128)
BLOCKS, BLOCK_ZEROS = uniform(3, 3, 7, low=0.1, high=2), whole("uint8", 3, 3, 7)
NARROW: dict[Any, float] = {ml_dtypes.float8_e4m3fn: 448, ml_dtypes.float8_e5m2: 57344, ml_dtypes.float8_e4m3fnuz: 240,
                            ml_dtypes.float8_e5m2fnuz: 57344}  # fmt: skip
IMAGE, FILTERS = whole("uint8", 2, 4, 9, 7), whole("int8", 6, 4, 3, 2, seed=1)
FILTER_SCALES = f32(0.01, 0.02, 0.005, 0.001, 0.03, 0.007)
BIAS = np.array([1000, -20000, 3, 0, 123456, -7], np.int32)
NO_ZEROS = np.zeros(6, np.int8)
TO_UINT8 = (Constant(f32(0.75)), Constant(u8(117)))


def qlinear_conv(op: ir.QLinearConv, *, w_scale: Any = FILTER_SCALES, bias: Any = None, batch: bool = False,
                 text: str | None = None, x: Any = IMAGE, w: Any = FILTERS) -> Case:  # fmt: skip
    w_zero = NO_ZEROS if np.shape(w_scale) else np.int8(0)
    return Case(op, x, Constant(f32(0.02)), Constant(u8(120)), Constant(w), Constant(w_scale), Constant(w_zero),
                *TO_UINT8, *([] if bias is None else [Constant(bias)]), batch=batch, text=text)  # fmt: skip


CASES = [
    Case(Q(), TIES, Constant(f32(1)), Constant(u8(10)), text="(x.round() + 10).clamp(0, 255).to(torch.uint8)"),
    Case(Q(), TIES, f32(0.5), i8(-3)),
    Case(Q(), TIES, Constant(f32(0.1)), text="(x / 0.1).round().clamp(0, 255).to(torch.uint8)"),
    Case(Q(), TIES, f32(1), np.uint16(30000)),
    Case(Q(output_dtype=DType.INT16), TIES, f32(0.001)),
    Case(Q(axis=-1), uniform(4, 5, low=-200, high=200), Constant(SCALES), Constant(ZEROS), batch=True),
    Case(Q(axis=1), X, SCALES, ZEROS, batch=True, text=".reshape(-1, 1)"),
    Case(Q(axis=0), X, SCALES[:3], Constant(ZEROS[:3])),
    Case(Q(axis=1, block_size=2), X, BLOCKS, BLOCK_ZEROS, text=".repeat_interleave(2, 1).narrow(1, 0, 5)"),
    Case(Q(axis=0, block_size=2), uniform(4, 3), f32(0.1, 0.2, 0.3, 0.4, 0.5, 0.6).reshape(2, 3), batch=False),
    Case(Q(), uniform(9, dtype="float16"), np.float16(0.01), i8(5)),
    Case(Q(), WHOLE, f32(3), u8(20), expected=[np.clip(np.rint(WHOLE / 3) + 20, 0, 255).astype(np.uint8)]),
    *(Case(Q(saturate=saturate), WIDE, f32(0.7), np.zeros((), dtype),
           expected=[narrowed(WIDE / f32(0.7), dtype, saturate)])
      for dtype in NARROW for saturate in (True, False)),
    Case(Q(), uniform(3, 5, 2), Constant(SCALES), Constant(np.zeros(5, ml_dtypes.float8_e4m3fn))),
    *(Case(D(), whole(dtype, 3, 5), f32(0.3), whole(dtype, 1).reshape(())) for dtype in ("int8", "uint8", "int16",
         "uint16")),
    Case(D(), whole("int32", 3, 5), f32(0.3), np.int32(0)),
    Case(D(), whole("uint8", 3, 5), Constant(f32(0.5)), Constant(u8(128)), text="(x.float() - 128) * 0.5", batch=True),
    Case(D(), whole("int8", 3, 5), Constant(f32(0.5)), text="x.float() * 0.5"),
    Case(D(), whole("int8", 4), Constant(f32(0.5)), Constant(i8(-7)), text="(x.float() + 7) * 0.5"),
    Case(D(), whole("int8", 3, 5, 2), Constant(SCALES), Constant(ZEROS), batch=True),
    Case(D(axis=0), whole("int8", 5, 3), SCALES, ZEROS),
    Case(D(axis=1, block_size=2), whole("uint8", 3, 5, 7), BLOCKS, BLOCK_ZEROS),
    Case(D(axis=1, block_size=2), whole("uint8", 3, 6, 7), Constant(BLOCKS), batch=True),
    Case(D(), whole("int8", 3, 5), np.float16(0.3), i8(100)),
    Case(D(), whole("int8", 7), Constant(np.float16(0.3)), text=".to(torch.float16)"),
    *(Case(D(), X.astype(dtype), f32(0.3), expected=[X.astype(dtype).astype(np.float32) * f32(0.3)])
      for dtype in NARROW),
    Case(ir.DynamicQuantizeLinear(), uniform(3, 5), text="dynamic_quantize(x)"),
    Case(ir.DynamicQuantizeLinear(), uniform(7, low=1, high=2)),
    Case(ir.DynamicQuantizeLinear(), uniform(2, 3, 2, low=-9, high=-2), batch=True),
    Case(ir.DynamicQuantizeLinear(), np.zeros((2, 3), np.float32)),
    Case(ir.ConvInteger(), IMAGE, whole("uint8", 6, 4, 3, 2), u8(120), u8(7), batch=True),
    Case(ir.ConvInteger(strides=(2, 1), padding=Explicit(((1, 2), (0, 1)))), IMAGE,
         Constant(whole("uint8", 6, 4, 3, 2)), Constant(u8(120)), text="x.double() - 120"),
    Case(ir.ConvInteger(group=2, dilations=(1, 2), padding=Explicit(((1, 1), (1, 1)))), IMAGE,
         whole("uint8", 6, 2, 3, 2)),
    Case(ir.ConvInteger(), whole("uint8", 2, 3, 8), whole("uint8", 5, 3, 3)),
    qlinear_conv(ir.QLinearConv(), batch=True, text="F.conv2d(x.double() - 120, "),
    qlinear_conv(ir.QLinearConv(strides=(2, 3), padding=Explicit(((1, 1), (2, 2)))), bias=BIAS),
    qlinear_conv(ir.QLinearConv(padding=Explicit(((0, 2), (1, 0))), dilations=(2, 1)), w_scale=f32(0.01), bias=BIAS),
    qlinear_conv(ir.QLinearConv(strides=(2, 2), padding=Same()), w_scale=f32(0.01)),
    qlinear_conv(ir.QLinearConv(group=2), w=FILTERS[:, :2]),
    Case(ir.QLinearMatMul(), whole("uint8", 3, 5), f32(0.02), u8(113), whole("uint8", 5, 4), f32(0.05), u8(114),
         f32(0.9), u8(118)),
    Case(ir.QLinearMatMul(), whole("uint8", 2, 3, 5), Constant(f32(0.02)), Constant(u8(113)),
         Constant(whole("int8", 5, 4)), Constant(f32(0.05)), Constant(i8(-3)), *TO_UINT8, batch=True,
         text="sums * 0.0013333334"),
    Case(ir.QLinearMatMul(), whole("int8", 3, 5), f32(0.02), i8(13), whole("int8", 5, 4), f32(0.05, 0.01, 0.2, 0.03),
         i8(0, 0, 0, 0), f32(0.9), i8(-18)),
    Case(ir.QLinearMatMul(), whole("uint8", 3, 700), f32(0.01), u8(0), whole("uint8", 700, 4), f32(0.01), u8(9),
         f32(17.5), u8(0)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_numbers_and_text(case: Case, check: Check) -> None:
    check(case)


def test_types_that_torch_has_no_tensors_of_are_refused() -> None:
    case = Case(Q(output_dtype=DType.INT4), TIES, f32(1))
    with pytest.raises(UnsupportedOpError, match="it is int4"):
        run_module(case.graph(), [TIES, f32(1)])
