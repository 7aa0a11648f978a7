"""Preparing images inside a network: pixels to numbers, crops, flips, borders, light.

Images are (H, W, C), batches of them (N, H, W, C).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.elementwise import Add, Cast, Clip, Div, Sub
from graphir.ops.extent import Pad, PadMode
from graphir.ops.indexing import Gather
from graphir.ops.shape import Transpose
from graphir.ops.shape_parts import Concat, Slice
from graphir.types import UNKNOWN, DType, TensorType

BEYOND = 2**31 - 1
# The principal components of the colours of ImageNet, each times its deviation, by channel and component.
COMPONENTS = np.array(
    [
        [55.46 * -0.5675, 4.794 * 0.7192, 1.148 * 0.4009],
        [55.46 * -0.5808, 4.794 * -0.0045, 1.148 * -0.8140],
        [55.46 * -0.5836, 4.794 * -0.6948, 1.148 * 0.4203],
    ],
    np.float32,
)
PIXELS = (DType.UINT8, DType.INT8, DType.INT32, DType.INT64, DType.FLOAT16, DType.FLOAT32, DType.FLOAT64)


def pixels(node: ImportNode) -> Value:
    """Return the image, of a dtype that MXNet has kernels for."""
    data = node.input(0)
    if data.dtype is not None and data.dtype not in PIXELS:
        node.refuse(f"{data.name} is {data.type}; MXNet runs it on numbers only")
    return data


def image_or_batch(node: ImportNode) -> tuple[Value, int]:
    """Return the image, and its number of axes: 3 or 4."""
    data = pixels(node)
    rank = node.rank(data)
    if rank not in (3, 4):
        node.refuse(f"{data.name} is {data.type}, expected an image (H, W, C) or a batch of them")
    return data, rank


def single_image(node: ImportNode, *, channels: tuple[int, ...] = (1, 3)) -> tuple[Value, int]:
    """Return the image (H, W, C) and the number of its channels. Refuses others than `channels`."""
    data = pixels(node)
    if data.rank not in (None, 3):
        node.refuse(f"{data.name} is {data.type}, expected one image (H, W, C)")
    node.graph.refine(data, TensorType(None, (UNKNOWN,) * 3))
    (count,) = node.sizes(data, (2,))
    if count not in channels:
        node.refuse(f"{data.name} has {count} channels, expected {' or '.join(map(str, channels))}")
    return data, count


def as_pixels(node: ImportNode, value: Value, dtype: DType) -> Value:
    """Return the node's result: numbers of float32 as MXNet stores them, in uint8 limited to 0 to 255 and cut."""
    if dtype is DType.UINT8:
        limits = node.constant(0.0, DType.FLOAT32), node.constant(255.0, DType.FLOAT32)
        value = node.step(Clip(), value, *limits, suffix="limited")
    return node.emit(Cast(dtype), value)


def dtype_of(node: ImportNode, data: Value) -> DType:
    """Return the dtype of the image, which decides how results are rounded."""
    if data.dtype is None:
        node.infer_now()
    return node.dtype(0)


def import_to_tensor(node: ImportNode) -> Value:
    """_image_to_tensor: numbers of 0 to 255 become float32 of 0 to 1, channels first."""
    data, rank = image_or_batch(node)
    dtype = dtype_of(node, data)
    if not dtype.is_float:
        data = node.cast(data, DType.FLOAT32, suffix="numbers")
    divided = node.step(Div(), data, node.scalar_like(data, 255.0), suffix="scaled")
    if dtype.is_float and dtype is not DType.FLOAT32:
        divided = node.cast(divided, DType.FLOAT32, suffix="numbers")
    return node.emit(Transpose((2, 0, 1) if rank == 3 else (0, 3, 1, 2)), divided)


def import_normalize(node: ImportNode) -> Value:
    """_image_normalize: (x - mean) / std for each channel of (C, H, W) or (N, C, H, W)."""
    data = pixels(node)
    rank = node.rank(data)
    if rank not in (3, 4):
        node.refuse(f"{data.name} is {data.type}, expected (C, H, W) or a batch of that")
    means, deviations = (list(node.attrs[name] or ()) for name in ("mean", "std"))
    stated = max(len(means), len(deviations))
    (channels,) = node.sizes_if_known(data, (rank - 3,)) or (stated if stated > 1 else 0,)
    if channels not in (1, 3) or not {len(means), len(deviations)} <= {1, channels}:
        node.refuse(
            f"{data.name} is {data.type}, mean has {len(means)} entries and std {len(deviations)}: MXNet takes 1 or 3 "
            "channels, and one entry for all or for each"
        )
    wanted = dtype_of(node, data)
    dtype = wanted if wanted is DType.FLOAT64 else DType.FLOAT32
    if wanted is not dtype:
        data = node.cast(data, dtype, suffix="numbers")
    mean, deviation = (
        node.constant(np.array(numbers, np.float32).reshape(-1, 1, 1).astype(dtype.numpy()))
        for numbers in (means, deviations)
    )
    moved = node.step(Sub(), data, mean, suffix="centered")
    if wanted is dtype:
        return node.emit(Div(), moved, deviation)
    scaled = node.step(Div(), moved, deviation, suffix="scaled")
    if not wanted.is_float and wanted not in (DType.INT32, DType.INT64):
        scaled = node.cast(scaled, DType.INT32, suffix="whole")
    return node.emit(Cast(wanted), scaled)


def import_crop(node: ImportNode) -> Value:
    """_image_crop: `height` rows from `y` on and `width` columns from `x` on."""
    attrs = node.attrs
    data, rank = image_or_batch(node)
    result = node.sizes_if_known(data, (rank - 1,))
    if result is not None and result[0] not in (1, 3):
        node.refuse(f"{data.name} has {result[0]} channels, expected 1 or 3")
    starts, counts = (attrs["y"], attrs["x"]), (attrs["height"], attrs["width"])
    sizes = node.sizes_if_known(data, (rank - 3, rank - 2))
    ends = [start + count for start, count in zip(starts, counts, strict=True)]
    if min(starts) < 0 or min(counts) < 1 or (sizes and any(end > size for end, size in zip(ends, sizes, strict=True))):
        node.refuse(f"{counts[0]} rows from {starts[0]} on and {counts[1]} columns from {starts[1]} on of {data.type}")
    if sizes:
        return node.emit(
            Slice(), data, node.vector(starts), node.vector(ends), node.vector([rank - 3, rank - 2])
        )
    # Indices, unlike the bounds of a slice, are checked against what the image turns out to be.
    rows, columns = (node.vector(range(start, end)) for start, end in zip(starts, ends, strict=True))
    return node.emit(Gather(rank - 2), node.step(Gather(rank - 3), data, rows, suffix="rows"), columns)


def reversed_axis(node: ImportNode, data: Value, axis: int) -> tuple[Value, ...]:
    """Return the operands of a Slice that reverses rows (axis 0) or columns (axis 1)."""
    result = node.sizes_if_known(data, (axis,))
    if result is None or result[0] % 2:
        node.decide(
            DecisionKind.UNDEFINED_ELEMENTS,
            f"the middle {('row', 'column')[axis]} of an odd number stays as it is; MXNet leaves it undefined",
        )
    return data, node.vector([-1]), node.vector([-BEYOND]), node.vector([axis]), node.vector([-1])


def flip(axis: int, node: ImportNode) -> Value:
    """Rows or columns in reverse order."""
    data, _ = single_image(node)
    return node.emit(Slice(), *reversed_axis(node, data, axis))


def import_adjust_lighting(node: ImportNode) -> Value:
    """_image_adjust_lighting: every pixel moved by `alpha` of the principal components of colours."""
    # Of images of one channel MXNet leaves the result undefined.
    data, _ = single_image(node, channels=(3,))
    stated = node.attrs["alpha"] or ()
    if len(stated) < 3 or None in stated[:3]:
        node.refuse(f"alpha is {stated}, expected 3 numbers")
    alpha = np.array(stated[:3], np.float32)  # of more, MXNet reads the first
    parts = COMPONENTS * alpha
    moved = (parts[:, 0] + parts[:, 1]) + parts[:, 2]
    dtype = dtype_of(node, data)
    numbers = node.cast(data, DType.FLOAT32, suffix="numbers")
    return as_pixels(node, node.step(Add(), numbers, node.constant(moved), suffix="moved"), dtype)


BORDERS = {1: "edge", 2: "symmetric", 3: "wrap", 4: "reflect"}


def import_border(node: ImportNode) -> Value:
    """_cvcopyMakeBorder: rows and columns around an image (H, W, C); `type` as OpenCV counts its kinds of borders."""
    attrs = node.attrs
    data = node.input(0)
    if data.rank not in (None, 3) or dtype_of(node, data) not in (DType.UINT8, DType.FLOAT32, DType.FLOAT64):
        node.refuse(f"{data.name} is {data.type}, expected one image (H, W, C) of uint8, float32 or float64")
    node.graph.refine(data, TensorType(None, (UNKNOWN,) * 3))
    pads = ((attrs["top"], attrs["bot"]), (attrs["left"], attrs["right"]))
    if min(*pads[0], *pads[1]) < 0:
        node.refuse(f"margins {pads}, expected numbers of 0 or more")
    if attrs["type"] == 0:
        return _constant_border(node, data, pads)
    if attrs["type"] not in BORDERS:
        node.refuse(f"type {attrs['type']}, expected 0 to 4")
    sizes = node.sizes(data, (0, 1))
    mode = BORDERS[attrs["type"]]
    node.decide(DecisionKind.PADDING, f"{mode} borders of {sizes[0]} x {sizes[1]} pixels became indices")
    rows, columns = (
        np.pad(np.arange(size), pair, mode)  # type: ignore[call-overload]
        for size, pair in zip(sizes, pads, strict=True)
    )
    node.charge(len(rows) + len(columns), "its indices")
    return node.emit(Gather(1), node.step(Gather(0), data, node.constant(rows), suffix="rows"), node.constant(columns))


def _constant_border(node: ImportNode, data: Value, pads: tuple[tuple[int, int], tuple[int, int]]) -> Value:
    dtype = dtype_of(node, data)
    numbers = list(node.attrs["values"] or ())
    if not numbers:
        numbers = [node.attrs["value"]] * (3 if node.attrs["value"] else 4)  # a fourth channel gets 0
    (channels,) = node.sizes(data, (2,)) if len(set(numbers)) > 1 or len(numbers) < 4 else (1,)
    if channels > 4:
        node.refuse(f"{data.name} has {channels} channels; OpenCV fills four at most")
    if node.attrs["values"] and len(numbers) < channels:
        node.decide(
            DecisionKind.UNDEFINED_ELEMENTS,
            f"the border has {len(numbers)} values for {channels} channels: the others get 0, MXNet leaves them open",
        )
    result = np.resize(np.array([*numbers, 0.0, 0.0, 0.0, 0.0], np.float64), 4)[:channels]
    result = np.clip(np.rint(result), 0, 255) if dtype is DType.UINT8 else result
    amounts = node.vector([pads[0][0], pads[1][0], pads[0][1], pads[1][1]])
    planes, axes = [], node.vector([0, 1])
    for channel, number in enumerate(result):
        plane = data
        if channels > 1:
            bounds = node.vector([channel]), node.vector([channel + 1]), node.vector([2])
            plane = node.step(Slice(), data, *bounds, suffix="channel")
        filling = node.constant(np.array(number).astype(dtype.numpy()))
        planes.append(node.step(Pad(PadMode.CONSTANT), plane, amounts, filling, axes, suffix="padded"))
    return node.emit(Concat(2), *planes)


IMPORTS: dict[str, ImportFunction] = {
    "_cvcopyMakeBorder": import_border,
    "_image_adjust_lighting": import_adjust_lighting,
    "_image_crop": import_crop,
    "_image_flip_left_right": partial(flip, 1),
    "_image_flip_top_bottom": partial(flip, 0),
    "_image_normalize": import_normalize,
    "_image_to_tensor": import_to_tensor,
}
