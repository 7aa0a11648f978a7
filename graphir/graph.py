"""The graph: values, nodes, and the changes that keep it valid.

A `Graph` owns its values and nodes. Nodes stand in an order in which every operand is produced before it is used.
Everything that is read is open; everything that changes goes through a method that checks first and changes then, so
that a refused change leaves the graph as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .errors import GraphError, ShapeError
from .inference.rules import infer_outputs, infer_values
from .node import KNOWN_LIMIT, Decision, Node, Value, describe_failure, facts_of, known_of
from .ops.base import Known, Operator
from .ops.counts import name_new_sizes
from .safety.arguments import expect, expect_items
from .safety.limits import charge_nodes
from .structure.checks import check_operands, check_output_names
from .structure.frozen import expect_open
from .structure.store import GraphStore
from .tensor import Tensor
from .types import ANYTHING, TYPES, DType, Type, unify

OPERAND = (Value, type(None))
VALUE = "a Value of the graph, as in graph['x']"
TENSOR = "a Tensor, as in Tensor.of(array), or None"

Inferred = tuple[tuple[Type, ...], "Sequence[Known | None] | None"]
FEW = 64  # results that a node may have without being counted: more than any file lists by hand


class Graph(GraphStore):
    """A computation: inputs, parameters and nodes, and the values among them that are its outputs.

    `parent` is the graph around a subgraph, whose values the subgraph may use. `metadata` holds plain strings about the
    model (producer, description), `decisions` what conversions decided.
    """

    def add_input(self, name: str, type_: Type = ANYTHING) -> Value:
        """Return a new input. Raises GraphError if the name is taken."""
        value = self._new_value(name, type_)
        self._inputs.append(value)
        return value

    def order_inputs(self, values: Iterable[Value]) -> None:
        """Put the inputs into this order. Raises GraphError unless `values` are the inputs, each once."""
        expect_open(self)
        chosen = list(values)
        if len(chosen) != len(self._inputs) or set(chosen) != set(self._inputs):
            raise GraphError(
                f"cannot order the inputs of {self.name}: they are {', '.join(value.name for value in self._inputs)}; "
                f"given were {', '.join(value.name for value in chosen)}"
            )
        self._inputs = chosen

    def add_parameter(self, name: str, tensor: Tensor | None = None, type_: Type = ANYTHING) -> Value:
        """Return a new parameter, with its elements or, until they are known, only a type.

        Raises GraphError if the name is taken and ShapeError if the tensor contradicts the type.
        """
        expect(type_, TYPES, f"the type of {name}")
        if expect(tensor, (Tensor, type(None)), f"parameter {name}", TENSOR) is not None:
            assert tensor is not None
            try:
                type_ = unify(tensor.type, type_)
            except ShapeError as error:
                raise ShapeError(f"parameter {name}: {error}") from None
        value = self._new_value(name, type_)
        value.tensor = tensor
        if tensor is not None:
            value.known = known_of(tensor)
        self._parameters[value] = None
        return value

    def constant(self, elements: object, dtype: DType | None = None, name: str = "const") -> Value:
        """Return the parameter that holds `elements` (an array, a list, a number); small equal ones are shared."""
        expect(name, str, "the name of a constant")
        tensor = Tensor.of(elements, dtype)
        key: object = None
        if tensor.dtype is not DType.STRING and tensor.size <= KNOWN_LIMIT:
            key = (tensor.dtype, tensor.shape, tensor.numpy().tobytes())
            shared, elements_then = self._constants.get(key, (None, None))
            if shared is not None and self._values.get(shared.name) is shared and shared.tensor is elements_then:
                return shared
        value = self.add_parameter(self.fresh_name(name), tensor)
        if key is not None:
            self._constants[key] = value, tensor
        return value

    def add_node(
        self,
        op: Operator,
        inputs: Sequence[Value | None] = (),
        *,
        name: str = "",
        output_names: Sequence[str] = (),
        before: Node | None = None,
        subgraphs: Sequence[Graph] = (),
    ) -> Node:
        """Return a new node behind all others (or before `before`), with its results' types inferred.

        Without `output_names` the results are named after the node. Raises GraphError for operands of another graph, a
        wrong number of them or a taken name, and ShapeError, naming node and operator, for operands that `op` refuses.
        """
        expect(op, Operator, "the operator", "an Operator, as in Relu()")
        expect(name, str, "the name of a node")
        operands: tuple[Value | None, ...] = expect_items(inputs, OPERAND, "the operands of a node", VALUE)
        output_names = expect_items(output_names, str, "the names of a node's results")
        subgraphs = expect_items(subgraphs, Graph, "the subgraphs of a node")
        if before is not None and expect(before, Node, "the node before which one is added").graph is not self:
            raise GraphError(f"{name or op.name}: {before.name} is no node of {self.name} to stand before")
        return self.insert(op, operands, name, output_names, before=before, subgraphs=subgraphs)

    def insert(
        self,
        op: Operator,
        operands: tuple[Value | None, ...],
        name: str,
        output_names: Sequence[str] = (),
        *,
        before: Node | None = None,
        subgraphs: tuple[Graph, ...] = (),
    ) -> Node:
        """`add_node` for those who know that their arguments are of the right kinds, which is not looked at again."""
        shown = name or op.name
        expect_open(self)
        check_operands(self, shown, op, operands)
        if (count := op.output_count) > FEW:
            charge_nodes(count, f"{shown} ({op.name})")
        types, knowns = facts_of(operands)
        node = Node(self, op, operands, shown)
        try:
            results = infer_outputs(op, types, knowns)
            if output_names:
                check_output_names(self, shown, op, output_names, len(results))
            if subgraphs:
                results, elements = self._infer_subgraphs(node, subgraphs)
            else:
                elements = infer_values(op, types, knowns)
        except ShapeError as error:
            raise ShapeError(describe_failure(name, op, operands, error)) from error
        self._link(node, before)
        self._make_results(node, results, elements, output_names)
        for slot, operand in enumerate(operands):
            if operand is not None:
                operand._uses[node, slot] = None
        return node

    def _infer_subgraphs(self, node: Node, subgraphs: tuple[Graph, ...]) -> Inferred:
        """Return what a new node's subgraphs, which become its own, tell of its results."""
        from .inference.insertion import infer_inserted

        for inner in subgraphs:
            if inner.parent is not self:
                raise GraphError(f"{node.name}: subgraph {inner.name} was not made with this graph as its parent")
        node._subgraphs = subgraphs
        return infer_inserted(self, node)

    def _make_results(
        self, node: Node, types: tuple[Type, ...], elements: Sequence[Known | None] | None, names: Sequence[str]
    ) -> None:
        """The values of a new node, under these names or under fresh ones after the node's."""
        values = []
        for index, type_ in enumerate(types):
            name = names[index] if names else self.fresh_name(f"{node.name}_{index}" if len(types) > 1 else node.name)
            value = Value(self, name, type_, node, index)
            if elements is not None:
                value.known = elements[index]
            self._values[name] = value
            values.append(value)
        node._outputs = tuple(values)
        if node.op.counts:
            for value, type_ in zip(values, name_new_sizes(types, values[0].name), strict=True):
                value._type = type_

    def add(
        self,
        op: Operator,
        *inputs: Value | None,
        name: str = "",
        output: str = "",
        before: Node | None = None,
    ) -> Value:
        """Add a node of an operator with one result, and return that result."""
        expect(op, Operator, "the operator", "an Operator, as in Relu()")
        if op.output_count != 1:
            raise GraphError(f"{name or op.name}: {op.name} has {op.output_count} results; use add_node")
        names = (output,) if expect(output, str, "the name of a node's result") else ()
        return self.add_node(op, inputs, name=name, output_names=names, before=before).output

    def set_outputs(self, values: Iterable[Value | str]) -> None:
        """Make these values, or those of these names, in this order, the graph's outputs. Raises GraphError for values
        of another graph and names that this one does not have."""
        kinds, expected = (Value, str), "a Value or the name of one"
        given: tuple[Value | str, ...] = expect_items(values, kinds, f"the outputs of {self.name}", expected)
        chosen = tuple([self[value] if isinstance(value, str) else value for value in given])
        for value in chosen:
            if not self.can_use(value):
                raise GraphError(f"{value.name} belongs to another graph and cannot be an output of {self.name}")
        expect_open(self)
        for value in self._outputs:
            value.graph._holders[value].pop(self, None)
        for index, value in enumerate(chosen):
            value.graph._holders.setdefault(value, {}).setdefault(self, []).append(index)
        self._outputs = chosen

    def is_output(self, value: Value) -> bool:
        """Return whether the value is among the graph's outputs."""
        return self in expect(value, Value, "is_output", VALUE).graph._holders.get(value, ())

    def rename(self, value: Value, name: str) -> None:
        """Give a value of this graph a new name. Raises GraphError if it is empty or taken."""
        self._own(value)
        expect(name, str, f"the new name of {value.name}")
        if name == value.name:
            return
        if not name:
            raise GraphError(f"cannot rename {value.name}: a value needs a name")
        if name in self._values:
            raise GraphError(f"cannot rename {value.name}: a value called {name!r} exists already")
        del self._values[value.name]
        value._name = name
        self._values[name] = value

    def replace_uses(self, old: Value, new: Value, *, outputs: bool = True) -> None:
        """Let every user of `old`, and with `outputs` the graph's outputs too, use `new` instead.

        The caller sees to it that `new` is produced before the users of `old`; `check` finds it if not. Raises
        GraphError for a `new` of another graph.
        """
        self._own(old)
        expect(new, Value, f"what replaces {old.name}", VALUE)
        if new is old:
            return
        if not self.can_use(new):
            raise GraphError(f"{new.name} belongs to another graph and cannot replace {old.name}")
        for node, slot in old._uses:
            node._replace(slot, new)
        new._uses.update(old._uses)
        old._uses.clear()
        if outputs:
            for holder, indices in self._holders.pop(old, {}).items():
                holder._replace_outputs(indices, new)
                new.graph._holders.setdefault(new, {}).setdefault(holder, []).extend(indices)
            new.sources = tuple(dict.fromkeys((*new.sources, *old.sources)))

    def replace_input(self, node: Node, slot: int, new: Value | None) -> None:
        """Let `node` take `new` in `slot`.

        Raises GraphError as `add_node` does, and ShapeError if the operator refuses `new` or would give other types.
        """
        self._own_node(node)
        expect(slot, int, f"the slot of {node.name}")
        expect(new, (Value, type(None)), f"operand {slot} of {node.name}", VALUE)
        if not 0 <= slot < len(node.inputs):
            raise GraphError(f"{node.name} has {len(node.inputs)} operands, none in slot {slot}")
        operands = (*node.inputs[:slot], new, *node.inputs[slot + 1 :])
        check_operands(self, node.name, node.op, operands)
        types, knowns = facts_of(operands)
        try:
            for value, type_ in zip(node.outputs, infer_outputs(node.op, types, knowns), strict=True):
                unify(value.type, type_)
        except ShapeError as error:
            raise ShapeError(describe_failure(node.name, node.op, operands, error)) from error
        old = node.inputs[slot]
        if old is not None:
            del old._uses[node, slot]
        node._inputs = operands
        if new is not None:
            new._uses[node, slot] = None

    def replace(
        self, node: Node, op: Operator, inputs: Sequence[Value | None] | None = None, *, name: str | None = None
    ) -> Node:
        """Put another operator in a node's place: what used its results uses the new ones, which take over their names.

        It takes the node's operands and name unless others are given. Raises what `add_node` raises, GraphError for
        another number of results, and ShapeError for other types of them; the graph is then as it was.
        """
        from .structure.replacing import replace

        return replace(self, node, op, inputs, name)

    def erase(self, node: Node, *, subgraphs: bool = True) -> None:
        """Take a node out, with all that its subgraphs hold. Raises GraphError if a result is used or an output.

        Without `subgraphs` these stay as they are, for another node that was added with them.
        """
        self._own_node(node)
        for value in node.outputs:
            if value.uses:
                raise GraphError(f"cannot erase {node.name}: {value.name} is used by {value.users()[0].name}")
            if value.is_held:
                raise GraphError(f"cannot erase {node.name}: {value.name} is an output of the graph")
        for slot, operand in enumerate(node.inputs):
            if operand is not None:
                operand._uses.pop((node, slot), None)
        for value in node.outputs:
            del self._values[value.name]
            self._holders.pop(value, None)
        self._unlink(node)
        inside, node._subgraphs = node.subgraphs, ()
        for inner in inside if subgraphs else ():
            inner.dissolve()

    def dissolve(self) -> None:
        """Take every node out of a subgraph that is given up, so that it uses nothing around it any more."""
        self.set_outputs(())
        for node in reversed(list(self.nodes)):
            self.erase(node)

    def erase_value(self, value: Value) -> None:
        """Take an unused input or parameter out. Raises GraphError if it is used, an output, or a node's result."""
        self._own(value)
        if value.producer is not None:
            raise GraphError(f"{value.name} is a result of {value.producer.name}; erase the node")
        if value.uses:
            raise GraphError(f"cannot erase {value.name}: it is used by {value.users()[0].name}")
        if self._holders.get(value):
            raise GraphError(f"cannot erase {value.name}: it is an output of the graph")
        del self._values[value.name]
        self._holders.pop(value, None)
        if value in self._parameters:
            del self._parameters[value]
        else:
            self._inputs = [item for item in self._inputs if item is not value]

    def can_use(self, value: Value) -> bool:
        """Return whether the value is one of this graph or of a graph around it, and has not been erased."""
        expect(value, Value, f"a value for {self.name}", VALUE)
        around: Graph | None = self
        while around is not None:
            if value.graph is around:
                return around._values.get(value.name) is value
            around = around.parent
        return False

    def set_tensor(self, value: Value, tensor: Tensor | None) -> None:
        """Give a parameter its elements, or take them away. Raises ShapeError if they contradict its type."""
        self._own(value)
        if value not in self._parameters:
            raise GraphError(f"{value.name} is not a parameter of {self.name}")
        expect(tensor, (Tensor, type(None)), f"the elements of {value.name}", TENSOR)
        if tensor is not None:
            try:
                unify(tensor.type, value.type)
            except ShapeError as error:
                raise ShapeError(f"parameter {value.name}: {error}") from None
            value._type = value.declared = tensor.type
        value.tensor = tensor
        value.known = None if tensor is None else known_of(tensor)

    def refine(self, value: Value, type_: Type) -> None:
        """Add to what is known of a value's type; one from around is only compared: a body may never run. Raises
        ShapeError on a contradiction."""
        if not self.can_use(value):
            self._own(value)
        expect_open(self)
        expect(type_, TYPES, f"the type of {value.name}")
        try:
            refined = unify(value.type, type_)
        except ShapeError as error:
            raise ShapeError(f"{value.name}: {error}") from None
        value._type = refined if value.graph is self else value.type

    def retype(self, value: Value, type_: Type, declared: Type | None = None) -> None:
        """Set what is known of a value's type, whatever it was, and what its source `declared`. `check` judges it."""
        self._own(value)
        value._type = expect(type_, TYPES, f"the type of {value.name}")
        value.declared = declared or value.declared

    def extract(self, outputs: Sequence[Value | str], inputs: Sequence[Value | str] = ()) -> Graph:
        """Return the part that computes `outputs`, as a graph of its own; this one stays as it is.

        What `inputs` name becomes an input of the known type, and what only they need is left out; they stand first,
        behind them the inputs that are still needed. A name is a value's, the source model's for it (`fc1_output`), or
        that of a layer with one result (`fc1`, `split:1`). Tensors are shared. Raises GraphError for unknown names,
        twice the same value, outputs that no node computes, and inputs that no output depends on.
        """
        from .structure.extract import extract

        return extract(self, outputs, inputs)

    def check(self) -> None:
        """Raise GraphError unless names, order, use lists and ownership agree with each other, and types and known
        elements with the operators' rules. Linear in the graph's size."""
        from .inference.recheck import check_types
        from .structure.checks import check_graph

        check_graph(self)
        check_types(self)


__all__ = ["Decision", "Graph", "Node", "Value", "describe_failure", "known_of"]
