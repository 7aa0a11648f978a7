"""The memory of a symbol as MXNet 1.9.1's executor plans it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from graphir.analysis.memory.blocks import MATCH_RANGE, Blocks, Sharing, plan_blocks
from graphir.analysis.memory.program import Program
from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.memory.entries import entry_types
from graphir.converters.mxnet.memory.full_graph import with_equal_merged
from graphir.converters.mxnet.memory.gradients import COSTLY, NEVER_MIRRORED
from graphir.converters.mxnet.memory.training import Differentiation, Training, forward_graph
from graphir.converters.mxnet.schema.operators import state_variables
from graphir.errors import ImportFailure
from graphir.safety.collector import paused_collector

FORCED = "__force_mirroring__"
Shapes = Mapping[str, Sequence[int | None]]


@dataclass(frozen=True)
class Switches:
    """MXNet's environment variables that change a plan, and whether there are gradients.

    `do_mirror`: MXNET_BACKWARD_DO_MIRROR; `sum_cap`: MXNET_EXEC_INPLACE_GRAD_SUM_CAP; `merge_equal`:
    MXNET_ELIMINATE_COMMON_EXPR. `wanted`: the arguments that get a gradient, None for all.
    """

    training: bool = True
    do_mirror: bool = False
    sum_cap: int = 8
    merge_equal: bool = True
    wanted: frozenset[str] | None = None
    sharing: Sharing = field(default_factory=Sharing)


class Planned:
    """A symbol whose sizes are known, of which plans are made.

    `parameters` are the variables that are the model's own; of those whose shape is given the others are its inputs.
    """

    def __init__(
        self, graph: NNVMGraph, shapes: Shapes, dtypes: Mapping[str, object] | None = None,
        parameters: Iterable[str] = (),
    ) -> None:  # fmt: skip
        self.graph = needed(graph)
        self.types = entry_types(self.graph, shapes, dtypes)
        states = state_variables(self.graph)
        self.arguments = [node.name for number, node in enumerate(self.graph.nodes)
                          if node.op == VARIABLE and number not in states]  # fmt: skip
        self.given = frozenset(shapes) - frozenset(parameters)

    def program(self, switches: Switches, marked: Iterable[int] | None = None) -> Program:
        """Return the steps. `marked` are the nodes to recompute, None for those that the symbol's attributes name."""
        with paused_collector():
            return self._program(switches, marked)

    def _program(self, switches: Switches, marked: Iterable[int] | None) -> Program:
        graph = with_equal_merged(self.graph) if switches.merge_equal else self.graph
        full = forward_graph(graph, self.types)
        parameters = frozenset(node.name for node in self.graph.nodes if node.op == VARIABLE) - self.given
        if not switches.training:
            return full.program(graph.heads, (), parameters)
        wanted = frozenset(self.arguments) if switches.wanted is None else switches.wanted
        chosen = self.marked() if marked is None else frozenset(marked)
        recomputed = frozenset(
            number for number, node in enumerate(self.graph.nodes) if _is_mirrored(node, number in chosen, switches)
        )
        outputs, gradients = Differentiation(graph, full, Training(wanted, recomputed, switches.sum_cap)).run()
        return full.program(outputs, gradients, parameters)

    def blocks(self, switches: Switches, marked: Iterable[int] | None = None) -> Blocks:
        """Return the plan of the steps."""
        return plan_blocks(self.program(switches, marked), switches.sharing)

    def marked(self) -> frozenset[int]:
        """Return the nodes whose attributes ask for recomputation."""
        return frozenset(
            number
            for number, node in enumerate(self.graph.nodes)
            if node.annotations.get(FORCED, "").lower() in ("true", "1")
        )


def _is_mirrored(node: NNVMNode, is_marked: bool, switches: Switches) -> bool:
    if node.op == VARIABLE or node.op in NEVER_MIRRORED:
        return False
    return is_marked or (switches.do_mirror and node.op not in COSTLY)


def needed(graph: NNVMGraph) -> NNVMGraph:
    """Return the nodes that the heads depend on, in the order in which MXNet visits them: depth first."""
    return graph.with_nodes(graph.post_order())


ELEMENT = 4
"""The bytes that MXNet takes every element to have."""


def from_environment(variables: Mapping[str, str] | None = None) -> Switches:
    """Return what MXNet would read: NNVM_EXEC_MATCH_RANGE and the others. Raises ImportFailure for what is no
    number."""
    given = os.environ if variables is None else variables

    def number(name: str, default: int) -> int:
        text = given.get(name, "")
        if not text:
            return default
        try:
            return int(text)
        except ValueError as error:
            raise ImportFailure(f"the environment variable {name} is {text!r}, expected a whole number") from error

    return Switches(
        do_mirror=number("MXNET_BACKWARD_DO_MIRROR", 0) != 0,
        sum_cap=number("MXNET_EXEC_INPLACE_GRAD_SUM_CAP", 8),
        merge_equal=number("MXNET_ELIMINATE_COMMON_EXPR", 1) != 0,
        sharing=Sharing(
            match_range=number("NNVM_EXEC_MATCH_RANGE", MATCH_RANGE),
            search_match_range=number("NNVM_AUTO_SEARCH_MATCH_RANGE", 0) != 0,
            colours=number("NNVM_EXEC_NUM_TEMP", 1),
            element_bytes=ELEMENT,
        ),
    )
