"""What a detector's suppression decides by, read from its graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from graphir.graph import Graph
from graphir.node import Node, Value
from graphir.ops import traits_of
from graphir.ops.detection import BoxNMS, MultiBoxDetection, NonMaxSuppression
from graphir.ops.reduction import TopK
from graphir.ops.traits import Decision
from graphir.types import TensorType

from .near_ties import Cuts

if TYPE_CHECKING:
    from graphir.verification.running.candidate import OnnxCandidate


def cuts_rows(operator: str) -> bool:
    """Whether an operator keeps some rows and drops others."""
    return traits_of(operator).decides >= Decision.CUTS


def is_cut(producers: Mapping[str, tuple[str, tuple[str, ...]]], outputs: Sequence[str]) -> bool:
    """Whether all of these outputs come out of an operator that keeps some rows and drops others, directly or by
    further computation. `producers` holds operator and operands of every result (of `heads.Wiring` or a file's
    structure).

    >>> is_cut({"y": ("Slice", ("rows",)), "rows": ("BoxNMS", ("x",))}, ["y"])
    True
    """
    return bool(outputs) and all(_reaches(producers, output) for output in outputs)


def cuts(candidate: OnnxCandidate) -> bool:
    """Whether a model has such an operator at all."""
    return any(cuts_rows(operator) for operator, _ in candidate.structure.producers.values())


def cuts_of(graph: Graph) -> Cuts:
    """The limits that stand in a graph's suppressions; what is computed is left out. Boxes of one class are taken to
    suppress those of others where any suppression ignores classes, or is not known to tell them apart."""
    overlaps: set[float] = set()
    scores: set[float] = set()
    best: set[int] = set()
    across = False
    for node in graph.nodes:
        op = node.op
        if isinstance(op, BoxNMS):
            overlaps.add(op.overlap_thresh)
            scores.add(op.valid_thresh)
            best.add(op.topk)
            across |= op.force_suppress or op.id_index < 0
        elif isinstance(op, MultiBoxDetection):
            overlaps.add(op.nms_threshold)
            scores.add(op.threshold)
            best.add(op.nms_topk)
            across |= op.force_suppress
        elif isinstance(op, NonMaxSuppression):
            _, _, _, overlap, score = (*node.inputs, None, None, None)[:5]
            overlaps |= _numbers(overlap) or {0.0}
            scores |= _numbers(score)
            across |= not _tells_classes_apart(node)
        elif isinstance(op, TopK):
            best |= {int(count) for count in _numbers(_operand(node, 1))}
    found = tuple(sorted(count for count in best if count > 0))
    return Cuts(tuple(sorted(overlaps)), tuple(sorted(scores)), found, across)


def _reaches(producers: Mapping[str, tuple[str, tuple[str, ...]]], output: str) -> bool:
    seen, pending = {output}, [output]
    while pending:
        operator, operands = producers.get(pending.pop(), ("", ()))
        if cuts_rows(operator):
            return True
        pending += [name for name in operands if name not in seen]
        seen.update(operands)
    return False


def _tells_classes_apart(node: Node) -> bool:
    """Whether the scores (batch, classes, boxes) are known to be of several classes."""
    scores = _operand(node, 1)
    shape = scores.type.shape if scores is not None and isinstance(scores.type, TensorType) else None
    return shape is not None and isinstance(shape[1], int) and shape[1] > 1


def _operand(node: Node, slot: int) -> Value | None:
    return node.inputs[slot] if slot < len(node.inputs) else None


def _numbers(value: Value | None) -> set[float]:
    if value is None or value.tensor is None or value.tensor.size > 1:
        return set()
    return set(map(float, value.tensor.numpy().reshape(-1).tolist()))


__all__ = ["cuts", "cuts_of", "cuts_rows", "is_cut"]
