"""Products of matrices and vectors, and determinants: adjoints, broadcasting, dtypes."""

from __future__ import annotations

from tests.tensorflow.case import Case, case, data, param

BATCHED = ("BatchMatMul", "BatchMatMulV2")
CASES = (
    case("MatMul", "default", data(2, 3), param("w", 3, 4)),
    case("MatMul", "computed", data(2, 3), data(3, 4)),
    case("MatMul", "transpose_a", data(3, 2), param("w", 3, 4), transpose_a=True),
    case("MatMul", "transpose_b", data(2, 3), param("w", 4, 3), transpose_b=True),
    case("MatMul", "both", data(3, 2), param("w", 4, 3), transpose_a=True, transpose_b=True),
    case("MatMul", "int32", data(2, 3, dtype="int32"), data(4, 3, dtype="int32"), transpose_b=True),
    case("MatMul", "float64", data(2, 3, dtype="float64"), param("w", 3, 4, dtype="float64")),
    *(case(op, "default", data(2, 3, 4), data(2, 4, 5)) for op in BATCHED),
    *(case(op, "adjoint", data(2, 4, 3), data(2, 5, 4), adj_x=True, adj_y=True) for op in BATCHED),
    *(case(op, "four_axes", data(2, 3, 4, 5), data(2, 3, 6, 5), adj_y=True) for op in BATCHED),
    case("BatchMatMulV2", "broadcast", data(2, 1, 3, 4), data(5, 4, 2)),
    case("BatchMatMulV2", "parameter", data(2, 3, 4), param("w", 4, 5)),
    case("BatchMatMulV2", "parameter_transposed", data(2, 3, 4), param("w", 5, 4), adj_y=True),
    case("BatchMatMulV2", "int32", data(2, 3, 4, dtype="int32"), data(2, 4, 5, dtype="int32")),
    case("BatchMatMulV2", "float64", data(2, 3, 4, dtype="float64"), data(2, 4, 5, dtype="float64")),
    *(case("BatchMatMulV3", variant, *operands, Tout="float32") for variant, operands in (
        ("default", (data(2, 3, 4), data(2, 4, 5))), ("broadcast", (data(3, 4), data(2, 4, 5))))),
    case("BatchMatMulV3", "bytes", data(2, 3, 4, dtype="int8"), data(2, 4, 5, dtype="int8"), Tout="int32"),
    case("SparseMatMul", "default", data(3, 4), data(4, 2), a_is_sparse=True),
    case("SparseMatMul", "transposed", data(4, 3), data(2, 4), transpose_a=True, transpose_b=True, b_is_sparse=True),
    case("Einsum", "matrices", data(2, 3), data(3, 4), equation="ij,jk->ik"),
    case("Einsum", "heads", data(2, 5, 8), param("w", 8, 2, 4), equation="abc,cde->abde"),
    case("Einsum", "attention", data(2, 5, 3, 4), data(2, 6, 3, 4), equation="bqhd,bkhd->bhqk"),
    case("Einsum", "ellipsis", data(2, 3, 4), data(4, 5), equation="...ij,jk->...ik"),
    case("Einsum", "transpose", data(2, 3, 4), equation="abc->cab"),
    case("Einsum", "sum", data(2, 3, 4), equation="abc->b"),
    case("Einsum", "outer", data(3), data(4), equation="i,j->ij"),
    case("L2Loss", "default", data(2, 3)),
    case("L2Loss", "float64", data(2, 3, 4, dtype="float64")),
    case("Cross", "default", data(2, 3), data(2, 3)),
    case("Cross", "int32", data(4, 2, 3, dtype="int32"), data(4, 2, 3, dtype="int32")),
    case("MatrixDeterminant", "default", data(2, 3, 3)),
    case("MatrixDeterminant", "matrix", data(4, 4)),
    case("LogMatrixDeterminant", "default", data(5, 3, 3), slots=(0, 1)),
)  # fmt: skip
REFUSED: tuple[Case, ...] = (
    case("MatMul", "sizes", data(2, 3), param("w", 4, 3), reason="3"),
)
