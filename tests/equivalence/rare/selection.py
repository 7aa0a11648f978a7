"""Cases of operators that choose elements by their values or places, and of those that insert some."""

from __future__ import annotations

from tests.equivalence.case import Case, Input, case, data, values
from tests.equivalence.numpy_style import np_shape

NUMBERS = (0, 1, 0, 2, 0, 3)
TWICE = (3, 1, 2, 3, 1, 1)
ROWS = values(1, 2, 1, 2, 0, 5, shape=(3, 2))
FLAGS = ("return_index", "return_inverse", "return_counts")


def arr(*shape: int, dtype: str = "float32") -> Input:
    """The data that something is inserted into or deleted from."""
    return data(*shape, name="arr", dtype=dtype)


def new(*shape: int, dtype: str = "float32") -> Input:
    """The values that are inserted."""
    return data(*shape, name="values", dtype=dtype)


def obj(*numbers: float, shape: tuple[int, ...] | None = None, dtype: str = "int64") -> Input:
    """The places."""
    return values(*numbers, name="obj", shape=shape, dtype=dtype)


def masked(variant: str, *mask: float, dtype: str = "float32", of: str = "float32") -> Case:
    """A case of _contrib_boolean_mask."""
    return case("_contrib_boolean_mask", variant, data(4, 2, dtype=of), values(*mask, name="index", dtype=dtype))


CHOSEN: tuple[Case, ...] = (
    *(case("_npx_nonzero", dtype, values(*NUMBERS, shape=(2, 3), name="x", dtype=dtype))
      for dtype in ("float32", "float16", "float64", "int8", "uint8", "int32", "int64", "bool")),
    case("_npx_nonzero", "vector", values(0.5, 0.2, 0, float("nan"), -0.0, name="x")),
    case("_npx_nonzero", "rank_3", values(0, 1, 1, 0, 0, 0, 1, 1, shape=(2, 2, 2), name="x")),
    case("_npx_nonzero", "none", values(0, 0, 0, name="x")),
    masked("float32", 1, 0, 0, 1),
    masked("fractions", 2, 0, -1, 0.5),
    masked("none", 0, 0, 0, 0),
    *(masked(dtype, 1, 0, 0, 1, dtype=dtype) for dtype in ("int32", "int64", "uint8", "bool", "float64")),
    masked("of_int8", 1, 0, 0, 1, of="int8"),
    masked("of_bool", 1, 0, 0, 1, of="bool"),
    *(case("_npi_unique", dtype, values(*TWICE, dtype=dtype)) for dtype in ("float32", "float64", "int8", "int64")),
    *(case("_npi_unique", flag, values(*TWICE), **{flag: True}) for flag in FLAGS),
    *(case("_npi_unique", f"all_{dtype}", values(*TWICE, dtype=dtype), **dict.fromkeys(FLAGS, True))
      for dtype in ("int32", "uint8", "float16")),
    case("_npi_unique", "flat", ROWS, **dict.fromkeys(FLAGS, True)),
    case("_npi_unique", "rows", ROWS, axis=0, **dict.fromkeys(FLAGS, True)),
    case("_npi_unique", "columns", ROWS, axis=-1, return_counts=True),
    case("_npi_unique", "rank_3", values(1, 2, 1, 2, 1, 2, 0, 0, shape=(2, 2, 2)), axis=1, return_inverse=True),
)  # fmt: skip

DELETED: tuple[Case, ...] = (
    *(case("_npi_delete", f"at_{place}".replace("-", "minus_"), arr(3, 4), int_ind=place, axis=1)
      for place in (0, 1, 3, -1, -3)),
    case("_npi_delete", "flat", arr(3, 4), int_ind=5),
    case("_npi_delete", "int8", arr(3, dtype="int8"), int_ind=1),
    *(case("_npi_delete", name, arr(6), start=start, stop=stop, step=step)
      for name, start, stop, step in (
          ("slice", 1, 4, 1),
          ("steps", 1, 6, 2),
          ("back", -1, -5, -2),
          ("beyond", -99, 2, 1),
          ("nothing", 4, 2, 1),
          ("every_second", None, None, 2),
      )),
    case("_npi_delete", "slice_and_number", arr(6), int_ind=1, step=2),
    case("_npi_delete", "all", arr(3, 4), step=1, axis=1),
    case("_npi_delete", "slice_of_axis", arr(3, 4), start=1, stop=99, step=1, axis=-1),
    *(case("_npi_delete", f"places_{dtype}", arr(6), obj(1, 3, dtype=dtype))
      for dtype in ("int64", "int32", "float32")),
    case("_npi_delete", "places_twice", arr(6), obj(1, 1, 0)),
    case("_npi_delete", "places_outside", arr(6), obj(1, 9, -1, 6)),
    case("_npi_delete", "places_of_axis", arr(3, 4), obj(1, 3), axis=1),
    case("_npi_delete", "places_matrix", arr(6), obj(1, 2, 3, 0, shape=(2, 2))),
    case("_npi_delete", "places_fractions", arr(6), obj(1.7, -0.5, dtype="float32")),
)  # fmt: skip

INSERTED: tuple[Case, ...] = (
    *(case("_npi_insert_scalar", f"at_{place}".replace("-", "minus_"), arr(6), new(2), int_ind=place)
      for place in (0, 1, 6, -1, -6)),
    case("_npi_insert_scalar", "number", arr(3, 4), int_ind=1, val=9.5),
    case("_npi_insert_scalar", "number_of_axis", arr(3), int_ind=1, val=9.5, axis=0),
    case("_npi_insert_scalar", "number_is_cut", arr(3, dtype="int32"), int_ind=1, val=9.7),
    case("_npi_insert_scalar", "number_wraps", arr(3, dtype="int8"), int_ind=1, val=300),
    case("_npi_insert_scalar", "column", arr(3, 4), new(3), int_ind=1, axis=1),
    case("_npi_insert_scalar", "columns", arr(3, 4), new(3, 1), int_ind=1, axis=1),
    case("_npi_insert_scalar", "rows", arr(3, 4), new(2, 4), int_ind=-1, axis=0),
    case("_npi_insert_scalar", "row", arr(3, 4), new(4), int_ind=3, axis=-2),
    case("_npi_insert_scalar", "inner", arr(2, 3, 4), new(2, 4), int_ind=1, axis=1),
    case("_npi_insert_scalar", "last", arr(2, 3, 4), new(2, 3), int_ind=1, axis=2),
    case("_npi_insert_scalar", "more_axes", arr(3, 4), new(1, 2), int_ind=1),
    case("_npi_insert_scalar", "int64_values", arr(3), new(2, dtype="int64"), int_ind=1),
    np_shape(case("_npi_insert_scalar", "no_axes", arr(6), new(), int_ind=1)),
    np_shape(case("_npi_insert_scalar", "no_axes_of_axis", arr(3, 4), new(), int_ind=1, axis=1)),
    np_shape(case("_npi_insert_scalar", "into_no_axes", arr(), int_ind=0, val=3)),
    case("_npi_insert_slice", "three", arr(6), new(3), start=1, stop=4, step=1),
    case("_npi_insert_slice", "one_for_all", arr(6), new(1), start=1, stop=4, step=1),
    case("_npi_insert_slice", "back", arr(6), new(3), start=5, stop=0, step=-2),
    case("_npi_insert_slice", "beyond", arr(6), new(1), start=-4, stop=99, step=1),
    case("_npi_insert_slice", "nowhere", arr(6), new(1), start=4, stop=2, step=1),
    case("_npi_insert_slice", "all_at_one", arr(6), new(3), start=1, stop=2, step=1),
    case("_npi_insert_slice", "number", arr(6), start=1, stop=2, step=1, val=9.5),
    case("_npi_insert_slice", "flat", arr(3, 4), new(2), start=1, stop=5, step=2),
    case("_npi_insert_slice", "block", arr(3, 4), new(3, 3), start=0, stop=3, step=1, axis=1),
    case("_npi_insert_slice", "row_for_all", arr(3, 4), new(3), start=0, stop=3, step=1, axis=1),
    case("_npi_insert_slice", "column_for_all", arr(3, 4), new(3, 1), start=0, stop=3, step=1, axis=1),
    case("_npi_insert_slice", "block_at_one", arr(3, 4), new(3, 2), start=1, stop=2, step=1, axis=1),
    case("_npi_insert_tensor", "two", arr(6), new(2), obj(1, 3)),
    case("_npi_insert_tensor", "unordered", arr(6), new(3), obj(3, 1, 6)),
    case("_npi_insert_tensor", "twice", arr(6), new(3), obj(1, 1, 0)),
    case("_npi_insert_tensor", "negative", arr(6), new(2), obj(-1, 0)),
    case("_npi_insert_tensor", "one_for_all", arr(6), new(1), obj(1, 3)),
    case("_npi_insert_tensor", "all_at_one", arr(6), new(3), obj(2)),
    case("_npi_insert_tensor", "number", arr(6), obj(2), val=9.5),
    case("_npi_insert_tensor", "int32_values", arr(6), new(2, dtype="int32"), obj(1, 3)),
    case("_npi_insert_tensor", "block", arr(3, 4), new(3, 2), obj(1, 3), axis=1),
    case("_npi_insert_tensor", "rows", arr(3, 4), new(2, 4), obj(3, 1), axis=0),
    case("_npi_insert_tensor", "row_for_all", arr(2, 3, 4), new(3, 2), obj(1, 3), axis=2),
    case("_npi_insert_tensor", "block_at_one", arr(3, 4), new(3, 2), obj(-1), axis=1),
    case("_npi_insert_tensor", "flat", arr(3, 4), new(2), obj(1, 3)),
    np_shape(case("_npi_insert_tensor", "place_without_axes", arr(6), new(3), obj(2, shape=()))),
    np_shape(case("_npi_insert_tensor", "nowhere", arr(6), new(0), obj())),
)  # fmt: skip

CASES: tuple[Case, ...] = (*CHOSEN, *DELETED, *INSERTED)

REFUSED: tuple[Case, ...] = (
    case("_contrib_boolean_mask", "axis", data(4, 2), values(0, 1, name="index"), axis=1),
    case("_contrib_boolean_mask", "matrix", data(4, 2), values(0, 1, 1, 1, shape=(4, 1), name="index")),
    case("_contrib_boolean_mask", "other_count", data(4, 2), values(0, 1, 1, name="index")),
    case("_npi_unique", "outside", data(3, 2), axis=2),
    case("_npi_delete", "outside", arr(6), int_ind=6),
    case("_npi_delete", "no_step", arr(6), start=1, stop=4, step=0),
    case("_npi_insert_scalar", "outside", arr(6), new(2), int_ind=7),
    case("_npi_insert_scalar", "number_of_axis_of_two", arr(3, 4), int_ind=1, val=9.5, axis=1),
    case("_npi_insert_scalar", "matrix", arr(3, 4), new(2, 2), int_ind=1),
    case("_npi_insert_slice", "no_step", arr(6), new(3), start=1, stop=4),
    case("_npi_insert_slice", "other_count", arr(6), new(3), start=1, stop=4, step=2),
    case("_npi_insert_slice", "number_at_three", arr(6), start=1, stop=4, step=1, val=9.5),
    case("_npi_insert_tensor", "int32", arr(6), new(2), obj(1, 3, dtype="int32")),
    case("_npi_insert_tensor", "other_count", arr(6), new(3), obj(1, 2)),
    case("_npi_insert_tensor", "matrix", arr(6), new(2), obj(1, 3, shape=(1, 2))),
)
