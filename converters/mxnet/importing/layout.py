"""MXNet's layouts brought to the IR's: channels first, batch before them."""

from __future__ import annotations

from graphir.converters.mxnet.importing.context import ImportNode
from graphir.graph import Value
from graphir.ops.shape import Transpose

DEFAULT = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def layout_of(node: ImportNode, rank: int) -> str:
    """Return the node's layout, its default if it states none. Refuses a layout that does not fit `rank` spatial
    axes."""
    if rank not in DEFAULT:
        node.refuse(f"{rank} spatial axes; MXNet has 1, 2 or 3")
    layout = node.attrs.get("layout") or DEFAULT[rank]
    if sorted(layout) != sorted(DEFAULT[rank]):
        node.refuse(f"layout {layout} does not fit {rank} spatial axes")
    return str(layout)


def _order(source: str, target: str) -> tuple[int, ...]:
    return tuple(source.index(letter) for letter in target)


def channels_first(node: ImportNode, value: Value, layout: str, suffix: str = "to_nchw") -> Value:
    """Return the value with its axes in the order N, C, spatial."""
    target = DEFAULT[len(layout) - 2]
    if layout == target:
        return value
    return node.step(Transpose(_order(layout, target)), value, suffix=suffix)


def finish(node: ImportNode, value: Value, layout: str) -> Value:
    """Return the node's result in its own layout, from the value in the IR's. Only for layouts that are not channels
    first."""
    return node.emit(Transpose(_order(DEFAULT[len(layout) - 2], layout)), value)


def is_channels_first(layout: str) -> bool:
    """Return whether the layout is the IR's own."""
    return layout == DEFAULT[len(layout) - 2]
