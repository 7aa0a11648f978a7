"""State of a model that runs again and again: inputs that each run is fed with what the last one gave.

Which they are stands in the graph's metadata, so that formats that keep metadata keep it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphir.decisions import DecisionKind
from graphir.safety.foreign_text import one_line
from graphir.safety.json_text import NoJson, read_json
from graphir.structure.record import record

if TYPE_CHECKING:
    from graphir.graph import Graph
    from graphir.node import Value
    from graphir.tensor import Tensor

STATE = "graphir.state"
"""In a graph's metadata: its state, as JSON by input: the `output`, the `holder` in the source, the `initial` value."""
# Initial values of so many elements are written down; one element that is all of a tensor always is.
MOST = 4096
SHOWN = 8


@record
class Carried:
    """A state while a graph is made: what the source calls it, its input, its value after a run, and at first: one
    element for all, where that is a scalar."""

    holder: str
    before: Value
    after: Value
    initial: Tensor | None
    reason: str


@record
class State:
    """A state of a graph: the output that becomes the next run's input, what the source calls it, and its initial
    value, a number for all elements or their list, and its shape; None where that is not written down."""

    output: str
    holder: str
    initial: Any = None
    shape: tuple[int, ...] | None = None


def record_state(graph: Graph, carried: Sequence[Carried]) -> None:
    """Write the state into the metadata of a graph whose last outputs are its values after a run, with a decision for
    each."""
    outputs = graph.outputs[len(graph.outputs) - len(carried) :]
    entries = {}
    for state, output in zip(carried, outputs, strict=True):
        initial = None if state.initial is None else _elements(state.initial)
        entries[state.before.name] = {"output": output.name, "holder": state.holder, "initial": initial}
        if state.initial is not None and len(state.initial.shape) == state.before.rank:
            entries[state.before.name]["shape"] = list(state.initial.shape)
        graph.decide(
            DecisionKind.STATE,
            state.holder,
            f"{state.reason}: what it holds is the input {state.before.name}, {state.before.type}, and after a run the "
            f"output {output.name}, to be fed to the next; {_describe_state(state, initial)}",
        )
    if entries:
        graph.metadata[STATE] = json.dumps(entries)


def state_of(graph: Graph) -> dict[str, State]:
    """Return the state of a graph by input. What its metadata say of other values than its inputs and outputs is left
    out."""
    try:
        entries = read_json(graph.metadata.get(STATE, "{}"))
    except NoJson:
        return {}
    inputs = {value.name for value in graph.inputs}
    outputs = {value.name for value in graph.outputs}
    states = {}
    for name, entry in entries.items() if isinstance(entries, dict) else ():
        if name in inputs and isinstance(entry, dict) and entry.get("output") in outputs:
            initial, shape = _known_numbers(entry.get("initial")), entry.get("shape")
            is_shape = isinstance(shape, list) and all(type(size) is int and size >= 0 for size in shape)
            sizes = tuple(shape) if isinstance(shape, list) and is_shape else None
            states[name] = State(str(entry["output"]), str(entry.get("holder", name)), initial, sizes)
    return states


def _known_numbers(initial: Any) -> Any:
    """Return a number or a list of numbers as a file has it, None for anything else."""
    listed = initial if isinstance(initial, list) else [initial]
    return initial if all(isinstance(element, int | float) for element in listed) and len(listed) <= MOST else None


def _elements(tensor: Tensor) -> Any:
    """Return the elements for JSON: one for all that are equal, a list of few, None for many."""
    array = tensor.numpy().reshape(-1)
    if array.size and bool((array == array[0]).all()):
        return array[0].item() if hasattr(array[0], "item") else array[0]
    return array.tolist() if array.size <= MOST else None


def _describe_state(state: Carried, initial: Any) -> str:
    tensor = state.initial
    if tensor is None:
        return "the file does not hold its initial value"
    if initial is None:
        array = tensor.numpy()
        return f"initially the {array.size} elements, {array.min()} to {array.max()}, that the source holds for it"
    if not isinstance(initial, list):
        return f"initially {one_line(str(initial))}" + ("" if state.before.rank == 0 else " throughout")
    more = f" and {len(initial) - SHOWN} more" if len(initial) > SHOWN else ""
    return f"initially {one_line(', '.join(map(str, initial[:SHOWN])))}{more}"
