"""SAME as the numbers that MXNet wants, and padding of tensors.

MXNet pads the spatial axes of tensors of 4 and 5 axes, other axes are lengthened by Concat.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from graphir.converters.mxnet.exporting.context import AnyNode, Entry, ExportNode, dtype_name, row, table
from graphir.converters.mxnet.exporting.ops.steps import MOST_SLICED_AXES
from graphir.ops import shape as ir
from graphir.ops.base import normalize_axis
from graphir.padding import Explicit, Padding, Same, resolve, resolve_transposed, same_total
from graphir.passes.explicit_padding import KIND, described
from graphir.types import Dim, DType, Shape

Pads = Sequence[tuple[int, int]]


def settled(
    node: AnyNode,
    padding: Padding,
    sizes: Sequence[Dim],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> Explicit:
    """Return the padding of a window as numbers; a decision where SAME became numbers that hold for this size, or that
    pad one side more. Refuses a SAME that needs a size that is not known."""
    result = resolve(padding, sizes, kernel, strides, dilations)
    if result is None:
        windows = zip(sizes, kernel, strides, dilations, strict=True)
        missing = [axis for axis, window in enumerate(windows) if not isinstance(same_total(*window), int)]
        needs_sizes(node, f"SAME at stride {'x'.join(map(str, strides))}", sizes, missing)
    if isinstance(padding, Same) and (any(stride > 1 for stride in strides) or not result.is_symmetric):
        node.decide(KIND, described(padding, sizes, kernel, strides, result))
    return result


def settled_transposed(
    node: AnyNode,
    padding: Padding,
    sizes: Sequence[Dim],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    output_padding: Sequence[int],
    output_shape: Sequence[int],
) -> tuple[Explicit, tuple[int, ...]]:
    """Return the same for a transposed convolution: what is cropped, and the output padding."""
    result = resolve_transposed(padding, sizes, kernel, strides, dilations, output_padding, output_shape)
    if result is None:
        missing = [axis for axis, size in enumerate(sizes) if not isinstance(size, int)]
        needs_sizes(node, f"the output shape {list(output_shape)}", sizes, missing)
    pads, extra = result
    if output_shape or (isinstance(padding, Same) and (not pads.is_symmetric or any(extra))):
        text = described(padding, sizes, kernel, strides, pads)
        node.decide(KIND, f"{text}, output padding {list(extra)}" if any(extra) else text)
    return result


def needs_sizes(node: AnyNode, what: str, sizes: Sequence[Dim], missing: Sequence[int]) -> NoReturn:
    """Refuse: MXNet pads by numbers, and these spatial axes have none. Says which option gives them."""
    axes = ", ".join(f"{axis + 2} ({sizes[axis]})" for axis in missing)
    flags = " ".join(
        f"-i {value.name}:{','.join(map(str, _numbers(value.shape)))}"
        for value in node.export.graph.inputs
        if value.shape is None or any(not isinstance(size, int) for size in value.shape)
    )
    advice = f"give the shapes of the inputs as numbers, as in {flags or '-i data:1,3,224,224'}"
    node.refuse(f"{what} needs the size of axis {axes} of {node.input(0).name}, and MXNet pads by numbers; {advice}")


def _numbers(shape: Shape | None) -> tuple[int, ...]:
    """Return an example of a shape, with the numbers that are known."""
    if shape is None or (len(shape) == 4 and not any(isinstance(size, int) for size in shape)):
        return 1, 3, 224, 224
    return tuple(size if isinstance(size, int) else 224 if axis else 1 for axis, size in enumerate(shape))


def padded(
    node: AnyNode, data: Entry, shape: tuple[Dim, ...], dtype: DType, pads: Pads, fill: float, mode: str = "constant"
) -> Entry:
    """`data` with (before, after) elements more on each axis; negative numbers crop."""
    data = cropped(node, data, pads)
    wanted = [(max(before, 0), max(after, 0)) for before, after in pads]
    if not any(map(any, wanted)):
        return data
    rank = len(shape)
    if rank in (3, 4, 5) and not any(map(any, wanted[:2])) and dtype.is_float:
        if rank == 3:
            data = node.step("expand_dims", data, suffix="wide", axis=2)
            wanted = [*wanted[:2], (0, 0), wanted[2]]
        width = tuple(number for pair in wanted for number in pair)
        result = node.step("Pad", data, mode=mode, pad_width=width, constant_value=fill)
        return node.step("squeeze", result, suffix="padded", axis=(2,)) if rank == 3 else result
    if mode != "constant":
        node.refuse(f"MXNet pads with mode {mode} only the spatial axes of float tensors of 3 to 5 axes")
    sizes = [size + sum(min(number, 0) for number in pair) if isinstance(size, int) else size
             for size, pair in zip(shape, pads, strict=True)]  # fmt: skip

    def constants(axis: int, count: int) -> Entry:
        if all(index == axis or isinstance(size, int) for index, size in enumerate(sizes)):
            shape = tuple(count if index == axis else size for index, size in enumerate(sizes))
            return node.step("_full", suffix="fill", shape=shape, value=fill, dtype=dtype_name(dtype))
        # Beside open sizes the constants are made of the first elements.
        first = node.step("slice_axis", data, suffix="first", axis=axis, begin=0, end=1)
        result = node.step("zeros_like", first, suffix="fill")
        if fill:
            result = node.step("_plus_scalar", result, suffix="fill", scalar=fill)
        return result if count == 1 else node.step("repeat", result, suffix="fill", repeats=count, axis=axis)

    for axis, pair in enumerate(wanted):
        before, after = ([constants(axis, count)] if count else [] for count in pair)
        present = [*before, data, *after]
        if len(present) > 1:
            data = node.step("Concat", *present, suffix="padded", dim=axis, num_args=len(present))
        size = sizes[axis]
        sizes[axis] = size + sum(pair) if isinstance(size, int) else size
    return data


def cropped(node: AnyNode, data: Entry, pads: Pads) -> Entry:
    """`data` without as many elements as the negative numbers say."""
    if all(number >= 0 for pair in pads for number in pair):
        return data
    if len(pads) > MOST_SLICED_AXES:
        for axis, (before, after) in enumerate(pads):
            if min(before, after) < 0:
                bounds = {"begin": max(-before, 0), "end": str(after if after < 0 else None)}
                data = node.step("slice_axis", data, suffix="cropped", axis=axis, **bounds)
        return data
    begin = tuple(-before if before < 0 else None for before, _ in pads)
    end = tuple(after if after < 0 else None for _, after in pads)
    return node.step("slice", data, suffix="cropped", begin=begin, end=end)


def lowest(dtype: DType) -> float:
    """Return what counts as smaller than every number: the lowest finite one, with which MXNet begins a maximum."""
    import numpy as np

    return float(np.finfo(dtype.numpy()).min)


MXNET_MODES = (ir.PadMode.EDGE, ir.PadMode.REFLECT)


def export_pad(node: ExportNode[ir.Pad]) -> None:
    """Pad, else Concat with constants or take."""
    rank = node.rank()
    numbers = node.numbers(1) or ()
    axes = node.numbers(3) or tuple(range(rank))
    pads = [(0, 0)] * rank
    for index, axis in enumerate(axes):
        pads[normalize_axis(axis, rank)] = (numbers[index], numbers[index + len(axes)])
    data, shape = node.entry(0), node.shape()
    dtype = (node.export.carried(node.input(0)) or node.dtype()) if node.dtype() is DType.BOOL else node.dtype()
    if not any(map(any, pads)):
        node.bind(node.step("_copy", data))
    elif node.op.mode is ir.PadMode.CONSTANT:
        node.bind(padded(node, data, shape, dtype, pads, _fill(node)))
    elif node.op.mode in MXNET_MODES and _is_spatial(shape, dtype, pads):
        node.bind(padded(node, data, shape, dtype, pads, 0.0, node.op.mode.value))
    else:
        node.bind(_taken(node, data, shape, pads))


def _fill(node: AnyNode) -> float:
    if node.optional(2) is None:
        return 0.0
    stated = node.number(2)
    if stated is None:
        node.refuse("its value is computed; MXNet wants a number")
    return stated


def _is_spatial(shape: tuple[Dim, ...], dtype: DType, pads: Pads) -> bool:
    """Return whether MXNet's Pad takes it: floats of 3 to 5 axes, the first two as they are, and no more than there
    is."""
    if not 3 <= len(shape) <= 5 or any(map(any, pads[:2])) or not dtype.is_float:
        return False
    return all(
        not isinstance(size, int) or max(pair, default=0) < size for size, pair in zip(shape, pads, strict=True)
    )


def _taken(node: ExportNode[ir.Pad], data: Entry, shape: tuple[Dim, ...], pads: Pads) -> Entry:
    """Along each axis, the elements at the places that numpy's padding of `0 ... size - 1` gives."""
    data = cropped(node, data, pads)
    for axis, (before, after) in enumerate(pads):
        wanted = max(before, 0), max(after, 0)
        if not any(wanted):
            continue
        size = shape[axis]
        if not isinstance(size, int):
            node.refuse(f"the size of axis {axis} of {node.input(0).name} is open; state the inputs' shapes")
        left = size + min(before, 0) + min(after, 0)
        node.charge(left + sum(wanted), "its places")
        indices = np.pad(np.arange(left), wanted, mode=node.op.mode.value)
        stored = node.constant(indices.astype(np.int32), suffix=f"places{axis}")
        data = node.step("take", data, stored, axis=axis, mode="clip")
    return data


EXPORTS = table(row(ir.Pad, export_pad))
