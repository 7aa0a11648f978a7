"""Operators on narrow floats, computed in float32: MXNet's CPU build has no products of float16."""

from __future__ import annotations

from graphir.converters.mxnet.exporting.lowered import LOWERED, Road
from graphir.decisions import Decision, DecisionKind
from graphir.graph import Graph, Node, Value
from graphir.ops.elementwise import Cast
from graphir.passes.inline import Body, Names, take_place
from graphir.types import DType

NARROW = (DType.FLOAT16, DType.BFLOAT16)


def is_narrow_composition(node: Node) -> bool:
    """Return whether a node is better widened before its definition takes its place."""
    wide = LOWERED.get(type(node.op)) is Road.WIDE_DEFINITION
    return wide and any(_is_narrow(value) for value in node.inputs)


def widen(graph: Graph, node: Node, names: Names) -> list[Node]:
    """Put the same operator on float32, with its operands and results cast, in the place of a node; the new nodes."""
    maker = Body(graph, graph, names, node.name)
    casts = {
        value: maker.add(Cast(DType.FLOAT32), [value], node, "wide").output
        for value in dict.fromkeys(node.inputs)
        if value is not None and _is_narrow(value)
    }
    operands = [None if value is None else casts.get(value, value) for value in node.inputs]
    result = maker.add(node.op, operands, node, "computed")
    results = [_narrowed(maker, node, *pair) for pair in zip(node.outputs, result.outputs, strict=True)]
    _tell(graph, node)
    take_place(graph, node, results, maker.new_nodes)
    return maker.new_nodes


def _tell(graph: Graph, node: Node) -> None:
    """Say that results are rounded to a dtype that MXNet lacks, as of operators that are written as they are."""
    whole = graph
    while whole.parent is not None:
        whole = whole.parent
    if any(value.is_needed and value.dtype is DType.BFLOAT16 for value in node.outputs):
        text = f"computed in float32 and rounded to {DType.BFLOAT16}, which MXNet lacks"
        whole.decisions.append(Decision(DecisionKind.DTYPE, node.name, text))


def _narrowed(maker: Body, node: Node, old: Value, new: Value) -> Value:
    """Return a result in the dtype that it had; one that nothing needs stays as it is."""
    if not old.is_needed or old.dtype is None or old.dtype is new.dtype:
        return new if old.is_needed else old
    return maker.add(Cast(old.dtype), [new], node, "narrow").output


def _is_narrow(value: Value | None) -> bool:
    return value is not None and value.dtype in NARROW
