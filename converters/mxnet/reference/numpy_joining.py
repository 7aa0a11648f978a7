"""NumPy-style operators that join arrays and take them apart, in numpy (src/operator/numpy/np_matrix_op.cc)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, normalized_axis, require
from graphir.converters.mxnet.reference.shape_parts import split_v2


def _alike(inputs: tuple[Array, ...]) -> None:
    require(len({each.dtype for each in inputs}) == 1, "the arrays are of several dtypes")


def concatenate(attrs: Attributes, *inputs: Array) -> Array:
    """Joined along `axis`; all elements in a row where it is None."""
    _alike(inputs)
    return np.concatenate(inputs, attrs.get("axis", 0))


def stack(attrs: Attributes, *inputs: Array) -> Array:
    """Joined along a new axis."""
    _alike(inputs)
    return np.stack(inputs, attrs.get("axis", 0))


def vstack(attrs: Attributes, *inputs: Array) -> Array:
    """Joined along the first of two axes or more."""
    _alike(inputs)
    return np.vstack(inputs)


def hstack(attrs: Attributes, *inputs: Array) -> Array:
    """Joined along the second axis, vectors end to end."""
    _alike(inputs)
    return np.hstack(inputs)


def dstack(attrs: Attributes, *inputs: Array) -> Array:
    """Joined along the third axis."""
    _alike(inputs)
    return np.dstack(inputs)


def column_stack(attrs: Attributes, *inputs: Array) -> Array:
    """Vectors as columns, joined along the second axis."""
    _alike(inputs)
    columns = [each.reshape(-1, 1) if each.ndim < 2 else each for each in inputs]
    return np.concatenate(columns, 1)


def hsplit(attrs: Attributes, data: Array) -> tuple[Array, ...]:
    """Parts along the second axis, of a vector along its only one."""
    require(data.ndim > 0, "a scalar")
    return split_v2({**attrs, "axis": min(data.ndim - 1, 1)}, data)


def dsplit(attrs: Attributes, data: Array) -> tuple[Array, ...]:
    """Parts along the third axis, where that is the one that is stated."""
    require(data.ndim >= 3, f"{data.ndim} axes, expected 3 or more")
    require(normalized_axis(attrs.get("axis", 1), data.ndim) == 2, "an axis that is not the third one")
    return split_v2({**attrs, "axis": 2}, data)


OPERATORS: Mapping[str, Reference] = {
    "_npi_column_stack": column_stack,
    "_npi_concatenate": concatenate,
    "_npi_dsplit": dsplit,
    "_npi_dstack": dstack,
    "_npi_hsplit": hsplit,
    "_npi_hstack": hstack,
    "_npi_stack": stack,
    "_npi_vstack": vstack,
}
