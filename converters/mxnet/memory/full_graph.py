"""The graph that MXNet's executor runs: the symbol's own nodes, twins that are computed once more, and gradients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from graphir.analysis.memory.program import OperatorRun, Phase, Program, TensorKind
from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode, post_order
from graphir.converters.mxnet.memory.entries import Typed, stored_tensor
from graphir.converters.mxnet.memory.gradients import Pairs
from graphir.converters.mxnet.schema.operators import node_signature

Entry = tuple[int, int]


@dataclass(slots=True)
class FullNode:
    """A node: what it reads, what it waits for without reading it (`waits`), the types of its results.

    `work` is what computing it costs; gradients state none.
    """

    op: str
    name: str
    inputs: list[Entry]
    results: list[Typed]
    phase: Phase = Phase.FORWARD
    waits: list[int] = field(default_factory=list)
    in_place: Pairs = ()
    ignored: tuple[int, ...] = ()
    work: int = 0


class FullGraph:
    """Nodes in the order in which they were made; what is not needed for the outputs is left out of the program."""

    def __init__(self) -> None:
        self.nodes: list[FullNode] = []

    def add(self, node: FullNode) -> int:
        """Return the number of a new node."""
        self.nodes.append(node)
        return len(self.nodes) - 1

    def order(self, outputs: Iterable[Entry]) -> list[int]:
        """Return what the outputs need, each node behind its inputs and behind what it waits for, depth first."""
        return post_order((head for head, _ in outputs), self._needs)

    def _needs(self, number: int) -> list[int]:
        node = self.nodes[number]
        return [*(source for source, _ in node.inputs), *node.waits]

    def program(self, outputs: Sequence[Entry], returned: Iterable[Entry], parameters: frozenset[str]) -> Program:
        """Return the steps for the outputs. `returned` are gradients, for which the caller has memory of its own."""
        program = Program()
        places: dict[Entry, int] = {}
        given_back = set(returned)
        for number in self.order(outputs):
            node = self.nodes[number]
            if node.op == VARIABLE:
                places[number, 0] = len(program.tensors)
                kind = TensorKind.PARAMETER if node.name in parameters else TensorKind.INPUT
                program.tensors.append(stored_tensor(node.name, node.results[0], kind))
                continue
            result = []
            for slot, typed in enumerate(node.results):
                kind = TensorKind.GRADIENT if node.phase is Phase.BACKWARD else TensorKind.ACTIVATION
                kind = TensorKind.RETURNED if (number, slot) in given_back else kind
                places[number, slot] = len(program.tensors)
                result.append(len(program.tensors))
                label = node.name if len(node.results) == 1 else f"{node.name}[{slot}]"
                program.tensors.append(stored_tensor(label, typed, kind, len(program.steps)))
            read = [places[entry] for entry in node.inputs]
            program.steps.append(
                OperatorRun(node.name, node.op, read, result, node.phase, node.in_place, node.ignored, node.work)
            )
        program.outputs = [places[entry] for entry in outputs]
        return program


_STATEFUL = frozenset(("Custom", "Dropout", "RNN"))
_RANDOM = ("_random_", "_sample_", "sample_", "_shuffle")


def with_equal_merged(graph: NNVMGraph) -> NNVMGraph:
    """Return the graph in which readers of equal nodes read the first of them; numbers of nodes stay as they are.

    Equal are nodes of one result with the same operator, attributes and operands, at least one, that hold no state and
    draw no numbers. Nodes that are outputs of the symbol stay, though MXNet merges some of them too.
    """
    heads = {number for number, _ in graph.heads}
    first: dict[object, int] = {}
    same: dict[int, int] = {}
    nodes: list[NNVMNode] = []
    for number, node in enumerate(graph.nodes):
        inputs = [(same.get(source, source), slot) for source, slot in node.inputs]
        nodes.append(node if inputs == node.inputs else replace(node, inputs=inputs))
        if number in heads or not _may_merge(node):
            continue
        stated = (tuple(sorted(node.attrs.items())), tuple(sorted(node.annotations.items())))
        key = (node.op, stated, tuple(inputs))
        if first.setdefault(key, number) != number:
            same[number] = first[key]
    return NNVMGraph(nodes, graph.heads, graph.version, graph.np_shape, graph.upgrades) if same else graph


def _may_merge(node: NNVMNode) -> bool:
    if node.op == VARIABLE or not node.inputs or node.subgraphs or node.op in _STATEFUL or node.op.startswith(_RANDOM):
        return False
    signature = node_signature(node)
    return len(signature.outputs) == 1 and not signature.aux
