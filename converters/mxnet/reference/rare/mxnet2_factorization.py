"""Factors of matrices that MXNet has since 2.0 in numpy: QR, ranks and least squares."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, require
from graphir.converters.mxnet.reference.rare.algebra import require_wide


def qr(attrs: Attributes, data: Array) -> tuple[Array, ...]:
    """Q and R, by LAPACK."""
    require(data.dtype != np.float16 and data.dtype != bool and data.ndim >= 2, f"{data.dtype}{data.shape}")
    dtype = data.dtype if data.dtype.kind == "f" else np.dtype(np.float64)
    q, r = np.linalg.qr(data.astype(np.float64))
    return q.astype(dtype), r.astype(dtype)


def matrix_rank(attrs: Attributes, data: Array, limit: Array | None = None) -> Array:
    """Return how many singular values are beyond the limit, or the dtype's rounding of the largest."""
    require_wide(data)
    require(not attrs.get("hermitian"), "hermitian")
    if data.ndim < 2:
        return np.asarray(bool(data.any()), np.int64)
    lengths = np.linalg.svd(data.astype(np.float64), compute_uv=False)
    if limit is None:
        epsilon = float(attrs.get("finfoEps64" if data.dtype == np.float64 else "finfoEps32", 0.0))
        limit = lengths.max(-1) * max(data.shape[-2:]) * epsilon
    return np.asarray((lengths > limit[..., None]).sum(-1), np.int64)


def lstsq(attrs: Attributes, matrix: Array, data: Array) -> tuple[Array, ...]:
    """numpy.linalg.lstsq in float64, with the dtype's own cutoff."""
    require_wide(matrix)
    require(matrix.dtype == data.dtype and matrix.ndim == 2 and data.ndim in (1, 2), f"{matrix.shape}, {data.shape}")
    cutoff = float(attrs.get("rcond", -1))
    if attrs.get("new_default"):
        name = "finfoEps64" if matrix.dtype == np.float64 else "finfoEps32"
        cutoff = float(attrs.get(name, 0.0)) * max(matrix.shape)
    elif cutoff < 0:
        cutoff = float(np.finfo(matrix.dtype).eps) / 2
    result, left, rank, lengths = np.linalg.lstsq(matrix.astype(np.float64), data.astype(np.float64), cutoff)
    dtype = matrix.dtype
    return result.astype(dtype), left.astype(dtype), np.asarray(rank, np.int64), lengths.astype(dtype)


OPERATORS: Mapping[str, Reference] = {
    "_npi_lstsq": lstsq,
    "_npi_matrix_rank": matrix_rank,
    "_npi_matrix_rank_none_tol": matrix_rank,
    "_npi_qr": qr,
}
