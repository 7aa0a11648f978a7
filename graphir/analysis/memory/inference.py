"""A graph as a program of memory: what its nodes make when it runs once, in the graph's order."""

from __future__ import annotations

from graphir.errors import ShapeError
from graphir.graph import Graph, Node, Value
from graphir.ops.traits import Rounding
from graphir.safety.foreign_text import one_line
from graphir.types import Shape, Sym, TensorType, Type

from .liveness import find_liveness
from .program import Held, OperatorRun, Program, TensorKind

_SHOWN = 5
_VIEW = ((0, 0, True),)


def inference_program(graph: Graph) -> Program:
    """Return the steps of a run. What happens inside a branch or a loop is one tensor beside its node: the most that
    lives there at one time. Linear in nodes.

    Raises ShapeError, naming values whose size is not known in numbers.
    """
    return _TypeWalk(graph).program()


class _TypeWalk:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.result = Program()
        self.numbers: dict[Value, int] = {}
        self.unknown: list[Value] = []
        self.captured: list[Value] = []  # of graphs around this one

    def program(self) -> Program:
        graph = self.graph
        outputs = set(graph.outputs)
        for value in graph.inputs:
            self._place(value, TensorKind.INPUT)
        for value in graph.parameters:
            self._place(value, TensorKind.PARAMETER)
        for node in graph.nodes:
            self._step(node, outputs)
        if self.unknown:
            raise _size_error(graph, self.unknown)
        self.captured += [value for value in graph.outputs if value not in self.numbers]
        self.result.outputs = [self.numbers[value] for value in graph.outputs if value in self.numbers]
        return self.result

    def _step(self, node: Node, outputs: set[Value]) -> None:
        number = len(self.result.steps)
        inner = 0
        read = [value for value in node.inputs if value is not None]
        for graph in node.subgraphs:
            peak, captured = self._subgraph_peak(graph)
            inner = max(inner, peak)
            read += captured
        self.captured += [value for value in read if value not in self.numbers]
        step = OperatorRun(
            node.name, node.op.name, [self.numbers[value] for value in read if value in self.numbers], []
        )
        for value in node.outputs:
            if value.index == 0 or value.uses or value in outputs:
                step.outputs.append(self._place(value, TensorKind.ACTIVATION, number))
        if node.op.rounding is Rounding.VIEWS and node.inputs and node.inputs[0] in self.numbers:
            step.in_place = _VIEW
        if inner:
            step.outputs.append(len(self.result.tensors))
            name = f"{node.name} (inside)"
            self.result.tensors.append(Held(name, inner, 8, TensorKind.ACTIVATION, number, (inner,), "bytes"))
        self.result.steps.append(step)

    def _subgraph_peak(self, graph: Graph) -> tuple[int, list[Value]]:
        """Return the most bytes that a branch or a body holds at one time, its own inputs and what it makes, and the
        values of the graphs around it that it reads.
        """
        walk = _TypeWalk(graph)
        try:
            program = walk.program()
        except ShapeError:
            self.unknown += walk.unknown
            return 0, walk.captured
        return find_liveness(program).peak + program.bytes_of(TensorKind.INPUT), walk.captured

    def _place(self, value: Value, kind: TensorKind, producer: int = -1) -> int:
        if value in self.numbers:
            return self.numbers[value]
        self.numbers[value] = len(self.result.tensors)
        type_ = value.type
        sizes = _sizes(type_)
        dtype = type_.dtype if isinstance(type_, TensorType) else None
        if sizes is None or dtype is None:
            self.unknown.append(value)
            sizes = ()
        elements = 1
        for size in sizes:
            elements *= size
        bits = 0 if dtype is None else dtype.bits
        self.result.tensors.append(
            Held(value.name, elements, bits, kind, producer, sizes, "" if dtype is None else dtype.value)
        )
        return self.numbers[value]


def _sizes(type_: Type) -> tuple[int, ...] | None:
    """Return the sizes of a tensor if all are numbers."""
    if not isinstance(type_, TensorType) or type_.shape is None:
        return None
    sizes = tuple(dim for dim in type_.shape if isinstance(dim, int))
    return sizes if len(sizes) == len(type_.shape) else None


def example_of(name: str, shape: Shape | None) -> str:
    """Return what could be given for an input: its shape with 1 for open sizes, SIZES where even their number is open.

    >>> example_of("x", (2, None, 3)), example_of("data", None), example_of("rate", ())
    ('x:2,1,3', 'data:SIZES', 'rate:')
    """
    if shape is None:
        return f"{name}:SIZES"
    return f"{name}:{','.join(str(dim) if isinstance(dim, int) else '1' for dim in shape)}"


def _size_error(graph: Graph, values: list[Value]) -> ShapeError:
    """Return what is not known, and what of it can be given: `values` are those of the graph and of graphs in it."""
    unknown = set(values)
    inputs = [value for value in graph.inputs if value in unknown]
    begins = inputs or [value for value in values if value.producer is None] or values
    shown = ", ".join(f"{one_line(value.name)} {value.type}" for value in begins[:_SHOWN])
    more = ", ..." if len(begins) > _SHOWN else ""
    are = "1 value has an open one" if len(values) == 1 else f"{len(values):,} values have open ones, among them"
    return ShapeError(
        f"memory needs every size in numbers, but {are}{':' if len(values) == 1 else ''} {shown}{more}; "
        f"{_advice(inputs, begins[0])}"
    )


def _advice(inputs: list[Value], first: Value) -> str:
    """Return how the sizes can be made known."""
    if inputs:
        names = sorted({str(dim) for value in inputs for dim in value.shape or () if isinstance(dim, Sym)})
        known = f"the open sizes are {', '.join(names[:_SHOWN])}; " if names else ""
        examples = " ".join(f"-i {one_line(example_of(value.name, value.shape))}" for value in inputs[:_SHOWN])
        return f"{known}give the shapes of the inputs, such as {examples}"
    if first.producer is None:
        return "they follow from no input; give the model's parameters with -p"
    return (
        f"they depend on the elements of tensors, as {first.producer.op.name} has it, not on the inputs' shapes; cut "
        "the model before it with --outputs"
    )
