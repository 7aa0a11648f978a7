"""A graph built anew in which chosen nodes compute in a narrow dtype, with Casts only where the two meet."""

from __future__ import annotations

from graphir.errors import ShapeError
from graphir.graph import Graph, Node, Value
from graphir.ops.elementwise import Cast
from graphir.structure.reaching import nodes_within
from graphir.tensor import Tensor
from graphir.types import DType, TensorType, Type

from .choice import WIDE, WIDE_SLOTS, HalfChoice, Kept, reads
from .numbers import narrowed


class Rebuilder:
    """Builds the graph anew. What a value is in it is made once for each dtype that is asked for."""

    def __init__(self, graph: Graph, choice: HalfChoice) -> None:
        self._choice = choice
        self._narrow = choice.form.dtype
        self._native: dict[Value, Value] = {}
        self._casts: dict[tuple[Value, DType], Value] = {}
        self._taken = {value.name for value in graph.values}
        for node in nodes_within(graph.nodes):
            for inner in node.subgraphs:
                self._taken.update(value.name for value in inner.values)
        self.casts = 0
        self.refused: list[tuple[Node, str]] = []

    def build(self, old: Graph, parent: Graph | None = None) -> Graph:
        """Return the graph again, inside `parent`."""
        graph = Graph(old.name, parent=parent)
        graph.metadata, graph.decisions = dict(old.metadata), list(old.decisions)
        whole = old.parent is None
        for value in old.inputs:
            type_ = self._narrow_type(value.type) if whole and self._choice.has_narrow_end(value) else value.type
            self._take(value, graph.add_input(value.name, type_))
        for value in old.parameters:
            self._take(value, self._parameter(graph, value))
        for node in old.nodes:
            self._node(graph, node)
        graph.set_outputs([self._output(value, whole) for value in old.outputs])
        return graph

    def _output(self, value: Value, whole: bool) -> Value:
        wanted = self._narrow if whole and self._choice.has_narrow_end(value) else value.dtype
        output = self._want(value, wanted)
        if whole and output.name != value.name and output.producer is not None:
            graph = output.graph
            if value.name not in graph:
                graph.rename(output, value.name)
        return output

    def _parameter(self, graph: Graph, value: Value) -> Value:
        tensor = value.tensor
        if tensor is not None and self._choice.is_narrow_weight(value):
            return graph.add_parameter(value.name, narrowed(tensor, self._narrow))
        return graph.add_parameter(value.name, tensor, value.type)

    def _node(self, graph: Graph, node: Node) -> None:
        if isinstance(node.op, Cast):
            self._cast_node(graph, node)
        elif node.subgraphs:
            operands = self._as_it_was(node)
            inner = [self.build(subgraph, graph) for subgraph in node.subgraphs]
            self._insert(graph, node, operands, inner)
        elif self._choice.is_narrow(node):
            self._narrow_node(graph, node)
        else:
            self._wide_node(graph, node)

    def _wide_node(self, graph: Graph, node: Node) -> None:
        self._insert(graph, node, self._as_it_was(node))

    def _as_it_was(self, node: Node) -> list[Value | None]:
        return [None if value is None else self._want(value, value.dtype) for value in node.inputs]

    def _narrow_node(self, graph: Graph, node: Node) -> None:
        if reads(node.op):
            self._insert(graph, node, [None if value is None else self._native[value] for value in node.inputs])
            return
        wide = WIDE_SLOTS.get(node.op.name, ())
        operands = [
            None if value is None else self._want(value, value.dtype if slot in wide else self._narrow)
            for slot, value in enumerate(node.inputs)
        ]
        try:
            self._insert(graph, node, operands)
        except ShapeError as error:
            self.refused.append((node, f"{node.op.name} does not take {self._narrow}: {error}"))
            self._choice.kept[node] = Kept(is_reported=False)
            self._wide_node(graph, node)

    def _cast_node(self, graph: Graph, node: Node) -> None:
        """A Cast takes what there is; one to the dtype that is there already is none."""
        operand, result = node.inputs[0], node.output
        assert operand is not None
        assert isinstance(node.op, Cast)
        source = self._want(operand, WIDE) if node in self._choice.kept else self._native[operand]
        if source.dtype is node.op.to and source.producer is not None and not result.is_held:
            self._native[result] = source
            return
        self._insert(graph, node, [source])

    def _insert(
        self, graph: Graph, node: Node, operands: list[Value | None], inner: list[Graph] | None = None
    ) -> None:
        """Add the node. A result that is held as float32 and made narrow leaves its name to the Cast behind it."""
        names = [
            self._unique_name(graph, f"{value.name}_{self._narrow}") if self._is_cast_behind(value) else value.name
            for value in node.outputs
        ]
        added = graph.add_node(
            node.op, operands, name=node.name, output_names=names, subgraphs=inner or ()
        )
        for old, new in zip(node.outputs, added.outputs, strict=True):
            if not isinstance(new.type, TensorType) or new.dtype in (None, old.dtype):
                graph.refine(new, old.type)
                new.declared = old.declared
            elif isinstance(old.type, TensorType):
                graph.refine(new, TensorType(new.dtype, old.shape))
            self._take(old, new)

    def _is_cast_behind(self, value: Value) -> bool:
        if not value.is_held or value.dtype is not WIDE:
            return False
        return self._choice.gives_narrow(value) is not self._choice.has_narrow_end(value)

    def _take(self, old: Value, new: Value) -> None:
        self._native[old] = new
        new.sources = old.sources

    def _want(self, value: Value, dtype: DType | None) -> Value:
        """Return what a value is in the graph that is made; one of float32 in this dtype."""
        native = self._native[value]
        if value.dtype is not WIDE or dtype is None or native.dtype is dtype or native.dtype is None:
            return native
        key = value, dtype
        if key not in self._casts:
            graph = native.graph
            is_named = value.is_held and value.name not in graph
            name = value.name if is_named else self._unique_name(graph, f"{value.name}_{dtype}")
            cast = graph.add(Cast(dtype), native, name=name, output=name)
            if is_named:
                cast.sources, native.sources = native.sources, ()
            self._casts[key] = cast
            self.casts += 1
        return self._casts[key]

    def _unique_name(self, graph: Graph, wanted: str) -> str:
        """Return a name that no value of the old graphs has, and none of the new one."""
        name, count = wanted, 1
        while name in self._taken:
            count += 1
            name = f"{wanted}_{count}"
        self._taken.add(name)
        return graph.fresh_name(name)

    def _narrow_type(self, type_: Type) -> Type:
        is_wide = isinstance(type_, TensorType) and type_.dtype is WIDE
        return TensorType(self._narrow, type_.shape) if is_wide else type_  # type: ignore[union-attr]


def parameter_bytes(tensors: list[Tensor]) -> int:
    """Return the bytes of all of these."""
    return sum(tensor.nbytes for tensor in tensors)
