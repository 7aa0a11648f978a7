"""What a reference function is, and the few steps that many of them share.

A reference function takes an operator's typed attributes and its inputs in MXNet's order, and returns its visible
outputs in MXNet's order: one array, or a tuple where the operator has several. It computes inference mode. Inputs are
never written to. An operand that MXNet refuses raises ValueError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Attributes = Mapping[str, Any]
Reference = Callable[..., Array | tuple[Array, ...]]

NP_SHAPE = "__np_shape__"
SYMBOLS = "__symbols__"
RECORDS = "__records__"


def accumulator(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which MXNet's CPU kernels accumulate: float32 for float16, else the dtype itself."""
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def as_c(number: float, dtype: np.dtype[Any]) -> Array:
    """Return a number as an array without axes in the dtype, converted as C does: integers lose what does not fit."""
    with np.errstate(all="ignore"):
        return np.array(number, np.float64).astype(dtype)


def require(condition: bool, result: str) -> None:
    """Raise ValueError(found) unless the condition holds."""
    if not condition:
        raise ValueError(result)


def normalized_axis(axis: int, rank: int) -> int:
    """Return the axis counted from the front; ValueError outside [-rank, rank)."""
    require(-rank <= axis < rank, f"axis {axis} is out of range for an array of rank {rank}")
    return axis % rank


def normalized_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Return all axes counted from the front; ValueError for a repeated one."""
    result = tuple(normalized_axis(axis, rank) for axis in axes)
    require(len(set(result)) == len(result), f"axes {tuple(axes)} name one axis twice")
    return result


def per_axis(value: Sequence[int] | None, spatial: int, default: int) -> tuple[int, ...]:
    """Return one number a spatial axis; an absent or empty tuple means the default everywhere."""
    if not value:
        return (default,) * spatial
    require(len(value) == spatial, f"{tuple(value)} has {len(value)} entries for {spatial} spatial axes")
    return tuple(int(entry) for entry in value)


def channels_first(layout: str | None) -> bool:
    """Return whether the layout has its channels on axis 1 (the default) and not last."""
    return layout in (None, "None", "NCW", "NCHW", "NCDHW")


def named_dtype(name: str | None, default: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype that an attribute names; None means the default."""
    if name in (None, "None"):
        return default
    return bfloat16() if name == "bfloat16" else np.dtype(name)


def bfloat16() -> np.dtype[Any]:
    """Return the dtype of bfloat16, which numpy has from ml_dtypes."""
    from ml_dtypes import bfloat16 as element

    return np.dtype(element)


def is_bfloat16(dtype: np.dtype[Any]) -> bool:
    """Return whether elements are bfloat16."""
    return dtype.kind == "V" and dtype.name == "bfloat16"
