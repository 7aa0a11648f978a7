"""Linear algebra in numpy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import NP_SHAPE, Array, Attributes, Reference, require


def det(attrs: Attributes, data: Array) -> Array:
    """The determinant of the last two axes; that of a single matrix has the shape (1,)."""
    require(data.ndim >= 2 and data.shape[-1] == data.shape[-2], f"shape {data.shape}, expected square matrices")
    found = np.asarray(np.linalg.det(data)).astype(data.dtype)
    return found if found.ndim or attrs.get(NP_SHAPE) else found.reshape(1)


OPERATORS: Mapping[str, Reference] = {"_linalg_det": det}

__all__ = ["OPERATORS"]
