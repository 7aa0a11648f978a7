"""Inference for a node with subgraphs that is being inserted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphir.node import set_type

from .control import Inferred, infer_subgraphs
from .fixpoint import Inference

if TYPE_CHECKING:
    from graphir.graph import Graph
    from graphir.node import Node


def infer_inserted(graph: Graph, node: Node) -> Inferred:
    """`infer_subgraphs` for a node that is being inserted; the types of what its subgraphs hold are stored in them."""
    run = Inference(graph, stored=True, whole=False)
    operands = tuple(None if value is None else value.type for value in node.inputs)
    known = tuple(None if value is None else value.known for value in node.inputs)
    results = infer_subgraphs(run, node, operands, known)
    for value, type_ in run.types.items():
        set_type(value, type_)
        value.known = run.known[value]
    return results
