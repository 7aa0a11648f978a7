"""Matrix products: dense layers, dot, batch_dot, linear algebra, interleaved attention."""

from __future__ import annotations

import math
from collections.abc import Sequence

from graphir.converters.mxnet.importing.context import ImportNode
from graphir.graph import Value
from graphir.ops.base import Operator
from graphir.ops.elementwise import Add, Mul, Where
from graphir.ops.indexing import Gather
from graphir.ops.linear import Einsum, Gemm, MatMul
from graphir.ops.shape import Flatten, Reshape, Transpose
from graphir.types import UNKNOWN, Dim, DType, product


def import_fully_connected(node: ImportNode) -> Value:
    """data W^T + b with weight (num_hidden, features); by default the axes behind the batch are features together."""
    attrs = node.attrs
    hidden: int = attrs["num_hidden"]
    data = node.input(0)
    flatten = attrs["flatten"]
    features: Dim = UNKNOWN
    if data.shape:
        features = product(data.shape[1:]) if flatten else data.shape[-1]
    weight = node.shaped(
        1, (hidden, features if isinstance(features, int) else UNKNOWN), stated=(hidden, UNKNOWN)
    )
    bias = () if attrs["no_bias"] else (node.shaped(2, (hidden,), stated=(hidden,)),)
    if flatten and data.rank != 2:
        data = node.step(Flatten(), data, suffix="flatten")
    if flatten or data.rank == 2:
        return node.emit(Gemm(transB=True), data, weight, *bias)
    turned = node.step(Transpose((1, 0)), weight, suffix="weight")
    if not bias:
        return node.emit(MatMul(), data, turned)
    return node.emit(Add(), node.step(MatMul(), data, turned), *bias)


def import_dot(node: ImportNode) -> Value:
    """Return the last axis of the first operand against the first of the second; transpose_a and _b take the other
    ends."""
    left, right = node.input(0), node.input(1)
    turn_left, turn_right = node.attrs["transpose_a"], node.attrs["transpose_b"]
    if not turn_left and not turn_right and right.rank == 2:
        return node.emit(MatMul(), left, right)
    rank_left, rank_right = node.rank(left), node.rank(right)
    if rank_left == rank_right == 1:
        total = node.step(MatMul(), left, right)
        return node.emit(Reshape(), total, node.vector([1]))
    if rank_left == rank_right == 2:
        return node.emit(Gemm(transA=turn_left, transB=turn_right), left, right)
    if not turn_left and not turn_right and rank_right <= 2:
        return node.emit(MatMul(), left, right)
    from string import ascii_letters as letters  # its module compiles an expression of its own

    if rank_left + rank_right - 1 > len(letters):
        node.refuse(f"operands of {rank_left} and {rank_right} axes")
    summed, first, second = letters[0], letters[1:rank_left], letters[rank_left : rank_left + rank_right - 1]
    a = summed + first if turn_left else first + summed
    b = second + summed if turn_right else summed + second
    return node.emit(Einsum(f"{a},{b}->{first}{second}"), left, right)


def _swapped(node: ImportNode, value: Value, suffix: str) -> Value:
    """Return the value with its last two axes exchanged."""
    rank = node.rank(value)
    if rank < 2:
        node.refuse(f"{value.name} has {rank} axes, expected 2 or more")
    return node.step(Transpose((*range(rank - 2), rank - 1, rank - 2)), value, suffix=suffix)


def _batch_product(node: ImportNode, left: Value, right: Value) -> tuple[Operator, Value, Value]:
    """op(A) op(B) of the last two axes; MXNet's batch axes agree and do not broadcast."""
    if node.rank(left) != node.rank(right):
        node.refuse(f"operands of {node.rank(left)} and {node.rank(right)} axes; MXNet wants equally many")
    for one, other in zip(node.shape(left)[:-2], node.shape(right)[:-2], strict=True):
        if isinstance(one, int) and isinstance(other, int) and one != other:
            node.refuse(f"batch sizes of {left.type} and {right.type} differ; MXNet does not broadcast them")
    if node.attrs["transpose_a"]:
        left = _swapped(node, left, "a")
    if node.attrs["transpose_b"]:
        right = _swapped(node, right, "b")
    return MatMul(), left, right


def import_batch_dot(node: ImportNode) -> Value:
    """(..., M, K) times (..., K, N) with equal leading axes."""
    left, right = node.input(0), node.input(1)
    if node.rank(left) < 3:
        node.refuse(f"{left.name} has {node.rank(left)} axes, expected 3 or more")
    return node.emit(*_batch_product(node, left, right))


def by_factor(node: ImportNode, value: Value, factor: float) -> tuple[Operator, *tuple[Value, ...]]:
    """Return a product times a factor, as an operator and its operands. Of a factor 0 BLAS makes zeros and reads
    nothing, not the infinities and NaN that 0 times them would leave."""
    if factor == 0.0:
        return Where(), node.constant(False, DType.BOOL), value, node.scalar_like(value, 0.0)
    return Mul(), value, node.scalar_like(value, factor)


def import_gemm2(node: ImportNode) -> Value:
    """alpha op(A) op(B); with a third operand beta C is added, which is not read where beta is 0."""
    attrs = node.attrs
    left, right, *addend = node.take_inputs(2, or_more=True)
    rank = node.rank(left)
    rows = attrs["axis"] % rank if -rank <= attrs["axis"] < rank else node.refuse(f"axis {attrs['axis']} of {rank}")
    alpha, beta = attrs["alpha"], attrs["beta"] if addend else 1.0
    if beta == 0.0:
        addend = []
    if rank == node.rank(right) == 2 and rows == 0 and alpha != 0.0:
        op = Gemm(alpha=alpha, beta=beta or 1.0, transA=attrs["transpose_a"], transB=attrs["transpose_b"])
        return _alike(node, node.emit(op, left, right, *addend), node.inputs[2:])
    moved = rows != rank - 2
    order = (*(axis for axis in range(rank) if axis not in (rows, rank - 1)), rows, rank - 1)
    if moved:
        left, right = (node.step(Transpose(order), side, suffix="rows") for side in (left, right))
        addend = [node.step(Transpose(order), side, suffix="rows") for side in addend]
    op_and_operands: tuple[Operator, *tuple[Value, ...]] = _batch_product(node, left, right)
    if alpha != 1.0:
        op_and_operands = by_factor(node, node.step(op_and_operands[0], *op_and_operands[1:]), alpha)
    if addend:
        found = node.step(op_and_operands[0], *op_and_operands[1:])
        node.same_shapes(found, *addend)
        scaled = addend[0] if beta == 1.0 else node.step(Mul(), addend[0], node.scalar_like(found, beta), suffix="beta")
        op_and_operands = (Add(), found, scaled)
    if moved:
        found = node.step(op_and_operands[0], *op_and_operands[1:])
        op_and_operands = (Transpose(tuple(order.index(axis) for axis in range(rank))), found)
    return _alike(node, node.emit(op_and_operands[0], *op_and_operands[1:]), node.inputs[2:])


def _alike(node: ImportNode, result: Value, addend: Sequence[Value]) -> Value:
    """Return the result, whose shape MXNet wants what is added to have too."""
    node.same_shapes(result, *addend)
    return result


def import_syrk(node: ImportNode) -> Value:
    """alpha A A^T, or alpha A^T A with transpose."""
    data, alpha, first = node.input(0), node.attrs["alpha"], node.attrs["transpose"]
    if node.rank(data) == 2 and alpha != 0.0:
        return node.emit(Gemm(alpha=alpha, transA=first, transB=not first), data, data)
    turned = _swapped(node, data, "turned")
    pair = (turned, data) if first else (data, turned)
    if alpha == 1.0:
        return node.emit(MatMul(), *pair)
    return node.emit(*by_factor(node, node.step(MatMul(), *pair), alpha))


def interleaved_parts(node: ImportNode, value: Value, parts: int) -> tuple[Value, int]:
    """Interleaved projections (T, N, heads * parts * d) as (T, N * heads, parts, d), and d."""
    heads = node.attrs["heads"]
    (width,) = node.sizes(value, (2,))
    if width % (heads * parts):
        node.refuse(f"{value.name} has {width} columns, which are no {heads} heads of {parts} parts")
    size = width // (heads * parts)
    shape = [0, -1, size] if parts == 1 else [0, -1, parts, size]
    return node.step(Reshape(), value, node.vector(shape), suffix="heads"), size


def interleaved_part(node: ImportNode, split: Value, place: int, suffix: str) -> Value:
    """Return one of the parts."""
    return node.step(Gather(axis=2), split, node.constant(place), suffix=suffix)


def _scores(node: ImportNode, queries: Value, keys: Value, size: int) -> Value:
    """Q K^T / sqrt(d) of (T, N * heads, d) and (S, N * heads, d), as (N * heads, T, S)."""
    scaled = node.step(Mul(), queries, node.scalar_like(queries, 1 / math.sqrt(size)), suffix="scaled")
    rows = node.step(Transpose((1, 0, 2)), scaled, suffix="queries_first")
    columns = node.step(Transpose((1, 2, 0)), keys, suffix="keys_last")
    return node.emit(MatMul(), rows, columns)


def _attended(node: ImportNode, values: Value, size: int) -> Value:
    """Return the second operand, attention (N * heads, T, S), times values (S, N * heads, d), as (T, N, heads * d)."""
    length, count = (UNKNOWN, UNKNOWN) if values.shape is None else values.shape[:2]
    attention = node.shaped(1, (count, UNKNOWN, length))  # of another one MXNet reads as many numbers as these are
    rows = node.step(Transpose((1, 0, 2)), values, suffix="values_first")
    mixed = node.step(MatMul(), attention, rows)
    ordered = node.step(Transpose((1, 0, 2)), mixed, suffix="ordered")
    return node.emit(Reshape(), ordered, node.vector([0, -1, node.attrs["heads"] * size]))


def import_self_attention_scores(node: ImportNode) -> Value:
    """Scores (N * heads, T, T) of interleaved queries, keys and values (T, N, heads * 3 * d)."""
    split, size = interleaved_parts(node, node.input(0), 3)
    return _scores(node, interleaved_part(node, split, 0, "queries"), interleaved_part(node, split, 1, "keys"), size)


def import_self_attention_values(node: ImportNode) -> Value:
    """Values of interleaved queries, keys and values, weighted by attention (N * heads, T, T)."""
    split, size = interleaved_parts(node, node.input(0), 3)
    return _attended(node, interleaved_part(node, split, 2, "values"), size)


def import_cross_attention_scores(node: ImportNode) -> Value:
    """Scores (N * heads, T, S) of queries (T, N, heads * d) and interleaved keys and values (S, N, heads * 2 * d)."""
    queries, size = interleaved_parts(node, node.input(0), 1)
    split, _ = interleaved_parts(node, node.input(1), 2)
    return _scores(node, queries, interleaved_part(node, split, 0, "keys"), size)


def import_cross_attention_values(node: ImportNode) -> Value:
    """Values of interleaved keys and values, weighted by attention (N * heads, T, S)."""
    split, size = interleaved_parts(node, node.input(0), 2)
    return _attended(node, interleaved_part(node, split, 1, "values"), size)


IMPORTS = {
    "FullyConnected": import_fully_connected,
    "dot": import_dot,
    "batch_dot": import_batch_dot,
    "_linalg_gemm": import_gemm2,
    "_linalg_gemm2": import_gemm2,
    "_linalg_syrk": import_syrk,
    "_contrib_interleaved_matmul_selfatt_qk": import_self_attention_scores,
    "_contrib_interleaved_matmul_selfatt_valatt": import_self_attention_values,
    "_contrib_interleaved_matmul_encdec_qk": import_cross_attention_scores,
    "_contrib_interleaved_matmul_encdec_valatt": import_cross_attention_values,
}
