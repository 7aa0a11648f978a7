"""Arithmetic with constants: two in a row become one, where nothing but the rounding between them changes."""

from __future__ import annotations

import numpy as np

from graphir.graph import Graph, Node, Value
from graphir.ops import elementwise as ew
from graphir.ops.base import Operator
from graphir.tensor import Tensor

from ..patterns import Either, Names, Pattern
from .fusion import Fusion, Operands, rules

SMALL = 1 << 16


def _constant(value: Value | None) -> Tensor | None:
    """Return the tensor of a small constant that is not empty."""
    tensor = None if value is None or value.producer is not None else value.tensor
    return tensor if tensor is not None and 0 < tensor.size <= SMALL else None


def _chain(graph: Graph, node: Node, names: Names) -> tuple[Operator, Operands] | None:
    """Both constants must move numbers in one direction: then nothing overflows, or cancels, between them only."""
    first, second = (_constant(names[name]) for name in "ab")
    if first is None or second is None or first.dtype is not second.dtype or not first.dtype.is_float:
        return None
    a, b = (tensor.numpy().astype(np.float64) for tensor in (first, second))
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return None
    if isinstance(node.op, ew.Add):
        whole, sides = a + b, (a >= 0, b >= 0)
    else:
        whole, sides = a * b, (np.abs(a) >= 1, np.abs(b) >= 1)
    is_one_way = all(side.all() for side in sides) or not any(side.any() for side in sides)
    with np.errstate(over="ignore", under="ignore"):
        rounded = whole.astype(first.dtype.numpy())
    if not is_one_way or not np.isfinite(rounded.astype(np.float64)).all() or (rounded == 0).any():
        return None
    return node.op, (names["x"], graph.constant(rounded, name=f"{node.name}_constant"))


CHAINS = Either(*(Pattern(op, Pattern(op, "x", "a"), "b") for op in (ew.Add, ew.Mul)))
RULES = rules(Fusion("two constants in a row are one", CHAINS, _chain))
