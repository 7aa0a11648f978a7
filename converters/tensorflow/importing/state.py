"""Variables that a graph writes, as values: each becomes an input of the graph and an output with its last value.

A node that writes becomes one that computes the new value, under its own name; whatever reads the variable takes the
value that it has there. Functions that are handed such a variable take its value, and give the last one as a result
too; that of a loop's body is carried from iteration to iteration. What the graph does not run for its outputs, as
initialisers and training, is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from graphir.converters.tensorflow.files.records import Endpoint, FunctionNode, TFFunction, TFGraph, TFNode
from graphir.converters.tensorflow.importing.state_bodies import (
    FRAMES,
    Bodies,
    StatefulBody,
    Variable,
    Versions,
    calls_of,
    make_write_predicate,
    nodes_that_run,
    versions,
)
from graphir.converters.tensorflow.importing.state_calls import handed_over
from graphir.converters.tensorflow.importing.state_writes import WRITES, Write, is_write, read_value
from graphir.errors import ImportFailure
from graphir.structure.names import Names


@dataclass(frozen=True)
class WrittenVariable:
    """A variable that is written, a node that does, and where its last value is."""

    variable: Variable
    writer: str
    last: Endpoint


UNDETERMINED = "neither waits for the other, so that the order is not determined"


def runs_writes(graph: TFGraph, wanted: Sequence[Endpoint]) -> bool:
    """Return whether the nodes that run for these endpoints may write a variable. Linear."""
    may_write = make_write_predicate(graph.functions)
    nodes = {node.name: _to_inner(node) for node in graph.nodes}
    return any(map(may_write, nodes_that_run(nodes, _find_roots(nodes, wanted))))


def thread_state(
    graph: TFGraph, wanted: Sequence[Endpoint], cut: Sequence[str] = ()
) -> tuple[TFGraph, list[WrittenVariable]]:
    """Return the graph without writes, in which placeholders stand for the variables that it writes for the wanted
    endpoints; and these variables. What only the `cut` nodes need is not run.

    Raises ImportFailure, with all of them, for writes that are not known, whose order is not determined, or that stand
    in control flow of TensorFlow 1.
    """
    if not runs_writes(graph, wanted):
        return graph, []
    nodes = {node.name: _to_inner(node) for node in graph.nodes}
    results = tuple(str(endpoint) for endpoint in wanted if endpoint.node in nodes)
    roots = tuple(_find_roots(nodes, wanted))
    running = [node for node in nodes.values() if node.name not in cut]
    main = TFFunction("", (), (), results, running, effects=roots)
    bodies = Bodies(graph.functions, main)
    threading = _Threading(bodies, [*graph.functions, *nodes])
    for node in bodies.lost.values():
        threading.refuse(node.name, f"this {node.op} writes a variable that {_explain_loss(bodies, node)}")
    replacements, last = threading.main()
    if threading.problems:
        shown = "\n  ".join(threading.problems)
        raise ImportFailure(f"variables that the model writes cannot become inputs and outputs:\n  {shown}")
    if not last:
        return graph, []
    left_out = _find_dependents(nodes, threading.written, {node.name for node in bodies.main.order} | set(cut))
    new_nodes: list[TFNode] = []
    for outer in graph.nodes:
        if outer.name in replacements:
            new_nodes += [_to_outer(new, outer) for new in replacements[outer.name]]
        elif outer.name not in left_out:
            new_nodes.append(outer)
    written = [
        WrittenVariable(bodies.variables[name], writer, Endpoint.of(last[name]))
        for name, writer in threading.written.items()
    ]
    for item in written:
        attrs = {"dtype": item.variable.dtype, "shape": item.variable.shape}
        new_nodes.append(TFNode(item.variable.name, "Placeholder", (), (), attrs))
    return TFGraph(new_nodes, threading.functions, graph.producer), written


def _explain_loss(bodies: Bodies, node: FunctionNode) -> str:
    source = bodies.main.nodes.get(node.inputs[0].partition(":")[0])
    if source is None or source.op not in FRAMES:
        return "cannot be told from the graph"
    return (
        f"comes through a loop or a conditional of TensorFlow 1 ({source.name}, {source.op}), which carries no "
        "variable; write the model with tf.compat.v1.enable_control_flow_v2()"
    )


def _find_dependents(nodes: Mapping[str, FunctionNode], written: Mapping[str, str], running: Set[str]) -> set[str]:
    """Return the nodes that take a variable that is written, and do not run."""
    names = set(written)
    for node in nodes_that_run(nodes, nodes):
        if node.name not in running and any(text.partition(":")[0] in names for text in node.inputs):
            names.add(node.name)
    return names


def _find_roots(nodes: Mapping[str, FunctionNode], wanted: Sequence[Endpoint]) -> list[str]:
    """Return the nodes that compute the endpoints; of one inside of a function that is called, the call."""
    names = []
    for endpoint in wanted:
        name = endpoint.node
        while name and name not in nodes:
            name = name.rpartition("/")[0]
        names.append(name)
    return names


def _to_inner(node: TFNode) -> FunctionNode:
    """Return a node of the graph as one of a function."""
    return FunctionNode(node.name, node.op, tuple(map(str, node.inputs)), node.attrs, node.controls)


def _to_outer(node: FunctionNode, origin: TFNode) -> TFNode:
    """Return a node of a function as one of the graph."""
    controls = origin.controls if node.name == origin.name else ()
    return TFNode(node.name, node.op, tuple(map(Endpoint.of, node.inputs)), controls, node.attrs, origin.device)


class _Threading:
    """One graph on its way. `written` are the variables that become values, with a node that writes each."""

    def __init__(self, bodies: Bodies, names: Sequence[str]) -> None:
        self.bodies = bodies
        self.functions = dict(bodies.functions)
        self.written = bodies.written()
        self.problems: dict[str, None] = {}
        self._names = Names(names)
        self._made: dict[tuple[object, ...], str] = {}

    def main(self) -> tuple[dict[str, list[FunctionNode]], dict[str, str]]:
        """Return what became of the nodes of the graph that take a variable, and the last value of each variable."""
        body = self.bodies.main
        thread = _Thread(self, body, {name: f"{name}:0" for name in self.written})
        replacements = {node.name: new for node in body.order if (new := thread.rewritten(node)) != [node]}
        thread.results()
        return replacements, {name: thread.last(name) for name in self.written}

    def instance(self, body: StatefulBody, extra: Sequence[str]) -> str:
        """Return the name of a function that is the body's with values for variables, and the last ones of `extra` as
        further results."""
        function = body.function
        bound = {name: variable for name, variable in body.binding.items() if variable in self.written}
        key = id(body), tuple(bound.items()), tuple(extra)
        if key not in self._made:
            name = self._made[key] = self._names.fresh(f"{function.name}__state")
            thread = _Thread(self, body, {variable: argument for argument, variable in reversed(bound.items())})
            nodes = [new for node in body.order for new in thread.rewritten(node)]
            results = (*thread.results(), *(thread.last(variable) for variable in extra))
            outputs = (*function.outputs, *(f"@{variable}" for variable in extra))
            self.functions[name] = replace(function, name=name, nodes=nodes, outputs=outputs, results=results)
        return self._made[key]

    def refuse(self, name: str, reason: str) -> None:
        """Record what is in the way of a variable."""
        self.problems.setdefault(f"{name}: {reason}")


class _Thread:
    """The values of the variables through one body. `first` are those at its start."""

    def __init__(self, owner: _Threading, body: StatefulBody, first: Mapping[str, str]) -> None:
        self.owner = owner
        self.body = body
        self._names = Names([*body.function.arguments, *(node.name for node in body.function.nodes)])
        self._first = first
        taking = (node for node in body.order if any(map(self._written_variable, node.inputs)))
        self._renewed = {node.name for node in taking if not calls_of(node, owner.bodies.functions)}
        self._versions: dict[str, Versions] = {}
        for name, (reads, writes) in owner.bodies.uses_by_node(body, owner.written).items():
            order = versions(body.order, writes, reads)
            if isinstance(order, tuple):
                left, right = order
                owner.refuse(name, f"{self._label(left)} and {self._label(right)}: {UNDETERMINED}")
                order = Versions([], {})
            self._versions[name] = order

    def _label(self, name: str) -> str:
        ops = {node.name: node.op for node in self.body.order}
        where = f" of the function {self.body.function.name}" if self.body.function.name else ""
        return f"{name} ({ops[name]}){where}"

    def last(self, name: str) -> str:
        """Return the last value of a variable."""
        order = self._versions.get(name)
        return self._value_at(name, len(order.writes) if order is not None else 0)

    def _value_at(self, name: str, version: int) -> str:
        """Return the value of a variable after so many writes."""
        order = self._versions.get(name)
        if not version or order is None or version > len(order.writes):
            return self._first[name]
        writer = self.body.nodes[order.writes[version - 1]]
        return f"{writer.name}:{handed_over(self.owner.bodies, self.body, writer, self.owner.written).slot(name)}"

    def _seen_version(self, name: str, node: str) -> int:
        order = self._versions.get(name)
        return 0 if order is None else order.seen.get(node, 0)

    def results(self) -> list[str]:
        """Return the results of the body."""
        texts = []
        for text in self.body.function.results:
            name = self._written_variable(text)
            texts.append(self._resolve_text(text) if name is None else self.last(name))
            if name is not None:
                order = self._versions.get(name)
                self._check_memory(name, text, "the result", 0 if order is None else len(order.writes))
        return texts

    def _resolve_text(self, text: str) -> str:
        """Return a value's endpoint, by number where its node is another operator now."""
        name = text.partition(":")[0]
        return f"{name}:0" if name in self._renewed else text

    def _written_variable(self, text: str) -> str | None:
        name = self.body.handle(text)
        return name if name in self.owner.written else None

    def _check_memory(self, name: str, text: str, reader: str, version: int) -> None:
        """Refuse what reads a reference's memory through a node after which it is written."""
        source = self.body.nodes.get(text.partition(":")[0])
        if not self.owner.bodies.variables[name].is_reference or source is None or source.name == name:
            return
        before = self._seen_version(name, source.name) + (source.op in WRITES)
        if before != version and self._versions[name].seen:
            self.owner.refuse(name, f"{reader} reads it through {self._label(source.name)}, after which it is written")

    def rewritten(self, node: FunctionNode) -> list[FunctionNode]:
        """Return the nodes for a node: itself if it takes no variable that is written."""
        owner, names = self.owner, [self._written_variable(text) for text in node.inputs]
        if self.body is owner.bodies.main and node.name in owner.written:
            return []
        taken = [name for name in names if name is not None]
        reason = owner.bodies.refusal(node, [owner.bodies.variables[name] for name in taken])
        if reason:
            owner.refuse(taken[0], f"{self._label(node.name)} {reason}")
        inputs = [
            self._resolve_text(text) if name is None else self._read_operand(node, name, text)
            for name, text in zip(names, node.inputs, strict=True)
        ]
        new = node if inputs == list(node.inputs) else replace(node, inputs=tuple(inputs))
        if not taken or reason:
            return [new]
        handed = handed_over(owner.bodies, self.body, node, owner.written)
        if handed.functions:
            for name in handed.refused:
                owner.refuse(name, f"the condition of the loop {self._label(node.name)} writes it")
            instances = {inner.function.name: owner.instance(inner, handed.extra) for inner in handed.functions}
            return [handed.call(new, instances)]
        if names[0] is None:
            return [new]
        access = Write(new, inputs[0], owner.bodies.variables[names[0]].dtype, self._names.fresh)
        return WRITES[node.op](access) if is_write(node.op) else read_value(access)

    def _read_operand(self, node: FunctionNode, name: str, text: str) -> str:
        """Return the value of a variable that a node takes."""
        version = self._seen_version(name, node.name)
        self._check_memory(name, text, self._label(node.name), version)
        return self._value_at(name, version)
