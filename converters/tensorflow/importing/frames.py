"""TensorFlow 1's control flow, made of Switch, Merge, Enter, Exit and NextIteration, as conditionals and loops with
functions, which is how TensorFlow 2 has it.

A conditional's values come in by a Switch each, on whose two results the two branches stand; a Merge for each result
ends it. A loop's variables come in by Enter and meet what NextIteration brings in a Merge; a Switch on the loop's
LoopCond sends them into the body or to Exit. Values that no iteration changes come in by an Enter alone.
Source: "Implementation of Control Flow in TensorFlow" (2017).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from graphir.converters.tensorflow.files.records import Endpoint, FunctionCall, FunctionNode, TFFunction, TFNode
from graphir.errors import ImportFailure
from graphir.structure.names import Names
from graphir.types import DType

REFERENCES = frozenset({"RefSwitch", "RefMerge", "RefEnter", "RefExit", "RefNextIteration", "RefIdentity"})
TRUE, FALSE = 1, 0

# What stands for an endpoint inside a function: an endpoint around it, or the place of a loop's variable.
Outside = Endpoint | int | None


class _Depends(ImportFailure):
    """A branch needs the result of a conditional that is being looked at."""


@dataclass
class _Region:
    """The nodes of a function, in an order in which each stands behind those that it uses, and its arguments.

    `arguments` are the endpoints around the function that it takes, `names` those of the arguments by the endpoints
    that they stand for inside.
    """

    nodes: dict[str, TFNode] = field(default_factory=dict)
    names: dict[Endpoint, str] = field(default_factory=dict)

    def text(self, endpoint: Endpoint) -> str:
        """The endpoint as a function's node has it."""
        return self.names.get(endpoint) or f"{endpoint.node}:{endpoint.slot}"


def lower_frames(
    nodes: Mapping[str, TFNode], wanted: Iterable[Endpoint], functions: dict[str, TFFunction]
) -> tuple[dict[str, TFNode], Callable[[Endpoint], Endpoint]]:
    """The nodes, with While and If for the loops and conditionals that the wanted endpoints need, and what became of
    endpoints. The bodies are added to `functions`.

    Raises ImportFailure, naming the node, for a structure that is none of these.
    """
    if not any(node.op.removeprefix("Ref") in ("Merge", "Enter") for node in nodes.values()):
        return dict(nodes), lambda endpoint: endpoint
    plain = {
        name: replace(node, op=node.op.removeprefix("Ref")) if node.op in REFERENCES else node
        for name, node in nodes.items()
    }
    lowering = _Lowering(plain, functions)
    lowering.reach(wanted)
    found = {
        name: replace(node, inputs=tuple(map(lowering.now, node.inputs))) for name, node in lowering.nodes.items()
    }
    return found, lowering.now


class _Lowering:
    """One graph. `aliases` says what became of the results of nodes that were replaced."""

    def __init__(self, nodes: dict[str, TFNode], functions: dict[str, TFFunction]) -> None:
        self.nodes = nodes
        self.functions = functions
        self._names = Names((*nodes, *functions))
        self.aliases: dict[Endpoint, Endpoint] = {}
        self.active: set[str] = set()
        self.loops: dict[str, list[TFNode]] = {}  # the Switches of a loop, by its LoopCond
        self.exits: dict[Endpoint, list[str]] = {}
        self.merges: dict[str, list[str]] = {}  # the Merges of conditionals, by the scope in their name
        for node in nodes.values():
            if node.op == "Switch" and (condition := self._loop_condition(node)):
                self.loops.setdefault(condition, []).append(node)
            elif node.op == "Exit":
                self.exits.setdefault(node.inputs[0], []).append(node.name)
            elif node.op == "Merge" and not self._is_loop_merge(node):
                self.merges.setdefault(node.name.rpartition("/")[0], []).append(node.name)

    def now(self, endpoint: Endpoint) -> Endpoint:
        """What became of an endpoint."""
        while endpoint in self.aliases:
            endpoint = self.aliases[endpoint]
        return endpoint

    def reach(self, wanted: Iterable[Endpoint]) -> None:
        """Lower what the endpoints need, outside of functions."""
        self._region(wanted, lambda endpoint, node: None)

    def _settled(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint after what gives it has been lowered."""
        endpoint = self.now(endpoint)
        node = self.nodes.get(endpoint.node)
        if node is not None and node.op == "Exit":
            self._lower_loop(node)
        elif node is not None and node.op == "Merge" and not self._is_loop_merge(node):
            self._lower_conditional(node)
        else:
            return endpoint
        return self._settled(endpoint)

    def _region(
        self, starts: Iterable[Endpoint], outside: Callable[[Endpoint, TFNode | None], Outside]
    ) -> tuple[_Region, dict[Endpoint, Outside]]:
        """The nodes that the endpoints need, back to what `outside` says to be no part of it, and those endpoints."""
        region, seen = _Region(), set[str]()
        edges: dict[Endpoint, Outside] = {}
        stack: list[tuple[Endpoint, bool]] = [(endpoint, False) for endpoint in starts]
        while stack:
            endpoint, is_done = stack.pop()
            if is_done:
                region.nodes.setdefault(endpoint.node, self.nodes[endpoint.node])
                continue
            endpoint = self._settled(endpoint)
            if endpoint in edges or endpoint.node in region.nodes or endpoint.node in seen:
                continue
            node = self.nodes.get(endpoint.node)
            stands_for = outside(endpoint, node)
            if stands_for is not None:
                edges[endpoint] = stands_for
                continue
            if node is None:
                continue
            seen.add(endpoint.node)
            stack.append((endpoint, True))
            stack += [(source, False) for source in node.inputs]
        return region, edges

    def _add_function(self, name: str, count: int, region: _Region, results: Iterable[Endpoint]) -> FunctionCall:
        """A function in the library that takes `count` arguments, called @0, @1 and so on."""
        nodes = [
            FunctionNode(node.name, node.op, tuple(region.text(self.now(source)) for source in node.inputs), node.attrs)
            for node in region.nodes.values()
        ]
        texts = tuple(region.text(self.now(result)) for result in results)
        outputs = tuple(f"result_{place}" for place in range(len(texts)))
        arguments = tuple(f"@{place}" for place in range(count))
        self.functions[name] = TFFunction(name, arguments, outputs, texts, nodes, is_made=True)
        return FunctionCall(name)

    # Conditionals

    def _lower_conditional(self, merge: TFNode) -> None:
        """An If for a Merge and for those of the same conditional that do not depend on it."""
        if merge.name in self.active:
            raise _Depends(f"the conditional at {merge.name} depends on itself")
        self.active.add(merge.name)
        scope = merge.name.rpartition("/")[0]
        members: list[TFNode] = []
        found: list[tuple[Endpoint, tuple[_Branch, _Branch]]] = []
        for name in [merge.name, *(name for name in self.merges[scope] if name != merge.name)]:
            other = self.nodes[name]
            if Endpoint(name) in self.aliases:
                continue
            try:
                sides = self._sides(other)
            except ImportFailure:
                if other is merge:
                    raise
                continue
            if Endpoint(name) not in self.aliases and (not found or sides[0] == found[0][0]):
                members.append(other)
                found.append(sides)
        self.active.discard(merge.name)
        self._add_conditional(members, found[0][0], [branches for _, branches in found])

    def _sides(self, merge: TFNode) -> tuple[Endpoint, tuple[_Branch, _Branch]]:
        """The condition of a Merge, and its branches: for true, then for false."""
        if len(merge.inputs) != 2:
            raise ImportFailure(f"{merge.name} merges {len(merge.inputs)} values; conditionals have two")
        branches = [self._branch(endpoint) for endpoint in merge.inputs]
        sides = [branch.sides | self._controlled(branch.result, merge) for branch in branches]
        known = [next(iter(side)) if len(side) == 1 else None for side in sides]
        known = [
            found or (None if other is None or sides[place] else (other[0], 1 - other[1]))
            for place, (found, other) in enumerate(zip(known, known[::-1], strict=True))
        ]
        first, second = known
        if first is None or second is None or first[0] != second[0] or first[1] == second[1]:
            raise ImportFailure(f"the branches of {merge.name} do not stand on the two results of one condition")
        ordered = branches if first[1] == TRUE else branches[::-1]
        return first[0], (ordered[0], ordered[1])

    def _controlled(self, result: Endpoint, merge: TFNode) -> set[tuple[Endpoint, int]]:
        """The side that a result's node waits for, for results that take nothing from a Switch, as constants."""
        found: set[tuple[Endpoint, int]] = set()
        node = self.nodes.get(result.node)
        for name in () if node is None else node.controls:
            pivot = self.nodes.get(name)
            source = None if pivot is None or pivot.op != "Identity" else self.nodes.get(pivot.inputs[0].node)
            if pivot is not None and source is not None and source.op == "Switch":
                found.add((self._condition(source), pivot.inputs[0].slot))
        return found

    def _condition(self, switch: TFNode) -> Endpoint:
        """What a Switch switches on, behind nodes that change nothing."""
        endpoint = self._settled(switch.inputs[1])
        while (node := self.nodes.get(endpoint.node)) is not None and node.op == "Identity":
            endpoint = self._settled(node.inputs[0])
        return endpoint

    def _branch(self, start: Endpoint) -> _Branch:
        """What a Merge's input needs back to the Switches; what needs none of them stays outside."""

        def outside(endpoint: Endpoint, node: TFNode | None) -> Outside:
            if node is None or node.op in ("Placeholder", "Const", "Enter") or self._is_loop_merge(node):
                return endpoint
            return endpoint if node.op == "Switch" else None

        region, edges = self._region([start], outside)
        sides = {
            (self._condition(self.nodes[endpoint.node]), endpoint.slot)
            for endpoint in edges
            if self._is_branch(endpoint)
        }
        inside: dict[str, TFNode] = {}
        for name, node in region.nodes.items():
            sources = [self.now(source) for source in node.inputs]
            if any(source.node in inside or self._is_branch(source) for source in sources):
                inside[name] = node
        return _Branch(self.now(start), inside, sides)

    def _is_branch(self, endpoint: Endpoint) -> bool:
        node = self.nodes.get(endpoint.node)
        return node is not None and node.op == "Switch" and not self._loop_condition(node)

    def _add_conditional(
        self, members: list[TFNode], condition: Endpoint, branches: list[tuple[_Branch, _Branch]]
    ) -> None:
        name = self._names.fresh(f"{members[0].name}/conditional")
        arguments: dict[Endpoint, str] = {}
        calls = []
        for side in (0, 1):
            region = _Region()
            for pair in branches:
                region.nodes.update(pair[side].nodes)
            results = [pair[side].result for pair in branches]
            for endpoint in [*(source for node in region.nodes.values() for source in node.inputs), *results]:
                used = self.now(endpoint)
                if used.node in region.nodes:
                    continue
                taken = self.now(self.nodes[used.node].inputs[0]) if self._is_branch(used) else used
                region.names[used] = arguments.setdefault(taken, f"@{len(arguments)}")
            calls.append((region, results))
        functions = [
            self._add_function(self._names.fresh(f"{name}/{kind}"), len(arguments), region, results)
            for kind, (region, results) in zip(("then", "else"), calls, strict=True)
        ]
        attrs = {"then_branch": functions[0], "else_branch": functions[1]}
        self.nodes[name] = TFNode(name, "If", (condition, *arguments), (), attrs)
        for slot, merge in enumerate(members):
            self.aliases[Endpoint(merge.name)] = Endpoint(name, slot)
            index = f"{merge.name}/value_index"
            self.nodes[index] = TFNode(index, "Cast", (condition,), (), {"SrcT": DType.BOOL, "DstT": DType.INT32})
            self.aliases[Endpoint(merge.name, 1)] = Endpoint(index)

    # Loops

    def _is_loop_merge(self, node: TFNode) -> bool:
        def op(endpoint: Endpoint) -> str:
            found = self.nodes.get(endpoint.node)
            return "" if found is None else found.op

        return node.op == "Merge" and "NextIteration" in map(op, node.inputs)

    def _loop_condition(self, switch: TFNode) -> str:
        """The LoopCond that a Switch stands on, "" for one of a conditional."""
        node = self.nodes.get(switch.inputs[1].node)
        while node is not None and node.op == "Identity":
            node = self.nodes.get(node.inputs[0].node)
        return node.name if node is not None and node.op == "LoopCond" else ""

    def _lower_loop(self, exit_: TFNode) -> None:
        """A While for the loop that an Exit leaves."""
        switch = self.nodes.get(exit_.inputs[0].node)
        condition = "" if switch is None or switch.op != "Switch" else self._loop_condition(switch)
        if not condition:
            raise ImportFailure(f"{exit_.name} leaves no loop: it does not stand on a Switch of a LoopCond")
        switches = self.loops[condition]
        variables = [self._loop_variable(switch) for switch in switches]
        following = [variable.following for variable in variables]
        places = {Endpoint(switch.name, TRUE): place for place, switch in enumerate(switches)}
        places |= {Endpoint(variable.merge): place for place, variable in enumerate(variables)}
        test = self.nodes[condition].inputs[0]
        regions = [self._loop_region(wanted, condition, places) for wanted in ([test], following)]
        extras: dict[Endpoint, int] = {}
        for region, edges in regions:
            for endpoint, stands_for in edges.items():
                if isinstance(stands_for, Endpoint):
                    place = extras.setdefault(stands_for, len(switches) + len(extras))
                else:
                    place = stands_for if stands_for is not None else 0
                region.names[endpoint] = f"@{place}"
        name = self._names.fresh(f"{condition}/loop")
        count = len(switches) + len(extras)
        kept = [Endpoint(f"@{place}") for place in range(len(switches), count)]
        regions[1][0].names.update({endpoint: endpoint.node for endpoint in kept})
        attrs = {
            "cond": self._add_function(f"{name}/cond", count, regions[0][0], [test]),
            "body": self._add_function(f"{name}/body", count, regions[1][0], [*following, *kept]),
        }
        inputs = (*(self._settled(variable.start) for variable in variables), *extras)
        self.nodes[name] = TFNode(name, "While", inputs, (), attrs)
        for place, switch in enumerate(switches):
            for left in self.exits.get(Endpoint(switch.name, FALSE), ()):
                self.aliases[Endpoint(left)] = Endpoint(name, place)

    def _loop_variable(self, switch: TFNode) -> _LoopVariable:
        """The variable of a loop that a Switch takes apart."""
        merge = self.nodes.get(switch.inputs[0].node)
        sources = [] if merge is None else [self.nodes.get(source.node) for source in merge.inputs]
        by_op = {source.op: source for source in sources if source is not None}
        if merge is None or merge.op != "Merge" or set(by_op) != {"Enter", "NextIteration"}:
            raise ImportFailure(f"the loop variable at {switch.name} does not come from Enter and NextIteration")
        return _LoopVariable(merge.name, by_op["Enter"].inputs[0], by_op["NextIteration"].inputs[0])

    def _loop_region(
        self, wanted: Sequence[Endpoint], condition: str, places: Mapping[Endpoint, int]
    ) -> tuple[_Region, dict[Endpoint, Outside]]:
        """The nodes of a loop behind some endpoints; `places` are its variables."""

        def outside(endpoint: Endpoint, node: TFNode | None) -> Outside:
            if endpoint in places:
                return places[endpoint]
            if node is None or node.op in ("Const", "Placeholder"):
                return endpoint
            if node.op == "Enter":
                return self._settled(node.inputs[0])
            if node.op in ("Switch", "Merge", "LoopCond"):
                raise ImportFailure(f"the loop at {condition} uses {endpoint}, which belongs to another frame")
            return None

        return self._region(wanted, outside)


@dataclass(frozen=True)
class _LoopVariable:
    """A variable of a loop: the Merge that it comes from, its first value, and that of the next turn."""

    merge: str
    start: Endpoint
    following: Endpoint


@dataclass
class _Branch:
    """One side of a conditional: its result, the nodes that belong to it, and the sides of Switches under them."""

    result: Endpoint
    nodes: dict[str, TFNode]
    sides: set[tuple[Endpoint, int]]


__all__ = ["lower_frames"]
