"""Reductions: axes, kept dimensions, dtypes, segments, running sums, the largest elements."""

from __future__ import annotations

from tests.tensorflow.case import Case, Input, case, data, ints, values

OPS = ("Max", "Mean", "Min", "Prod", "Sum")
SORTED = {"SegmentSum": 16, "SegmentMean": 16, "SegmentMax": 18, "SegmentMin": 18, "SegmentProd": 16}
UNSORTED = {"UnsortedSegmentSum": 16, "UnsortedSegmentProd": 16, "UnsortedSegmentMax": 18, "UnsortedSegmentMin": 18}
SPARSE = ("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN")


def bits(*shape: int) -> Input:
    """Truths."""
    return data(*shape, dtype="bool", kind="bits")


def axis(number: int) -> Input:
    """An axis, a scalar."""
    return ints(number, shape=())


# Which axes go shows only when the graph is run: the rank of the result is open, or with keep_dims its sizes.
COMPUTED_AXES = tuple(
    case(op, f"computed_axes_{number}_{keep}", data(2, 3, 4), values(*axes, shape=shape, dtype="int32"), keep_dims=keep)
    for op in OPS
    for number, (axes, shape) in enumerate([((1,), ()), ((-1,), (1,)), ((0, 2), (2,))])
    for keep in (True, False)
)
CASES = (
    *(case(op, "one_axis", data(2, 3, 4), ints(1)) for op in OPS),
    *(case(op, "keep", data(2, 3, 4), ints(0, -1), keep_dims=True) for op in OPS),
    *(case(op, "all_axes", data(2, 3, 4), ints(0, 1, 2)) for op in OPS),
    *(case(op, "scalar_axis", data(2, 3, 4), ints(2, shape=())) for op in OPS),
    *(case(op, "no_axes", data(2, 3), ints()) for op in OPS),
    *(case(op, "int32", data(2, 3, 4, dtype="int32"), ints(1)) for op in ("Max", "Min", "Prod", "Sum", "Mean")),
    *(case(op, "int64", data(2, 3, 4, dtype="int64"), ints(1)) for op in ("Max", "Min", "Prod", "Sum", "Mean")),
    *(case(op, "float64", data(2, 3, dtype="float64"), ints(1)) for op in OPS),
    *(case(op, "float16", data(2, 3, dtype="float16"), ints(1)) for op in OPS),
    *(case(op, "uint8", data(2, 3, dtype="uint8", kind="integers:0:255"), ints(1)) for op in ("Max", "Min")),
    *(case(op, "of_nothing", data(0, 3), ints(0)) for op in OPS if op != "Mean"),
    # Of sizes that only a run knows onnxruntime's mean of nothing is 0: a decision says so.
    *(case("Mean", f"of_nothing_{dtype}", data(2, 0, dtype=dtype), ints(1), keep_dims=True, open_axes="batch")
      for dtype in ("float16", "float32", "float64", "int32")),
    case("Mean", "nothing_beside", data(0, 3), ints(1)),
    case("Mean", "spatial", data(2, 4, 5, 3), ints(1, 2)),
    *(case(op, "one_axis", bits(2, 3, 4), ints(1)) for op in ("All", "Any")),
    *(case(op, "of_none", bits(3, 0, 2), ints(1)) for op in ("All", "Any")),
    *(case(op, "keep", bits(2, 3, 4), ints(0, -1), keep_dims=True) for op in ("All", "Any")),
    *(case(op, "all_axes", bits(3, 4), ints(0, 1)) for op in ("All", "Any")),
    *(case(op, "no_axes", bits(3, 4), ints()) for op in ("All", "Any")),
    case("EuclideanNorm", "default", data(2, 3, 4), ints(1)),
    case("EuclideanNorm", "keep", data(2, 3, 4), ints(-1, 0), keep_dims=True),
    case("EuclideanNorm", "no_axes", data(2, 3), ints()),
    *(case(op, "default", data(3, 5, kind="distinct"), axis(1)) for op in ("ArgMax", "ArgMin")),
    *(case(op, "negative", data(3, 5, 2), axis(-2), output_type="int32") for op in ("ArgMax", "ArgMin")),
    *(case(op, "equal", data(4, 9, dtype="int32", kind="bits"), axis(1)) for op in ("ArgMax", "ArgMin")),
    *(case(op, "uint8", data(4, 9, dtype="uint8", kind="integers:0:255"), axis(0)) for op in ("ArgMax", "ArgMin")),
    case("ArgMax", "bool", bits(4, 6), axis(1)),
    case("ArgMax", "float64", data(4, 6, dtype="float64"), axis(0)),
    case("TopKV2", "default", data(3, 7, kind="distinct"), axis(3), slots=(0, 1)),
    case("TopKV2", "equal", data(3, 9, kind="bits"), axis(5), slots=(0, 1)),
    case("TopKV2", "int32", data(2, 3, 7, dtype="int32", kind="distinct"), axis(2), slots=(0, 1)),
    case("TopKV2", "vector", data(7, kind="distinct"), axis(7), slots=(0,), sorted=True),
    case("TopKV2", "int64_index", data(7, kind="distinct"), ints(2, dtype="int64", shape=()), slots=(0, 1),
         index_type="int64"),
    case("NthElement", "default", data(3, 7, kind="distinct"), axis(2)),
    case("NthElement", "reverse", data(2, 3, 7, kind="distinct"), axis(0), reverse=True),
    case("InTopK", "default", data(6, 5), data(6, dtype="int32", kind="indices:5"), k=2),
    case("InTopK", "infinite", values(1, float("inf"), 3, 4, 5, 6, float("nan"), 8, 9, shape=(3, 3)),
         values(2, 1, 2, dtype="int32"), k=2),
    case("InTopKV2", "equal", values(1, 1, 1, 0, 2, 2, shape=(2, 3)), values(2, 0, dtype="int32"), axis(2)),
    case("InTopKV2", "int64", data(6, 5), data(6, dtype="int64", kind="indices:5"), ints(3, shape=(), dtype="int64")),
    *(case(op, "default", data(3, 5), axis(1), least_opset=since) for op, since in (("Cumsum", 0), ("Cumprod", 26))),
    *(case(op, "backwards", data(3, 5), axis(-2), exclusive=True, reverse=True, least_opset=since)
      for op, since in (("Cumsum", 0), ("Cumprod", 26))),
    case("Cumsum", "exclusive", data(3, 5, dtype="float64"), axis(0), exclusive=True),
    case("Cumsum", "reverse", data(2, 3, 5, dtype="int32"), axis(1), reverse=True),
    case("Cumsum", "int64", data(7, dtype="int64"), axis(0)),
    case("CumulativeLogsumexp", "default", data(3, 5), axis(1)),
    case("CumulativeLogsumexp", "backwards", data(3, 5), axis(0), exclusive=True, reverse=True),
    *(case(op, "default", data(5, 2), ints(0, 0, 2, 3, 3), least_opset=since) for op, since in SORTED.items()),
    case("SegmentSum", "int32", data(4, 3, dtype="int32"), ints(0, 0, 1, 1), least_opset=16),
    *(case(op, "default", data(5, 2), ints(3, 0, 3, 1, 0), axis(4), least_opset=since)
      for op, since in UNSORTED.items()),
    *(case(op, "negative", data(5), values(3, -1, 3, 1, -1, dtype="int32"), axis(4), least_opset=since)
      for op, since in UNSORTED.items()),
    *(case(op, "matrix", data(2, 3, 2), ints(3, 0, 3, 1, 0, 1, shape=(2, 3)), axis(4), least_opset=since)
      for op, since in UNSORTED.items()),
    *(case(op, "int32", data(5, dtype="int32"), ints(3, 0, 3, 1, 0), axis(5), least_opset=since)
      for op, since in UNSORTED.items()),
    *(case(op, "default", data(6, 3), data(5, dtype="int32", kind="indices:6"), ints(0, 0, 2, 3, 3), least_opset=16)
      for op in SPARSE),
    *(case(f"{op}WithNumSegments", "default", data(6, 3), data(5, dtype="int32", kind="indices:6"),
           ints(0, 0, 2, 3, 3), axis(6), least_opset=16) for op in SPARSE),
)  # fmt: skip
REFUSED: tuple[Case, ...] = (
    case("UnsortedSegmentMax", "bool", bits(4, 3), ints(0, 1, 1, 0), ints(2, shape=()), reason="segments of bool"),
    case("All", "computed", bits(2, 3), data(1, dtype="int32", kind="indices:2"), reason="the axes"),
    case("ArgMax", "computed", data(2, 3), data(dtype="int32", kind="indices:2"), reason="the dimension"),
    case("EuclideanNorm", "int32", data(2, 3, dtype="int32"), ints(1), reason="float32"),
    case("TopKV2", "too_many", data(2, 3), ints(4, shape=()), reason="K is 4"),
)
