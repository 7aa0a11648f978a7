"""Cases of quantized operators, which MXNet computes with oneDNN: some exist only there, others round elsewise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.equivalence.case import Case, Input, case, data, param, values

SPECIAL = (-1.51, -0.49, 0.0, 0.3, 0.51, 1.01, 1.52, 2.0, 2.5, 10.0, -10.0)
# Half way between two quantized numbers a factor and its reciprocal, which differ in the last place, decide.
TIES = (0.0, 1.0, 0.5, -0.5, 1.5, -1.5, 2.5, 3.5, 60.5, -60.5)
ONE_STEP = 1 / 60
# On processors without VNNI, oneDNN and onnxruntime add products of uint8 and int8 in pairs that saturate at int16:
# 2 * 255 * 63 is below 2**15.
WEIGHTS, BYTES = "integers:-63:63", "integers:-128:127"
LARGE = (2**30, 2**29 + 12345, 2**28, -(2**30), 777777777, 0, 100003)
SOME_FILTERS: dict[str, Any] = {"kernel": (3, 3), "num_filter": 8}


def signed(*shape: int, name: str = "data") -> Input:
    """int8 of all sizes."""
    return data(*shape, name=name, dtype="int8", kind=BYTES)


def unsigned(*shape: int, name: str = "data") -> Input:
    """uint8 of all sizes."""
    return data(*shape, name=name, dtype="uint8", kind="integers:0:255")


def stored(name: str, *shape: int, kind: str = WEIGHTS) -> Input:
    """int8 parameters, in the model."""
    return param(name, *shape, dtype="int8", kind=kind)


def fed(name: str, *shape: int) -> Input:
    """int8 weights, as an input."""
    return data(*shape, name=name, dtype="int8", kind=WEIGHTS)


BIAS_OF_7, BIAS_OF_8 = stored("bias", 7, kind=BYTES), stored("bias", 8, kind=BYTES)


def spans(name: str, low: float, high: float, order: str = "min_{} max_{}") -> tuple[Input, Input]:
    """The two ends of a range, in the model."""
    first, second = order.format(name, name).split()
    return (
        Input(first, (1,), "float32", role="param", values=(low,)),
        Input(second, (1,), "float32", role="param", values=(high,)),
    )


def moving(name: str, low: float, high: float, order: str = "min_{} max_{}") -> tuple[Input, Input]:
    """The two ends of a range, fed."""
    first, second = order.format(name, name).split()
    return values(low, name=first), values(high, name=second)


DATA = spans("data", -1.0, 2.0)
WEIGHT = spans("weight", -0.3, 0.2)
BIAS = spans("bias", -0.5, 0.4)
SIDES = "{}_min {}_max"
LEFT, RIGHT = spans("lhs", -1.0, 2.0, SIDES), spans("rhs", -0.3, 0.2, SIDES)
PAIR = (*LEFT, *RIGHT)
CALIBRATED: dict[str, Any] = {"min_calib_range": -1.2, "max_calib_range": 1.25}
POSITIVE: dict[str, Any] = {"min_calib_range": 0.0, "max_calib_range": 1.25}
PARTS = (*spans("arg0", -1.0, 2.0, SIDES), *spans("arg1", -0.3, 0.2, SIDES))
STATES = (
    param("gamma", 3, kind="positive"), param("beta", 3), Input("moving_mean", (3,), role="aux"),
    Input("moving_var", (3,), kind="positive", role="aux"),
)  # fmt: skip

ROWS: tuple[Case, ...] = (
    case("_contrib_quantize", "uint8", values(*SPECIAL), *spans("range", 0.0, 2.0, "min_{} max_{}")),
    case("_contrib_quantize", "uint8_negative_min", values(*SPECIAL), *spans("range", -1.0, 2.0), out_type="uint8"),
    case("_contrib_quantize", "int8", data(2, 3, 4), *spans("range", -1.0, 2.0), out_type="int8"),
    case("_contrib_quantize", "fed_range", data(2, 3, 4), *moving("range", -3.0, 2.0), out_type="int8"),
    case("_contrib_quantize_v2", "own_range", data(2, 3, 4, 5)),
    case("_contrib_quantize_v2", "zeros", values(*(0.0,) * 6, shape=(2, 3))),
    case("_contrib_quantize_v2", "zeros_uint8", values(*(0.0,) * 6, shape=(2, 3)), out_type="uint8"),
    case("_contrib_quantize_v2", "own_range_auto", data(3, 7, kind="positive"), out_type="auto"),
    case("_contrib_quantize_v2", "own_range_uint8", data(3, 7), out_type="uint8"),
    case("_contrib_quantize_v2", "int8", values(*SPECIAL), out_type="int8", **CALIBRATED),
    replace(
        case("_contrib_quantize_v2", "ties", values(*TIES), min_calib_range=-127.5, max_calib_range=127.5),
        tolerance=ONE_STEP,
    ),
    case("_contrib_quantize_v2", "auto", values(*SPECIAL), out_type="auto", **POSITIVE),
    case("_contrib_quantize_v2", "auto_negative", data(1, 3, 5, 5), out_type="auto", **CALIBRATED),
    case("_contrib_quantize_v2", "uint8", data(1, 3, 5, 5), out_type="uint8", **CALIBRATED),
    case("_contrib_quantize_v2", "one_end", data(1, 3, 5, 5), out_type="int8", max_calib_range=3.0),
    case("_contrib_quantize_v2", "of_int8", signed(2, 9), out_type="int8"),
    case("_contrib_quantize_v2", "of_int8_calibrated", signed(2, 9), out_type="int8", **CALIBRATED),
    case("_contrib_quantize_v2", "of_uint8", unsigned(2, 9), out_type="uint8"),
    case("_contrib_dequantize", "int8", signed(2, 3, 4), *spans("range", -1.0, 2.0)),
    case("_contrib_dequantize", "uint8", unsigned(2, 3, 4), *spans("range", -3.0, 2.0)),
    case("_contrib_dequantize", "fed_range", unsigned(5), *moving("range", 0.0, 2.0)),
    case("_contrib_requantize", "int8", values(*LARGE, dtype="int32"), *spans("range", -3.0, 2.0), **CALIBRATED),
    case("_contrib_requantize", "auto", values(*LARGE, dtype="int32"), *spans("range", -3.0, 2.0), out_type="auto",
         **POSITIVE),
    case("_contrib_requantize", "uint8", values(*LARGE, dtype="int32"), *spans("range", -3.0, 2.0), out_type="uint8",
         **CALIBRATED),
    case("_contrib_requantize", "own_range", data(2, 5, dtype="int32", kind="integers:-99999999:77777777"),
         *spans("range", -3.0, 2.0)),
    case("_contrib_requantize", "fed_range", data(2, 5, dtype="int32", kind="integers:-99999999:77777777"),
         *moving("range", -3.0, 2.0), min_calib_range=-0.1, max_calib_range=0.05),
    case("_contrib_quantized_conv", "pad", unsigned(2, 4, 6, 7), stored("weight", 8, 4, 3, 3), *DATA, *WEIGHT,
         pad=(1, 1), no_bias=True, **SOME_FILTERS),
    case("_contrib_quantized_conv", "bias_stride", unsigned(1, 3, 7, 7), stored("weight", 8, 3, 3, 3),
         BIAS_OF_8, *DATA, *WEIGHT, *BIAS, stride=(2, 1), dilate=(1, 2), **SOME_FILTERS),
    case("_contrib_quantized_conv", "all_fed", unsigned(1, 4, 5, 5), fed("weight", 8, 4, 3, 3),
         *moving("data", 0.0, 2.0), *moving("weight", -1.0, 1.0), no_bias=True, layout="NCHW", **SOME_FILTERS),
    case("_contrib_quantized_fully_connected", "uint8", unsigned(5, 12), stored("weight", 7, 12), BIAS_OF_7,
         *DATA, *WEIGHT, *BIAS, num_hidden=7),
    case("_contrib_quantized_fully_connected", "int8", signed(5, 12), stored("weight", 7, 12), BIAS_OF_7,
         *DATA, *WEIGHT, *BIAS, num_hidden=7),
    case("_contrib_quantized_fully_connected", "flattened", signed(5, 3, 4), stored("weight", 7, 12),
         *DATA, *WEIGHT, num_hidden=7, no_bias=True),
    case("_contrib_quantized_fully_connected", "last_axis", unsigned(5, 3, 4), stored("weight", 7, 4),
         *DATA, *WEIGHT, num_hidden=7, no_bias=True, flatten=False),
    case("_contrib_quantized_fully_connected", "all_fed", signed(5, 4), fed("weight", 7, 4),
         signed(7, name="bias"), *moving("data", -1.0, 2.0), *moving("weight", -0.3, 0.2), *moving("bias", -0.5, 0.4),
         num_hidden=7),
    case("_contrib_quantized_pooling", "max", signed(1, 2, 5, 5), *DATA, kernel=(2, 2), stride=(2, 2)),
    case("_contrib_quantized_pooling", "max_full", unsigned(1, 2, 5, 6), *DATA, kernel=(3, 2), stride=(2, 2),
         pad=(1, 0), pooling_convention="full"),
    case("_contrib_quantized_pooling", "avg", signed(1, 2, 5, 5), *DATA, kernel=(2, 2), pool_type="avg"),
    case("_contrib_quantized_pooling", "avg_pad", unsigned(1, 2, 5, 5), *DATA, kernel=(3, 3), stride=(2, 2),
         pad=(1, 1), pool_type="avg", count_include_pad=False),
    case("_contrib_quantized_pooling", "global", unsigned(2, 3, 5, 7), *DATA, kernel=(1, 1), pool_type="avg",
         global_pool=True),
    case("_contrib_quantized_act", "int8", signed(3, 4), *DATA, act_type="relu"),
    case("_contrib_quantized_act", "uint8", unsigned(3, 4), *DATA, act_type="relu"),
    case("_contrib_quantized_batch_norm", "int8", signed(2, 3, 4, 4), *STATES, *DATA, fix_gamma=False,
         min_calib_range=-4.0, max_calib_range=3.0),
    case("_contrib_quantized_batch_norm", "uint8", unsigned(2, 3, 4, 4), *STATES, *DATA, fix_gamma=False,
         eps=1e-5, min_calib_range=-2.0, max_calib_range=3.0),
    case("_contrib_quantized_batch_norm", "axis_without_effect", signed(2, 3, 4, 3), *STATES, *DATA, fix_gamma=False,
         min_calib_range=-4.0, max_calib_range=3.0, axis=-1),
    case("_contrib_quantized_concat", "int8", signed(2, 3, name="arg0"), signed(2, 4, name="arg1"), *PARTS,
         num_args=2),
    case("_contrib_quantized_concat", "uint8", unsigned(2, 3, name="arg0"), unsigned(1, 3, name="arg1"), *PARTS,
         num_args=2, dim=0),
    case("_contrib_quantized_concat", "mixed", unsigned(2, 3, name="arg0"), signed(2, 3, name="arg1"), *PARTS,
         num_args=2, dim=1),
    *(
        case("_contrib_quantized_flatten", dtype, data(2, 3, 4, dtype=dtype), *DATA)
        for dtype in ("float16", "float32", "float64", "int32", "int64", "bool")
    ),
    case("_contrib_quantized_flatten", "int8", signed(2, 3, 4), *DATA),
    case("_contrib_quantized_flatten", "uint8", unsigned(2, 3, 4, 1), *DATA),
    case("_contrib_quantized_elemwise_add", "int8", signed(3, 4, name="lhs"), signed(3, 4, name="rhs"), *PAIR,
         **CALIBRATED),
    case("_contrib_quantized_elemwise_add", "uint8", unsigned(3, 4, name="lhs"), unsigned(3, 4, name="rhs"), *PAIR,
         **POSITIVE),
    case("_contrib_quantized_elemwise_add", "mixed", unsigned(3, 4, name="lhs"), signed(3, 4, name="rhs"), *PAIR,
         **CALIBRATED),
    case("_contrib_quantized_elemwise_add", "mixed_right", signed(3, 4, name="lhs"), unsigned(3, 4, name="rhs"), *PAIR,
         **POSITIVE),
    replace(
        case("_contrib_quantized_elemwise_add", "own_range", signed(3, 4, name="lhs"), signed(3, 4, name="rhs"), *PAIR),
        tolerance=2e-7,  # int32 that MXNet computes in float32, in another order
    ),
    case("_contrib_quantized_elemwise_mul", "int32", signed(3, 4, name="lhs"), signed(3, 4, name="rhs"), *PAIR),
    case("_contrib_quantized_elemwise_mul", "int8", signed(3, 4, name="lhs"), signed(3, 4, name="rhs"), *PAIR,
         min_calib_range=-0.7, max_calib_range=0.6),
    case("_contrib_quantized_elemwise_mul", "wrapped", signed(3, 4, name="lhs"), signed(3, 4, name="rhs"), *PAIR,
         min_calib_range=-0.2, max_calib_range=0.1),
    case("_contrib_quantized_elemwise_mul", "float32", signed(3, 4, name="lhs"), signed(3, 4, name="rhs"), *PAIR,
         enable_float_output=True),
    case("_contrib_quantized_elemwise_mul", "float32_calibrated", signed(3, 4, name="lhs"), signed(3, 4, name="rhs"),
         *PAIR, enable_float_output=True, min_calib_range=-0.7, max_calib_range=0.6),
    case("_contrib_quantized_embedding", "rows", values(1, 3, 9, 0, shape=(2, 2)), stored("weight", 10, 4), *WEIGHT,
         input_dim=10, output_dim=4),
)  # fmt: skip
# A quotient in another order is another unit in the last place of float32, which moves what lies half way between.
CASES: tuple[Case, ...] = tuple(replace(row, onednn=True) for row in ROWS)

REFUSED: tuple[Case, ...] = tuple(
    replace(row, onednn=True)
    for row in (
        case("_contrib_quantize_v2", "float64", data(2, 3, dtype="float64")),
        case("_contrib_dequantize", "int32", data(2, 3, dtype="int32"), *spans("range", -1.0, 2.0)),
        case("_contrib_quantized_conv", "int8", signed(1, 4, 5, 5), stored("weight", 8, 4, 3, 3), *DATA, *WEIGHT,
             no_bias=True, **SOME_FILTERS),
        case("_contrib_quantized_conv", "groups", unsigned(1, 4, 5, 5), stored("weight", 8, 1, 3, 3), *DATA, *WEIGHT,
             no_bias=True, num_group=4, **SOME_FILTERS),
        case("_contrib_quantized_pooling", "sum", signed(1, 2, 5, 5), *DATA, kernel=(2, 2), pool_type="sum"),
        case("_contrib_quantized_act", "tanh", signed(2, 3), *DATA, act_type="tanh"),
        case("_contrib_quantized_batch_norm", "own_range", signed(2, 3, 4, 4), *STATES, *DATA),
    )
)  # fmt: skip
