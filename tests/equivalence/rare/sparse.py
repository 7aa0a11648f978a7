"""Cases of operators on sparse arrays, given dense ones.

Those that MXNet gives sparse arrays only are in tests/converters/mxnet/rare/test_import_sparse.py.
"""

from __future__ import annotations

from tests.equivalence.case import Case, case, data, param, values

ODD = (float("nan"), float("inf"), -0.0, 0.0, 2.5, -1.5)
INDICES = values(-1.0, 7.0, 2.7, 0.0)

CASES: tuple[Case, ...] = (
    *(case(op, dtype, data(2, 3, dtype=dtype), scalar=2.5)
      for op in ("_scatter_plus_scalar", "_scatter_minus_scalar")
      for dtype in ("float32", "float16", "float64", "int32", "uint8")),
    case("_scatter_plus_scalar", "not_int", data(4, dtype="int32"), scalar=0.5, is_int=False),
    case("_scatter_minus_scalar", "default", values(*ODD)),
    case("_scatter_elemwise_div", "float32", values(*ODD, name="lhs"), values(0, 1, 2, 0, -4, 3, name="rhs")),
    case("_scatter_elemwise_div", "int32", values(7, -7, 5, name="lhs", dtype="int32"),
         values(2, 2, -3, name="rhs", dtype="int32")),
    case("_scatter_elemwise_div", "float16", data(2, 1, 3, name="lhs", dtype="float16"),
         data(2, 1, 3, name="rhs", dtype="float16", kind="positive")),
    case("cast_storage", "dense", values(*ODD), stype="default"),
    case("cast_storage", "dense_int64", data(2, 3, dtype="int64"), stype="default"),
    case("cast_storage", "rows", data(4, 3, kind="bits"), stype="row_sparse"),
    case("cast_storage", "rows_of_many_axes", data(2, 1, 3, dtype="float64"), stype="row_sparse"),
    case("cast_storage", "matrix", data(4, 3, kind="bits", dtype="float64"), stype="csr"),
    case("_contrib_SparseEmbedding", "default", INDICES, param("weight", 4, 3), input_dim=4, output_dim=3),
    case("_contrib_SparseEmbedding", "int32", data(2, 3, kind="indices:4", dtype="int32"), param("weight", 4, 1),
         input_dim=4, output_dim=1, deterministic=True),
    case("_contrib_SparseEmbedding", "float64", data(2, kind="indices:5"), param("weight", 5, 3, dtype="float64"),
         input_dim=5, output_dim=3, dtype="float64"),
)  # fmt: skip

REFUSED: tuple[Case, ...] = (
    case("_scatter_elemwise_div", "shapes", data(2, 3, name="lhs"), data(3, name="rhs")),
    case("_contrib_SparseEmbedding", "size", INDICES, param("weight", 4, 3), input_dim=5, output_dim=3),
    case("cast_storage", "vector_as_csr", data(4), stype="csr"),
)
