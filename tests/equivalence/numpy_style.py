"""Cases of MXNet's NumPy-style operators, and of classic ones under np_shape semantics."""

from __future__ import annotations

from dataclasses import replace

from tests.equivalence.case import Case, case, data, values

TIES = (0.5, 1.5, 2.5, 3.5, -0.5, -1.5, -2.5, 0.49999997, 8388609.0)
DIGITS = (0.0, 1.25, 1.35, 2.675, -3.15, 127.0, 55.0, 45.0, -1234.5678, 1e30, float("nan"), float("inf"))


def np_shape(row: Case) -> Case:
    """The case as a symbol of np_shape semantics."""
    return replace(row, np_shape=True, variant=f"{row.variant}-np_shape")


CASES: tuple[Case, ...] = (
    case("_np_reshape", "sizes", data(2, 3, name="a"), newshape=(3, 2)),
    case("_np_reshape", "open", data(2, 3, 4, name="a"), newshape=(4, -1)),
    case("_np_reshape", "int64", data(2, 3, name="a", dtype="int64"), newshape=(6,)),
    np_shape(case("_np_reshape", "no_axes", data(1, 1, name="a"), newshape=())),
    np_shape(case("_np_reshape", "of_no_axes", data(name="a"), newshape=(1, 1))),
    np_shape(case("_np_reshape", "no_elements", data(0, 3, name="a"), newshape=(3, 0))),
    case("_npi_around", "ties", values(*TIES, name="x"), decimals=0),
    *(case("_npi_around", f"{dtype}_{decimals}", values(*DIGITS, name="x", dtype=dtype), decimals=decimals)
      for dtype in ("float32", "float64") for decimals in (1, 2, 5, -1, -2)),
    case("_npi_around", "infinite_powers", values(0.0, 1.5, -2.0, name="x"), decimals=40),
    case("_npi_around", "float64", values(*TIES, name="x", dtype="float64"), decimals=0),
    case("_npi_tril", "default", data(3, 4)),
    case("_npi_tril", "above", data(2, 3, 4), k=1),
    case("_npi_tril", "below", data(2, 2, 5, 3), k=-2),
    case("_npi_tril", "beyond", data(2, 3), k=9),
    *(case("_npi_tril", f"vector_{k}", data(4), k=k) for k in (-1, 0, 2)),
    case("_npi_tril", "int32", data(3, 3, dtype="int32"), k=-1),
    np_shape(case("sum", "all", data(2, 3))),
    np_shape(case("sum", "vector", data(3), axis=0)),
    np_shape(case("sum", "no_elements", data(2, 0, 3), axis=1)),
    np_shape(case("max", "all_axes", data(2, 3), axis=(0, 1))),
    np_shape(case("mean", "all_kept", data(2, 3), keepdims=True)),
    np_shape(case("norm", "all", data(2, 3))),
    np_shape(case("argmax", "vector", data(4, kind="distinct"), axis=0)),
    np_shape(case("argmax", "flat", data(2, 4, kind="distinct"))),
    np_shape(case("moments", "all", data(2, 3), axes=(0, 1))),
    np_shape(case("abs", "no_axes", data())),
    np_shape(case("abs", "no_elements", data(2, 0))),
    np_shape(case("broadcast_add", "no_axes", data(name="lhs"), data(2, 3, name="rhs"))),
    np_shape(case("_linalg_det", "matrix", data(3, 3, name="A"))),
    np_shape(case("_zeros", "no_elements", shape=(2, 0))),
    np_shape(case("_full", "no_axes", shape=(), value=2.5)),
    np_shape(case("expand_dims", "no_axes", data(), axis=0)),
    np_shape(case("Concat", "no_elements", data(0, 3, name="arg0"), data(2, 3, name="arg1"), dim=0, num_args=2)),
    np_shape(case("Reshape", "of_no_axes", data(), shape=(1, 1))),
    np_shape(case("squeeze", "all", data(1, 1))),
    np_shape(case("dot", "vectors", data(3, name="lhs"), data(3, name="rhs"))),
    np_shape(case("pick", "vector", values(1.0, 2.0, 3.0), values(1.0, name="index"))),
    np_shape(case("pick", "matrix", data(2, 3), values(2.0, 0.0, name="index"))),
    np_shape(case("take", "no_axes", data(4, 2, name="a"), data(name="indices", kind="indices:4"), axis=0)),
)  # fmt: skip

REFUSED: tuple[Case, ...] = (
    case("_np_reshape", "other size", data(2, 3, name="a"), newshape=(4, 2)),
    case("_npi_around", "float16", data(2, 3, name="x", dtype="float16"), decimals=0),
)
