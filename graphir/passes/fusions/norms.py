"""Normalizations that are spelled out: over the last axes, by their mean and variance or by their mean square.

They are put together in steps, each a rule of its own: the normalized data with a scale of ones, then a Cast around it,
the scale behind it, the shift behind that. Every step computes the same but for the rounding of what lies between.
`stash_type` is the dtype that the spelling computes the statistics in.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.graph import Graph, Node, Value
from graphir.ops import elementwise as ew
from graphir.ops import normalization as norm
from graphir.ops.base import Operator
from graphir.ops.reduction import ReduceMean
from graphir.types import DType

from ..patterns import Either, Names, Operand, Pattern, number_of
from ..rewrite import Rules
from .fusion import Build, Fusion, Operands, axes_of, rules

LAYER, RMS = norm.LayerNormalization, norm.RMSNormalization
Result = tuple[Operator, Operands]


def _mean(value: Operand) -> Pattern:
    return Pattern(ReduceMean, value, "axes", where=lambda op: op.keepdims)


def _square(value: Operand) -> Pattern:
    return Either(Pattern(ew.Pow, value, 2.0), Pattern(ew.Mul, value, value))


def _over_root(value: Operand, square: Operand) -> Pattern:
    """Return value / sqrt(square + epsilon) in its spellings."""
    sum_ = Pattern(ew.Add, square, "epsilon")
    root = Pattern(ew.Sqrt, sum_)
    inverse = (Pattern(ew.Reciprocal, root), Pattern(ew.Div, 1.0, root), Pattern(ew.Pow, sum_, -0.5))
    return Either(
        *(Pattern(ew.Div, value, by) for by in (root, Pattern(ew.Pow, sum_, 0.5))),
        *(Pattern(ew.Mul, value, by) for by in inverse),
    )


CENTERED = Pattern(ew.Sub, "x", _mean("x"))
STANDARD = _over_root(CENTERED, _mean(_square(CENTERED)))
BY_MEAN_SQUARE = _over_root("x", _mean(_square("x")))


def _normalized(kind: type[norm.LayerNormalization | norm.RMSNormalization]) -> Build:
    """Return what builds the normalization with a scale of ones.

    The axes must be the last ones, of known sizes, epsilon one number, and the dtype the one that statistics are
    computed in, float32.
    """

    def build(graph: Graph, node: Node, names: Names) -> Result | None:
        x, epsilon = names["x"], number_of(names["epsilon"])
        axes = axes_of(names["axes"], x.rank)
        if not axes or x.rank is None or x.shape is None or x.dtype is not DType.FLOAT32:
            return None
        sizes = x.shape[axes[0] :]
        if epsilon is None or axes != tuple(range(axes[0], x.rank)) or not all(isinstance(size, int) for size in sizes):
            return None
        ones = graph.constant(np.ones(sizes, np.float32), name=f"{node.name}_ones")
        return kind(axis=axes[0] - x.rank, epsilon=epsilon), (x, ones)

    return build


def _core(node: Node, x: Value) -> Operator | None:
    """Return the normalization of x that the node reads."""
    makers = [value.producer for value in node.inputs if value is not None and value.producer is not None]
    return next((maker.op for maker in makers if isinstance(maker.op, LAYER | RMS) and x in maker.inputs), None)


def _narrow(graph: Graph, node: Node, names: Names) -> Result | None:
    """Return a Cast of the data in front and one back behind: the operator computes in its `stash_type` between the
    two."""
    x, ones, core = names["x"], names["ones"], node.inputs[0]
    if core is None or core.producer is None or core.dtype is not DType.FLOAT32 or not _is_ones(ones):
        return None
    assert x.dtype is not None
    return core.producer.op, (x, graph.constant(np.ones(_sizes(ones), x.dtype.numpy()), name=f"{node.name}_ones"))


def _is_ones(value: Value | None) -> bool:
    tensor = None if value is None or value.producer is not None else value.tensor
    return tensor is not None and bool((tensor.numpy() == 1).all())


def _sizes(value: Value | None) -> tuple[int, ...]:
    shape = None if value is None else value.shape
    return tuple(size for size in shape or () if isinstance(size, int))


def _with_scale(graph: Graph, node: Node, names: Names) -> Result | None:
    """The scale must have the shape of the normalized axes, so that it takes the place of ones."""
    x, scale, op = names["x"], names["scale"], _core(node, names["x"])
    if op is None or not _is_ones(names["ones"]) or scale.shape != names["ones"].shape or scale.dtype is not x.dtype:
        return None
    return op, (x, scale)


def _with_shift(graph: Graph, node: Node, names: Names) -> Result | None:
    """Nothing was added before; the shift must have the shape of the normalized axes."""
    x, shift, op = names["x"], names["shift"], _core(node, names["x"])
    if op is None or shift.shape != names["scale"].shape or shift.dtype is not x.dtype:
        return None
    return op, (x, names["scale"], shift)


def _fusions(kind: type[norm.LayerNormalization | norm.RMSNormalization], core: Pattern) -> tuple[Fusion, ...]:
    """Return the steps to one of the two: its core, a Cast around it, its scale."""
    inner = Pattern(kind, Pattern(ew.Cast, "x"), "ones", where=lambda op: op.stash_type is DType.FLOAT32)
    scaled = Pattern(ew.Mul, Pattern(kind, "x", "ones"), "scale")
    return (
        Fusion(f"x over the root of its mean square is {kind.__name__}", core, _normalized(kind)),
        Fusion("the statistics are computed in float32 between two Casts", Pattern(ew.Cast, inner), _narrow),
        Fusion("the scale behind a normalization is its own", scaled, _with_scale),
    )


SHIFTED = Pattern(ew.Add, Pattern(LAYER, "x", "scale"), "shift")
RECOGNITIONS: Mapping[type[Operator], Rules] = {
    LAYER: rules(
        *_fusions(LAYER, STANDARD),
        Fusion("the shift behind a normalization is its own", SHIFTED, _with_shift),
    ),
    RMS: rules(*_fusions(RMS, BY_MEAN_SQUARE)),
}
