"""Linear algebra in numpy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import NP_SHAPE, Array, Attributes, Reference, require
from graphir.converters.mxnet.reference.linear import by_factor


def require_wide(*arrays: Array) -> None:
    """Refuse dtypes other than float32 and float64."""
    for array in arrays:
        require(array.dtype in (np.float32, np.float64), f"dtype {array.dtype}, expected float32 or float64")


def require_square(data: Array) -> None:
    """Refuse what is no square matrix in the last two axes."""
    require_wide(data)
    require(data.ndim >= 2 and data.shape[-1] == data.shape[-2], f"shape {data.shape}, expected square matrices")


def det(attrs: Attributes, data: Array) -> Array:
    """Return the determinant of the last two axes; that of a single matrix has the shape (1,)."""
    require_square(data)
    result = np.asarray(np.linalg.det(data)).astype(data.dtype)
    return result if result.ndim or attrs.get(NP_SHAPE) else result.reshape(1)


def extractdiag(attrs: Attributes, data: Array) -> Array:
    """Return a diagonal of square matrices."""
    require_square(data)
    offset = attrs.get("offset", 0)
    require(abs(offset) < data.shape[-1], f"offset {offset} of {data.shape}")
    return np.diagonal(data, offset, -2, -1).copy()


def makediag(attrs: Attributes, data: Array) -> Array:
    """Matrices with vectors on a diagonal."""
    require_wide(data)
    require(data.ndim > 0, f"shape {data.shape}")
    offset = attrs.get("offset", 0)
    size = data.shape[-1] + abs(offset)
    result = np.zeros((*data.shape[:-1], size, size), data.dtype)
    for index in range(data.shape[-1]):
        result[..., index + max(-offset, 0), index + max(offset, 0)] = data[..., index]
    return result


def _triangle(attrs: Attributes, size: int) -> tuple[Array, Array]:
    """Rows and columns of the triangle; with an offset it is the one on that side.

    The elements of a lower one come row by row, those of an upper one column by column.
    """
    offset = attrs.get("offset", 0)
    below = attrs.get("lower", True) if offset == 0 else offset < 0
    major, minor = np.divmod(np.arange(size * size), size)
    stored = minor - major <= -abs(offset)
    return (major[stored], minor[stored]) if below else (minor[stored], major[stored])


def extracttrian(attrs: Attributes, data: Array) -> Array:
    """Return the elements of a triangle."""
    require_square(data)
    require(abs(attrs.get("offset", 0)) < data.shape[-1], f"offset {attrs.get('offset')} of {data.shape}")
    rows, columns = _triangle(attrs, data.shape[-1])
    return data[..., rows, columns]


def maketrian(attrs: Attributes, data: Array) -> Array:
    """Matrices with vectors in a triangle."""
    require_wide(data)
    counts = [count for count in range(1, data.shape[-1] + 1) if count * (count + 1) == 2 * data.shape[-1]]
    require(len(counts) == 1, f"{data.shape[-1]} elements make no triangle")
    size = counts[0] + abs(attrs.get("offset", 0))
    result = np.zeros((*data.shape[:-1], size, size), data.dtype)
    rows, columns = _triangle(attrs, size)
    result[..., rows, columns] = data
    return result


def sumlogdiag(attrs: Attributes, data: Array) -> Array:
    """Return the sum of the logarithms of the diagonal; that of a single matrix has the shape (1,)."""
    require_square(data)
    with np.errstate(all="ignore"):
        result = np.log(np.diagonal(data, 0, -2, -1)).sum(-1)
    return np.asarray(result, data.dtype).reshape(data.shape[:-2] or (1,))


def triangle(data: Array, lower: bool) -> Array:
    """Return the triangle with the main diagonal."""
    return np.tril(data) if lower else np.triu(data)


def require_pair(matrix: Array, data: Array) -> None:
    """Refuse operands whose axes before the last two differ, and matrices that are not square."""
    require_square(matrix)
    require(matrix.dtype == data.dtype, f"dtypes {matrix.dtype} and {data.dtype}")
    require(matrix.shape[:-2] == data.shape[:-2] and data.ndim >= 2, f"shapes {matrix.shape} and {data.shape}")


def trmm(attrs: Attributes, matrix: Array, data: Array) -> Array:
    """Return the product with a triangle."""
    require_pair(matrix, data)
    factor = triangle(matrix, attrs.get("lower", True))
    factor = np.swapaxes(factor, -1, -2) if attrs.get("transpose", False) else factor
    pair = (data, factor) if attrs.get("rightside", False) else (factor, data)
    require(pair[0].shape[-1] == pair[1].shape[-2], f"shapes {matrix.shape} and {data.shape}")
    return by_factor(attrs.get("alpha", 1.0), pair[0] @ pair[1]).astype(data.dtype)


def khatri_rao(attrs: Attributes, *matrices: Array) -> Array:
    """Column by column the Kronecker product."""
    require_wide(*matrices)
    require(all(matrix.ndim == 2 for matrix in matrices), f"shapes {[matrix.shape for matrix in matrices]}")
    require(len({matrix.shape[1] for matrix in matrices}) == 1, f"shapes {[matrix.shape for matrix in matrices]}")
    require(len({matrix.dtype for matrix in matrices}) == 1, f"dtypes {[matrix.dtype for matrix in matrices]}")
    result = matrices[0]
    for matrix in matrices[1:]:
        columns = [np.kron(result[:, index], matrix[:, index]) for index in range(matrix.shape[1])]
        result = np.stack(columns, axis=1)
    return result


OPERATORS: Mapping[str, Reference] = {
    "_linalg_det": det,
    "_linalg_extractdiag": extractdiag,
    "_linalg_extracttrian": extracttrian,
    "_linalg_makediag": makediag,
    "_linalg_maketrian": maketrian,
    "_linalg_sumlogdiag": sumlogdiag,
    "_linalg_trmm": trmm,
    "khatri_rao": khatri_rao,
}
