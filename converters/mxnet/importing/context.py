"""What an operator's import function sees: one MXNet node, the graph that it goes into, and ways to say no."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Union

from graphir.errors import GraphirError, ShapeError
from graphir.graph import Graph, Value
from graphir.ops.base import Operator
from graphir.safety.limits import charge_elements, charge_list
from graphir.types import Dim, DType, Shape, TensorType, unify, unify_shape

if TYPE_CHECKING:
    from graphir.converters.mxnet.files.records import NNVMNode
    from graphir.converters.mxnet.importing.importer import Importer
    from graphir.converters.mxnet.schema.operators import Attributes

Imported = Union[Value, Sequence[Value]]
ImportFunction = Callable[["ImportNode"], Imported]


class Refusal(GraphirError):
    """An import function cannot express this node; the importer gathers all of them."""


class NeedsShape(GraphirError):
    """An import function needs a rank or size that nothing in the model fixes."""


class ImportNode:
    """One MXNet node on its way into the graph.

    `attrs` are the typed attributes with MXNet's defaults, `stated` says which of them the file states. `emit` adds the
    operator whose result is the node's result, `step` one before it.
    """

    __slots__ = ("_importer", "attrs", "graph", "name", "operands", "output_names", "record")

    def __init__(
        self,
        importer: Importer,
        record: NNVMNode,
        attrs: Attributes,
        operands: list[Callable[[], Value]],
        output_names: list[str],
    ) -> None:
        self._importer = importer
        self.record = record
        self.name = record.name
        self.attrs: Any = attrs
        self.graph: Graph = importer.graph
        self.operands = operands
        self.output_names = output_names

    @property
    def op(self) -> str:
        """The MXNet operator's name."""
        return self.record.op

    @property
    def keep_loss(self) -> bool:
        """Whether loss heads and label inputs are to stay."""
        return self._importer.keep_loss

    @property
    def settles(self) -> bool:
        """Whether what nothing fixes is to be decided; if not, it stays unknown."""
        return self._importer.settle

    @property
    def np_shape(self) -> bool:
        """Whether the model was made under numpy's shape semantics, in which a tensor can have rank 0."""
        return self._importer.source.np_shape

    def __len__(self) -> int:
        """The number of inputs that the node has."""
        return len(self.operands)

    def input(self, slot: int) -> Value:
        """The value in an input slot. A variable becomes an input or parameter of the graph when first asked for."""
        if slot >= len(self.operands):
            self.refuse(f"input {slot} is missing; the node has {len(self.operands)}")
        return self.operands[slot]()

    def is_only_reader(self, slot: int) -> bool:
        """Whether an input is a parameter of this graph, with elements, that nothing else in the symbol reads."""
        value = self.input(slot)
        is_own = value.graph is self.graph and value.tensor is not None
        return is_own and self._importer.readers[self.record.inputs[slot]] == 1

    def inputs(self) -> list[Value]:
        """All input values."""
        return [operand() for operand in self.operands]

    def parameter(self, slot: int, shape: Shape, *, stated: Shape | None = None) -> Value:
        """The value in a slot of which the node's attributes and the data say the shape (`UNKNOWN` where nothing does).

        What the attributes alone say is `stated`: it holds for data of other shapes too.
        """
        value = self.input(slot)
        try:
            value.graph.refine(value, TensorType(None, shape))
            if stated is not None:
                value.declared = unify(value.declared, TensorType(None, stated))
        except ShapeError as error:
            raise ShapeError(f"{error} (stated by the attributes of {self.name})") from None
        return value

    def over(self, *values: Value, suffix: str) -> ImportNode:
        """The same node with other operands, as a step on the way to its result; its names get the suffix."""
        inner = ImportNode(self._importer, self.record, self.attrs, [], [f"{self.name}_{suffix}"])
        inner.name = f"{self.name}_{suffix}"
        inner.operands = [lambda value=value: value for value in values]  # type: ignore[misc]
        return inner

    def same_shapes(self, *values: Value) -> None:
        """Let values that MXNet wants to be of one shape share what is known of it. Raises ShapeError."""
        shape: Shape | None = None
        try:
            for value in values:
                shape = unify_shape(shape, value.shape)
        except ShapeError as error:
            shown = ", ".join(f"{value.name}: {value.type}" for value in values)
            raise ShapeError(f"{self.op} wants operands of one shape, found {shown}: {error}") from None
        for value in values:
            value.graph.refine(value, TensorType(None, shape))

    def emit(self, op: Operator, *inputs: Value | None) -> Value:
        """Add the operator whose first result is the node's."""
        return self.emit_all(op, *inputs)[0]

    def emit_all(self, op: Operator, *inputs: Value | None) -> tuple[Value, ...]:
        """Add the operator whose results are, one by one, the node's."""
        graph = self.graph
        names = [
            graph.fresh_name(self.output_names[slot] if slot < len(self.output_names) else f"{self.name}_{slot}")
            for slot in range(op.output_count)
        ]
        return graph.add_node(op, inputs, name=self.name, output_names=names).outputs

    def step(self, op: Operator, *inputs: Value | None, suffix: str = "") -> Value:
        """Add an operator on the way and give its first result; its name is the node's with a suffix."""
        name = f"{self.name}_{suffix or op.name.lower()}"
        fresh = self.graph.fresh_name
        names = [fresh(name), *(fresh(f"{name}_{slot}") for slot in range(1, op.output_count))]
        return self.graph.add_node(op, inputs, name=name, output_names=names).outputs[0]

    def steps(self, op: Operator, *inputs: Value | None, suffix: str = "") -> tuple[Value, ...]:
        """Add an operator with several results."""
        name = f"{self.name}_{suffix or op.name.lower()}"
        return self.graph.add_node(op, inputs, name=name).outputs

    def constant(self, elements: object, dtype: DType | None = None) -> Value:
        """A constant; equal small ones are shared."""
        return self.graph.constant(elements, dtype)

    def scalar_like(self, value: Value, number: float) -> Value:
        """A constant scalar of the value's dtype (float32 where that is unknown), converted as C does."""
        dtype = value.dtype or DType.FLOAT32
        return self.graph.constant(converted(number, dtype), dtype)

    def vector(self, numbers: Sequence[int]) -> Value:
        """A constant int64 vector. Raises FormatError for one that is longer than the limit allows."""
        charge_list(len(numbers), f"node {self.name!r} ({self.op}): a list of numbers")
        return self.graph.constant(list(numbers), DType.INT64)

    def shape(self, value: Value) -> tuple[Dim, ...]:
        """The value's shape, its rank known. Raises NeedsShape if the model does not fix it."""
        if value.shape is None:
            self._importer.infer_now()
        if value.shape is None:
            raise NeedsShape(f"{self.op} needs the number of axes of {value.name}")
        return value.shape

    def rank(self, value: Value) -> int:
        """The value's number of axes. Raises NeedsShape if the model does not fix it."""
        return len(self.shape(value))

    def sizes(self, value: Value, axes: Sequence[int] | None = None) -> tuple[int, ...]:
        """The value's sizes (on `axes`, or all) as numbers. Raises NeedsShape if one is unknown or symbolic."""
        shape = self.shape(value)
        if axes and max(axes) >= len(shape):
            raise ShapeError(f"{value.name} is {value.type}, expected {max(axes) + 1} axes or more")
        chosen = [shape[axis] for axis in (range(len(shape)) if axes is None else axes)]
        if not all(isinstance(dim, int) for dim in chosen):
            self._importer.infer_now()
            shape = self.shape(value)
            chosen = [shape[axis] for axis in (range(len(shape)) if axes is None else axes)]
        if not all(isinstance(dim, int) for dim in chosen):
            raise NeedsShape(f"{self.op} needs the sizes of {value.name}, found {value.type}")
        return tuple(dim for dim in chosen if isinstance(dim, int))

    def symbol_inside(self, slot: int, graph: Graph, values: Sequence[Value]) -> list[Value]:
        """Import a symbol inside the node into `graph`, over these values: what it gives. Refuses what cannot be."""
        if slot >= len(self.record.subgraphs):
            self.refuse(f"it has {len(self.record.subgraphs)} symbols inside, none in slot {slot}")
        return self._importer.import_inside(self.record.subgraphs[slot], graph, values)

    def charge(self, count: int, what: str) -> None:
        """Count the elements of a table that the node makes. Raises FormatError beyond the limit."""
        charge_elements(count, f"node {self.name!r} ({self.op}): {what}")

    def several(self, attribute: str, count: int, default: tuple[float, ...] | None = None) -> tuple[Any, ...]:
        """The numbers of an attribute that has so many; the default for one without any. Refuses other counts."""
        stated = self.attrs[attribute] or default
        if stated is None or len(stated) != count or None in stated:
            self.refuse(f"{attribute} is {self.attrs[attribute]}, expected {count} numbers")
        return tuple(stated)

    def decide(self, kind: str, text: str) -> None:
        """Record a decision about this node."""
        self.graph.decide(kind, self.record.name, text)

    def refuse(self, reason: str) -> NoReturn:
        """Say that this node cannot be expressed, and why."""
        raise Refusal(reason)


def converted(number: float, dtype: DType) -> float | int | bool:
    """A number in a dtype as C converts it: integers lose the fraction and, where they are too small, high bits.

    >>> converted(2.7, DType.INT32), converted(-2.7, DType.INT32), converted(257.5, DType.UINT8)
    (2, -2, 1)
    >>> converted(math.nan, DType.INT32), converted(math.inf, DType.INT8)
    (-2147483648, 0)
    """
    if dtype is DType.BOOL:
        return bool(number)
    if not dtype.is_integer:
        return number
    if isinstance(number, float):
        # C leaves open what does not fit; x86 takes the lowest integer of 32 bits, or of 64 for wider dtypes.
        least = -(1 << (63 if dtype.bits > 32 else 31))
        number = math.trunc(number) if math.isfinite(number) and least <= number < -least else least
    kept = int(number) & ((1 << dtype.bits) - 1)
    is_signed = dtype.value.startswith("int")
    return kept - (1 << dtype.bits) if is_signed and kept >> (dtype.bits - 1) else kept


def to_single(number: float) -> float:
    """A number as MXNet holds an attribute of its kind `float`, in single precision; beyond its range infinite.

    >>> to_single(16777217.0), to_single(1e60)
    (16777216.0, inf)
    """
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)


def families(*tables: Mapping[str, ImportFunction]) -> dict[str, ImportFunction]:
    """One mapping of MXNet operators to their import functions. An operator that comes twice is an error."""
    found: dict[str, ImportFunction] = {}
    for entries in tables:
        for name, function in entries.items():
            if name in found:
                raise GraphirError(f"two import functions for {name}")
            found[name] = function
    return found


__all__ = ["ImportFunction", "ImportNode", "Imported", "NeedsShape", "Refusal", "converted", "families", "to_single"]
