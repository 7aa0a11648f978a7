"""What passes share: one node in place of another, one value in place of another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from graphir.errors import ShapeError
from graphir.graph import Graph, Node, Value
from graphir.ops.base import Operator
from graphir.ops.elementwise import Identity
from graphir.structure.record import record

from .dead_code import remove_dead_code
from .outcome import Outcome
from .patterns import kinds_in

# Whether a rewrite was done, from a function that may refuse with the graph unchanged. Whoever calls one must look:
# a test finds calls whose answer is thrown away.
Accepted: TypeAlias = bool


@record
class Rule:
    """A rewrite of one node, and why it is right to do it where it is done. It is only done in a graph that has all
    kinds of one of the `needs` (`kinds_in`)."""

    why: str
    rewrite: Callable[[Graph, Node], Accepted]
    needs: Sequence[frozenset[type]] = (frozenset(),)


# By operator, in the order in which they are tried.
Rules: TypeAlias = Mapping[type[Operator], Sequence[Rule]]


def rewritten(graph: Graph, node: Node, rules: Rules) -> str:
    """Rewrite a node by the first of its operator's rules that does not refuse, and say why; "" if all refuse."""
    for rule in rules.get(type(node.op), ()):
        if rule.rewrite(graph, node):
            return rule.why
    return ""


def apply_rules(graph: Graph, *, rules: Rules) -> Outcome:
    """Rewrite each node in order by the first of these rules that applies to it, and leave out what is then unused."""
    outcome, possible = Outcome(), PossibleRules(graph, rules)
    for node in list(graph.nodes):
        if node.graph is graph and (why := rewritten(graph, node, possible.rules)):
            outcome.note(node.name, why)
            possible.look_again()
    if outcome:
        outcome |= remove_dead_code(graph)
    return outcome


class PossibleRules:
    """Those `rules` whose needs a graph has. Whoever changes the graph has to `look_again`."""

    def __init__(self, graph: Graph, rules: Rules) -> None:
        self._graph, self._all = graph, rules
        self._find(kinds_in(graph))

    def look_again(self) -> None:
        """Take in what a change has brought."""
        kinds = kinds_in(self._graph, ever=True)
        if kinds != self._kinds:
            self._find(kinds)

    def _find(self, kinds: set[type]) -> None:
        self._kinds = kinds
        self.rules = {
            kind: rows for kind in kinds & self._all.keys()
            if (rows := [rule for rule in self._all[kind] if any(map(kinds.issuperset, rule.needs))])
        }  # fmt: skip


def bypass(graph: Graph, node: Node, value: Value) -> Accepted:
    """Let the users of the node's only result use `value` instead, and erase the node; the result's name survives if it
    is an output, and what is known of its type. Not done, and False, where an output would lose its name, and where the
    types contradict each other."""
    result = node.outputs[0]
    is_output = graph.is_output(result)
    if is_output and (value.producer is None or value.graph is not graph or graph.is_output(value)):
        return False
    if value.producer is not None and value.graph is graph:
        try:
            graph.refine(value, result.type)
        except ShapeError:
            return False
    name = result.name
    graph.replace_uses(result, value)
    value.sources = tuple(dict.fromkeys((*value.sources, *result.sources)))
    graph.erase(node)
    if is_output:
        graph.rename(value, name)
    return True


def put_in_place(graph: Graph, node: Node, value: Value) -> None:
    """Let `value` be what the node's only result is from now on: by `bypass`, or as a copy under the result's name
    where that refuses."""
    if not bypass(graph, node, value):
        graph.replace(node, Identity(), (value,))
