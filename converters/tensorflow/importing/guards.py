"""In which branches and loops the nodes of TensorFlow 1's control flow stand.

A Switch passes its operand to one of its results, so what uses a result runs on one side of a condition; a Merge ends
that. An Enter begins a loop, an Exit leaves it. A node that takes nothing from a Switch waits for one that does: its
control inputs count like operands. Source: "Implementation of Control Flow in TensorFlow" (2017).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from graphir.converters.tensorflow.files.records import Endpoint, TFNode
from graphir.safety.limits import check_depth

SWITCHES = frozenset({"Switch", "_SwitchN"})


@dataclass(frozen=True, slots=True)
class Guard:
    """One of the `sides` of a condition, which `is_index` if it is a number; or, with no sides, a loop's frame."""

    condition: Endpoint
    side: int = 0
    sides: int = 0
    is_index: bool = False


Path = tuple[Guard, ...]


class Guards:
    """The guards of each node, the outermost first. Linear, for a bounded depth.

    Raises LimitError for branches and loops that stand deeper in each other than the limit.
    """

    def __init__(self, nodes: Mapping[str, TFNode]) -> None:
        self._nodes = nodes
        self._paths: dict[str, Path] = {}
        self._sources: dict[Endpoint, Endpoint] = {}
        if any(plain_op(node) in (*SWITCHES, "Enter") for node in nodes.values()):
            self._visit_all()

    def of_node(self, name: str) -> Path:
        """Return the guards under which a node runs; none for a node that is unknown."""
        return self._paths.get(name, ())

    def set_node(self, name: str, path: Path) -> None:
        """State the guards of a new node."""
        self._paths[name] = path

    def of(self, endpoint: Endpoint) -> Path:
        """Return the guards of a result: those of its node, and for a Switch the side that the result stands for."""
        path, node = self.of_node(endpoint.node), self._nodes.get(endpoint.node)
        return path if node is None or not self.is_branch(node) else _join([path, (self.side(node, endpoint.slot),)])

    def is_branch(self, node: TFNode) -> bool:
        """Return whether a node is the Switch of a conditional, not that of a loop."""
        return plain_op(node) in SWITCHES and len(node.inputs) > 1 and not self.loop_condition(node)

    def side(self, switch: TFNode, slot: int) -> Guard:
        """Return the side of its condition that a Switch's result stands for."""
        is_index = switch.op == "_SwitchN"
        return Guard(
            self.behind_identities(switch.inputs[1]), slot, switch.attrs.get("num_outs", 0) if is_index else 2, is_index
        )

    def loop_condition(self, switch: TFNode) -> str:
        """Return the LoopCond that a Switch stands on, "" for one of a conditional."""
        node = self._nodes.get(self.behind_identities(switch.inputs[1]).node)
        return node.name if node is not None and node.op == "LoopCond" else ""

    def is_loop_merge(self, node: TFNode) -> bool:
        """Return whether a node is the Merge of a loop's variable."""
        return plain_op(node) == "Merge" and any(map(self._comes_from_iteration, node.inputs))

    def loop_of(self, node: TFNode) -> Guard | None:
        """Return the innermost loop that an Exit leaves."""
        return next((guard for guard in reversed(self._join_paths(node.inputs)) if not guard.sides), None)

    def sides(self, merge: TFNode) -> tuple[Guard, list[Endpoint]] | None:
        """Return the condition whose sides a Merge brings together, and its operands by side; None if there is no such.

        An operand on no side is always there: TensorFlow's Merge then gives whichever comes first.
        """
        paths = list(map(self.of, merge.inputs))
        for guard in reversed(max(paths, key=len, default=())):
            taken = [[step.side for step in path if step.condition == guard.condition] for path in paths]
            if guard.sides == len(paths) and sorted(taken) == [[side] for side in range(guard.sides)]:
                return guard, [merge.inputs[taken.index([side])] for side in range(guard.sides)]
        return None

    def behind_identities(self, endpoint: Endpoint) -> Endpoint:
        """Return what an endpoint is behind nodes that change nothing."""
        passed: dict[Endpoint, None] = {}
        while endpoint not in passed:
            passed[endpoint] = None
            node = self._nodes.get(endpoint.node)
            if endpoint in self._sources or node is None or plain_op(node) != "Identity":
                endpoint = self._sources.get(endpoint, endpoint)
                break
            endpoint = node.inputs[0]
        self._sources |= dict.fromkeys(passed, endpoint)
        return endpoint

    def _visit_all(self) -> None:
        for start in self._nodes:
            stack = [(start, False)]
            opened: set[str] = set()
            while stack:
                name, is_done = stack.pop()
                node = self._nodes.get(name)
                if node is None or name in self._paths:
                    continue
                if is_done:
                    self._paths[name] = self._find_path(node)
                elif name not in opened:  # what waits for itself through control inputs has nothing to add
                    opened.add(name)
                    stack.append((name, True))
                    if plain_op(node) != "NextIteration":
                        before = (*(source.node for source in node.inputs), *node.controls)
                        stack += [(other, False) for other in before]

    def _find_path(self, node: TFNode) -> Path:
        op = plain_op(node)
        if op == "NextIteration":
            return ()
        if op == "Merge" and self.is_loop_merge(node):
            return self._join_paths(source for source in node.inputs if not self._comes_from_iteration(source))
        if op == "Merge":
            ends = self.sides(node)
            ended = None if ends is None else ends[0].condition
            path = self._join_paths(node.inputs) if ended is not None else ()
            return tuple(guard for guard in path if guard.condition != ended)
        path = _join([self._join_paths(node.inputs), *map(self.of_node, node.controls)])
        if op == "Enter":
            return _join([path, (Guard(Endpoint(str(node.attrs.get("frame_name")))),)])
        if op == "Exit":
            loop = self.loop_of(node)
            return tuple(guard for guard in path if guard != loop)
        return path

    def _join_paths(self, endpoints: Iterable[Endpoint]) -> Path:
        return _join(map(self.of, endpoints))

    def _comes_from_iteration(self, endpoint: Endpoint) -> bool:
        node = self._nodes.get(endpoint.node)
        return node is not None and plain_op(node) == "NextIteration"


def plain_op(node: TFNode) -> str:
    """Return the operator without the prefix of those on reference variables."""
    return node.op.removeprefix("Ref")


def _join(paths: Iterable[Path]) -> Path:
    listed = sorted(paths, key=len, reverse=True)
    path = listed[0] if listed else ()
    for other in listed[1:]:
        path += tuple(guard for guard in other if guard not in path)
    check_depth(len(path), "branches and loops of TensorFlow 1 in each other")
    return path
