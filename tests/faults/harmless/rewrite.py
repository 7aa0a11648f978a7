"""What a harmless rewrite is, and the ways to make one of a change of single nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.faults.builder import Generator
from tests.faults.model import Model, Node

Apply = Callable[[Model, Generator], bool]


@dataclass(frozen=True)
class Rewrite:
    """A rewrite that keeps what a model computes. `apply` changes a clone and says whether there was anything to do."""

    name: str
    apply: Apply


def everywhere(kinds: str, change: Callable[[Model, Node], bool]) -> Apply:
    """A change of every node of these operators for which it applies."""

    def apply(model: Model, generator: Generator) -> bool:
        names = [node.name for node in model.nodes(*kinds.split())]
        changed = [change(model, model.node(name)) for name in names]
        return any(changed)

    return apply


def replaced(model: Model, node: Node, steps: list[tuple[str, list[str], str, dict[str, object]]]) -> bool:
    """Let nodes (operator, operands, result, attributes) stand in a node's place; the last result has its result's
    name."""
    position = model.position(node)
    model.remove(node)
    for offset, (kind, inputs, output, attributes) in enumerate(steps):
        model.insert(position + offset, kind, inputs, [output], **attributes)
    return True


__all__ = ["Apply", "Rewrite", "everywhere", "replaced"]
