"""Factors of matrices in numpy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import (
    NP_SHAPE,
    Array,
    Attributes,
    Reference,
    normalized_axes,
    require,
)
from graphir.converters.mxnet.reference.rare.algebra import require_pair, require_square, require_wide, triangle


def _mirrored(data: Array, lower: bool) -> Array:
    """Return the symmetric matrices of which a triangle is given, in float64."""
    stored = triangle(data.astype(np.float64), lower)
    return np.asarray(stored + np.swapaxes(stored, -1, -2) - stored * np.eye(data.shape[-1]))


def potrf(attrs: Attributes, data: Array) -> Array:
    """Return the Cholesky factor of which the triangle is read."""
    require_square(data)
    lower = attrs.get("lower", True)
    try:
        result = np.linalg.cholesky(_mirrored(data, lower))
    except np.linalg.LinAlgError as error:
        raise ValueError(str(error)) from None
    return (result if lower else np.swapaxes(result, -1, -2)).astype(data.dtype)


def potri(attrs: Attributes, data: Array) -> Array:
    """Return the inverse of the matrix with that factor."""
    require_square(data)
    lower = attrs.get("lower", True)
    factor = triangle(data.astype(np.float64), lower)
    other = np.swapaxes(factor, -1, -2)
    return np.linalg.inv(factor @ other if lower else other @ factor).astype(data.dtype)


def trsm(attrs: Attributes, matrix: Array, data: Array) -> Array:
    """Return the solution of a triangular system, row by row."""
    require_pair(matrix, data)
    lower, transpose = attrs.get("lower", True), attrs.get("transpose", False)
    factor, sides = triangle(matrix.astype(np.float64), lower), attrs.get("alpha", 1.0) * data.astype(np.float64)
    if attrs.get("rightside", False):
        transpose, sides = not transpose, np.swapaxes(sides, -1, -2)
    require(matrix.shape[-1] == sides.shape[-2], f"shapes {matrix.shape} and {data.shape}")
    factor = np.swapaxes(factor, -1, -2) if transpose else factor
    result, done = np.zeros_like(sides), list[int]()
    for row in range(factor.shape[-1])[:: 1 if lower != transpose else -1]:
        known = np.einsum("...k,...kn->...n", factor[..., row, done], result[..., done, :])
        result[..., row, :] = (sides[..., row, :] - known) / factor[..., row, row, None]
        done.append(row)
    result = np.swapaxes(result, -1, -2) if attrs.get("rightside", False) else result
    return (result if attrs.get("alpha", 1.0) else np.zeros_like(result)).astype(data.dtype)


def inverse(attrs: Attributes, data: Array) -> Array:
    """Return the inverse."""
    require_square(data)
    try:
        return np.linalg.inv(data.astype(np.float64)).astype(data.dtype)
    except np.linalg.LinAlgError as error:
        raise ValueError(str(error)) from None


def slogdet(attrs: Attributes, data: Array) -> tuple[Array, Array]:
    """Sign and logarithm of the determinant; those of a single matrix have the shape (1,)."""
    require_square(data)
    sign, logarithm = np.linalg.slogdet(data.astype(np.float64))
    shape = data.shape[:-2] if data.ndim > 2 or attrs.get(NP_SHAPE) else (1,)
    return np.asarray(sign, data.dtype).reshape(shape), np.asarray(logarithm, data.dtype).reshape(shape)


def gelqf(attrs: Attributes, data: Array) -> tuple[Array, Array]:
    """Q and L, with the signs that LAPACK's reflections have."""
    require_wide(data)
    require(data.ndim >= 2 and data.shape[-2] <= data.shape[-1], f"shape {data.shape}")
    q, r = np.linalg.qr(np.swapaxes(data.astype(np.float64), -1, -2))
    return np.swapaxes(q, -1, -2).astype(data.dtype), np.swapaxes(r, -1, -2).astype(data.dtype)


def signed(rows: Array) -> Array:
    """1 or -1 for each row: the sign of its largest component, the first of equals."""
    indices = np.argmax(np.abs(rows), -1)[..., None]
    return np.where(np.take_along_axis(rows, indices, -1) < 0, -1.0, 1.0)


def eigen(data: Array, lower: bool) -> tuple[Array, Array]:
    """Eigenvalues, and eigenvectors as rows."""
    result, columns = np.linalg.eigh(_mirrored(data, lower))
    rows = np.swapaxes(columns, -1, -2)
    return result, rows * signed(rows)


def syevd(attrs: Attributes, data: Array) -> tuple[Array, Array]:
    """Eigenvectors as rows, and eigenvalues, of the lower triangle."""
    require_square(data)
    result, rows = eigen(data, lower=True)
    return rows.astype(data.dtype), result.astype(data.dtype)


def _widened(*arrays: Array) -> list[Array]:
    """Arrays in the dtype of the result: float64 where they are integers or differ."""
    for array in arrays:
        require(array.dtype != np.float16 and array.dtype.kind in "fiu", f"dtype {array.dtype}")
    dtypes = {array.dtype for array in arrays}
    wide = np.dtype(np.float64) if len(dtypes) > 1 or arrays[0].dtype.kind != "f" else arrays[0].dtype
    return [array.astype(wide) for array in arrays]


def solve(attrs: Attributes, matrix: Array, data: Array) -> Array:
    """Return the solution of systems."""
    matrix, data = _widened(matrix, data)
    sides = data[..., None] if data.ndim == matrix.ndim - 1 else data
    require_pair(matrix, sides)
    require(matrix.shape[-1] == sides.shape[-2], f"shapes {matrix.shape} and {data.shape}")
    return np.linalg.solve(matrix, sides).reshape(data.shape)


def tensorinv(attrs: Attributes, data: Array) -> Array:
    """Return the inverse of a tensor."""
    require_wide(data)
    count = attrs.get("ind", 2)
    require(count > 0, f"ind {count}")
    rows, columns = (int(np.prod(sizes)) for sizes in (data.shape[:count], data.shape[count:]))
    require(rows == columns, f"ind {count} of {data.shape}")
    return np.linalg.tensorinv(data.astype(np.float64), count).astype(data.dtype)


def tensorsolve(attrs: Attributes, tensor: Array, data: Array) -> Array:
    """Return the solution of a tensor equation."""
    tensor, data = _widened(tensor, data)
    axes = normalized_axes(attrs.get("a_axes", None) or (), tensor.ndim)
    tensor = np.moveaxis(tensor, axes, range(tensor.ndim - len(axes), tensor.ndim))
    shape = tensor.shape[data.ndim :]
    require(tensor.size == data.size**2 and int(np.prod(shape)) == data.size, f"{tensor.shape} and {data.shape}")
    matrix = tensor.reshape(data.size, data.size).astype(np.float64)
    return np.linalg.solve(matrix, data.ravel().astype(np.float64)).reshape(shape).astype(data.dtype)


def eigh(attrs: Attributes, data: Array) -> tuple[Array, Array]:
    """Eigenvalues, and eigenvectors as columns."""
    (data,) = _widened(data)
    require_square(data)
    result, rows = eigen(data, attrs["UPLO"] != "U")
    return result.astype(data.dtype), np.swapaxes(rows, -1, -2).astype(data.dtype)


def svd(attrs: Attributes, data: Array) -> tuple[Array, Array, Array]:
    """U, the singular values, and V."""
    require_wide(data)
    require(data.ndim >= 2 and data.shape[-2] <= data.shape[-1], f"shape {data.shape}")
    left, lengths, rows = np.linalg.svd(data.astype(np.float64), full_matrices=False)
    signs = signed(rows)
    left = left * np.swapaxes(signs, -1, -2)
    return left.astype(data.dtype), lengths.astype(data.dtype), (rows * signs).astype(data.dtype)


def pinv(attrs: Attributes, data: Array, cutoff: Array | None = None) -> Array:
    """Return the pseudoinverse."""
    require_wide(data)
    require(data.ndim >= 2, f"shape {data.shape}")
    require(cutoff is None or cutoff.dtype == data.dtype, "rcond of another dtype")
    limit = attrs["rcond"] if cutoff is None else cutoff
    return np.linalg.pinv(data.astype(np.float64), limit).astype(data.dtype)


OPERATORS: Mapping[str, Reference] = {
    "_linalg_gelqf": gelqf,
    "_linalg_inverse": inverse,
    "_linalg_potrf": potrf,
    "_linalg_potri": potri,
    "_linalg_slogdet": slogdet,
    "_linalg_syevd": syevd,
    "_linalg_trsm": trsm,
    "_npi_cholesky": potrf,
    "_npi_eigh": eigh,
    "_npi_eigvalsh": lambda attrs, data: eigh(attrs, data)[0],
    "_npi_pinv": pinv,
    "_npi_pinv_scalar_rcond": pinv,
    "_npi_solve": solve,
    "_npi_svd": svd,
    "_npi_tensorinv": tensorinv,
    "_npi_tensorsolve": tensorsolve,
}
