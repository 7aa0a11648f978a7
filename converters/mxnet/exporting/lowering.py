"""What MXNet cannot say as it stands, said in simpler terms.

Constants are computed, branches and loops of known course taken apart, sequences resolved, and operators that are left
over replaced by what ONNX defines them by. All of it happens on a copy of the graph.
"""

from __future__ import annotations

from graphir.converters.mxnet.exporting.context import ExportTable, Refusal
from graphir.converters.mxnet.exporting.exporter import Attempt, write_graph
from graphir.converters.mxnet.exporting.ops import export_table
from graphir.converters.onnx.evaluator import onnx_evaluator
from graphir.errors import Gap, GraphirError, ProviderError
from graphir.graph import Decision, Graph, Node, Value
from graphir.ops.control import If, Loop, Scan
from graphir.ops.recurrent import GRU, LSTM, RNN
from graphir.passes.clone import clone
from graphir.passes.fold_constants import fold_constants, fold_known
from graphir.passes.inline import Names
from graphir.passes.inline_branches import inline_branches
from graphir.passes.no_ops import drop_no_ops
from graphir.passes.recurrent.to_loop import write_as_loop
from graphir.passes.select_branches import select_branches
from graphir.passes.simplify import simplify
from graphir.passes.static_sequences import resolve_structure
from graphir.passes.unroll import unroll_loops

DEEPEST = 12
MOST_ROUNDS = 64


def lower(graph: Graph, attempt: Attempt) -> tuple[Attempt, list[Decision], list[Gap]]:
    """The last attempt at writing the graph in simpler terms, the decisions on the way there, and what is left over.

    `attempt` is the one at the graph as it stands, which was refused. The graph stays as it is.
    """
    lowering = _Lowering(graph, attempt)
    for _ in range(MOST_ROUNDS):
        if not attempt.refusals or not lowering.step(attempt):
            break
        attempt = write_graph(lowering.graph, lowering.further)
    decisions = lowering.graph.decisions[len(graph.decisions) :]
    return attempt, decisions, lowering.gaps(attempt)


class _Lowering:
    """The copy of a graph that is lowered step by step, and where its nodes came from."""

    def __init__(self, graph: Graph, attempt: Attempt) -> None:
        self.graph = clone(graph)
        self._names = Names(self.graph)
        self._evaluator = onnx_evaluator()
        self._operators = {node.name: node.op.name for node in graph.nodes}
        self._first = {place.name: refusal for place, refusal in attempt.refusals if isinstance(place, Node)}
        self._reasons: dict[str, str] = {}
        self._hopeless: set[Node] = set()
        self._note = ""
        self._simplified = False
        self.further: ExportTable = {}

    def step(self, attempt: Attempt) -> bool:
        """Bring the graph one step down from where it was refused; False if nothing is left to try."""
        if not self._simplified:
            self._simplified = True
            self._simplify()
            return True
        changed = self._expand(attempt)
        return self._simplify() or changed or self._compute_all() or self._allow_control()

    def _allow_control(self) -> bool:
        """Loops that cannot be taken apart may become MXNet's own, their bodies in terms that it has."""
        from graphir.converters.mxnet.exporting.control import CONTROL

        loops = [node for node in self.graph.nodes if isinstance(node.op, Loop | Scan)]
        if self.further or not loops:
            return False
        for node in loops:
            self._lower_body(node.subgraphs[0])
        self.further = CONTROL
        return True

    def _lower_body(self, body: Graph) -> None:
        """Bring a body down as far as it goes."""
        for _ in range(MOST_ROUNDS):
            again = drop_no_ops(body).changed
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
                changed |= self._replace(body, node)
        return changed

    def _compute_all(self) -> bool:
        """Branches and loops of unknown course: all that they may do is computed, and Where selects."""
        outcome = select_branches(self.graph, self._names)
        loops = unroll_loops(self.graph, evaluator=self._evaluator, masked=True, names=self._names)
        self._reasons.update((node.name, why) for node, why in (*outcome.reasons.items(), *loops.reasons.items()))
        return outcome.changed or loops.changed

    def _simplify(self) -> bool:
        """All passes that need no definition of an operator, until none of them changes anything."""
        changed = False
        for _ in range(MOST_ROUNDS):
            again = drop_no_ops(self.graph).changed
            again |= simplify(self.graph).changed
            again |= self._fold(self.graph)
            again |= inline_branches(self.graph, self._names).changed
            again |= self._resolve()
            again |= self._unroll()
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

    def _resolve(self) -> bool:
        outcome = resolve_structure(self.graph, self._names)
        self._reasons.update((node.name, reason) for node, reason in outcome.reasons.items())
        return outcome.changed

    def _unroll(self) -> bool:
        outcome = unroll_loops(self.graph, evaluator=self._evaluator, names=self._names)
        self._reasons.update((node.name, reason) for node, reason in outcome.reasons.items())
        return outcome.changed

    def _expand(self, attempt: Attempt) -> bool:
        """Replace every refused operator by its definition."""
        changed = False
        for node, refusal in attempt.export.refused.items():
            if node.graph is self.graph and node not in self._hopeless and not node.subgraphs:
                self._first.setdefault(self._origin(node).name, refusal)
                changed |= self._replace(self.graph, node)
        return changed

    def _replace(self, graph: Graph, node: Node) -> bool:
        """Put an operator's definition in its place, if there is one."""
        from graphir.converters.onnx.exporting.expansion import NoExpansion, expand

        if isinstance(node.op, RNN | GRU | LSTM):
            return self._write_as_loop(graph, node)
        try:
            if self._depth(node) >= DEEPEST:
                raise NoExpansion(f"its definitions are nested more than {DEEPEST} deep")
            expand(graph, node, self._names)
        except NoExpansion as error:
            self._hopeless.add(node)
            if not error.undefined:
                self._reasons.setdefault(node.name, str(error))
            return False
        return True

    def _write_as_loop(self, graph: Graph, node: Node) -> bool:
        """Put a loop in the place of a recurrent layer, such as one that is too long to be written step by step."""
        try:
            write_as_loop(graph, node, self._names)
        except GraphirError:
            self._hopeless.add(node)
            return False
        return True

    def _origin(self, node: Node) -> Node:
        """The node of the original graph that a node stands for, or stands in the place of a part of."""
        while node in self._names.ancestors:
            node = self._names.ancestors[node]
        return node

    def _depth(self, node: Node) -> int:
        depth = 0
        while node in self._names.ancestors:
            node, depth = self._names.ancestors[node], depth + 1
        return depth

    def gaps(self, attempt: Attempt) -> list[Gap]:
        """What was refused in the end, by the operators and names of the original graph, equal reasons together."""
        found: dict[tuple[str, str], dict[str, None]] = {}
        for place, refusal in attempt.refusals:
            if isinstance(place, Value):
                operator = "output" if place.producer is None else place.producer.op.name
                found.setdefault((operator, str(refusal)), {})[place.name] = None
                continue
            origin = self._origin(place)
            operator = self._operators.get(origin.name, origin.op.name)
            found.setdefault((operator, self._reason(place, origin, refusal)), {})[origin.name] = None
        return [Gap(operator, reason + self._note, tuple(nodes)) for (operator, reason), nodes in found.items()]

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
        whole = "" if first is None or str(first) == str(refusal) else f"{first}; "
        return f"{whole}it is made of {node.op.name}: {text}"


__all__ = ["lower"]
