"""Cases of reductions, arg-reductions and sorting."""

from __future__ import annotations

from dataclasses import replace

from tests.equivalence.case import Case, case, data, values
from tests.equivalence.numpy_style import np_shape

CUBE = data(2, 3, 4)
DISTINCT = data(2, 3, 4, kind="distinct")
NAN, INFINITY = float("nan"), float("inf")
HOLES = values(1.0, NAN, 2.0, -3.0, NAN, 0.5, shape=(2, 3))

PLAIN = (
    *(case(op, "all", CUBE) for op in ("sum", "mean", "max", "min", "prod", "norm")),
    *(case(op, "axis_1", CUBE, axis=1) for op in ("sum", "mean", "max", "min", "prod", "norm")),
    *(
        case(op, "negative_keepdims", CUBE, axis=-1, keepdims=True)
        for op in ("sum", "mean", "max", "min", "prod", "norm")
    ),
    *(case(op, "two_axes", CUBE, axis=(0, 2)) for op in ("sum", "mean", "max", "min", "prod", "norm")),
    *(case(op, "exclude", CUBE, axis=1, exclude=True) for op in ("sum", "mean", "max", "min", "prod")),
    *(case(op, "no_axes_excluded", CUBE, axis=(), exclude=True) for op in ("sum", "mean", "max", "min", "prod")),
    *(case(op, "no_axes_excluded_kept", CUBE, axis=(), exclude=True, keepdims=True) for op in ("sum", "nansum")),
    *(case(op, "exclude_tuple", CUBE, axis=(0, -1), exclude=True, keepdims=True) for op in ("sum", "mean", "max")),
    *(case(op, "empty_axis", CUBE, axis=()) for op in ("sum", "mean", "max")),
    *(case(op, "all_keepdims", CUBE, keepdims=True) for op in ("sum", "mean", "max", "norm")),
    *(case(op, "int32", data(2, 3, dtype="int32"), axis=1) for op in ("sum", "max", "min")),
    case("sum", "float16", data(4, 50, dtype="float16"), axis=1, tolerance=2e-3),
    case("mean", "float64", data(2, 3, dtype="float64"), axis=0),
    case("nansum", "axis_1", HOLES, axis=1),
    case("nansum", "all", HOLES),
    case("nansum", "nan_behind_infinity",
         values(1, INFINITY, NAN, 2, INFINITY, NAN, 3, 1, INFINITY, shape=(3, 3)), axis=1),
    case("nansum", "nan_behind_infinity_two_axes",
         values(1, INFINITY, NAN, NAN, INFINITY, 1, NAN, NAN, shape=(2, 2, 2)), axis=(1, 2)),
    *(
        np_shape(case(op, f"{dtype}_of_none", data(3, 0, 2, dtype=dtype), axis=1))
        for op in ("sum", "prod", "nansum", "nanprod", "norm")
        for dtype in ("bool", "int32", "float32")
    ),
    np_shape(case("mean", "of_none", data(3, 0, 2), axis=1)),
    np_shape(case("mean", "all_of_none", data(3, 0, 2))),
    np_shape(case("moments", "of_none", data(3, 0, 2), axes=(1,))),
    case("nanprod", "axis_0", HOLES, axis=0),
    case("norm", "l1_all", CUBE, ord=1),
    case("norm", "l1_axis", CUBE, ord=1, axis=1, keepdims=True),
    case("norm", "l2_two_axes_keepdims", CUBE, ord=2, axis=(1, 2), keepdims=True),
    case("sum", "vector", data(5)),
    case("sum", "vector_axis", data(5), axis=0),
    case("mean", "every_axis", CUBE, axis=(0, 1, 2)),
    case("max", "every_axis_keepdims", CUBE, axis=(0, 1, 2), keepdims=True),
    case("prod", "exclude_nothing", CUBE, axis=(0, 1, 2), exclude=True),
    case("norm", "float64", data(2, 3, dtype="float64"), axis=0),
    case("norm", "l1_keepdims_all", CUBE, ord=1, keepdims=True),
    case("moments", "all", CUBE, axes=(0, 1, 2)),
    case("moments", "all_keepdims", CUBE, axes=(0, 1, 2), keepdims=True),
    case("moments", "one_axis", CUBE, axes=(-1,)),
    case("moments", "axes", CUBE, axes=(0, 2)),
    case("moments", "keepdims", CUBE, axes=(1,), keepdims=True),
)

POSITIONS = (
    *(case(op, "axis_1", DISTINCT, axis=1) for op in ("argmax", "argmin")),
    *(case(op, "flattened", DISTINCT) for op in ("argmax", "argmin")),
    *(case(op, "keepdims", DISTINCT, axis=-1, keepdims=True) for op in ("argmax", "argmin")),
    *(case(op, "ties", data(3, 8, kind="bits"), axis=1) for op in ("argmax", "argmin")),
    *(case(op, "float64", data(3, 4, dtype="float64"), axis=0) for op in ("argmax", "argmin")),
    case("argmax", "flattened_keepdims", DISTINCT, keepdims=True),
    case("argmax_channel", "rank_3", DISTINCT),
    case("argmax_channel", "rank_2", data(3, 5, kind="distinct")),
)

ORDER = (
    case("argmax", "vector", data(6, kind="distinct"), axis=0),
    case("argmax", "int32", data(3, 4, dtype="int32"), axis=1),
    case("topk", "mask_flattened", DISTINCT, k=4, ret_typ="mask", axis=None),
    case("topk", "mask_ascending", DISTINCT, k=2, ret_typ="mask", axis=1, is_ascend=True),
    case("topk", "mask_float64", data(3, 4, kind="distinct", dtype="float64"), k=2, ret_typ="mask"),
    case("topk", "float64", data(3, 4, kind="distinct", dtype="float64"), k=2, ret_typ="both", dtype="float64"),
    case("argsort", "int64", DISTINCT, axis=1, dtype="int64"),
    case("sort", "int32", data(3, 4, dtype="int32")),
    case("_np_cumsum", "to_float64", CUBE, axis=2, dtype="float64"),
    case("topk", "default", DISTINCT),
    case("topk", "value", DISTINCT, k=2, ret_typ="value"),
    case("topk", "both", DISTINCT, k=3, ret_typ="both", axis=1),
    case("topk", "both_ascending", DISTINCT, k=2, ret_typ="both", is_ascend=True),
    case("topk", "mask", DISTINCT, k=2, ret_typ="mask"),
    case("topk", "mask_axis_0", DISTINCT, k=1, ret_typ="mask", axis=0),
    case("topk", "indices_int32", DISTINCT, k=2, dtype="int32"),
    case("topk", "indices_int64", DISTINCT, k=2, axis=1, dtype="int64"),
    case("topk", "flattened", DISTINCT, k=5, axis=None, ret_typ="both"),
    case("topk", "k_0_is_all", DISTINCT, k=0, ret_typ="value"),
    case("sort", "default", DISTINCT),
    case("sort", "descending_axis_1", DISTINCT, axis=1, is_ascend=False),
    case("sort", "flattened", DISTINCT, axis=None),
    case("argsort", "default", DISTINCT),
    case("argsort", "descending", DISTINCT, is_ascend=False),
    case("argsort", "axis_0_int32", DISTINCT, axis=0, dtype="int32"),
    case("argsort", "flattened", DISTINCT, axis=None),
    case("_np_cumsum", "axis_1", CUBE, axis=1),
    case("_np_cumsum", "flattened", CUBE),
)

NOTHING = tuple(
    replace(case(op, f"nothing_{dtype}", data(2, 0, 3, dtype=dtype), axis=1), np_shape=True)
    for op in ("sum", "prod")
    for dtype in ("int8", "int32", "int64", "float32")
)
CASES: tuple[Case, ...] = (*PLAIN, *POSITIONS, *ORDER, *NOTHING)

REFUSED: tuple[Case, ...] = (
    case("sum", "axis", CUBE, axis=3),
    case("mean", "repeated_axis", CUBE, axis=(1, 1)),
    case("argmax", "axis", CUBE, axis=3),
    case("topk", "k", CUBE, k=5),
    case("norm", "ord", CUBE, ord=3),
)
