"""Operators that MXNet has since 2.0: places named by tensors, and shapes that are computed."""

from __future__ import annotations

import numpy as np

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops.indexing import import_gather_nd
from graphir.converters.mxnet.importing.ops.numpy_elementwise import as_dtype
from graphir.converters.mxnet.importing.ops.shape import by_codes
from graphir.converters.mxnet.importing.ranges import known
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.indexing import Gather
from graphir.ops.selection import Compress
from graphir.ops.shape import Reshape
from graphir.types import DType, TensorType


def import_advanced_indexing(node: ImportNode) -> Value:
    """data[indices] of one tensor: rows by a vector of bool, or the rows that integers name."""
    data, indices = node.input(0), node.input(1)
    if indices.dtype is DType.BOOL:
        node.graph.refine(indices, TensorType(None, (node.shape(data)[0],)))
        return node.emit(Compress(0), data, indices)
    if indices.dtype is not None and not indices.dtype.is_integer:
        node.refuse(f"{indices.name} is {indices.dtype}; MXNet takes integers or bool")
    node.decide(
        DecisionKind.INDEX_MODE, "onnxruntime fails on an index outside, as MXNet, which takes no negative ones either"
    )
    return node.emit(Gather(0), data, as_dtype(node, indices, DType.INT64))


def import_several_indices(node: ImportNode) -> Value:
    """data[indices[0], ..., indices[m - 1]] of integers."""
    dtype = node.input(1).dtype
    if dtype is not None and not dtype.is_integer:
        node.refuse(f"{node.input(1).name} is {dtype}; MXNet takes integers")
    return import_gather_nd(node)


def import_dynamic_reshape(node: ImportNode) -> Value:
    """Reshape by the codes that the second input holds; codes below -1 where it is known."""
    data, shape = node.input(0), node.input(1)
    node.graph.refine(shape, TensorType(None, (node.shape(shape)[0],)))
    result = known(shape)
    if not isinstance(result, Value):
        codes = tuple(int(code) for code in np.asarray(result).reshape(-1))
        if -2 in codes:
            node.refuse(f"shape {codes}: of code -2 MXNet 2.0 makes another shape than Reshape")
        return by_codes(node, data, codes, reverse=False)
    node.decide(
        DecisionKind.CHECK, "the shape is computed: sizes, 0 and -1 are taken as in MXNet, codes below -1 stop the run"
    )
    return node.emit(Reshape(), data, as_dtype(node, shape, DType.INT64))


IMPORTS: dict[str, ImportFunction] = {
    "_contrib_dynamic_reshape": import_dynamic_reshape,
    "_npi_advanced_indexing": import_advanced_indexing,
    "_npi_advanced_indexing_multiple": import_several_indices,
}
