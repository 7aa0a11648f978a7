"""What an operator's import function sees: one TensorFlow node, the graph that it goes into, and ways to say no."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Union

from graphir.errors import GraphirError, ShapeError
from graphir.graph import Graph, Value
from graphir.ops.base import Operator
from graphir.ops.elementwise import Cast
from graphir.tensor import Tensor
from graphir.types import Dim, DType, Shape, Sym, TensorType

if TYPE_CHECKING:
    from numpy import ndarray

    from graphir.converters.tensorflow.files.records import TFFunction, TFNode
    from graphir.converters.tensorflow.importing.importer import Importer
    from graphir.converters.tensorflow.importing.scope import Scope
    from graphir.converters.tensorflow.schema.operators import Attributes

Imported = Union[Value, Sequence[Value]]
ImportFunction = Callable[["ImportNode"], Imported]


class Refusal(GraphirError):
    """An import function cannot express this node; the importer gathers all of them."""


class QuietRefusal(Refusal):
    """A node cannot be expressed for reasons that are recorded already, such as those of a function's nodes."""


class NeedsShape(GraphirError):
    """An import function needs a rank or size that nothing in the model fixes."""


class ImportNode:
    """One TensorFlow node on its way into the graph.

    `attrs` are its attributes with TensorFlow's defaults (see `attributes` for what the values are). `emit` adds the
    operator whose result is the node's result, `step` one before it. An import function returns the node's results in
    order, those at the end that inference never needs may be left out; a value that exists already may be one of them.
    """

    __slots__ = ("_operands", "_scope", "attrs", "graph", "name", "record")

    def __init__(self, scope: Scope, record: TFNode, attrs: Attributes, operands: Sequence[Value]) -> None:
        self._scope = scope
        self._operands = tuple(operands)
        self.record = record
        self.name = record.name
        self.attrs = attrs
        self.graph: Graph = scope.graph

    @property
    def op(self) -> str:
        """The TensorFlow operator's name."""
        return self.record.op

    @property
    def producer(self) -> int:
        """The version of the graph format, which decides what some old attributes mean."""
        return self._scope.importer.source.graph.producer

    @property
    def importer(self) -> Importer:
        """The import that this node is a part of."""
        return self._scope.importer

    @property
    def depth(self) -> int:
        """How many nodes' functions this node stands inside of."""
        return self._scope.depth

    @property
    def functions(self) -> dict[str, TFFunction]:
        """The library of functions."""
        return self._scope.importer.functions

    def fresh_name(self, wanted: str) -> str:
        """`wanted`, or with a number: a name that no value in the model has."""
        return self._scope.fresh_name(wanted)

    def behind(self, slot: int) -> ImportNode | None:
        """The node whose first result an input is, if that was imported here and nothing else uses it."""
        return self._scope.producer(self.record.inputs[slot])

    @property
    def given_shape(self) -> Shape | None:
        """The shape that the user gives for an input of this name, None for none."""
        return self._scope.importer.shapes.get(self.name)

    @property
    def given_dtype(self) -> DType | None:
        """The dtype that the user gives for an input of this name, None for none."""
        return self._scope.importer.dtypes.get(self.name)

    def __len__(self) -> int:
        """The number of data inputs that the node has."""
        return len(self._operands)

    def input(self, slot: int) -> Value:
        """The value in an input slot; negative slots count from the end. Refuses if it is missing."""
        if not -len(self._operands) <= slot < len(self._operands):
            self.refuse(f"input {slot} is missing; the node has {len(self._operands)}")
        return self._operands[slot]

    def inputs(self) -> tuple[Value, ...]:
        """All data inputs."""
        return self._operands

    def used(self, slot: int) -> bool:
        """Whether anything that is imported uses this result of the node."""
        return self._scope.is_used(self.name, slot)

    def known(self, slot: int) -> tuple[int, ...] | None:
        """The elements of a small integer input if all of them are known numbers, flat."""
        value = self.input(slot)
        return None if value.known is None else value.known.integers()

    def integers(self, slot: int, what: str) -> tuple[int, ...]:
        """The same, refused with `what` in the reason where they are not known."""
        found = self.known(slot)
        if found is None:
            self.refuse(f"{what} ({self.input(slot).name}) must be constant, or follow from the shapes of the inputs")
        return found

    def integer(self, slot: int, what: str) -> int:
        """One number that is known, refused otherwise."""
        found = self.integers(slot, what)
        if len(found) != 1:
            self.refuse(f"{what} ({self.input(slot).name}) has {len(found)} elements, expected one")
        return found[0]

    def elements(self, slot: int, what: str) -> ndarray[Any, Any]:
        """The elements of a small constant input of any dtype. Refuses what is computed; not for big weights."""
        value = self.input(slot)
        if value.tensor is not None:
            return value.tensor.numpy()
        known = self.integers(slot, what)
        import numpy as np

        shape = value.known.shape if value.known is not None else ()
        return np.array(known, (value.dtype or DType.INT64).numpy()).reshape(shape)

    def emit(self, op: Operator, *inputs: Value | None) -> Value:
        """Add the operator whose first result is the node's."""
        return self.emit_all(op, *inputs)[0]

    def emit_all(self, op: Operator, *inputs: Value | None) -> tuple[Value, ...]:
        """Add the operator whose results are, one by one, the node's."""
        names = [self._scope.fresh_name(result_name(self.name, slot)) for slot in range(op.output_count)]
        return self.graph.add_node(op, inputs, name=self.name, output_names=names).outputs

    def step(self, op: Operator, *inputs: Value | None, suffix: str = "") -> Value:
        """Add an operator on the way and give its first result; its name is the node's with a suffix."""
        return self.steps(op, *inputs, suffix=suffix)[0]

    def steps(self, op: Operator, *inputs: Value | None, suffix: str = "") -> tuple[Value, ...]:
        """Add an operator with several results."""
        name = self._scope.fresh_name(f"{self.name}__{suffix or op.name.lower()}")
        others = [self._scope.fresh_name(f"{name}:{slot}") for slot in range(1, op.output_count)]
        return self.graph.add_node(op, inputs, name=name, output_names=[name, *others]).outputs

    def parameter(self, tensor: Tensor) -> Value:
        """A parameter that is the node's result."""
        return self.graph.add_parameter(self._scope.fresh_name(self.name), tensor)

    def new_input(self, type_: TensorType) -> Value:
        """An input of the graph that is the node's result."""
        return self.graph.add_input(self._scope.fresh_name(self.name), type_)

    def constant(self, elements: object, dtype: DType | None = None) -> Value:
        """A constant; equal small ones are shared."""
        return self.graph.constant(elements, dtype, name=self._scope.fresh_name(f"{self.name}__const"))

    def scalar_like(self, value: Value, number: float) -> Value:
        """A constant scalar of the value's dtype (float32 where that is unknown)."""
        dtype = value.dtype or DType.FLOAT32
        return self.constant(round(number) if dtype.is_integer else number, dtype)

    def vector(self, numbers: Sequence[int]) -> Value:
        """A constant int64 vector."""
        return self.constant(list(numbers), DType.INT64)

    def int64(self, value: Value) -> Value:
        """An integer value as int64, which the IR wants for shapes and axes where TensorFlow often has int32.

        Known elements become a constant, and a conversion from int64 is undone, so that no conversions pile up.
        """
        if value.dtype is DType.INT64:
            return value
        known = None if value.known is None else value.known.integers()
        if known is not None and value.known is not None:
            import numpy as np

            return self.constant(np.array(known, np.int64).reshape(value.known.shape))
        producer = value.producer
        if producer is not None and isinstance(producer.op, Cast):
            source = producer.inputs[0]
            if source is not None and source.dtype is DType.INT64:
                return source
        return self.step(Cast(DType.INT64), value, suffix="int64")

    def sizes_operand(self, value: Value) -> Value:
        """The operand that says a new shape: constant with one -1 where a single size of it is no number."""
        known = value.known
        if known is not None:
            numbers = [size for size in known.elements if isinstance(size, int)]
            symbols = [size for size in known.elements if isinstance(size, Sym)]
            is_open = len(symbols) == 1 and len(numbers) == len(known.elements) - 1
            if is_open and -1 not in numbers and 0 not in numbers:
                return self.vector([size if isinstance(size, int) else -1 for size in known.elements])
        return self.int64(value)

    def as_attribute(self, value: Value, name: str, default: DType = DType.INT32) -> Value:
        """The node's result, an int64 value, in the integer dtype that an attribute states (`out_type`)."""
        wanted = self.attrs.get(name, default)
        if value.dtype is wanted:
            return value
        return self.emit(Cast(wanted), value)

    def dtype(self, slot: int = 0) -> DType:
        """The dtype of an input. Refuses if the model does not fix it."""
        value = self.input(slot)
        if value.dtype is None:
            self.refuse(f"the dtype of {value.name} is unknown")
        return value.dtype

    def shape(self, value: Value) -> tuple[Dim, ...]:
        """The value's shape, its rank known. Raises NeedsShape if the model does not fix it."""
        if value.shape is None:
            self._scope.importer.infer_now()
        if value.shape is None:
            raise NeedsShape(f"{self.op} needs the number of axes of {value.name}")
        return value.shape

    def rank(self, value: Value) -> int:
        """The value's number of axes. Raises NeedsShape if the model does not fix it."""
        return len(self.shape(value))

    def sizes(self, value: Value, axes: Sequence[int] | None = None) -> tuple[int, ...]:
        """The value's sizes (on `axes`, or all) as numbers. Raises NeedsShape if one is unknown or symbolic."""
        found = self.sizes_if_known(value, axes)
        if found is None:
            self._scope.importer.infer_now()
            found = self.sizes_if_known(value, axes)
        if found is None:
            raise NeedsShape(f"{self.op} needs the sizes of {value.name}, found {value.type}")
        return found

    def sizes_if_known(self, value: Value, axes: Sequence[int] | None = None) -> tuple[int, ...] | None:
        """The same, None where one is unknown or symbolic."""
        shape = value.shape
        if shape is None:
            return None
        if axes is not None and axes and not -len(shape) <= min(axes) <= max(axes) < len(shape):
            raise ShapeError(f"{value.name} is {value.type}, expected {max(axes) + 1} axes or more")
        chosen = [shape[axis] for axis in (range(len(shape)) if axes is None else axes)]
        numbers = tuple(dim for dim in chosen if isinstance(dim, int))
        return numbers if len(numbers) == len(chosen) else None

    def axis(self, number: int, rank: int) -> int:
        """An axis counted from the front. Refuses one that does not exist."""
        if not -rank <= number < rank:
            self.refuse(f"axis {number} does not exist in a tensor of rank {rank}")
        return number % rank

    def decide(self, kind: str, text: str) -> None:
        """Record a decision about this node."""
        self._scope.importer.graph.decide(kind, self.name, text)

    def refuse(self, reason: str) -> NoReturn:
        """Say that this node cannot be expressed, and why."""
        raise Refusal(reason)


def result_name(node: str, slot: int) -> str:
    """The name of a node's result: the node's own for the first, `node:1` and so on for the others."""
    return node if slot == 0 else f"{node}:{slot}"


def direct(cls: type[Operator], *fields: object) -> ImportFunction:
    """Import an operator whose inputs are those of the IR's class, which takes these fields."""

    def import_direct(node: ImportNode) -> Imported:
        return node.emit(cls(*fields), *node.inputs())

    return import_direct


def families(*tables: Mapping[str, ImportFunction]) -> dict[str, ImportFunction]:
    """One mapping of TensorFlow operators to their import functions. An operator that comes twice is an error."""
    found: dict[str, ImportFunction] = {}
    for entries in tables:
        for name, function in entries.items():
            if name in found:
                raise GraphirError(f"two import functions for {name}")
            found[name] = function
    return found


__all__ = [
    "ImportFunction",
    "ImportNode",
    "Imported",
    "NeedsShape",
    "QuietRefusal",
    "Refusal",
    "direct",
    "families",
    "result_name",
]
