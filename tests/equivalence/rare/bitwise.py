"""Cases of the operators on bits."""

from __future__ import annotations

from tests.equivalence.case import Case, Input, case, data


def pair(left: tuple[int, ...], right: tuple[int, ...], dtype: str) -> tuple[Input, Input]:
    """lhs and rhs with bits of every kind."""
    kind = "integers:0:255" if dtype == "uint8" else "integers:-128:127"
    return data(*left, name="lhs", dtype=dtype, kind=kind), data(*right, name="rhs", dtype=dtype, kind=kind)


BROADCAST = ((2, 3, 4), (3, 1))
BYTES = data(2, 5, dtype="uint8", kind="integers:0:255")
SIGNED = data(2, 5, dtype="int32", kind="integers:-999:999")

ROWS: tuple[Case, ...] = (
    case("_npi_bitwise_and", "int32", *pair((2, 3), (2, 3), "int32")),
    case("_npi_bitwise_and", "broadcast", *pair(*BROADCAST, "uint8")),
    case("_npi_bitwise_or", "int8", *pair((2, 3), (2, 3), "int8")),
    case("_npi_bitwise_or", "broadcast", *pair(*BROADCAST, "int64")),
    case("_npi_bitwise_xor", "uint8", *pair((2, 3), (2, 3), "uint8")),
    case("_npi_bitwise_xor", "broadcast", *pair(*BROADCAST, "int32")),
    case("_npi_bitwise_not", "int32", Input("x", (2, 5), "int32", "integers:-999:999")),
    case("_npi_bitwise_not", "uint8", Input("x", (2, 5), "uint8", "integers:0:255")),
    case("_npi_bitwise_and_scalar", "uint8", BYTES, scalar=85),
    case("_npi_bitwise_or_scalar", "int32", SIGNED, scalar=-7),
    case("_npi_bitwise_xor_scalar", "int32", SIGNED, scalar=21),
)
CASES: tuple[Case, ...] = ROWS

REFUSED: tuple[Case, ...] = ()
