"""Operators that MXNet has since 2.0: triangles, rearrangements, computed shapes, and indices that are tensors."""

from __future__ import annotations

from functools import partial

import numpy as np

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops.indexing import import_gather_nd
from graphir.converters.mxnet.importing.ops.numpy_elementwise import as_dtype, common_dtype
from graphir.converters.mxnet.importing.ops.numpy_style import triangle
from graphir.converters.mxnet.importing.ops.shape import by_codes
from graphir.converters.mxnet.importing.ranges import known
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ir
from graphir.ops.indexing import Gather, Reduction, ScatterND
from graphir.ops.linear import Einsum
from graphir.ops.reduction import ReduceSum
from graphir.ops.selection import Compress
from graphir.ops.shape import Expand, Reshape, Shape, Squeeze, Transpose, Unsqueeze
from graphir.ops.shape_parts import Concat, Slice
from graphir.types import DType, TensorType


def import_tri(node: ImportNode) -> Value:
    """Ones at and below diagonal k of an N x M matrix."""
    attrs = node.attrs
    rows = attrs["N"]
    columns = rows if attrs["M"] is None else attrs["M"]
    if min(rows, columns) < 0:
        node.refuse(f"a matrix of {rows} x {columns}")
    node.charge(rows * columns, "its matrix")
    dtype = DType.of(attrs["dtype"] or "float32")
    return node.graph.constant(np.tri(rows, columns, attrs["k"]).astype(dtype.numpy()), name=node.output_names[0])


def import_tril_indices(node: ImportNode) -> tuple[Value, Value]:
    """Return the rows and columns of the places at and below diagonal k of an n x m matrix."""
    attrs = node.attrs
    node.charge(attrs["n"] * attrs["m"], "its matrix")
    indices = np.tril_indices(attrs["n"], attrs["k"], attrs["m"])
    first, second = (
        node.graph.constant(index.astype(np.int64), name=name)
        for index, name in zip(indices, node.result_names(2), strict=True)
    )
    return first, second


def import_rollaxis(node: ImportNode) -> Value:
    """Return an axis moved to stand before `start`."""
    data = node.input(0)
    rank = node.rank(data)
    axis, start = node.axis(node.attrs["axis"], rank), node.attrs["start"]
    if not -rank <= start <= rank:
        node.refuse(f"start {start} in a tensor of rank {rank}")
    start += rank if start < 0 else 0
    rest = [each for each in range(rank) if each != axis]
    rest.insert(start - (axis < start), axis)
    return node.emit(Transpose(tuple(rest)), data)


def import_repeats(node: ImportNode) -> Value:
    """Return each slice along the axis (of the flat tensor without one) as often as `repeats` says for it."""
    data, axis = node.input(0), node.attrs["axis"]
    repeats = node.attrs["repeats"] or ()
    if axis is None:
        data, axis = node.step(Reshape(), data, node.vector([-1]), suffix="flat"), 0
    (size,) = node.sizes(data, [node.axis(axis, node.rank(data))])
    if len(repeats) not in (1, size) or min(repeats, default=-1) < 0:
        node.refuse(f"repeats {repeats} of an axis of {size}")
    counts = repeats if len(repeats) == size else repeats * size
    node.charge(sum(counts), "its places")
    indices = np.repeat(np.arange(size), counts)
    return node.emit(Gather(axis=axis), data, node.graph.constant(indices.astype(np.int64)))


def import_kron(node: ImportNode) -> Value:
    """Return every element of a times the whole of b; the smaller number of axes is filled up with ones in front."""
    values = [node.input(0), node.input(1)]
    dtype = common_dtype(node, *values)
    rank = max(1, *(node.rank(value) for value in values))
    parts, shapes = [], []
    for index, value in enumerate(values):
        missing = list(range(rank - node.rank(value)))
        wide = as_dtype(node, value, dtype)
        if missing:
            wide = node.step(Unsqueeze(), wide, node.vector(missing), suffix="axes")
        shapes.append(node.step(Shape(), wide, suffix="shape"))
        between = [2 * axis + (1 - index) for axis in range(rank)]
        parts.append(node.step(Unsqueeze(), wide, node.vector(between), suffix="apart"))
    product = node.step(ir.Mul(), *parts, suffix="products")
    return node.emit(Reshape(), product, node.step(ir.Mul(), *shapes, suffix="sizes"))


# e[i, j, k]: 1 for even permutations, -1 for odd ones.
LEVI_CIVITA = np.zeros((3, 3, 3))
for _place, _sign in {(0, 1, 2): 1, (1, 2, 0): 1, (2, 0, 1): 1, (0, 2, 1): -1, (2, 1, 0): -1, (1, 0, 2): -1}.items():
    LEVI_CIVITA[_place] = _sign


def import_cross(node: ImportNode) -> Value:
    """Return the cross product of vectors along an axis each; a third element that is missing is 0, and of two pairs
    only the third element of the product is the result."""
    attrs = node.attrs
    values = [node.input(0), node.input(1)]
    dtype = common_dtype(node, *values)
    sizes = []
    for index, name in enumerate(("axisa", "axisb")):
        value = as_dtype(node, values[index], dtype)
        axis = node.axis(attrs[name], node.rank(value))
        sizes.append(node.sizes(value, [axis])[0])
        values[index] = _moved(node, value, axis, -1)
    if any(value.shape != values[0].shape for value in values if set(sizes) == {3}):
        node.refuse("vectors of shapes that broadcast: MXNet 2.0 gives wrong numbers for them, or ends")
    if not set(sizes) <= {2, 3}:
        node.refuse(f"vectors of {sizes[0]} and {sizes[1]} elements; they have 2 or 3")
    both = sizes == [2, 2]
    table = LEVI_CIVITA[: sizes[0], : sizes[1], 2:] if both else LEVI_CIVITA[: sizes[0], : sizes[1]]
    signs = node.graph.constant(table.astype((dtype or DType.FLOAT32).numpy()))
    products = node.step(
        ir.Mul(),
        node.step(Unsqueeze(), values[0], node.vector([-1]), suffix="rows"),
        node.step(Unsqueeze(), values[1], node.vector([-2]), suffix="columns"),
        suffix="products",
    )
    result = node.step(Einsum("...ij,ijk->...k"), products, signs, suffix="vectors")
    if both:
        return node.emit(Squeeze(), result, node.vector([-1]))
    rank = node.rank(result)
    return node.emit(ir.Identity(), _moved(node, result, rank - 1, node.axis(attrs["axisc"], rank)))


def _moved(node: ImportNode, value: Value, axis: int, target: int) -> Value:
    """Return the axis brought to another place, -1 the last."""
    order = [each for each in range(node.rank(value)) if each != axis]
    order.insert(len(order) if target == -1 else target, axis)
    return value if order == sorted(order) else node.step(Transpose(tuple(order)), value, suffix="turned")


def import_interp(node: ImportNode) -> Value:
    """Straight lines between the points (xp, fp), xp rising; before and behind them `left`, `right` or the last fp."""
    attrs = node.attrs
    if attrs["period"] is not None:
        node.refuse(f"period {attrs['period']}, by which the points would have to be sorted anew")
    xp, fp = (as_dtype(node, node.input(index), DType.FLOAT64) for index in (0, 1))
    x = node.constant(attrs["x_scalar"], DType.FLOAT64) if attrs["x_is_scalar"] else node.input(2)
    x = as_dtype(node, x, DType.FLOAT64)
    (count,) = node.sizes(xp)
    alone = count == 1
    inside = node.step(Expand(), fp, node.step(Shape(), x), suffix="alone") if alone else _between(node, x, xp, fp)
    ends = {"left": (ir.Less(), 0), "right": (ir.Greater(), -1)}
    for name, (op, index) in ends.items():
        end = node.constant(index, DType.INT64)
        value = node.step(Gather(), fp, end, suffix=name)
        if attrs[name] is not None:
            value = node.constant(attrs[name], DType.FLOAT64)
        outside = node.step(op, x, node.step(Gather(), xp, end, suffix=f"{name}_end"), suffix=f"{name}_of_all")
        inside = node.step(ir.Where(), outside, value, inside, suffix=f"with_{name}")
    return node.emit(ir.Identity(), inside)


def _between(node: ImportNode, x: Value, xp: Value, fp: Value) -> Value:
    """Return the straight line between the last point that is not behind x and the next one."""
    (count,) = node.sizes(xp)
    spread = node.step(Unsqueeze(), x, node.vector([-1]), suffix="spread")
    inner = node.step(Slice(), xp, node.vector([1]), node.vector([count - 1]), suffix="inner")
    passed = node.step(ir.GreaterOrEqual(), spread, inner, suffix="passed")
    counted = node.cast(passed, DType.INT64, suffix="ones")
    index = node.step(ReduceSum(keepdims=False), counted, node.vector([-1]), suffix="place")
    following = node.step(ir.Add(), index, node.constant(1, DType.INT64), suffix="next")
    (x0, x1), (y0, y1) = (
        tuple(node.step(Gather(), points, each, suffix="point") for each in (index, following)) for points in (xp, fp)
    )
    rise, run = node.step(ir.Sub(), y1, y0, suffix="rise"), node.step(ir.Sub(), x1, x0, suffix="run")
    slope = node.step(ir.Div(), rise, run, suffix="slope")
    way = node.step(ir.Sub(), x, x0, suffix="way")
    return node.step(ir.Add(), node.step(ir.Mul(), slope, way, suffix="climb"), y0, suffix="line")


def at_places(reduction: Reduction, node: ImportNode) -> Value:
    """a with the values added to the places, or put there; `ind` holds one column a place."""
    data, indices, updates = node.input(0), node.input(1), node.input(2)
    depth, _ = node.shape(indices)
    if not isinstance(depth, int) or depth > node.rank(data):
        node.refuse(f"places of {depth} numbers in a tensor of rank {node.rank(data)}")
    indices = as_dtype(node, indices, DType.INT64)
    count = node.step(Shape(start=1, end=2), indices, suffix="count")
    rest = node.step(Shape(start=depth), data, suffix="rest")
    shape = node.step(Concat(axis=0), count, rest, suffix="shape")
    wide = node.step(Expand(), as_dtype(node, updates, data.dtype), shape, suffix="updates")
    rows = node.step(Transpose((1, 0)), indices, suffix="rows")
    return node.emit(ScatterND(reduction=reduction), data, rows, wide)


def import_copyto(node: ImportNode) -> Value:
    """Return a copy of the one input, as MXNet 2.0 writes `copy()`; 1.9.1 binds no symbol with it."""
    if len(node) != 1:
        node.refuse(f"{len(node)} inputs, of which one is written to: a graph has no memory")
    return node.emit(ir.Identity(), node.input(0))


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
    "_copyto": import_copyto,
    "_npi_cross": import_cross,
    "_npi_interp": import_interp,
    "_npi_kron": import_kron,
    "_npi_repeats": import_repeats,
    "_npi_rollaxis": import_rollaxis,
    "_npi_tri": import_tri,
    "_npi_tril_indices": import_tril_indices,
    "_npi_triu": triangle(upper=True),
    "_npx_index_add": partial(at_places, Reduction.ADD),
    "_npx_index_update": partial(at_places, Reduction.NONE),
    "_contrib_dynamic_reshape": import_dynamic_reshape,
    "_npi_advanced_indexing": import_advanced_indexing,
    "_npi_advanced_indexing_multiple": import_several_indices,
}
