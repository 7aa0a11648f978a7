"""The export of one graph in the making: which MXNet node or variable carries which value.

MXNet's tensors differ from the graph's in two ways, which are kept here and nowhere else. Comparisons give numbers,
positions come as floats, and dtypes that MXNet lacks are held in wider ones, so a value may be *carried* in another
dtype than its own; it is converted where that matters. And reductions leave an axis: a value without axes is carried
with the shape (1,). Where such a value, or one without elements, is an input or an output, the symbol is written for
MXNet's np_shape semantics (`Export.np_shape`), which have both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from graphir.converters.mxnet.exporting.dtypes import (
    DTYPES,
    NeedsNumpyShape,
    Refusal,
    Unwritten,
    check_held,
    dtype_name,
    held_dtype,
)
from graphir.converters.mxnet.exporting.named_nodes import NamedNodes
from graphir.converters.mxnet.files.records import VARIABLE, NNVMNode
from graphir.decisions import DecisionKind
from graphir.graph import Decision, Graph, Node, Value
from graphir.ops.base import Operator
from graphir.structure.cloning import Images, of_images
from graphir.tensor import Tensor
from graphir.types import DType

Entry = tuple[int, int]
Reading = tuple[Operator, tuple[Value | None, ...]]
SUFFIX = "_output"
NO_AXES = "MXNet has tensors without axes under np_shape semantics only"
NO_ELEMENTS = "MXNet has tensors without elements under np_shape semantics only"


class Export(NamedNodes):
    """The export of one graph in the making: the MXNet nodes, parameters, decisions and refusals so far.

    `np_shape` says that the symbol is written for MXNet's np_shape semantics. `node` is the node being written,
    `written` those that are, `refused` those that MXNet cannot say, `hopeless` those of them that nothing else says
    either. A value whose node is neither is asked for too early: `Unwritten` tells the writer so.
    """

    def __init__(self, graph: Graph, *, np_shape: bool = False) -> None:
        super().__init__()
        self.graph = graph
        self.np_shape = np_shape
        self.parameters: dict[str, Tensor] = {}
        self.states: dict[str, Tensor | None] = {}
        self.decisions: dict[Decision, None] = {}
        self.refused: dict[Node, Refusal] = {}
        self.hopeless: set[Node] = set()
        self.stand_ins: set[str] = set()
        self.written: dict[Node, Reading] = {}
        self.node: Node | None = None
        self._asked: dict[Node | None, list[Value]] = {}
        self._entries: dict[Value, Entry] = {}
        self._named_after: dict[Entry, Value] = {}
        self._carried: dict[Value, DType] = {}
        self._inputs: dict[Value, Entry] = {}
        self._casts: dict[tuple[Entry, DType], Entry] = {}
        self._states: dict[Value, Entry] = {}
        self._named: set[int] = set()
        self._made: dict[Node | None, list[int]] = {}
        self._reserved: set[Value] = {*graph.inputs, *graph.parameters}
        self._reserved_names: set[str] = {value.name for value in self._reserved}
        self._names: set[str] = set(self._reserved_names)

    def decide(self, kind: DecisionKind, node: str, text: str) -> None:
        """Note a decision; the graph gets it if all of it can be written, once however often that is done."""
        self.decisions[Decision(kind, node, text)] = None

    def append(self, op: str, name: str, inputs: Sequence[Entry], attributes: dict[str, Any]) -> int:
        """Add one MXNet node; attributes are written as Python prints them, None is left out."""
        attrs = {key: str(value) for key, value in attributes.items() if value is not None}
        index = len(self.nodes)
        self.nodes.append(NNVMNode(op, self._fresh(name, index), attrs, {}, list(inputs)))
        self._made.setdefault(self.node, []).append(index)
        return index

    def fresh_variable(self, wanted: str) -> str:
        """Return a name that no variable has."""
        name, number = wanted, 0
        while name in self._names:
            number += 1
            name = f"{wanted}_{number}"
        self._names.add(name)
        return name

    def _own_name(self, value: Value) -> str:
        """Return the name of an input or parameter, or one near to it if it came while other names were given away."""
        if value in self._reserved:
            return value.name
        name = self.fresh_variable(value.name)
        self._reserved.add(value)
        self._reserved_names.add(name)
        return name

    def variable(self, name: str, tensor: Tensor | None, annotations: dict[str, str]) -> Entry:
        """Add a variable; with a tensor it is a parameter."""
        if tensor is not None:
            self.parameters[name] = tensor
            if tensor.dtype is not DType.FLOAT32:
                annotations = {"__dtype__": str(DTYPES[tensor.dtype]), **annotations}
        self._made.setdefault(self.node, []).append(len(self.nodes))
        self.nodes.append(NNVMNode(VARIABLE, name, {}, annotations))
        return len(self.nodes) - 1, 0

    def raw(self, value: Value) -> Entry:
        """Return the entry that carries a value, in whatever dtype (see `carried`).

        A value whose node was refused is a constant if its elements are known. If nothing else says it either, a
        variable stands for it, so that what else is refused behind it is found too.
        """
        self._asked.setdefault(self.node, []).append(value)
        result = self._entries.get(value)
        if result is None:
            if not self._is_awaited(value):
                result = self._source(value)
            elif value.producer in self.hopeless:
                name = self.fresh_variable("refused")
                self.stand_ins.add(name)
                result = self.variable(name, None, {})
            else:
                raise Unwritten(value)
            self._entries[value] = result
            self._named_after.setdefault(result, value)
        return result

    def _is_awaited(self, value: Value) -> bool:
        """Return whether a node of this graph must be written before the value has an entry."""
        if value.producer is None or value.graph is not self.graph:
            return False
        if value.integers is not None:
            return False
        return value.producer in self.refused or not (value.shape is not None and 0 in value.shape)

    def begin(self, node: Node | None) -> None:
        """A node is about to be written, or the outputs, maybe again."""
        self.node = node
        self._asked[node] = []

    def end(self, node: Node) -> None:
        """A node is written as it stands."""
        self.written[node] = node.op, node.inputs

    def take_back(self, nodes: Iterable[Node]) -> None:
        """Forget what was written of some nodes, so that they can be written again under the same names.

        What others may share stays: inputs, parameters, and casts.
        """
        shared = {index for index, _ in (*self._casts.values(), *self._states.values(), *self._inputs.values())}
        for node in nodes:
            self.written.pop(node, None)
            for value in node.outputs:
                self._entries.pop(value, None)
                self._carried.pop(value, None)
            for index in self._made.pop(node, ()):
                if index not in shared:
                    self._free(index)

    def _free(self, index: int) -> None:
        """Give the names of an MXNet node that nothing uses back, unless it carries a parameter of the graph."""
        record = self.nodes[index]
        if record.op != VARIABLE:
            if self._node_names.get(record.name) == index:
                del self._node_names[record.name]
        elif (index, 0) not in self._named_after:
            self.parameters.pop(record.name, None)
            if record.name not in self._reserved_names:
                self._names.discard(record.name)

    def changed(self) -> list[Node]:
        """Return the written nodes that do not stand as they were written, or that are computed of what such nodes
        give."""
        results: dict[Node, None] = {}
        for node, (op, operands) in self.written.items():
            same = node.graph is self.graph and node.op is op and node.inputs == operands and not node.subgraphs
            if not same or any(value is not None and value.producer in results for value in operands):
                results[node] = None
        return list(results)

    def move(self, graph: Graph, images: Images, nodes: Mapping[Node, Node]) -> None:
        """Go on with a copy of the graph, with `images` of its values and `nodes` of its nodes."""
        known: dict[Node | None, Node | None] = {None: None}
        known.update((node, image) for node, image in nodes.items())

        self.graph, self.node = graph, known[self.node]
        self.refused = {nodes[node]: refusal for node, refusal in self.refused.items()}
        self.written = {
            nodes[node]: (op, tuple([None if value is None else images.get(value, value) for value in operands]))
            for node, (op, operands) in self.written.items()
        }
        lists = {id(request): [images.get(value, value) for value in request] for request in self._asked.values()}
        self._asked = {known[node]: lists[id(request)] for node, request in self._asked.items()}
        self._made = {known[node]: result for node, result in self._made.items()}
        self._entries, self._carried = of_images(self._entries, images), of_images(self._carried, images)
        self._inputs, self._states = of_images(self._inputs, images), of_images(self._states, images)
        self._named_after = {entry: images.get(value, value) for entry, value in self._named_after.items()}
        self._reserved = {images.get(value, value) for value in self._reserved}

    def covers(self, nodes: Iterable[Node]) -> None:
        """Say that the MXNet nodes of the node being written compute these too: they are not written themselves."""
        request = self._asked.setdefault(self.node, [])
        for node in nodes:
            self.end(node)
            self._asked[node] = request

    def asked(self, node: Node | None) -> list[Value]:
        """Return the values whose entries a node wanted; None are the outputs."""
        return self._asked.get(node, [])

    def carried(self, value: Value) -> DType | None:
        """Return the dtype in which MXNet holds the value; None if unknown. Only what carries it tells that of
        truths."""
        if value.dtype is DType.BOOL:
            self.raw(value)
        if value in self._carried or value.dtype is None:
            return self._carried.get(value)
        return held_dtype(value.dtype)

    def entry(self, value: Value) -> Entry:
        """Return the entry of a value in its own dtype, or the wider one for it; truths stay the numbers that carry
        them."""
        result, stored = self.raw(value), self.carried(value)
        if value.dtype is None or value.dtype is DType.BOOL or stored is held_dtype(value.dtype):
            return result
        return self.cast(result, value.dtype)

    def is_bound(self, value: Value) -> bool:
        """Return whether an entry is known to be the value: a result that nothing uses may have none."""
        return value in self._entries

    def cast(self, entry: Entry, dtype: DType) -> Entry:
        """Return the entry converted, once for all users."""
        dtype = held_dtype(dtype)
        known = self._casts.get((entry, dtype))
        if known is None:
            name = f"{self.nodes[entry[0]].name}_{dtype}"
            known = self._casts[entry, dtype] = self.append("Cast", name, [entry], {"dtype": dtype_name(dtype)}), 0
        return known

    def bind(self, value: Value, entry: Entry, carried: DType | None = None) -> None:
        """Say which entry is a value of the graph. The node takes the value's name unless it has that of another."""
        self._entries[value] = entry
        self._named_after.setdefault(entry, value)
        if carried is not None and carried is not value.dtype:
            self._carried[value] = carried
        index, _ = entry
        node = self.nodes[index]
        if value.name.endswith(SUFFIX) and index not in self._named and node.op != VARIABLE:
            self._named.add(index)
            stem = value.name.removesuffix(SUFFIX)
            if node.name != stem:
                node.name = self._fresh(stem, index)

    def state(self, value: Value, dtype: DType) -> Entry | None:
        """Return the auxiliary state with a parameter's elements; None if the value is no parameter.

        MXNet keeps states and arguments apart: a parameter that is used as both is written twice.
        """
        if value.producer is not None or self.graph.is_input(value):
            return None
        result = self._states.get(value)
        if result is None:
            tensor = value.tensor
            if tensor is not None and tensor.dtype is not dtype:
                tensor = Tensor.of(tensor.numpy().astype(dtype.numpy()))
            taken = value in self._entries
            name = self.fresh_variable(f"{value.name}_state") if taken else self._own_name(value)
            self.nodes.append(NNVMNode(VARIABLE, name))
            result = self._states[value] = len(self.nodes) - 1, 0
            self.states[name] = tensor
        return result

    def reshaped(self, value: Value, shape: tuple[int, ...]) -> Entry:
        """Return a parameter with another shape: under its own name if nothing else uses it."""
        assert value.tensor is not None
        name = value.sources[0] if value.sources else value.name
        taken = name != value.name and name in self._names
        if len(value.uses) != 1 or value in self._entries or taken:
            name = self.fresh_variable(f"{name}_reshaped")
        elif name == value.name:
            name = self._own_name(value)
        self._names.add(name)
        return self.variable(name, value.tensor.reshaped(shape), {})

    def _source(self, value: Value) -> Entry:
        """Return the entry of a value that no node was written for: an input, a parameter, or elements that are
        known."""
        check_held(value.name, value.type)
        if value.tensor is None and self.graph.is_input(value):
            return self._input(value)
        if value.shape is not None and 0 in value.shape:
            return self._empty(value)
        tensor = value.tensor
        if value.known is not None and value.producer is not None:
            elements = np.array(value.known.integers()).reshape(value.known.shape)
            assert value.dtype is not None
            tensor = Tensor.of(elements.astype(value.dtype.numpy()))
        if tensor is not None:
            tensor = self._held(value, tensor)
            if not tensor.shape:
                tensor = tensor.reshaped((1,))
        if value in self._states or value.producer is not None:
            return self.variable(self.fresh_variable(f"{value.name}_argument"), tensor, {})
        return self.variable(self._own_name(value), tensor, {})

    def _held(self, value: Value, tensor: Tensor) -> Tensor:
        """Return the tensor in a dtype that MXNet has: truths as float32, others in a wider one."""
        dtype = DType.FLOAT32 if tensor.dtype is DType.BOOL else held_dtype(tensor.dtype)
        if dtype is tensor.dtype:
            return tensor
        if tensor.dtype is DType.BOOL:
            self._carried[value] = DType.FLOAT32
        else:
            self.decide_widening(value)
        return Tensor.computed(dtype, tensor.shape, lambda: tensor.numpy().astype(dtype.numpy()))

    def decide_widening(self, value: Value) -> None:
        """Note that MXNet holds a value in a wider dtype, if it does."""
        if value.dtype is not None and held_dtype(value.dtype) is not value.dtype:
            stored = held_dtype(value.dtype)
            self.decide(
                DecisionKind.DTYPE,
                value.name,
                f"MXNet has no {value.dtype}; {stored}, which has all its values, holds it",
            )

    def _empty(self, value: Value) -> Entry:
        """Return a tensor without elements: a constant, whatever made it."""
        if not self.np_shape:
            raise NeedsNumpyShape(f"{NO_ELEMENTS} ({value.name} {value.type})")
        shape = value.shape
        if shape is None or value.dtype is None or not all(isinstance(dim, int) for dim in shape):
            raise Refusal(f"the sizes of {value.name} {value.type}, which has no elements, are open")
        stored = DType.FLOAT32 if value.dtype is DType.BOOL else held_dtype(value.dtype)
        self._carried[value] = stored
        return self.append("_zeros", value.name, (), {"shape": shape, "dtype": dtype_name(stored)}), 0

    def _input(self, value: Value) -> Entry:
        annotations: dict[str, str] = {}
        scalar = value.rank == 0
        if not self.np_shape and value.shape is not None:
            if scalar:
                raise NeedsNumpyShape(f"{NO_AXES}; the input {value.name} is {value.type}")
            if 0 in value.shape:
                raise NeedsNumpyShape(f"{NO_ELEMENTS}; the input {value.name} is {value.type}")
        if value.dtype not in (None, DType.FLOAT32):
            assert value.dtype is not None
            annotations["__dtype__"] = str(DTYPES[held_dtype(value.dtype)])
            self.decide_widening(value)
        if value.shape is not None:
            unknown = -1 if self.np_shape else 0
            annotations["__shape__"] = str(tuple(dim if isinstance(dim, int) else unknown for dim in value.shape))
        entry = self._inputs[value] = self.variable(value.name, None, annotations)
        if scalar:
            entry = self.append("Reshape", f"{value.name}_axis", [entry], {"shape": (1,)}), 0
        if value.dtype is DType.BOOL:
            self._carried[value] = DType.FLOAT32
            entry = self.cast(entry, DType.FLOAT32)
        return entry

    def head(self, value: Value) -> Entry:
        """Return the entry of an output: truths become MXNet's own bool there, and values without axes lose the one
        they had.

        Refuses as `raw` does.
        """
        check_held(value.name, value.type)
        if value.rank == 0 and not self.np_shape:
            raise NeedsNumpyShape(f"{NO_AXES}; the output {value.name} is {value.type}")
        entry = self.raw(value)
        if value in self._inputs:
            return self._inputs[value]
        wanted = value.dtype if value.dtype is None else held_dtype(value.dtype)
        steps: list[tuple[str, dict[str, Any]]] = []
        if wanted is not None and wanted is not self.carried(value):
            steps.append(("Cast", {"dtype": dtype_name(wanted)}))
        if value.rank == 0:
            steps.append(("_np_reshape", {"newshape": ()}))
        self.decide_widening(value)
        for op, attributes in steps:
            entry = self.append(op, f"{self.nodes[entry[0]].name}_{op.lower().lstrip('_')}", [entry], attributes), 0
        other = self._named_after.get(entry, value)
        if not steps and other is not value:  # a node that MXNet does not need gave the value its name
            alone = other.producer is not None and len(other.producer.outputs) == 1
            if not alone or self.nodes[entry[0]].op == VARIABLE or self.graph.is_output(other):
                entry = self.append("_copy", f"{self.nodes[entry[0]].name}_copy", [entry], {}), 0
            self._named_after[entry] = value
        if steps or other is not value:
            self.rename(entry[0], value.name.removesuffix(SUFFIX))
        return entry
