"""Fourier's transforms and the count sketch in numpy, by MXNet's documentation: it computes them on GPUs only."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, require


def fft(attrs: Attributes, data: Array) -> Array:
    """The transform of the last axis, real and imaginary parts in turn."""
    require(data.dtype.kind == "f" and data.ndim in (2, 4), f"{data.dtype}{data.shape}")
    spectrum = np.fft.fft(data.astype(np.float64))
    result = np.stack([spectrum.real, spectrum.imag], -1)
    return result.reshape(*data.shape[:-1], 2 * data.shape[-1]).astype(data.dtype)


def ifft(attrs: Attributes, data: Array) -> Array:
    """Return the real part of the inverse transform, not divided by the length."""
    require(data.dtype.kind == "f" and data.ndim in (2, 4) and data.shape[-1] % 2 == 0, f"{data.dtype}{data.shape}")
    pairs = data.astype(np.float64)
    result = np.fft.ifft(pairs[..., ::2] + 1j * pairs[..., 1::2], norm="forward")
    return result.real.astype(data.dtype)


def count_sketch(attrs: Attributes, data: Array, columns: Array, signs: Array) -> Array:
    """Columns with signs, added up where they belong."""
    require(data.dtype.kind == "f" and data.ndim in (2, 4), f"{data.dtype}{data.shape}")
    result = np.zeros((*data.shape[:-1], attrs["out_dim"]), np.float64)
    for index, (column, sign) in enumerate(zip(columns.ravel(), signs.ravel(), strict=True)):
        result[..., int(column)] += data[..., index] * sign
    return result.astype(data.dtype)


OPERATORS: Mapping[str, Reference] = {
    "_contrib_count_sketch": count_sketch,
    "_contrib_fft": fft,
    "_contrib_ifft": ifft,
}
