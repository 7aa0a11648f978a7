"""Elementwise operators of MXNet's NumPy-style interface in numpy, of one and two operands and of a scalar."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, as_c, require
from graphir.converters.mxnet.reference.elementwise import BINARY, Binary, computed, scalar_dtype
from graphir.converters.mxnet.reference.elementwise import OPERATORS as CLASSIC
from graphir.converters.mxnet.reference.elementwise_unary import OPERATORS as UNARY


def common(left: Array, right: Array) -> np.dtype[Any]:
    """Return the widest float of two dtypes, else the widest integer, else bool. int8 and uint8 have none."""
    floats = [array.dtype for array in (left, right) if array.dtype.kind == "f"]
    if floats:
        return max(floats, key=lambda dtype: dtype.itemsize)
    require({left.dtype.name, right.dtype.name} != {"int8", "uint8"}, "int8 and uint8 have no common dtype")
    return max((left.dtype, right.dtype), key=lambda dtype: (dtype.kind != "b", dtype.itemsize))


def is_float(*arrays: Array) -> bool:
    """Return whether any array holds floats."""
    return any(array.dtype.kind == "f" for array in arrays)


def of_mixed(
    function: Binary, of_bool: Binary | None, attrs: Attributes, left: Array, right: Array, *, integers: bool=True
) -> Array:
    """Apply a function of two arrays in their common dtype; without `integers` integers differ only if shapes do."""
    dtype = common(left, right)
    taken = integers or left.dtype == right.dtype or left.shape != right.shape or is_float(left, right)
    require(taken, f"{left.dtype} and {right.dtype}")
    chosen = function
    if dtype.kind == "b":
        require(of_bool is not None, "bool, which MXNet refuses")
        chosen = of_bool or function
    with np.errstate(over="ignore"):  # integers beyond float16 are infinite
        return computed(chosen, left.astype(dtype), right.astype(dtype), dtype)


def power(attrs: Attributes, left: Array, right: Array) -> Array:
    """left to the power of right; where a float meets an integer, in float64."""
    dtype = common(left, right)
    if dtype.kind == "b":
        return left | ~right
    if dtype.kind == "f" and "i" in (left.dtype.kind + right.dtype.kind).replace("u", "i"):
        with np.errstate(all="ignore"):
            return np.asarray(np.power(left.astype(np.float64), right.astype(np.float64)).astype(dtype))
    return computed(BINARY["power"], left, right, dtype)


def true_divide(attrs: Attributes, left: Array, right: Array) -> Array:
    """left / right; integers and bool are float32, or what the float is that they meet."""
    same = left.dtype == right.dtype
    require(same or (left.dtype.kind == "f") != (right.dtype.kind == "f"), f"{left.dtype} and {right.dtype}")
    dtype = common(left, right)
    return computed(np.divide, left, right, dtype if dtype.kind == "f" else np.dtype(np.float32))


def divide_scalar(attrs: Attributes, data: Array, *, swapped: bool) -> Array:
    """data / scalar, or with `swapped` scalar / data; integers and bool as float32."""
    dtype = data.dtype if data.dtype.kind == "f" else np.dtype(np.float32)
    scalar = as_c(float(attrs.get("scalar", 1.0)), dtype)
    return computed(np.divide, *((scalar, data) if swapped else (data, scalar)), dtype)


def compare(function: Callable[[Array, Array], Array], attrs: Attributes, left: Array, right: Array) -> Array:
    """Apply a comparison of two arrays of one dtype, which gives bool."""
    require(left.dtype == right.dtype, f"{left.dtype} and {right.dtype}")
    return np.asarray(function(left, right))


def compare_scalar(function: Callable[[Array, Array], Array], attrs: Attributes, data: Array) -> Array:
    """Apply a comparison with the scalar in the dtype of the computation, of bool data with the scalar's truth."""
    dtype = data.dtype if data.dtype.kind == "b" else scalar_dtype(attrs, data)
    return np.asarray(function(data.astype(dtype), as_c(float(attrs.get("scalar", 1.0)), dtype)))


def of_floats(function: Binary, attrs: Attributes, left: Array, right: Array) -> Array:
    """Apply a function of two arrays of one floating dtype."""
    require(left.dtype == right.dtype and left.dtype.kind == "f", f"{left.dtype} and {right.dtype}")
    return computed(function, left, right, left.dtype)


def without_bool(function: Reference, attrs: Attributes, data: Array) -> Array:
    """Apply the operator to anything but bool."""
    require(data.dtype.kind != "b", "bool, which MXNet refuses")
    result = function(attrs, data)
    assert not isinstance(result, tuple)
    return result


UNARY_NAMES = (
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil", "cos", "cosh", "degrees", "exp",
    "expm1", "fix", "floor", "log", "log10", "log1p", "log2", "negative", "radians", "reciprocal", "rint", "sign",
    "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc",
)  # fmt: skip
COMPARISONS: Mapping[str, Callable[[Array, Array], Array]] = {
    "equal": np.equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "not_equal": np.not_equal,
}
SCALARS = {
    "add": "plus", "mod": "mod", "multiply": "mul", "power": "power", "rmod": "rmod", "rpower": "rpower",
    "rsubtract": "rminus", "subtract": "minus",
}  # fmt: skip

OPERATORS: Mapping[str, Reference] = {
    **{f"_npi_{name}": partial(without_bool, UNARY[name]) for name in UNARY_NAMES},
    **{f"_npi_{name}": partial(compare, function) for name, function in COMPARISONS.items()},
    **{f"_npi_{name}_scalar": partial(compare_scalar, function) for name, function in COMPARISONS.items()},
    **{f"_npi_{name}_scalar": CLASSIC[f"_{classic}_scalar"] for name, classic in SCALARS.items()},
    "_np_copy": CLASSIC["_copy"],
    "_npi_absolute": partial(without_bool, UNARY["abs"]),
    "_npi_add": partial(of_mixed, np.add, np.logical_or),
    "_npi_hypot": partial(of_floats, np.hypot),
    "_npi_logical_not": lambda attrs, data: np.asarray(data == 0),
    "_npi_mod": partial(of_mixed, BINARY["mod"], None, integers=False),
    "_npi_multiply": partial(of_mixed, np.multiply, np.logical_and),
    "_npi_power": power,
    "_npi_rtrue_divide_scalar": partial(divide_scalar, swapped=True),
    "_npi_subtract": partial(of_mixed, np.subtract, None, integers=False),
    "_npi_true_divide": true_divide,
    "_npi_true_divide_scalar": partial(divide_scalar, swapped=False),
    "_npx_relu": partial(without_bool, UNARY["relu"]),
    "_npx_sigmoid": partial(without_bool, UNARY["sigmoid"]),
}
