"""Cases of the norms of MXNet's NumPy-style interface."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tests.equivalence.case import Case, Input, case, data, values

NAN, INF = float("nan"), float("inf")
SPECIAL = values(1, NAN, 3, INF, -INF, 2, INF, 1, 2, 1, 2, -INF, 0, 0, 0, -0.0, 0, 1, 1e-30, 1e-30, 0, shape=(7, 3))

WHOLE = (3, -3, 1, 0, 5, 2, 5, 5, 0, 0, 0, 0, 7, 0, 0, -6, 2, 4, 8, 8, 1, 1, 1, 1)
INTEGERS = ("int8", "uint8", "int32", "int64")


def whole(dtype: str) -> Input:
    """Rows in which the largest magnitude occurs once to four times, zeros among them."""
    held = tuple(number % 256 if dtype == "uint8" else number for number in WHOLE)
    return values(*held, shape=(6, 4), dtype=dtype)


def equal(count: int, dtype: str) -> Input:
    """The number 3, so often that a count of eight bits wraps around."""
    return values(*(3,) * count, shape=(1, count), dtype=dtype)


def named(variant: str, source: Input, attrs: Mapping[str, object]) -> Case:
    """A case of attributes by name."""
    return Case("_npi_norm", {name: str(value) for name, value in attrs.items()}, (source,), variant)


ROWS: tuple[Case, ...] = (
    *(
        case("_npi_norm", f"flat_{len(shape)}_{keep}", data(*shape), flag=-2, keepdims=keep)
        for shape in ((), (5,), (2, 3, 4))
        for keep in (False, True)
    ),
    *(
        case("_npi_norm", f"vector_{order}_{keep}", data(2, 3, 4), ord=order, axis=(1,), keepdims=keep, flag=flag)
        for order in (0, 0.5, 1, 2, 3, -1, -2)
        for keep, flag in ((False, -1), (True, 1))
    ),
    *(case("_npi_norm", f"special_{order}", SPECIAL, ord=order, axis=(1,)) for order in (0, 1, 2, 3, -1, -2)),
    *(
        case("_npi_norm", f"matrix_{order}_{keep}_{axes[0]}", data(2, 3, 4), ord=order, axis=axes, keepdims=keep)
        for order in (1, -1)
        for keep in (False, True)
        for axes in ((0, 2), (2, 0), (-1, -2))
    ),
    case("_npi_norm", "only_axis", data(5), ord=3),
    case("_npi_norm", "last_axes", data(2, 3, 4), ord=1),
    case("_npi_norm", "frobenius", data(2, 3, 4), flag=1, axis=(0, 2)),
    case("_npi_norm", "frobenius_kept", data(2, 3, 4), flag=1, axis=(-1, 0), keepdims=True),
    case("_npi_norm", "frobenius_last", data(2, 3, 4), flag=1),
    *(case("_npi_norm", f"matrix_of_rows_{order}", data(2, 3, 4), ord=order, axis=(0, 2)) for order in (0, 3, -3, 0.5)),
    *(
        case("_npi_norm", f"{dtype}_{order}_{keep}", whole(dtype), ord=order, axis=(1,), keepdims=keep)
        for dtype in (*INTEGERS, "bool")
        for order, keep in ((0, False), (0.5, True), (1, False), (2, True), (3, False), (-1, True), (-2, False))
    ),
    *(
        case("_npi_norm", f"{dtype}_matrix_{order}", whole(dtype), ord=order, axis=axes)
        for dtype in INTEGERS
        for order, axes in ((1, (0, 1)), (-1, (1, 0)), (0, (0, 1)), (3, (-2, -1)))
    ),
    *(
        named(f"{dtype}_{name}", whole(dtype), attrs)
        for dtype in (*INTEGERS, "bool")
        for name, attrs in (
            ("flat", {"flag": -2}), ("flat_kept", {"flag": -2, "keepdims": True}), ("frobenius", {"flag": 1}),
            ("frobenius_of_vectors", {"flag": 1, "axis": (1,)}),
        )
    ),
    *(
        case("_npi_norm", f"{dtype}_{count}_{order}", equal(count, dtype), ord=order, axis=(1,))
        for dtype in ("int8", "uint8")
        for count in (200, 256, 300)
        for order in (0, 0.5, 1, 2, -1)
    ),
    case("_npi_norm", "int64_wide", values(2.0**60, 3, -(2.0**60), 5, dtype="int64"), ord=2),
    case("_npi_norm", "all_axes", data(3, 4), flag=-2, axis=(1, 0), keepdims=True),
    *(case("_npi_norm", f"nuclear_{order}", data(3, 4), flag=2, ord=order) for order in (-2, 1, -1, 0)),
    *(
        case("_npi_norm", f"flag_{flag}_{order}", data(3, 4), flag=flag, ord=order)
        for flag in (0, 3)
        for order in (1, 2)
    ),
    *(case("_npi_norm", f"{dtype}_tenth", equal(60, dtype), ord=0.1, axis=(1,)) for dtype in INTEGERS),
    *(case("_npi_norm", f"flat_{count}", equal(count, "int8"), flag=-2) for count in (200, 300)),
    case("_npi_norm", "int32_one", values(-3, shape=(), dtype="int32"), flag=-2),
    *(
        named(
            f"svd_{name}_{dtype}_{'x'.join(map(str, shape))}_{axes[0]}", data(*shape, dtype=dtype),
            {"axis": axes, **attrs},
        )
        for name, attrs in (
            ("sum", {"flag": 2}), ("largest", {"ord": 2}), ("least", {"ord": -2, "keepdims": True}),
            ("sum_kept", {"flag": 2, "keepdims": True}),
        )
        for dtype, shape, axes in (
            ("float32", (3, 4), (0, 1)), ("float64", (2, 3, 4), (0, 2)), ("float32", (5, 3, 2), (-1, 0)),
            ("float32", (2, 3, 3), (2, 1)), ("float32", (0, 3), (0, 1)),
        )
    ),
    *(
        case("_npi_norm", f"{dtype}_nothing_{order}", data(0, 3, dtype=dtype), ord=order, axis=axes)
        for dtype in ("float32", "float16", "int32", "int8")
        for order, axes in ((0, (0,)), (1, (0, 1)), (2, (0,)), (3, (0,)), (-1, (0,)))
    ),
    *(case("_npi_norm", f"{dtype}_nothing", data(0, 3, dtype=dtype), flag=-2) for dtype in ("float32", "int8")),
    *(case("_npi_norm", f"{dtype}", data(3, 4, dtype=dtype), ord=3, axis=(1,)) for dtype in ("float16", "float64")),
)

CASES: tuple[Case, ...] = tuple(replace(row, np_shape=True) for row in ROWS)

REFUSED: tuple[Case, ...] = tuple(
    replace(row, np_shape=True)
    for row in (
        case("_npi_norm", "three axes", data(2, 3, 4), axis=(0, 1, 2)),
        case("_npi_norm", "nuclear vector", data(3, 4), axis=(1,), flag=2),
        case("_npi_norm", "axis with all", data(3, 4), axis=(1,), flag=-2),
        case("_npi_norm", "tall matrix", data(4, 3), ord=2),
        case("_npi_norm", "singular values of integers", data(3, 4, dtype="int32"), flag=2),
        case("_npi_norm", "largest of a vector", data(3, 4), axis=(1,), ord=INF),
        case("_npi_norm", "matrix of bool", data(3, 4, dtype="bool"), ord=1),
        case("_npi_norm", "no axes", data(), flag=-1),
    )
)
