"""Cases of matrix products."""

from __future__ import annotations

from tests.equivalence.case import Case, Input, case, data, param, values


def pair(left: tuple[int, ...], right: tuple[int, ...], names: tuple[str, str] = ("lhs", "rhs")) -> tuple[Input, Input]:
    """The two operands."""
    return data(*left, name=names[0]), data(*right, name=names[1])


def unread(name: str, rank: int) -> Input:
    """Matrices of what no product with 0 would leave: BLAS does not read what a factor 0 is for."""
    return values(*(2.0, float("nan"), float("inf"), -1.0) * 2 ** (rank - 2), shape=(2,) * rank, name=name)


def dense(
    shape: tuple[int, ...], hidden: int, features: int, bias: bool = True, dtype: str = "float32"
) -> tuple[Input, ...]:
    """data, weight and bias of FullyConnected."""
    found = (data(*shape, dtype=dtype), param("weight", hidden, features, dtype=dtype))
    return (*found, param("bias", hidden, dtype=dtype)) if bias else found


A_B = ("A", "B")
QKV = data(5, 2, 24, name="queries_keys_values")

CASES: tuple[Case, ...] = (
    case("FullyConnected", "2d", *dense((3, 4), 5, 4), num_hidden=5),
    case("FullyConnected", "flatten_3d", *dense((2, 3, 4), 5, 12), num_hidden=5),
    case("FullyConnected", "flatten_4d", *dense((2, 3, 2, 2), 5, 12), num_hidden=5, flatten=True),
    case("FullyConnected", "no_flatten_3d", *dense((2, 3, 4), 5, 4), num_hidden=5, flatten=False),
    case("FullyConnected", "no_flatten_as_0", *dense((2, 3, 4), 5, 4), num_hidden=5, flatten=0),
    case("FullyConnected", "no_bias", *dense((3, 4), 5, 4, False), num_hidden=5, no_bias=True),
    case("FullyConnected", "no_bias_no_flatten", *dense((2, 3, 4), 5, 4, False),
         num_hidden=5, no_bias=1, flatten=False),
    case("FullyConnected", "float64", *dense((3, 4), 5, 4, dtype="float64"), num_hidden=5),
    case("FullyConnected", "flatten_1d_features", *dense((3, 1, 1), 2, 1), num_hidden=2),
    case("FullyConnected", "no_flatten_2d", *dense((3, 4), 5, 4), num_hidden=5, flatten=False),
    case("FullyConnected", "no_flatten_4d", *dense((2, 3, 2, 4), 5, 4), num_hidden=5, flatten=False),
    case("dot", "float64", data(3, 4, name="lhs", dtype="float64"), data(4, 5, name="rhs", dtype="float64")),
    case("dot", "4d_2d", *pair((2, 3, 2, 4), (4, 5))),
    case("dot", "2d_3d", *pair((3, 4), (4, 2, 5))),
    case("dot", "transpose_both_3d", *pair((4, 2, 3), (2, 5, 4)), transpose_a=True, transpose_b=True),
    case("dot", "2d", *pair((3, 4), (4, 5))),
    case("dot", "transpose_a", *pair((4, 3), (4, 5)), transpose_a=True),
    case("dot", "transpose_b", *pair((3, 4), (5, 4)), transpose_b=True),
    case("dot", "transpose_both", *pair((4, 3), (5, 4)), transpose_a=True, transpose_b=True),
    case("dot", "vectors", *pair((4,), (4,))),
    case("dot", "3d_3d", *pair((2, 3, 4), (4, 5, 2))),
    case("dot", "3d_2d", *pair((2, 3, 4), (4, 5))),
    case("dot", "3d_transpose_a", *pair((4, 2, 3), (4, 5)), transpose_a=True),
    case("dot", "3d_transpose_b", *pair((2, 4), (3, 5, 4)), transpose_b=True),
    case("dot", "matrix_vector", *pair((3, 4), (4,))),
    case("batch_dot", "plain", *pair((2, 3, 4), (2, 4, 5))),
    case("batch_dot", "transpose_a", *pair((2, 4, 3), (2, 4, 5)), transpose_a=True),
    case("batch_dot", "transpose_b", *pair((2, 3, 4), (2, 5, 4)), transpose_b=True),
    case("batch_dot", "transpose_both", *pair((2, 4, 3), (2, 5, 4)), transpose_a=True, transpose_b=True),
    case("batch_dot", "4d", *pair((2, 3, 4, 5), (2, 3, 5, 2))),
    case("_linalg_gemm2", "2d", *pair((3, 4), (4, 5), A_B)),
    case("_linalg_gemm2", "3d_alpha", *pair((2, 3, 4), (2, 5, 4), A_B), transpose_b=True, alpha=0.5),
    case("_linalg_gemm2", "4d_transpose_a", *pair((2, 3, 4, 5), (2, 3, 4, 2), A_B), transpose_a=True),
    case("_linalg_gemm2", "axis", *pair((3, 2, 4), (4, 2, 5), A_B), axis=0),
    case("_linalg_gemm2", "2d_both_alpha", *pair((4, 3), (5, 4), A_B), transpose_a=True, transpose_b=True, alpha=3),
    case("_linalg_gemm2", "axis_1_alpha", *pair((2, 3, 5, 4), (2, 4, 5, 3), A_B), axis=1, alpha=-1.5),
    case("_linalg_gemm", "2d", *pair((3, 4), (4, 5), A_B), data(3, 5, name="C"), alpha=0.5, beta=2.0),
    case("_linalg_gemm", "defaults", *pair((2, 3, 4), (2, 4, 5), A_B), data(2, 3, 5, name="C")),
    *(case("_linalg_gemm2", f"of_0_{rank}", unread("A", rank), unread("B", rank), alpha=0) for rank in (2, 3)),
    *(case("_linalg_gemm", f"of_0_{rank}", unread("A", rank), *pair((2,) * rank, (2,) * rank, ("B", "C")),
           alpha=0, beta=-2) for rank in (2, 3)),
    *(case("_linalg_gemm", f"none_added_{rank}", *pair((2,) * rank, (2,) * rank, A_B), unread("C", rank), alpha=1.5,
           beta=0) for rank in (2, 3)),
    *(case("_linalg_syrk", f"of_0_{rank}", unread("A", rank), alpha=0) for rank in (2, 3)),
    case("_linalg_syrk", "2d", data(3, 4, name="A")),
    case("_linalg_syrk", "2d_transpose", data(3, 4, name="A"), transpose=True, alpha=0.5),
    case("_linalg_gemm", "all", *pair((2, 3, 4), (2, 4, 5), A_B), data(2, 3, 5, name="C"), alpha=2.0, beta=-0.5),
    case("_linalg_syrk", "plain", data(2, 3, 4, name="A"), alpha=1.5),
    case("_linalg_syrk", "transpose", data(2, 3, 4, name="A"), transpose=True),
    case("_contrib_interleaved_matmul_selfatt_qk", "heads_4", QKV, heads=4),
    case("_contrib_interleaved_matmul_selfatt_valatt", "heads_4", QKV, data(8, 5, 5, name="attention"), heads=4),
    case("_contrib_interleaved_matmul_encdec_qk", "heads_2", data(3, 2, 8, name="queries"),
         data(5, 2, 16, name="keys_values"), heads=2),
    case("_contrib_interleaved_matmul_encdec_valatt", "heads_2", data(5, 2, 16, name="keys_values"),
         data(4, 3, 5, name="attention"), heads=2),
)  # fmt: skip

REFUSED: tuple[Case, ...] = (
    case("FullyConnected", "features", *dense((3, 4), 5, 3), num_hidden=5),
    case("FullyConnected", "hidden", *dense((3, 4), 5, 4), num_hidden=6),
    case("FullyConnected", "no_flatten_features", *dense((2, 3, 4), 5, 12), num_hidden=5, flatten=False),
    case("dot", "inner", *pair((3, 4), (3, 5))),
    case("batch_dot", "batch", *pair((2, 3, 4), (3, 4, 5))),
    case("batch_dot", "inner", *pair((2, 3, 4), (2, 3, 5))),
    case("batch_dot", "rank_2", *pair((3, 4), (4, 5))),
)
