"""Loops that cannot be taken apart: Scan and counted Loop as MXNet's `_foreach`, other Loops as `_while_loop`."""

from __future__ import annotations

from collections.abc import Sequence

from graphir.converters.mxnet.exporting.context import AnyNode, Entry, ExportNode, Refusal, row, table
from graphir.converters.mxnet.exporting.dtypes import dtype_name
from graphir.converters.mxnet.exporting.nodes import write_node
from graphir.converters.mxnet.exporting.ops import export_table
from graphir.converters.mxnet.exporting.state import Export
from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.graph import Graph, Value
from graphir.ops.base import normalize_axis
from graphir.ops.control import Loop, Scan
from graphir.ops.elementwise import Identity
from graphir.tensor import Tensor
from graphir.types import DType

VERSION_FIELD = 10901
# Nothing is stacked, so that MXNet keeps no room for as many rows.
MOST = 2**31 - 1


class _BodyExport(Export):
    """The export of a graph inside another: what it takes from around it becomes a variable of its own symbol.

    `captured` says which entry of the symbol around a variable stands for, by the variable's name.
    """

    def __init__(self, body: Graph, outer: Export) -> None:
        super().__init__(body, np_shape=outer.np_shape)
        self.outer = outer
        self.captured: dict[str, Entry] = {}
        self.decisions = outer.decisions

    def variable(self, name: str, tensor: Tensor | None, annotations: dict[str, str]) -> Entry:
        """Add a variable; the elements of a parameter stay with the symbol around."""
        if tensor is not None:
            return self._capture(name, self.outer.variable(self.outer.fresh_variable(name), tensor, {}))
        return super().variable(name, None, annotations)

    def state(self, value: Value, dtype: DType) -> Entry | None:
        """Return the auxiliary state of the symbol around."""
        result = self.outer.state(value, dtype)
        return None if result is None else self._capture(value.name, result)

    def given(self, value: Value, carried: DType | None) -> str:
        """Return a variable for an input of the body, held in a dtype; returns its name."""
        entry = super().variable(self.fresh_variable(value.name), None, {})
        name = self.nodes[entry[0]].name
        if self.np_shape and value.rank == 0:
            entry = self.append("Reshape", f"{name}_axis", [entry], {"shape": (1,)}), 0
        self.bind(value, entry, carried)
        return name

    def _capture(self, name: str, outer: Entry) -> Entry:
        entry = super().variable(self.fresh_variable(name), None, {})
        self.captured[self.nodes[entry[0]].name] = outer
        return entry

    def _source(self, value: Value) -> Entry:
        if value.graph is self.graph:
            return super()._source(value)
        entry = self.outer.raw(value)
        carried = self.outer.carried(value)
        if carried is not None and carried is not value.dtype:
            self._carried[value] = carried
        return self._capture(value.name, entry)


def export_scan(node: ExportNode[Scan]) -> None:
    """Scan; scanned operands and results along other axes are transposed, those that run backwards reversed."""
    op = node.op
    operands = [node.input(slot) for slot in range(len(node))]
    count = len(operands) - op.num_scan_inputs
    axes = op.scan_input_axes or (0,) * op.num_scan_inputs
    turned = op.scan_input_directions or (0,) * op.num_scan_inputs
    data = [
        _leading(node, value, axis, backwards)
        for value, axis, backwards in zip(operands[count:], axes, turned, strict=True)
    ]
    body = node.node.subgraphs[0]
    carried = [node.export.carried(value) for value in operands[count:]]
    results = _foreach(node, body.inputs[count:], data, carried, body.inputs[:count], operands[:count], body.outputs)
    places = op.scan_output_axes or (0,) * (len(body.outputs) - count)
    backwards = op.scan_output_directions or (0,) * (len(body.outputs) - count)
    for slot, (entry, stored) in enumerate(results):
        result = entry
        if slot >= count:
            result = _trailing(node, entry, body.outputs[slot], places[slot - count], backwards[slot - count])
        node.bind(result, slot, carried=stored)


def _leading(node: AnyNode, value: Value, axis: int, backwards: int) -> Entry:
    """Return the entry of a value with an axis in front, in the order of iterations."""
    entry = node.export.entry(value)
    if axis:
        if value.rank is None:
            node.refuse(f"the number of axes of {value.name} is unknown; state the inputs' shapes")
        place = normalize_axis(axis, value.rank)
        order = (place, *(other for other in range(value.rank) if other != place))
        entry = node.step("transpose", entry, axes=order, suffix="rows")
    return node.step("reverse", entry, axis=(0,), suffix="backwards") if backwards else entry


def _trailing(node: AnyNode, entry: Entry, row: Value, axis: int, backwards: int) -> Entry:
    """Return the stacked rows in the order and along the axis that the result has."""
    if row.rank is None:
        node.refuse(f"the number of axes of {row.name} is unknown; state the inputs' shapes")
    if row.rank == 0:
        entry = node.step("Reshape", entry, shape=(-1,), suffix="vector")
    if backwards:
        entry = node.step("reverse", entry, axis=(0,), suffix="backwards")
    place = normalize_axis(axis, row.rank + 1)
    if not place:
        return entry
    order = (*range(1, place + 1), 0, *range(place + 1, row.rank + 1))
    return node.step("transpose", entry, axes=order, suffix="stacked")


def export_loop(node: AnyNode) -> None:
    """Loop: of known length `_foreach` over the numbers of its iterations, otherwise `_while_loop`.

    That fills what it stacks up to a number of rows which must be known, so it serves for carried values only.
    """
    body = node.node.subgraphs[0]
    trips, start = _number(node.optional(0)), _number(node.optional(1))
    if trips is None or not _is_true(body.outputs[0], body.inputs[1]) or (node.optional(1) is not None and not start):
        _while_loop(node)
        return
    if trips < 1:
        node.refuse("it does not run at all")
    operands = [node.input(slot) for slot in range(2, len(node))]
    count = len(operands)
    numbers = node.step("_arange", start=0, stop=trips, dtype=dtype_name(DType.INT64), suffix="numbers")
    states, rows = body.inputs[2:], body.outputs[1:]
    truth = node.constant([1.0], DType.FLOAT32, suffix="runs")
    results = _foreach(
        node, body.inputs[:1], [numbers], [DType.INT64], states, operands, rows, {body.inputs[1]: truth}
    )
    for slot, (entry, stored) in enumerate(results):
        node.bind(entry if slot < count else _trailing(node, entry, rows[slot], 0, 0), slot, carried=stored)


def _number(value: Value | None) -> int | None:
    numbers = None if value is None else value.integers
    return numbers[0] if numbers is not None and len(numbers) == 1 else None


def _is_true(value: Value, condition: Value) -> bool:
    """Return whether a body's condition is the one that it was given, or a constant that holds."""
    while value.producer is not None and isinstance(value.producer.op, Identity) and value.producer.inputs[0]:
        value = value.producer.inputs[0]
    return value is condition or bool(_number(value))


def _foreach(
    node: AnyNode,
    slices: Sequence[Value],
    data: Sequence[Entry],
    carried: Sequence[DType | None],
    states: Sequence[Value],
    initial: Sequence[Value],
    outputs: Sequence[Value],
    constants: dict[Value, Entry] | None = None,
) -> list[tuple[Entry, DType | None]]:
    """Return the entries of the body's outputs, states first, and the dtypes that hold them."""
    outer = node.export
    body = _BodyExport(node.node.subgraphs[0], outer)
    for value, entry in (constants or {}).items():
        body.bind(value, body._capture(value.name, entry), DType.FLOAT32)
    begin = [outer.entry(value) for value in initial]
    stored = [outer.carried(value) for value in initial]
    names = [body.given(value, dtype) for value, dtype in zip(slices, carried, strict=True)]
    names += [body.given(value, dtype) for value, dtype in zip(states, stored, strict=True)]
    _write(node, body)
    count = len(states)
    ends = [_end(body, value, dtype) for value, dtype in zip(outputs, stored, strict=False)]
    rows = [body.entry(value) for value in outputs[count:]]
    heads = _apart(body, [*rows, *ends])
    symbol, unread = _symbol(body, heads, names, len(rows))
    order = symbol.variable_names()
    kept = [name for name in order if name in body.captured]
    attributes = {
        "num_args": len(names) + len(kept) + 1,
        "num_outputs": len(heads) + unread,
        "num_out_data": len(rows) + unread,
        "in_data_locs": [order.index(name) for name in names[: len(slices)]],
        "in_state_locs": [order.index(name) for name in names[len(slices) :]],
        "remain_locs": [order.index(name) for name in kept],
    }
    inputs = [*data, *begin, *(body.captured[name] for name in kept)]
    index = outer.append("_foreach", node.stem, inputs, attributes)
    outer.nodes[index].subgraphs = [symbol]
    dtypes = [*stored, *(body.carried(value) for value in outputs[count:])]
    first = len(rows) + unread
    entries = [*((index, first + slot) for slot in range(count)), *((index, slot) for slot in range(len(rows)))]
    return list(zip(entries, dtypes, strict=True))


def _while_loop(node: AnyNode) -> None:
    """The loop's variables are the number of the iteration, whether it goes on, and the carried values."""
    outer, inner = node.export, node.node.subgraphs[0]
    operands = [node.input(slot) for slot in range(2, len(node))]
    stacked = [value.name for value in node.node.outputs[len(operands) :] if value.is_needed]
    if stacked:
        node.refuse(f"how often it runs is computed at run time, and with it the sizes of {', '.join(stacked)}")
    start = node.optional(1)
    runs = outer.raw(start) if start is not None else node.constant([1.0], DType.FLOAT32, suffix="runs")
    if start is not None and outer.carried(start) is not DType.FLOAT32:
        runs = outer.cast(runs, DType.FLOAT32)
    begin = [outer.entry(value) for value in operands]
    stored = [DType.INT64, DType.FLOAT32, *(outer.carried(value) for value in operands)]
    body = _BodyExport(inner, outer)
    names = [body.given(value, dtype) for value, dtype in zip(inner.inputs, stored, strict=True)]
    _write(node, body)
    places = {record.name: (index, 0) for index, record in enumerate(body.nodes) if record.op == VARIABLE}
    following = body.append("_plus_scalar", "next_number", [places[names[0]]], {"scalar": 1}), 0
    again = _end(body, inner.outputs[0], DType.FLOAT32)
    ends = [_end(body, value, dtype) for value, dtype in zip(inner.outputs[1:], stored[2:], strict=False)]
    heads = [following, (body.append("elemwise_mul", "goes_on", [again, places[names[1]]], {}), 0)]
    heads += [_reading(body, entry, places[name]) for entry, name in zip(ends, names[2:], strict=False)]
    function = NNVMGraph(body.nodes, _apart(body, heads), VERSION_FIELD, body.np_shape)
    condition, limit = _condition(node, names)
    inputs = [node.constant([0], DType.INT64, suffix="first_number"), runs, *begin, *limit]
    kept = function.variable_names()
    order = {name: slot for slot, name in enumerate([*names, "limit"])}
    captured = [name for name in kept if name not in order]
    order |= {name: len(inputs) + slot for slot, name in enumerate(captured)}
    inputs += [body.captured[name] for name in captured]
    attributes = {
        "num_args": len(inputs) + 2,
        "num_outputs": len(names),
        "num_out_data": 0,
        "max_iterations": MOST,
        "cond_input_locs": [order[name] for name in condition.variable_names()],
        "func_input_locs": [order[name] for name in kept],
        "func_var_locs": [kept.index(name) for name in names],
    }
    index = outer.append("_while_loop", node.stem, inputs, attributes)
    outer.nodes[index].subgraphs = [condition, function]
    for slot in range(len(operands)):
        node.bind((index, slot + 2), slot, carried=stored[slot + 2])


def _reading(body: _BodyExport, entry: Entry, variable: Entry) -> Entry:
    """Return the entry, computed so that the variable is read: a loop variable that its function does not read is
    none."""
    ones = body.append("ones_like", "read", [variable], {}), 0
    return body.append("where", "read_value", [ones, entry, entry], {}), 0


def _condition(node: AnyNode, names: Sequence[str]) -> tuple[NNVMGraph, list[Entry]]:
    """Return the symbol that says whether an iteration follows, and the largest number of them if there is one."""
    runs = NNVMNode(VARIABLE, names[1])
    most = node.optional(0)
    if most is None:
        copy = NNVMNode("_copy", "goes_on", inputs=[(0, 0)])
        return NNVMGraph([runs, copy], [(1, 0)], VERSION_FIELD, node.export.np_shape), []
    nodes = [
        runs,
        NNVMNode(VARIABLE, names[0]),
        NNVMNode(VARIABLE, "limit"),
        NNVMNode("broadcast_lesser", "is_before", inputs=[(1, 0), (2, 0)]),
        NNVMNode("Cast", "truth", {"dtype": "float32"}, inputs=[(3, 0)]),
        NNVMNode("broadcast_mul", "goes_on", inputs=[(0, 0), (4, 0)]),
    ]
    return NNVMGraph(nodes, [(5, 0)], VERSION_FIELD, node.export.np_shape), [node.export.entry(most)]


def _write(node: AnyNode, body: _BodyExport) -> None:
    """Write the nodes of a body. Refuses if one of them is refused."""
    table = {**export_table(), **CONTROL}
    for inner in body.graph.nodes:
        body.node = inner
        if inner not in body.written:
            try:
                write_node(body, inner, table)
            except Refusal as error:
                node.refuse(f"inside it {inner.op.name} ({inner.name}): {error}")


def _end(body: _BodyExport, value: Value, stored: DType | None) -> Entry:
    """Return a state behind an iteration, in the dtype in which it began."""
    entry = body.entry(value)
    return entry if stored is None or body.carried(value) is stored else body.cast(entry, stored)


def _apart(body: _BodyExport, heads: Sequence[Entry]) -> list[Entry]:
    """Return the heads, each a node's own: a variable, or one that comes twice, gets a copy."""
    results: list[Entry] = []
    for entry in heads:
        plain = body.nodes[entry[0]].op != VARIABLE and entry not in results
        results.append(entry if plain else (body.append("_copy", "copy", [entry], {}), 0))
    return results


def _symbol(body: _BodyExport, heads: list[Entry], names: Sequence[str], rows: int) -> tuple[NNVMGraph, int]:
    """Return the body's symbol, and how many heads behind the rows are there only to read variables that it does not
    use."""
    symbol = NNVMGraph(body.nodes, heads, VERSION_FIELD, body.np_shape)
    read = set(symbol.variable_names())
    places = {record.name: index for index, record in enumerate(body.nodes) if record.op == VARIABLE}
    extra = [(body.append("_copy", f"{name}_unread", [(places[name], 0)], {}), 0) for name in names if name not in read]
    symbol.heads = [*heads[:rows], *extra, *heads[rows:]]
    return symbol, len(extra)


CONTROL = table(row(Scan, export_scan), row(Loop, export_loop))
