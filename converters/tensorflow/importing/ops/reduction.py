"""Reductions over axes, over segments, and running along an axis; the largest elements and their indices."""

from __future__ import annotations

from collections.abc import Sequence

from graphir.converters.tensorflow.importing.context import ImportFunction, ImportNode
from graphir.converters.tensorflow.importing.sizes import as_vector, length_of, rows_of, size_at
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops import reduction as red
from graphir.ops.base import Operator
from graphir.ops.indexing import CumProd, CumSum, Gather, GatherElements, Reduction, ScatterND
from graphir.ops.shape import Expand, Reshape, Squeeze, Unsqueeze
from graphir.ops.shape_parts import Slice
from graphir.types import DType


def reducing(cls: type[Operator]) -> ImportFunction:
    """Return the import function of a reduction whose second input names the axes."""

    def import_reduction(node: ImportNode) -> Value:
        data, axes = node.input(0), node.input(1)
        keepdims = bool(node.attrs["keep_dims"])
        known = node.known(1)
        if known == ():
            return data  # TensorFlow reduces nothing; ONNX would reduce everything
        operand = node.int64(axes) if known is None else node.vector(known)
        if known is None:
            node.decide(
                DecisionKind.AXES, f"the axes ({axes.name}) are computed; an empty list of them would reduce nothing"
            )
            if axes.rank != 1:
                operand = node.step(Reshape(), operand, node.vector([-1]), suffix="axes")
            return node.emit(cls(keepdims=keepdims, noop_with_empty_axes=True), data, operand)
        return node.emit(cls(keepdims=keepdims), data, operand)

    return import_reduction


def import_mean(node: ImportNode) -> Value:
    """Mean; of no elements it is no number, of integers 0."""
    data, axes = node.input(0), node.known(1)
    sizes = [1] if axes == () else _reduced_sizes(data, axes)
    whole = data.dtype is not None and not data.dtype.is_float
    if 0 in sizes:
        total = reducing(red.ReduceSum)(node)
        if whole:
            return total  # type: ignore[return-value]
        return node.step(ew.Div(), total, node.scalar_like(data, 0.0), suffix="of_nothing")  # type: ignore[arg-type]
    if not whole and not all(isinstance(size, int) for size in sizes):
        node.decide(
            DecisionKind.EMPTY_MEAN,
            f"axes of {data.name} that are empty at run time: TensorFlow's mean is no number, onnxruntime's 0",
        )
    return reducing(red.ReduceMean)(node)  # type: ignore[return-value]


def _reduced_sizes(data: Value, axes: Sequence[int] | None) -> Sequence[object]:
    """Return the sizes of the axes that are reduced, None for those that are not known."""
    if data.shape is None or axes is None:
        return [None]
    rank = len(data.shape)
    return [data.shape[axis] for axis in axes if -rank <= axis < rank]


def reducing_truth(cls: type[Operator]) -> ImportFunction:
    """Return the import function of All (the smallest truth) and Any (their sum, which of none is 0), over int32; ONNX
    has bool from 20 on."""

    def import_truth(node: ImportNode) -> Value:
        data = node.input(0)
        axes = node.integers(1, "the axes")
        if not axes:
            return data
        whole = node.cast(data, DType.INT32, suffix="whole")
        result = node.step(cls(keepdims=bool(node.attrs["keep_dims"])), whole, node.vector(axes))
        return node.emit(ew.Cast(DType.BOOL), result)

    return import_truth


def import_euclidean_norm(node: ImportNode) -> Value:
    """EuclideanNorm: the square root of the sum of squares."""
    if not node.dtype().is_float:
        node.refuse(f"a norm of {node.dtype()}; cast the data to float32 first")
    if node.known(1) == ():
        return node.emit(ew.Abs(), node.input(0))
    return reducing(red.ReduceL2)(node)  # type: ignore[return-value]


def arg_reducing(cls: type[Operator]) -> ImportFunction:
    """Return the import function of ArgMax and ArgMin: the index of the first extreme along an axis."""

    def import_arg(node: ImportNode) -> Value:
        data = node.input(0)
        if data.dtype is DType.BOOL:
            data = node.cast(data, DType.UINT8, suffix="bytes")
        axis = node.integer(1, "the dimension")
        indices = node.step(cls(axis=axis, keepdims=False), data)
        return node.as_attribute(indices, "output_type", DType.INT64)

    return import_arg


def import_top_k(node: ImportNode) -> tuple[Value, ...]:
    """TopKV2: the k largest along the last axis, and their indices."""
    data = node.input(0)
    count = node.step(Reshape(), node.int64(node.input(1)), node.vector([1]), suffix="k")
    if not node.attrs["sorted"]:
        node.decide(DecisionKind.ORDER, "the results may come in any order (sorted is not set); they are sorted")
    largest, indices = node.steps(red.TopK(axis=-1), data, count)
    wanted = node.attrs.get("index_type", DType.INT32)
    return (largest, indices if wanted is DType.INT64 else node.cast(indices, wanted, suffix="indices"))


def import_nth_element(node: ImportNode) -> Value:
    """NthElement: the n-th smallest (or with `reverse` largest) element along the last axis, n from 0."""
    index = node.step(Reshape(), node.int64(node.input(1)), node.vector([1]), suffix="n")
    count = node.step(ew.Add(), index, node.vector([1]), suffix="count")
    extremes, _ = node.steps(red.TopK(axis=-1, largest=bool(node.attrs["reverse"])), node.input(0), count)
    return node.emit(Squeeze(), node.step(Gather(axis=-1), extremes, index, suffix="nth"), node.vector([-1]))


def import_in_top_k(node: ImportNode) -> Value:
    """InTopK: whether fewer than k predictions (batch, classes) are above the target's, and all are finite."""
    predictions, targets = node.inputs[:2]
    node.decide(DecisionKind.TARGETS, "targets are taken to be classes; for others TensorFlow gives False")
    columns = node.step(Unsqueeze(), targets, node.vector([1]), suffix="targets")
    wanted = node.step(GatherElements(axis=1), predictions, columns, suffix="wanted")
    above = node.cast(node.step(ew.Greater(), predictions, wanted, suffix="above"), DType.INT32)
    count = node.step(red.ReduceSum(keepdims=False), above, node.vector([1]), suffix="count")
    if node.op == "InTopK":
        k = min(max(int(node.attrs["k"]), 0), 2**31 - 1)  # counts lie between
        few = node.step(ew.Less(), count, node.constant(k, DType.INT32))
    else:
        few = node.step(ew.Less(), node.cast(count, node.dtype(2), suffix="as_k"), node.input(2))
    bad = node.step(ew.Or(), node.step(ew.IsNaN(), predictions), node.step(ew.IsInf(), predictions), suffix="bad")
    worst = node.step(red.ReduceMax(keepdims=False), node.cast(bad, DType.INT32), node.vector([1]))
    return node.emit(ew.And(), few, node.step(ew.Equal(), worst, node.constant(0, DType.INT32), suffix="finite"))


def cumulative(cls: type[Operator]) -> ImportFunction:
    """Return the import function of Cumsum and Cumprod."""

    def import_cumulative(node: ImportNode) -> Value:
        op = cls(exclusive=bool(node.attrs["exclusive"]), reverse=bool(node.attrs["reverse"]))
        known = node.known(1)
        axis = node.int64(node.input(1)) if known is None else node.constant(known[0], DType.INT64)
        return node.emit(op, node.input(0), axis)

    return import_cumulative


def import_cumulative_logsumexp(node: ImportNode) -> Value:
    """CumulativeLogsumexp: log(cumsum(exp(x))), the largest element taken out before and added after."""
    node.decide(DecisionKind.PRECISION, "CumulativeLogsumexp gives -inf where exp of the distance to the largest is 0")
    data, axis = node.input(0), node.integer(1, "the axis")
    largest = node.step(red.ReduceMax(), data, node.vector([axis]), suffix="largest")
    exp = node.step(ew.Exp(), node.step(ew.Sub(), data, largest, suffix="below"))
    op = CumSum(exclusive=bool(node.attrs["exclusive"]), reverse=bool(node.attrs["reverse"]))
    log = node.step(ew.Log(), node.step(op, exp, node.constant(axis, DType.INT64)))
    return node.emit(ew.Add(), log, largest)


REDUCTIONS = {
    "Sum": Reduction.ADD,
    "Mean": Reduction.ADD,
    "SqrtN": Reduction.ADD,
    "Prod": Reduction.MUL,
    "Max": Reduction.MAX,
    "Min": Reduction.MIN,
}


def import_segment(node: ImportNode) -> Value:
    """SegmentSum and its like: the rows of each segment; their numbers rise, the last one says how many there are."""
    data, ids = node.inputs
    ids = node.int64(ids)
    last = node.step(red.ReduceMax(), ids, node.vector([0]), suffix="last")
    count = node.step(ew.Add(), last, node.vector([1]), suffix="segments")
    return _reduce_segments(node, node.op.removeprefix("Segment"), data, ids, count)


def import_sparse_segment(node: ImportNode) -> Value:
    """SparseSegmentSum, Mean and SqrtN: the same of rows that are looked up first. Their number may be stated."""
    data, indices, ids, *stated = node.inputs
    ids = node.int64(ids)
    rows = node.step(Gather(axis=0), data, indices, suffix="rows")
    if stated:
        count = node.step(Reshape(), node.int64(stated[0]), node.vector([1]), suffix="segments")
    else:
        last = node.step(red.ReduceMax(), ids, node.vector([0]), suffix="last")
        count = node.step(ew.Add(), last, node.vector([1]), suffix="segments")
    kind = node.op.removeprefix("SparseSegment").removesuffix("WithNumSegments")
    return _reduce_segments(node, kind, rows, ids, count)


def import_unsorted_segment(node: ImportNode) -> Value:
    """UnsortedSegmentSum and its like: segments of any order, whose number is stated; negative numbers do not count.

    Segments without a row have the number that changes nothing: 0, 1, the lowest or the largest of the dtype.
    """
    data, ids, count = node.inputs
    rank = node.rank(ids)
    if rank != 1:
        data = rows_of(node, data, rank)
        ids = node.step(Reshape(), ids, node.vector([-1]), suffix="flat")
    ids = node.int64(ids)
    count = node.step(Reshape(), node.int64(count), node.vector([1]), suffix="segments")
    known = node.known(1)
    kind = node.op.removeprefix("UnsortedSegment")
    if known is not None and min(known, default=0) >= 0:
        return _combine_rows(node, kind, data, ids, count)
    outside = node.step(ew.Less(), ids, node.constant(0, DType.INT64), suffix="outside")
    ids = node.step(ew.Where(), outside, count, ids, suffix="inside")
    more = node.step(ew.Add(), count, node.vector([1]), suffix="more")
    segments = _combine_rows(node, kind, data, ids, more)
    return node.emit(Slice(), segments, node.vector([0]), count, node.vector([0]))


def _neutral_element(dtype: DType, reduction: Reduction) -> float:
    """Return the number that a reduction starts from."""
    import numpy as np

    match reduction:
        case Reduction.ADD:
            return 0
        case Reduction.MUL:
            return 1
    limits = np.finfo(dtype.numpy()) if dtype.is_float else np.iinfo(dtype.numpy())
    extreme: float = limits.min if reduction is Reduction.MAX else limits.max  # type: ignore[assignment]
    return extreme


def _combine_rows(node: ImportNode, kind: str, data: Value, ids: Value, count: Value) -> Value:
    """Return the rows combined by segment, those without a row as the reduction starts."""
    reduction = REDUCTIONS[kind]
    dtype = node.dtype(0)
    if not (dtype.is_float or dtype.is_integer):
        node.refuse(f"segments of {dtype}; TensorFlow combines numbers")
    start = node.constant(_neutral_element(dtype, reduction), dtype)
    sizes = [count, *[size_at(node, data, axis) for axis in range(1, node.rank(data))]]
    filled = node.step(Expand(), start, as_vector(node, sizes), suffix="start")
    vectors = node.step(Unsqueeze(), ids, node.vector([1]), suffix="vectors")
    return node.step(ScatterND(reduction), filled, vectors, data, suffix="combined")


def _reduce_segments(node: ImportNode, kind: str, data: Value, ids: Value, count: Value) -> Value:
    """Return the rows combined by segment, as sums, means or extremes; 0 for segments without a row, as the sorted
    operators have it."""
    totals = _combine_rows(node, kind, data, ids, count)
    if kind in ("Sum", "Prod"):
        return totals
    dtype = node.dtype(0)
    ones = node.step(Expand(), node.constant(1, dtype), _row_count(node, ids), suffix="ones")
    zeros = node.step(Expand(), node.constant(0, dtype), count, suffix="zeros")
    vectors = node.step(Unsqueeze(), ids, node.vector([1]), suffix="vectors")
    rows = node.step(ScatterND(Reduction.ADD), zeros, vectors, ones, suffix="rows")
    rank = node.rank(data)
    if rank > 1:
        rows = node.step(Unsqueeze(), rows, node.vector(range(1, rank)), suffix="rows_apart")
    if kind in ("Max", "Min"):
        is_empty = node.step(ew.Equal(), rows, node.constant(0, dtype), suffix="empty")
        return node.emit(ew.Where(), is_empty, node.constant(0, dtype), totals)
    divisor = node.step(ew.Max(), rows, node.constant(1, dtype), suffix="divisor")
    if kind == "SqrtN":
        divisor = node.step(ew.Sqrt(), divisor)
    return node.emit(ew.Div(), totals, divisor)


def _row_count(node: ImportNode, ids: Value) -> Value:
    count = length_of(node, ids)
    return node.step(Reshape(), count, node.vector([1]), suffix="row_count")


IMPORTS: dict[str, ImportFunction] = {
    "All": reducing_truth(red.ReduceMin),
    "Any": reducing_truth(red.ReduceSum),
    "ArgMax": arg_reducing(red.ArgMax),
    "ArgMin": arg_reducing(red.ArgMin),
    "Cumprod": cumulative(CumProd),
    "Cumsum": cumulative(CumSum),
    "CumulativeLogsumexp": import_cumulative_logsumexp,
    "EuclideanNorm": import_euclidean_norm,
    "InTopK": import_in_top_k,
    "InTopKV2": import_in_top_k,
    "Max": reducing(red.ReduceMax),
    "Mean": import_mean,
    "Min": reducing(red.ReduceMin),
    "NthElement": import_nth_element,
    "Prod": reducing(red.ReduceProd),
    "SegmentMax": import_segment,
    "SegmentMean": import_segment,
    "SegmentMin": import_segment,
    "SegmentProd": import_segment,
    "SegmentSum": import_segment,
    "SparseSegmentMean": import_sparse_segment,
    "SparseSegmentSqrtN": import_sparse_segment,
    "SparseSegmentSum": import_sparse_segment,
    "SparseSegmentMeanWithNumSegments": import_sparse_segment,
    "SparseSegmentSqrtNWithNumSegments": import_sparse_segment,
    "SparseSegmentSumWithNumSegments": import_sparse_segment,
    "Sum": reducing(red.ReduceSum),
    "TopKV2": import_top_k,
    "UnsortedSegmentMax": import_unsorted_segment,
    "UnsortedSegmentMin": import_unsorted_segment,
    "UnsortedSegmentProd": import_unsorted_segment,
    "UnsortedSegmentSum": import_unsorted_segment,
}
