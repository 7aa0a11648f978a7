"""The contract of a pass, held against what it did: every step of every pipeline in every test goes through here.

A pass takes a valid graph to a valid graph: its inputs stay, its outputs keep their names and types (or know more),
what inference finds anew contradicts nothing that is stored, and its `Outcome` tells whether anything changed and why.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graphir.errors import GraphirError
from graphir.graph import Graph, Value
from graphir.inference import infer_types
from graphir.passes import pipelines
from graphir.passes.clone import clone
from graphir.passes.outcome import Outcome
from graphir.passes.pipelines import Step
from graphir.serial.equal import first_difference
from graphir.symbolic.expression import Call
from graphir.types import Dim, Sym, TensorType, unify

Run = Callable[[Step, Graph], Outcome]


class BrokenContract(AssertionError):
    """What a pass did that no pass may do."""


def held(name: str, change: Callable[[Graph], Outcome], graph: Graph) -> Outcome:
    """What a pass says of what it did with the graph. Raises BrokenContract, naming the pass."""
    before = clone(graph)
    outcome = change(graph)
    broken = broken_promise(before, graph, outcome)
    if broken:
        raise BrokenContract(f"{name} on {graph.name}: {broken}")
    return outcome


def broken_promise(before: Graph, after: Graph, outcome: Outcome) -> str:
    """What is wrong with what a pass made of a graph, "" if nothing is."""
    if not isinstance(outcome, Outcome):
        return f"it gives {outcome!r}, no Outcome"
    if not all(change.node and change.why for change in outcome.changes):
        return "a change has no node or no reason"
    after.check()
    if [value.name for value in before.inputs] != [value.name for value in after.inputs]:
        return "the inputs are others"
    told = list(before.decisions)
    before.decisions = list(after.decisions)
    difference = first_difference(before, after)
    before.decisions = told
    if not outcome:
        return f"it tells no change, but {difference}" if difference else ""
    if difference is None:
        return f"nothing changed, but it tells {dict(outcome.counts())}"
    if after.decisions[: len(told)] != told:
        return "earlier decisions were lost"
    return _broken_outputs(before, after) or _broken_types(after)


def _broken_outputs(before: Graph, after: Graph) -> str:
    names = [value.name for value in before.outputs]
    if names != [value.name for value in after.outputs]:
        return f"the outputs were {names} and are {[value.name for value in after.outputs]}"
    for old, new in zip(before.outputs, after.outputs, strict=True):
        if not _is_at_least(new, old):
            return f"the output {old.name} was {old.type} and is {new.type}"
    return ""


def _is_at_least(new: Value, old: Value) -> bool:
    """Whether what is known of a value is all that was known of it, or more."""
    stated, type_ = old.type, new.type
    if isinstance(stated, TensorType) and isinstance(type_, TensorType) and stated.shape and type_.shape:
        chosen = [b if b in _alternatives(a) else a for a, b in zip(stated.shape, type_.shape, strict=False)]
        stated = TensorType(stated.dtype, (*chosen, *stated.shape[len(chosen) :]))
    try:
        return unify(stated, type_) == type_
    except GraphirError:
        return False


def _alternatives(dim: Dim) -> set[Dim]:
    """The sizes of which one is meant, where broadcasting left it open which: its result is the larger of them."""
    if not isinstance(dim, Sym) or len(dim.terms) != 1:
        return set()
    atoms, factor = dim.terms[0]
    if len(atoms) != 1 or factor != 1 or not isinstance(atoms[0], Call) or atoms[0].function != "max":
        return set()
    sides = {atoms[0].left, atoms[0].right}
    return sides.union(*map(_alternatives, sides))


def _broken_types(graph: Graph) -> str:
    """What inference, begun anew from what is declared, has against the types that are stored."""
    try:
        found = infer_types(graph)
        for value in graph.values:
            unify(found[value.name], value.type)
    except GraphirError as error:
        return f"its types contradict inference: {error}"
    return ""


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold every step of every pipeline to the contract."""
    run = pipelines.run_step

    def checked(made: Step, graph: Graph) -> Outcome:
        return held(made.name, lambda given: run(made, given), graph)

    monkeypatch.setattr(pipelines, "run_step", checked)


__all__ = ["BrokenContract", "broken_promise", "held", "install"]
