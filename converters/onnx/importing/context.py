"""What an operator's import function sees: one ONNX node, and the graph that it becomes part of."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from graphir.converters.kernel.importing import BaseImportNode
from graphir.converters.kernel.refusals import QuietRefusal, Refusal
from graphir.converters.onnx.importing import attributes
from graphir.graph import Graph, Value
from graphir.ops.base import Operator
from graphir.padding import Padding
from graphir.tensor import Tensor
from graphir.types import DType, Type

if TYPE_CHECKING:
    from graphir.converters.onnx.importing.importer import Importer
    from graphir.converters.onnx.importing.scope import Scope

E = TypeVar("E", bound=enum.Enum)
_ABSENT: Any = object()
# Attributes of the first opset that said which buffers may be overwritten; they mean nothing for the result.
IGNORED = frozenset({"consumed_inputs"})


class ImportNode(BaseImportNode):
    """One ONNX node on its way in.

    Attributes are read by name and default to what ONNX says at the model's opset; one that no function has read when
    the node is done is an error, never ignored.
    """

    __slots__ = ("_attributes", "_read", "_scope", "domain", "inputs", "is_unnamed", "opset", "output_names")

    importer: Importer
    inputs: tuple[Value | None, ...]

    def __init__(self, scope: Scope, proto: Any, inputs: Sequence[Value | None], opset: int) -> None:
        name = proto.name or next((name for name in proto.output if name), proto.op_type)
        super().__init__(scope.importer, scope.graph, name, proto.op_type)
        self._scope = scope
        self._attributes = {attribute.name: attribute for attribute in proto.attribute}
        self._read: set[str] = set()
        self.domain: str = proto.domain
        self.is_unnamed = not proto.name
        self.opset = opset
        self.inputs = tuple(inputs)
        self.output_names: tuple[str, ...] = tuple(proto.output)
        if len(self._attributes) != len(proto.attribute):
            self.refuse("it states an attribute twice")

    def lacks(self, what: str) -> NoReturn:
        """Say that the model does not fix what the node needs."""
        self.refuse(f"it needs {what}, which nothing fixes; give the shapes of the inputs")

    def has(self, name: str) -> bool:
        """Return whether the node states the attribute."""
        return name in self._attributes

    def attribute(self, name: str, default: Any = _ABSENT) -> Any:
        """Return an attribute as int, float, str, tuple or proto.

        One that the node does not state has the default that ONNX gives at this opset, or else `default`; without
        either the node is refused.
        """
        self._read.add(name)
        proto = self._attributes.get(name)
        if proto is not None:
            attributes.check_kind(proto, attributes.schema_kinds(self.op, self.opset).get(name))
            return attributes.plain(proto)
        stated = (attributes.schema_defaults(self.op, self.opset) or {}).get(name)
        if stated is not None:
            return stated
        if default is _ABSENT:
            self.refuse(f"the attribute {name} is missing")
        return default

    def attribute_protos(self) -> list[Any]:
        """Return the AttributeProtos as they are, all of them read herewith."""
        self._read.update(self._attributes)
        return list(self._attributes.values())

    def captured(self, proto: Any) -> list[str]:
        """Return the values around this node that the graphs of an AttributeProto use."""
        return self._scope.captured(proto)

    def flag(self, name: str, default: bool = False) -> bool:
        """Return an attribute that is 0 or 1. Raises Refusal for another number."""
        return attributes.to_flag(name, self.attribute(name, int(default)))

    def ints(self, name: str) -> tuple[int, ...]:
        """Return a list of integers, empty if not stated."""
        values: tuple[int, ...] = self.attribute(name, ())
        return values

    def enum(self, name: str, cls: type[E], default: E) -> E:
        """Return an attribute whose texts are the values of an enum."""
        member: E = attributes.enum_of(cls, self.attribute(name, default.value), name)
        return member

    def tensor(self, name: str) -> Tensor | None:
        """Return an attribute that is a tensor, None if not stated."""
        proto = self.attribute(name, None)
        if proto is not None and not hasattr(proto, "data_type"):
            raise Refusal(f"the attribute {name} is {type(proto).__name__}, expected a tensor")
        return None if proto is None else self._scope.tensor(proto, f"attribute {name} of node {self.name}")

    def sparse_tensor(self, name: str) -> Tensor:
        """Return an attribute that is a sparse tensor, as a dense one that is made when needed."""
        return self._scope.sparse_tensor(self.attribute(name), f"attribute {name} of node {self.name}")

    def padding(self) -> Padding:
        """Return `pads` and `auto_pad` as the IR has padding."""
        return attributes.padding_of(self.attribute("auto_pad", "NOTSET"), self.ints("pads"))

    def subgraph(self, name: str, inputs: Sequence[Type] = (), *, parent: Graph | None = None) -> Graph:
        """Return a graph attribute as a subgraph, which sees the values around it. Pass it to `emit` in `subgraphs`.

        `inputs` is what is known of its inputs' types besides what they state; `parent` another graph inside this one
        that it belongs to. Refuses a body with problems of its own.
        """
        chosen = self.graph if parent is None else parent
        try:
            return self._scope.subgraph(self._graph_attribute(name), f"{self.name}.{name}", inputs, chosen)
        except QuietRefusal:
            self._look_at_other_bodies()
            raise

    def subgraph_if_valid(self, name: str) -> Graph | None:
        """Return a graph attribute as a subgraph, or None if it cannot be imported."""
        return self._scope.subgraph_if_valid(self._graph_attribute(name), f"{self.name}.{name}")

    def _graph_attribute(self, name: str) -> Any:
        proto = self.attribute(name)
        if not hasattr(proto, "initializer"):
            self.refuse(f"attribute {name} is {proto!r}, expected a graph")
        return proto

    def _look_at_other_bodies(self) -> None:
        """Import the graphs that nothing has asked for yet, so that what is wrong with them is recorded too."""
        for name, proto in self._attributes.items():
            if name not in self._read and proto.HasField("g"):
                with suppress(QuietRefusal):
                    self._scope.subgraph(self.attribute(name), f"{self.name}.{name}", (), self.graph)

    def new_subgraph(self, name: str) -> Graph:
        """Return an empty graph inside the one in the making."""
        return Graph(name, parent=self.graph)

    def type_attribute(self, name: str) -> Type:
        """Return an attribute that is a type."""
        return self._scope.type_of(self.attribute(name))

    def fields(self, cls: type[Operator], **renamed: str) -> dict[str, Any]:
        """Return the fields of an operator class, from the attributes of the same names (`renamed`: field to
        attribute).

        Fields whose attribute is neither stated nor has a default in ONNX are left to the class.
        """
        stated = attributes.fields_of(cls)
        fields: dict[str, Any] = {}
        for field, read in stated.readers.items():
            name = renamed.get(field, field)
            value = self.attribute(name, None)
            if value is not None:
                fields[field] = read(name, value)
        if stated.padded:
            fields["padding"] = self.padding()
        for field in stated.required:
            if field not in fields:
                self.refuse(f"the attribute {renamed.get(field, field)} is missing")
        return fields

    def emit_all(
        self, op: Operator, *inputs: Value | None, subgraphs: Sequence[Graph] = ()
    ) -> tuple[Value, ...]:
        """Add the operator whose results are the node's, in order; further results of the operator get fresh names."""
        wanted = [index + 1 for index, name in enumerate(self.output_names) if name]
        if max(wanted, default=0) > op.output_count:
            self.refuse(f"it has {wanted[-1]} outputs, but {op.name} gives {op.output_count}")
        operands = list(inputs)
        while operands and operands[-1] is None and len(operands) > op.least_inputs and op.most_inputs is not None:
            operands.pop()
        for slot, (value, name) in enumerate(zip(operands, op.inputs, strict=False)):
            if value is None and not name.endswith(("?", "*")):
                self.refuse(f"input {slot} ({name}) is missing")
        names = self.result_names(op.output_count)
        return self.graph.add_node(op, operands, name=self.name, output_names=names, subgraphs=subgraphs).outputs

    def emit(self, op: Operator, *inputs: Value | None, subgraphs: Sequence[Graph] = ()) -> Value:
        """Return the same; gives the first result."""
        return self.emit_all(op, *inputs, subgraphs=subgraphs)[0]

    def result_names(self, count: int) -> list[str]:
        """Return the file's names of the node's results, fresh ones where it has none."""
        stated = (*self.output_names, *[""] * count)[:count]
        return [name or self.fresh_name(f"{self.name}_{slot}") for slot, name in enumerate(stated)]

    def bind(self, slot: int, value: Value) -> None:
        """Let a value that exists be the node's result number `slot`: it takes the name, or a copy of it does."""
        self._scope.bind(self.output_names[slot], value)

    def scalar(self, number: float, dtype: DType | None = None) -> Value:
        """Return a constant scalar, of the first operand's dtype if none is given."""
        return self.constant(number, dtype or self.dtype())

    def ignore(self, *names: str) -> None:
        """Say that these attributes have no bearing on the result."""
        self._read.update(names)

    def check_attributes(self) -> None:
        """Refuse if an attribute is stated that ONNX does not have at this opset, or that nothing has read."""
        known = attributes.schema_defaults(self.op, self.opset) or {}
        stated = [name for name in self._attributes if name not in IGNORED]
        extra = [name for name in stated if name not in known]
        if extra:
            self.refuse(f"it has no attribute {', '.join(extra)} at opset {self.opset}")
        unread = [name for name in stated if name not in self._read]
        if unread:
            self.refuse(f"its attribute {', '.join(unread)} is not supported")


ImportFunction = Callable[[ImportNode], object]
# For each operator, by the first opset that a function is right for.
ImportTable = Mapping[str, Mapping[int, ImportFunction]]


class Direct:
    """An import function that needs nothing but the node's attributes; see `direct`."""

    __slots__ = ("_cls", "_renamed")

    def __init__(self, cls: type[Operator], renamed: Mapping[str, str]) -> None:
        self._cls = cls
        self._renamed = renamed

    def __call__(self, node: ImportNode) -> Value:
        """Add the operator."""
        return node.emit(self._cls(**node.fields(self._cls, **self._renamed)), *node.inputs)


def direct(cls: type[Operator], **renamed: str) -> ImportFunction:
    """Import an operator whose inputs, outputs and attributes are those of the IR's class.

    Attributes fill the fields of the same name (`renamed` maps fields to other attribute names), converted after the
    field's annotation: numbers, texts, tuples, enums by value, dtypes by ONNX's number; `padding` comes from `pads` and
    `auto_pad`. An attribute that the class has no field for is refused.
    """

    return Direct(cls, renamed)


def direct_rows(*operators: type[Operator], since: int = 1) -> dict[str, Mapping[int, ImportFunction]]:
    """Return the rows of operators that are the IR's classes from an opset on."""
    return {cls.__name__: {since: direct(cls)} for cls in operators}


def attribute_as_operand(cls: type[Operator], name: str, slot: int, **renamed: str) -> ImportFunction:
    """Import an older version that states as a list of integers what the IR's class has as the operand in `slot`."""

    def import_with_operand(node: ImportNode) -> Value:
        fields = node.fields(cls, **renamed)
        stated = node.attribute(name, None)
        operands = [*node.inputs, *(None,) * (slot - len(node.inputs))]
        if stated is not None:
            operands.append(node.vector((stated,) if isinstance(stated, int) else stated))
        return node.emit(cls(**fields), *operands)

    return import_with_operand
