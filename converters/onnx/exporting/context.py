"""What an operator's export function sees: one node of the graph, the opset, and the ONNX nodes it makes of it."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic

import numpy as np

from graphir.converters.kernel.exporting import BaseExportNode, O
from graphir.converters.kernel.exporting import P as P
from graphir.converters.kernel.exporting import table as table
from graphir.converters.onnx.dtypes import CODES
from graphir.converters.onnx.exporting.opsets import DEFAULT_OPSET, OLDEST_OPSET
from graphir.converters.onnx.exporting.runnable import plan_for
from graphir.converters.onnx.exporting.types import type_text
from graphir.converters.onnx.files.records import OPSET, OnnxGraph, OnnxNode
from graphir.converters.onnx.padding import pad_attributes
from graphir.decisions import DecisionKind
from graphir.graph import Graph, Node
from graphir.ops.base import Operator
from graphir.structure.names import Names, value_names
from graphir.structure.store import REWRITTEN
from graphir.tensor import Tensor
from graphir.types import DType


class Casts(enum.Enum):
    """What may be done about nodes that onnxruntime has no kernel for."""

    UNCHECKED = "unchecked"  # nobody asks
    NONE = "none"  # the model's own nodes at its own opset: they stay, and that is said
    EXACT = "exact"  # the model's own nodes at another opset: exact casts, else they stay
    ANY = "any"  # no file that cannot be opened: casts, or a refusal


class Export:
    """The export of one graph in the making: the ONNX nodes and initializers so far.

    Those of the subgraphs inside it share names, domains and what was refused with it.
    """

    def __init__(
        self,
        graph: Graph,
        opset: int,
        write_body: WriteBody,
        outer: Export | None = None,
        *,
        casts: Casts = Casts.ANY,
        has_chosen_opset: bool = False,
        alone: bool = False,
    ) -> None:
        """`write_body` gives the records of a graph inside a node, `casts` is what may be done for the runtime's sake,
        `has_chosen_opset` says that the caller chose the opset; with `alone` no names of the graph are kept free, for
        a trial of one node."""
        self.graph = graph
        self.opset = opset
        self.is_own = unchanged_opset(graph) == opset
        self.has_chosen_opset: bool = has_chosen_opset if outer is None else outer.has_chosen_opset
        self.casts: Casts = casts if outer is None else outer.casts
        self.names: Names = Names(() if alone else value_names(graph)) if outer is None else outer.names
        self.refused: dict[tuple[str, str], list[Node]] = {} if outer is None else outer.refused
        self.noted: dict[tuple[DecisionKind, str], list[str]] = {} if outer is None else outer.noted
        self.nodes: list[OnnxNode] = []
        self.initializers: dict[str, Tensor] = {}
        self.inner_types: dict[str, str] = {}
        self.domains: dict[str, int] = {} if outer is None else outer.domains
        self._write_body = write_body
        self._constants: dict[object, str] = {}
        self._node_names: Names = Names(()) if outer is None else outer._node_names

    def body(self, graph: Graph) -> OnnxGraph:
        """Return the records of a graph inside one of the nodes."""
        return self._write_body(graph, self)

    def note(self, kind: DecisionKind, text: str, node: str) -> None:
        """Note a decision about a node; nodes with the same text are one decision."""
        self.noted.setdefault((kind, text), []).append(node)

    def append(
        self,
        op_type: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        name: str,
        attributes: dict[str, Any],
        domain: str = "",
    ) -> None:
        """Add one ONNX node. No two get the same name, but any number none. A domain is of version 1 unless stated."""
        if domain:
            self.domains.setdefault(domain, 1)
        unique = self._node_names.fresh(name) if name else ""
        self.nodes.append(OnnxNode(op_type, inputs, outputs, unique, attributes, domain))

    def constant(self, elements: object, dtype: DType | None, name: str) -> str:
        """Return the name of an initializer that holds `elements`; equal ones are shared."""
        tensor = Tensor.of(elements, dtype)
        key = (tensor.dtype, tensor.shape, tensor.numpy().tobytes())
        known = self._constants.get(key)
        if known is None:
            known = self._constants[key] = self.own_constant(tensor, name)
        return known

    def own_constant(self, tensor: Tensor, name: str) -> str:
        """Return the name of a new initializer that nothing else shares."""
        unique_name = self.names.fresh(name)
        self.initializers[unique_name] = tensor
        return unique_name


WriteBody = Callable[[Graph, Export], OnnxGraph]


class ExportNode(BaseExportNode[O], Generic[O]):
    """One node of the graph on its way out: `emit` adds the ONNX node that gives its results. Operands are names."""

    __slots__ = ("_export",)

    def __init__(self, export: Export, node: Node) -> None:
        super().__init__(node)
        self._export = export

    @property
    def opset(self) -> int:
        """The target's opset."""
        return self._export.opset

    def opset_is_asked(self) -> bool:
        """Return whether the opset was asked for, and not chosen as the lowest that says all nodes."""
        return self._export.has_chosen_opset

    def source_opset(self) -> int | None:
        """Return the opset of the ONNX model that the graph came from, None if it came from elsewhere."""
        return opset_of_source(self._export.graph)

    def may_compose(self) -> bool:
        """Return whether nodes may become others for the runtime's sake: not where they are an ONNX model's own."""
        return self._export.casts is Casts.ANY

    def needs_composition(self) -> bool:
        """Return whether the runtime has no kernel for the operator itself, nor one that an exact cast leads to, and it
        may be composed."""
        if not self.may_compose():
            return False
        values = [value for value in (*self.node.inputs, *self.node.outputs) if value is not None]
        outputs = [value.name for value in self.node.outputs]
        node = OnnxNode(self.op.name, self.input_names(), outputs, self.node.name, {})
        plan = plan_for(node, {value.name: type_text(value.type) for value in values}, self.opset)
        return bool(plan.missing or plan.rounding)

    def input_names(self) -> list[str]:
        """Return the operands' names, "" for absent ones, without absent ones at the end."""
        names = ["" if value is None else value.name for value in self.node.inputs]
        while names and not names[-1]:
            names.pop()
        return names

    def emit(
        self, op_type: str, inputs: Sequence[str], *, domain: str = "", every_output: bool = False, **attributes: Any
    ) -> None:
        """Add the ONNX node that gives the node's results.

        Results that nothing uses are left out, unless `every_output` says that ONNX counts them.
        """
        outputs = [
            value.name if every_output or value.uses or value.graph.is_output(value) else ""
            for value in self.node.outputs
        ]
        if not outputs[0]:
            outputs[0] = self.node.outputs[0].name
        while not outputs[-1]:
            outputs.pop()
        self._export.append(op_type, inputs, outputs, self.node.name, _drop_absent(attributes), domain)

    def emit_result(self, slot: int, op_type: str, inputs: Sequence[str], **attributes: Any) -> None:
        """Add the ONNX node whose output is one of the node's results, unless it is a further one that nothing uses."""
        value = self.node.outputs[slot]
        if slot == 0 or value.uses or value.graph.is_output(value):
            self._export.append(op_type, inputs, (value.name,), self.node.name, _drop_absent(attributes))

    def emit_as_is(
        self, domain: str, op_type: str, absent: Sequence[int], attributes: dict[str, Any], *, name: str
    ) -> None:
        """Add the ONNX node of a foreign operator with every input and output slot that its source had."""
        version = _metadata(self._export.graph, f"{OPSET}{domain}")
        self._export.domains.setdefault(domain, int(version) if version and version.isdigit() else 1)
        inputs = ["" if value is None else value.name for value in self.node.inputs]
        outputs = ["" if index in absent else value.name for index, value in enumerate(self.node.outputs)]
        self._export.append(op_type, inputs, outputs, name, attributes, domain)

    def subgraph(self, index: int) -> OnnxGraph:
        """Return one of the node's subgraphs, to be given to `emit` as an attribute."""
        return self._export.body(self.node.subgraphs[index])

    def fresh_name(self, wanted: str) -> str:
        """Return `wanted`, or with a number: a name that nothing in the file has."""
        return self._export.names.fresh(wanted)

    def inline(self, graph: Graph) -> None:
        """Write a graph in the node's place: inputs and outputs are called like operands and results, other values
        have names of `fresh_name`."""
        records = self._export.body(graph)
        self._export.nodes.extend(records.nodes)
        self._export.initializers.update(records.initializers)
        self._export.inner_types.update((value.name, type_text(value.type)) for value in graph.values)

    def step(
        self, op_type: str, inputs: Sequence[str], *, suffix: str = "", domain: str = "", **attributes: Any
    ) -> str:
        """Add an ONNX node with one output on the way; returns the output's name."""
        name = f"{self.node.name}_{suffix or op_type.lower()}"
        output = self._export.names.fresh(name)
        self._export.append(op_type, inputs, (output,), name, _drop_absent(attributes), domain)
        return output

    def steps(
        self, op_type: str, inputs: Sequence[str], count: int, *, suffix: str = "", **attributes: Any
    ) -> list[str]:
        """Add an ONNX node with `count` outputs; returns their names."""
        name = f"{self.node.name}_{suffix or op_type.lower()}"
        outputs = [self._export.names.fresh(f"{name}_{index}") for index in range(count)]
        self._export.append(op_type, inputs, outputs, name, _drop_absent(attributes))
        return outputs

    def reduce(self, op_type: str, name: str, axes: Sequence[int], *, suffix: str = "", **attributes: Any) -> str:
        """Add a reduction on the way, whose axes are an operand from opset 18 on."""
        if self.opset >= 18:
            return self.step(op_type, [name, self.vector(axes)], suffix=suffix, **attributes)
        return self.step(op_type, [name], suffix=suffix, axes=tuple(axes), **attributes)

    def demand(self, since: int, what: str, *, when: bool = True) -> None:
        """Refuse what exists from an opset on, `when` it occurs and the target is older."""
        if when and self.opset < since:
            self.refuse(f"{what} from opset {since} on, the target is {self.opset}")

    def constant(self, elements: object, dtype: DType | None = None, suffix: str = "const") -> str:
        """Return the name of an initializer with these elements."""
        return self._export.constant(elements, dtype, f"{self.node.name}_{suffix}")

    def own_constant(self, tensor: Tensor, suffix: str) -> str:
        """Return the name of a new initializer that no other operand shares."""
        return self._export.own_constant(tensor, f"{self.node.name}_{suffix}")

    def vector(self, numbers: Sequence[int]) -> str:
        """Return the name of an int64 vector. Raises FormatError for one that is longer than the limit allows."""
        self.charge_vector(numbers)
        return self.constant(np.asarray(numbers, np.int64))

    def scalar(self, number: float, dtype: DType | None = None) -> str:
        """Return the name of a scalar, of the first operand's dtype if none is given."""
        return self.constant(number, dtype or self.dtype())


def _metadata(graph: Graph, key: str) -> str | None:
    while graph.parent is not None:
        graph = graph.parent
    return graph.metadata.get(key)


def opset_of_source(graph: Graph) -> int | None:
    """Return the opset of the ONNX model that a graph, or the one around it, came from; None if it came from
    elsewhere."""
    stated = _metadata(graph, OPSET)
    return int(stated) if stated is not None and stated.isdecimal() else None


def operators_at(graph: Graph, opset: int | None, kinds: Iterable[type[Operator]]) -> list[type[Operator]]:
    """Return those of the operators that ONNX has at the opset, or at the one that the graph is written with."""
    from onnx.defs import has

    target = opset or max(opset_of_source(graph) or DEFAULT_OPSET, OLDEST_OPSET)
    return [kind for kind in kinds if has(kind.__name__, target)]


def unchanged_opset(graph: Graph) -> int | None:
    """Return the same where the graph is still that model, node by node: None for one that was rewritten, as in
    float16."""
    return None if _metadata(graph, REWRITTEN) else opset_of_source(graph)


def _drop_absent(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}


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


def direct(*, since: int = 1, **renamed: str) -> ExportFunction:
    """Export an operator that ONNX has under the same name with the same attributes, from opset `since` on.

    `renamed` maps fields to other attribute names; `padding` becomes `pads` or `auto_pad`. Attributes at their default
    are left out; `same_shape`, which ONNX has no word for, too.
    """

    def export_direct(node: AnyNode) -> None:
        node.demand(since, f"{node.op.name} exists")
        attributes: dict[str, Any] = {}
        for name, value in node.op.attributes().items():
            if name == "padding":
                attributes |= pad_attributes(value)
            elif name != "same_shape":
                attributes[renamed.get(name, name)] = onnx_value(value)
        node.emit(node.op.name, node.input_names(), **attributes)

    return export_direct


def onnx_value(value: Any) -> Any:
    """Return an operator's field as an ONNX attribute: dtypes as their numbers, other enums as texts, flags as 0 or
    1."""
    if isinstance(value, DType):
        return CODES[value]
    if isinstance(value, enum.Enum):
        return value.value
    return int(value) if isinstance(value, bool) else value


def by_opset(versions: Mapping[int, Callable[[ExportNode[P]], None]]) -> Callable[[ExportNode[P]], None]:
    """Return the function of the largest version that is not above the target's opset; none that old is a refusal."""
    ordered = sorted(versions, reverse=True)

    def export_version(node: ExportNode[P]) -> None:
        for since in ordered:
            if since <= node.opset:
                versions[since](node)
                return
        node.refuse(f"{node.op.name} exists from opset {ordered[-1]} on, the target is {node.opset}")

    return export_version


def born(since: int, compose: Callable[[ExportNode[P]], None]) -> Callable[[ExportNode[P]], None]:
    """Return the operator itself from opset `since` on. Below, it is composed where that opset was asked for: where the
    opset is free, a higher one says it better."""

    def export_born(node: ExportNode[P]) -> None:
        if node.opset >= since or not node.opset_is_asked():
            direct(since=since)(node)
        else:
            compose(node)

    return export_born
