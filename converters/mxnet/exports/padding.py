"""Padding of tensors: MXNet pads the spatial axes of tensors of 4 and 5 axes, other axes are lengthened by Concat."""

from __future__ import annotations

from collections.abc import Sequence

from graphir.converters.mxnet.export_context import Entry, ExportNode, dtype_name
from graphir.types import Dim, DType

Pads = Sequence[tuple[int, int]]


def padded(
    node: ExportNode, data: Entry, shape: tuple[Dim, ...], dtype: DType, pads: Pads, fill: float, mode: str = "constant"
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
    sizes = list(node.sizes(shape, "what is padded"))
    for axis, (before, after) in enumerate(pads):
        sizes[axis] += min(before, 0) + min(after, 0)
    for axis, pair in enumerate(wanted):
        parts = []
        for count in pair:
            edge = tuple(count if place == axis else size for place, size in enumerate(sizes))
            parts.append(
                node.step("_full", suffix="fill", shape=edge, value=fill, dtype=dtype_name(dtype)) if count else None
            )
        present = [part for part in (parts[0], data, parts[1]) if part is not None]
        if len(present) > 1:
            data = node.step("Concat", *present, suffix="padded", dim=axis, num_args=len(present))
        sizes[axis] += sum(pair)
    return data


def cropped(node: ExportNode, data: Entry, pads: Pads) -> Entry:
    """`data` without as many elements as the negative numbers say."""
    if all(number >= 0 for pair in pads for number in pair):
        return data
    begin = tuple(-before if before < 0 else None for before, _ in pads)
    end = tuple(after if after < 0 else None for _, after in pads)
    return node.step("slice", data, suffix="cropped", begin=begin, end=end)


def lowest(dtype: DType) -> float:
    """What counts as smaller than every number: the lowest finite one, with which MXNet begins a maximum."""
    import numpy as np

    return float(np.finfo(dtype.numpy()).min)


__all__ = ["Pads", "cropped", "lowest", "padded"]
