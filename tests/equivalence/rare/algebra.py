"""Cases of linear algebra beyond products."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from tests.equivalence.case import Case, Input, case, data, values

NAN = float("nan")
OFFSETS = (-2, -1, 0, 1, 2)
SINGLE = values(4.0, NAN, 0.5, 2.0, shape=(2, 2), name="A")


def matrices(*names: str, shapes: tuple[tuple[int, int], ...], dtype: str = "float32") -> tuple[Input, ...]:
    """Matrices by name."""
    return tuple(data(*shape, name=name, dtype=dtype) for name, shape in zip(names, shapes, strict=True))


def pair(
    batch: tuple[int, ...], size: int, other: int, *, rightside: bool = False, dtype: str = "float32"
) -> tuple[Input, Input]:
    """A square matrix and what it multiplies."""
    shape = (other, size) if rightside else (size, other)
    return data(*batch, size, size, name="A", dtype=dtype), data(*batch, *shape, name="B", dtype=dtype)


CASES: tuple[Case, ...] = (
    case("_linalg_det", "matrix", data(4, 4, name="A")),
    case("_linalg_det", "1x1", data(1, 1, name="A")),
    case("_linalg_det", "batch", data(3, 2, 3, 3, name="A")),
    case("_linalg_det", "float64", data(2, 5, 5, name="A", dtype="float64")),
    *(case("_linalg_extractdiag", f"offset{offset}", data(2, 4, 4, name="A"), offset=offset) for offset in OFFSETS),
    case("_linalg_extractdiag", "matrix", data(3, 3, name="A", dtype="float64")),
    *(case("_linalg_makediag", f"offset{offset}", data(2, 3, name="A"), offset=offset) for offset in OFFSETS),
    case("_linalg_makediag", "vector", data(3, name="A", dtype="float64")),
    case("_linalg_makediag", "special", values(NAN, float("inf"), -0.0, name="A"), offset=1),
    case("_linalg_makediag", "deep", data(2, 1, 2, 3, name="A")),
    *(case(f"_linalg_{op}", f"{offset}_{lower}", source, offset=offset, lower=lower)
      for op, source in (("extracttrian", data(2, 4, 4, name="A")), ("maketrian", data(2, 6, name="A")))
      for offset, lower in product(OFFSETS, (True, False))),
    case("_linalg_extracttrian", "matrix", data(3, 3, name="A", dtype="float64")),
    case("_linalg_maketrian", "vector", data(10, name="A", dtype="float64")),
    case("_linalg_sumlogdiag", "matrix", data(3, 3, name="A", kind="positive")),
    case("_linalg_sumlogdiag", "batch", data(2, 2, 3, 3, name="A", dtype="float64", kind="positive")),
    case("_linalg_sumlogdiag", "special", values(-1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 1.0, 5.0, shape=(2, 2, 2), name="A")),
    replace(case("_linalg_sumlogdiag", "np_shape", data(3, 3, name="A", kind="positive")), np_shape=True),
    *(case("_linalg_trmm", f"{transpose}_{rightside}_{lower}", *pair((2,), 3, 4, rightside=rightside), alpha=-1.5,
           transpose=transpose, rightside=rightside, lower=lower)
      for transpose, rightside, lower in product((False, True), repeat=3)),
    case("_linalg_trmm", "matrix", *pair((), 3, 2, dtype="float64")),
    case("_linalg_trmm", "of_0", values(4.0, float("nan"), float("inf"), 2.0, shape=(2, 2), name="A"),
         data(2, 3, name="B"), alpha=0),
    case("_linalg_trmm", "unread", SINGLE, data(2, 3, name="B")),
    case("khatri_rao", "two", *matrices("arg0", "arg1", shapes=((2, 3), (4, 3))), num_args=2),
    case("khatri_rao", "three", *matrices("a", "b", "c", shapes=((2, 2), (1, 2), (3, 2)), dtype="float64"), num_args=3),
    case("khatri_rao", "one", data(2, 3, name="arg0"), num_args=1),
)  # fmt: skip

REFUSED: tuple[Case, ...] = (
    case("_linalg_det", "not square", data(2, 3, name="A")),
    case("_linalg_extractdiag", "not_square", data(2, 3, name="A")),
    case("_linalg_extractdiag", "offset", data(3, 3, name="A"), offset=3),
    case("_linalg_extractdiag", "half", data(3, 3, name="A", dtype="float16")),
    case("_linalg_extracttrian", "offset", data(3, 3, name="A"), offset=-3),
    case("_linalg_makediag", "integers", data(3, name="A", dtype="int32")),
    case("_linalg_maketrian", "no_triangle", data(5, name="A")),
    case("_linalg_sumlogdiag", "not_square", data(2, 3, name="A")),
    case("_linalg_trmm", "batch", data(2, 3, 3, name="A"), data(1, 3, 2, name="B")),
    case("_linalg_trmm", "sizes", data(3, 3, name="A"), data(2, 3, name="B")),
    case("khatri_rao", "columns", *matrices("arg0", "arg1", shapes=((2, 3), (4, 2))), num_args=2),
    case("khatri_rao", "columns_of_one", *matrices("arg0", "arg1", shapes=((2, 1), (4, 3))), num_args=2),
    case("khatri_rao", "integers", *(data(2, 2, name=name, dtype="int32") for name in ("arg0", "arg1")), num_args=2),
)
