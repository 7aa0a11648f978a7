"""oneDNN's fused parts of an attention: scores and attended values of interleaved queries, keys and values.

Quantized ones take the parts out of the integers, so that onnxruntime's integer kernels see them behind one step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from graphir.converters.mxnet.files.records import NNVMNode
from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.fused import inner
from graphir.converters.mxnet.importing.ops.linear import import_batch_dot as import_plain_batch_dot
from graphir.converters.mxnet.importing.ops.linear import interleaved_part, interleaved_parts
from graphir.converters.mxnet.importing.ops.quantized_products import product_ends
from graphir.converters.mxnet.importing.ranges import (
    LARGEST,
    SPANS,
    Known,
    apply,
    as_end,
    byte_dtype,
    calibrated,
    end,
    magnitude,
    quantized,
    real,
    single,
    step_of,
)
from graphir.converters.mxnet.schema.operators import typed_attributes
from graphir.graph import Value
from graphir.ops.elementwise import Mul
from graphir.ops.linear import MatMul, MatMulInteger
from graphir.ops.shape import Reshape, Transpose
from graphir.types import DType


def _in_float(node: ImportNode) -> Value:
    """Return what is fused, as it stands inside."""
    return inner(node, _fused(node), *node.inputs)


def _fused(node: ImportNode) -> NNVMNode:
    """Return the one operator inside. Refuses one of other heads: MXNet takes shapes by those, and numbers by the
    node's."""
    records = [record for graph in node.record.subgraphs for record in graph.nodes if record.inputs]
    if [record.op for record in records] != [node.op.replace("_sg_mkldnn_", "_contrib_interleaved_matmul_")]:
        result = ", ".join(record.op for record in records)
        node.refuse(f"the symbol inside has {result or 'no operator'}: MXNet 2.0's attention has another layout")
    heads = typed_attributes(records[0])["heads"]
    if heads != node.attrs["heads"]:
        node.refuse(f"heads {node.attrs['heads']}, and {heads} in the symbol inside")
    return records[0]


def _reach(node: ImportNode, slot: int) -> Known:
    return magnitude(node, end(node, node.input(slot)), end(node, node.input(slot + 1)))


def import_scores(node: ImportNode) -> Sequence[Value] | Value:
    """Q K^T / sqrt(d) of (T, N, heads * 3 * d), as (N * heads, T, T)."""
    if not node.attrs["quantized"]:
        return _in_float(node)
    _fused(node)
    found = calibrated(node)
    if found is None and not node.attrs["enable_float_output"]:
        node.refuse("it has no calibrated range, and MXNet gives its result the range 0: nothing is left of it")
    dtype = byte_dtype(node, 0, DType.INT8)
    split, size = interleaved_parts(node, node.input(0), 3)
    queries = node.step(Transpose((1, 0, 2)), interleaved_part(node, split, 0, "queries"), suffix="rows")
    keys = node.step(Transpose((1, 2, 0)), interleaved_part(node, split, 1, "keys"), suffix="columns")
    step = step_of(node, _reach(node, 1), SPANS[dtype])
    scaled = apply(node, Mul(), step, single(1 / math.sqrt(size)))
    sides = real(node, queries, dtype, scaled, suffix="left"), real(node, keys, dtype, step, suffix="right")
    if found is None:
        return node.emit(MatMul(), *sides)
    result = quantized(
        node, node.step(MatMul(), *sides), DType.INT8, step_of(node, magnitude(node, *found), SPANS[DType.INT8])
    )
    return [result, as_end(node, found[0]), as_end(node, found[1])]


def import_attended(node: ImportNode) -> Sequence[Value] | Value:
    """Attention (N * heads, T, T) times values of (T, N, heads * 3 * d), as (T, N, heads * d)."""
    if not node.attrs["quantized"]:
        return _in_float(node)
    _fused(node)
    dtype, other, found = byte_dtype(node, 0, DType.INT8), byte_dtype(node, 1, DType.UINT8), calibrated(node)
    split, size = interleaved_parts(node, node.input(0), 3)
    values = node.step(Transpose((1, 0, 2)), interleaved_part(node, split, 2, "values"), suffix="rows")
    reaches = (_reach(node, 4), _reach(node, 2))
    floats = node.attrs["enable_float_output"]
    spans = SPANS if found is not None or floats else LARGEST
    steps = [step_of(node, reach, spans[own]) for reach, own in zip(reaches, (other, dtype), strict=True)]
    sides = (
        real(node, node.input(1), other, steps[0], suffix="left"),
        real(node, values, dtype, steps[1], suffix="right"),
    )
    product = node.step(MatMul(), *sides)
    if floats:
        return _joined(node, product, size)
    if found is None:
        whole = _joined(node, node.step(MatMulInteger(), node.input(1), values, suffix="integers"), size)
        node.importer.reals[whole] = _joined(node, product, size)
        return [whole, *product_ends(node, apply(node, Mul(), *steps))]
    step = step_of(node, magnitude(node, *found), SPANS[DType.INT8])
    result = _joined(node, quantized(node, product, DType.INT8, step, "int8"), size)
    return [result, as_end(node, found[0]), as_end(node, found[1])]


def import_batch_dot(node: ImportNode) -> Sequence[Value] | Value:
    """Return a batch of matrix products, of MXNet 2.0."""
    attrs = node.attrs
    if not attrs["quantized"]:
        return import_plain_batch_dot(node)
    left, right, found = byte_dtype(node, 0, DType.INT8, DType.UINT8), byte_dtype(node, 1, DType.INT8), calibrated(node)
    operands = []
    for slot, turns in enumerate(("transpose_a", "transpose_b")):
        rank = node.rank(node.input(slot))
        if rank < 3:
            node.refuse(f"{node.input(slot).name} has {rank} axes, expected 3 or more")
        order = (*range(rank - 2), rank - 1, rank - 2)
        value = node.input(slot)
        operands.append(node.step(Transpose(order), value, suffix=turns) if attrs[turns] else value)
    floats = attrs["enable_float_output"]
    spans = SPANS if found is not None or floats else LARGEST
    steps = [step_of(node, _reach(node, slot), spans[own]) for slot, own in ((2, left), (4, right))]
    product = node.step(
        MatMul(),
        real(node, operands[0], left, steps[0], suffix="left"),
        real(node, operands[1], right, steps[1], suffix="right"),
    )
    if floats:
        return product
    if found is None:
        whole = node.step(MatMulInteger(), *operands, suffix="integers")
        node.importer.reals[whole] = product
        return [whole, *product_ends(node, apply(node, Mul(), *steps))]
    result = quantized(node, product, DType.INT8, step_of(node, magnitude(node, *found), SPANS[DType.INT8]))
    return [result, as_end(node, found[0]), as_end(node, found[1])]


def _joined(node: ImportNode, product: Value, size: int) -> Value:
    """(N * heads, T, d) as (T, N, heads * d)."""
    ordered = node.step(Transpose((1, 0, 2)), product, suffix="ordered")
    return node.step(Reshape(), ordered, node.vector([0, -1, node.attrs["heads"] * size]), suffix="joined")


IMPORTS: dict[str, ImportFunction] = {
    "_sg_mkldnn_selfatt_qk": import_scores,
    "_sg_mkldnn_selfatt_valatt": import_attended,
    "_sg_onednn_batch_dot": import_batch_dot,
}
