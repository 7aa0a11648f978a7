"""Reductions: axes, kept dimensions, dtypes."""

from __future__ import annotations

from tests.tensorflow.case import Case, case, data, ints

OPS = ("Max", "Mean", "Min", "Prod", "Sum")

CASES = (
    *(case(op, "one_axis", data(2, 3, 4), ints(1)) for op in OPS),
    *(case(op, "keep", data(2, 3, 4), ints(0, -1), keep_dims=True) for op in OPS),
    *(case(op, "all_axes", data(2, 3, 4), ints(0, 1, 2)) for op in OPS),
    *(case(op, "scalar_axis", data(2, 3, 4), ints(2, shape=())) for op in OPS),
    *(case(op, "no_axes", data(2, 3), ints()) for op in OPS),
    *(case(op, "int32", data(2, 3, 4, dtype="int32"), ints(1)) for op in ("Max", "Min", "Prod", "Sum")),
    *(case(op, "float64", data(2, 3, dtype="float64"), ints(1)) for op in OPS),
    case("Mean", "spatial", data(2, 4, 5, 3), ints(1, 2)),
)
REFUSED: tuple[Case, ...] = ()
