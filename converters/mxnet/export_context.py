"""What an operator's export function sees: one node of the graph, and the MXNet nodes it makes of it.

MXNet's tensors differ from the graph's in two ways, which are kept here and nowhere else. Comparisons give numbers
and positions come as floats, so a value may be *carried* in another dtype than its own; it is converted where that
matters. And there are no tensors without axes: such a value is carried with the shape (1,).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from graphir.converters.mxnet.records import VARIABLE, NNVMNode
from graphir.errors import GraphirError
from graphir.graph import Decision, Graph, Node, Value
from graphir.ops.base import Operator
from graphir.tensor import Tensor
from graphir.types import Dim, DType

Entry = tuple[int, int]
DTYPES = {
    DType.FLOAT32: 0,
    DType.FLOAT64: 1,
    DType.FLOAT16: 2,
    DType.UINT8: 3,
    DType.INT32: 4,
    DType.INT8: 5,
    DType.INT64: 6,
}
SUFFIX = "_output"


class Refusal(GraphirError):
    """An export function cannot say this node in MXNet; the exporter gathers all of them."""


class Export:
    """The export of one graph in the making: the MXNet nodes and parameters so far."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes: list[NNVMNode] = []
        self.parameters: dict[str, Tensor] = {}
        self.states: dict[str, Tensor | None] = {}
        self.refused: dict[tuple[str, str], list[str]] = {}
        self._entries: dict[Value, Entry] = {}
        self._carried: dict[Value, DType] = {}
        self._casts: dict[tuple[Entry, DType], Entry] = {}
        self._states: dict[Value, Entry] = {}
        self._named: set[int] = set()
        self._names: set[str] = {value.name for value in (*graph.inputs, *graph.parameters)}
        self._node_names: set[str] = set()

    def append(self, op: str, name: str, inputs: Sequence[Entry], attributes: dict[str, Any]) -> int:
        """Add one MXNet node; attributes are written as Python prints them, None is left out."""
        attrs = {key: str(value) for key, value in attributes.items() if value is not None}
        self.nodes.append(NNVMNode(op, self._fresh(name), attrs, {}, list(inputs)))
        return len(self.nodes) - 1

    def _fresh(self, wanted: str) -> str:
        name, number = wanted, 0
        while name in self._node_names:
            number += 1
            name = f"{wanted}_{number}"
        self._node_names.add(name)
        return name

    def fresh_variable(self, wanted: str) -> str:
        """A name that no variable has."""
        name, number = wanted, 0
        while name in self._names:
            number += 1
            name = f"{wanted}_{number}"
        self._names.add(name)
        return name

    def variable(self, name: str, tensor: Tensor | None, annotations: dict[str, str]) -> Entry:
        """Add a variable; with a tensor it is a parameter."""
        if tensor is not None:
            self.parameters[name] = tensor
            if tensor.dtype is not DType.FLOAT32:
                annotations = {"__dtype__": str(DTYPES[tensor.dtype]), **annotations}
        self.nodes.append(NNVMNode(VARIABLE, name, {}, annotations))
        return len(self.nodes) - 1, 0

    def raw(self, value: Value) -> Entry:
        """The entry that carries a value, in whatever dtype (see `carried`)."""
        found = self._entries.get(value)
        if found is None:
            found = self._entries[value] = self._source(value)
        return found

    def carried(self, value: Value) -> DType | None:
        """The dtype in which MXNet holds the value; None if unknown."""
        return self._carried.get(value, value.dtype)

    def entry(self, value: Value) -> Entry:
        """The entry of a value in its own dtype; truths stay the numbers that carry them."""
        found, held = self.raw(value), self.carried(value)
        if held is value.dtype or value.dtype is None or value.dtype is DType.BOOL:
            return found
        return self.cast(found, value.dtype)

    def cast(self, entry: Entry, dtype: DType) -> Entry:
        """The entry converted, once for all users."""
        known = self._casts.get((entry, dtype))
        if known is None:
            name = f"{self.nodes[entry[0]].name}_{dtype}"
            known = self._casts[entry, dtype] = self.append("Cast", name, [entry], {"dtype": dtype_name(dtype)}), 0
        return known

    def bind(self, value: Value, entry: Entry, carried: DType | None = None) -> None:
        """Say which entry is a value of the graph. The node takes the value's name unless it has that of another."""
        self._entries[value] = entry
        if carried is not None and carried is not value.dtype:
            self._carried[value] = carried
        index, _ = entry
        node = self.nodes[index]
        if value.name.endswith(SUFFIX) and index not in self._named and node.op != VARIABLE:
            self._named.add(index)
            stem = value.name.removesuffix(SUFFIX)
            if node.name != stem:
                node.name = self._fresh(stem)

    def state(self, value: Value, dtype: DType) -> Entry | None:
        """The auxiliary state with a parameter's elements; None if the value is no parameter.

        MXNet keeps states and arguments apart: a parameter that is used as both is written twice.
        """
        if value.producer is not None or value in self.graph.inputs:
            return None
        found = self._states.get(value)
        if found is None:
            tensor = value.tensor
            if tensor is not None and tensor.dtype is not dtype:
                tensor = Tensor.of(tensor.numpy().astype(dtype.numpy()))
            taken = value in self._entries
            name = self.fresh_variable(f"{value.name}_state") if taken else value.name
            self.nodes.append(NNVMNode(VARIABLE, name))
            found = self._states[value] = len(self.nodes) - 1, 0
            self.states[name] = tensor
        return found

    def reshaped(self, value: Value, shape: tuple[int, ...]) -> Entry:
        """A parameter with another shape: under its own name if nothing else uses it."""
        assert value.tensor is not None
        name = value.sources[0] if value.sources else value.name
        taken = name != value.name and name in self._names
        if len(value.uses) != 1 or value in self._entries or taken:
            name = self.fresh_variable(f"{name}_reshaped")
        self._names.add(name)
        return self.variable(name, value.tensor.reshaped(shape), {})

    def _source(self, value: Value) -> Entry:
        dtype = value.dtype
        if dtype is not None and dtype is not DType.BOOL and dtype not in DTYPES:
            raise Refusal(f"MXNet has no tensors of {dtype} ({value.name})")
        if value.tensor is None and value in self.graph.inputs:
            return self._input(value)
        tensor = value.tensor
        if tensor is not None:
            if dtype is DType.BOOL:
                tensor = Tensor.of(tensor.numpy().astype("float32"))
                self._carried[value] = DType.FLOAT32
            if not tensor.shape:
                tensor = tensor.reshaped((1,))
            if 0 in tensor.shape:
                raise Refusal(f"MXNet has no tensors without elements ({value.name} {value.type})")
        name = value.name if value not in self._states else self.fresh_variable(f"{value.name}_argument")
        return self.variable(name, tensor, {})

    def _input(self, value: Value) -> Entry:
        annotations: dict[str, str] = {}
        if value.dtype is DType.BOOL:
            raise Refusal(f"MXNet 1.x takes numbers for truths; the input {value.name} is bool")
        if value.rank == 0:
            raise Refusal(f"MXNet has no tensors without axes; the input {value.name} is {value.type}")
        if value.dtype not in (None, DType.FLOAT32):
            assert value.dtype is not None
            annotations["__dtype__"] = str(DTYPES[value.dtype])
        if value.shape is not None and all(isinstance(dim, int) for dim in value.shape):
            annotations["__shape__"] = str(tuple(value.shape))
        return self.variable(value.name, None, annotations)


def dtype_name(dtype: DType) -> str:
    """MXNet's name of a dtype. Refuses those that it lacks."""
    if dtype not in DTYPES and dtype is not DType.BOOL:
        raise Refusal(f"MXNet has no tensors of {dtype}")
    return str(dtype.value)


class ExportNode:
    """One node of the graph on its way out.

    `emit` adds the MXNet node whose output is the node's result, `step` one before it.
    """

    __slots__ = ("export", "node", "op", "stem")

    def __init__(self, export: Export, node: Node) -> None:
        self.export = export
        self.node = node
        self.op: Any = node.op
        self.stem = _stem(node)

    def __len__(self) -> int:
        return len(self.node.inputs)

    @property
    def result(self) -> Value:
        """The first result."""
        return self.node.outputs[0]

    def operand(self, slot: int) -> Value | None:
        """The operand in a slot, None if absent."""
        return self.node.inputs[slot] if slot < len(self.node.inputs) else None

    def value(self, slot: int) -> Value:
        """The operand in a slot that must be there."""
        found = self.operand(slot)
        if found is None:
            self.refuse(f"operand {slot} is absent")
        return found

    def entry(self, slot: int) -> Entry:
        """The entry of an operand in its own dtype."""
        return self.export.entry(self.value(slot))

    def entries(self) -> list[Entry]:
        """The entries of all operands."""
        return [self.entry(slot) for slot in range(len(self.node.inputs))]

    def known(self, slot: int) -> tuple[int, ...] | None:
        """The elements of a small integer operand, None for an absent one. Refuses if they are not known."""
        value = self.operand(slot)
        if value is None:
            return None
        found = None if value.known is None else value.known.integers()
        if found is None:
            self.refuse(f"{value.name} is computed; MXNet wants these numbers as attributes")
        return found

    def number(self, slot: int) -> float | None:
        """The element of an operand that is a constant of one element; None for all others."""
        value = self.operand(slot)
        if value is None or value.tensor is None or value.tensor.size != 1:
            return None
        return float(value.tensor.numpy().reshape(-1)[0])

    def shape(self, slot: int = 0) -> tuple[Dim, ...]:
        """The shape of an operand. Refuses if its rank is unknown."""
        value = self.value(slot)
        if value.shape is None:
            self.refuse(f"the number of axes of {value.name} is unknown; state the inputs' shapes")
        return value.shape

    def rank(self, slot: int = 0) -> int:
        """The number of axes of an operand. Refuses if it is unknown."""
        return len(self.shape(slot))

    def sizes(self, shape: Sequence[Dim] | None, what: str) -> tuple[int, ...]:
        """A shape as numbers. Refuses if some are open."""
        if shape is None or not all(isinstance(dim, int) for dim in shape):
            self.refuse(f"the sizes of {what} are open; state the inputs' shapes")
        return tuple(dim for dim in shape if isinstance(dim, int))

    def dtype(self, slot: int = 0) -> DType:
        """The dtype of an operand. Refuses if it is unknown."""
        dtype = self.value(slot).dtype
        if dtype is None:
            self.refuse(f"the dtype of operand {slot} is unknown")
        return dtype

    def step(self, op: str, *inputs: Entry, suffix: str = "", **attributes: Any) -> Entry:
        """Add an MXNet node on the way and give its first output."""
        name = f"{self.stem}_{suffix or op.lower().lstrip('_')}"
        return self.export.append(op, name, inputs, attributes), 0

    def emit(self, op: str, *inputs: Entry, carried: DType | None = None, **attributes: Any) -> None:
        """Add the MXNet node whose outputs are the node's results. Truths that are only moved stay what they were."""
        index = self.export.append(op, self.stem, inputs, attributes)
        for slot in range(len(self.node.outputs)):
            self.bind((index, slot), slot, carried=carried)

    def bind(self, entry: Entry, slot: int = 0, *, carried: DType | None = None) -> None:
        """Say which entry is a result of the node."""
        value = self.node.outputs[slot]
        if carried is None and value.dtype is DType.BOOL:
            truths = [operand for operand in self.node.inputs if operand is not None and operand.dtype is DType.BOOL]
            if not truths:
                self.refuse("nothing says in which dtype MXNet holds these truths")
            carried = self.export.carried(truths[-1])
        self.export.bind(value, entry, carried)

    def constant(self, elements: object, dtype: DType | None = None, suffix: str = "const") -> Entry:
        """A variable with these elements."""
        return self.export.variable(self.export.fresh_variable(f"{self.stem}_{suffix}"), Tensor.of(elements, dtype), {})

    def decide(self, kind: str, text: str) -> None:
        """Record a decision about this node, once however often the graph is written."""
        graph = self.node.graph
        if graph is not None and Decision(kind, self.node.name, text) not in graph.decisions:
            graph.decide(kind, self.node.name, text)

    def refuse(self, reason: str) -> NoReturn:
        """Say that this node cannot be said in MXNet."""
        raise Refusal(reason)


def _stem(node: Node) -> str:
    """The name of the MXNet node: MXNet calls the output of a node `x` by `x_output`, that of a split `x_output0`."""
    name = node.outputs[0].name
    for suffix in (SUFFIX, f"{SUFFIX}0"):
        if name.endswith(suffix) and len(name) > len(suffix):
            return name.removesuffix(suffix)
    return node.name if len(node.outputs) > 1 else name


ExportFunction = Callable[[ExportNode], None]
ExportTable = dict[type[Operator], ExportFunction]

__all__ = ["DTYPES", "Entry", "Export", "ExportFunction", "ExportNode", "ExportTable", "Refusal", "dtype_name"]
