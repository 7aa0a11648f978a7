"""Cases of _npi_pad."""

from __future__ import annotations

from tests.equivalence.case import Case, case, data, values
from tests.equivalence.numpy_style import np_shape

NAN, INF = float("nan"), float("inf")
ODD = values(3, NAN, 2, 1, NAN, INF, -1, -INF, NAN, shape=(3, 3))
ALL = ("constant", "edge", "reflect", "symmetric", "maximum", "minimum")

CASES: tuple[Case, ...] = (
    *(case("_npi_pad", mode, data(2, 3), pad_width=((1, 2), (0, 1)), mode=mode) for mode in ALL[:2]),
    *(case("_npi_pad", f"{mode}_far", data(2, 3, kind="distinct"), pad_width=((3, 1), (7, 6)), mode=mode)
      for mode in ALL),
    *(case("_npi_pad", f"{mode}_one", data(1, 3), pad_width=((2, 2), (1, 0)), mode=mode) for mode in ALL),
    *(case("_npi_pad", f"{mode}_vector", data(4), pad_width=(2, 3), mode=mode) for mode in ALL),
    *(case("_npi_pad", f"{mode}_rank_4", data(2, 1, 2, 3), pad_width=((0, 0), (1, 1), (1, 0), (0, 2)), mode=mode)
      for mode in ALL),
    *(case("_npi_pad", f"{mode}_{dtype}", data(2, 2, dtype=dtype), pad_width=((1, 0), (0, 1)), mode=mode)
      for mode in ALL for dtype in ("int32", "int8", "bool", "float16", "float64")),
    case("_npi_pad", "value", data(2, 3), pad_width=((1, 2), (0, 1)), constant_value=7.5),
    case("_npi_pad", "crops", data(2, 3), pad_width=((-1, 2), (0, -1)), mode="constant"),
    case("_npi_pad", "value_wraps", data(2, 2, dtype="int8"), pad_width=((1, 0), (0, 1)), constant_value=300),
    case("_npi_pad", "value_is_cut", data(2, 2, dtype="int32"), pad_width=((1, 0), (0, 1)), constant_value=-2.7),
    case("_npi_pad", "value_is_true", data(2, 2, dtype="bool"), pad_width=((1, 0), (0, 1)), constant_value=0.5),
    case("_npi_pad", "value_overflows", data(2, 2, dtype="float16"), pad_width=((1, 0), (0, 1)), constant_value=1e6),
    case("_npi_pad", "value_nan", data(2, 2), pad_width=((1, 0), (0, 1)), constant_value=NAN),
    case("_npi_pad", "odd_is_even", data(2, 3), pad_width=((1, 2), (0, 0)), mode="reflect", reflect_type="odd"),
    case("_npi_pad", "nothing", data(2, 3), pad_width=((0, 0), (0, 0)), mode="symmetric"),
    case("_npi_pad", "maximum_nan", ODD, pad_width=((1, 1), (2, 1)), mode="maximum"),
    case("_npi_pad", "minimum_nan", ODD, pad_width=((1, 1), (2, 1)), mode="minimum"),
    np_shape(case("_npi_pad", "no_elements", data(0, 2), pad_width=((1, 0), (0, 1)), mode="constant")),
    np_shape(case("_npi_pad", "reflect_no_elements", data(0, 2), pad_width=((0, 0), (0, 1)), mode="reflect")),
)  # fmt: skip

REFUSED: tuple[Case, ...] = (
    np_shape(case("_npi_pad", "no_axes", data(), pad_width=(), mode="constant")),
    case("_npi_pad", "one_pair", data(2, 3), pad_width=((1, 2),), mode="constant"),
    case("_npi_pad", "numbers", data(2, 3), pad_width=(1, 2), mode="constant"),
)
