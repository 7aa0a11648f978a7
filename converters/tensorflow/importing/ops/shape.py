"""Operators that rearrange elements without computing on them, and those that pass them on."""

from __future__ import annotations

from graphir.converters.tensorflow.importing.context import ImportFunction, ImportNode
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.elementwise import Cast, Equal, Where
from graphir.ops.indexing import Gather, NonZero
from graphir.ops.reduction import ReduceSum
from graphir.ops.shape import Expand, Pad, PadMode, Reshape, Shape, Size, Squeeze, Tile, Transpose, Unsqueeze
from graphir.ops.shape_parts import BEYOND, Concat, Slice
from graphir.types import DType


def import_identity(node: ImportNode) -> Value:
    """Return the input itself."""
    return node.input(0)


def import_reshape(node: ImportNode) -> Value:
    """Reshape; a 0 in the shape is a size of 0, unlike in ONNX."""
    sizes = node.sizes_operand(node.input(1))
    known = sizes.integers
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


def import_transpose(node: ImportNode) -> Value:
    """Axes in another order."""
    order = node.integers(1, "the order of axes")
    return node.emit(Transpose(tuple(axis % len(order) for axis in order)), node.input(0))


def _read_pads(node: ImportNode) -> Value:
    """Return the (before, after) pairs of each axis as ONNX has them: all begins, then all ends."""
    known = node.known(1)
    if known is not None:
        return node.vector([*known[::2], *known[1::2]])
    ends_apart = node.step(Transpose((1, 0)), node.int64(node.input(1)), suffix="pairs")
    return node.step(Reshape(), ends_apart, node.vector([-1]), suffix="pads")


def import_pad(node: ImportNode) -> Value:
    """Pad with zeros, PadV2 with a constant that is an input."""
    value = node.inputs[2:]
    return node.emit(Pad(), node.input(0), _read_pads(node), *value)


def import_mirror_pad(node: ImportNode) -> Value:
    """MirrorPad: REFLECT leaves out the edge; SYMMETRIC repeats it, which ONNX has no mode for."""
    mode = node.attrs["mode"]
    if mode == "REFLECT":
        return node.emit(Pad(PadMode.REFLECT), node.input(0), _read_pads(node))
    if mode != "SYMMETRIC":
        node.refuse(f"mode {mode}; TensorFlow has REFLECT and SYMMETRIC")
    known = node.integers(1, "the paddings")
    data = node.input(0)
    for axis, pads in enumerate(zip(known[::2], known[1::2], strict=True)):
        data = _mirror(node, data, axis, pads)
    return data


def _mirror(node: ImportNode, data: Value, axis: int, pads: tuple[int, int]) -> Value:
    """Return the data with its first and last slices again before and behind it, in reverse order."""
    parts, (before, after) = [data], pads
    axes, back = node.vector([axis]), node.vector([-1])
    if before:
        first = (node.vector([before - 1]), node.vector([-BEYOND]))
        parts.insert(0, node.step(Slice(), data, *first, axes, back, suffix="before"))
    if after:
        last = (node.vector([-1]), node.vector([-after - 1]))
        parts.append(node.step(Slice(), data, *last, axes, back, suffix="after"))
    return data if len(parts) == 1 else node.step(Concat(axis=axis), *parts, suffix="mirrored")


def import_broadcast_args(node: ImportNode) -> Value:
    """Return the shape that two shapes broadcast to."""
    shapes = node.inputs
    lengths = [node.sizes(shape, [0])[0] for shape in shapes]
    longest = max(lengths)
    both = []
    for shape, length in zip(shapes, lengths, strict=True):
        whole = node.int64(shape)
        ones = node.vector([1] * (longest - length))
        both.append(whole if length == longest else node.step(Concat(axis=0), ones, whole, suffix="aligned"))
    is_one = node.step(Equal(), both[0], node.vector([1]))
    sizes = node.step(Where(), is_one, both[1], both[0])
    return node.as_attribute(sizes, "T")


def import_shape_n(node: ImportNode) -> list[Value]:
    """Return the sizes of several tensors."""
    wanted = node.attrs["out_type"]
    shapes = []
    for value in node.inputs:
        sizes = node.step(Shape(), value, suffix="sizes")
        shapes.append(sizes if wanted is DType.INT64 else node.cast(sizes, wanted, suffix="sizes_cast"))
    return shapes


def import_rank(node: ImportNode) -> Value:
    """Return the number of axes."""
    shape = node.input(0).shape
    if shape is not None:
        return node.constant(len(shape), DType.INT32)
    return node.emit(Cast(DType.INT32), node.step(Size(), node.step(Shape(), node.input(0))))


def import_ensure_shape(node: ImportNode) -> Value:
    """EnsureShape: the data, whose sizes are compared with the stated ones as far as both are known."""
    data, stated = node.input(0), node.attrs["shape"]
    if stated is None or data.shape is None:
        node.decide(DecisionKind.CHECK, f"the shape of {data.name} is not checked when the graph runs")
        return data
    if len(stated) != len(data.shape):
        node.refuse(f"{data.name} has {len(data.shape)} axes, expected {len(stated)}")
    open_axes = []
    for axis, (wanted, actual) in enumerate(zip(stated, data.shape, strict=True)):
        if isinstance(wanted, int) and isinstance(actual, int) and wanted != actual:
            node.refuse(f"axis {axis} of {data.name} has size {actual}, expected {wanted}")
        if isinstance(wanted, int) and not isinstance(actual, int):
            open_axes.append(axis)
    if open_axes:
        node.decide(
            DecisionKind.CHECK, f"the sizes of {data.name} on axes {open_axes} are not checked when the graph runs"
        )
    return data


def import_checked(node: ImportNode) -> Value:
    """CheckNumerics: the data; the check for infinite elements and NaN is dropped."""
    node.decide(
        DecisionKind.CHECK, f"{node.input(0).name} is not checked for infinite elements and NaN when the graph runs"
    )
    return node.input(0)


def import_print(node: ImportNode) -> Value:
    """Print: the data; nothing is printed."""
    node.decide(DecisionKind.PRINT, f"{node.input(0).name} is passed on, nothing is printed")
    return node.input(0)


def import_list_diff(node: ImportNode) -> tuple[Value, ...]:
    """ListDiff: the elements of x that are not in y, and their indices."""
    x, y = node.inputs
    wanted = node.attrs["out_idx"]
    left, right = node.known(0), node.known(1)
    if left is not None and right is not None:
        indices = [index for index, element in enumerate(left) if element not in right]
        elements = node.constant([left[index] for index in indices], node.dtype())
        return elements, node.constant(indices, wanted)
    apart = node.step(Unsqueeze(), x, node.vector([1]), suffix="apart")
    hits = node.cast(node.step(Equal(), apart, y, suffix="same"), DType.INT32, suffix="hits")
    count = node.step(ReduceSum(keepdims=False), hits, node.vector([1]), suffix="times")
    alone = node.step(Equal(), count, node.constant(0, DType.INT32), suffix="alone")
    places_all = node.step(NonZero(), alone, suffix="places")
    vector = node.step(Squeeze(), places_all, node.vector([0]), suffix="vector")
    index = vector if wanted is DType.INT64 else node.cast(vector, wanted, suffix="index")
    return node.step(Gather(axis=0), x, vector, suffix="left"), index


IMPORTS: dict[str, ImportFunction] = {
    "BroadcastArgs": import_broadcast_args,
    "BroadcastTo": lambda node: node.emit(Expand(), node.input(0), node.int64(node.input(1))),
    "CheckNumerics": import_checked,
    "CheckNumericsV2": import_checked,
    "ConjugateTranspose": import_transpose,
    "DebugGradientIdentity": import_identity,
    "DeepCopy": import_identity,
    "EnsureShape": import_ensure_shape,
    "ExpandDims": lambda node: node.emit(Unsqueeze(), node.input(0), node.vector([node.integer(1, "the axis")])),
    "GuaranteeConst": import_identity,
    "Identity": import_identity,
    "IdentityN": lambda node: node.inputs,
    "ListDiff": import_list_diff,
    "MirrorPad": import_mirror_pad,
    "Pad": import_pad,
    "PadV2": import_pad,
    "PreventGradient": import_identity,
    "Print": import_print,
    "Rank": import_rank,
    "Reshape": import_reshape,
    "Shape": lambda node: node.as_attribute(node.step(Shape(), node.input(0)), "out_type"),
    "ShapeN": import_shape_n,
    "Size": lambda node: node.as_attribute(node.step(Size(), node.input(0)), "out_type"),
    "Snapshot": import_identity,
    "Squeeze": import_squeeze,
    "StopGradient": import_identity,
    "Tile": lambda node: node.emit(Tile(), node.input(0), node.int64(node.input(1))),
    "Transpose": import_transpose,
}
