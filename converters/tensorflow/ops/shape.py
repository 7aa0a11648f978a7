"""Operators that rearrange elements without computing on them, and those that pass them on."""

from __future__ import annotations

from graphir.converters.tensorflow.context import ImportFunction, ImportNode
from graphir.graph import Value
from graphir.ops.shape import Pad, PadMode, Reshape, Shape, Size, Squeeze, Transpose, Unsqueeze


def import_identity(node: ImportNode) -> Value:
    """The input itself."""
    return node.input(0)


def import_identity_n(node: ImportNode) -> tuple[Value, ...]:
    """The inputs themselves."""
    return node.inputs()


def import_reshape(node: ImportNode) -> Value:
    """Reshape; a 0 in the shape is a size of 0, unlike in ONNX."""
    sizes = node.sizes_operand(node.input(1))
    known = None if sizes.known is None else sizes.known.integers()
    return node.emit(Reshape(allowzero=known is not None and 0 in known), node.input(0), sizes)


def import_squeeze(node: ImportNode) -> Value:
    """Squeeze the stated axes, or all of size 1."""
    axes = node.attrs["squeeze_dims"]
    if axes:
        return node.emit(Squeeze(), node.input(0), node.vector(axes))
    shape = node.shape(node.input(0))
    if all(isinstance(dim, int) for dim in shape):
        return node.emit(Squeeze(), node.input(0), node.vector([axis for axis, dim in enumerate(shape) if dim == 1]))
    return node.emit(Squeeze(), node.input(0))


def import_expand_dims(node: ImportNode) -> Value:
    """A new axis of size 1."""
    return node.emit(Unsqueeze(), node.input(0), node.vector([node.integer(1, "the axis")]))


def import_shape(node: ImportNode) -> Value:
    """The sizes, in the dtype that `out_type` states."""
    return node.as_attribute(node.step(Shape(), node.input(0)), "out_type")


def import_size(node: ImportNode) -> Value:
    """The number of elements."""
    return node.as_attribute(node.step(Size(), node.input(0)), "out_type")


def import_transpose(node: ImportNode) -> Value:
    """Axes in another order."""
    order = node.integers(1, "the order of axes")
    return node.emit(Transpose(tuple(axis % len(order) for axis in order)), node.input(0))


def _pads(node: ImportNode) -> Value:
    """The (before, after) pairs of each axis as ONNX has them: all begins, then all ends."""
    known = node.integers(1, "the paddings")
    return node.vector([*known[::2], *known[1::2]])


def import_pad(node: ImportNode) -> Value:
    """Pad with zeros, PadV2 with a constant that is an input."""
    value = node.inputs()[2:]
    return node.emit(Pad(), node.input(0), _pads(node), *value)


def import_mirror_pad(node: ImportNode) -> Value:
    """MirrorPad: REFLECT leaves out the edge."""
    mode = node.attrs["mode"]
    if mode != "REFLECT":
        node.refuse(f"mode {mode}; ONNX has REFLECT only")
    return node.emit(Pad(PadMode.REFLECT), node.input(0), _pads(node))


IMPORTS: dict[str, ImportFunction] = {
    "ExpandDims": import_expand_dims,
    "Identity": import_identity,
    "IdentityN": import_identity_n,
    "MirrorPad": import_mirror_pad,
    "Pad": import_pad,
    "PadV2": import_pad,
    "PreventGradient": import_identity,
    "Reshape": import_reshape,
    "Shape": import_shape,
    "Size": import_size,
    "Snapshot": import_identity,
    "Squeeze": import_squeeze,
    "StopGradient": import_identity,
    "Transpose": import_transpose,
}

__all__ = ["IMPORTS"]
