"""What importers share: one import in the making, and the node that an import function sees. See `node`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, Union

from graphir.converters.kernel.node import NodeView
from graphir.converters.kernel.numbers import converted
from graphir.converters.kernel.refusals import NeedsShape, Refusals, name_attributes
from graphir.decisions import DecisionKind
from graphir.errors import ImportFailure
from graphir.graph import Graph, Value
from graphir.inference import infer_graph
from graphir.ops.base import Operator
from graphir.ops.elementwise import Cast, Identity
from graphir.structure.names import Names
from graphir.structure.record import mutable_record
from graphir.tensor import Tensor
from graphir.types import DType

Imported = Union[Value, Sequence[Value]]
# So often may inference in the middle of an import teach nothing before it is run more rarely.
OFTEN = 64


@mutable_record
class TentativeRecords:
    """An attempt whose records stay only if it is kept."""

    kept: bool = False


class BaseImporter:
    """One import: the graph in the making, its names, and all that is wrong, not the first thing only.

    `broken` are the stand-ins for the results of nodes that could not be imported, and what depends on them.
    """

    def __init__(self, graph: Graph, names: Iterable[str] = ()) -> None:
        self.graph = graph
        self.broken: set[Value] = set()
        self.names = Names(names)
        self.refusals = Refusals()
        self._inferred_at = -1
        self._in_vain = 0

    @property
    def failures(self) -> int:
        """How many problems were recorded so far."""
        return len(self.refusals)

    def fresh_name(self, wanted: str) -> str:
        """Return `wanted`, or with a number: a name that nothing in the model has."""
        return self.names.fresh(wanted)

    def infer_now(self) -> None:
        """Run the whole inference on what there is, unless nothing was added since the last time.

        Where that has taught nothing often, it is done only once a part has been added, for the cost to stay linear.
        """
        added = len(self.graph) - self._inferred_at
        if added and (self._in_vain < OFTEN or added * 8 > len(self.graph)):
            self._inferred_at = len(self.graph)
            self._in_vain += not infer_graph(self.graph)

    def refuse(self, operator: str, reason: str, node: str) -> None:
        """Record that a node cannot be imported."""
        self.refusals.refuse(operator, reason, node)

    def record(self, operator: str, error: Exception, node: str, attributes: Mapping[str, object]) -> None:
        """Record one of `NODE_ERRORS` of a node, which states these attributes: as a refusal, or as a problem."""
        if isinstance(error, NeedsShape):
            self.problem(self.located(operator, node, f"{error}{self.shape_hint()}"))
        elif not self.refusals.take(operator, error, node, attributes):
            self.problem(self.located(operator, node, name_attributes(str(error), operator, node, attributes)))

    def located(self, operator: str, node: str, text: str) -> str:
        """Return a problem's text with the node in front."""
        return f"{node} ({operator}): {text}"

    def shape_hint(self) -> str:
        """Return how to state the shape that a node needs, after its problem."""
        return ""

    def problem(self, text: str) -> None:
        """Record what is wrong with the model."""
        self.refusals.problems.append(text)

    @contextmanager
    def trial(self) -> Iterator[TentativeRecords]:
        """Take back, unless the trial is `kept`, what is recorded while it lasts: names, problems, decisions."""
        mark, refusals, decisions = self.names.mark(), self.refusals.copy(), len(self.graph.decisions)
        outcome = TentativeRecords()
        yield outcome
        if not outcome.kept:
            self.names.back_to(mark)
            self.refusals = refusals
            del self.graph.decisions[decisions:]

    def raise_problems(self, what: str = "the model") -> None:
        """Raise UnsupportedOpError with every gap, or ImportFailure with every other problem, if there are any."""
        self.refusals.raise_gaps("node(s) of the model cannot be imported:")
        problems = self.refusals.problems
        if len(problems) == 1:
            raise ImportFailure(problems[0]) from self.refusals.cause
        if problems:
            text = f"{len(problems)} problems with {what}:\n  " + "\n  ".join(problems)
            raise ImportFailure(text) from self.refusals.cause


class BaseImportNode(NodeView):
    """One foreign node on its way into the graph.

    `op` is the foreign operator's name. `emit` adds the operator whose results are the node's, `step` one before it.
    Its names are the node's with `JOINT` and a suffix, those of its further results that with `SLOT` and a number.
    """

    __slots__ = ("graph", "importer", "name", "op")

    JOINT = "_"
    SLOT = "_"

    def __init__(self, importer: BaseImporter, graph: Graph, name: str, op: str) -> None:
        self.importer = importer
        self.graph = graph
        self.name = name
        self.op = op

    @property
    def operator(self) -> str:
        """The foreign operator's name."""
        return self.op

    def fresh_name(self, wanted: str) -> str:
        """Return `wanted`, or with a number: a name that nothing in the model has."""
        return self.importer.fresh_name(wanted)

    def infer_now(self) -> None:
        """Infer what is not known yet."""
        self.importer.infer_now()

    def lacks(self, what: str) -> NoReturn:
        """Say that the model does not fix what the node needs."""
        raise NeedsShape(f"{self.op} needs {what}")

    def result_names(self, count: int) -> list[str]:
        """Return unique names for the node's results."""
        return [self.fresh_name(f"{self.name}{self.SLOT}{slot}" if slot else self.name) for slot in range(count)]

    def emit(self, op: Operator, *inputs: Value | None) -> Value:
        """Add the operator whose first result is the node's."""
        return self.emit_all(op, *inputs)[0]

    def emit_all(self, op: Operator, *inputs: Value | None) -> tuple[Value, ...]:
        """Add the operator whose results are, one by one, the node's."""
        names = self.result_names(op.output_count)
        return self.graph.add_node(op, inputs, name=self.name, output_names=names).outputs

    def step(self, op: Operator, *inputs: Value | None, suffix: str = "") -> Value:
        """Add an operator on the way and give its first result."""
        return self.steps(op, *inputs, suffix=suffix)[0]

    def steps(self, op: Operator, *inputs: Value | None, suffix: str = "") -> tuple[Value, ...]:
        """Add an operator on the way and give its results."""
        name = self.fresh_name(f"{self.name}{self.JOINT}{suffix or op.name.lower()}")
        others = [self.fresh_name(f"{name}{self.SLOT}{slot}") for slot in range(1, op.output_count)]
        return self.graph.add_node(op, inputs, name=name, output_names=[name, *others]).outputs

    def cast(self, value: Value, dtype: DType | None, suffix: str = "") -> Value:
        """Return the value in a dtype, itself if it has that or no other dtype is wanted (None)."""
        return value if dtype is None or value.dtype is dtype else self.step(Cast(dtype), value, suffix=suffix)

    def emit_as(self, dtype: DType, result: Value) -> Value:
        """Return the node's result: this one in a dtype."""
        return self.emit(Identity() if result.dtype is dtype else Cast(dtype), result)

    def constant(self, elements: object, dtype: DType | None = None) -> Value:
        """Return a constant; equal small ones are shared."""
        return self.graph.constant(elements, dtype, name=self.fresh_name(f"{self.name}{self.JOINT}const"))

    def scalar_like(self, value: Value, number: float) -> Value:
        """Return a constant scalar of the value's dtype (float32 where that is unknown), converted as C does."""
        dtype = value.dtype or DType.FLOAT32
        return self.constant(converted(number, dtype), dtype)

    def vector(self, numbers: Sequence[int]) -> Value:
        """Return a constant int64 vector. Raises FormatError for one that is longer than the limit allows."""
        self.charge_vector(numbers)
        return self.constant(list(numbers), DType.INT64)

    def parameter(self, tensor: Tensor, slot: int = 0) -> Value:
        """Return a parameter that is one of the node's results."""
        return self.graph.add_parameter(self.result_names(slot + 1)[slot], tensor)

    def decide(self, kind: DecisionKind, text: str) -> None:
        """Record a decision about this node."""
        self.importer.graph.decide(kind, self.name, text)


def direct(op: Operator | type[Operator], *same: str, **fields: str) -> Callable[[Any], Value]:
    """Return the import function of an operator on the node's operands.

    Of a class, `fields` are its fields with the names of the attributes that state them, `same` those of equal names.
    """
    names = {name: name for name in same} | fields

    def import_direct(node: Any) -> Value:
        operator = op if isinstance(op, Operator) else op(**{field: node.attrs[name] for field, name in names.items()})
        result: Value = node.emit(operator, *node.inputs)
        return result

    return import_direct
