"""What an operator's export function sees: one node of the graph, and the statements that it becomes.

    tensor(slot)        an operand as a tensor: the text to read it by
    operand(slot)       the same, or a number where it is a constant of one element that broadcasts
    number(slot)        that number's text, None for what is no constant of one element
    ints(slot)          a small operand of integers as Python integers, one text each: sizes of inputs are variables
    scalar(slot)        an operand of one element as a Python number, also one that only a run can tell
    int_list(slot)      the same as one text, read from the tensor where only a run can tell them
    sizes(slot)         the shape of an operand as Python integers
    layer(...)          an nn module with weights, by the text that calls it; weight(slot) are the elements for one
    function(name)      a function of the file, from `functions/`
    step, emit          a statement on the way, and the one that gives a result; a text stands for a call or a name,
                        what binds less is an Expr, as `binary` makes them
    alias               have a result be an operand, or another expression that costs nothing
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic

from graphir.converters.kernel.exporting import BaseExportNode, O, P, table
from graphir.converters.pytorch.exporting.expression import (
    EDGE,
    MARK,
    Expr,
    ValueReference,
    axes_text,
    binary,
    call,
    expr,
    list_of,
    short,
    tuple_of,
    unary,
)
from graphir.converters.pytorch.exporting.state import Export, Statement, Weights, dtype_text, number_text
from graphir.decisions import DecisionKind
from graphir.graph import Node, Value
from graphir.ops.base import Operator
from graphir.tensor import Tensor
from graphir.types import DType


class ExportNode(BaseExportNode[O], Generic[O]):
    """One node that is exported. `inputs` stay its own after it absorbed another node."""

    __slots__ = ("export", "inputs")

    def __init__(self, export: Export, node: Node) -> None:
        super().__init__(node)
        self.export = export
        self.inputs: tuple[Value | None, ...] = node.inputs

    def tensor(self, slot: int = 0) -> Expr:
        """Return an operand as a tensor. Refuses if it is absent."""
        return self.export.reference(self.input(slot))

    def tensors(self) -> list[Expr]:
        """Return all operands that are there, as tensors."""
        return [self.export.reference(value) for value in self.inputs if value is not None]

    def operand(self, slot: int) -> Expr:
        """Return an operand of an operator that broadcasts: a number where it is a constant of one element with no more
        axes than another operand that is a tensor."""
        number = self.number(slot)
        if number is None or (rank := self.input(slot).rank) is None:
            return self.tensor(slot)
        others = [value for place, value in enumerate(self.inputs) if place != slot and value is not None]
        first_tensor = next((value for value in self.inputs if value is not None and not _is_number(value)), None)
        ranks = [value.rank for value in others if not _is_number(value)]
        if first_tensor is None or any(other is None or other < rank for other in ranks):
            return self.tensor(slot)
        return number

    def number(self, slot: int) -> Expr | None:
        """Return a constant of one element as a Python number, also one that follows from sizes; None for all
        others."""
        value = self.optional(slot)
        if value is None or (value.tensor is None and value.known is None) or value.dtype is None:
            return None
        tensor = value.tensor
        if tensor is not None and tensor.size == 1 and not (value.dtype.bits < 8 or value.dtype is DType.STRING):
            return number_text(tensor.numpy().reshape(-1)[0], value.dtype)
        known = value.known
        if known is None or len(known.elements) != 1:
            return None
        (element,) = known.elements
        if isinstance(element, float):
            return number_text(element, value.dtype)
        size = self.export.size(element)
        if size is not None and value.dtype is DType.BOOL:
            return Expr(str(bool(element))) if isinstance(element, int) else None
        return size

    def scalar(self, slot: int) -> Expr:
        """Return an operand of one element as a Python number: where it is not known, read from the tensor."""
        return self.number(slot) or Expr(f"{self.tensor(slot).atom}.item()")

    def ints_if_known(self, slot: int) -> list[Expr] | None:
        """Return the elements of a small operand of integers, flat; None where some are known by a run only."""
        value = self.optional(slot)
        return None if value is None else self._ints_of(value)

    def ints_of_result(self, slot: int = 0) -> list[Expr] | None:
        """Return the elements of a result, where inference knows them."""
        return self._ints_of(self.node.outputs[slot])

    def _ints_of(self, value: Value) -> list[Expr] | None:
        if value.known is None:
            return None
        sizes = [self.export.size(dim) for dim in value.known.dims()]
        result = [size for size in sizes if size is not None]
        return result if len(result) == len(sizes) else None

    def ints(self, slot: int, what: str) -> list[Expr]:
        """Return the elements of an operand of integers. Refuses unknown ones, `what` names it in the message."""
        result = self.ints_if_known(slot)
        if result is None:
            self.refuse(f"{what} ({self.input(slot).name}) must be constant, or follow from the shapes of the inputs")
        return result

    def int_list(self, slot: int) -> str:
        """Return an operand of integers as a list: of what is known, else of what the tensor holds when it runs."""
        result = self.ints_if_known(slot)
        return list_of(result) if result is not None else f"{self.tensor(slot).atom}.tolist()"

    def int_tuple(self, slot: int) -> str:
        """Return an operand of integers as a tuple where it is known, else as `int_list` does: a shape."""
        result = self.ints_if_known(slot)
        return tuple_of(result) if result else self.int_list(slot)

    def size(self, slot: int, axis: int) -> Expr:
        """Return one size of an operand as a Python integer."""
        shape = self.input(slot).shape
        result = None if shape is None else self.export.size(shape[axis])
        return Expr(f"{self.tensor(slot).atom}.shape[{axis}]") if result is None else result

    def sizes_of(self, slot: int = 0) -> list[Expr]:
        """Return the shape of an operand as Python integers."""
        return [self.size(slot, axis) for axis in range(self.rank(slot))]

    def weight(self, slot: int) -> Tensor | None:
        """Return the elements of an operand that is a parameter of the graph, None for what is computed or absent."""
        value = self.optional(slot)
        return None if value is None or value.producer is not None else value.tensor

    def constants(self, slots: Mapping[str, int]) -> Weights | None:
        """Return the operands in slots that are there, by name, None unless all of them are constant."""
        inputs = self.inputs
        weights: Weights = {}
        for name, slot in slots.items():
            value = inputs[slot] if slot < len(inputs) else None
            if value is not None:
                if value.producer is not None or value.tensor is None:
                    return None
                weights[name] = value.tensor, value
        return weights

    def layer(
        self, constructor: str, arguments: Sequence[object], options: Mapping[str, str | None],
        weights: Weights | None = None,
    ) -> Expr:
        """Return an nn module made with these arguments, and with options that are not None. Its `weights` are the
        elements of parameters of the graph as they are, or made from these. It gets their dtype where that is not
        float32."""
        dtypes = {tensor.dtype for tensor, _ in weights.values()} if weights else set()
        dtype = dtype_text(dtypes.pop()) if len(dtypes) == 1 and DType.FLOAT32 not in dtypes else None
        return self.export.layer(self.node, call(constructor, *arguments, **options, dtype=dtype), weights or {})

    def function(self, name: str) -> str:
        """Return a function of `functions/`, which the file gets with those that it calls."""
        self.export.functions[name] = None
        return name

    def step(self, text: str, name: str, *, keeps: bool = False) -> ValueReference:
        """Add an intermediate statement and return a reference to its result, named `name` where it needs a name."""
        number = self.export.new_number()
        self.export.statements.append(Statement((number,), text, keeps=keeps, names=(name,)))
        return ValueReference(number)

    def emit(self, text: str, slot: int = 0, *, keeps: bool = False) -> None:
        """Add the statement that computes a result. A text that is only another value becomes an alias of it."""
        if text[0] == EDGE and (same := MARK.fullmatch(text)):
            self.alias(ValueReference(int(same[1])), slot)
            return
        export, value = self.export, self.node.outputs[slot]
        export.statements.append(Statement((export.number(value),), text, value, (), keeps))
        export.find_symbols(value)

    def emit_all(self, text: str, *, keeps: bool = False) -> None:
        """Add the statement that computes all results, as a tuple."""
        numbers = tuple(self.export.number(value) for value in self.node.outputs)
        self.export.statements.append(Statement(numbers, text, self.node.outputs[0], keeps=keeps))
        for value in self.node.outputs:
            self.export.find_symbols(value)

    def assign(
        self, targets: Sequence[Value | str], text: str, pattern: str = "", names: Sequence[str] = ()
    ) -> list[ValueReference]:
        """Add a statement with several targets and return references to them. A target is a value of the graph, or the
        name of a local variable; "_" is one that nothing reads.

        `pattern` is what stands on the left, with `{}` for each target; `names` are what values are called, where that
        does not follow from their layer.
        """
        numbers = tuple(
            self.export.number(target) if isinstance(target, Value) else self.export.new_number()
            for target in targets
        )
        stated = [*names, *[""] * len(targets)]
        called = [stated[place] if isinstance(target, Value) else target for place, target in enumerate(targets)]
        values = [target for target in targets if isinstance(target, Value)]
        first = values[0] if values else None
        self.export.statements.append(Statement(numbers, text, first, names=tuple(called), pattern=pattern))
        for value in values:
            self.export.find_symbols(value)
        return [ValueReference(number) for number in numbers]

    def alias(self, text: Expr, slot: int = 0) -> None:
        """Replace a result by an expression that costs nothing."""
        self.export.bind(self.node.outputs[slot], text)

    def absorb(self, node: Node) -> None:
        """Let this node's statement compute the first result of `node` instead, which is not written itself."""
        self.export.absorbed.add(node)
        self.node = node

    def result_dtype(self, slot: int = 0) -> DType:
        """Return the dtype of a result. Refuses an unknown one."""
        dtype = self.node.outputs[slot].dtype
        if dtype is None:
            self.refuse(f"the dtype of {self.node.outputs[slot].name} is unknown")
        return dtype

    def cast(self, text: str, dtype: DType) -> str:
        """Return a tensor in another dtype."""
        return f"{expr(text).atom}.to({dtype_text(dtype)})"

    def is_read(self, slot: int) -> bool:
        """Return whether anything needs a result."""
        return slot < len(self.node.outputs) and self.node.outputs[slot].is_needed

    @property
    def device(self) -> Expr:
        """The device of the inputs, for tensors that the module creates."""
        return self.export.device()

    def is_decided(self, kind: DecisionKind) -> bool:
        """Return whether the import recorded a decision of this kind for the source's node."""
        if not self.export.imported:
            return False
        names = (self.name, self.name.removesuffix(f"_{self.node.op.name.lower()}"))
        return any((kind, name) in self.export.imported for name in names)

    def decide(self, kind: DecisionKind, text: str) -> None:
        """Record a decision about this node."""
        self.export.decide(kind, self.name, text)


def _is_number(value: Value) -> bool:
    """Return whether a value may be written as a number."""
    if value.tensor is not None:
        return value.tensor.size == 1
    return value.known is not None and len(value.known.elements) == 1


AnyNode = ExportNode[Operator]  # where the operator does not matter
ExportFunction = Callable[[ExportNode[Any]], None]
ExportTable = dict[type[Operator], ExportFunction]
Row = tuple[type[Operator], ExportFunction]


def row(op: type[P], function: Callable[[ExportNode[P]], None]) -> Row:
    """Return a row of an export table; type checkers compare the function's operator with the row's."""
    return op, function


def rows(ops: Iterable[type[P]], function: Callable[[ExportNode[P]], None]) -> Iterator[Row]:
    """Return rows for operators that share an export function."""
    return ((op, function) for op in ops)


def calls(function: str) -> ExportFunction:
    """Return the export function that calls `function` with all operands: torch's, or without a dot one of the file."""

    def export_call(node: AnyNode) -> None:
        node.emit_all(call(function if "." in function else node.function(function), *node.tensors()))

    return export_call


__all__ = [
    "AnyNode", "Export", "ExportFunction", "ExportNode", "ExportTable", "Expr", "axes_text", "binary", "call", "calls",
    "dtype_text", "expr", "list_of", "number_text", "row", "rows", "short", "table", "tuple_of", "unary",
]  # fmt: skip
