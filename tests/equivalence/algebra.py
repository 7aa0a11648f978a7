"""Cases of linear algebra beyond products."""

from __future__ import annotations

from tests.equivalence.case import Case, case, data

CASES: tuple[Case, ...] = (
    case("_linalg_det", "matrix", data(4, 4, name="A")),
    case("_linalg_det", "1x1", data(1, 1, name="A")),
    case("_linalg_det", "batch", data(3, 2, 3, 3, name="A")),
    case("_linalg_det", "float64", data(2, 5, 5, name="A", dtype="float64")),
)

REFUSED: tuple[Case, ...] = (case("_linalg_det", "not square", data(2, 3, name="A")),)
