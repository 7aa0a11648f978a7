"""Which variables the functions of a graph are handed, read and write, and in which order its nodes do that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from graphir.converters.tensorflow.files.records import Bound, FunctionCall, FunctionNode, TFFunction, is_number
from graphir.converters.tensorflow.importing.inline import CALLS, bound_attributes
from graphir.converters.tensorflow.importing.order import LOOP_OPS
from graphir.converters.tensorflow.importing.state_writes import READS, WRITES, is_write
from graphir.converters.tensorflow.schema.conformity import check_nodes
from graphir.safety.limits import charge_nodes, check_depth
from graphir.structure.reaching import reachable
from graphir.tensor import Tensor
from graphir.types import DType


def waits_for(node: FunctionNode) -> list[str]:
    """Return the nodes and arguments that a node needs or waits for; what a loop of TensorFlow 1 brings back is
    none."""
    inputs = () if node.op in LOOP_OPS else node.inputs
    return [*(text.partition(":")[0] for text in inputs), *node.controls]


def nodes_that_run(nodes: Mapping[str, FunctionNode], roots: Iterable[str]) -> list[FunctionNode]:
    """Return the nodes that run where the roots do, each after those that it waits for; then those that only the next
    iteration of a loop of TensorFlow 1 waits for. Linear."""
    order: list[FunctionNode] = []
    seen: set[str] = set()
    stack = [(name, False) for name in roots]
    next_iterations: list[str] = []
    while stack or next_iterations:
        if not stack:
            stack, next_iterations = [(name, False) for name in next_iterations], []
        name, is_done = stack.pop()
        if is_done:
            order.append(nodes[name])
        elif name in nodes and name not in seen:
            seen.add(name)
            stack.append((name, True))
            stack += [(before, False) for before in waits_for(nodes[name])]
            if nodes[name].op in LOOP_OPS:
                next_iterations += [text.partition(":")[0] for text in nodes[name].inputs]
    return order


@dataclass(frozen=True)
class Versions:
    """Which value of a variable each node sees: the number of writes that came before it. `writes` are in order."""

    writes: Sequence[str]
    seen: Mapping[str, int]


def versions(order: Sequence[FunctionNode], writes: set[str], reads: set[str]) -> Versions | tuple[str, str]:
    """Return the versions of a variable, or two nodes whose order is not determined. Linear.

    A write is ranked by the largest number of writes on a path to it. If all ranks differ, the path to the last one
    goes through all others. A read is in place if the write of its rank, which is the next one, waits for it.
    """
    rank: dict[str, int] = {}
    for node in order:
        before = (rank.get(name, 0) + (name in writes) for name in waits_for(node))
        rank[node.name] = max(before, default=0)
    ordered: dict[int, str] = {}
    for node in order:
        if node.name in writes and (other := ordered.setdefault(rank[node.name], node.name)) != node.name:
            return other, node.name
    following: dict[str, int] = {}  # by node, the least rank of a write that waits for it
    for node in reversed(order):
        least = following.get(node.name, len(writes))
        if node.name in reads and node.name not in writes and least > rank[node.name] < len(writes):
            return node.name, ordered[rank[node.name]]
        least_write = rank[node.name] if node.name in writes else least
        for name in waits_for(node):
            following[name] = min(least_write, following.get(name, least_write))
    return Versions([ordered[version] for version in range(len(ordered))], rank)


LOOPS = frozenset({"StatelessWhile", "While"})
BRANCHES = frozenset({"Case", "If", "StatelessCase", "StatelessIf"})
CALLED = {"f": CALLS, "cond": LOOPS, "body": LOOPS, "then_branch": BRANCHES, "else_branch": BRANCHES}
PASSED_ON = frozenset({"Identity", "RefIdentity"})
FRAMES = frozenset({"Enter", "Merge", "RefEnter", "RefMerge", "RefSwitch", "Switch"})


@dataclass(frozen=True)
class Variable:
    """A variable by its node's name. What reads a reference, one of TensorFlow 1, reads its memory. A constant is one
    that was frozen."""

    name: str
    op: str
    dtype: DType
    shape: Any
    frozen: Tensor | None = None

    @property
    def is_reference(self) -> bool:
        """Return whether its readers share its memory."""
        return self.op in ("Variable", "VariableV2")

    @property
    def is_resource(self) -> bool:
        """Return whether operators are handed it by a handle, not by its value."""
        return self.op == "VarHandleOp"


def variable_of(node: FunctionNode) -> Variable | None:
    """Return the variable that a node holds: also a constant, which may have been one before the graph was frozen."""
    dtype, shape, frozen = (node.attrs.get(name) for name in ("dtype", "shape", "value"))
    if node.op == "Const" and isinstance(frozen, Tensor):
        shape = frozen.shape
    elif node.op not in ("VarHandleOp", "Variable", "VariableV2"):
        return None
    return Variable(node.name, node.op, dtype, shape, frozen) if isinstance(dtype, DType) else None


def calls_of(node: FunctionNode, functions: Mapping[str, TFFunction]) -> list[FunctionCall]:
    """Return the functions that a node calls: of a loop the condition, then the body."""
    if node.op in functions:
        return [FunctionCall(node.op, node.attrs)]
    calls = [node.attrs.get(name) for name, operators in CALLED.items() if node.op in operators]
    calls += (node.attrs.get("branches") or ()) if node.op in BRANCHES else ()
    return [call for call in calls if isinstance(call, FunctionCall) and call.name in functions]


def make_write_predicate(functions: Mapping[str, TFFunction]) -> Callable[[FunctionNode], bool]:
    """Return a predicate: whether a node may write a variable, itself or in a function that it calls. Linear."""
    callers: dict[str, list[str]] = defaultdict(list)
    pending = []
    for function in functions.values():
        for node in function.nodes:
            for call in calls_of(node, functions):
                callers[call.name].append(function.name)
        if any(is_write(node.op) for node in function.nodes):
            pending.append(function.name)
    writing = set(reachable(pending, callers.__getitem__))

    def may_write(node: FunctionNode) -> bool:
        return is_write(node.op) or any(call.name in writing for call in calls_of(node, functions))

    return may_write


@dataclass
class StatefulBody:
    """The nodes of a function that run, in order. `binding` are the arguments that are variables, `handles` the results
    of nodes that are."""

    function: TFFunction
    binding: Mapping[str, str]
    order: Sequence[FunctionNode]
    nodes: Mapping[str, FunctionNode] = field(default_factory=dict)
    depth: int = 0
    handles: dict[tuple[str, int], str] = field(default_factory=dict)

    def handle(self, text: str) -> str | None:
        """Return the variable that an endpoint is, None for a value."""
        name, colon, rest = text.partition(":")
        if not colon:
            return self.binding.get(name)
        slot = rest.rpartition(":")[2]
        return self.handles.get((name, int(slot) if is_number(slot) else 0))


Uses = dict[str, tuple[set[str], set[str]]]  # by variable, the nodes that read and those that write it


class Bodies:
    """The bodies of a graph, each function once for each choice of variables that it is handed."""

    def __init__(self, functions: Mapping[str, TFFunction], main: TFFunction) -> None:
        self.functions = functions
        self._may_write = make_write_predicate(functions)
        taken = {text.partition(":")[0] for node in main.nodes if self._may_write(node) for text in node.inputs}
        variables = [variable_of(node) for node in main.nodes if node.op != "Const" or node.name in taken]
        self.variables = {variable.name: variable for variable in variables if variable is not None}
        self.lost: dict[str, FunctionNode] = {}  # the nodes that write what is no variable here
        self._bodies: dict[tuple[object, ...], StatefulBody] = {}
        self._uses: dict[int, dict[str, bool]] = {}
        self.main = self._body(main, {}, 0, {})

    def written(self) -> dict[str, str]:
        """Return the variables that are written when the graph runs, in the graph's order, and which node does it."""
        names = [name for name, is_written in self.uses(self.main).items() if is_written]
        position = {node.name: position for position, node in enumerate(self.main.function.nodes)}
        return {name: self._writer(self.main, name) for name in sorted(names, key=position.__getitem__)}

    def _writer(self, body: StatefulBody, name: str) -> str:
        """Return a node that writes a variable, in words, with the calls around it before its name."""
        _, writes = self.uses_by_node(body)[name]
        node = body.nodes[min(writes, key=lambda writer: (not is_write(body.nodes[writer].op), writer))]
        inner = next((inner_body for inner_body in self.called(body, node) if self.uses(inner_body).get(name)), None)
        return f"{node.name} ({node.op})" if inner is None else f"{node.name}/{self._writer(inner, name)}"

    def _body(
        self, function: TFFunction, binding: Mapping[str, str], depth: int, attrs: Mapping[str, Any]
    ) -> StatefulBody:
        """Return the body of a function that is called with these attributes. Raises FormatError for nodes that do not
        fit."""
        is_bound = any(isinstance(value, Bound) for node in function.nodes for value in node.attrs.values())
        key = function.name, tuple(binding.items()), id(attrs) if is_bound else 0
        if key not in self._bodies:
            check_depth(depth, f"the function {function.name}")
            charge_nodes(len(function.nodes), f"the function {function.name}")
            nodes = {node.name: replace(node, attrs=bound_attributes(node.attrs, attrs)) for node in function.nodes}
            what = f" of function {function.name}"
            check_nodes((node.name + what, node.op, node.attrs, len(node.inputs)) for node in nodes.values())
            writes = [node.name for node in function.nodes if self._may_write(node)] if depth else []
            roots = [*(text.partition(":")[0] for text in function.results), *(function.effects or writes)]
            body = StatefulBody(function, binding, nodes_that_run(nodes, roots), nodes, depth)
            for node in body.order:
                body.handles |= self._handles(body, node)
            self._bodies[key] = body
        return self._bodies[key]

    def _handles(self, body: StatefulBody, node: FunctionNode) -> dict[tuple[str, int], str]:
        """Return the results of a node that are variables."""
        if not body.depth and node.name in self.variables:
            return {(node.name, 0): node.name}
        if node.op in LOOPS:
            sources = list(map(body.handle, node.inputs))
        elif node.op in CALLS or node.op in self.functions:
            inner = self.called(body, node)
            sources = [callee.handle(text) for callee in inner[:1] for text in callee.function.results]
        else:
            name = body.handle(node.inputs[0]) if node.inputs else None
            variable = self.variables.get(name or "")
            passed = variable is not None and (
                (variable.op != "Const" and node.op in PASSED_ON) or (variable.is_reference and node.op in WRITES)
            )
            sources = [name] if passed else []
        return {(node.name, slot): name for slot, name in enumerate(sources) if name}

    def called(self, body: StatefulBody, node: FunctionNode) -> list[StatefulBody]:
        """Return the bodies of the functions that a node calls."""
        operands = node.inputs[1:] if node.op in BRANCHES else node.inputs
        names = list(map(body.handle, operands))
        bodies = []
        for call in calls_of(node, self.functions):
            function = self.functions[call.name]
            pairs = zip(function.arguments, names, strict=False)
            binding = {argument: name for argument, name in pairs if name}
            bodies.append(self._body(function, binding, body.depth + 1, call.attrs))
        return bodies

    def uses(self, body: StatefulBody) -> dict[str, bool]:
        """Return the variables that a body reads or writes, and whether it writes them."""
        if id(body) not in self._uses:
            self._uses[id(body)] = {}  # of a function that calls itself
            self._uses[id(body)] = {name: bool(writes) for name, (_, writes) in self.uses_by_node(body).items()}
        return self._uses[id(body)]

    def uses_by_node(self, body: StatefulBody, among: Mapping[str, str] | None = None) -> Uses:
        """Return by variable the nodes of a body that read and those that write it."""
        uses: Uses = {}
        for node in body.order:
            for name, is_written in self._uses_of(body, node):
                if among is None or name in among:
                    uses.setdefault(name, (set(), set()))[is_written].add(node.name)
        return uses

    def _uses_of(self, body: StatefulBody, node: FunctionNode) -> list[tuple[str, bool]]:
        inner = self.called(body, node)
        if inner:
            return [use for callee in inner for use in self.uses(callee).items()]
        uses = []
        for slot, text in enumerate(node.inputs):
            name = body.handle(text)
            if name is None:
                if slot == 0 and is_write(node.op):
                    self.lost[node.name] = node
                continue
            if slot == 0 and is_write(node.op):
                uses.append((name, True))
            elif not (self.variables[name].is_resource and node.op in PASSED_ON):
                uses.append((name, False))
        return uses

    def refusal(self, node: FunctionNode, variables: Sequence[Variable]) -> str:
        """Return why a node cannot take these variables, "" if it can."""
        if not variables or calls_of(node, self.functions):
            return ""
        if node.op in FRAMES:
            return "takes it into control flow of TensorFlow 1, through which values are not carried"
        if is_write(node.op):
            return "" if node.op in WRITES else "writes it in a way that graphir cannot convert yet"
        is_strange = node.op not in READS | PASSED_ON and any(variable.is_resource for variable in variables)
        return "takes it, which graphir cannot convert" if is_strange else ""
