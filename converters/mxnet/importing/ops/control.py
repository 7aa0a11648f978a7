"""MXNet's control flow: `_foreach` is a Scan, `_while_loop` a Loop, `_cond` an If.

The symbols inside a node take their variables by position: the node's `*_locs` attributes say which position is what.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.decisions import DecisionKind
from graphir.graph import Graph, Value
from graphir.ops.control import If, Loop, Scan
from graphir.ops.creation import ConstantOfShape
from graphir.ops.elementwise import Cast, Identity, Sub
from graphir.ops.shape import Reshape, Shape
from graphir.ops.shape_parts import Concat, Slice
from graphir.structure.reaching import graphs_within
from graphir.types import DType, TensorType


def import_foreach(node: ImportNode) -> Sequence[Value]:
    """`_foreach`: the outputs of all iterations, stacked, then the last states."""
    attrs, values = node.attrs, node.inputs
    data_places, state_places, kept_places = attrs["in_data_locs"], attrs["in_state_locs"], attrs["remain_locs"]
    count, split = len(data_places), attrs["num_out_data"]
    data, states, kept = values[:count], values[count : count + len(state_places)], values[count + len(state_places) :]
    if count == 0 or {*data_places, *state_places, *kept_places} != set(range(len(values))) or (
        len(data_places) + len(state_places) + len(kept_places) != len(values)
    ):
        node.refuse(f"{len(values)} inputs do not fit the positions {data_places}, {state_places} and {kept_places}")
    body = Graph(f"{node.name}_body", parent=node.graph)
    carried = [body.add_input(body.fresh_name("state"), value.type) for value in states]
    slices = [_slice(node, body, value) for value in data]
    indices = [*zip(data_places, slices, strict=True), *zip(state_places, carried, strict=True)]
    indices += zip(kept_places, kept, strict=True)
    heads = node.symbol_inside(0, body, [value for _, value in sorted(indices, key=lambda place: place[0])])
    if split < 0 or len(heads) - split != len(states):
        node.refuse(f"its symbol gives {len(heads)} values, expected {split} and {len(states)} states")
    close_body(node, body, [*heads[split:], *heads[:split]])
    results = node.graph.add_node(
        Scan(count, len(heads)), [*states, *data], name=node.name, subgraphs=[body],
        output_names=_names(node, len(heads), split),
    ).outputs  # fmt: skip
    return [*results[len(states) :], *results[: len(states)]]


def _slice(node: ImportNode, body: Graph, value: Value) -> Value:
    """Return what an iteration takes of a value; without numpy's shapes that of a vector keeps an axis."""
    shape = node.shape(value)
    taken = body.add_input(body.fresh_name("slice"), TensorType(value.dtype, shape[1:]))
    if len(shape) > 1 or node.np_shape:
        return taken
    return body.add(Reshape(), taken, body.constant([1], DType.INT64), name="element")


def import_while_loop(node: ImportNode) -> Sequence[Value]:
    """`_while_loop`: the outputs of all iterations, filled up to `max_iterations`, then the last loop variables."""
    attrs, values = node.attrs, node.inputs
    split, most = attrs["num_out_data"], attrs["max_iterations"]
    function_places, condition_places = (_places(node, f"{name}_input_locs", len(values)) for name in ("func", "cond"))
    variables = [function_places[index] for index in _places(node, "func_var_locs", len(function_places))]
    if len(set(variables)) != len(variables) or min(split, most) < 0:
        node.refuse(f"func_var_locs is {attrs['func_var_locs']}, num_out_data {split}, max_iterations {most}")
    initial = [values[index] for index in variables]
    goes_on = _truth(node, node.symbol_inside(0, node.graph, [values[index] for index in condition_places]), node.graph)
    body = Graph(f"{node.name}_body", parent=node.graph)
    body.add_input("iteration", TensorType(DType.INT64, ()))
    body.add_input("condition", TensorType(DType.BOOL, ()))
    now = dict(enumerate(values))
    now |= {index: body.add_input(body.fresh_name("variable"), values[index].type) for index in variables}
    heads = node.symbol_inside(1, body, [now[index] for index in function_places])
    if len(heads) - split != len(variables):
        node.refuse(f"its function gives {len(heads)} values, expected {split} and {len(variables)} loop variables")
    now |= zip(variables, heads[split:], strict=True)
    again = _truth(node, node.symbol_inside(0, body, [now[index] for index in condition_places]), body)
    close_body(node, body, [again, *heads[split:], *heads[:split]])
    results = node.graph.add_node(
        Loop(len(heads)), [node.constant(most, DType.INT64), goes_on, *initial], name=node.name, subgraphs=[body],
        output_names=_names(node, len(heads), split, filled=True),
    ).outputs  # fmt: skip
    stacked = [_filled(node, value, most) for value in results[len(initial) :]]
    if stacked:
        node.decide(
            DecisionKind.ROWS_FILLED,
            f"rows behind the last iteration, up to {most}, are 0; MXNet leaves them undefined",
        )
    return [*stacked, *results[: len(initial)]]


def _filled(node: ImportNode, value: Value, most: int) -> Value:
    """Return the rows of a value and zeros behind them, `most` in all."""
    if value.dtype is None:
        node.refuse(f"the dtype of {value.name} is unknown; state those of the inputs")
    sizes, zero, one = node.step(Shape(), value), node.vector([0]), node.vector([1])
    rows = node.step(Slice(), sizes, zero, one, suffix="rows")
    rest = node.step(Slice(), sizes, one, node.vector([2**31 - 1]), suffix="row_shape")
    missing = node.step(Sub(), node.vector([most]), rows, suffix="missing")
    shape = node.step(Concat(0), missing, rest, suffix="fill_shape")
    whole = node.step(Concat(0), value, node.step(ConstantOfShape(0.0, value.dtype), shape), suffix="filled")
    if value.shape is not None:
        node.graph.refine(whole, TensorType(None, (most, *value.shape[1:])))
    return whole


def import_cond(node: ImportNode) -> Sequence[Value]:
    """`_cond`: the outputs of the branch that the first symbol chooses."""
    values = node.inputs
    pick = [
        [values[index] for index in _places(node, f"{name}_input_locs", len(values))]
        for name in ("cond", "then", "else")
    ]
    condition = _truth(node, node.symbol_inside(0, node.graph, pick[0]), node.graph)
    branches = []
    for slot, name in ((1, "then"), (2, "else")):
        branch = Graph(f"{node.name}_{name}", parent=node.graph)
        close_body(node, branch, node.symbol_inside(slot, branch, pick[slot]))
        branches.append(branch)
    if len(branches[0].outputs) != len(branches[1].outputs):
        node.refuse(f"its branches give {len(branches[0].outputs)} and {len(branches[1].outputs)} values")
    count = len(branches[0].outputs)
    return node.graph.add_node(
        If(count), [condition], name=node.name, subgraphs=branches, output_names=_names(node, count, count)
    ).outputs


def _places(node: ImportNode, key: str, count: int) -> Sequence[int]:
    """Return an attribute of positions, each below `count`. Refuses others."""
    result: Sequence[int] = node.attrs[key]
    if not set(result) <= set(range(count)):
        node.refuse(f"{key} is {str(result)[:60]}, expected positions below {count}")
    return result


def _truth(node: ImportNode, heads: Sequence[Value], graph: Graph) -> Value:
    """Return a number of one element as a condition: true unless it is 0."""
    if len(heads) != 1:
        node.refuse(f"its condition gives {len(heads)} values, expected one")
    bit = graph.add(Cast(DType.BOOL), heads[0], name=graph.fresh_name(f"{node.name}_truth"))
    return graph.add(Reshape(), bit, graph.constant([], DType.INT64), name=graph.fresh_name(f"{node.name}_condition"))


def close_body(node: ImportNode, body: Graph, heads: Sequence[Value]) -> None:
    """Make these the outputs of a body, and give what is in it names that nothing around it has."""
    outputs: list[Value] = []
    for value in heads:
        is_result = value.graph is body and value.producer is not None and value not in outputs
        outputs.append(value if is_result else body.add(Identity(), value, name=body.fresh_name("copy")))
    body.set_outputs(outputs)
    taken = _names_inside(body)
    for value in list(body.values):
        body.rename(value, _unused(f"{node.name}_{value.name}", body, taken))
        value.sources = ()


def _names_inside(body: Graph) -> set[str]:
    """Return the names of what the graphs inside a body hold."""
    return {value.name for graph in graphs_within(body) if graph is not body for value in graph.values}


def _unused(wanted: str, body: Graph, taken: set[str]) -> str:
    """`wanted` or, if a body, what is in it or what is around it has that name, `wanted` with a number."""
    name, number, around = wanted, 0, [body]
    while around[-1].parent is not None:
        around.append(around[-1].parent)
    while name in taken or any(name in graph for graph in around):
        number += 1
        name = f"{wanted}_{number}"
    return name


def _names(node: ImportNode, count: int, split: int, *, filled: bool = False) -> list[str]:
    """Names of the results of an IR node whose last `split` are MXNet's first."""
    stated = node.output_names
    ordered = [*range(split, count), *range(split)] if split < count else list(range(count))
    names = [stated[slot] if slot < len(stated) else f"{node.name}_{slot}" for slot in ordered]
    if filled:
        names[count - split :] = [f"{name}_rows" for name in names[count - split :]]
    return [node.graph.fresh_name(name) for name in names]


IMPORTS: dict[str, ImportFunction] = {
    "_cond": import_cond,
    "_foreach": import_foreach,
    "_while_loop": import_while_loop,
}
