"""Gather, scatter, one-hot and their like."""

from __future__ import annotations

from graphir.converters.tensorflow.importing.context import ImportFunction, ImportNode
from graphir.converters.tensorflow.importing.sizes import as_vector, known_length, length_of, rows_of, size_at
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops import indexing as ix
from graphir.ops.creation import ConstantOfShape, Range
from graphir.ops.reduction import ReduceMax, ReduceSum
from graphir.ops.shape import Expand, Reshape, Shape, Transpose, Unsqueeze
from graphir.ops.shape_parts import BEYOND, Concat
from graphir.types import DType

INDICES = frozenset({DType.INT32, DType.INT64})
# What runtimes compute OneHot in; other dtypes become a comparison.
ONE_HOT = frozenset({DType.FLOAT32, DType.INT32, DType.INT64})


def _gather(node: ImportNode, axis: int) -> Value:
    """Return (B..., M..., I..., R...) for data (B..., M..., n, R...) and indices (B..., I...)."""
    data, indices = node.input(0), _read_indices(node, 1)
    batch = int(node.attrs["batch_dims"])
    if batch < 0:
        batch += node.rank(indices)
        if batch < 0:
            node.refuse(f"batch_dims {batch - node.rank(indices)} of {node.rank(indices)} axes of the indices")
    if batch == 0:
        return node.emit(ix.Gather(axis=axis), data, indices)
    rank = node.rank(data)
    axis = node.axis(axis, rank)
    if batch > axis:
        node.refuse(f"batch_dims {batch} reaches over the axis {axis}")
    if batch < axis:
        order = (*range(batch), axis, *(other for other in range(batch, rank) if other != axis))
        data = node.step(Transpose(order), data, suffix="axis_first")
    vectors = node.step(Unsqueeze(), node.int64(indices), node.vector([-1]), suffix="vectors")
    if batch == axis:
        return node.emit(ix.GatherND(batch_dims=batch), data, vectors)
    rows = node.step(ix.GatherND(batch_dims=batch), data, vectors)
    index_axes = node.rank(indices) - batch
    middle = range(batch + index_axes, batch + index_axes + axis - batch)
    rest = range(middle.stop, rank + index_axes - 1)
    return node.emit(Transpose((*range(batch), *middle, *range(batch, batch + index_axes), *rest)), rows)


def _read_indices(node: ImportNode, slot: int) -> Value:
    """Return indices of a dtype that ONNX has for them."""
    value = node.input(slot)
    return value if value.dtype in INDICES else node.int64(value)


def import_gather_nd(node: ImportNode) -> Value:
    """GatherNd: data at the index vectors along the last axis of the indices."""
    _check_policy(node)
    return node.emit(ix.GatherND(), node.input(0), node.int64(node.input(1)))


def _check_policy(node: ImportNode) -> None:
    """Refuse indices that may be outside."""
    if node.attrs.get("bad_indices_policy", "") == "IGNORE":
        node.refuse("bad_indices_policy IGNORE lets indices be outside; ONNX's indices must be inside")


def scattering(reduction: ix.Reduction, *, negated: bool = False) -> ImportFunction:
    """Return the import function of a TensorScatter: updates at index vectors, combined with what is there."""

    def import_tensor_scatter(node: ImportNode) -> Value:
        _check_policy(node)
        data, indices, updates = node.inputs
        if negated:
            updates = node.step(ew.Sub(), node.scalar_like(updates, 0), updates, suffix="negated")
        return node.emit(ix.ScatterND(reduction), data, node.int64(indices), updates)

    return import_tensor_scatter


def import_scatter_nd(node: ImportNode) -> Value:
    """ScatterNd: zeros with the updates at index vectors; updates at one index are added up."""
    _check_policy(node)
    indices, updates, shape = node.inputs
    reduction = ix.Reduction.NONE if _are_distinct(node, indices) else ix.Reduction.ADD
    if reduction is ix.Reduction.ADD and not node.dtype(1).is_integer and not node.dtype(1).is_float:
        node.refuse(f"computed indices with updates of {node.dtype(1)}, which may have to be added up")
    zeros = node.step(ConstantOfShape(0.0, node.dtype(1)), node.int64(shape), suffix="zeros")
    return node.emit(ix.ScatterND(reduction), zeros, node.int64(indices), updates)


def _are_distinct(node: ImportNode, indices: Value) -> bool:
    """Return whether all index vectors are known and different."""
    known = node.known(0)
    if known is None or indices.known is None or not indices.known.shape:
        return False
    length = indices.known.shape[-1]
    vectors = [known[start : start + length] for start in range(0, len(known), max(length, 1))]
    return length > 0 and len(set(vectors)) == len(vectors)


def import_sparse_to_dense(node: ImportNode) -> Value:
    """SparseToDense: values at indices of a tensor that is `default` elsewhere; indices of rank 0, 1 or 2."""
    indices, shape, values, default = node.inputs
    vectors = node.int64(indices)
    rank = node.rank(indices)
    if rank < 2:
        axes = [0, 1] if rank == 0 else [1]
        vectors = node.step(Unsqueeze(), vectors, node.vector(axes), suffix="vectors")
    if node.rank(values) == 0:
        count = size_at(node, vectors, 0)
        values = node.step(Expand(), values, as_vector(node, [count]), suffix="values")
    filled = node.step(Expand(), default, node.int64(shape), suffix="filled")
    return node.emit(ix.ScatterND(), filled, vectors, values)


def import_one_hot(node: ImportNode) -> Value:
    """OneHot: `on` at the index along a new axis; negative indices hit nothing, where ONNX counts from the end."""
    indices, depth, on, off = node.inputs
    axis = int(node.attrs["axis"])
    if node.dtype(2) not in ONE_HOT:
        spread = node.step(Unsqueeze(), node.int64(indices), node.vector([axis]), suffix="apart")
        numbers = node.step(Range(), _int64_constant(node, 0), node.int64(depth), _int64_constant(node, 1))
        behind = 0 if axis == -1 else node.rank(indices) - axis
        if behind:
            numbers = node.step(Unsqueeze(), numbers, node.vector(range(1, behind + 1)), suffix="numbers")
        return node.emit(ew.Where(), node.step(ew.Equal(), spread, numbers), on, off)
    hot_indices = node.int64(indices)
    if node.dtype() is not DType.UINT8 and not _is_natural(node, 0):
        negative = node.step(ew.Less(), hot_indices, _int64_constant(node, 0), suffix="negative")
        hot_indices = node.step(ew.Where(), negative, _int64_constant(node, BEYOND), hot_indices, suffix="places")
    pair = [node.step(Unsqueeze(), value, node.vector([0]), suffix="value") for value in (off, on)]
    values = node.step(Concat(axis=0), *pair, suffix="values")
    return node.emit(ix.OneHot(axis), hot_indices, node.int64(depth), values)


def _int64_constant(node: ImportNode, number: int) -> Value:
    return node.constant(number, DType.INT64)


def _is_natural(node: ImportNode, slot: int) -> bool:
    known = node.known(slot)
    return known is not None and min(known, default=0) >= 0


def import_where(node: ImportNode) -> Value:
    """Where: the indices (count, rank) of the elements that are not 0."""
    return node.emit(Transpose((1, 0)), node.step(ix.NonZero(), node.input(0)))


def import_unique(node: ImportNode) -> tuple[Value, ...]:
    """Unique: the different elements in the order in which they come, for each element its index, and counts."""
    axis: int | None = None
    if node.op.endswith("V2"):
        axes = node.integers(1, "the axis")
        axis = axes[0] if axes else None
        if axis is not None and node.rank(node.input(0)) == 1:
            axis = None
    elements, _, indices, counts = node.steps(ix.Unique(axis=axis, sorted=False), node.input(0))
    wanted = node.attrs["out_idx"]
    if wanted is not DType.INT64:
        indices = node.cast(indices, wanted, suffix="places")
        if node.op.startswith("UniqueWithCounts"):
            counts = node.cast(counts, wanted, suffix="counts")
    return (elements, indices, counts)


def import_invert_permutation(node: ImportNode) -> Value:
    """InvertPermutation: y[x[i]] = i."""
    permutation = node.input(0)
    count = length_of(node, permutation)
    numbers = node.step(Range(), _int64_constant(node, 0), count, _int64_constant(node, 1))
    if permutation.dtype is not DType.INT64:
        numbers = node.cast(numbers, DType.INT32, suffix="numbers")
    return node.emit(ix.ScatterElements(axis=0), permutation, permutation, numbers)


def import_bincount(node: ImportNode) -> Value:
    """Import Bincount and DenseBincount: count each number from 0 to `size` - 1, or sum its weights; ignore others.

    A matrix is terms row by row. The comparison with all `size` numbers takes memory for elements * size booleans.
    """
    data, size, weights = node.inputs
    dense = node.op == "DenseBincount"
    rank = node.rank(data) if dense else 1
    if not dense:
        data = node.step(Reshape(), data, node.vector([-1]), suffix="flat")
    dtype = node.dtype(2)
    numbers = node.step(Range(), _int64_constant(node, 0), _scalar(node, size), _int64_constant(node, 1))
    column = node.step(Unsqueeze(), node.int64(data), node.vector([-1]), suffix="apart")
    matches = node.step(ew.Equal(), column, numbers, suffix="hit")
    terms = node.cast(matches, dtype, suffix="counted")
    samples = node.vector([rank - 1])
    if dense and node.attrs["binary_output"]:
        return node.emit(ReduceMax(keepdims=False), terms, samples)
    count = known_length(weights)
    if count != 0:
        if count is None:
            node.decide(
                DecisionKind.WEIGHTS, f"the weights ({weights.name}) are taken to be present, one for each element"
            )
        if not dense:
            weights = node.step(Reshape(), weights, node.vector([-1]), suffix="flat_weights")
        factors = node.step(Unsqueeze(), weights, node.vector([-1]), suffix="spread")
        terms = node.step(ew.Mul(), terms, factors, suffix="weighted")
    return node.emit(ReduceSum(keepdims=False), terms, samples)


def _scalar(node: ImportNode, value: Value) -> Value:
    """Return a count as an int64 scalar; it may come as a vector of one."""
    whole = node.int64(value)
    return whole if value.shape == () else node.step(Reshape(), whole, node.vector([]), suffix="scalar")


def import_dynamic_stitch(node: ImportNode) -> Value:
    """DynamicStitch: row i of the data becomes row indices[i]; of equal indices the last one counts."""
    half = len(node) // 2
    index_vectors, rows = [], []
    for indices, data in zip(node.inputs[:half], node.inputs[half:], strict=True):
        rank = node.rank(indices)
        index_vectors.append(node.step(Reshape(), node.int64(indices), node.vector([-1]), suffix="places"))
        rows.append(rows_of(node, data, rank))
    all_indices = index_vectors[0] if half == 1 else node.step(Concat(axis=0), *index_vectors, suffix="all_places")
    row = rows[0] if half == 1 else node.step(Concat(axis=0), *rows, suffix="all_rows")
    last = node.step(ReduceMax(keepdims=True), all_indices, node.vector([0]), suffix="last")
    sizes = node.step(Shape(start=1), row, suffix="row")
    count = node.step(ew.Add(), last, node.vector([1]), suffix="count")
    shape = node.step(Concat(axis=0), count, sizes, suffix="shape")
    node.decide(DecisionKind.PLACES, "places that no index names are 0; TensorFlow leaves them undefined")
    zeros = node.step(ConstantOfShape(0.0, node.dtype(-1)), shape, suffix="zeros")
    vectors = node.step(Unsqueeze(), all_indices, node.vector([1]), suffix="vectors")
    return node.emit(ix.ScatterND(), zeros, vectors, row)


def import_dynamic_partition(node: ImportNode) -> tuple[Value, ...]:
    """DynamicPartition: the rows of each partition."""
    data, partitions = node.inputs
    rank = node.rank(partitions)
    rows = rows_of(node, data, rank)
    numbers = partitions if rank == 1 else node.step(Reshape(), partitions, node.vector([-1]), suffix="numbers")
    parts = []
    for number in range(node.attrs["num_partitions"]):
        chosen = node.step(ew.Equal(), numbers, node.constant(number, DType.INT32), suffix=f"is_{number}")
        parts.append(node.step(ix.Compress(axis=0), rows, chosen, suffix=f"part_{number}"))
    return tuple(parts)


def import_bucketize(node: ImportNode) -> Value:
    """Bucketize: how many of the boundaries are not above each element."""
    data = node.input(0)
    wanted = DType.FLOAT64 if node.dtype() in (DType.FLOAT64, DType.INT64) else DType.FLOAT32
    if data.dtype is not wanted:
        data = node.cast(data, wanted, suffix="float")
    apart = node.step(Unsqueeze(), data, node.vector([-1]), suffix="apart")
    above = node.step(ew.Less(), apart, node.constant(list(node.attrs["boundaries"]), wanted), suffix="above")
    return _count_true(node, node.step(ew.Not(), above), DType.INT32)


def _search(node: ImportNode, compare: ew.Less | ew.LessOrEqual) -> Value:  # type: ignore[valid-type]
    """Return how many of a row's sorted elements are before each value; (rows, n) and (rows, m) give (rows, m)."""
    sequences = node.step(Unsqueeze(), node.input(0), node.vector([1]), suffix="sorted")
    values = node.step(Unsqueeze(), node.input(1), node.vector([2]), suffix="values")
    return _count_true(node, node.step(compare, sequences, values), node.attrs["out_type"])


def _count_true(node: ImportNode, condition: Value, dtype: DType) -> Value:
    """Return how many elements along the last axis hold."""
    whole = node.cast(condition, dtype, suffix="whole")
    return node.emit(ReduceSum(keepdims=False), whole, node.vector([-1]))


IMPORTS: dict[str, ImportFunction] = {
    "Bincount": import_bincount,
    "Bucketize": import_bucketize,
    "DenseBincount": import_bincount,
    "DynamicPartition": import_dynamic_partition,
    "DynamicStitch": import_dynamic_stitch,
    "Gather": lambda node: node.emit(ix.Gather(axis=0), node.input(0), _read_indices(node, 1)),
    "GatherNd": import_gather_nd,
    "GatherV2": lambda node: _gather(node, node.integer(2, "the axis")),
    "InvertPermutation": import_invert_permutation,
    "LowerBound": lambda node: _search(node, ew.Less()),
    "OneHot": import_one_hot,
    "ParallelDynamicStitch": import_dynamic_stitch,
    "ResourceGather": lambda node: _gather(node, int(node.attrs["batch_dims"])),
    "ResourceGatherNd": import_gather_nd,
    "ScatterNd": import_scatter_nd,
    "ScatterNdNonAliasingAdd": scattering(ix.Reduction.ADD),
    "SparseToDense": import_sparse_to_dense,
    "TensorScatterAdd": scattering(ix.Reduction.ADD),
    "TensorScatterMax": scattering(ix.Reduction.MAX),
    "TensorScatterMin": scattering(ix.Reduction.MIN),
    "TensorScatterSub": scattering(ix.Reduction.ADD, negated=True),
    "TensorScatterUpdate": scattering(ix.Reduction.NONE),
    "Unique": import_unique,
    "UniqueV2": import_unique,
    "UniqueWithCounts": import_unique,
    "UniqueWithCountsV2": import_unique,
    "UpperBound": lambda node: _search(node, ew.LessOrEqual()),
    "Where": import_where,
}
