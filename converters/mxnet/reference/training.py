"""Arithmetic of training in numpy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, require
from graphir.converters.mxnet.reference.elementwise_unary import OPERATORS as UNARY


def _require_floats(attrs: Attributes, arrays: tuple[Array, ...]) -> None:
    require(attrs.get("num_arrays", len(arrays)) == len(arrays), f"{len(arrays)} arrays")
    require(len({array.dtype for array in arrays}) == 1, f"dtypes {[str(array.dtype) for array in arrays]}")
    require(arrays[0].dtype.kind == "f", f"dtype {arrays[0].dtype}, expected floats")


def all_finite(attrs: Attributes, *arrays: Array) -> Array:
    """1 if every element of every array is finite, else 0; a vector of one float32."""
    require(attrs.get("init_output", True), "init_output False starts from what the memory held")
    _require_floats(attrs, arrays)
    return np.array([float(all(np.isfinite(array).all() for array in arrays))], np.float32)


def multi_sum_sq(attrs: Attributes, *arrays: Array) -> Array:
    """The sum of squares of each array, in float32, of squares in its own dtype."""
    _require_floats(attrs, arrays)
    with np.errstate(all="ignore"):
        return np.array([np.square(array).astype(np.float32).sum(dtype=np.float32) for array in arrays], np.float32)


def multi_lars(attrs: Attributes, rates: Array, weights: Array, gradients: Array, decays: Array) -> Array:
    """lr eta |w| / (|g| rescale + wd |w| + eps) where the squares of both norms are above 0, else lr."""
    every = (rates, weights, gradients, decays)
    require(all(array.dtype == np.float32 for array in every), "a dtype other than float32")
    require(len({array.shape for array in every}) == 1, f"shapes {[array.shape for array in every]}")
    with np.errstate(all="ignore"):
        norm, slope = np.sqrt(weights), np.sqrt(gradients)
        below = slope * np.float32(attrs.get("rescale_grad", 1.0)) + decays * norm + np.float32(attrs["eps"])
        found = rates * np.float32(attrs["eta"]) * norm / below
    return np.where((weights > 0) & (gradients > 0), found, rates)


def allclose(attrs: Attributes, left: Array, right: Array) -> Array:
    """Whether every |a - b| <= atol + rtol |b|."""
    require((left.dtype, left.shape) == (right.dtype, right.shape), "operands of several dtypes or shapes")
    wide = np.dtype(np.float32 if left.dtype in (np.float16, np.float32) else np.float64)
    a, b = left.astype(wide), right.astype(wide)
    rtol, atol = (np.array(attrs.get(*pair), np.float32).astype(wide) for pair in (("rtol", 1e-5), ("atol", 1e-8)))
    with np.errstate(all="ignore"):
        near = (a == b) | (np.abs(np.subtract(a, b)) <= atol + rtol * np.abs(b))
    if attrs.get("equal_nan", True):
        near |= np.isnan(a) & np.isnan(b)
    return np.array(near.all(), np.uint8)


def _direction(attrs: Attributes, weight: Array, gradient: Array, mean: Array, variance: Array) -> Array:
    require(gradient.dtype == weight.dtype, "operands of several dtypes")
    return _moved_mean(attrs, weight, gradient, mean, variance)


def _moved_mean(attrs: Attributes, weight: Array, gradient: Array, mean: Array, variance: Array) -> Array:
    """The same, of a gradient in a dtype of its own, to which it is rounded when it is scaled."""
    every = (weight, mean, variance)
    require(len({(array.shape, array.dtype) for array in every}) == 1, "operands of several shapes or dtypes")
    require(gradient.shape == weight.shape, f"{gradient.shape} and {weight.shape}")
    require(weight.dtype in (np.float32, np.float64), f"dtype {weight.dtype}: its rounding is not known")
    first, second = np.float32(attrs.get("beta1", 0.9)), np.float32(attrs.get("beta2", 0.999))
    with np.errstate(all="ignore"):
        held = gradient.dtype
        scaled = np.float32(attrs.get("rescale_grad", 1.0)) * gradient.astype(weight.dtype)
        limit = np.float32(attrs.get("clip_gradient", -1.0)).astype(held)
        gradient = scaled.astype(held)
        if limit >= 0:
            gradient = np.where(gradient > limit, limit, np.where(gradient < -limit, -limit, gradient))
        gradient = gradient.astype(weight.dtype)
        mean = first * mean + (1 - first) * gradient
        variance = second * variance + (1 - second) * gradient * gradient
        if attrs.get("bias_correction", True):
            mean = mean / (1 - first ** np.float32(attrs["t"]))
            variance = variance / (1 - second ** np.float32(attrs["t"]))
        found = mean / (np.sqrt(variance) + np.float32(attrs.get("epsilon", 1e-6))) + np.float32(attrs["wd"]) * weight
    return np.asarray(found).astype(weight.dtype)


def _moved(attrs: Attributes, weight: Array, direction: Array, first: Array, second: Array) -> Array:
    require(weight.shape == direction.shape, f"{weight.shape} and {direction.shape}")
    require(weight.dtype in (np.float32, np.float64), f"dtype {weight.dtype}: its rounding is not known")
    require(all(array.dtype == weight.dtype for array in (direction, first, second)), "operands of several dtypes")
    above, below = first.reshape(-1)[0], second.reshape(-1)[0]
    lower, upper = np.float32(attrs.get("lower_bound", -1.0)), np.float32(attrs.get("upper_bound", -1.0))
    with np.errstate(all="ignore"):
        above = max(above, lower) if lower >= 0 else above
        above = min(above, upper) if upper >= 0 else above
        ratio = above / below if above and below else weight.dtype.type(1)
        return np.asarray(weight - np.float32(attrs["lr"]) * ratio * direction).astype(weight.dtype)


def mixed_direction(attrs: Attributes, half: Array, gradient: Array, *rest: Array) -> Array:
    """The first phase for float16 weights, from the float32 ones."""
    mean, variance, weight = rest
    return _moved_mean(attrs, weight, gradient, mean, variance)


def mixed_step(attrs: Attributes, half: Array, direction: Array, *rest: Array) -> Array:
    """The second phase for float16 weights, from the float32 ones."""
    first, second, weight = rest
    with np.errstate(over="ignore"):
        return _moved(attrs, weight, direction, first, second).astype(half.dtype)


OPERATORS: Mapping[str, Reference] = {
    "_contrib_allclose": allclose,
    "_contrib_round_ste": UNARY["round"],
    "_contrib_sign_ste": UNARY["sign"],
    "all_finite": all_finite,
    "lamb_update_phase1": _direction,
    "lamb_update_phase2": _moved,
    "mp_lamb_update_phase1": mixed_direction,
    "mp_lamb_update_phase2": mixed_step,
    "multi_all_finite": all_finite,
    "multi_lars": multi_lars,
    "multi_sum_sq": multi_sum_sq,
}

__all__ = ["OPERATORS"]
