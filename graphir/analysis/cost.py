"""What a model costs: parameters, multiply-accumulates, floating-point operations, and bytes of activations.

docs/cost.md defines each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from graphir.analysis.counting import Counting, Layer, Tally
from graphir.analysis.summary import build_summary, element_counts
from graphir.graph import Graph
from graphir.safety.arguments import expect
from graphir.structure.printed import Printed
from graphir.structure.record import record
from graphir.tensor import Tensor
from graphir.types import Dim, Sym, Unknown, substitute


@record
class OperatorCost:
    """The nodes of one operator together, those in subgraphs included, and what a run of the model computes there."""

    operator: str
    nodes: int
    parameters: int
    macs: Dim | None
    flops: Dim | None
    activation_bytes: Dim | None


@record
class Uncounted:
    """A layer whose cost is not in the totals, and why."""

    name: str
    operator: str
    why: str


@record
class Cost(Printed):
    """What a run of a model costs, in all, by operator (the one with the most operations first) and by layer.

    `parameters` are the elements of the weights that its layers use, each once; `trainable` are those that gradients
    change, `auxiliary` running means and variances. `macs` are multiply-accumulates, `flops` two for each of them and
    one for each other step, `activation_bytes` the sizes of all results. Each is a number, or an expression in symbolic
    sizes (None for one that is too long to be kept). What is not known is in none of them: `uncounted` names those
    layers, `unsized_results` counts those whose results' bytes are not known. A loop counts as often as it runs;
    `open_loops` are those of which only a run can tell, counted once. Of an If the branch with the most MACs counts.
    """

    layers: tuple[Layer, ...]
    operators: tuple[OperatorCost, ...]
    parameters: int
    trainable: int
    auxiliary: int
    parameter_bytes: int
    macs: Dim | None
    flops: Dim | None
    activation_bytes: Dim | None
    uncounted: tuple[Uncounted, ...]
    unsized: tuple[str, ...]
    open_loops: tuple[str, ...]
    unsized_results: int = 0
    folded: tuple[str, ...] = ()
    folded_parameters: int = 0

    def to_text(self, *, width: int | None = None) -> str:
        """Return layers, operators and totals, in `width` columns (None: as many as it takes)."""
        return str(_printer().cost_text(self, width))

    def to_json(self) -> dict[str, Any]:
        """Return the cost as plain data."""
        entries: dict[str, Any] = _printer().cost_json(self)
        return entries


def _printer() -> Any:
    """Return what writes a cost, found by its name: counting needs no report."""
    return import_module("graphir.report.cost")


def cost(
    graph: Graph, stored: Mapping[str, Tensor] | None = None, folded: Mapping[str, Tensor] | None = None
) -> Cost:
    """Return the cost of a graph whose types are inferred.

    `stored` are the weights of its source by the source's names, `folded` those of them that are part of others now: a
    graph alone does not know what it was made of. No weight is read. Linear in nodes.
    """
    expect(graph, Graph, "the graph", "a Graph, as graphir.load gives it")
    count = Counting(graph, element_counts(stored))
    total = count.graph(graph, "")
    summed = build_summary(count, total, stored, folded)
    uncounted = [Uncounted(layer.name, layer.operator, layer.why) for layer in count.layers if layer.why]
    return Cost(
        summed.layers, _operators(total), summed.parameters, summed.parameters - summed.auxiliary, summed.auxiliary,
        summed.parameter_bytes, kept(total.macs), kept(total.flops), kept(total.activation_bytes), tuple(uncounted),
        summed.unsized, summed.open_loops, sum(layer.activation_bytes is None for layer in summed.layers),
        summed.folded, summed.folded_parameters,
    )  # fmt: skip


def sample_work(graph: Graph) -> int:
    """Return the multiply-accumulates of a run in which each open size is 1; what is not known counts 1."""
    return _size(kept(Counting(graph, element_counts(None)).graph(graph, "").macs))


def _operators(total: Tally) -> tuple[OperatorCost, ...]:
    rows = [
        OperatorCost(
            name, count.nodes, count.parameters, kept(count.macs), kept(count.flops), kept(count.activation_bytes)
        )
        for name, count in total.operators.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-_size(row.flops), -row.nodes, row.operator)))


def kept(count: Dim) -> Dim | None:
    """Return a sum, None for an expression that became too long to be kept."""
    return None if isinstance(count, Unknown) else count


def _size(count: Dim | None) -> int:
    """Return a count for sorting; symbolic sizes count as 1."""
    if isinstance(count, int):
        return count
    if not isinstance(count, Sym):
        return 0
    size = substitute(count, dict.fromkeys(count.symbols(), 1))
    return size if isinstance(size, int) else 0
