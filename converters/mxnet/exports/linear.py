"""Matrix products: FullyConnected where an MXNet user would write it, else dot, batch_dot, _linalg_gemm2."""

from __future__ import annotations

from typing import Any

from graphir.converters.mxnet.export_context import Entry, ExportNode, ExportTable
from graphir.graph import Node, Value
from graphir.ops.linear import Gemm, MatMul
from graphir.ops.shape import Flatten, Transpose


def _unflattened(value: Value) -> Value:
    """What was flattened to a matrix, which FullyConnected does itself."""
    producer = value.producer
    if producer is not None and isinstance(producer.op, Flatten) and producer.op.axis == 1:
        source = producer.inputs[0]
        assert source is not None
        if source.rank is None or source.rank > 1:
            return source
    return value


def _hidden(weight: Value, bias: Value | None) -> int | None:
    """The number of units, if the weight is a matrix and the bias, if any, a vector with one element for each."""
    if weight.shape is None or len(weight.shape) != 2 or not isinstance(weight.shape[0], int):
        return None
    hidden = weight.shape[0]
    return hidden if bias is None or bias.shape == (hidden,) else None


def export_gemm(node: ExportNode) -> None:
    """FullyConnected; with other factors or transpositions _linalg_gemm2 and a sum."""
    op: Gemm = node.op
    bias = node.operand(2)
    if not node.dtype().is_float:
        node.refuse(f"MXNet multiplies matrices of floats only, not {node.dtype()}")
    hidden = _hidden(node.value(1), bias)
    plain = op.alpha == 1 and (op.beta == 1 or bias is None) and not op.transA and op.transB
    if plain and hidden is not None:
        data = node.export.entry(_unflattened(node.value(0)))
        further = [node.entry(1), *([] if bias is None else [node.entry(2)])]
        node.emit("FullyConnected", data, *further, num_hidden=hidden, no_bias=bias is None)
        return
    attributes: dict[str, Any] = {"transpose_a": op.transA, "transpose_b": op.transB}
    name = "dot"
    if op.alpha != 1:
        name, attributes["alpha"] = "_linalg_gemm2", op.alpha
    if bias is None:
        node.emit(name, node.entry(0), node.entry(1), **attributes)
        return
    found = node.step(name, node.entry(0), node.entry(1), suffix="product", **attributes)
    addend = node.entry(2)
    if op.beta != 1:
        addend = node.step("_mul_scalar", addend, suffix="addend", scalar=op.beta)
    node.emit("broadcast_add", found, addend)


def _dense(node: Node) -> tuple[Value, Value] | None:
    """Data and weight of a product with a transposed matrix: a FullyConnected that does not flatten."""
    data, right = node.inputs
    turned = None if right is None else right.producer
    if data is None or turned is None or not isinstance(turned.op, Transpose) or data.rank in (None, 1):
        return None
    weight = turned.inputs[0]
    if weight is None or weight.rank != 2 or turned.op.perm not in ((), (1, 0)):
        return None
    return data, weight


def export_dense_sum(node: ExportNode) -> bool:
    """A sum of a product and a bias as one FullyConnected; whether it is one."""
    product, bias = node.value(0), node.value(1)
    producer = product.producer
    if producer is None or not isinstance(producer.op, MatMul) or len(product.uses) != 1 or bias.rank != 1:
        return False
    found = _dense(producer)
    hidden = None if found is None else _hidden(found[1], bias)
    if found is None or hidden is None or node.export.graph.is_output(product) or bias.tensor is None:
        return False
    entries = (node.export.entry(found[0]), node.export.entry(found[1]), node.entry(1))
    node.emit("FullyConnected", *entries, num_hidden=hidden, no_bias=False, flatten=False)
    return True


def export_matmul(node: ExportNode) -> None:
    """dot with a matrix or vector; equal batches go through batch_dot."""
    if not node.dtype().is_float:
        node.refuse(f"MXNet multiplies matrices of floats only, not {node.dtype()}")
    dense = _dense(node.node)
    hidden = None if dense is None else _hidden(dense[1], None)
    if dense is not None and hidden is not None:
        entries = node.export.entry(dense[0]), node.export.entry(dense[1])
        node.emit("FullyConnected", *entries, num_hidden=hidden, no_bias=True, flatten=False)
        return
    right = node.rank(1)
    if right == 2 and node.value(0).rank is None:
        node.emit("dot", node.entry(0), node.entry(1))
        return
    left = node.rank(0)
    if right <= 2 and (left > 1 or right == 1):
        node.emit("dot", node.entry(0), node.entry(1))
        return
    if left == right and node.shape(0)[:-2] == node.shape(1)[:-2]:
        node.emit("batch_dot", node.entry(0), node.entry(1))
        return
    if left < 2 or right < 2:
        node.refuse(f"a product of {left} and {right} axes; MXNet wants matrices")
    batch = node.sizes(node.result.shape, node.result.name)[:-2]
    node.emit("batch_dot", _stretched(node, 0, batch), _stretched(node, 1, batch))


def _stretched(node: ExportNode, slot: int, batch: tuple[int, ...]) -> Entry:
    """An operand with all the batch axes, which batch_dot does not broadcast."""
    shape = node.sizes(node.shape(slot), node.value(slot).name)
    entry, wanted = node.entry(slot), (*batch, *shape[-2:])
    if shape == wanted:
        return entry
    if len(shape) < len(wanted):
        apart = (1,) * (len(wanted) - len(shape)) + shape
        entry = node.step("Reshape", entry, suffix="apart", shape=apart)
    return node.step("broadcast_to", entry, suffix="batch", shape=wanted)


EXPORTS: ExportTable = {Gemm: export_gemm, MatMul: export_matmul}

__all__ = ["EXPORTS", "export_dense_sum"]
