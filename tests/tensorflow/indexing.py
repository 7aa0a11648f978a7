"""Gather and scatter, one-hot, counting and searching: batch axes, doubled indices, indices that hit nothing."""

from __future__ import annotations

from typing import Any

from tests.tensorflow.case import Case, Input, case, data, ints, param, values
from tests.tensorflow.graphdef import node
from tests.tensorflow.networks import network


def places(*shape: int, below: int, dtype: str = "int32", name: str = "places") -> Input:
    """Indices that are fed."""
    return data(*shape, dtype=dtype, kind=f"indices:{below}", name=name)


def gathered(
    variant: str, shape: tuple[int, ...], indices: tuple[int, ...], axis: int, batch: int = 0
) -> Case:  # fmt: skip
    """A GatherV2 along an axis."""
    size = shape[axis]
    return case(
        "GatherV2", variant, data(*shape), places(*indices, below=size), ints(axis, shape=()), batch_dims=batch
    )


TENSOR_SCATTERS = (
    *("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin"),
)
SINCE = {"TensorScatterAdd": 16, "TensorScatterSub": 16, "TensorScatterMax": 18, "TensorScatterMin": 18}


def scattered(op: str, variant: str, *inputs: Input, **more: Any) -> Case:
    """A TensorScatter, from the opset on that has its reduction."""
    return case(op, variant, *inputs, least_opset=SINCE.get(op, 0), **more)


MASKED = (
    node("Reshape", "flat", ["mask", "minus"], T="bool"),
    node("Where", "where", ["flat"], T="bool"),
    node("Squeeze", "places", ["where"], T="int64", squeeze_dims=(1,)),
    node("Reshape", "rows", ["x", "sizes"], T="float32"),
    node("GatherV2", "y", ["rows", "places", "zero"], Tparams="float32", Tindices="int64", Taxis="int32"),
)
STITCHED = (
    node("DynamicPartition", "parts", ["x", "p"], T="float32", num_partitions=2),
    node("DynamicPartition", "numbers", ["i", "p"], T="int32", num_partitions=2),
    node("Neg", "negative", ["parts:1"], T="float32"),
    node("DynamicStitch", "merged", ["numbers", "numbers:1", "parts", "negative"], T="float32", N=2),
    node("Reshape", "y", ["merged", "sizes"], T="float32"),
)

CASES: tuple[Case, ...] = (
    case("Gather", "default", data(5, 3), places(4, below=5)),
    case("Gather", "matrix", param("table", 7, 4), places(2, 3, below=7, dtype="int64")),
    case("Gather", "scalar", data(5, 3), places(below=5)),
    gathered("rows", (5, 3), (4,), 0),
    gathered("columns", (4, 5, 3), (2, 2), 1),
    gathered("last", (4, 5, 3), (2,), -1),
    gathered("batch", (2, 5, 3), (2, 4), 1, 1),
    gathered("batch_many", (2, 5, 3), (2, 4, 3), 1, 1),
    gathered("batch_vector", (2, 5, 3), (2,), 1, 1),
    gathered("batch_2", (2, 3, 5, 2), (2, 3, 4), 2, 2),
    gathered("batch_far_axis", (2, 3, 5, 4), (2, 6), 2, 1),
    gathered("batch_negative", (2, 3, 5), (2, 3, 1), -1, -1),
    case("GatherV2", "embedding", param("table", 9, 4), places(2, 3, below=9), ints(0, shape=())),
    case("GatherV2", "int8", data(5, 2, dtype="int8"), places(3, below=5), ints(0, shape=())),
    case("GatherNd", "elements", data(4, 3), places(5, 2, below=3), open_axes="batch"),
    case("GatherNd", "rows", data(4, 3, 2), places(2, 5, 1, below=4, dtype="int64"), open_axes="batch"),
    case("GatherNd", "single", data(4, 3), places(2, below=3), open_axes=""),
    case("ScatterNd", "apart", ints(4, 0, 2, shape=(3, 1)), data(3, 2), ints(6, 2)),
    case("ScatterNd", "doubled", ints(4, 0, 4, shape=(3, 1)), data(3), ints(6), least_opset=16),
    case("ScatterNd", "computed", places(3, 2, below=3), data(3), ints(3, 4), least_opset=16),
    case("ScatterNd", "int64", ints(1, 0, 1, shape=(3, 1), dtype="int64"), data(3, 2, dtype="int64"),
         ints(3, 2, dtype="int64"), least_opset=16),
    case("ScatterNdNonAliasingAdd", "default", data(6), ints(4, 0, 4, shape=(3, 1)), data(3), least_opset=16),
    *(scattered(op, "rows", data(5, 2), ints(4, 0, shape=(2, 1)), data(2, 2)) for op in TENSOR_SCATTERS),
    *(scattered(op, "elements", data(4, 3), ints(1, 2, 3, 0, shape=(2, 2)), data(2)) for op in TENSOR_SCATTERS),
    *(scattered(op, "doubled", data(4), ints(1, 3, 1, shape=(3, 1)), data(3)) for op in TENSOR_SCATTERS[1:]),
    *(scattered(op, "int32", data(4, dtype="int32"), ints(1, 3, shape=(2, 1)), data(2, dtype="int32"))
      for op in TENSOR_SCATTERS),
    case("SparseToDense", "matrix", ints(0, 1, 2, 0, shape=(2, 2)), ints(3, 4), data(2), values(0.5, shape=())),
    case("SparseToDense", "vector", ints(0, 2), ints(5), data(2), values(0, shape=())),
    case("SparseToDense", "scalar", ints(3, shape=()), ints(5), data(), values(-1, shape=())),
    case("SparseToDense", "spread", values(0, 2, shape=(2, 1), dtype="int32"), ints(3), data(), values(-1, shape=())),
    case("OneHot", "default", values(0, 2, 4, dtype="int32"), ints(5, shape=()), values(1, shape=()),
         values(0, shape=())),
    case("OneHot", "outside", values(0, -1, 7, 2, dtype="int64"), ints(3, shape=()), values(2.5, shape=()),
         values(-1, shape=())),
    case("OneHot", "axis", places(2, 3, below=4), ints(4, shape=()), values(1, shape=()), values(0, shape=()), axis=0),
    case("OneHot", "middle", places(2, 3, below=4), ints(4, shape=()), values(1, shape=()), values(0, shape=()),
         axis=1),
    case("OneHot", "bytes", places(5, below=4, dtype="uint8"), ints(4, shape=()), values(1, shape=()),
         values(0, shape=())),
    case("OneHot", "scalar", values(2, shape=(), dtype="int32"), ints(4, shape=()), values(1.5, shape=()),
         values(-1, shape=()), open_axes=""),
    case("OneHot", "scalar_bool", values(-1, shape=(), dtype="int64"), ints(4, shape=()),
         values(1, shape=(), dtype="bool"), values(0, shape=(), dtype="bool"), axis=0, open_axes=""),
    case("OneHot", "known", ints(3, 0, 1), ints(4, shape=()), data(), values(0, shape=()), open_axes=""),
    *(case("OneHot", dtype, values(0, -1, 7, 2, dtype="int32"), ints(3, shape=()), values(1, shape=(), dtype=dtype),
           values(0, shape=(), dtype=dtype)) for dtype in ("int32", "int64", "float64", "uint8", "bool", "float16")),
    case("OneHot", "bool_axis", places(2, 3, below=4), ints(4, shape=()), values(1, shape=(), dtype="bool"),
         values(0, shape=(), dtype="bool"), axis=1),
    case("Where", "matrix", data(3, 4, dtype="bool", kind="bits")),
    case("Where", "vector", values(0, 1.5, 0, -2)),
    case("Where", "nothing", values(0, 0, dtype="int32")),
    case("Unique", "default", values(3, 1, 3, 2, 1), slots=(0, 1)),
    case("Unique", "int64", values(3, 1, 3, 2, 1, dtype="int64"), slots=(0, 1), out_idx="int64"),
    case("UniqueV2", "flat", values(3, 1, 3, 2, 1, dtype="int32"), ints(dtype="int64"), slots=(0, 1)),
    case("UniqueV2", "vector_axis", values(3, 1, 3, 2, 1), ints(0, dtype="int64"), slots=(0, 1)),
    case("UniqueV2", "rows", values(3, 1, 3, 2, 3, 1, shape=(3, 2)), ints(0, dtype="int64"), slots=(0, 1)),
    case("UniqueWithCounts", "default", values(3, 1, 3, 2, 1), slots=(0, 1, 2)),
    case("UniqueWithCountsV2", "default", values(3, 1, 3, 2, 1), ints(0), slots=(0, 1, 2), out_idx="int64"),
    case("InvertPermutation", "default", values(3, 0, 2, 1, dtype="int32")),
    case("InvertPermutation", "int64", values(3, 0, 2, 1, dtype="int64")),
    case("InvertPermutation", "known", ints(2, 0, 1), open_axes=""),
    case("Bincount", "counts", places(9, below=7), ints(5, shape=()), values(shape=(0,), dtype="int32"), open_axes=""),
    case("Bincount", "weights", places(9, below=4), ints(5, shape=()), data(9)),
    case("Bincount", "matrix", places(3, 4, below=4), ints(5, shape=()), data(3, 4)),
    case("DenseBincount", "vector", places(9, below=7), ints(5, shape=()), ints(dtype="int64")),
    case("DenseBincount", "rows", places(3, 6, below=7), ints(5, shape=()), data(3, 6)),
    case("DenseBincount", "binary", places(3, 6, below=7, dtype="int64"), ints(5, shape=(), dtype="int64"),
         values(shape=(0,)), binary_output=True, open_axes=""),
    case("DynamicStitch", "known", ints(0, 3), ints(2, 1, 4, shape=(3, 1)), data(2, 2), data(3, 1, 2), N=2),
    case("DynamicStitch", "scalar", ints(1, shape=()), ints(0, 2), data(), data(2), N=2),
    case("ParallelDynamicStitch", "single", ints(2, 0, 1), data(3, 2), N=1),
    case("DynamicPartition", "default", data(5, 2), values(0, 2, 0, 1, 0, dtype="int32"), num_partitions=3,
         slots=(0, 1, 2)),
    case("DynamicPartition", "matrix", data(2, 3, 2), values(0, 1, 0, 1, 1, 0, dtype="int32", shape=(2, 3)),
         num_partitions=2, slots=(0, 1)),
    network("DynamicPartition-DynamicStitch", *STITCHED,
            inputs=(data(4, 2, name="x"), values(0, 1, 1, 0, dtype="int32", name="p"), ints(0, 1, 2, 3, name="i"),
                    ints(4, 2, name="sizes"))),
    network("boolean-mask", *MASKED,
            inputs=(data(3, 2, name="x"), values(1, 0, 1, dtype="bool", name="mask"), ints(-1, name="minus"),
                    ints(3, 2, name="sizes"), ints(0, name="zero", shape=()))),
    case("Bucketize", "float", values(-1, 0, 2.5, 3, 99), boundaries=(0.0, 2.5, 10.0)),
    case("Bucketize", "int32", data(3, 4, dtype="int32"), boundaries=(-2.5, 1.0, 3.0)),
    *(case(op, "default", values(0, 1, 1, 4, 2, 3, 5, 7, shape=(2, 4)), values(1, 5, 0, 4, 2, 8, shape=(2, 3)))
      for op in ("LowerBound", "UpperBound")),
    *(case(op, "int64", values(0, 1, 1, 4, dtype="int32", shape=(1, 4)), values(1, 5, dtype="int32", shape=(1, 2)),
           out_type="int64") for op in ("LowerBound", "UpperBound")),
)  # fmt: skip

REFUSED: tuple[Case, ...] = (
    case("GatherV2", "batch_before", data(2, 3), places(2, below=2), ints(1, shape=()),
         batch_dims=-3, reason="batch_dims -3"),
    case("GatherV2", "computed_axis", data(2, 3), places(2, below=2), places(below=2), reason="the axis"),
    case("GatherNd", "ignored", data(4, 3), places(2, 1, below=4), bad_indices_policy="IGNORE", reason="IGNORE"),
    case("ScatterNd", "bool", places(3, 1, below=3), data(3, dtype="bool", kind="bits"), ints(3), reason="added up"),
)
