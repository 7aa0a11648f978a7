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
    """The outputs of nodes, as (identity, number), of whose shapes MXNet knows the number of axes.

    `given` are the variables whose shapes are given; those that state one in an attribute are known too. It runs
    forwards and backwards until nothing more is learned, as MXNet does.
    """
    order = post_order(entries)
    stated = set(given)
    known = {(id(node), 0) for node in order
             if node.is_variable and (node.name in stated or "__shape__" in node.attrs)}  # fmt: skip
    size = -1
    while size != len(known):
        size = len(known)
        for way in (order, reversed(order)):
            for node in way:
                if not node.is_variable:
                    _learn(node, known)
    return known


def _learn(node: Node, known: set[tuple[int, int]]) -> None:
    inputs = [(id(producer), slot) for producer, slot, _ in node.inputs]
    outputs = [(id(node), slot) for slot in range(node.outputs)]
    if node.op in FORWARD_ONLY:
        learns = inputs[0] in known
    else:
        learns = not inputs or any(entry in known for entry in inputs) or any(entry in known for entry in outputs)
    if learns:
        known.update(inputs)
        known.update(outputs)


__all__ = ["FORWARD_ONLY", "reached"]
