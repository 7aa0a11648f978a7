"""What the variables of a while loop are.

A variable that the body gives back unchanged is a value from around the loop. One that counts up by a constant is the
iteration's number, if the condition only compares counters with values from around: then the number of iterations is
known before the loop starts. A list that the body only writes, at the counter's index or at its end, becomes what the
iterations give, stacked. All else is carried.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from graphir.converters.tensorflow.files.records import Endpoint, TFNode
from graphir.converters.tensorflow.importing.bodies import FunctionBody, body_of
from graphir.converters.tensorflow.importing.context import ImportNode
from graphir.graph import Value
from graphir.types import DType

_ADD = frozenset({"Add", "AddV2"})


@dataclass
class WrittenList:
    """A list that the body only writes: the node that does, the value written, and where."""

    writer: TFNode
    item: Endpoint
    # "counter": at the iteration's index; "end": behind the elements; "over": always at the only index
    where: str


@dataclass
class LoopPlan:
    """What each variable of a loop is, by its position."""

    body: FunctionBody
    condition: FunctionBody
    initial: tuple[Value, ...]
    kept: set[int] = field(default_factory=set)
    counters: dict[int, int] = field(default_factory=dict)
    limits: list[tuple[int, Value, int]] = field(default_factory=list)
    lists: dict[int, WrittenList] = field(default_factory=dict)

    def number(self, body: FunctionBody, endpoint: Endpoint) -> int | None:
        """Return the integer that a scalar inside one of the functions always is, None if it is computed."""
        source, tensor = body.source(endpoint), body.constant(endpoint)
        if tensor is not None:
            return int(tensor.numpy()) if tensor.shape == () and tensor.dtype.is_integer else None
        value = self.around(body, source)
        known = None if value is None or value.rank != 0 or value.dtype is None else value.known
        number = None if known is None or known.integers() is None else known.elements[0]
        return number if isinstance(number, int) else None

    def around(self, body: FunctionBody, source: Endpoint) -> Value | None:
        """Return the value from around the loop that an argument of a function always is."""
        if source not in body.arguments or body.arguments.index(source) not in self.kept:
            return None
        return self.initial[body.arguments.index(source)]

    @property
    def counted(self) -> bool:
        """Return whether the number of iterations is known before the loop starts."""
        return bool(self.limits)

    @property
    def carried(self) -> list[int]:
        """Return the variables that have to be carried from one iteration to the next."""
        settled = self.kept | set(self.lists) | (set(self.counters) if self.counted else set())
        return [index for index in range(len(self.initial)) if index not in settled]


def plan_of(node: ImportNode) -> LoopPlan:
    """Return what the variables of a While or StatelessWhile are. Refuses functions that do not fit its variables."""
    plan = LoopPlan(body_of(node, "body"), body_of(node, "cond", "cond/"), node.inputs)
    count = len(plan.initial)
    if not len(plan.body.arguments) == len(plan.body.results) == len(plan.condition.arguments) == count:
        node.refuse(f"its functions do not take and give {count} variables")
    _find_kept_and_counters(plan)
    _find_limits(node, plan)
    if not plan.counted:
        plan.limits.clear()
    _find_lists(node, plan)
    return plan


def _find_kept_and_counters(plan: LoopPlan) -> None:
    for index, (argument, result) in enumerate(zip(plan.body.arguments, plan.body.results, strict=True)):
        if plan.body.source(result) == argument:
            plan.kept.add(index)
    for index, result in enumerate(plan.body.results):
        step = 0 if index in plan.kept else _find_step(plan, index, plan.body.node(result))
        if step:
            plan.counters[index] = step


def _find_step(plan: LoopPlan, index: int, node: TFNode | None) -> int:
    """Return the positive integer that a node adds to a variable, a scalar; 0 for anything else."""
    initial = plan.initial[index]
    if node is None or node.op not in _ADD or len(node.inputs) != 2:
        return 0
    if initial.rank != 0 or initial.dtype not in (DType.INT32, DType.INT64):
        return 0
    sources = [plan.body.source(endpoint) for endpoint in node.inputs]
    argument = plan.body.arguments[index]
    if argument not in sources:
        return 0
    return max(0, plan.number(plan.body, sources[1 - sources.index(argument)]) or 0)


def _find_limits(node: ImportNode, plan: LoopPlan) -> None:
    """Find the comparisons in the condition: a counter, a limit from around, and 1 if the limit counts too."""
    condition = plan.condition
    if len(condition.results) != 1:
        node.refuse(f"its condition gives {len(condition.results)} values, expected one")
    pending = [condition.results[0]]
    limits: list[tuple[int, Value, int]] = []
    while pending:
        test = condition.node(pending.pop())
        if test is not None and test.op == "LogicalAnd":
            pending += test.inputs
            continue
        limit = None if test is None else _find_limit(node, plan, test)
        if limit is None:
            return
        limits.append(limit)
    plan.limits = limits


def _find_limit(node: ImportNode, plan: LoopPlan, test: TFNode) -> tuple[int, Value, int] | None:
    if test.op not in ("Less", "LessEqual", "Greater", "GreaterEqual") or len(test.inputs) != 2:
        return None
    left, right = test.inputs if test.op.startswith("Less") else reversed(test.inputs)
    arguments = plan.condition.arguments
    source = plan.condition.source(left)
    if source not in arguments or (counter := arguments.index(source)) not in plan.counters:
        return None
    value = plan.around(plan.condition, plan.condition.source(right))
    number = plan.number(plan.condition, right)
    if number is not None:
        value = node.constant(number, plan.initial[counter].dtype)
    if value is None:
        return None
    return counter, value, int(test.op.endswith("Equal"))


def _find_lists(node: ImportNode, plan: LoopPlan) -> None:
    body = plan.body
    for index, (argument, result) in enumerate(zip(body.arguments, body.results, strict=True)):
        writer = body.node(result)
        if index in plan.kept or writer is None or not writer.inputs or body.source(writer.inputs[0]) != argument:
            continue
        if body.users(argument) != [writer] or body.users(Endpoint(writer.name)):
            continue
        if writer.op == "TensorListPushBack":
            plan.lists[index] = WrittenList(writer, writer.inputs[1], "end")
        elif writer.op == "TensorListSetItem":
            where = _written_position(node, plan, index, writer)
            if where:
                plan.lists[index] = WrittenList(writer, writer.inputs[2], where)


def _written_position(node: ImportNode, plan: LoopPlan, variable: int, writer: TFNode) -> str:
    """Return which position of a list a node writes, "" for any other."""
    body = plan.body
    index = body.source(writer.inputs[1])
    if index in body.arguments and plan.counted:
        counter = body.arguments.index(index)
        start = plan.initial[counter].known
        if plan.counters.get(counter) == 1 and start is not None and start.integers() == (0,):
            return "counter"
    reserved = node.importer.reserved.get(plan.initial[variable])
    return "over" if plan.number(body, index) == 0 and reserved is not None and reserved.size == 1 else ""
