"""Faults of convolutions, pooling and resizing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.faults.builder import Generator
from tests.faults.model import Array, Model, Node, get

from .edit import Fault, attribute, attributes, each, operator, weights

CONV, POOL = "Conv ConvTranspose", "MaxPool AveragePool"


def moved_pads(model: Model, node: Node) -> Iterator[list[int]]:
    """One pixel from the end to the beginning: the same size, everything one pixel further."""
    pads = list(get(node, "pads", ()))
    half = len(pads) // 2
    for axis in range(half):
        for source, target in ((axis, axis + half), (axis + half, axis)):
            if pads[source] > 0:
                moved = list(pads)
                moved[source] -= 1
                moved[target] += 1
                yield moved


def more_pads(model: Model, node: Node) -> Iterator[list[int]]:
    """One pixel more, where it changes the size of the result or not."""
    pads = list(get(node, "pads", ()))
    for axis in range(len(pads)):
        yield [size + (place == axis) for place, size in enumerate(pads)]


def other_same(model: Model, node: Node) -> Iterator[str]:
    """SAME_LOWER for SAME_UPPER."""
    if get(node, "auto_pad") == "SAME_UPPER":
        yield "SAME_LOWER"


def symmetric_same(model: Model, node: Node) -> Iterator[dict[str, Any]]:
    """SAME written as half the kernel on both sides, which is right for odd kernels and stride 1 only."""
    if get(node, "auto_pad") == "SAME_UPPER":
        half = [size // 2 for size in get(node, "kernel_shape")]
        yield {"auto_pad": None, "pads": half * 2}


def strides(model: Model, node: Node) -> Iterator[list[int]]:
    held = list(get(node, "strides", ()) or [1] * len(get(node, "kernel_shape", ())))
    yield [1 if size == 2 else 2 for size in held]


def dilations(model: Model, node: Node) -> Iterator[dict[str, Any]]:
    """Dilated where it was not, or the other way round, with the pads that keep the size."""
    kernel, pads = get(node, "kernel_shape", ()), get(node, "pads", ())
    if not pads or max(kernel) == 1:
        return
    held = list(get(node, "dilations", ()) or [1] * len(kernel))
    other = [1 if size > 1 else 2 for size in held]
    grown = [(new - old) * (size - 1) // 2 for new, old, size in zip(other, held, kernel, strict=True)]
    padded = [size + grow for size, grow in zip(pads, grown * 2, strict=True)]
    if min(padded) >= 0:
        yield {"dilations": other, "pads": padded}


def pool_kernel(model: Model, node: Node) -> Iterator[dict[str, Any]]:
    """A window of one row less, with the pad that keeps the size."""
    kernel, pads = list(get(node, "kernel_shape")), list(get(node, "pads", ()))
    if kernel[0] > 1 and pads and pads[len(kernel)] > 0:
        yield {"kernel_shape": [kernel[0] - 1, *kernel[1:]],
               "pads": [size - (place == len(kernel)) for place, size in enumerate(pads)]}  # fmt: skip


def flipped(array: Array, generator: Generator) -> Array | None:
    """Convolution for correlation."""
    return None if array.ndim < 4 or max(array.shape[2:]) == 1 else array[..., ::-1, ::-1]


def transposed_window(array: Array, generator: Generator) -> Array | None:
    """Height and width of the kernels exchanged."""
    is_square = array.ndim == 4 and array.shape[2] == array.shape[3] > 1
    return np.swapaxes(array, 2, 3) if is_square else None


def transposed_channels(array: Array, generator: Generator) -> Array | None:
    """Channels in and out exchanged."""
    is_square = array.ndim == 4 and array.shape[0] == array.shape[1] > 1
    return np.swapaxes(array, 0, 1) if is_square else None


def regroup(model: Model, node: Node, generator: Generator) -> None:
    """Input channels taken in another order: i * group + g for g * size + i."""
    channels = model.shape(node.input[0])[1]  # type: ignore[index]
    group = get(node, "group", 1)
    order = np.arange(channels).reshape(group, -1).T.reshape(-1)
    model.before(node, 0, "Gather", model.constant(order, "channel_order"), axis=1)


def has_groups(model: Model, node: Node) -> bool:
    shape = model.shape(node.input[0])
    return shape is not None and 1 < get(node, "group", 1) < shape[1]


def depthwise_order(model: Model, node: Node, generator: Generator) -> None:
    """The filters of a depthwise convolution turned by one channel."""
    held = model.operand(node, 1)
    assert held is not None
    model.give(node, 1, np.roll(held, 1, axis=0))


def is_depthwise(model: Model, node: Node) -> bool:
    shape = model.shape(node.input[0])
    return shape is not None and get(node, "group", 1) == shape[1] > 1


def padding_of_deconv(model: Model, node: Node) -> Iterator[dict[str, Any]]:
    """Output padding taken before instead of behind."""
    extra, pads = get(node, "output_padding"), get(node, "pads")
    if extra and max(extra) and pads and min(pads) > 0:
        half = len(pads) // 2
        yield {"output_padding": None, "pads": [*(size - more for size, more in zip(pads[:half], extra, strict=True)),
                                                *pads[half:]]}  # fmt: skip


def scales(array: Array, generator: Generator) -> Array | None:
    """Another factor for the last axis."""
    if array.dtype != np.float32 or array.ndim != 1 or array.size < 3 or array.max() <= 1:
        return None
    return np.concatenate([array[:-1], array[-1:] * 1.5])


def sites_of_resize(name: str, value: str, when_mode: str = "") -> Any:
    """Another way to say which pixel is meant."""

    def others(model: Model, node: Node) -> Iterator[str]:
        if get(node, name, "") != value and when_mode in ("", get(node, "mode", "nearest")):
            yield value

    return attribute("Resize", name, others)


def small_window(model: Model, node: Node, generator: Generator) -> None:
    """A global average taken of the upper left 3x3 only, as a pooling of fixed size would."""
    starts, ends = model.constant(np.zeros(2, np.int64)), model.constant(np.array([3, 3], np.int64))
    model.before(node, 0, "Slice", starts, ends, model.constant(np.array([2, 3], np.int64)))


FAULTS = (
    Fault("pads moved by one pixel", attribute(f"{CONV} {POOL}", "pads", moved_pads)),
    Fault("one pixel of padding more", attribute(f"{CONV} {POOL}", "pads", more_pads)),
    Fault("SAME_LOWER for SAME_UPPER", attribute(f"{CONV} {POOL}", "auto_pad", other_same)),
    Fault("SAME as half the kernel", attributes(f"{CONV} {POOL}", symmetric_same)),
    Fault("another stride", attribute(f"{CONV} {POOL}", "strides", strides)),
    Fault("another dilation", attributes("Conv MaxPool", dilations)),
    Fault("ceil_mode exchanged", attribute(POOL, "ceil_mode", lambda model, node: [1 - get(node, "ceil_mode", 0)])),
    Fault(
        "count_include_pad exchanged",
        attribute("AveragePool", "count_include_pad", lambda model, node: [1 - get(node, "count_include_pad", 0)]),
    ),
    Fault("a pooling window of one row less", attributes(POOL, pool_kernel)),
    Fault("average for maximum in a pooling", operator("GlobalMaxPool", "GlobalAveragePool")),
    Fault("maximum for average in a pooling", operator("GlobalAveragePool", "GlobalMaxPool")),
    Fault(
        "global pooling of a fixed window",
        each(
            "GlobalAveragePool GlobalMaxPool",
            small_window,
            lambda model, node: min((model.shape(node.input[0]) or (0, 0))[2:], default=0) > 3,
        ),
    ),
    Fault("kernels flipped", weights(CONV, 1, flipped)),
    Fault("height and width of kernels exchanged", weights(CONV, 1, transposed_window)),
    Fault("channels in and out exchanged", weights(CONV, 1, transposed_channels)),
    Fault("groups in another order", each("Conv", regroup, has_groups)),
    Fault("depthwise filters turned by one", each("Conv", depthwise_order, is_depthwise)),
    Fault("output padding before, not behind", attributes("ConvTranspose", padding_of_deconv)),
    Fault("Resize: align_corners", sites_of_resize("coordinate_transformation_mode", "align_corners", "linear")),
    Fault("Resize: asymmetric", sites_of_resize("coordinate_transformation_mode", "asymmetric")),
    Fault("Resize: half_pixel", sites_of_resize("coordinate_transformation_mode", "half_pixel")),
    Fault("Resize: other rounding", sites_of_resize("nearest_mode", "ceil", "nearest")),
    Fault("Resize: nearest for linear", sites_of_resize("mode", "nearest", "linear")),
    Fault("Resize: another scale", weights("Resize", 2, scales)),
    Fault(
        "DepthToSpace: DCR for CRD",
        attribute("DepthToSpace", "mode", lambda model, node: ["DCR" if get(node, "mode", "DCR") == "CRD" else "CRD"]),
    ),
    Fault("Pad: another mode", attribute("Pad", "mode", lambda model, node: ["edge", "constant"])),
)

__all__ = ["FAULTS"]
