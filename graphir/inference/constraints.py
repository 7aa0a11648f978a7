"""What a model's weights demand of sizes that its inputs leave open."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from graphir.graph import Graph
from graphir.ops.counts import data_dependent_sizes
from graphir.structure.record import record
from graphir.types import Sym, TensorType, substitute

from .rules import infer_outputs

LARGEST = 4096


@record
class Constraint:
    """At `node`, the symbolic size must equal the number, or the model cannot run."""

    node: str
    size: Sym
    number: int


def find_constraints(graph: Graph) -> list[Constraint]:
    """Return where a rule gives a symbolic size but the rest of the model (a weight behind it) says a number.

    Expects inference to have run. One walk over the nodes.
    """
    constraints: list[Constraint] = []
    for node in graph.nodes:
        stored = [value.type for value in node.outputs]
        if not any(isinstance(value.type, TensorType) and not value.type.is_static for value in node.inputs if value):
            continue
        operands = tuple([None if value is None else value.type for value in node.inputs])
        known = tuple([None if value is None else value.known for value in node.inputs])
        for ruled, stored_type in zip(infer_outputs(node.op, operands, known), stored, strict=True):
            if not isinstance(ruled, TensorType) or not isinstance(stored_type, TensorType):
                continue
            for left, right in zip(ruled.shape or (), stored_type.shape or (), strict=False):
                if isinstance(left, Sym) and isinstance(right, int) and not data_dependent_sizes(left):
                    constraints.append(Constraint(node.name, left, right))
    return constraints


def fits(constraints: Sequence[Constraint], names: Collection[str]) -> Iterator[tuple[int, int]]:
    """Yield the runs (first, last) of numbers up to 4096 that, taken for all the symbols, meet every constraint."""
    first = None
    for number in range(1, LARGEST + 2):
        sizes = dict.fromkeys(names, number)
        good = number <= LARGEST and all(_meets(constraint, sizes) for constraint in constraints)
        if good and first is None:
            first = number
        if not good and first is not None:
            yield first, number - 1
            first = None


def _meets(constraint: Constraint, sizes: Mapping[str, int]) -> bool:
    try:
        return substitute(constraint.size, sizes) == constraint.number
    except ZeroDivisionError:
        return False
