"""What a target that has no word for an operator is handed: the operator's definition by others, and its constants.

Whoever writes a model hands them to the exporter: no format knows which other one defines operators.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from graphir.errors import GraphirError
from graphir.graph import Graph, Node
from graphir.passes.inline import GraphNames
from graphir.runtime.evaluate import OnnxEvaluator
from graphir.structure.record import record


class NoExpansion(GraphirError):
    """No definition by other operators is known for a node, or it cannot be used here.

    `undefined` says that there is none at all, so that there is nothing to report.
    """

    def __init__(self, message: str, *, undefined: bool = False) -> None:
        super().__init__(message)
        self.undefined = undefined


class Definitions(Protocol):
    """What operators are made of, once for all nodes that are alike but for their operands' elements."""

    def expand(self, graph: Graph, node: Node, names: GraphNames) -> list[Node]:
        """Put what a node is made of in its place and return the new nodes.

        Raises NoExpansion, with nothing changed, where nothing else says it.
        """


@record
class Terms:
    """Definitions of operators, each changed by a function (such as one that simplifies it) before its first use; and
    what computes constants."""

    definitions: Callable[[Callable[[Graph], None] | None], Definitions]
    evaluator: OnnxEvaluator
