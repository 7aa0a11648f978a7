"""Elementwise operators of one operand (src/operator/mshadow_op.h); float16 is computed in float32."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache, partial

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, accumulator, require

Unary = Callable[[Array], Array]
# From 6 on erf is 1 to the last digit of float64. Steps of 2**-10 leave 2**-11 at most: its sixth power, times a sixth
# derivative of at most 37 over 6!, is 7e-22, and around 0, where erf is small, the first power left out is the seventh.
ERF_ONE, ERF_STEPS, ERF_POWERS = 6, 1 << 10, 5
# Elements whose intermediate results stay in the processor's cache.
AT_ONCE = 1 << 12


def scalar_function(function: Callable[[float], float], data: Array) -> Array:
    """Return what a function of one float gives for each element, in float64."""
    return np.array([function(float(value)) for value in data.ravel()], np.float64).reshape(data.shape)


def gamma_function(value: float) -> float:
    """Gamma, infinite at 0 with its sign, not a number at the negative integers, infinite where it overflows."""
    if value == 0:
        return math.copysign(math.inf, value)
    if value < 0 and (value == -math.inf or value == math.floor(value)):
        return math.nan
    try:
        return math.gamma(value)
    except OverflowError:
        return math.inf


def log_gamma(value: float) -> float:
    """log |Gamma|, infinite at 0 and at the negative integers."""
    if math.isinf(value) or (value <= 0 and value == math.floor(value)):
        return math.inf
    try:
        return math.lgamma(value)
    except OverflowError:
        return math.inf


def inverse_error_function(value: float) -> float:
    """Return the x with erf(x) = value, by Newton's method from Winitzki's approximation; infinite at -1 and 1."""
    if not abs(value) < 1:
        return math.copysign(math.inf, value) if abs(value) == 1 else math.nan
    if value == 0:
        return value
    logarithm = math.log1p(-value * value)
    part = 2 / (math.pi * 0.147) + logarithm / 2
    result = math.copysign(math.sqrt(math.sqrt(part * part - logarithm / 0.147) - part), value)
    for _ in range(4):
        # near 1 by what is missing there, of which no digits are lost
        far = abs(value) > 0.5
        missing = 1 - abs(value) - math.erfc(abs(result))
        excess = math.copysign(1.0, value) * missing if far else math.erf(result) - value
        result -= excess * math.sqrt(math.pi) / 2 * math.exp(result * result)
    return result


def round_half_away(data: Array) -> Array:
    """C's round(): halves away from zero."""
    size = np.abs(data)
    low = np.floor(size)
    return np.copysign(low + (size - low >= 0.5), data)


def round_half_down(data: Array) -> Array:
    """Return the nearest integer; of two equally near ones the smaller (MXNet's rint)."""
    low, high = np.floor(data), np.ceil(data)
    return np.where(data - low <= high - data, low, high)


@cache
def erf_series() -> Array:
    """Return the coefficients of erf's Taylor series around multiples of 1 / ERF_STEPS up to ERF_ONE, a row a power.

    Its derivatives follow from erf' = 2 / sqrt(pi) exp(-x^2): the n+1st is -2x times the nth - 2(n-1) times the n-1st.
    """
    around = np.arange(ERF_ONE * ERF_STEPS + 1) / ERF_STEPS
    rows = [np.array([math.erf(value) for value in around])]
    earlier, derivative = np.zeros_like(around), 2 / math.sqrt(math.pi) * np.exp(-around * around)
    for power in range(1, ERF_POWERS + 1):
        rows.append(derivative / math.factorial(power))
        earlier, derivative = derivative, -2 * (around * derivative + (power - 1) * earlier)
    return np.array(rows)


def erf(data: Array) -> Array:
    """Return the error function of each element in float64, to a unit or two in its last place."""
    flat = data.reshape(-1)
    result = np.empty(flat.shape, np.float64)
    for start in range(0, flat.size, AT_ONCE):
        part = flat[start : start + AT_ONCE].astype(np.float64)
        size = np.minimum(np.abs(part), ERF_ONE)
        index = np.where(np.isnan(size), 0, np.rint(size * ERF_STEPS)).astype(np.int64)
        beyond = size - index / ERF_STEPS
        *lower, total = erf_series()[:, index]
        for coefficient in reversed(lower):
            total = total * beyond + coefficient
        result[start : start + AT_ONCE] = np.copysign(total, part)
    return result.reshape(data.shape)


UNARY: Mapping[str, Unary] = {
    "abs": np.abs,
    "arccos": np.arccos,
    "arccosh": np.arccosh,
    "arcsin": np.arcsin,
    "arcsinh": np.arcsinh,
    "arctan": np.arctan,
    "arctanh": np.arctanh,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "cos": np.cos,
    "cosh": np.cosh,
    "degrees": lambda data: data * data.dtype.type(57.2957763671875),
    "erf": erf,
    "erfinv": partial(scalar_function, inverse_error_function),
    "exp": np.exp,
    "expm1": np.expm1,
    "fix": np.trunc,
    "floor": np.floor,
    "gamma": partial(scalar_function, gamma_function),
    "gammaln": partial(scalar_function, log_gamma),
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "logical_not": lambda data: data == 0,
    "negative": np.negative,
    "radians": lambda data: data * data.dtype.type(0.01745329238474369),
    "rcbrt": lambda data: 1 / np.cbrt(data),
    "reciprocal": lambda data: 1 / data,
    "relu": lambda data: np.maximum(data, 0),
    "rint": round_half_down,
    "round": round_half_away,
    "rsqrt": lambda data: 1 / np.sqrt(data),
    "sigmoid": lambda data: 1 / (1 + np.exp(-data)),
    "sign": lambda data: np.nan_to_num(np.sign(data)),
    "sin": np.sin,
    "sinh": np.sinh,
    "softsign": lambda data: data / (1 + np.abs(data)),
    "sqrt": np.sqrt,
    "square": np.square,
    "tan": np.tan,
    "tanh": np.tanh,
    "trunc": np.trunc,
}


# In which dtype MXNet computes integers, where it is not float64: these in float32, those in their own.
IN_SINGLE = frozenset({"degrees", "radians", "square"})
# What libm gives where numpy may give the number next to it, which is a whole one.
EXACT: Mapping[str, Unary] = {
    "tanh": partial(scalar_function, math.tanh),
    "erfinv": lambda data: np.where(np.abs(data) == 1, np.copysign(np.inf, data), 0.0),
}
IN_THEIR_OWN = frozenset({"logical_not", "negative", "relu", "sign"})
NOT_OF_TRUTHS = frozenset({"erfinv", "gamma", "gammaln"})


def sigmoid_of_integers(data: Array) -> Array:
    """1 / (1 + e^-x), where -x is taken of an integer of 32 bits or more: the lowest one has none."""
    negated = np.negative(data if data.dtype.itemsize > 4 else data.astype(np.int32))
    return np.asarray(1 / (1 + np.exp(negated.astype(np.float64))))


def unary(name: str, function: Unary, attrs: Attributes, data: Array) -> Array:
    """Apply the function to each element and keep the dtype: integers drop the fraction."""
    require(data.dtype != np.bool_ or name not in NOT_OF_TRUTHS, f"{name} of {data.dtype}")
    wide, chosen = data, function
    if data.dtype.kind in "iu" and name == "sigmoid":
        chosen = sigmoid_of_integers
    elif data.dtype.kind in "iu" and name not in IN_THEIR_OWN:
        wide = data.astype(np.float32 if name in IN_SINGLE else np.float64)
        chosen = EXACT.get(name, function)
    else:
        wide = data.astype(accumulator(data.dtype), copy=False)
    with np.errstate(all="ignore"):
        return np.asarray(chosen(wide)).astype(data.dtype, copy=False)


OPERATORS: dict[str, Reference] = {name: partial(unary, name, function) for name, function in UNARY.items()}
OPERATORS |= {f"_contrib_{name}_ste": OPERATORS[name] for name in ("round", "sign")}
