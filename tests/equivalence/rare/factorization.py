"""Cases of matrices' factors."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from tests.equivalence.case import Case, Input, case, data, values

BOTH = ("float32", "float64")


def definite(*shape: int, name: str = "A", dtype: str = "float32") -> Input:
    """Positive definite matrices, of which the triangles differ a little."""
    return data(*shape, name=name, dtype=dtype, kind="definite")


def dominant(*shape: int, name: str = "A", dtype: str = "float32") -> Input:
    """Matrices that are far from singular."""
    return data(*shape, name=name, dtype=dtype, kind="dominant")


def system(
    batch: tuple[int, ...], size: int, other: int, *, rightside: bool = False, dtype: str = "float32"
) -> tuple[Input, Input]:
    """A square matrix and the right sides."""
    shape = (other, size) if rightside else (size, other)
    return dominant(*batch, size, size, dtype=dtype), data(*batch, *shape, name="B", dtype=dtype)


WELL_POSED = values(
    9.0, 1.0, -2.0, 0.5, 1.5, 8.0, 0.0, -1.0, 0.5, 2.0, 7.0, 1.0, -1.5, 0.0, 1.0, 6.0, shape=(4, 2, 2), name="a"
)
SINGULAR = values(1.0, 2.0, 2.0, 4.0, 0.0, 3.0, 3.0, 1.0, shape=(2, 2, 2), name="A")

CASES: tuple[Case, ...] = (
    *(case(op, f"{lower}_{dtype}", definite(2, 4, 4, dtype=dtype), lower=lower)
      for op in ("_linalg_potrf", "_linalg_potri", "_npi_cholesky")
      for lower, dtype in product((True, False), BOTH)),
    *(case(op, "matrix", definite(3, 3)) for op in ("_linalg_potrf", "_linalg_potri", "_npi_cholesky")),
    case("_linalg_potrf", "one", definite(1, 1)),
    case("_linalg_potrf", "deep", definite(2, 1, 3, 7, 7)),
    *(case("_linalg_trsm", f"{transpose}_{rightside}_{lower}", *system((2,), 3, 4, rightside=rightside), alpha=-1.5,
           transpose=transpose, rightside=rightside, lower=lower)
      for transpose, rightside, lower in product((False, True), repeat=3)),
    case("_linalg_trsm", "matrix", *system((), 5, 1, dtype="float64")),
    case("_linalg_trsm", "of_0", values(0.0, float("nan"), float("inf"), 0.0, shape=(2, 2), name="A"),
         data(2, 3, name="B"), alpha=0),
    case("_linalg_trsm", "unread", values(4.0, float("nan"), 0.5, 2.0, shape=(2, 2), name="A"), data(2, 3, name="B")),
    *(case("_linalg_inverse", f"batch_{dtype}", dominant(2, 3, 4, 4, dtype=dtype)) for dtype in BOTH),
    case("_linalg_inverse", "matrix", dominant(7, 7)),
    case("_linalg_inverse", "one", dominant(1, 1)),
    case("_linalg_inverse", "pivot", values(0.0, 2.0, 1.0, 1.0, 0.0, 3.0, 4.0, 5.0, 0.0, shape=(3, 3), name="A")),
    *(case("_linalg_slogdet", f"batch_{dtype}", data(2, 3, 4, 4, name="A", dtype=dtype)) for dtype in BOTH),
    case("_linalg_slogdet", "matrix", data(5, 5, name="A")),
    case("_linalg_slogdet", "singular", SINGULAR),
    case("_linalg_slogdet", "large", values(1e30, 2.0, 3.0, 1e30, shape=(2, 2), name="A")),
    replace(case("_linalg_slogdet", "np_shape", data(3, 3, name="A")), np_shape=True),
    *(case("_linalg_gelqf", f"batch_{dtype}", data(2, 3, 5, name="A", dtype=dtype)) for dtype in BOTH),
    case("_linalg_gelqf", "square", data(2, 4, 4, name="A")),
    case("_linalg_gelqf", "row", data(1, 4, name="A")),
    case("_linalg_gelqf", "triangle", values(2.0, 0.0, 0.0, -1.0, 3.0, 0.0, shape=(2, 3), name="A")),
    *(case("_linalg_syevd", f"batch_{dtype}", data(2, 4, 4, name="A", dtype=dtype)) for dtype in BOTH),
    case("_linalg_syevd", "odd", data(7, 7, name="A")),
    case("_linalg_syevd", "one", data(1, 1, name="A")),
    *(case("_npi_solve", f"batch_{dtype}", *system((2, 1), 3, 4, dtype=dtype)) for dtype in BOTH),
    case("_npi_solve", "vector", dominant(3, 3), data(3, name="B")),
    case("_npi_solve", "vectors", dominant(2, 3, 3), data(2, 3, name="B")),
    case("_npi_solve", "integers", dominant(3, 3, dtype="int32"), data(3, 2, name="B", dtype="int64")),
    case("_npi_solve", "mixed", dominant(3, 3), data(3, 2, name="B", dtype="float64")),
    *(case("_npi_tensorinv", f"{ind}_{dtype}", dominant(6, 6, name="a", dtype=dtype), ind=ind)
      for ind, dtype in product((1,), BOTH)),
    case("_npi_tensorinv", "rows", WELL_POSED, ind=1),
    case("_npi_tensorinv", "default", replace(WELL_POSED, shape=(2, 2, 4))),
    case("_npi_tensorsolve", "matrix", dominant(4, 4, name="a"), data(4, name="b")),
    case("_npi_tensorsolve", "rows", replace(WELL_POSED, shape=(2, 2, 4)), data(2, 2, name="b")),
    case("_npi_tensorsolve", "columns", WELL_POSED, data(4, name="b", dtype="float64")),
    *(case("_npi_tensorsolve", f"order_{axes}", dominant(4, 4, name="a"), data(4, name="b"), a_axes=axes)
      for axes in ("(1, 0)", "(1, -2)", "(-1, -2)", "(0, 1)", "(-2,)")),
    case("_npi_tensorsolve", "moved", replace(WELL_POSED, shape=(2, 4, 2)), data(4, name="b"), a_axes="(0, -1)"),
    *(case(op, f"{uplo}_{dtype}", data(2, 4, 4, name="A", dtype=dtype), UPLO=uplo)
      for op in ("_npi_eigh", "_npi_eigvalsh") for uplo, dtype in product("LU", BOTH)),
    case("_npi_eigvalsh", "integers", data(3, 3, name="A", dtype="int32"), UPLO="L"),
    *(case("_npi_svd", f"batch_{dtype}", data(2, 3, 5, name="A", dtype=dtype)) for dtype in BOTH),
    case("_npi_svd", "square", data(6, 6, name="A")),
    case("_npi_svd", "row", data(2, 1, 4, name="A")),
    *(case("_npi_pinv_scalar_rcond", f"{rows}_{columns}_{rcond}", data(2, rows, columns, name="A"), rcond=rcond)
      for (rows, columns), rcond in product(((2, 4), (4, 3), (3, 3)), (1e-15, 0.5))),
    case("_npi_pinv_scalar_rcond", "float64", data(4, 2, name="A", dtype="float64")),
    case("_npi_pinv", "vector", data(2, 3, 4, name="A"), values(0.9, 0.01, name="rcond")),
    case("_npi_pinv", "one", data(2, 4, 3, name="A"), values(0.3, name="rcond")),
    replace(case("_npi_pinv", "scalar", data(3, 2, name="A"), values(0.3, shape=(), name="rcond")), np_shape=True),
    case("_linalg_syevd", "diagonal", values(3.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 2.0, shape=(3, 3), name="A")),
)  # fmt: skip

REFUSED: tuple[Case, ...] = (
    case("_linalg_potrf", "not_square", data(2, 3, name="A")),
    case("_linalg_potrf", "half", definite(2, 2, dtype="float16")),
    case("_linalg_potri", "integers", data(2, 2, name="A", dtype="int32")),
    case("_linalg_trsm", "batch", dominant(2, 3, 3), data(1, 3, 2, name="B")),
    case("_linalg_trsm", "sizes", dominant(3, 3), data(2, 3, name="B")),
    case("_linalg_inverse", "half", dominant(2, 2, dtype="float16")),
    case("_linalg_slogdet", "not_square", data(2, 3, name="A")),
    case("_linalg_gelqf", "tall", data(3, 2, name="A")),
    case("_linalg_syevd", "not_square", data(2, 3, name="A")),
    case("_npi_cholesky", "vector", data(3, name="A")),
    case("_npi_solve", "half", *system((), 3, 2, dtype="float16")),
    case("_npi_solve", "batch", dominant(3, 2, 2), data(2, 2, name="B")),
    case("_npi_tensorinv", "integers", dominant(3, 3, name="a", dtype="int32"), ind=1),
    case("_npi_tensorinv", "not_square", data(2, 3, 4, name="a"), ind=1),
    case("_npi_tensorinv", "none", data(3, 3, name="a"), ind=0),
    case("_npi_tensorsolve", "not_square", data(2, 3, name="a"), data(2, name="b")),
    case("_npi_eigh", "half", data(2, 2, name="A", dtype="float16"), UPLO="L"),
    case("_npi_eigvalsh", "not_square", data(2, 3, name="A"), UPLO="L"),
    case("_npi_svd", "tall", data(3, 2, name="A")),
    case("_npi_pinv_scalar_rcond", "half", data(3, 2, name="A", dtype="float16")),
)
