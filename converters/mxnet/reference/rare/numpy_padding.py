"""_npi_pad in numpy (src/operator/numpy/np_pad_op-inl.h)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, as_c, require


def pad(attrs: Attributes, data: Array) -> Array:
    """Padded axis by axis, the last one first. `reflect_type` means nothing; negative widths crop in mode constant."""
    stated, mode = attrs["pad_width"], attrs.get("mode", "constant")
    if data.ndim == 1 and len(stated) == 2:
        stated = ((stated[0][0], stated[1][0]),)
    require(data.ndim > 0 and len(stated) == data.ndim, f"pad_width {stated} for {data.ndim} axes")
    require(all(len(pair) == 2 for pair in stated), f"pad_width {stated}")
    if mode == "constant":
        cut = data[tuple(slice(max(-before, 0), after if after < 0 else None) for before, after in stated)]
        widths = [(max(before, 0), max(after, 0)) for before, after in stated]
        return np.pad(cut, widths, constant_values=as_c(attrs.get("constant_value", 0.0), data.dtype))
    for axis, width in reversed(list(enumerate(stated))):
        require(min(width) >= 0 and (data.shape[axis] > 0 or not any(width)), f"width {width} of {data.shape}")
        widths = [(0, 0)] * data.ndim
        widths[axis] = width
        if mode in ("maximum", "minimum"):
            data = np.pad(data, widths, partial(fold_of, mode == "maximum"))
        else:
            data = np.pad(data, widths, mode)
    return data


def fold_of(largest: bool, line: Array, width: tuple[int, int], axis: int, options: object) -> None:
    """Fill both ends of a line with its extreme, searched from its first element; `numpy.pad` calls this."""
    inside = line[width[0] : len(line) - width[1]]
    best = inside[0]
    for element in inside[1:]:
        best = element if (element > best if largest else element < best) else best
    line[: width[0]] = best
    line[len(line) - width[1] :] = best


OPERATORS: Mapping[str, Reference] = {"_npi_pad": pad}
