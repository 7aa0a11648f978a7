"""A reduction keeps its axes where what follows only puts them back as axes of size 1."""

from __future__ import annotations

from dataclasses import replace

from graphir.graph import Graph, Node
from graphir.ops.reduction import Reduce
from graphir.ops.shape import Reshape, Unsqueeze
from graphir.types import Unknown

from .inline import take_place
from .rewrite import Accepted, Rule, Rules


def _keep_axes(graph: Graph, node: Node) -> Accepted:
    """Return whether a reduction that keeps its axes took the place of one that does not and of the node behind it."""
    (result,), reduced = node.outputs, node.inputs[0]
    before = None if reduced is None else reduced.producer
    if reduced is None or before is None or graph.is_output(reduced) or len(reduced.uses) > 1:
        return False
    op = before.op
    if not isinstance(op, Reduce) or op.keepdims or before.graph is not graph or graph.is_output(result):
        return False
    operands = [value for value in before.inputs if value is not None]
    known = operands[1].known if len(operands) > 1 else None
    axes, shape = None if known is None else known.integers(), operands[0].shape
    if not axes or shape is None or any(isinstance(dim, Unknown) for dim in shape):
        return False
    kept = tuple(1 if axis in axes or axis - len(shape) in axes else dim for axis, dim in enumerate(shape))
    if result.shape != kept:
        return False
    kept_op: Reduce = replace(op, keepdims=True)  # type: ignore[type-var]
    name = graph.fresh_name(f"{before.name}_kept")
    added = graph.add_node(kept_op, before.inputs, name=before.name, output_names=[name], before=node)
    take_place(graph, node, list(added.outputs), [])
    return True


KEPT_AXES: Rules = dict.fromkeys((Reshape, Unsqueeze), (Rule("the reduction keeps its axes", _keep_axes),))
