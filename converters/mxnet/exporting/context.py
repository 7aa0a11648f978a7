"""What an operator's export function sees: one node of the graph, and the MXNet nodes it makes of it.

See `export_state` for how MXNet carries values.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, NoReturn

from graphir.converters.kernel.exporting import BaseExportNode, O
from graphir.converters.kernel.exporting import P as P
from graphir.converters.kernel.exporting import table as table
from graphir.converters.mxnet.exporting.dtypes import DTYPES as DTYPES
from graphir.converters.mxnet.exporting.dtypes import NeedsNumpyShape as NeedsNumpyShape
from graphir.converters.mxnet.exporting.dtypes import Refusal as Refusal
from graphir.converters.mxnet.exporting.dtypes import dtype_name as dtype_name
from graphir.converters.mxnet.exporting.dtypes import held_dtype
from graphir.converters.mxnet.exporting.state import SUFFIX
from graphir.converters.mxnet.exporting.state import Entry as Entry
from graphir.converters.mxnet.exporting.state import Export as Export
from graphir.decisions import DecisionKind
from graphir.graph import Node, Value
from graphir.ops.base import Operator
from graphir.tensor import Tensor
from graphir.types import Dim, DType


class ExportNode(BaseExportNode[O], Generic[O]):
    """One node of the graph on its way out: `emit` adds the MXNet node that gives its results."""

    __slots__ = ("_steps", "export", "stem")

    def __init__(self, export: Export, node: Node) -> None:
        super().__init__(node)
        self.export = export
        self.stem = _stem(node)
        self._steps: set[int] = set()

    def entry(self, slot: int) -> Entry:
        """Return the entry of an operand in its own dtype."""
        return self.export.entry(self.input(slot))

    def entries(self) -> list[Entry]:
        """Return the entries of all operands."""
        return [self.entry(slot) for slot in range(len(self.node.inputs))]

    def moved(self, slot: int) -> tuple[Entry, DType | None]:
        """Return the entry of an operand whose elements are moved as they are, and the dtype that carries them."""
        value = self.input(slot)
        return self.export.raw(value), self.export.carried(value)

    def numbers(self, slot: int) -> tuple[int, ...] | None:
        """Return the elements of a small integer operand, None for an absent one. Refuses if they are not known."""
        value, result = self.optional(slot), self.known(slot)
        if result is None and value is not None:
            self.refuse_unknown(value)
        return result

    def number(self, slot: int) -> float | None:
        """Return the element of an operand that is a constant of one element, or is known; None for all others.

        MXNet reads such an attribute as float64: None for an integer that this does not hold either.
        """
        value, known = self.optional(slot), self.known(slot)
        if known is not None and len(known) == 1:
            return float(known[0]) if int(float(known[0])) == known[0] else None
        tensor = None if value is None else value.tensor
        if tensor is None or tensor.size != 1:
            return None
        dtype = tensor.dtype
        if not (dtype.is_float or dtype.is_integer or dtype is DType.BOOL):
            return None
        element = tensor.numpy().reshape(-1)[0]
        number = float(element)
        return number if dtype.is_float or int(number) == int(element) else None

    def fixed(self, shape: Sequence[Dim] | None, what: str) -> tuple[int, ...]:
        """Return a shape as numbers. Refuses if some are open."""
        if shape is None or not all(isinstance(dim, int) for dim in shape):
            self.refuse(f"the sizes of {what} are open; state the inputs' shapes")
        return tuple(dim for dim in shape if isinstance(dim, int))

    def dtype(self, slot: int = 0) -> DType:
        """Return the dtype in which MXNet computes with an operand: its own, or the wider one for it. Refuses an
        unknown one.

        Truths are bool here, whatever carries them.
        """
        return held_dtype(super().dtype(slot))

    def step(self, op: str, *inputs: Entry, suffix: str = "", **attributes: Any) -> Entry:
        """Add an MXNet node on the way and give its first output."""
        name = f"{self.stem}_{suffix or op.lower().lstrip('_')}"
        index = self.export.append(op, name, inputs, attributes)
        self._steps.add(index)
        return index, 0

    def emit(self, op: str, *inputs: Entry, carried: DType | None = None, **attributes: Any) -> None:
        """Add the MXNet node whose outputs are the node's results. Truths that are only moved stay what they were."""
        index = self.export.append(op, self.stem, inputs, attributes)
        for slot in range(len(self.node.outputs)):
            self.bind((index, slot), slot, carried=carried)

    def bind(self, entry: Entry, slot: int = 0, *, carried: DType | None = None) -> None:
        """Say which entry is a result of the node; a step that is the first result takes the node's name."""
        value = self.node.outputs[slot]
        if slot == 0 and entry[0] in self._steps:
            self.export.rename(entry[0], self.stem)
        if carried is None and value.dtype is DType.BOOL:
            truths = [operand for operand in self.node.inputs if operand is not None and operand.dtype is DType.BOOL]
            if not truths:
                self.refuse("nothing says in which dtype MXNet holds these truths")
            carried = self.export.carried(truths[-1])
        self.export.bind(value, entry, carried)

    def constant(self, elements: object, dtype: DType | None = None, suffix: str = "const") -> Entry:
        """Return a variable with these elements."""
        return self.export.variable(self.export.fresh_variable(f"{self.stem}_{suffix}"), Tensor.of(elements, dtype), {})

    def decide(self, kind: DecisionKind, text: str) -> None:
        """Record a decision about this node."""
        self.export.decide(kind, self.node.name, text)

    def refuse_unknown(self, value: Value) -> NoReturn:
        """Refuse because MXNet wants the elements of an operand as attributes, and they are not known."""
        how = "an input, which can be bound to a constant" if self.export.graph.is_input(value) else "computed"
        self.refuse(f"{value.name} is {how}; MXNet wants these numbers as attributes")


def _stem(node: Node) -> str:
    """Return the name of the MXNet node: MXNet calls the output of a node `x` by `x_output`, that of a split
    `x_output0`."""
    name = node.outputs[0].name
    for suffix in (SUFFIX, f"{SUFFIX}0"):
        if name.endswith(suffix) and len(name) > len(suffix):
            return name.removesuffix(suffix)
    return node.name if len(node.outputs) > 1 else name


AnyNode = ExportNode[Operator]  # where the operator does not matter
ExportFunction = Callable[[ExportNode[Any]], None]
ExportTable = dict[type[Operator], ExportFunction]
Row = tuple[type[Operator], ExportFunction]


def row(op: type[P], function: Callable[[ExportNode[P]], None]) -> Row:
    """Return what writes an operator: type checkers hold the function to the operator that it takes."""
    return op, function


def rows(ops: Iterable[type[P]], function: Callable[[ExportNode[P]], None]) -> Iterator[Row]:
    """Return the same for operators that one function writes."""
    return ((op, function) for op in ops)


def fields_of(op: Operator, **renamed: str) -> dict[str, Any]:
    """Return an operator's fields as attributes, by their names or those of `renamed`; enums as their texts."""
    values = {renamed.get(name, name): getattr(op, name) for name in op.field_names}
    return {name: value.value if isinstance(value, enum.Enum) else value for name, value in values.items()}


def direct(name: str, **renamed: str) -> ExportFunction:
    """Write an operator as MXNet's of this name, which has the same operands and its fields (see `fields_of`)."""
    return lambda node: node.emit(name, *node.entries(), **fields_of(node.op, **renamed))
