"""Which shapes MXNet comes to know: it does not infer through every operator backwards, graphir does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from graphir.converters.mxnet.mx.symbol.node import Entry, Node, post_order

# Operators that infer nothing, weights neither, while the number of axes of their data is unknown.
FORWARD_ONLY = frozenset((
    "BatchNorm", "BatchNorm_v1", "Convolution", "Convolution_v1", "Deconvolution", "Embedding", "FullyConnected",
    "GroupNorm", "InstanceNorm", "LRN", "LayerNorm", "Pooling", "Pooling_v1", "RNN", "SoftmaxOutput", "UpSampling",
    "_contrib_BatchNormWithReLU", "_contrib_DeformableConvolution", "_contrib_SyncBatchNorm",
))  # fmt: skip


def reached(entries: Sequence[Entry], given: Iterable[str]) -> set[tuple[int, int]]:
    """Return the outputs of nodes, as (identity, number), of whose shapes MXNet knows the number of axes.

    `given` are the variables whose shapes are given; those that state one in an attribute are known too. It runs
    forwards and backwards until nothing more is learned, as MXNet does.
    """
    order = post_order(entries)
    stated = set(given)
    known = {(id(node), 0) for node in order
             if not node.inputs and (not node.is_variable or node.name in stated or "__shape__" in node.attrs)}
    open_nodes = [_values(node) for node in order if not node.is_variable]
    learned = True
    while learned:
        learned = False
        for way in (open_nodes, open_nodes[::-1]):
            for deciding, values in way:
                if not known.isdisjoint(deciding) and not known.issuperset(values):
                    known.update(values)
                    learned = True
    return known


def _values(node: Node) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the inputs and outputs of which one that is known makes the others known, and all of them."""
    inputs = [(id(producer), slot) for producer, slot, _ in node.inputs]
    values = inputs + [(id(node), slot) for slot in range(node.outputs)]
    return inputs[:1] if node.op in FORWARD_ONLY else values, values


__all__ = ["FORWARD_ONLY", "reached"]
