"""What MXNet cannot say as it stands, said in simpler terms.

Constants are computed, branches and loops of known course taken apart, sequences resolved, and operators that are left
over replaced by what ONNX defines them by; `lowered` says which way each goes. It happens on a copy of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from graphir.converters.kernel.terms import NoExpansion, Terms
from graphir.converters.mxnet.exporting.context import ExportTable, Refusal
from graphir.converters.mxnet.exporting.lowered import LOWERED, NO_EXPORT, Road
from graphir.converters.mxnet.exporting.ops import export_table
from graphir.decisions import Decision, DecisionKind
from graphir.errors import Gap, GraphirError, ProviderError
from graphir.graph import Graph, Node, Value
from graphir.inference.engine import infer_graph
from graphir.ops.control import If, Loop, Scan
from graphir.ops.creation import Range
from graphir.ops.elementwise import Cast
from graphir.ops.recurrent import GRU, LSTM, RNN
from graphir.passes.branches import inline_branches, select_branches
from graphir.passes.clone import Images, clone_into
from graphir.passes.fold_constants import fold_constants, fold_known
from graphir.passes.inline import GraphNames, InlinedGraph, take_place
from graphir.passes.integer_products import INTEGER_PRODUCTS, write_in_floats
from graphir.passes.no_ops import NO_OPS
from graphir.passes.outcome import Outcome as PassOutcome
from graphir.passes.recurrent.to_loop import write_as_loop
from graphir.passes.simplify import simplify
from graphir.passes.static_sequences import resolve_structure
from graphir.passes.unroll import unroll_loops
from graphir.types import DType

NARROW = (DType.FLOAT16, DType.BFLOAT16)


def is_narrow_composition(node: Node) -> bool:
    """Return whether a node is better widened before its definition takes its place."""
    wide = LOWERED.get(type(node.op)) is Road.WIDE_DEFINITION
    return wide and any(_is_narrow(value) for value in node.inputs)


def widen(graph: Graph, node: Node, names: GraphNames) -> list[Node]:
    """Put the same operator on float32, with its operands and results cast, in the place of a node; the new nodes."""
    maker = InlinedGraph(graph, graph, names, node.name)
    casts = {
        value: maker.add(Cast(DType.FLOAT32), [value], node, "wide").output
        for value in dict.fromkeys(node.inputs)
        if value is not None and _is_narrow(value)
    }
    operands = [None if value is None else casts.get(value, value) for value in node.inputs]
    result = maker.add(node.op, operands, node, "computed")
    results = [_narrowed(maker, node, *pair) for pair in zip(node.outputs, result.outputs, strict=True)]
    _tell(graph, node)
    take_place(graph, node, results, maker.new_nodes)
    return maker.new_nodes


def _tell(graph: Graph, node: Node) -> None:
    """Say that results are rounded to a dtype that MXNet lacks, as of operators that are written as they are."""
    whole = graph
    while whole.parent is not None:
        whole = whole.parent
    if any(value.is_needed and value.dtype is DType.BFLOAT16 for value in node.outputs):
        text = f"computed in float32 and rounded to {DType.BFLOAT16}, which MXNet lacks"
        whole.decisions.append(Decision(DecisionKind.DTYPE, node.name, text))


def _narrowed(maker: InlinedGraph, node: Node, old: Value, new: Value) -> Value:
    """Return a result in the dtype that it had; one that nothing needs stays as it is."""
    if not old.is_needed or old.dtype is None or old.dtype is new.dtype:
        return new if old.is_needed else old
    return maker.add(Cast(old.dtype), [new], node, "narrow").output


def _is_narrow(value: Value | None) -> bool:
    return value is not None and value.dtype in NARROW


DEEPEST = 12
MOST_ROUNDS = 64


@dataclass(frozen=True)
class LoweredNode:
    """What lowering did: the nodes `made` in the place of one, none if the graph changed as a whole; or nothing."""

    changed: bool
    made: tuple[Node, ...] = ()


class Lowering:
    """The copy of a graph that is lowered step by step, and where its nodes came from.

    `values` and `images` give the copies of the graph's values and nodes. `further` are export functions besides those
    of all graphs, once nothing else helps; `changes` counts the steps that did.
    """

    def __init__(self, graph: Graph, terms: Terms) -> None:
        self.values: Images = {}
        self.graph = clone_into(graph, graph.parent, self.values)
        self.images = dict(zip(graph.nodes, self.graph.nodes, strict=True))
        self.further: ExportTable = {}
        self.changes = 0
        self._names = GraphNames(self.graph)
        self._evaluator = terms.evaluator
        self._operators = {node.name: node.op.name for node in graph.nodes}
        self._definitions = terms.definitions(self._prepare)
        self._first: dict[str, Refusal] = {}
        self._reasons: dict[str, str] = {}
        self._hopeless: set[Node] = set()
        self._note = ""
        self._rounds = 0
        self._is_simple = False

    def step(self, node: Node, refusal: Refusal) -> LoweredNode:
        """Bring the graph one step down where a node was refused.

        The node itself is replaced if that is possible. The whole graph is simplified before the first such step, and
        where nothing else helps.
        """
        self._first.setdefault(self._origin(node).name, refusal)
        outcome = self._step(node)
        self.changes += outcome.changed
        return outcome

    def _step(self, node: Node) -> LoweredNode:
        if not self._rounds and self._change_whole(self._simplify_whole):
            return LoweredNode(changed=True)
        result = [] if node in self._hopeless or node.subgraphs else self._replace(self.graph, node)
        if result:
            self._is_simple = False
            return LoweredNode(changed=True, made=tuple(result))
        return LoweredNode(changed=self._change_somewhere())

    def settle(self) -> bool:
        """Bring the graph down where no node was refused, but an output was; whether anything changed."""
        changed = self._change_somewhere()
        self.changes += changed
        return changed

    def _change_somewhere(self) -> bool:
        changes = (self._simplify_whole, self._compute_all, self._allow_control)
        return any(self._change_whole(change) for change in changes)

    def _change_whole(self, change: Callable[[], bool]) -> bool:
        """Change the graph as a whole, while that may still lead anywhere."""
        self._rounds += 1
        return self._rounds <= MOST_ROUNDS * 3 and change()

    def _simplify_whole(self) -> bool:
        """Return all passes that need no definition of an operator, unless nothing happened since they were done."""
        if self._is_simple:
            return False
        self._is_simple = True
        return self._simplify(self.graph, self._names)

    def _allow_control(self) -> bool:
        """Loops that cannot be taken apart may become MXNet's own, their bodies in terms that it has."""
        from graphir.converters.mxnet.exporting.control import CONTROL

        loops = [node for node in self.graph.nodes if isinstance(node.op, Loop | Scan)]
        if self.further or not loops:
            return False
        for node in loops:
            self._lower_body(node.subgraphs[0])
        self.further = CONTROL
        self._is_simple = False
        return True

    def _lower_body(self, body: Graph) -> None:
        """Bring a body down as far as it goes."""
        for _ in range(MOST_ROUNDS):
            again = simplify(body, further=NO_OPS).changed
            again |= self._fold(body)
            again |= inline_branches(body, self._names).changed
            again |= resolve_structure(body, self._names).changed
            again |= unroll_loops(body, evaluator=self._evaluator, masked=True, names=self._names).changed
            again |= select_branches(body, self._names).changed
            again |= self._expand_in(body)
            if not again:
                return

    def _expand_in(self, body: Graph) -> bool:
        """Replace the operators in a body for which MXNet has no word."""
        table, changed = export_table(), False
        for node in list(body.nodes):
            if type(node.op) not in table and node not in self._hopeless and not node.subgraphs:
                changed |= bool(self._replace(body, node))
        return changed

    def _compute_all(self) -> bool:
        """Branches and loops of unknown course: all that they may do is computed, and Where selects."""
        outcome = select_branches(self.graph, self._names)
        loops = unroll_loops(self.graph, evaluator=self._evaluator, masked=True, names=self._names)
        changed = self._noting(self.graph, outcome)
        changed |= self._noting(self.graph, loops)
        self._is_simple &= not changed
        return changed

    def _simplify(self, graph: Graph, names: GraphNames) -> bool:
        """Return all passes that need no definition of an operator, until none of them changes anything."""
        changed = False
        for _ in range(MOST_ROUNDS):
            again = infer_graph(graph)
            again |= simplify(graph, further=NO_OPS).changed
            again |= self._fold(graph)
            again |= inline_branches(graph, names).changed
            again |= self._noting(graph, resolve_structure(graph, names))
            again |= self._noting(graph, unroll_loops(graph, evaluator=self._evaluator, names=names))
            if not again:
                break
            changed = True
        return changed

    def _fold(self, graph: Graph) -> bool:
        try:
            return fold_constants(graph, evaluator=self._evaluator).changed
        except ProviderError as error:
            self._note = f"; constants could not be computed: {error}"
            return fold_known(graph).changed

    def _noting(self, graph: Graph, outcome: PassOutcome) -> bool:
        """Return whether a pass changed anything; the reasons why it left nodes as they are are kept."""
        if graph is self.graph:
            self._reasons.update((node.name, reason) for node, reason in outcome.reasons.items())
        return outcome.changed

    def _replace(self, graph: Graph, node: Node) -> list[Node]:
        """Put an operator's definition in its place, if there is one; the nodes of which it is made."""
        try:
            return self._in_other_terms(graph, node)
        except GraphirError as error:
            self._hopeless.add(node)
            if not getattr(error, "undefined", False):
                self._reasons.setdefault(node.name, str(error))
            return []

    def _in_other_terms(self, graph: Graph, node: Node) -> list[Node]:
        """Return the nodes that now stand in the place of one. Raises GraphirError, with nothing changed, if there are
        none.

        A recurrent layer becomes a loop, such as one that is too long to be written step by step.
        """
        if isinstance(node.op, RNN | GRU | LSTM):
            return write_as_loop(graph, node, self._names)
        if type(node.op) in INTEGER_PRODUCTS:
            return write_in_floats(graph, node, self._names)
        if is_narrow_composition(node):
            return widen(graph, node, self._names)
        if isinstance(node.op, Range):
            raise NoExpansion("its definition is a loop, which would need its bounds as well", undefined=True)
        if self._depth(node) >= DEEPEST:
            raise NoExpansion(f"its definitions are nested more than {DEEPEST} deep")
        return self._definitions.expand(graph, node, self._names)

    def _prepare(self, body: Graph) -> None:
        """Simplify a definition, once for all nodes that it stands for."""
        self._simplify(body, GraphNames(body))

    def _origin(self, node: Node) -> Node:
        """Return the node of the original graph that a node stands for, or stands in the place of a part of."""
        while node in self._names.ancestors:
            node = self._names.ancestors[node]
        return node

    def _depth(self, node: Node) -> int:
        depth = 0
        while node in self._names.ancestors:
            node, depth = self._names.ancestors[node], depth + 1
        return depth

    def gaps(self, refusals: Iterable[tuple[Node | Value, Refusal]]) -> list[Gap]:
        """Return what was refused in the end, by the operators and names of the original graph, equal reasons
        together."""
        results: dict[tuple[str, str], dict[str, None]] = {}
        for place, refusal in refusals:
            if isinstance(place, Value):
                operator = "output" if place.producer is None else place.producer.op.name
                results.setdefault((operator, str(refusal)), {})[place.name] = None
                continue
            origin = self._origin(place)
            operator = self._operators.get(origin.name, origin.op.name)
            results.setdefault((operator, self._reason(place, origin, refusal)), {})[origin.name] = None
        return [Gap(operator, reason + self._note, tuple(nodes)) for (operator, reason), nodes in results.items()]

    def _reason(self, node: Node, origin: Node, refusal: Refusal) -> str:
        """Why a node is refused: what MXNet says of it, and why it could not be said otherwise."""
        why = self._reasons.get(node.name, "")
        text = str(refusal)
        if isinstance(node.op, Loop | Scan):
            text = f"{text}; it cannot be taken apart: {why}"
        elif isinstance(node.op, If):
            text = f"it cannot be taken apart: {why}"
        elif why:
            text = f"{text}; {why}"
        if node is origin or node.name == origin.name:
            return text
        first = self._first.get(origin.name)
        whole = "" if first is None or str(first) in (str(refusal), NO_EXPORT) else f"{first}; "
        return f"{whole}it is made of {node.op.name}: {text}"
