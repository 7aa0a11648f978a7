"""While loops as the IR's Loop, by what `loop_plan` finds of their variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphir.converters.tensorflow.files.records import TFNode
from graphir.converters.tensorflow.importing.bodies import close, import_nodes
from graphir.converters.tensorflow.importing.context import ImportNode
from graphir.converters.tensorflow.importing.lists import Reserved, elements_of, number_of, vector_of
from graphir.converters.tensorflow.importing.loop_plan import LoopPlan, plan_of
from graphir.decisions import DecisionKind
from graphir.graph import Graph, Value
from graphir.ops import elementwise as ew
from graphir.ops.control import Loop, common_type
from graphir.ops.creation import ConstantOfShape
from graphir.ops.indexing import Gather
from graphir.ops.shape import Reshape, Shape, Unsqueeze
from graphir.ops.shape_parts import Concat
from graphir.passes.recurrent.frames import counted
from graphir.types import DType, TensorType, Type

TRIALS = 5


def import_while(node: ImportNode) -> list[Value]:
    """While and StatelessWhile."""
    return _LoopLowering(node, plan_of(node)).run()


class _LoopLowering:
    """One loop on its way into the graph."""

    def __init__(self, node: ImportNode, plan: LoopPlan) -> None:
        self.node = node
        self.plan = plan
        self.graph = node.graph
        self.initial = {index: elements_of(node, plan.initial[index]) for index in plan.carried}
        self.trips = self._count_trips() if plan.counted else None

    def run(self) -> list[Value]:
        """Return the variables behind the loop."""
        node, plan = self.node, self.plan
        if not plan.counted:
            start: Value | None = self._add_condition(self.graph, dict(enumerate(plan.initial)))
        else:  # without variables the condition has to be stated: ONNX wants two operands
            start = None if plan.carried else node.constant(True, DType.BOOL)
        graph = self._build_body()
        operands = [self.trips, start, *(self.initial[index] for index in plan.carried)]
        op = Loop(len(plan.carried) + len(plan.lists))
        indices = [*plan.carried, *plan.lists]
        names = [node.fresh_name(f"{node.name}_{'list_' if index in plan.lists else ''}{index}") for index in indices]
        loop = self.graph.add_node(op, operands, name=node.name, output_names=names, subgraphs=[graph])
        behind = dict(zip(indices, loop.outputs, strict=True))
        return [self._result(index, behind) for index in range(len(plan.initial))]

    def _result(self, index: int, behind: Mapping[int, Value]) -> Value:
        node, plan = self.node, self.plan
        if index in plan.lists:
            return self._finish_list(index, behind[index]) if node.used(index) else plan.initial[index]
        if index in behind:
            return behind[index]
        if index in plan.counters and node.used(index):
            return self._add_last_count(index)
        return plan.initial[index]

    def _count_trips(self) -> Value:
        """Return how many iterations there are, an int64 scalar; below 0 there is none."""
        counts: list[Value] = []
        for counter, limit, inclusive in self.plan.limits:
            counts.append(self._count_from(counter, limit, inclusive))
        distinct: list[Value] = []
        for value in counts:
            if not any(value is other or _same_number(value, other) for other in distinct):
                distinct.append(value)
        numbers = [number_of(value) for value in distinct]
        if all(isinstance(number, int) for number in numbers):
            return self.node.constant(min(number for number in numbers if isinstance(number, int)), DType.INT64)
        if len(distinct) == 1:
            return distinct[0]
        return self.node.step(ew.Min(), *distinct, suffix="iterations")

    def _count_from(self, counter: int, limit: Value, inclusive: int) -> Value:
        node, step = self.node, self.plan.counters[counter]
        start = self.plan.initial[counter]
        first, last = number_of(start), number_of(limit)
        if isinstance(first, int) and isinstance(last, int):
            return node.constant(-((first - last - inclusive) // step), DType.INT64)
        value = node.int64(limit)
        if first != 0 or inclusive:
            value = node.step(ew.Sub(), value, node.int64(start), suffix="distance")
        if inclusive or step > 1:
            value = node.step(ew.Add(), value, node.constant(inclusive + step - 1, DType.INT64), suffix="rounded")
        if step > 1:
            value = node.step(ew.Div(), value, node.constant(step, DType.INT64), suffix="iterations")
        return value

    def _add_last_count(self, index: int) -> Value:
        """Return a counter behind the loop."""
        node, start, step = self.node, self.plan.initial[index], self.plan.counters[index]
        assert self.trips is not None
        trips: Value = self.trips
        if not isinstance(number_of(trips), int):
            trips = node.step(ew.Max(), trips, node.constant(0, DType.INT64), suffix="run")
        first, count = number_of(start), number_of(trips)
        dtype = start.dtype or DType.INT32
        if isinstance(first, int) and isinstance(count, int):
            return node.constant(first + step * max(0, count), dtype)
        if step != 1:
            trips = node.step(ew.Mul(), trips, node.constant(step, DType.INT64), suffix="counted")
        if dtype is not DType.INT64:
            trips = node.cast(trips, dtype, suffix="counted")
        return trips if first == 0 else node.step(ew.Add(), start, trips, suffix="count")

    def _finish_list(self, index: int, stacked: Value) -> Value:
        """Return a list behind the loop, of what the iterations wrote."""
        node, initial = self.node, self.plan.initial[index]
        reserved = node.importer.reserved.get(initial)
        where = self.plan.lists[index].where
        trips = None if self.trips is None else number_of(self.trips)
        if where == "over":
            if not isinstance(trips, int) or trips < 1:
                node.decide(
                    DecisionKind.LOOP, "it is taken to run at least once: what its last iteration writes is the list"
                )
            last = node.step(Gather(axis=0), stacked, node.constant(-1, DType.INT64), suffix="last")
            return node.step(Unsqueeze(), last, node.vector([0]), suffix="last_row")
        if where == "end":
            if reserved is not None and reserved.size == 0:
                return stacked
            return node.step(Concat(0), initial, stacked, suffix="list")
        if reserved is None:
            node.refuse("a list that held elements before is written by the loop at its counter's place")
        return self._fill_unwritten(stacked, reserved, self.plan.lists[index].writer)

    def _fill_unwritten(self, stacked: Value, reserved: Reserved, writer: TFNode) -> Value:
        """Return a list that is written at the counter's index, with zeros at the indices that the loop does not
        reach."""
        node, size = self.node, reserved.size
        assert self.trips is not None
        trips = number_of(self.trips)
        if size == 0 or (size is not None and size == trips) or counted(reserved.length) is counted(self.trips):
            return stacked
        if isinstance(size, int) and isinstance(trips, int):
            if size < trips:
                node.decide(
                    DecisionKind.LIST_LENGTH, f"the list of {size} elements grows to the {trips} that the loop writes"
                )
                return stacked
            missing = node.vector([size - max(0, trips)])
        else:
            written = node.step(Shape(end=1), stacked, suffix="written")
            rest = node.step(ew.Sub(), vector_of(node, reserved.length), written, suffix="rest")
            missing = node.step(ew.Max(), rest, node.vector([0]), suffix="missing")
        sizes = node.step(Concat(0), missing, node.step(Shape(start=1), stacked), suffix="missing_shape")
        zeros = node.step(ConstantOfShape(0.0, reserved.dtype), sizes, suffix="unwritten")
        filled = node.step(Concat(0), stacked, zeros, suffix="list")
        may_grow = writer.attrs.get("may_grow") or writer.attrs.get("resize_if_index_out_of_bounds")
        if size is not None and not may_grow:
            self.graph.refine(filled, TensorType(None, (size, *(stacked.shape or ())[1:])))
        return filled

    def _add_condition(self, graph: Graph, values: Mapping[int, Value]) -> Value:
        """Return the condition for these variables, a boolean scalar."""
        node, condition = self.node, self.plan.condition
        bound = {condition.arguments[index]: value for index, value in values.items()}
        (value,) = import_nodes(node, graph, condition, bound, condition.results)
        return as_condition(node, graph, value)

    def _build_body(self) -> Graph:
        """Return the body. Types that an iteration changes are found by trials: each starts from what the last one
        left."""
        types: list[Type] = [self.initial[index].type for index in self.plan.carried]
        for _ in range(TRIALS):
            with self.node.importer.trial() as trial:
                graph = self._try_body(types)
                after = [value.type for value in graph.outputs[1 : len(types) + 1]]
                common = [common_type(before, type_) for before, type_ in zip(types, after, strict=True)]
                trial.kept = common == types
            if trial.kept:
                return graph
            graph.dissolve()
            types = common
        types = [TensorType(type_.dtype) if isinstance(type_, TensorType) else type_ for type_ in types]
        return self._try_body(types)

    def _try_body(self, types: Sequence[Type]) -> Graph:
        node, plan = self.node, self.plan
        graph = Graph(f"{node.name}_body", parent=self.graph)
        number = graph.add_input(node.fresh_name(f"{node.name}__iteration"), TensorType(DType.INT64, ()))
        running = graph.add_input(node.fresh_name(f"{node.name}__running"), TensorType(DType.BOOL, ()))
        values = {index: plan.initial[index] for index in plan.kept}
        for index, type_ in zip(plan.carried, types, strict=True):
            value = graph.add_input(node.fresh_name(f"{node.name}__variable_{index}"), _drop_shape(type_))
            value.graph.retype(value, type_)
            values[index] = value
            if self.initial[index] in node.importer.broken:
                node.importer.broken.add(value)
        if plan.counted:
            used = {source for inner in plan.body.nodes.values() for source in map(plan.body.source, inner.inputs)}
            for index in plan.counters:
                if plan.body.arguments[index] in used:
                    values[index] = self._add_count(graph, number, index)
        bound = {plan.body.arguments[index]: value for index, value in values.items()}
        wanted = [plan.body.results[index] for index in plan.carried]
        wanted += [written.item for written in plan.lists.values()]
        results = import_nodes(node, graph, plan.body, bound, wanted)
        after = dict(zip(plan.carried, results, strict=False))
        condition = running if plan.counted else self._add_condition(graph, values | after)
        close(node, graph, [condition, *results])
        return graph

    def _add_count(self, graph: Graph, number: Value, index: int) -> Value:
        """Return a counter inside the body."""
        node, start, step = self.node, self.plan.initial[index], self.plan.counters[index]
        dtype, value = start.dtype or DType.INT32, number

        def add(op: ew.Add | ew.Mul | ew.Cast, *operands: Value) -> Value:
            name = node.fresh_name(f"{node.name}__count_{index}")
            return graph.add(op, *operands, name=name, output=name)

        if step != 1:
            value = add(ew.Mul(), value, graph.constant(step, DType.INT64, name=node.fresh_name(f"{node.name}__step")))
        if dtype is not DType.INT64:
            value = add(ew.Cast(dtype), value)
        return value if number_of(start) == 0 else add(ew.Add(), value, start)


def as_condition(node: ImportNode, graph: Graph, value: Value) -> Value:
    """Return a value of one element as a boolean scalar: numbers are true unless they are 0."""
    if value.dtype is DType.STRING:
        node.refuse("a text as condition")
    name = node.fresh_name(f"{node.name}__condition")
    if value.dtype is not DType.BOOL:
        value = graph.add(ew.Cast(DType.BOOL), value, name=name, output=name)
        name = node.fresh_name(name)
    if value.rank != 0:
        scalar = graph.constant([], DType.INT64, name=node.fresh_name(f"{node.name}__scalar"))
        value = graph.add(Reshape(), value, scalar, name=name, output=name)
    return value


def _drop_shape(type_: Type) -> Type:
    return TensorType(type_.dtype) if isinstance(type_, TensorType) else type_


def _same_number(left: Value, right: Value) -> bool:
    number = number_of(left)
    return number is not None and number == number_of(right)
