"""Operators on sparse arrays, computed on dense ones: what an array does not store is 0.

Where it counts what is stored, an operator asks how its operand became sparse: a cast tells which places it stores.
"""

from __future__ import annotations

from functools import partial

from graphir.converters.mxnet.files.records import VARIABLE
from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops.elementwise import IMPORTS as ELEMENTWISE
from graphir.converters.mxnet.importing.ops.indexing import import_embedding
from graphir.converters.mxnet.importing.ops.scalars import IMPORTS as SCALARS
from graphir.converters.mxnet.importing.sizes import axis_size
from graphir.converters.mxnet.importing.symbol_inputs import DENSE, MATRIX, NUMBERED, ROWS, STORAGE_TYPE
from graphir.converters.mxnet.schema.operators import typed_attributes
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ir
from graphir.ops.creation import Range
from graphir.ops.reduction import ReduceMax, ReduceSum
from graphir.ops.shape import Reshape, Unsqueeze
from graphir.types import DType


def storage(node: ImportNode, slot: int) -> str | None:
    """Return how an operand is stored; None where only MXNet's inference of storage types could tell."""
    source, _ = node.record.inputs[slot]
    record = node.importer.source.nodes[source]
    if source not in node.importer.perhaps_sparse:
        return DENSE
    if record.op == VARIABLE:
        return NUMBERED.get(record.annotations[STORAGE_TYPE])
    return str(typed_attributes(record)["stype"]) if record.op == "cast_storage" else None


def _known_storage(node: ImportNode, slot: int) -> str:
    result = storage(node, slot)
    if result is None:
        node.refuse("an operand that another operator made of a sparse array: what it stores is not known")
    return result


def import_cast_storage(node: ImportNode) -> Value:
    """Return the same elements."""
    wanted = node.attrs["stype"]
    if wanted == MATRIX and node.rank() != 2:
        node.refuse(f"{node.input(0).type} as csr, expected two axes")
    if wanted != DENSE:
        text = f"{wanted} became dense: what is not stored is 0, also where MXNet leaves it out (0 times infinity)"
        node.decide(DecisionKind.SPARSE_WEIGHTS, text)
    return node.emit(ir.Identity(), node.input(0))


def _stored(node: ImportNode, data: Value, kind: str) -> Value:
    """Return which elements of the dense data a sparse array stores: those other than 0, or all of a row that has
    one."""
    zero = node.scalar_like(data, 0)
    other = node.step(ir.Not(), node.step(ir.Equal(), data, zero, suffix="zeros"), suffix="stored")
    if kind == MATRIX:
        return other
    number = node.cast(other, DType.INT32, suffix="number")
    axes = node.vector(range(1, node.rank(data)))
    rows = number if node.rank(data) == 1 else node.step(ReduceMax(), number, axes, suffix="rows")
    return node.cast(rows, DType.BOOL, suffix="stored_rows")


def scattered(function: ImportFunction, node: ImportNode, *, of_rows_only: bool=False) -> Value:
    """Apply the function to what the first operand stores, to all of it where that is dense."""
    kind = _known_storage(node, 0)
    if kind == DENSE or (of_rows_only and kind != ROWS):
        result = function(node)
        assert isinstance(result, Value)
        return result
    if node.importer.source.nodes[node.record.inputs[0][0]].op == VARIABLE:
        node.refuse(f"{kind} data, of which only the one who feeds it knows what is stored")
    data = node.input(0)
    node.decide(DecisionKind.SPARSE_WEIGHTS, f"{kind} data: applied to what it stores, elements other than 0")
    result = function(node.over(*node.inputs, suffix="all"))
    assert isinstance(result, Value)
    return node.emit(ir.Where(), _stored(node, data, kind), result, node.scalar_like(result, 0))


def import_retain(node: ImportNode) -> Value:
    """Return the rows that `indices` (a vector) names, zeros in place of the others."""
    if _known_storage(node, 0) != ROWS:
        node.refuse("data that is not row_sparse, as MXNet wants it")
    data, indices = node.input(0), node.input(1)
    if node.rank(indices) != 1:
        node.refuse(f"indices {indices.type}, expected one axis")
    whole = node.cast(indices, DType.INT64, suffix="rows")
    count = axis_size(node, data, 0)
    places = node.step(Range(), node.constant(0, DType.INT64), count, node.constant(1, DType.INT64), suffix="places")
    same = node.step(ir.Equal(), node.step(Unsqueeze(), places, node.vector([1])), whole, suffix="named")
    number = node.step(ReduceSum(keepdims=False), node.cast(same, DType.INT32), node.vector([1]))
    kept = node.cast(number, DType.BOOL, suffix="kept")
    if node.rank(data) > 1:
        kept = node.step(Reshape(), kept, node.vector([-1, *[1] * (node.rank(data) - 1)]), suffix="kept_rows")
    return node.emit(ir.Where(), kept, data, node.scalar_like(data, 0))


def import_getnnz(node: ImportNode) -> Value:
    """Return how many elements a csr matrix stores, in all or in each row."""
    if _known_storage(node, 0) != MATRIX:
        node.refuse("data that is not csr, as MXNet wants it")
    data, axis = node.input(0), node.attrs["axis"]
    if axis not in (None, 1):
        node.refuse(f"axis {axis}; MXNet knows None and 1")
    node.decide(DecisionKind.SPARSE_WEIGHTS, "elements other than 0 are counted: zeros are not stored")
    number = node.cast(_stored(node, data, MATRIX), DType.INT64, suffix="number")
    if axis is None:
        result = node.step(ReduceSum(keepdims=False), number, suffix="count")
        return node.emit(Reshape(), result, node.vector([1]))
    return node.emit(ReduceSum(keepdims=False), number, node.vector([1]))


IMPORTS: dict[str, ImportFunction] = {
    "_contrib_SparseEmbedding": import_embedding,
    "_contrib_getnnz": import_getnnz,
    "_scatter_elemwise_div": partial(scattered, ELEMENTWISE["elemwise_div"], of_rows_only=True),
    "_scatter_minus_scalar": partial(scattered, SCALARS["_minus_scalar"]),
    "_scatter_plus_scalar": partial(scattered, SCALARS["_plus_scalar"]),
    "_sparse_retain": import_retain,
    "cast_storage": import_cast_storage,
}
