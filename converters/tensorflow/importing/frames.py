"""TensorFlow 1's control flow, made of Switch, Merge, Enter, Exit and NextIteration, as conditionals and loops with
functions, which is how TensorFlow 2 has it.

A conditional's values come in by a Switch each, on whose two results the two branches stand; a Merge for each result
ends it. A loop's variables come in by Enter and meet what NextIteration brings in a Merge; a Switch on the loop's
LoopCond sends them into the body or to Exit. Values that no iteration changes come in by an Enter alone.
Source: "Implementation of Control Flow in TensorFlow" (2017).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from graphir.converters.tensorflow.files.records import Endpoint, FunctionCall, FunctionNode, TFFunction, TFNode
from graphir.converters.tensorflow.importing.guards import SWITCHES, Guard, Guards
from graphir.errors import ImportFailure
from graphir.structure.names import Names
from graphir.tensor import Tensor

REFERENCES = frozenset({"RefSwitch", "RefMerge", "RefEnter", "RefExit", "RefNextIteration", "RefIdentity"})
TRUE, FALSE = 1, 0
BRANCHES = ("else_branch", "then_branch")

# What stands for an endpoint inside a function: an endpoint around it, or the index of a loop's variable.
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
        """Return the endpoint as a function's node has it."""
        return self.names.get(endpoint) or f"{endpoint.node}:{endpoint.slot}"


def lower_frames(
    nodes: Mapping[str, TFNode], wanted: Iterable[Endpoint], functions: dict[str, TFFunction]
) -> tuple[dict[str, TFNode], Callable[[Endpoint], Endpoint]]:
    """Return the nodes, with While and If for the loops and conditionals that the wanted endpoints need, and what
    became of endpoints. The bodies are added to `functions`.

    Raises ImportFailure, naming the node, for a structure that is none of these.
    """
    if not any(node.op.removeprefix("Ref") in ("Merge", "Enter") for node in nodes.values()):
        return dict(nodes), lambda endpoint: endpoint
    plain = {
        name: replace(node, op=node.op.removeprefix("Ref")) if node.op in REFERENCES else node
        for name, node in nodes.items()
    }
    lowering = _FrameLowering(plain, functions)
    lowering.reach(wanted)
    nodes = lowering.nodes
    return {
        name: replace(node, inputs=tuple(map(lowering.now, node.inputs))) for name, node in nodes.items()
    }, lowering.now


class _FrameLowering:
    """One graph. `aliases` says what became of the results of nodes that were replaced."""

    def __init__(self, nodes: dict[str, TFNode], functions: dict[str, TFFunction]) -> None:
        self.nodes = nodes
        self.functions = functions
        self.guards = Guards(nodes)
        self._names = Names((*nodes, *functions))
        self.aliases: dict[Endpoint, Endpoint] = {}
        self.active: set[str] = set()
        self.order: dict[str, int] = {}  # each node that is needed behind those it needs; loops have no such order
        self.loops: dict[str, list[TFNode]] = {}  # the Switches of a loop, by its LoopCond
        self.exits: dict[Endpoint, list[str]] = {}
        self.merges: dict[str, deque[str]] = {}  # the Merges of conditionals, by the scope in their name
        self.indexed: set[str] = set()  # the nodes whose second result is used
        for node in nodes.values():
            self.indexed.update(source.node for source in node.inputs if source.slot == 1)
            if node.op == "Switch" and (condition := self.guards.loop_condition(node)):
                self.loops.setdefault(condition, []).append(node)
            elif node.op == "Exit":
                self.exits.setdefault(node.inputs[0], []).append(node.name)
            elif node.op == "Merge" and not self.guards.is_loop_merge(node):
                self.merges.setdefault(node.name.rpartition("/")[0], deque()).append(node.name)

    def now(self, endpoint: Endpoint) -> Endpoint:
        """Return what became of an endpoint."""
        while endpoint in self.aliases:
            endpoint = self.aliases[endpoint]
        return endpoint

    def reach(self, wanted: Iterable[Endpoint]) -> None:
        """Lower what the endpoints need, outside of functions. Raises ImportFailure for one in a branch or a loop."""
        listed = list(wanted)
        for endpoint in listed:
            if path := self.guards.of(endpoint):
                where = "a branch of the conditional on" if path[0].sides else "the loop"
                raise ImportFailure(
                    f"{endpoint} is computed in {where} {path[0].condition.node}, and outside of it there is no such "
                    "value: name what the Merge or Exit behind it gives"
                )
        self.indexed.update(endpoint.node for endpoint in listed if endpoint.slot == 1)
        ordered = self._conditionals_before(listed)
        for scope, merges in self.merges.items():
            self.merges[scope] = deque(sorted(merges, key=lambda name: self.order.get(name, 0)))
        for merge in ordered:
            self._settle(Endpoint(merge))
        self._collect_region(listed, lambda endpoint, node: None)

    def _conditionals_before(self, wanted: Sequence[Endpoint]) -> list[str]:
        """Return the Merges of conditionals outside of loops that the endpoints need, each behind those it needs.

        Lowered in this order, conditionals that stand one behind the other need no recursion.
        """
        seen: set[str] = set()
        stack = [(endpoint.node, False) for endpoint in reversed(wanted)]
        while stack:
            name, is_done = stack.pop()
            node = self.nodes.get(name)
            if is_done:
                self.order[name] = len(self.order)
            elif node is not None and name not in seen:
                seen.add(name)
                stack.append((name, True))
                stack += [(source.node, False) for source in reversed(node.inputs)]
        merges = [name for name in self.order if self._is_conditional(self.nodes[name])]
        return [name for name in merges if all(guard.sides for guard in self.guards.of_node(name))]

    def _needs(self, name: str, others: Sequence[str]) -> bool:
        """Return whether a node depends on one of the others, which come before it in the order of computation."""
        first = min(self.order.get(other, 0) for other in others)
        seen, stack = {name}, [name]
        while stack:
            node = self.nodes.get(stack.pop())
            for source in () if node is None else node.inputs:
                producer = self.now(source).node
                if producer in others:
                    return True
                if producer not in seen and self.order.get(producer, first) >= first:
                    seen.add(producer)
                    stack.append(producer)
        return False

    def _is_conditional(self, node: TFNode) -> bool:
        return node.op == "Merge" and not self.guards.is_loop_merge(node)

    def _settle(self, endpoint: Endpoint) -> Endpoint:
        """Return the endpoint after what gives it has been lowered."""
        endpoint = self.now(endpoint)
        node = self.nodes.get(endpoint.node)
        if node is not None and node.op == "Exit":
            self._lower_loop(node)
        elif node is not None and self._is_conditional(node):
            self._lower_conditional(node)
        else:
            return endpoint
        return self._settle(endpoint)

    def _collect_region(
        self, starts: Iterable[Endpoint], outside: Callable[[Endpoint, TFNode | None], Outside]
    ) -> tuple[_Region, dict[Endpoint, Outside]]:
        """Return the nodes that the endpoints need, back to what `outside` excludes, and the endpoints outside."""
        region, seen = _Region(), set[str]()
        edges: dict[Endpoint, Outside] = {}
        stack: list[tuple[Endpoint, bool]] = [(endpoint, False) for endpoint in starts]
        while stack:
            endpoint, is_done = stack.pop()
            if is_done:
                region.nodes.setdefault(endpoint.node, self.nodes[endpoint.node])
                continue
            endpoint = self._settle(endpoint)
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
        """Return a function in the library that takes `count` arguments, called @0, @1 and so on."""
        nodes = [
            FunctionNode(node.name, node.op, tuple(region.text(self.now(source)) for source in node.inputs), node.attrs)
            for node in region.nodes.values()
        ]
        texts = tuple(region.text(self.now(result)) for result in results)
        outputs = tuple(f"result_{index}" for index in range(len(texts)))
        arguments = tuple(f"@{index}" for index in range(count))
        self.functions[name] = TFFunction(name, arguments, outputs, texts, nodes, is_made=True)
        return FunctionCall(name)

    # Conditionals

    def _lower_conditional(self, merge: TFNode) -> None:
        """Add a conditional for a Merge and for those of the same conditional that do not depend on it."""
        if merge.name in self.active:
            raise _Depends(f"the conditional at {merge.name} depends on itself")
        self.active.add(merge.name)
        scope = merge.name.rpartition("/")[0]
        members: list[TFNode] = []
        branches: list[list[_Branch]] = []
        guard, _ = self._find_sides(merge)
        waiting = self.merges[scope]
        while waiting and Endpoint(waiting[0]) in self.aliases:
            waiting.popleft()
        for name in chain([merge.name], (name for name in waiting if name != merge.name)):
            other = self.nodes[name]
            if Endpoint(name) in self.aliases:
                continue
            if members and self._needs(name, [member.name for member in members]):
                break  # it and those behind it are a conditional of their own
            try:
                known, operands = self._find_sides(other)
                if known.condition != guard.condition:
                    continue
                sides = [self._find_branch(operand, replace(guard, side=side)) for side, operand in enumerate(operands)]
            except ImportFailure:
                if other is merge:
                    raise
                continue
            if Endpoint(name) not in self.aliases:
                members.append(other)
                branches.append(sides)
        self.active.discard(merge.name)
        self._add_conditional(members, guard, branches)

    def _find_sides(self, merge: TFNode) -> tuple[Guard, list[Endpoint]]:
        """Return the condition of a Merge, and its operands by the side that each stands on."""
        sides = self.guards.sides(merge)
        if sides is None:
            raise ImportFailure(
                f"the {len(merge.inputs)} operands of {merge.name} do not stand on the sides of one condition, which "
                "those of a conditional do"
            )
        return sides

    def _find_branch(self, start: Endpoint, guard: Guard) -> _Branch:
        """Return what a Merge's operand needs on its side of the condition; what runs on both stays outside."""

        def outside(endpoint: Endpoint, node: TFNode | None) -> Outside:
            if node is None or node.op in ("Placeholder", "Const", "Enter") or self.guards.is_loop_merge(node):
                return endpoint
            return endpoint if node.op in SWITCHES else None

        region, _ = self._collect_region([start], outside)
        inside = {name: node for name, node in region.nodes.items() if guard in self.guards.of_node(name)}
        return _Branch(self.now(start), inside)

    def _add_conditional(self, members: list[TFNode], guard: Guard, branches: list[list[_Branch]]) -> None:
        name = self._names.fresh(f"{members[0].name}/conditional")
        arguments: dict[Endpoint, str] = {}
        calls = []
        for side in range(guard.sides):
            region = _Region()
            for sides in branches:
                region.nodes.update(sides[side].nodes)
            results = [sides[side].result for sides in branches]
            for member in members:
                results += self._value_index(member, replace(guard, side=side))
            for endpoint in [*(source for node in region.nodes.values() for source in node.inputs), *results]:
                used = self.now(endpoint)
                if used.node not in region.nodes:
                    region.names[used] = arguments.setdefault(self._skip_switch(used, guard), f"@{len(arguments)}")
            calls.append((region, results))
        functions = [
            self._add_function(self._names.fresh(f"{name}/{side}"), len(arguments), region, results)
            for side, (region, results) in enumerate(calls)
        ]
        attrs = {"branches": functions} if guard.is_index else dict(zip(BRANCHES, functions, strict=True))
        inputs = (self._settle(guard.condition), *arguments)
        self.nodes[name] = TFNode(name, "Case" if guard.is_index else "If", inputs, (), attrs)
        self.guards.set_node(name, self.guards.of_node(members[0].name))
        slots = [Endpoint(member.name) for member in members]
        slots += [Endpoint(member.name, 1) for member in members if member.name in self.indexed]
        self.aliases |= {endpoint: Endpoint(name, slot) for slot, endpoint in enumerate(slots)}

    def _skip_switch(self, endpoint: Endpoint, guard: Guard) -> Endpoint:
        """Return what a Switch of this condition passes on; any other endpoint as it is."""
        node = self.nodes.get(endpoint.node)
        if node is None or not self.guards.is_branch(node):
            return endpoint
        is_same = self.guards.side(node, endpoint.slot).condition == guard.condition
        return self._settle(node.inputs[0]) if is_same else endpoint

    def _value_index(self, merge: TFNode, guard: Guard) -> list[Endpoint]:
        """Return which of a Merge's operands it gives on a side, as a constant; nothing where that is not used."""
        if merge.name not in self.indexed:
            return []
        index = merge.inputs.index(self._find_sides(merge)[1][guard.side])
        name = self._names.fresh(f"{merge.name}/value_index_{index}")
        value = Tensor.of(np.array(index, np.int32))
        self.nodes[name] = TFNode(name, "Const", (), (), {"value": value, "dtype": value.dtype})
        return [Endpoint(name)]

    # Loops

    def _lower_loop(self, exit_: TFNode) -> None:
        """Add a While for the loop that an Exit leaves."""
        switch = self.nodes.get(exit_.inputs[0].node)
        condition = "" if switch is None or switch.op != "Switch" else self.guards.loop_condition(switch)
        if not condition:
            raise ImportFailure(f"{exit_.name} leaves no loop: it does not stand on a Switch of a LoopCond")
        switches = self.loops[condition]
        variables = [self._loop_variable(switch) for switch in switches]
        following = [variable.following for variable in variables]
        indices = {Endpoint(switch.name, TRUE): index for index, switch in enumerate(switches)}
        indices |= {Endpoint(variable.merge): index for index, variable in enumerate(variables)}
        test = self.nodes[condition].inputs[0]
        regions = [self._collect_loop_region(wanted, condition, indices) for wanted in ([test], following)]
        extras: dict[Endpoint, int] = {}
        for region, edges in regions:
            for endpoint, stands_for in edges.items():
                if isinstance(stands_for, Endpoint):
                    index = extras.setdefault(stands_for, len(switches) + len(extras))
                else:
                    index = stands_for if stands_for is not None else 0
                region.names[endpoint] = f"@{index}"
        name = self._names.fresh(f"{condition}/loop")
        count = len(switches) + len(extras)
        kept = [Endpoint(f"@{index}") for index in range(len(switches), count)]
        regions[1][0].names.update({endpoint: endpoint.node for endpoint in kept})
        attrs = {
            "cond": self._add_function(f"{name}/cond", count, regions[0][0], [test]),
            "body": self._add_function(f"{name}/body", count, regions[1][0], [*following, *kept]),
        }
        inputs = (*(self._settle(variable.start) for variable in variables), *extras)
        self.nodes[name] = TFNode(name, "While", inputs, (), attrs)
        self.guards.set_node(name, self.guards.of_node(exit_.name))
        for index, switch in enumerate(switches):
            for left in self.exits.get(Endpoint(switch.name, FALSE), ()):
                self.aliases[Endpoint(left)] = Endpoint(name, index)

    def _loop_variable(self, switch: TFNode) -> _LoopVariable:
        """Return the variable of a loop that a Switch takes apart."""
        merge = self.nodes.get(switch.inputs[0].node)
        sources = [] if merge is None else [self.nodes.get(source.node) for source in merge.inputs]
        by_op = {source.op: source for source in sources if source is not None}
        if merge is None or merge.op != "Merge" or set(by_op) != {"Enter", "NextIteration"}:
            raise ImportFailure(f"the loop variable at {switch.name} does not come from Enter and NextIteration")
        return _LoopVariable(merge.name, by_op["Enter"].inputs[0], by_op["NextIteration"].inputs[0])

    def _collect_loop_region(
        self, wanted: Sequence[Endpoint], condition: str, indices: Mapping[Endpoint, int]
    ) -> tuple[_Region, dict[Endpoint, Outside]]:
        """Return the nodes of a loop behind some endpoints; `indices` are those of its variables."""

        def outside(endpoint: Endpoint, node: TFNode | None) -> Outside:
            if endpoint in indices:
                return indices[endpoint]
            if node is None or node.op in ("Const", "Placeholder"):
                return endpoint
            if node.op == "Enter":
                return self._settle(node.inputs[0])
            if node.op in ("Switch", "Merge", "LoopCond"):
                raise ImportFailure(f"the loop at {condition} uses {endpoint}, which belongs to another frame")
            return None

        return self._collect_region(wanted, outside)


@dataclass(frozen=True)
class _LoopVariable:
    """A variable of a loop: the Merge that it comes from, its first value, and that of the next turn."""

    merge: str
    start: Endpoint
    following: Endpoint


@dataclass
class _Branch:
    """One side of a conditional: its result, and the nodes that belong to it."""

    result: Endpoint
    nodes: dict[str, TFNode]
