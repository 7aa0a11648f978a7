"""Attention that is spelled out: softmax(scale * Q K' + mask) V of tensors with axes for batch and heads."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.graph import Graph, Node, Value
from graphir.ops import elementwise as ew
from graphir.ops.activation import Softmax
from graphir.ops.attention import Attention
from graphir.ops.base import Operator
from graphir.ops.linear import MatMul
from graphir.ops.shape import Transpose
from graphir.types import DType, Shape, Unknown

from ..patterns import Either, Names, Pattern, number_of
from ..rewrite import Rules
from .fusion import Fusion, Operands, rules

SMALL = 1 << 24  # elements of a mask that is looked at: 4,096 x 4,096
PRODUCT = Pattern(MatMul, "q", "turned")
SCORES = Either(Pattern(ew.Mul, PRODUCT, "factor"), Pattern(ew.Div, PRODUCT, "divisor"), PRODUCT)
WEIGHTS = Pattern(Softmax, Either(Pattern(ew.Add, SCORES, "mask"), SCORES), where=lambda op: op.axis in (-1, 3))
ATTENTION = Pattern(MatMul, WEIGHTS, "v")


def _build(graph: Graph, node: Node, names: Names) -> tuple[Operator, Operands] | None:
    """Return Attention of the keys as they were before they were turned, in float32, where batch and heads agree.

    A matrix product repeats axes of size 1, Attention does not. A mask must be a constant that hides no row whole: of
    such a row a softmax is NaN, and onnxruntime's Attention gives 0. onnxruntime takes no mask of one row for all.
    """
    q, turned, v, mask = names["q"], names["turned"], names["v"], names.get("mask")
    queries, keys, values = q.shape or (), turned.shape or (), v.shape or ()
    if q.dtype is not DType.FLOAT32 or not len(queries) == len(keys) == len(values) == 4:
        return None
    is_same = queries[:2] == keys[:2] == values[:2] and not any(isinstance(dim, Unknown) for dim in queries[:2])
    if not is_same or queries[3] != keys[2] or keys[3] != values[2] or not _hides_no_row(mask, (queries[2], keys[3])):
        return None
    scale = 1.0
    if "factor" in names or "divisor" in names:
        number = number_of(names.get("factor", names.get("divisor")))
        if not number:
            return None
        scale = number if "factor" in names else 1 / number
    key = graph.add(Transpose((0, 1, 3, 2)), turned, name=f"{node.name}_keys", before=node)
    return Attention(scale=float(np.float32(scale))), (q, key, v, *(() if mask is None else (mask,)))


def _hides_no_row(mask: Value | None, sizes: Shape) -> bool:
    """Return whether there is no mask, or one of these sizes with a finite number in each row."""
    if mask is None:
        return True
    tensor = None if mask.producer is not None else mask.tensor
    if tensor is None or tensor.dtype is not DType.FLOAT32 or tensor.size > SMALL or tensor.shape[-2:] != sizes:
        return False
    numbers = tensor.numpy()
    return bool(set(tensor.shape[:-2]) <= {1} and (numbers < np.inf).all() and np.isfinite(numbers.max(axis=-1)).all())


RECOGNITIONS: Mapping[type[Operator], Rules] = {
    Attention: rules(Fusion("a softmax of scaled products, times values, is Attention", ATTENTION, _build)),
}
