"""What a model is made of: its layers with their parameters and multiply-accumulates."""

from __future__ import annotations

import re
from collections.abc import Mapping

from graphir.analysis.contents import stored_bytes
from graphir.analysis.counting import Counting, Layer, Tally, elements_of, visible_outputs
from graphir.graph import Graph
from graphir.structure.record import record
from graphir.tensor import Tensor
from graphir.types import Dim

# How frameworks call running statistics, where they are part of other weights and no operator tells them any more.
STATISTICS = ("moving_mean", "moving_variance", "moving_var", "running_mean", "running_var")


@record
class Summary:
    """A model's layers, those of subgraphs behind the node that holds them, and their totals.

    `parameters` are those of the model's file that its layers use, each once, `folded` ones included: weights that are
    part of others now (a batch normalization's in a convolution's), which no layer counts. `unsized` are parameters
    without a known shape, which count nothing. `unused` are weights of the file that no layer reads (a gamma that is
    forced to 1), `unused_parameters` their elements; the totals do not hold them. `auxiliary` are those of the
    parameters that training does not change by gradients: running means and variances, folded ones told by their names.

    `macs` are those of one run: of an If the branch with the most, of a loop all its runs where their number is known,
    else one run (`open_loops` names such loops).
    """

    layers: tuple[Layer, ...]
    parameters: int
    parameter_bytes: int
    macs: Dim | None
    unsized: tuple[str, ...]
    unused: tuple[str, ...] = ()
    unused_parameters: int = 0
    folded: tuple[str, ...] = ()
    folded_parameters: int = 0
    open_loops: tuple[str, ...] = ()
    auxiliary: int = 0


def summarize(
    graph: Graph, stored: Mapping[str, Tensor] | None = None, folded: Mapping[str, Tensor] | None = None
) -> Summary:
    """Return the summary of a graph whose types are inferred.

    `stored` are the weights of its source by the source's names, `folded` those of them that are part of others now.
    Cost: linear in nodes; no weight is read, but for the sizes of texts.
    """
    count = Counting(graph, sizes(stored))
    return totals(count, count.graph(graph, ""), stored, folded)


def sizes(stored: Mapping[str, Tensor] | None) -> dict[str, int]:
    """Return how many elements each of the source's weights has."""
    return {name: tensor.size for name, tensor in (stored or {}).items()}


def totals(
    count: Counting, total: Tally, stored: Mapping[str, Tensor] | None, folded: Mapping[str, Tensor] | None
) -> Summary:
    """Return the summary of a walk that was made."""
    gone = folded or {}
    known = {name for value in count.counted for name in (value.name, *value.sources)}
    unused = {
        name: tensor.size for name, tensor in (stored or {}).items() if name not in known and name not in gone
    }
    tensors = [tensor for name, tensor in (stored or {}).items() if name not in unused]
    is_whole = not gone  # else the layers hold what was made of the file's weights
    return Summary(
        layers=tuple(count.layers),
        parameters=sum(layer.parameters for layer in count.layers) if is_whole else sum(each.size for each in tensors),
        parameter_bytes=count.nbytes if is_whole else sum(map(stored_bytes, tensors)),
        macs=total.macs if total.is_whole else None,
        unsized=tuple(count.unsized),
        unused=tuple(unused),
        unused_parameters=sum(unused.values()),
        folded=tuple(gone),
        folded_parameters=sum(tensor.size for tensor in gone.values()),
        open_loops=tuple(count.open_loops),
        auxiliary=sum(layer.auxiliary for layer in count.layers)
        + sum(tensor.size for name, tensor in gone.items() if is_statistic(name)),
    )


def is_statistic(name: str) -> bool:
    """Return whether a weight is called like a running statistic, a number behind the name or not.

    >>> is_statistic("bn/moving_variance_1"), is_statistic("bn/moving_mean:0"), is_statistic("bn/gamma")
    (True, True, False)
    """
    return re.sub(r"(_\d+)?(:\d+)?$", "", name).endswith(STATISTICS)


__all__ = [
    "Layer",
    "Summary",
    "elements_of",
    "is_statistic",
    "summarize",
    "totals",
    "visible_outputs",
]
