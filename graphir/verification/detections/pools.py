"""The rows that go into a detector's last suppression, of both models."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.graph import Graph, Node
from graphir.ops.detection import BoxFormat, BoxNMS
from graphir.verification.running.bench import Bench

from .boxes import Detections

Pool = tuple[Detections, Detections]


def pool_of(bench: Bench, graph: Graph | None, batch: int) -> Pool | None:
    """What the reference and the candidate have before the last BoxNMS of the reference's graph, in the order that each
    of them has; None where there is none, or its rows are not known to both. A suppression of many groups of rows, one
    for each class, has them all in one image."""
    nodes = [] if graph is None else [node for node in graph.nodes if isinstance(node.op, BoxNMS)]
    if not nodes:
        return None
    value = nodes[-1].inputs[0]
    assert value is not None
    names = [name for name in (value.name, *value.sources) if name in bench.layers]
    if not names or bench.layers[names[0]] not in bench.candidate.structure.producers:
        return None
    theirs = dict(bench.reference.stream(bench.feeds, names[:1]))
    own = bench.candidate.run(bench.feeds, [bench.layers[names[0]]])
    tables = [np.asarray(next(iter(found.values())), np.float64) for found in (theirs, own)]
    if any(table.ndim != 3 or table.shape[0] % batch for table in tables):
        return None
    return _rows(nodes[-1], tables[0], batch), _rows(nodes[-1], tables[1], batch)


def _rows(node: Node, table: NDArray[Any], batch: int) -> Detections:
    op = node.op
    assert isinstance(op, BoxNMS)
    table = table.reshape(batch, -1, table.shape[2])
    boxes = table[..., op.coord_start : op.coord_start + 4]
    if op.in_format is BoxFormat.CENTER:
        middle, half = boxes[..., :2], boxes[..., 2:] / 2
        boxes = np.concatenate([middle - half, middle + half], axis=-1)
    classes = table[..., op.id_index] if op.id_index >= 0 else np.full(table.shape[:2], -1.0)
    return Detections(classes, table[..., op.score_index], boxes)


__all__ = ["pool_of"]
