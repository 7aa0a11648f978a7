"""Matrix products: FullyConnected where an MXNet user would write it, else dot, batch_dot, _linalg_gemm2.

MXNet multiplies matrices of float32 and float64 (of float16 on a GPU): other dtypes are computed in one of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphir.converters.mxnet.exporting.context import (
    AnyNode,
    Entry,
    ExportFunction,
    ExportNode,
    dtype_name,
    row,
    table,
)
from graphir.decisions import DecisionKind
from graphir.graph import Node, Value
from graphir.ops import factorization as ir
from graphir.ops.linear import Gemm, MatMul
from graphir.ops.shape import Flatten, Transpose
from graphir.types import DType, Shape


def _unflattened(value: Value) -> Value:
    """Return what was flattened to a matrix, which FullyConnected does itself."""
    producer = value.producer
    if producer is not None and isinstance(producer.op, Flatten) and producer.op.axis == 1:
        source = producer.inputs[0]
        assert source is not None
        if source.rank is None or source.rank > 1:
            return source
    return value


def _hidden(weight: Value, turned: bool, bias: Value | None) -> int | None:
    """Return the number of units of a weight, which is to be transposed or not; None if it is no matrix, or the bias,
    if any, has not one element for each."""
    hidden = weight.shape[turned] if weight.shape is not None and len(weight.shape) == 2 else None
    if not isinstance(hidden, int):
        return None
    row = bias is not None and bias.tensor is not None and bias.shape == (1, hidden)
    return hidden if bias is None or bias.shape == (hidden,) or row else None


def _bias(node: AnyNode, slot: int, hidden: int) -> Entry:
    """Return a bias as a vector."""
    value = node.input(slot)
    return node.entry(slot) if value.rank == 1 else node.export.reshaped(value, (hidden,))


def product_dtype(dtype: DType) -> DType:
    """Return the dtype in which MXNet can multiply matrices of `dtype` without loss; integers beyond 2^53 lose
    digits."""
    if dtype in (DType.FLOAT32, DType.FLOAT64):
        return dtype
    return DType.FLOAT32 if dtype.is_float else DType.FLOAT64


def operand(node: AnyNode, slot: int) -> Entry:
    """Return an operand in the dtype in which the product is computed."""
    entry, dtype = node.entry(slot), node.dtype(slot)
    wide = product_dtype(dtype)
    return entry if wide is dtype else node.export.cast(entry, wide)


def emit_product(node: AnyNode, op: str, *inputs: Entry, **attributes: Any) -> None:
    """The MXNet node that gives the result, converted from the dtype in which it was computed."""
    dtype = node.dtype()
    if product_dtype(dtype) is dtype:
        node.emit(op, *inputs, **attributes)
        return
    if not dtype.is_float:
        node.decide(DecisionKind.INTEGER_PRODUCT, "computed in float64: exact as long as the sums are below 2^53")
    node.emit("Cast", node.step(op, *inputs, suffix="wide", **attributes), dtype=dtype.value)


def _emit_dense(node: AnyNode, *inputs: Entry, **attributes: Any) -> None:
    if node.dtype() is DType.FLOAT16:
        node.decide(DecisionKind.FLOAT16_PRODUCT, "FullyConnected of float16 runs on a GPU; MXNet's CPU build has none")
    node.emit("FullyConnected", *inputs, **attributes)


def export_gemm(node: ExportNode[Gemm]) -> None:
    """FullyConnected; with other factors or transpositions dot or _linalg_gemm2, and a sum."""
    op = node.op
    bias = node.optional(2)
    plain = op.alpha == 1 and (op.beta == 1 or bias is None) and not op.transA
    turned = not op.transB and _is_held(node.input(1))
    hidden = _hidden(node.input(1), turned, bias)
    if plain and (op.transB or turned) and hidden is not None and node.dtype().is_float:
        data = node.export.entry(_unflattened(node.input(0)))
        weight = _held_transposed(node, node.input(1)) if turned else node.entry(1)
        further = [weight, *([] if bias is None else [_bias(node, 2, hidden)])]
        _emit_dense(node, data, *further, num_hidden=hidden, no_bias=bias is None)
        return
    attributes: dict[str, Any] = {"transpose_a": op.transA, "transpose_b": op.transB}
    name = "dot"
    if op.alpha != 1:
        name, attributes["alpha"] = "_linalg_gemm2", op.alpha
    factors = operand(node, 0), operand(node, 1)
    if bias is None or op.beta == 0:
        emit_product(node, name, *factors, **attributes)
        return
    result = node.step(name, *factors, suffix="product", **attributes)
    addend = operand(node, 2)
    if op.beta != 1:
        addend = node.step("_mul_scalar", addend, suffix="addend", scalar=op.beta)
    emit_product(node, "broadcast_add", result, addend)


def _is_held(weight: Value) -> bool:
    """Return whether a matrix is a constant that FullyConnected can hold transposed."""
    return weight.tensor is not None and weight.rank == 2 and weight.dtype in (DType.FLOAT32, DType.FLOAT64)


def _held_transposed(node: AnyNode, weight: Value) -> Entry:
    """Return a constant transposed, under its own name if nothing else uses it."""
    assert weight.tensor is not None
    export = node.export
    name = weight.name if len(weight.uses) == 1 else export.fresh_variable(f"{weight.name}_transposed")
    return export.variable(name, weight.tensor.transposed((1, 0)), {})


def _dense(node: Node) -> tuple[Value, Value, bool] | None:
    """Data, weight, and whether it is to be transposed, of a FullyConnected that does not flatten.

    That is a product with a transposed matrix, or with one that can be held so.
    """
    data, right = node.inputs
    if data is None or right is None or data.rank in (None, 1):
        return None
    turned = right.producer
    if _is_held(right):
        return data, right, True
    if turned is None or not isinstance(turned.op, Transpose):
        return None
    weight = turned.inputs[0]
    if weight is None or weight.rank != 2 or turned.op.perm not in ((), (1, 0)):
        return None
    if weight.dtype is None or not weight.dtype.is_float:
        return None
    return data, weight, False


def _emit_product_with_weight(
    node: AnyNode, data: Value, weight: Value, turned: bool, bias: Entry | None, hidden: int
) -> None:
    """FullyConnected of the last axis."""
    entry = _held_transposed(node, weight) if turned else node.export.entry(weight)
    further = () if bias is None else (bias,)
    flatten = None if data.rank == 2 else False
    _emit_dense(
        node, node.export.entry(data), entry, *further, num_hidden=hidden, no_bias=bias is None, flatten=flatten
    )


def export_dense_sum(node: AnyNode) -> bool:
    """Return a sum of a product and a bias as one FullyConnected; whether it is one."""
    product, bias = node.input(0), node.input(1)
    producer = product.producer
    if producer is None or not isinstance(producer.op, MatMul) or len(product.uses) != 1 or bias.rank != 1:
        return False
    result = _dense(producer)
    if result is None or node.export.graph.is_output(product) or bias.tensor is None:
        return False
    data, weight, turned = result
    hidden = _hidden(weight, turned, bias)
    if hidden is None:
        return False
    _emit_product_with_weight(node, data, weight, turned, node.entry(1), hidden)
    return True


def export_matmul(node: ExportNode[MatMul]) -> None:
    """FullyConnected with a weight; dot with a matrix or vector; batches go through batch_dot."""
    if any(value is not None and 0 in (value.shape or ()) for value in node.node.inputs):
        shape = node.fixed(node.result.shape, node.result.name) or (1,)
        node.emit("_zeros", shape=shape, dtype=dtype_name(node.dtype()))  # sums of nothing; MXNet's products stop there
        return
    dense = _dense(node.node)
    if dense is not None:
        data, weight, turned = dense
        hidden = _hidden(weight, turned, None)
        if hidden is not None:
            _emit_product_with_weight(node, data, weight, turned, None, hidden)
            return
    name, inputs, attributes = _matrix_product(node)
    emit_product(node, name, *inputs, **attributes)


def _matrix_product(node: AnyNode) -> tuple[str, tuple[Entry, ...], dict[str, Any]]:
    """numpy's matmul of both operands: the last MXNet node, with inputs and attributes."""
    left, right = operand(node, 0), operand(node, 1)
    first, second = node.input(0), node.input(1)
    if second.rank is not None and second.rank <= 2:
        return "dot", (left, right), {}
    shape, other = node.shape(0), node.shape(1)
    if len(shape) >= len(other) and all(size == 1 for size in other[:-2]):
        matrix = other[-2:]
        if all(isinstance(size, int) for size in matrix):
            return "dot", (left, node.step("Reshape", right, suffix="matrix", shape=matrix)), {}
    if len(shape) == 1:
        left = node.step("Reshape", left, suffix="row", shape=(1, -1))
        shape = (1, *shape)
    batch = node.shape(node.result)
    rows = first.rank != 1
    batch = batch[:-2] if rows else batch[:-1]
    if shape[:-2] == other[:-2] and rows:
        sides = [_turned(node, slot, entry) for slot, entry in enumerate((left, right))]
        names = ("transpose_a", "transpose_b")
        turns = {name: True for name, (_, turned) in zip(names, sides, strict=True) if turned}
        return "batch_dot", tuple(entry for entry, _ in sides), turns
    factors = tuple(_stretched(node, ((left, shape), (right, other)), batch))
    if rows:
        return "batch_dot", factors, {}
    return "squeeze", (node.step("batch_dot", *factors, suffix="rows"),), {"axis": (len(batch),)}


def _turned(node: AnyNode, slot: int, entry: Entry) -> tuple[Entry, bool]:
    """A factor before its matrices were transposed, which batch_dot does itself; and whether they were."""
    producer, dtype = node.input(slot).producer, node.dtype(slot)
    if producer is None or not isinstance(producer.op, Transpose) or product_dtype(dtype) is not dtype:
        return entry, False
    source, perm = producer.inputs[0], producer.op.perm
    if source is None or perm != (*range(len(perm) - 2), len(perm) - 1, len(perm) - 2):
        return entry, False
    return node.export.entry(source), True


def _stretched(node: AnyNode, factors: Sequence[tuple[Entry, Shape]], batch: Shape) -> list[Entry]:
    """Return the factors with all the batch axes, which batch_dot does not broadcast."""
    entries: list[Entry] = []
    shapes: list[Shape] = []
    for slot, (entry, shape) in enumerate(factors):
        missing = len(batch) + 2 - len(shape)
        for _ in range(missing):
            entry = node.step("expand_dims", entry, suffix=f"apart{slot}", axis=0)
        entries.append(entry)
        shapes.append((*(1,) * missing, *shape[:-2]))
    result: list[Entry] = []
    for slot, entry in enumerate(entries):
        own_shape, others, name = shapes[slot], shapes[1 - slot], f"batch{slot}"
        grows = tuple(axis for axis, size in enumerate(batch) if own_shape[axis] == 1 != size)
        if any(not isinstance(size, int) and size != other != 1 for size, other in zip(own_shape, others, strict=True)):
            # An open size may be 1 or that of the other factor: zeros of the other are added.
            corner = entries[1 - slot]
            for axis in (len(batch), len(batch) + 1):
                corner = node.step("slice_axis", corner, suffix=f"{name}_corner", axis=axis, begin=0, end=1)
            zeros = node.step("zeros_like", corner, suffix=f"{name}_zeros")
            result.append(node.step("broadcast_add", entry, zeros, suffix=name))
        elif not grows:
            result.append(entry)
        elif all(isinstance(batch[axis], int) for axis in grows):
            sizes = tuple(batch[axis] if axis in grows else 0 for axis in range(len(batch)))
            result.append(node.step("broadcast_to", entry, suffix=name, shape=(*sizes, 0, 0)))
        else:
            like = entries[1 - slot]
            result.append(node.step("broadcast_like", entry, like, suffix=name, lhs_axes=grows, rhs_axes=grows))
    return result


def named(operator: str) -> ExportFunction:
    """Return an operator with the same operands and results, without attributes."""
    return lambda node: node.emit(operator, *node.entries())


def export_triangular_solve(node: ExportNode[ir.TriangularSolve]) -> None:
    """_linalg_trsm."""
    op = node.op
    node.emit(
        "_linalg_trsm", *node.entries(), lower=op.lower, transpose=op.transpose, rightside=op.rightside
    )


EXPORTS = table(
    row(Gemm, export_gemm), row(MatMul, export_matmul),
    row(ir.Cholesky, lambda node: node.emit("_linalg_potrf", node.entry(0), lower=node.op.lower)),
    row(ir.Inverse, named("_linalg_inverse")),
    row(ir.LQ, named("_linalg_gelqf")),
    row(ir.SVD, named("_npi_svd")),
    row(ir.SignLogDet, lambda node: node.emit("_linalg_slogdet", node.entry(0))),
    row(ir.Solve, named("_npi_solve")),
    row(ir.SymmetricEigen, named("_linalg_syevd")),
    row(ir.TriangularSolve, export_triangular_solve),
)
