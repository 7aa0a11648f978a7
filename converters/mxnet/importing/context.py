"""What an operator's import function sees: one MXNet node, the graph that it goes into, and ways to say no."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from graphir.converters.kernel.importing import BaseImportNode
from graphir.converters.kernel.importing import Imported as Imported
from graphir.decisions import DecisionKind
from graphir.errors import ShapeError
from graphir.graph import Graph, Value
from graphir.types import Shape, TensorType, unify, unify_shape

if TYPE_CHECKING:
    from graphir.converters.kernel.attributes import Attributes
    from graphir.converters.mxnet.files.records import NNVMNode
    from graphir.converters.mxnet.importing.importer import Importer

ImportFunction = Callable[["ImportNode"], Imported]


class ImportNode(BaseImportNode):
    """One MXNet node on its way into the graph.

    `attrs` are the typed attributes with MXNet's defaults, which say which of them the file states.
    """

    __slots__ = ("attrs", "operands", "output_names", "record")

    importer: Importer

    def __init__(
        self,
        importer: Importer,
        record: NNVMNode,
        attrs: Attributes,
        operands: list[Callable[[], Value]],
        output_names: list[str],
    ) -> None:
        super().__init__(importer, importer.graph, record.name, record.op)
        self.record = record
        self.attrs: Any = attrs
        self.operands = operands
        self.output_names = output_names

    @property
    def keep_loss(self) -> bool:
        """Whether loss heads and label inputs are to stay."""
        return self.importer.choices.keep_loss

    @property
    def training(self) -> bool:
        """Whether what acts in training only is to stay."""
        return self.importer.choices.training

    @property
    def settles(self) -> bool:
        """Whether what nothing fixes is to be decided; if not, it stays unknown."""
        return self.importer.choices.settle

    def is_strict(self, difference: str) -> bool:
        """Return whether values at the edge must give what they give in MXNet. If not, record the difference."""
        if not self.importer.choices.strict:
            self.decide(DecisionKind.SPECIAL_VALUES, f"{difference}; --strict keeps what MXNet gives")
        return self.importer.choices.strict

    @property
    def np_shape(self) -> bool:
        """Whether the model was made under numpy's shape semantics, in which a tensor can have rank 0."""
        return self.importer.source.np_shape

    def __len__(self) -> int:
        """Return the number of inputs that the node has."""
        return len(self.operands)

    def optional(self, slot: int) -> Value | None:
        """Return the operand in a slot. A variable becomes an input or parameter of the graph when first asked for."""
        return self.operands[slot]() if -len(self) <= slot < len(self) else None

    def is_only_reader(self, slot: int) -> bool:
        """Return whether an input is a parameter of this graph, with elements, that nothing else in the symbol
        reads."""
        value = self.input(slot)
        is_own = value.graph is self.graph and value.tensor is not None
        return is_own and self.importer.readers[self.record.inputs[slot]] == 1

    @property
    def inputs(self) -> tuple[Value, ...]:
        """The operands in order."""
        return tuple(operand() for operand in self.operands)

    def take_inputs(self, count: int, *, or_more: bool = False) -> tuple[Value, ...]:
        """Return the operands, `count` of them `or_more`. Raise Refusal for another number: MXNet does not state it for
        every operator."""
        if len(self) < count or (len(self) > count and not or_more):
            self.refuse(f"it has {len(self)} inputs, {self.op} takes {count}{' or more' if or_more else ''}")
        return self.inputs

    def result_names(self, count: int) -> list[str]:
        """MXNet's names of the node's results."""
        further = [f"{self.name}_{slot}" for slot in range(len(self.output_names), count)]
        return [self.fresh_name(name) for name in (*self.output_names[:count], *further)]

    def shaped(self, slot: int, shape: Shape, *, stated: Shape | None = None) -> Value:
        """Return the value in a slot of which the node's attributes and the data say the shape (`UNKNOWN` where nothing
        does).

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
        """Return the same node with other operands, as a step on the way to its result; its names get the suffix."""
        inner = ImportNode(self.importer, self.record, self.attrs, [], [f"{self.name}_{suffix}"])
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

    def symbol_inside(self, slot: int, graph: Graph, values: Sequence[Value]) -> list[Value]:
        """Import a symbol inside the node into `graph`, over these values: what it gives. Refuses what cannot be."""
        if slot >= len(self.record.subgraphs):
            self.refuse(f"it has {len(self.record.subgraphs)} symbols inside, none in slot {slot}")
        return self.importer.import_inside(self.record.subgraphs[slot], graph, values)

    def several(self, attribute: str, count: int, default: tuple[float, ...] | None = None) -> tuple[Any, ...]:
        """Return the numbers of an attribute that has so many; the default for one without any. Refuses other
        counts."""
        stated = self.attrs[attribute] or default
        if stated is None or len(stated) != count or None in stated:
            self.refuse(f"{attribute} is {self.attrs[attribute]}, expected {count} numbers")
        return tuple(stated)

    def decide(self, kind: DecisionKind, text: str) -> None:
        """Record a decision about this node."""
        self.graph.decide(kind, self.record.name, text)


def to_single(number: float) -> float:
    """Return a number as MXNet holds an attribute of its kind `float`, in single precision; beyond its range infinite.

    >>> to_single(16777217.0), to_single(1e60)
    (16777216.0, inf)
    """
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)
