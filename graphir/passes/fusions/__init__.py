"""Nodes that together compute what one operator computes become that one.

`JOINS` make operators that every runtime of their opset has and may round otherwise; `RECOGNITIONS`, by the operator
that they make, are for those who want them: an old runtime may lack it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from graphir.ops.base import Operator

from ..rewrite import Rule, Rules
from . import activations, attention, constants, norms, products

JOINS: Sequence[Rules] = (constants.RULES, activations.RULES, products.RULES)
MERGES: Rules = products.MERGES  # what joins several nodes of one kind, after all others
RECOGNITIONS: Mapping[type[Operator], Rules] = {
    **attention.RECOGNITIONS, **norms.RECOGNITIONS, **activations.RECOGNITIONS,
}  # fmt: skip


def recognitions(operators: Collection[type[Operator]]) -> Rules:
    """Return the rules that recognise these operators, and activation functions."""
    return _merged(*(RECOGNITIONS[kind] for kind in RECOGNITIONS if kind in operators), activations.RULES)


def fusions(operators: Collection[type[Operator]] = ()) -> Rules:
    """Return the rules that join nodes, and those that recognise one of these operators, in this order."""
    return _merged(*(RECOGNITIONS[kind] for kind in RECOGNITIONS if kind in operators), *JOINS)


def _merged(*given: Rules) -> Rules:
    merged: dict[type[Operator], list[Rule]] = {}
    for rules in given:
        for kind, row in rules.items():
            merged.setdefault(kind, []).extend(row)
    return merged
