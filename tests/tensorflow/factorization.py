"""Factors and inverses of matrices, and systems of equations."""

from __future__ import annotations

from itertools import product

from tests.equivalence.case import Input
from tests.tensorflow.case import Case, case, data, values

BOTH = ("float32", "float64")


def dominant(*shape: int, dtype: str = "float32") -> Input:
    """Matrices that are far from singular."""
    return data(*shape, dtype=dtype, kind="dominant")


CASES = (
    *(case("Cholesky", dtype, data(2, 4, 4, dtype=dtype, kind="definite"), open_axes="batch") for dtype in BOTH),
    case("Cholesky", "matrix", data(3, 3, kind="definite"), open_axes=""),
    *(case("MatrixInverse", f"{dtype}_{adjoint}", dominant(2, 3, 4, 4, dtype=dtype), adjoint=adjoint, open_axes="batch")
      for dtype, adjoint in product(BOTH, (False, True))),
    case("MatrixInverse", "matrix", dominant(7, 7), open_axes=""),
    case("MatrixInverse", "pivot", values(0, 2, 1, 1, 0, 3, 4, 5, 0, shape=(3, 3)), open_axes=""),
    *(case("MatrixSolve", f"{dtype}_{adjoint}", dominant(2, 3, 3, dtype=dtype), data(2, 3, 4, dtype=dtype),
           adjoint=adjoint, open_axes="batch")
      for dtype, adjoint in product(BOTH, (False, True))),
    case("MatrixSolve", "matrix", dominant(5, 5), data(5, 1), open_axes=""),
    *(case("MatrixTriangularSolve", f"{lower}_{adjoint}", dominant(2, 3, 3), data(2, 3, 4), lower=lower,
           adjoint=adjoint, open_axes="batch")
      for lower, adjoint in product((False, True), repeat=2)),
    case("MatrixTriangularSolve", "float64", dominant(5, 5, dtype="float64"), data(5, 2, dtype="float64"),
         open_axes=""),
    case("MatrixTriangularSolve", "unread", values(4, float("nan"), 0.5, 2, shape=(2, 2)), data(2, 3), open_axes=""),
)  # fmt: skip

REFUSED: tuple[Case, ...] = (
    case("Cholesky", "float16", data(3, 3, dtype="float16"), reason="float16"),
    case("MatrixInverse", "rows", data(2, 3), reason="square"),
    case("MatrixTriangularSolve", "batches", dominant(2, 3, 3), data(3, 3, 4), reason="do not fit"),
)
