"""Cases of the norms of MXNet's NumPy-style interface."""

from __future__ import annotations

from dataclasses import replace

from tests.equivalence.case import Case, case, data, values

NAN, INF = float("nan"), float("inf")
SPECIAL = values(1, NAN, 3, INF, -INF, 2, INF, 1, 2, 1, 2, -INF, 0, 0, 0, -0.0, 0, 1, 1e-30, 1e-30, 0, shape=(7, 3))

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
    *(case("_npi_norm", f"{dtype}", data(3, 4, dtype=dtype), ord=3, axis=(1,)) for dtype in ("float16", "float64")),
)

CASES: tuple[Case, ...] = tuple(replace(row, np_shape=True) for row in ROWS)

REFUSED: tuple[Case, ...] = tuple(
    replace(row, np_shape=True)
    for row in (
        case("_npi_norm", "three axes", data(2, 3, 4), axis=(0, 1, 2)),
        case("_npi_norm", "nuclear vector", data(3, 4), axis=(1,), flag=2),
        case("_npi_norm", "axis with all", data(3, 4), axis=(1,), flag=-2),
        case("_npi_norm", "no axes", data(), flag=-1),
    )
)
