"""An operator's attributes in one form: what is left open is filled in, what can be said in two ways is said in one."""

from __future__ import annotations

import enum
import struct
from typing import Any

from graphir.graph import Node
from graphir.ops.convolution import Conv, ConvTranspose
from graphir.ops.pooling import AveragePool, LpPool, MaxPool
from graphir.padding import Explicit, Padding, Same, resolve, valid
from graphir.passes.explicit_padding import kernel_of, spatial_sizes

# What a source stated about shapes, which changes no number.
SAID_OF_SHAPES = frozenset({"same_shape"})
FLOAT32_MAX = 3.4028234e38
WINDOWED = (Conv, ConvTranspose, MaxPool, AveragePool, LpPool)


def attributes_of(node: Node) -> dict[str, Any]:
    """Return every attribute that says what is computed, by name.

    Windows have their kernel, strides and dilations as numbers for each axis, and SAME as numbers where the size is
    known, where also a ceil mode is none that gives no window more; an axis is counted from the front where the rank is
    known.
    """
    op = node.op
    attributes = {name: _single(getattr(op, name)) for name in op.field_names if name not in SAID_OF_SHAPES}
    if isinstance(op, WINDOWED):
        kernel = kernel_of(node)
        if kernel is not None:
            attributes["kernel_shape"] = kernel
            _fill_window(node, attributes, kernel)
        if attributes.get("ceil_mode") and not _adds_windows(node):
            attributes["ceil_mode"] = False
    axes = node.operand(1)
    if attributes.get("noop_with_empty_axes") and axes is not None and axes.shape is not None and 0 not in axes.shape:
        attributes["noop_with_empty_axes"] = False
    axis = attributes.get("axis")
    counted = node.outputs[0] if op.axis_in_result else node.operand(0)
    if type(axis) is int and axis < 0 and counted is not None and counted.rank is not None:
        attributes["axis"] = axis + counted.rank
    return attributes


def described(node: Node) -> str:
    """Return the operator with the attributes that say something, in the form in which they are compared."""
    defaults = node.op.field_defaults
    parts = [
        f"{name}={shown(value)}"
        for name, value in attributes_of(node).items()
        if value != defaults.get(name, ...) and not _is_neutral(name, value)
    ]
    return f"{node.op.shown_name}({', '.join(parts)})" if parts else node.op.shown_name


def _is_neutral(name: str, value: object) -> bool:
    """Return whether a window steps by one or pads nothing."""
    if name in ("strides", "dilations"):
        return isinstance(value, tuple) and set(value) <= {1}
    return isinstance(value, Explicit) and value.is_zero


def _single(value: object) -> object:
    """Floats as every format holds them, in single precision."""
    if isinstance(value, tuple):
        return tuple(map(_single, value))
    if isinstance(value, float) and abs(value) < FLOAT32_MAX:
        return struct.unpack("f", struct.pack("f", value))[0]
    return value


def _fill_window(node: Node, attributes: dict[str, Any], kernel: tuple[int, ...]) -> None:
    ones = (1,) * len(kernel)
    for name in ("strides", "dilations"):
        if name in attributes:
            attributes[name] = attributes[name] or ones
    padding: Padding | None = attributes.get("padding")
    if isinstance(padding, Same) and not isinstance(node.op, ConvTranspose):
        sizes, dilations = spatial_sizes(node, len(kernel)), attributes.get("dilations", ones)
        numbers = None if sizes is None else resolve(padding, sizes, kernel, attributes["strides"], dilations)
        attributes["padding"] = padding if numbers is None else numbers
    elif padding == Explicit():
        attributes["padding"] = valid(len(kernel))


def _adds_windows(node: Node) -> bool:
    """Return whether ceil mode gives a window more than there would be without it, or may at sizes that are not
    known."""
    op = node.op
    assert isinstance(op, MaxPool | AveragePool | LpPool)
    sizes = spatial_sizes(node, len(op.kernel_shape))
    if sizes is None or not all(isinstance(size, int) for size in sizes):
        return True
    return op.rounds_up(sizes)


def shown(value: object) -> str:
    """Return an attribute's value for people; a number in the fewest digits that are the same in single precision.

    >>> shown(0.0010000000474974513), shown((1, 2)), shown(Same())
    ('0.001', '(1, 2)', 'SAME_UPPER')
    """
    if isinstance(value, float):
        texts = (f"{value:.{digits}g}" for digits in range(1, 10))
        return next((text for text in texts if _single(float(text)) == value), str(value))
    if isinstance(value, Explicit):
        return ", ".join(f"({before}, {after})" for before, after in value.pads) or "none"
    if isinstance(value, Same):
        return f"SAME_{value.mode.name}"
    return str(value.value) if isinstance(value, enum.Enum) else str(value)
