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


def fusions(operators: Collection[type[Operator]] = ()) -> Rules:
    """Return the rules that join nodes, and those that recognise one of these operators, in this order."""
    merged: dict[type[Operator], list[Rule]] = {}
    for rules in (*(RECOGNITIONS[kind] for kind in RECOGNITIONS if kind in operators), *JOINS):
        for kind, row in rules.items():
            merged.setdefault(kind, []).extend(row)
    return merged
