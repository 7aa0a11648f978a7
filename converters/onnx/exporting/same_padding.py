"""SAME of a size that is not known: `auto_pad` where runtimes agree on it, else arithmetic on the size at run time.

onnxruntime refuses `auto_pad` with dilations, and for poolings whose window is smaller than the stride; convolutions
whose stride is larger than the kernel by 2 and more begin inside the data, where SAME pads nothing. There the padding
is computed from the data's shape and laid around it by a Pad.
"""

from __future__ import annotations

import numpy as np

from graphir.converters.onnx.exporting.context import AnyNode, ExportNode
from graphir.ops.convolution import Conv
from graphir.ops.pooling import AveragePool, LpPool, MaxPool
from graphir.padding import Padding, Same, SameMode, extent, resolve
from graphir.passes.explicit_padding import kernel_of, spatial_sizes
from graphir.types import UNKNOWN

Windowed = Conv | MaxPool | AveragePool | LpPool


def stated_padding(node: ExportNode[Windowed]) -> Padding | None:
    """Return the padding that the ONNX node can state; None for a SAME that has to be computed at run time."""
    op = node.op
    kernel = kernel_of(node.node)
    if not isinstance(op.padding, Same) or kernel is None:
        return op.padding
    ones = (1,) * len(kernel)
    strides, dilations = op.strides or ones, op.dilations or ones
    least = 2 if isinstance(op, Conv) else 1
    narrow = any(stride - width >= least for width, stride in zip(kernel, strides, strict=True))
    if not narrow and dilations == ones:
        return op.padding
    sizes = spatial_sizes(node.node, len(kernel)) or (UNKNOWN,) * len(kernel)
    return resolve(op.padding, sizes, kernel, strides, dilations)


def padded_at_run_time(node: ExportNode[Windowed], data: str, fill: float) -> str:
    """Return the data with SAME's padding around the spatial axes, from its own shape: (N, C, D...) to (N, C, D +
    pads...).

    Each axis gets `max((ceil(D / stride) - 1) * stride + extent - D, 0)` elements, the odd one behind or before.
    """
    op = node.op
    assert isinstance(op.padding, Same)
    kernel = kernel_of(node.node)
    if kernel is None:
        node.refuse("SAME needs the kernel's shape; state kernel_shape or give the weight's shape")
    strides = np.array(op.strides or (1,) * len(kernel), np.int64)
    spans = np.array([extent(*pair) for pair in zip(kernel, op.dilations or (1,) * len(kernel), strict=True)], np.int64)
    whole = node.step("Shape", [data])
    sizes = node.step("Slice", [whole, node.vector([2]), node.vector([2 + len(kernel)])], suffix="sizes")
    # ceil(D / s) - 1 = (D - 1) // s for the sizes 1 and up that data have
    last = node.step("Div", [node.step("Sub", [sizes, node.vector([1])]), node.constant(strides)], suffix="last")
    start = node.step("Mul", [last, node.constant(strides)], suffix="start")
    missing = node.step("Sub", [node.step("Add", [start, node.constant(spans)]), sizes], suffix="missing")
    total = node.step("Max", [missing, node.vector([0])], suffix="total")
    less = node.step("Div", [total, node.vector([2])], suffix="less")
    more = node.step("Sub", [total, less], suffix="more")
    before, after = (less, more) if op.padding.mode is SameMode.UPPER else (more, less)
    none = node.vector([0, 0])
    pads = node.step("Concat", [none, before, none, after], suffix="pads", axis=0)
    return node.step("Pad", [data, pads, node.constant(np.asarray(fill, node.dtype().numpy()))], suffix="padded")


def ones_like(node: AnyNode, data: str) -> str:
    """Return as many ones as the data have elements, in their dtype."""
    one = node.constant(np.ones(1, node.dtype().numpy()))
    return node.step("Expand", [one, node.step("Shape", [data], suffix="whole")], suffix="ones")
