"""Regions of images are pooled where something reads what is pooled."""

from __future__ import annotations

from functools import partial

import numpy as np

from graphir.graph import Graph, Node, Value
from graphir.ops.base import Operator
from graphir.ops.creation import ConstantOfShape
from graphir.ops.detection import RoiAlign
from graphir.ops.elementwise import Not, Where
from graphir.ops.indexing import Gather, ScatterND
from graphir.ops.selection import NonZero
from graphir.ops.shape import Reshape, Shape, Transpose
from graphir.ops.shape_parts import Concat
from graphir.tensor import Tensor

from .outcome import Outcome
from .rewrite import Accepted, Rule, Rules, apply_rules


def pool_needed_regions(graph: Graph) -> Outcome:
    """Pool only what is read where there are several RoiAligns of regions that a Where behind each leaves out: the
    levels of a pyramid. For a single one, which pools nearly all regions, sizes that only a run knows cost more than
    they save."""
    count = sum(_pooling(node) is not None for node in graph.nodes)
    return apply_rules(graph, rules=NEEDED_REGIONS) if count > 1 else Outcome()


def _pool_level(graph: Graph, node: Node) -> Accepted:
    """Pool only the regions that a Where behind a RoiAlign keeps, if its condition has one element a region and its
    other operand is one number: a level of a pyramid has the regions of its size."""
    pooling = _pooling(node)
    if pooling is None:
        return False
    condition, first, second = node.inputs
    data, boxes, images = pooling.inputs
    is_kept, fill = (True, second) if first is pooling.output else (False, first)
    assert condition is not None
    assert fill is not None
    assert fill.tensor is not None
    vector = graph.add_parameter(graph.fresh_name(f"{pooling.name}_vector"), Tensor.of(np.array([-1])))

    def add(op: Operator, suffix: str, *operands: Value | None) -> Value:
        name = graph.fresh_name(f"{pooling.name}_{suffix}")
        return graph.add(op, *operands, name=name, output=name, before=node)

    kept = condition if is_kept else add(Not(), "kept", condition)
    places = add(NonZero(), "places", add(Reshape(), "flat", kept, vector))
    take = partial(add, Gather(0))
    rows = add(Reshape(), "rows", places, vector)
    level = add(pooling.op, "level", data, take("boxes", boxes, rows), take("images", images, rows))
    sizes = add(Concat(0), "sizes", add(Shape(0, 1), "count", boxes), add(Shape(1, 4), "cell", level))
    empty = ConstantOfShape(float(fill.tensor.numpy().reshape(())), fill.tensor.dtype)
    operands = add(empty, "empty", sizes), add(Transpose((1, 0)), "indices", places), level
    graph.replace(node, ScatterND(), operands)
    return True


def _pooling(node: Node) -> Node | None:
    """Return the RoiAlign that only this Where reads, None where the two are no such pair."""
    if not isinstance(node.op, Where) or node.graph is None:
        return None
    condition, *choices = node.inputs
    fill = next((value for value in choices if value is not None and value.tensor is not None), None)
    pooled = next((value for value in choices if value is not fill and value is not None), None)
    if fill is None or pooled is None or condition is None or fill.tensor is None or fill.tensor.size != 1:
        return None
    maker, is_read = pooled.producer, len(pooled.uses) == 1 and not node.graph.is_output(pooled)
    counts, sizes = pooled.shape or (), condition.shape or ()
    is_each = len(sizes) == 4 and sizes[1:] == (1, 1, 1) and sizes[:1] == counts[:1]
    is_pair = maker is not None and isinstance(maker.op, RoiAlign) and maker.graph is node.graph
    return maker if is_pair and is_read and is_each else None


NEEDED_REGIONS: Rules = {
    Where: (Rule("only the regions are pooled that the choice behind it keeps", _pool_level),)
}
