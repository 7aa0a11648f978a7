"""Branches and loops as Python's `if`, `for` and `while`."""

from __future__ import annotations

from collections.abc import Sequence

from graphir.converters.pytorch.exporting.context import (
    AnyNode,
    ExportNode,
    Expr,
    call,
    dtype_text,
    row,
    table,
    tuple_of,
)
from graphir.converters.pytorch.exporting.expression import ValueReference, references
from graphir.converters.pytorch.exporting.state import Statement
from graphir.graph import Graph, Value
from graphir.ops import control as ir

# The trip count of loops that end by their condition only.
UNLIMITED = 2**63 - 1


def export_if(node: ExportNode[ir.If]) -> None:
    """`if` and `else`; of a known condition what runs."""
    export, branches, known = node.export, node.node.subgraphs, node.number(0)
    results = node.node.outputs
    if known in ("True", "False"):
        branch = branches[known == "False"]
        export.write_nodes(list(branch.nodes))
        for inner, outer in zip(branch.outputs, results, strict=True):
            export.bind(outer, export.reference(inner))
        return
    headers = (f"if {node.tensor()}:", "else:")
    blocks = []
    for header, branch in zip(headers, branches, strict=True):
        with export.block() as statements:
            for inner, outer in zip(branch.outputs, results, strict=True):
                if inner.producer is not None and inner.graph is branch:
                    export.share_number(inner, outer)
            export.write_nodes(list(branch.nodes))
            for inner, outer in zip(branch.outputs, results, strict=True):
                target, text = ValueReference(export.number(outer)), export.reference(inner)
                statements += [Statement((target.number,), text)] if text != target else []
        blocks.append((header, statements))
    export.statements.append(Statement(tuple(map(export.number, results)), "", blocks=blocks))
    for result in results:
        export.find_symbols(result)


class LoopInProgress:
    """A loop while it is written: what it carries, and the lists that it fills. An output of the body is told by its
    index: the value may change while the body is written."""

    def __init__(self, node: AnyNode, body: Graph) -> None:
        self.node, self.export, self.body = node, node.export, body
        self.targets: list[tuple[int, str]] = []
        self.updates: list[tuple[int, int]] = []
        self.lists: list[tuple[int, int]] = []
        self.first: list[Statement] = []

    def variable(self, name: str) -> ValueReference:
        """Return a variable that the loop assigns."""
        number = self.export.new_number()
        self.targets.append((number, name))
        return ValueReference(number)

    def value(self, value: Value) -> ValueReference:
        """Return the variable of a value of the body that the header assigns."""
        number = self.export.number(value)
        self.targets.append((number, ""))
        self.export.find_symbols(value)
        return ValueReference(number)

    def over(self, pairs: Sequence[tuple[ValueReference, Expr]]) -> str:
        """Return the header of a loop over the elements of lists or tensors."""
        names, lists = zip(*pairs, strict=True)
        return f"for {', '.join(names)} in {lists[0] if len(lists) == 1 else call('zip', *lists, strict='True')}:"

    def carry(self, first: Expr, result: Value, given: Value, output: int) -> None:
        """A value that is `first` before the loop and `result` behind it; in the body it is `given`, then an output."""
        if not (result.is_needed or given.is_needed):
            return
        number = self.export.number(result)
        self.first.append(Statement((number,), first))
        self.targets.append((number, ""))
        self.export.bind(given, ValueReference(number))
        self.export.find_symbols(given)
        self.updates.append((number, output))

    def collect(self, output: int, result: Value, *, is_list: bool = False) -> ValueReference | None:
        """Return a list of what an output is in each iteration, None where nothing reads it. It is the result if
        `is_list`."""
        if not result.is_needed:
            return None
        number = self.export.number(result) if is_list else self.export.new_number()
        names = () if is_list else (f"{result.name}_rows",)
        self.first.append(Statement((number,), "[]", names=names))
        self.targets.append((number, ""))
        self.lists.append((number, output))
        return ValueReference(number)

    def write(
        self, header: str, *, before: str = "", ends: bool = False, running: ValueReference | None = None
    ) -> None:
        """The loop. It ends where the text `before` is false as an iteration begins. The first output is the condition
        that `running` becomes; with `ends` it is what an iteration ends by if it is false."""
        export = self.export
        with export.block() as statements:
            if before:
                statements.append(_break_unless(Expr(before)))
            export.write_nodes(list(self.body.nodes))
            read = [export.reference(value) for value in self.body.outputs]
            for number, output in self.lists:
                statements.append(Statement((), f"{ValueReference(number).atom}.append({read[output]})", keeps=True))
            pairs = ((number, read[output]) for number, output in self.updates)
            updates = [(number, value) for number, value in pairs if value != ValueReference(number)]
            if running is not None:
                updates.append((running.number, read[0]))
            condition = read[0] if ends else None
            changed = {number for number, _ in updates}
            if ends and (changed & set(references(read[0])) or not isinstance(read[0], ValueReference)):
                condition = self.node.step(read[0], "running")
            statements += _assignments(updates)
            if condition is not None:
                statements.append(_break_unless(condition))
        blocks = [("", self.first), (header, statements)]
        numbers, names = zip(*self.targets, strict=True) if self.targets else ((), ())
        export.statements.append(Statement(numbers, "", blocks=blocks, names=names))


def _assignments(updates: Sequence[tuple[int, Expr]]) -> list[Statement]:
    """New values of variables: at once where one is read behind its assignment."""
    numbers = [number for number, _ in updates]
    if any(set(references(text)) & set(numbers[:place]) for place, (_, text) in enumerate(updates)):
        return [Statement(tuple(numbers), tuple_of(text for _, text in updates))]
    return [Statement((number,), text) for number, text in updates]


def _break_unless(condition: Expr) -> Statement:
    return Statement((), "", blocks=[(f"if not {condition.atom}:", [Statement((), "break", keeps=True)])], keeps=True)


def export_loop(node: ExportNode[ir.Loop]) -> None:
    """`for`, or `while` without a trip count."""
    export, body = node.export, node.node.subgraphs[0]
    loop = LoopInProgress(node, body)
    results, count = node.node.outputs, len(body.inputs) - 2
    _counter, given_condition, *carried = body.inputs
    condition, *_ = body.outputs
    starts_true = node.optional(1) is None or node.number(1) == "True"
    stays_true = condition is given_condition or _is_true(condition)
    limit = None if node.known(0) == (UNLIMITED,) else node.optional(0)
    if limit is None and stays_true:
        node.refuse("the loop has neither a trip count nor a condition that ends it")
    for slot in range(count):
        value = node.optional(slot + 2)
        first = Expr("None") if value is None else export.reference(value)
        loop.carry(first, results[slot], carried[slot], slot + 1)
    lists = [loop.collect(1 + slot, results[slot]) for slot in range(count, len(results))]
    running = None
    if not (starts_true or stays_true):
        running = loop.variable("running")
        loop.first.append(Statement((running.number,), node.tensor(1), names=("running",)))
    if given_condition.is_needed:
        export.bind(given_condition, Expr(f"torch.tensor(True, device={node.device})"))
    header = _header(node, loop, limit, running)
    before = "" if starts_true or limit is None else str(running or node.tensor(1))
    loop.write(header, before=before, ends=starts_true and not stays_true, running=running)
    trips = node.known(0)
    runs = starts_true and (limit is None or (trips is not None and trips[0] > 0))
    for slot, rows in enumerate(lists, count):
        if rows is not None:
            _stack(node, rows, slot, body.outputs[1 + slot], runs=runs)


def _header(node: AnyNode, loop: LoopInProgress, limit: Value | None, running: ValueReference | None) -> str:
    """Return the first line. The number of the iteration is a tensor where the body reads it."""
    counter = loop.body.inputs[0]
    if limit is None:
        if counter.is_needed:
            node.refuse("the body reads the iteration's number, and the loop has no trip count")
        return "while True:" if running is None else f"while {running}:"
    number = node.number(0)
    trips = f"int({node.tensor(0)})" if number is None else str(number)
    if not counter.is_needed:
        return f"for _ in range({trips}):"
    index = loop.variable("i")
    node.export.bind(counter, index)
    shaped = ".unsqueeze(1)" if counter.rank == 1 else ""
    return f"for {index} in torch.arange({trips}, device={node.device}){shaped}:"


def _is_true(value: Value) -> bool:
    """Return whether a value is known to be true."""
    if value.tensor is not None:
        return value.tensor.size == 1 and bool(value.tensor.numpy().reshape(-1)[0])
    return value.known is not None and value.known.integers() == (1,)


def _stack(node: AnyNode, rows: ValueReference, slot: int, row_: Value, *, runs: bool, axis: int = 0,
           is_reverse: bool = False) -> None:  # fmt: skip
    """A result of what the iterations gave. `runs` says that there are some."""
    listed, dim = f"{rows.atom}[::-1]" if is_reverse else str(rows), None if axis == 0 else str(axis)
    if runs:
        node.emit(call("torch.stack", listed, dim=dim), slot)
        return
    sizes = [str(node.export.size(size) or 0) for size in node.shape(row_)]
    sizes.insert(axis, "0")
    empty = call("torch.empty", tuple_of(sizes), dtype=dtype_text(row_.dtype), device=str(node.device))
    node.emit(call(node.function("stack_rows"), listed, empty, dim=dim), slot)


def export_scan(node: ExportNode[ir.Scan]) -> None:
    """`for` over the slices of tensors."""
    op, body = node.op, node.node.subgraphs[0]
    loop = LoopInProgress(node, body)
    scanned = op.num_scan_inputs
    states, results = len(node) - scanned, node.node.outputs
    for slot in range(states):
        loop.carry(node.tensor(slot), results[slot], body.inputs[slot], slot)
    lists = [loop.collect(slot, results[slot]) for slot in range(states, len(results))]
    over = []
    for index in range(scanned):
        axis = (op.scan_input_axes or (0,) * scanned)[index] % node.rank(states + index)
        data = node.tensor(states + index)
        if op.scan_input_directions and op.scan_input_directions[index]:
            data = Expr(f"{data.atom}.flip({axis})")
        slices = Expr(f"{data.atom}.unbind({axis})") if axis else data
        over.append((loop.value(body.inputs[states + index]), slices))
    loop.write(loop.over(over))
    first = node.input(states)
    axis = (op.scan_input_axes or (0,))[0]
    length = first.shape[axis] if first.shape is not None else None
    runs = isinstance(length, int) and length > 0
    for slot, rows in enumerate(lists, states):
        if rows is None:
            continue
        row_, index = body.outputs[slot], slot - states
        axis = (op.scan_output_axes or (0,) * len(lists))[index] % (node.rank(row_) + 1)
        is_reverse = bool(op.scan_output_directions and op.scan_output_directions[index])
        _stack(node, rows, slot, row_, runs=runs, axis=axis, is_reverse=is_reverse)


EXPORTS = table(
    row(ir.If, export_if),
    row(ir.Loop, export_loop),
    row(ir.Scan, export_scan),
)
