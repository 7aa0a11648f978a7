"""What is computed by factors of matrices, in torch."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from graphir.ops.factorization import LQ, SVD, Cholesky, Inverse, SignLogDet, Solve, SymmetricEigen, TriangularSolve
from tests.converters.pytorch.cases import Case, Check, uniform

A = (uniform(2, 4, 4) + 9 * np.eye(4)).astype(np.float32)
SINGULAR = np.array([[1, 2], [2, 4]], np.float32)

POSITIVE = (A @ A.swapaxes(-1, -2)).astype(np.float32)
WIDE = uniform(2, 3, 5)


def positive_rows(rows: Any) -> Any:
    """Return the signs that make the largest component of each row positive."""
    return np.sign(np.take_along_axis(rows, np.abs(rows).argmax(-1)[..., None], -1))


def eigen(a: Any) -> list[Any]:
    """Return the eigenvectors as rows, and the eigenvalues."""
    values, vectors = np.linalg.eigh(a)
    rows = vectors.swapaxes(-1, -2)
    return [rows * positive_rows(rows), values]


def svd(a: Any) -> list[Any]:
    """Return singular vectors and values with the signs that the operator has."""
    u, s, v = np.linalg.svd(a, full_matrices=False)
    return [u * positive_rows(v).swapaxes(-1, -2), s, v * positive_rows(v)]


def lq(a: Any) -> list[Any]:
    """Return the factors of the transposed matrix, transposed."""
    q, r = np.linalg.qr(a.swapaxes(-1, -2))
    return [q.swapaxes(-1, -2), r.swapaxes(-1, -2)]


UPPER = np.linalg.cholesky(POSITIVE).swapaxes(-1, -2)
CASES = [
    Case(Cholesky(), np.tril(POSITIVE) + 7 * np.triu(A, 1), batch=True, tolerance=1e-4,
         expected=[np.linalg.cholesky(POSITIVE)]),
    Case(Cholesky(lower=False), np.triu(POSITIVE) + 7 * np.tril(A, -1), tolerance=1e-4, expected=[UPPER]),
    Case(Cholesky(), -np.eye(2, dtype=np.float32), expected=[np.array([[np.nan, 0], [np.nan] * 2], np.float32)]),
    Case(Inverse(), A, batch=True, expected=[np.linalg.inv(A)], tolerance=1e-4),
    Case(Inverse(), A[0].astype(np.float64), expected=[np.linalg.inv(A[0].astype(np.float64))]),
    Case(Inverse(), uniform(1, 1, low=1), expected=[1 / uniform(1, 1, low=1)]),
    Case(Solve(), A, WIDE.reshape(2, 5, 3)[:, :4], tolerance=1e-4,
         expected=[np.linalg.solve(A, WIDE.reshape(2, 5, 3)[:, :4])]),
    Case(Solve(), SINGULAR, SINGULAR[:, :1], expected=[np.full((2, 1), np.nan, np.float32)]),
    Case(Solve(), A[1], A[0], batch=True, expected=[np.linalg.solve(A[1], A[0])], tolerance=1e-4),
    Case(LQ(), WIDE.astype(np.float64), expected=lq(WIDE.astype(np.float64))),
    Case(LQ(), WIDE, batch=True, expected=lq(WIDE), tolerance=1e-4),
    Case(LQ(), A[0], expected=lq(A[0]), tolerance=1e-4),
    Case(SymmetricEigen(), POSITIVE, batch=True, expected=eigen(POSITIVE), tolerance=1e-3),
    Case(SymmetricEigen(), np.tril(POSITIVE)[1], expected=eigen(POSITIVE[1]), tolerance=1e-3),
    Case(SymmetricEigen(), POSITIVE[:1, :3, :3].copy(), expected=eigen(POSITIVE[:1, :3, :3]), tolerance=1e-3),
    Case(SVD(), WIDE.astype(np.float64), expected=svd(WIDE.astype(np.float64)), tolerance=1e-9),
    Case(SVD(), WIDE, batch=True, expected=svd(WIDE), tolerance=1e-4),
    Case(SVD(), A[0], expected=svd(A[0]), tolerance=1e-4),
    *(Case(TriangularSolve(lower, transpose, rightside), A, uniform(2, 3, 4) if rightside else uniform(2, 4, 3),
           batch=lower, tolerance=1e-4)
      for lower, transpose, rightside in product((True, False), repeat=3)),
    Case(TriangularSolve(), A[0], uniform(4, 1), text="torch.linalg.solve_triangular(in0, in1, upper=False)"),
    *(Case(SignLogDet(), uniform(2, 3, 3, dtype=dtype), expected=np.linalg.slogdet(uniform(2, 3, 3, dtype=dtype)),
           tolerance=1e-4)
      for dtype in ("float32", "float64")),
    Case(SignLogDet(), A, batch=True, expected=np.linalg.slogdet(A), text="torch.linalg.slogdet(x)"),
    Case(SignLogDet(), SINGULAR, expected=[np.float32(0), np.float32(-np.inf)]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_numbers_and_text(case: Case, check: Check) -> None:
    check(case)
