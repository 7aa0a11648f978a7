"""Functions that MXNet has since 2.0 in numpy: digamma."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, require


def digamma(attrs: Attributes, data: Array) -> Array:
    """The derivative of log gamma: upward by recurrence to 20 and more, where Stirling's series ends early."""
    require(data.dtype.kind == "f", f"{data.dtype}, expected floats")
    x = data.astype(np.float64)
    with np.errstate(all="ignore"):
        y = np.where(x > 0, x, 1 - x)
        result = np.zeros_like(y)
        for _ in range(20):
            result -= 1 / y
            y = y + 1
        result += np.log(y) - 0.5 / y - 1 / (12 * y**2) + 1 / (120 * y**4) - 1 / (252 * y**6) + 1 / (240 * y**8)
        below = result - np.pi / np.tan(np.pi * (x - np.rint(x)))
        below = np.where(x == np.rint(x), np.inf, below)
        return np.where(x > 0, result, np.where(np.isnan(x), x, below)).astype(data.dtype)


OPERATORS: Mapping[str, Reference] = {"digamma": digamma}
