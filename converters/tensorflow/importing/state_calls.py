"""Calls, conditionals and loops that are handed variables, as ones that are handed their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from graphir.converters.tensorflow.files.records import FunctionCall, FunctionNode
from graphir.converters.tensorflow.importing.state_bodies import BRANCHES, CALLED, LOOPS, Bodies, StatefulBody
from graphir.types import DType

SHAPES = ("_output_shapes", "output_shapes")


@dataclass(frozen=True)
class HandedOver:
    """What a node hands to the functions that it calls, none if it hands no variable that is written over.

    `extra` are the variables whose last values become further results behind the first `count`, `refused` those that
    the condition of a loop writes, `slots` the results of a loop that are variables; `dtypes` are those of variables by
    input and by result.
    """

    functions: Sequence[StatefulBody] = ()
    extra: Sequence[str] = ()
    refused: Sequence[str] = ()
    count: int = 0
    slots: Mapping[str, int] | None = None
    taken: Mapping[int, DType] | None = None
    given: Sequence[DType] = ()

    def slot(self, name: str) -> int:
        """Return the result of a node that is the last value of a variable that it writes."""
        if self.slots is not None:
            return self.slots[name]
        return self.count + self.extra.index(name) if self.functions else 0

    def call(self, node: FunctionNode, names: Mapping[str, str]) -> FunctionNode:
        """Return the node, calling functions of other names."""
        if node.op in names:
            return replace(node, op=names[node.op])
        attrs: dict[str, Any] = {key: value for key, value in node.attrs.items() if key not in SHAPES}

        def renamed(call: FunctionCall) -> FunctionCall:
            return FunctionCall(names.get(call.name, call.name), call.attrs)

        for key, value in attrs.items():
            if key in CALLED and isinstance(value, FunctionCall):
                attrs[key] = renamed(value)
            elif key == "branches":
                attrs[key] = tuple(map(renamed, value))
        types = "T" if node.op in LOOPS else "Tin"
        taken = self.taken or {}
        attrs[types] = tuple(taken.get(slot, dtype) for slot, dtype in enumerate(attrs[types]))
        if node.op not in LOOPS:
            attrs["Tout"] = (*attrs["Tout"], *self.given)
        return replace(node, attrs=attrs)


def handed_over(bodies: Bodies, body: StatefulBody, node: FunctionNode, written: Mapping[str, str]) -> HandedOver:
    """Return what a node of a body hands over of the variables that are written."""
    operands = node.inputs[1:] if node.op in BRANCHES else node.inputs
    handles = {slot: name for slot, text in enumerate(operands) if (name := body.handle(text)) in written and name}
    inner = bodies.called(body, node) if handles else []
    if not inner:
        return HandedOver()
    uses = [bodies.uses(callee) for callee in inner]
    taken = {slot: bodies.variables[name].dtype for slot, name in handles.items()}
    if node.op in LOOPS:
        refused = [name for name in written if uses[0].get(name)]
        return HandedOver(inner, (), refused, 0, {name: slot for slot, name in handles.items()}, taken)
    extra = [name for name in written if any(callee.get(name) for callee in uses)]
    given = [bodies.variables[name].dtype for name in extra]
    return HandedOver(inner, extra, (), len(inner[0].function.outputs), None, taken, given)
