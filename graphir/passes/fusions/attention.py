"""Attention that is spelled out: softmax(scale * Q K' + mask) V of tensors with axes for batch and heads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite

import numpy as np

from graphir.graph import Graph, Node, Value
from graphir.ops import elementwise as ew
from graphir.ops.activation import Softmax
from graphir.ops.attention import Attention
from graphir.ops.base import Operator
from graphir.ops.linear import MatMul
from graphir.ops.shape import Expand, Reshape, Transpose
from graphir.types import DType, Unknown

from ..patterns import Either, Names, Pattern, number_of
from ..rewrite import Rules
from .fusion import Fusion, Operands, rules
from .masks import masking

SWAPPED = (0, 1, 3, 2)
HEADS_FIRST = (0, 2, 1, 3)
PRODUCT = Pattern(MatMul, "q", "turned")
SCORES = Either(Pattern(ew.Mul, PRODUCT, "factor"), Pattern(ew.Div, PRODUCT, "divisor"), PRODUCT)
MASKED = Either(
    Pattern(ew.Add, SCORES, "mask"), Pattern(ew.Where, "hidden", "lowest", SCORES),
    Pattern(ew.Where, "visible", SCORES, "lowest"), SCORES,
)  # fmt: skip
ATTENTION = Pattern(MatMul, Pattern(Softmax, MASKED, where=lambda op: op.axis in (-1, 3)), "v")
ATTENDED = Either(Pattern(Attention, "q", "k", "v"), Pattern(Attention, "q", "k", "v", "mask"))
PACKED = Pattern(Reshape, Pattern(Transpose, ATTENDED, where=lambda op: op.perm == HEADS_FIRST), "shape")


def _build(graph: Graph, node: Node, names: Names) -> tuple[Operator, Operands] | None:
    """Return Attention of the keys as they were before they were turned, in float32, where batch and heads agree.

    A matrix product repeats axes of size 1, Attention does not; heads that were repeated for it are read as they were.
    Numbers that multiply queries or keys go into its scale.
    """
    q, turned, v = names["q"], names["turned"], names["v"]
    queries, keys, values = q.shape or (), turned.shape or (), v.shape or ()
    if q.dtype is not DType.FLOAT32 or not len(queries) == len(keys) == len(values) == 4:
        return None
    is_same = queries[:2] == keys[:2] == values[:2] and not any(isinstance(dim, Unknown) for dim in queries[:2])
    if not is_same or queries[3] != keys[2] or keys[3] != values[2]:
        return None
    scale = 1.0
    if "factor" in names or "divisor" in names:
        number = number_of(names.get("factor", names.get("divisor")))
        if not number:
            return None
        scale = number if "factor" in names else 1 / number
    masked = masking(graph, node, names, (*queries[:3], keys[3]))
    if masked is None:
        return None
    (q, first), (turned, second) = _unscaled(q), _unscaled(turned)
    key, third = _unscaled(_turned_back(graph, node, turned))
    shared, kept = _before_sharing(key), _before_sharing(v)
    if shared is not None and kept is not None and shared.shape and kept.shape and shared.shape[1] == kept.shape[1]:
        key, v = shared, kept
    is_causal, mask = masked
    op = Attention(scale=float(np.float32(scale * first * second * third)), is_causal=is_causal)
    return op, (q, key, v, *(() if mask is None else (mask,)))


def _unscaled(value: Value) -> tuple[Value, float]:
    """Return what a number multiplies or divides, and the factor; the value and 1 where that is not how it is made."""
    node = value.producer
    if node is not None and isinstance(node.op, ew.Mul | ew.Div):
        for inner, other in (node.inputs, node.inputs[::-1])[: 2 if isinstance(node.op, ew.Mul) else 1]:
            number = number_of(other)
            if inner is not None and number and isfinite(number) and inner.shape == value.shape:
                return inner, number if isinstance(node.op, ew.Mul) else 1 / number
    return value, 1.0


def _turned_back(graph: Graph, node: Node, turned: Value) -> Value:
    """Return a value whose last two axes are swapped, by one Transpose at most."""
    perm: tuple[int, ...] = SWAPPED
    source = turned.producer
    if source is not None and isinstance(source.op, Transpose) and source.inputs[0] is not None:
        perm, turned = tuple(source.op.perm[axis] for axis in SWAPPED), source.inputs[0]
    if perm == tuple(range(4)):
        return turned
    return graph.add(Transpose(perm), turned, name=f"{node.name}_keys", before=node)


def _before_sharing(value: Value) -> Value | None:
    """Return the tensor whose heads were repeated, each as often as the others and beside itself; None without such."""
    chain = [value]
    for kind in (Reshape, Expand, Operator):  # the last makes the axis of size 1 that is expanded
        node = chain[-1].producer
        if node is None or not isinstance(node.op, kind) or node.inputs[0] is None:
            return None
        chain.append(node.inputs[0])
    _, expanded, spread, heads = (item.shape or () for item in chain)
    if len(heads) != 4 or len(expanded) != 5 or spread != (*heads[:2], 1, *heads[2:]) or not isinstance(heads[1], int):
        return None
    count = expanded[2]
    is_repeated = expanded == (*heads[:2], count, *heads[2:]) and isinstance(count, int)
    return chain[-1] if is_repeated and value.shape == (heads[0], heads[1] * count, *heads[2:]) else None


def _pack(graph: Graph, node: Node, names: Names) -> tuple[Operator, Operands] | None:
    """Return Attention of tensors (batch, length, heads * size) in place of that of the same tensors by heads."""
    turned = node.inputs[0].producer if node.inputs[0] is not None else None
    result = turned.inputs[0] if turned is not None else None
    attention = result.producer if result is not None else None
    packed = [_packed(names[name]) for name in "qkv"]
    is_first = attention is not None and result is attention.outputs[0]
    if attention is None or not isinstance(attention.op, Attention) or not is_first or not all(packed):
        return None
    heads, key_heads = ((names[name].shape or (None,) * 2)[1] for name in "qk")
    if not isinstance(heads, int) or not isinstance(key_heads, int):
        return None
    op = replace(attention.op, q_num_heads=heads, kv_num_heads=key_heads)
    return op, (*packed, *((names["mask"],) if "mask" in names else ()))


def _packed(value: Value) -> Value | None:
    """Return the tensor (batch, length, heads * size) that a tensor by heads is another order of; None without one."""
    node = value.producer
    is_turned = node is not None and isinstance(node.op, Transpose) and node.op.perm == HEADS_FIRST
    split = node.inputs[0] if node is not None and is_turned else None
    reshape = None if split is None else split.producer
    if split is None or reshape is None or not isinstance(reshape.op, Reshape) or reshape.inputs[0] is None:
        return None
    whole, sizes = reshape.inputs[0].shape or (), split.shape or ()
    if len(whole) != 3 or len(sizes) != 4 or any(isinstance(dim, Unknown) for dim in sizes):
        return None
    return reshape.inputs[0] if whole == (*sizes[:2], sizes[2] * sizes[3]) else None


RECOGNITIONS: Mapping[type[Operator], Rules] = {
    Attention: rules(
        Fusion("a softmax of scaled products, times values, is Attention", ATTENTION, _build),
        Fusion("Attention takes tensors whose heads lie beside each other as they are", PACKED, _pack),
    ),
}
