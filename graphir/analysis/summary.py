"""Summaries of models: layers with their parameters and multiply-accumulates."""

from __future__ import annotations

import re
from collections.abc import Mapping

from graphir.analysis.contents import stored_bytes
from graphir.analysis.counting import Counting, Layer, Tally
from graphir.graph import Graph
from graphir.structure.record import record
from graphir.tensor import Tensor
from graphir.types import Dim

# Names that frameworks give to running statistics. Folded ones have no operator that identifies them.
STATISTICS = ("moving_mean", "moving_variance", "moving_var", "running_mean", "running_var")


@record
class Summary:
    """A model's layers and their totals. Layers of a subgraph follow the node that contains it.

    `parameters` counts each weight of the file that a layer uses once. It includes `folded` weights, which other
    weights absorbed (a batch normalization's in a convolution's). `unsized` parameters have no known shape and count 0.
    `unused` weights are read by no layer (a gamma that is forced to 1) and are not in the totals. `auxiliary` counts
    running means and variances, which training does not change by gradients.

    `macs` are those of one run. Of an If, the larger branch counts. A loop counts once if its length is unknown;
    `open_loops` names such loops.
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

    `stored` are the source's weights by their names there; `folded` are those that other weights absorbed.
    Cost: linear in nodes. Only weights of texts are read, for their sizes.
    """
    count = Counting(graph, element_counts(stored))
    return build_summary(count, count.graph(graph, ""), stored, folded)


def element_counts(stored: Mapping[str, Tensor] | None) -> dict[str, int]:
    """Return the number of elements of each of the source's weights."""
    return {name: tensor.size for name, tensor in (stored or {}).items()}


def build_summary(
    count: Counting, total: Tally, stored: Mapping[str, Tensor] | None, folded: Mapping[str, Tensor] | None
) -> Summary:
    """Return the summary of a graph that `count` has traversed."""
    absorbed = folded or {}
    known = {name for value in count.counted for name in (value.name, *value.sources)}
    unused = {
        name: tensor.size for name, tensor in (stored or {}).items() if name not in known and name not in absorbed
    }
    tensors = [tensor for name, tensor in (stored or {}).items() if name not in unused]
    is_whole = not absorbed  # else the layers have the weights after folding
    return Summary(
        layers=tuple(count.layers),
        parameters=sum(part.parameters for part in count.layers) if is_whole else sum(part.size for part in tensors),
        parameter_bytes=count.nbytes if is_whole else sum(map(stored_bytes, tensors)),
        macs=total.macs if total.is_whole else None,
        unsized=tuple(count.unsized),
        unused=tuple(unused),
        unused_parameters=sum(unused.values()),
        folded=tuple(absorbed),
        folded_parameters=sum(tensor.size for tensor in absorbed.values()),
        open_loops=tuple(count.open_loops),
        auxiliary=sum(layer.auxiliary for layer in count.layers)
        + sum(tensor.size for name, tensor in absorbed.items() if is_statistic(name)),
    )


def is_statistic(name: str) -> bool:
    """Return whether a weight has the name of a running statistic, with or without a number at its end.

    >>> is_statistic("bn/moving_variance_1"), is_statistic("bn/moving_mean:0"), is_statistic("bn/gamma")
    (True, True, False)
    """
    return re.sub(r"(_\d+)?(:\d+)?$", "", name).endswith(STATISTICS)
