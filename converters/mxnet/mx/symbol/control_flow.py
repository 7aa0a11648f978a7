"""`foreach`, `while_loop` and `cond` of `mx.sym.contrib`: functions become graphs inside a node.

What a function composes is marked by the attribute `__subgraph_name__`. Where it reads what was composed outside, the
graph is cut: it reads a variable there, and the node gets the outer value as an input.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from graphir.converters.mxnet.files.records import VARIABLE
from graphir.converters.mxnet.mx import attribute
from graphir.converters.mxnet.mx.base import NotASymbol
from graphir.converters.mxnet.mx.symbol.creation import internal, var
from graphir.converters.mxnet.mx.symbol.functions import namespace
from graphir.converters.mxnet.mx.symbol.node import Entry, SymbolNode, post_order
from graphir.converters.mxnet.mx.symbol.symbol import Group, Symbol

MARK = "__subgraph_name__"
Nested = Any
"""A symbol, or a list of such."""


class _BodyGraph(NamedTuple):
    """A function as a graph: its outputs, how they were nested, and outer values by the variables in their place."""

    graph: Symbol
    layouts: list[Nested]
    outer: dict[str, Symbol]


def foreach(
    body: Callable[..., Any], data: Nested, init_states: Nested, name: str = "foreach"
) -> tuple[Nested, Nested]:
    """Run `body(slice of data, states)` for every slice along the first axis of `data`; it gives outputs and states.

    Gives the outputs of all slices, stacked, and the last states. Raises AssertionError where data or a state is not
    read, and where the states of the body are nested otherwise than the initial ones.
    """
    slices, data_layout = _flat(data, "data")
    states, state_layout = _flat(init_states, "states")

    def run(*variables: Symbol) -> list[Nested]:
        parts = _nested(variables[: len(slices)], data_layout), _nested(variables[len(slices) :], state_layout)
        return list(body(*parts))

    body_graph = _body(run, [_inner_name(entry) for entry in (*slices, *states)], _unique(name))
    outputs, (layout, new_layout) = body_graph.graph, body_graph.layouts
    if new_layout != state_layout:
        raise AssertionError("the states that the body gives are nested otherwise than the initial states")
    names = outputs.list_inputs()
    places = [_place(names, entry, "the loop body") for entry in (*slices, *states)]
    rest = [place for place in range(len(names)) if place not in places]
    count = _count(layout)
    result = internal("_foreach")(
        outputs,
        *slices,
        *states,
        *(body_graph.outer[names[place]] for place in rest),
        num_outputs=len(outputs),
        num_out_data=count,
        in_state_locs=places[len(slices) :],
        in_data_locs=places[: len(slices)],
        remain_locs=rest,
    )
    parts = list(result)
    return _nested(parts[:count], layout), _nested(parts[count:], state_layout)


def while_loop(
    cond: Callable[..., Any],
    func: Callable[..., Any],
    loop_vars: Nested,
    max_iterations: int | None = None,
    name: str = "while_loop",
) -> tuple[Nested, Nested]:
    """Run `func(*loop_vars)` while `cond(*loop_vars)` holds; it gives outputs and new loop variables.

    Gives the outputs, stacked and padded to `max_iterations`, and the last loop variables. Raises ValueError without
    `max_iterations` or loop variables, and where a loop variable is not read.
    """
    if max_iterations is None:
        raise ValueError("max_iterations is not given; the outputs are as many")
    held, layout = _flat(loop_vars, "loop_vars")
    if not held:
        raise ValueError("there are no loop_vars, expected one at least")

    def step(*variables: Symbol) -> list[Nested]:
        outputs, states = func(*_nested(variables, layout))
        return [_listed(outputs), _listed(states)]

    inner = [_inner_name(symbol) for symbol in held]
    condition = _body(lambda *variables: [[cond(*_nested(variables, layout))]], inner, _unique(f"{name}_cond"))
    function = _body(step, inner, _unique(f"{name}_func"))
    if _count(function.layouts[1]) != len(held):
        raise ValueError(f"{len(held)} loop_vars are given, func gives {_count(function.layouts[1])}")
    names = function.graph.list_inputs()
    unread = next((place for place, known in enumerate(inner) if known not in names), None)
    if unread is not None:
        raise ValueError(f"the loop variable {unread} ({held[unread].name}) is not read by func")
    loop = dict(zip(inner, held, strict=True))
    inputs: list[Symbol] = []
    locations = [
        [_location(inputs, loop.get(known, made.outer[known])) for known in made.graph.list_inputs()]
        for made in (condition, function)
    ]
    count = _count(function.layouts[0])
    result = internal("_while_loop")(
        condition.graph,
        function.graph,
        *inputs,
        max_iterations=int(max_iterations),
        cond_input_locs=locations[0],
        func_input_locs=locations[1],
        func_var_locs=[names.index(known) for known in inner],
        num_out_data=count,
        num_outputs=len(function.graph),
    )
    parts = list(result)
    return _nested(parts[:count], function.layouts[0]), _nested(parts[count:], layout)


def cond(
    pred: Symbol, then_func: Callable[[], Nested], else_func: Callable[[], Nested], name: str = "cond"
) -> Nested:
    """Return what `then_func()` gives where `pred` holds, else what `else_func()` gives.

    Raises ValueError where they do not give as many outputs, and for a `pred` of several.
    """
    functions = ((lambda: pred, "pred"), (then_func, "then"), (else_func, "else"))
    bodies = [_body(lambda run=run: [run()], [], _unique(f"{name}_{part}")) for run, part in functions]
    if len(bodies[0].graph) != 1:
        raise ValueError(f"pred has {len(bodies[0].graph)} outputs, expected a single one")
    if len(bodies[1].graph) != len(bodies[2].graph):
        counts = f"{len(bodies[1].graph)} and {len(bodies[2].graph)}"
        raise ValueError(f"then_func and else_func give {counts} outputs, expected as many")
    inputs: list[Symbol] = []
    locations = []
    for made in bodies:
        earlier = {symbol.name: symbol for symbol in inputs}
        known = made.graph.list_inputs()
        locations.append([_location(inputs, earlier.get(name, made.outer[name])) for name in known])
    result = internal("_cond")(
        *(made.graph for made in bodies),
        *inputs,
        cond_input_locs=locations[0],
        then_input_locs=locations[1],
        else_input_locs=locations[2],
        num_outputs=len(bodies[1].graph),
    )
    return _nested(list(result), bodies[1].layouts[0])


def _body(function: Callable[..., list[Nested]], variables: Sequence[str], name: str) -> _BodyGraph:
    """Return the graph of what the function composes of variables of these names."""
    with attribute.AttrScope(**{MARK: name}):
        given = function(*[var(known) for known in variables])
        flat, layouts = zip(*(_flat(part, "what the function gives") for part in given), strict=True)
        outputs = [symbol for part in flat for symbol in part]
        inputs = set(Group(outputs).list_inputs())
        first = {symbol.name for symbol in flat[0]}
        graph = Group([_own(symbol, name, inputs, first if part else set())
                       for part, group in enumerate(flat) for symbol in group])  # fmt: skip
    return _BodyGraph(graph, list(layouts), _cut(graph, name))


def _own(symbol: Symbol, name: str, inputs: set[str], taken: set[str | None]) -> Symbol:
    """Return the symbol, or its identity where it is an input, comes twice, or was composed outside."""
    if symbol.name in inputs or symbol.name in taken or symbol.list_attr().get(MARK, "") != name:
        return namespace("op", Symbol).get("identity")(symbol)  # type: ignore[no-any-return]
    return symbol


def _cut(graph: Symbol, name: str) -> dict[str, Symbol]:
    """Put variables in place of what the graph reads from outside. Gives the outer values by the variables' names."""
    outer: dict[str, Symbol] = {}
    variables: dict[tuple[int, int], Entry] = {}
    for node in post_order(graph.entries):
        if node.attrs.get(MARK) != name:
            continue
        for place, entry in enumerate(node.inputs):
            producer, slot, _ = entry
            if producer.attrs.get(MARK) == name:
                continue
            known = producer.output_name(slot)
            if (id(producer), slot) not in variables:
                outer[known] = Symbol([entry])
                variables[id(producer), slot] = (SymbolNode(VARIABLE, known, {}, []), 0, 0)
            node.inputs[place] = variables[id(producer), slot]
    for variable in graph.get_inputs():
        outer.setdefault(str(variable.name), copy.deepcopy(variable))
    return outer


def _place(names: Sequence[str], symbol: Symbol, where: str) -> int:
    known = _inner_name(symbol)
    if known not in names:
        raise AssertionError(f"{symbol.name} has to be used in {where}")
    return names.index(known)


def _location(inputs: list[Symbol], symbol: Symbol) -> int:
    """Return the place of a symbol among the inputs, where it is put if it is not there."""
    for place, entry in enumerate(inputs):
        if entry is symbol:
            return place
    inputs.append(symbol)
    return len(inputs) - 1


def _inner_name(symbol: Symbol) -> str:
    """Return the name of the variable for an outer symbol in a graph, which no symbol that was cut has."""
    return f"{symbol.name}-{symbol.attr('_value_index')}"


def _unique(name: str) -> str:
    """Return the name with its number; within another function behind that one's name."""
    around = attribute.current().get(None).get(MARK, "")
    known = f"{around}${name}" if around else name
    number = attribute.SUBGRAPH_NAMES[known]
    attribute.SUBGRAPH_NAMES[known] += 1
    return f"{known}{number}"


def _listed(part: Nested) -> Nested:
    return [] if part is None else list(part) if isinstance(part, tuple) else part


def _flat(nested: Nested, what: str) -> tuple[list[Symbol], Nested]:
    """Return the symbols of nested lists, and the nesting: lists of the numbers of outputs, 0 for a single one."""
    if isinstance(nested, Symbol):
        return [nested], len(nested) if len(nested) > 1 else 0
    if not isinstance(nested, list | tuple):
        raise NotASymbol(f"{what}: expected a symbol or nested lists of symbols, got {nested!r}")
    parts = [_flat(part, what) for part in nested]
    return [symbol for flat, _ in parts for symbol in flat], [layout for _, layout in parts]


def _count(layout: Nested) -> int:
    if isinstance(layout, list):
        return sum(map(_count, layout))
    return max(int(layout), 1)


def _nested(flat: Sequence[Symbol], layout: Nested) -> Nested:
    """Return the symbols in the nesting that `_flat` gave."""
    if not isinstance(layout, list):
        return flat[0] if layout == 0 else list(flat[:layout])
    parts, begin = [], 0
    for part in layout:
        parts.append(_nested(flat[begin : begin + _count(part)], part))
        begin += _count(part)
    return parts
