"""Cases of MXNet's NumPy-style operators that join tensors and take them apart."""

from __future__ import annotations

from typing import Any

from tests.equivalence.case import Case, Input, case, data
from tests.equivalence.numpy_style import np_shape


def arrays(*shapes: tuple[int, ...], stem: str = "arg", dtype: str = "float32") -> tuple[Input, ...]:
    """Operands of these shapes."""
    return tuple(data(*shape, name=f"{stem}{slot}", dtype=dtype) for slot, shape in enumerate(shapes))


def joined(op: str, variant: str, *shapes: tuple[int, ...], dtype: str = "float32", **attrs: Any) -> Case:
    """A case of an operator that joins all its operands."""
    stem = "data" if op in ("_npi_concatenate", "_npi_hstack", "_npi_dstack") else "arg"
    return case(op, variant, *arrays(*shapes, stem=stem, dtype=dtype), num_args=len(shapes), **attrs)


def numpy_joined(op: str, variant: str, *shapes: tuple[int, ...], **attrs: Any) -> Case:
    """The same under numpy's shape semantics."""
    return np_shape(joined(op, variant, *shapes, **attrs))


CASES: tuple[Case, ...] = (
    joined("_npi_concatenate", "first", (2, 3), (4, 3)),
    joined("_npi_concatenate", "last", (2, 3), (2, 1), (2, 2), axis=-1),
    joined("_npi_concatenate", "none", (2, 3), (4,), axis=None),
    joined("_npi_concatenate", "one", (2, 3), axis=1),
    joined("_npi_concatenate", "one_none", (2, 3), axis=None),
    joined("_npi_concatenate", "int8", (2,), (3,), dtype="int8"),
    joined("_npi_concatenate", "bool", (2, 1), (2, 2), dtype="bool", axis=1),
    numpy_joined("_npi_concatenate", "none_no_axes", (), (4,), (), axis=None),
    numpy_joined("_npi_concatenate", "no_elements", (0, 3), (2, 3)),
    numpy_joined("_npi_concatenate", "none_no_elements", (0, 3), (2, 3), axis=None),
    numpy_joined("_npi_concatenate", "all_empty", (0,), (0,)),
    *(joined("_npi_stack", f"axis_{place}", (2, 3), (2, 3), axis=axis)
      for place, axis in enumerate((0, 1, 2, -1, -3))),
    joined("_npi_stack", "one", (2, 3)),
    joined("_npi_stack", "three_int32", (2,), (2,), (2,), dtype="int32"),
    joined("_npi_stack", "bool", (2,), (2,), dtype="bool"),
    numpy_joined("_npi_stack", "no_axes", (), ()),
    numpy_joined("_npi_stack", "no_elements", (0, 2), (0, 2), axis=1),
    joined("_npi_vstack", "vectors", (3,), (3,)),
    joined("_npi_vstack", "mixed", (3,), (2, 3)),
    joined("_npi_vstack", "rank_3", (2, 3, 2), (1, 3, 2)),
    joined("_npi_vstack", "one", (2, 3)),
    joined("_npi_vstack", "one_vector", (3,)),
    numpy_joined("_npi_vstack", "no_axes", (), ()),
    numpy_joined("_npi_vstack", "no_elements", (0, 3), (2, 3)),
    numpy_joined("_npi_vstack", "empty_vectors", (0,), (0,)),
    joined("_npi_hstack", "vectors", (3,), (2,)),
    joined("_npi_hstack", "matrices", (2, 3), (2, 1)),
    joined("_npi_hstack", "rank_4", (1, 2, 2, 2), (1, 1, 2, 2)),
    joined("_npi_hstack", "one", (2, 3)),
    joined("_npi_hstack", "dim", (2, 3), (2, 3), dim=0),
    joined("_npi_hstack", "int64", (2, 1), (2, 3), dtype="int64"),
    numpy_joined("_npi_hstack", "no_axes", (), (2,)),
    numpy_joined("_npi_hstack", "one_without_axes", ()),
    numpy_joined("_npi_hstack", "no_elements", (0,), (2,)),
    joined("_npi_dstack", "vectors", (3,), (3,)),
    joined("_npi_dstack", "matrices", (2, 3), (2, 3)),
    joined("_npi_dstack", "mixed", (2, 3), (2, 3, 2)),
    joined("_npi_dstack", "rank_4", (1, 2, 2, 2), (1, 2, 1, 2)),
    joined("_npi_dstack", "one", (2, 3)),
    joined("_npi_dstack", "uint8", (2, 3), (2, 3), dtype="uint8"),
    numpy_joined("_npi_dstack", "no_axes", (), ()),
    numpy_joined("_npi_dstack", "no_elements", (0, 3), (0, 3)),
    joined("_npi_column_stack", "vectors", (3,), (3,)),
    joined("_npi_column_stack", "mixed", (2,), (2, 3)),
    joined("_npi_column_stack", "rank_3", (2, 3, 2), (2, 1, 2)),
    joined("_npi_column_stack", "one", (3,)),
    joined("_npi_column_stack", "float64", (3,), (3,), dtype="float64"),
    numpy_joined("_npi_column_stack", "no_axes", (), (1, 2)),
    numpy_joined("_npi_column_stack", "no_elements", (0,), (0, 2)),
)  # fmt: skip

SPLIT: tuple[Case, ...] = (
    case("_npi_hsplit", "indices", data(2, 4, 3), indices=(0, 1, 3)),
    case("_npi_hsplit", "sections", data(2, 6), indices=(), sections=3),
    case("_npi_hsplit", "unequal", data(2, 5), indices=(), sections=3),
    case("_npi_hsplit", "axis_means_nothing", data(2, 4), indices=(0, 1), axis=0),
    case("_npi_hsplit", "squeeze", data(2, 3), indices=(), sections=3, squeeze_axis=True),
    case("_npi_hsplit", "vector", data(5, dtype="int32"), indices=(0, 2)),
    case("_npi_hsplit", "whole", data(2, 3), indices=(0,)),
    np_shape(case("_npi_hsplit", "more_than_elements", data(2, 2), indices=(), sections=3)),
    np_shape(case("_npi_hsplit", "vector_squeezed", data(3), indices=(), sections=3, squeeze_axis=True)),
    np_shape(case("_npi_hsplit", "no_elements", data(0, 4), indices=(), sections=2)),
    case("_npi_dsplit", "sections", data(2, 3, 6), indices=(), sections=2, axis=2),
    case("_npi_dsplit", "unequal", data(2, 1, 5), indices=(), sections=3, axis=2),
    case("_npi_dsplit", "rank_4", data(1, 4, 2, 3), indices=(), sections=2, axis=2),
    case("_npi_dsplit", "indices", data(2, 3, 4), indices=(0, 1, 3), axis=-1),
    case("_npi_dsplit", "squeeze", data(2, 3, 3), indices=(), sections=3, squeeze_axis=True, axis=2),
    case("_npi_dsplit", "whole", data(2, 3, 4), indices=(0,), axis=2),
    np_shape(case("_npi_dsplit", "no_elements", data(0, 3, 2), indices=(), sections=2, axis=2)),
    case("_split_v2", "unequal", data(4, 2), indices=(), axis=0, sections=3),
)
CASES = (*CASES, *SPLIT)

REFUSED: tuple[Case, ...] = (
    np_shape(case("_npi_hsplit", "no_axes", data(), indices=(), sections=1)),
    case("_npi_hsplit", "late_start", data(2, 4), indices=(1, 3)),
    case("_npi_hsplit", "falling", data(2, 4), indices=(0, 3, 2)),
    case("_npi_hsplit", "outside", data(2, 4), indices=(0, 9)),
    case("_npi_dsplit", "rank_2", data(2, 4), indices=(), sections=2),
    case("_npi_dsplit", "late_start", data(2, 4, 4), indices=(1, 3), axis=2),
    case("_npi_dsplit", "not_one", data(2, 4, 4), indices=(), sections=2, squeeze_axis=True, axis=2),
    case("_split_v2", "late_start", data(4, 2), indices=(1, 2), axis=0),
    joined("_npi_concatenate", "outside", (2, 3), (2, 3), axis=2),
    joined("_npi_concatenate", "unlike", (2, 3), (1, 3), axis=1),
    case("_npi_concatenate", "dtypes", data(2, name="data0"), data(2, name="data1", dtype="float64"), num_args=2),
    numpy_joined("_npi_concatenate", "no_axes", (), ()),
    joined("_npi_stack", "outside", (2, 3), (2, 3), axis=3),
    joined("_npi_vstack", "unlike", (3,), (2,)),
    joined("_npi_hstack", "unlike", (2, 3, 1), (2, 3, 2)),
    joined("_npi_hstack", "ranks", (3,), (2, 3)),
    joined("_npi_dstack", "unlike", (3,), (2,)),
    joined("_npi_column_stack", "unlike", (3,), (2,)),
)
