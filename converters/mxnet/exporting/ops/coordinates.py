"""Where elements lie: index tensors made of a tensor's own axes."""

from __future__ import annotations

from graphir.converters.mxnet.exporting.context import AnyNode, Entry


def places(node: AnyNode, like: Entry, rank: int, axis: int) -> Entry:
    """For each element of `like`, which has `rank` axes, its place on one of them, in the dtype of `like`."""
    if rank == 1:
        return node.step("_contrib_arange_like", like, suffix="places", axis=0)
    line = node.step("_contrib_arange_like", like, suffix=f"places{axis}", axis=axis)
    shape = tuple(-1 if other == axis else 1 for other in range(rank))
    line = node.step("Reshape", line, suffix=f"places{axis}", shape=shape)
    return node.step("broadcast_like", line, like, suffix=f"places{axis}")
