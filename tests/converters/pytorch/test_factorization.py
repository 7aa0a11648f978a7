"""What is computed by factors of matrices, in torch."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from graphir.ops.factorization import SignLogDet, TriangularSolve
from tests.converters.pytorch.cases import Case, Check, uniform

A = (uniform(2, 4, 4) + 9 * np.eye(4)).astype(np.float32)
SINGULAR = np.array([[1, 2], [2, 4]], np.float32)

CASES = [
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
