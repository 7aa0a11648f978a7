"""Products of MXNet's NumPy-style interface in numpy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import (
    Array,
    Attributes,
    Reference,
    accumulator,
    normalized_axes,
    require,
)


def _floats(*arrays: Array) -> None:
    require(len({array.dtype for array in arrays}) == 1, f"dtypes {[str(array.dtype) for array in arrays]}")
    require(arrays[0].dtype.kind == "f", f"dtype {arrays[0].dtype}, expected floats")


def _wide(array: Array) -> Array:
    return array.astype(accumulator(array.dtype))


def matmul(attrs: Attributes, left: Array, right: Array) -> Array:
    """Products of the last two axes; the others broadcast."""
    _floats(left, right)
    require(bool(left.ndim and right.ndim), "an operand without axes")
    return np.asarray(np.matmul(_wide(left), _wide(right))).astype(left.dtype)


def dot(attrs: Attributes, left: Array, right: Array) -> Array:
    """Return the last axis of the left against the last but one of the right; scalars multiply."""
    require(left.dtype == right.dtype, f"dtypes {left.dtype} and {right.dtype}")
    if not left.ndim or not right.ndim:  # numpy's own passes over 0 times infinity
        with np.errstate(all="ignore"):
            return np.asarray(_wide(left) * _wide(right)).astype(left.dtype)
    _floats(left, right)
    return np.asarray(np.dot(_wide(left), _wide(right))).astype(left.dtype)


def tensordot(attrs: Attributes, left: Array, right: Array) -> Array:
    """Products summed over pairs of axes."""
    _floats(left, right)
    first, second = attrs["a_axes_summed"], attrs["b_axes_summed"]
    require(len(first) == len(second), f"{len(first)} and {len(second)} axes")
    if not first:
        return np.asarray(np.multiply.outer(_wide(left), _wide(right))).astype(left.dtype)
    axes = normalized_axes(first, left.ndim), normalized_axes(second, right.ndim)
    return np.asarray(np.tensordot(_wide(left), _wide(right), axes=axes)).astype(left.dtype)


def tensordot_of_last(attrs: Attributes, left: Array, right: Array) -> Array:
    """Products summed over the last axes of the left and the first of the right."""
    _floats(left, right)
    count = int(attrs["axes"])
    require(0 <= count <= min(left.ndim, right.ndim), f"axes {count}")
    if not count:  # numpy's own passes over 0 times infinity
        return np.asarray(np.multiply.outer(_wide(left), _wide(right))).astype(left.dtype)
    return np.asarray(np.tensordot(_wide(left), _wide(right), axes=count)).astype(left.dtype)


def einsum(attrs: Attributes, *operands: Array) -> Array:
    """Products summed over the labels that the result lacks."""
    require(len({array.dtype for array in operands}) == 1, f"dtypes {[str(array.dtype) for array in operands]}")
    wide = [_wide(array) for array in operands]
    return np.asarray(np.einsum(attrs["subscripts"], *wide)).astype(operands[0].dtype)


OPERATORS: Mapping[str, Reference] = {
    "_np_dot": dot,
    "_npi_einsum": einsum,
    "_npi_matmul": matmul,
    "_npi_tensordot": tensordot,
    "_npi_tensordot_int_axes": tensordot_of_last,
}
