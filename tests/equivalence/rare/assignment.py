"""Cases of operators that write into a copy of a tensor, and of the arithmetic of places."""

from __future__ import annotations

from typing import Any

from tests.equivalence.case import Case, Input, case, data, values
from tests.equivalence.numpy_style import np_shape

# Slices of (4, 5), and the shapes that they have.
SLICES: tuple[tuple[str, tuple[object, ...], tuple[object, ...], tuple[object, ...], tuple[int, int]], ...] = (
    ("inside", (1, 1), (3, 4), (), (2, 3)),
    ("rows", (1,), (3,), (), (2, 5)),
    ("steps", (0, 1), (4, 5), (2, 2), (2, 2)),
    ("back", (3,), (0,), (-1,), (3, 5)),
    ("back_two", (None, -1), (None, None), (-1, -2), (4, 3)),
    ("from_end", (-3, None), (None, -1), (), (3, 4)),
    ("beyond", (-9,), (9,), (), (4, 5)),
    ("columns", (None, 2), (None, 4), (), (4, 2)),
)


def taken(begin: object, end: object, step: object) -> dict[str, Any]:
    """The attributes of a slice."""
    return {"begin": begin, "end": end} | ({"step": step} if step else {})


def places(*numbers: float, shape: tuple[int, ...] | None = None, dtype: str = "int64", name: str = "data") -> Input:
    """An input of places."""
    return values(*numbers, shape=shape, dtype=dtype, name=name)


def copied(variant: str, old: tuple[int, ...], *numbers: float, dtype: str = "float32", of: str = "float32") -> Case:
    """A case of _contrib_index_copy."""
    rows = data(len(numbers), *old[1:], name="new_tensor", dtype=of)
    index = places(*numbers, dtype=dtype, name="index_vector")
    return case("_contrib_index_copy", variant, data(*old, name="old_tensor", dtype=of), index, rows)


CASES: tuple[Case, ...] = (
    *(case("_slice_assign", name, data(4, 5, name="lhs"), data(*shape, name="rhs"), **taken(begin, end, step))
      for name, begin, end, step, shape in SLICES),
    *(case("_slice_assign_scalar", name, data(4, 5), scalar=9.5, **taken(begin, end, step))
      for name, begin, end, step, shape in SLICES),
    case("_slice_assign", "int32", data(4, name="lhs", dtype="int32"), data(2, name="rhs", dtype="int32"),
         begin=(1,), end=(3,)),
    np_shape(case("_slice_assign", "nothing", data(3, name="lhs"), data(0, name="rhs"), begin=(1,), end=(1,))),
    case("_slice_assign_scalar", "int8_wraps", data(3, dtype="int8"), scalar=300.7, begin=(1,), end=(2,)),
    case("_slice_assign_scalar", "float16", data(3, dtype="float16"), scalar=1e6, begin=(1,), end=(2,)),
    case("_slice_assign_scalar", "nothing", data(4, 5), scalar=7, begin=(1, 1), end=(1, 4)),
    np_shape(case("_slice_assign_scalar", "everything", data(3), scalar=7, begin=(), end=())),
    np_shape(case("_slice_assign_scalar", "no_axes", data(), scalar=7, begin=(), end=())),
    np_shape(case("_slice_assign_scalar", "no_elements", data(0, 3), scalar=7, begin=(0,), end=(1,))),
    copied("floats", (4, 2), 3, 0),
    copied("int32", (4, 2, 2), 3, 1, dtype="int32"),
    copied("int64", (4,), 2, 0, dtype="int64"),
    copied("fractions", (4, 2), 1.7, 2.2),
    copied("int8", (4, 2), 1, 2, of="int8"),
    copied("twice", (4, 2), 3, 3),
    *(case("_unravel_index", dtype, places(0, 1, 3, 5, dtype=dtype), shape=(2, 3))
      for dtype in ("float32", "int32", "int64", "float16", "float64", "int8", "uint8")),
    case("_unravel_index", "vector", places(0, 1, 3), shape=(4,)),
    case("_unravel_index", "rank_3", places(0, 23, 7, 11), shape=(2, 3, 4)),
    case("_unravel_index", "outside", places(6, 7, 100), shape=(2, 3)),
    case("_unravel_index", "negative", places(-1, -2, -7), shape=(2, 3)),
    case("_unravel_index", "fractions", places(1.7, 2.2, -0.5, dtype="float32"), shape=(2, 3)),
    case("_unravel_index", "first_open", places(1, 2, 33), shape=(-1, 3)),
    *(case("_ravel_multi_index", dtype, places(0, 1, 1, 2, 0, 1, shape=(2, 3), dtype=dtype), shape=(2, 3))
      for dtype in ("float32", "int32", "int64", "float16", "float64", "int8", "uint8")),
    case("_ravel_multi_index", "outside", places(0, 1, 5, 2, 0, -1, shape=(2, 3)), shape=(2, 3)),
    case("_ravel_multi_index", "rank_3", places(0, 1, 2, 0, 3, 1, shape=(3, 2)), shape=(2, 3, 4)),
    case("_ravel_multi_index", "vector", places(0, 1, 2, shape=(1, 3)), shape=(4,)),
    case("_ravel_multi_index", "fractions", places(0.7, 1.2, 1.9, -0.4, shape=(2, 2), dtype="float32"), shape=(2, 3)),
    case("_ravel_multi_index", "int8_wraps", places(100, 100, 3, 3, shape=(2, 2), dtype="int8"), shape=(101, 100)),
    case("_ravel_multi_index", "large", places(4999, 4998, 4999, 4997, shape=(2, 2), dtype="float32"),
         shape=(5000, 5000)),
    case("_contrib_index_array", "all", data(2, 3)),
    case("_contrib_index_array", "one", data(2, 3, 2), axes=(1,)),
    case("_contrib_index_array", "two", data(2, 3, 2), axes=(-1, 0)),
    case("_contrib_index_array", "twice", data(2, 3), axes=(0, 0)),
    case("_contrib_index_array", "none", data(2, 3), axes=None),
    case("_contrib_index_array", "int8", data(2, dtype="int8")),
    np_shape(case("_contrib_index_array", "no_elements", data(0, 3))),
    np_shape(case("_contrib_index_array", "no_axes", data())),
    case("_CrossDeviceCopy", "float32", data(2, 3)),
)  # fmt: skip

REFUSED: tuple[Case, ...] = (
    case("_slice_assign", "other_shape", data(4, 5, name="lhs"), data(1, 1, name="rhs"), begin=(1, 1), end=(3, 4)),
    case("_slice_assign", "dtypes", data(4, name="lhs"), data(2, name="rhs", dtype="int32"), begin=(1,), end=(3,)),
    case("_slice_assign_scalar", "too_many", data(4, 5), scalar=1, begin=(0, 0, 0), end=(1, 1, 1)),
    case("_contrib_index_copy", "matrix_of_places", data(4, 2, name="old_tensor"),
         places(3, 1, shape=(2, 1), name="index_vector"), data(2, 2, name="new_tensor")),
    case("_contrib_index_copy", "other_count", data(4, 2, name="old_tensor"), places(3, 1, name="index_vector"),
         data(3, 2, name="new_tensor")),
    case("_unravel_index", "no_shape", places(1, 2)),
    np_shape(case("_unravel_index", "no_axes", places(3, shape=()), shape=(2, 3))),
    case("_ravel_multi_index", "data_of_rank_3", places(*range(8), shape=(2, 2, 2)), shape=(2, 3)),
    case("_ravel_multi_index", "rows", places(*range(6), shape=(3, 2)), shape=(2, 3)),
)  # fmt: skip
