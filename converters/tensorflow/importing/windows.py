"""Windows of channels-last data, taken out by gathering on each spatial axis."""

from __future__ import annotations

from collections.abc import Sequence

from graphir.converters.tensorflow.importing.context import ImportNode
from graphir.converters.tensorflow.importing.layout import Layout, padding_of
from graphir.graph import Value
from graphir.ops.indexing import Gather
from graphir.ops.shape import Pad
from graphir.padding import Explicit, extent
from graphir.safety.limits import charge_elements


def windows_of(
    node: ImportNode,
    layout: Layout,
    data: Value,
    kernel: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    fill: float = 0.0,
) -> Value:
    """Return (N, windows and kernel of each spatial axis, C) of data (N, spatial..., C), by the node's `padding`.

    Two spatial axes give (N, H', K_h, W', K_w, C). `fill` is what padding counts as. Raises NeedsShape if a spatial
    size is not known; refuses where no window fits.
    """
    sizes = node.sizes(data, tuple(layout.spatial_axes))
    padding = padding_of(node, layout, data, kernel, strides, rates)
    assert isinstance(padding, Explicit)
    pads = padding.pads or ((0, 0),) * layout.spatial
    if any(map(any, pads)):
        before, after = ([pair[side] for pair in pads] for side in (0, 1))
        operand = node.vector([0, *before, 0, 0, *after, 0])
        data = node.step(Pad(), data, operand, node.scalar_like(data, fill))
    for axis in range(layout.spatial):
        size = sizes[axis] + sum(pads[axis])
        count = (size - extent(kernel[axis], rates[axis])) // strides[axis] + 1
        if count < 1:
            node.refuse(f"no window of {kernel[axis]} fits on spatial axis {axis} of size {size}")
        charge_elements(count * kernel[axis], f"the windows of node {node.name} ({node.op})")
        indices = [
            [window * strides[axis] + offset * rates[axis] for offset in range(kernel[axis])] for window in range(count)
        ]
        data = node.step(Gather(axis=1 + 2 * axis), data, node.constant(indices), suffix="windows")
    return data
