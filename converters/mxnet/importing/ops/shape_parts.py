"""Operators that join tensors, take parts of them, and pad."""

from __future__ import annotations

from collections.abc import Sequence

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.sizes import axes_sizes, axis_size, static_size
from graphir.graph import Value
from graphir.ops.base import normalize_axis
from graphir.ops.elementwise import Add, Div, Less, Mul, Sub
from graphir.ops.shape import Pad, PadMode, Reshape, Shape, Squeeze, Transpose, Unsqueeze
from graphir.ops.shape_parts import BEYOND, Concat, DepthToSpace, Slice, SpaceToDepth, Split
from graphir.ops.slicing import python_slice
from graphir.types import UNKNOWN, DType, TensorType, unify_dim


def import_concat(node: ImportNode) -> Value:
    """Return the inputs joined along `dim`; where MXNet 2.0 states None, their elements in one vector."""
    values: Sequence[Value] = node.inputs
    axis = node.attrs["dim"]
    if axis is None:
        values = [node.step(Reshape(), value, node.vector([-1]), suffix="flat") for value in values]
    return values[0] if len(values) == 1 else node.emit(Concat(axis or 0), *values)


def import_stack(node: ImportNode) -> Value:
    """Return the inputs joined along a new axis."""
    axis = node.attrs["axis"]
    index = node.vector([axis])
    node.same_shapes(*node.inputs)
    apart = [node.step(Unsqueeze(), value, index) for value in node.inputs]
    return apart[0] if len(apart) == 1 else node.emit(Concat(axis), *apart)


def _squeezed(node: ImportNode, parts: Sequence[Value], axis: int) -> list[Value]:
    return [node.step(Squeeze(), part, node.vector([axis])) for part in parts]


def import_slice_channel(node: ImportNode) -> Sequence[Value]:
    """`num_outputs` equal parts along an axis; squeeze_axis drops the axis, of size 1 in each part."""
    data, count, axis = node.input(0), node.attrs["num_outputs"], node.attrs["axis"]
    squeeze = node.attrs["squeeze_axis"]
    size = static_size(data, axis)
    if size is not None and (size % count or (squeeze and size != count)):
        of_one = " of size 1" if squeeze else ""
        node.refuse(f"axis {axis} of {data.type} does not divide into {count} parts{of_one}")
    if squeeze:
        _fix_size(node, data, axis, count)
    if count == 1:
        return [node.emit(Squeeze(), data, node.vector([axis])) if squeeze else data]
    if squeeze:
        return _squeezed(node, node.steps(Split(count, axis), data), axis)
    return node.emit_all(Split(count, axis), data)


def _fix_size(node: ImportNode, data: Value, axis: int, size: int) -> None:
    """What the parts say of the whole: the data has this size on the axis."""
    if data.rank is not None:
        place = normalize_axis(axis, data.rank)
        shape = tuple(size if index == place else UNKNOWN for index in range(data.rank))
        node.graph.refine(data, TensorType(None, shape))


def split(node: ImportNode, data: Value, axis: int) -> Sequence[Value]:
    """Return the parts that `sections` or `indices` ask for, along this axis; `squeeze_axis` drops it."""
    sections, squeeze = node.attrs["sections"], node.attrs["squeeze_axis"]
    if sections < 0:
        node.refuse(f"sections {sections}, expected 0 or more: MXNet computes the first part only")
    starts = list(node.attrs["indices"] or ())
    size = static_size(data, axis)
    count = sections or len(starts)
    lengths = None if size is None else _part_lengths(node, size)
    if not sections and starts[:1] != [0]:
        node.refuse(f"indices {tuple(starts)} do not begin with 0, where the first part begins")
    if count == 1:
        parts: Sequence[Value] = [data]
    elif sections and lengths is not None and len(set(lengths)) == 1:
        parts = node.steps(Split(count, axis), data) if squeeze else node.emit_all(Split(count, axis), data)
    elif sections or lengths is not None:
        operands = (data, _open_lengths(node, data, axis) if lengths is None else node.vector(lengths))
        parts = node.steps(Split(count, axis), *operands) if squeeze else node.emit_all(Split(count, axis), *operands)
    else:
        ends = [*starts[1:], BEYOND]
        bounds = ((start, end, axis) for start, end in zip(starts, ends, strict=True))
        parts = [node.step(Slice(), data, *(node.vector([number]) for number in bound)) for bound in bounds]
    if not squeeze:
        return parts
    for part in parts:
        if static_size(part, axis) not in (None, 1):
            node.refuse(f"squeeze_axis wants parts of size 1, found {part.type}")
    return _squeezed(node, parts, axis)


def _open_lengths(node: ImportNode, data: Value, axis: int) -> Value:
    """Return the same for `sections` of an axis whose size is open; ONNX's own equal parts leave the rest to the last
    one."""
    sections = node.attrs["sections"]
    count = axis_size(node, data, axis)
    parts = node.constant(sections, DType.INT64)
    each = node.step(Div(), count, parts)
    rest = node.step(Sub(), count, node.step(Mul(), each, parts))
    larger = node.cast(node.step(Less(), node.vector(range(sections)), rest), DType.INT64)
    return node.step(Add(), larger, each)


def _part_lengths(node: ImportNode, size: int) -> list[int]:
    """Return the sizes of the parts of an axis: of `sections` the first ones have one more where they are not equal."""
    sections, starts = node.attrs["sections"], list(node.attrs["indices"] or ())
    if sections:
        return [size // sections + (index < size % sections) for index in range(sections)]
    lengths = [end - start for start, end in zip(starts, [*starts[1:], size], strict=True)]
    if min(lengths, default=0) < 0:
        node.refuse(f"indices {tuple(starts)} do not rise, or lie outside the axis of {size}")
    return lengths


def _not_empty(node: ImportNode, value: Value) -> Value:
    if value.shape is not None and 0 in value.shape:
        node.refuse(f"nothing is left: the result would be {value.type}")
    return value


def import_slice(node: ImportNode) -> Value:
    """data[begin:end:step] on the leading axes; None entries and negative steps as in Python."""
    data, begin, end = node.input(0), node.attrs["begin"], node.attrs["end"]
    step = node.attrs["step"] or (None,) * len(begin)
    if not len(begin) == len(end) == len(step):
        node.refuse(f"begin {begin}, end {end} and step {step} differ in length")
    axes, starts, ends, steps, turned = [], [], [], [], []
    for axis, (first, last, stated) in enumerate(zip(begin, end, step, strict=True)):
        stride = 1 if stated is None else stated
        if stride == 0:
            node.refuse("step may not be 0")
        if first in (None, 0) and last is None and stride == 1:
            continue
        start = (0 if stride > 0 else BEYOND) if first is None else first
        stop = (BEYOND if stride > 0 else -BEYOND) if last is None else last
        size = static_size(data, axis)
        cut = python_slice(start, stop, stride, UNKNOWN if size is None else size)
        axes.append(axis)
        starts.append(cut.start)
        ends.append(cut.end)
        steps.append(cut.step)
        if cut.turned:
            turned.append(axis)
    if not axes:
        return data
    if turned:
        back, far = node.vector([-1] * len(turned)), node.vector([-BEYOND] * len(turned))
        data = node.step(Slice(), data, back, far, node.vector(turned), back, suffix="turned")
    operands = [node.vector(starts), node.vector(ends), node.vector(axes)]
    if any(stride != 1 for stride in steps):
        operands.append(node.vector(steps))
    return node.emit(Slice(), data, *operands)


def import_slice_axis(node: ImportNode) -> Value:
    """data[..., begin:end, ...] on one axis; end may be None."""
    data, axis = node.input(0), node.attrs["axis"]
    begin, end = node.attrs["begin"], node.attrs["end"]
    size = static_size(data, axis)
    if size is not None and not -size <= begin < size:
        node.refuse(f"begin {begin} is outside an axis of {size}")
    if size is not None and end is not None and end > size:
        node.refuse(f"end {end} is outside an axis of {size}")
    if begin == 0 and end is None:
        return data
    bounds = node.vector([begin]), node.vector([BEYOND if end is None else end])
    return _not_empty(node, node.emit(Slice(), data, *bounds, node.vector([axis])))


def import_slice_like(node: ImportNode) -> Value:
    """Return the leading part of data with the sizes of the other input, on all axes or those named; MXNet counts
    negative ones from the end of the data's, and takes the same numbers for the other input."""
    data, like, axes = node.input(0), node.input(1), node.attrs["axes"]
    if axes:
        chosen = list(dict.fromkeys(normalize_axis(axis, node.rank(data)) for axis in axes))
        if max(chosen) >= node.rank(like):
            node.refuse(f"axes {tuple(axes)} of {data.type} are {tuple(chosen)}, which {like.type} has not all")
    else:
        chosen = list(range(node.rank(data)))
        if node.rank(like) != len(chosen):
            node.refuse(f"{data.type} and {like.type} differ in rank")
    for axis in chosen:
        size, limit = static_size(data, axis), static_size(like, axis)
        if size is not None and limit is not None and limit > size:
            node.refuse(f"axis {axis}: {limit} of {like.type} exceeds {size} of {data.type}")
    if not axes and static_size(like, 0) is None and any(static_size(like, axis) is None for axis in chosen):
        ends = node.step(Shape(), like)
    else:
        ends = axes_sizes(node, like, chosen)
    result = node.emit(Slice(), data, node.vector([0] * len(chosen)), ends, node.vector(chosen))
    return _promised(result, like, chosen)


def _promised(result: Value, like: Value, axes: Sequence[int]) -> Value:
    """Return the result, whose sizes on `axes` are those of `like`: MXNet promises what the operands alone leave
    open."""
    if result.shape is not None and like.shape is not None:
        shape = list(result.shape)
        for axis in axes:
            shape[axis] = unify_dim(like.shape[axis], shape[axis])
        result.graph.retype(result, TensorType(result.dtype, tuple(shape)))
    return result


def import_crop(node: ImportNode) -> Value:
    """Rows and columns of (N, C, H, W) from `offset` (y, x) or centred, as many as the other input has or h_w says."""
    data = node.input(0)
    like = node.input(1) if len(node) > 1 else None
    center = node.attrs["center_crop"]
    offset = (0, 0) if center else node.several("offset", 2, (0, 0))
    have = _known_sizes(data)
    want = node.several("h_w", 2) if like is None else _known_sizes(like)
    if want is None or (center and have is None):
        return _crop_computed(node, like, offset)
    if center and have is not None:
        offset = (have[0] - want[0]) // 2, (have[1] - want[1]) // 2
    ends = offset[0] + want[0], offset[1] + want[1]
    outside = have is not None and (ends[0] > have[0] or ends[1] > have[1])
    if min(want) < 1 or min(offset) < 0 or outside:
        node.refuse(f"rows and columns {want} from {offset} on are not inside {data.type}")
    if want == have:
        return data
    return node.emit(Slice(), data, node.vector(offset), node.vector(ends), node.vector([2, 3]))


def _known_sizes(value: Value) -> tuple[int, int] | None:
    """Height and width as numbers, None if one is open."""
    height, width = static_size(value, 2), static_size(value, 3)
    return None if height is None or width is None else (height, width)


def _crop_computed(node: ImportNode, like: Value | None, offset: tuple[int, ...]) -> Value:
    """Return a crop with sizes that are known at run time only."""
    data, center = node.input(0), node.attrs["center_crop"]
    want = node.vector(node.attrs["h_w"]) if like is None else axes_sizes(node, like, (2, 3))
    starts = node.vector(offset)
    if center:
        room = node.step(Sub(), axes_sizes(node, data, (2, 3)), want)
        starts = node.step(Div(), room, node.vector([2]), suffix="offset")
    ends = node.step(Add(), starts, want) if center or any(offset) else want
    result = node.emit(Slice(), data, starts, ends, node.vector([2, 3]))
    return result if like is None else _promised(result, like, (2, 3))


def import_pad(node: ImportNode) -> Value:
    """Padding of the spatial axes of rank-4 and rank-5 data; pad_width is (before, after) an axis, flat."""
    data, width, mode = node.input(0), tuple(node.attrs["pad_width"]), PadMode(node.attrs["mode"])
    rank = len(width) // 2
    if rank not in (4, 5) or len(width) % 2 or data.rank not in (None, rank):
        node.refuse(f"pad_width has {len(width)} entries for data {data.type}; MXNet pads rank 4 and 5")
    if any(width[:4]):
        node.refuse(f"pad_width {width} pads the first two axes, which MXNet cannot")
    if mode is PadMode.REFLECT:
        for axis in range(2, rank):
            size, most = static_size(data, axis), max(width[2 * axis : 2 * axis + 2])
            if size is not None and most >= size:
                node.refuse(f"a reflection of {most} elements on an axis of {size}")
            if min(width[2 * axis : 2 * axis + 2]) < 0 < most:
                node.refuse(f"pad_width {width} cuts an axis off and reflects it: ONNX reflects what is left of it")
    operands = [node.vector((*width[::2], *width[1::2]))]
    value = node.attrs["constant_value"]
    if mode is PadMode.CONSTANT and value != 0:
        operands.append(node.scalar_like(data, value))
    return node.emit(Pad(mode), data, *operands)


def _sizes_of_integers(node: ImportNode, data: Value) -> tuple[int, int, int] | None:
    """Channels, height and width of integers of 64 bits where they are known: onnxruntime moves such blocks as float64
    only, in which numbers beyond 2^53 are rounded."""
    if data.dtype is not DType.INT64 or data.rank != 4:
        return None
    known = node.sizes_if_known(data, (1, 2, 3))
    return None if known is None else (known[0], known[1], known[2])


def import_depth_to_space(node: ImportNode) -> Value:
    """(N, b b C, H, W) to (N, C, b H, b W)."""
    data, block = node.input(0), node.attrs["block_size"]
    sizes = _sizes_of_integers(node, data)
    if sizes is not None and block > 0 and sizes[0] % (block * block) == 0:
        channels, height, width = sizes
        parts = node.vector([0, block, block, channels // (block * block), height, width])
        apart = node.step(Reshape(), data, parts, suffix="apart")
        order = node.step(Transpose((0, 3, 4, 1, 5, 2)), apart, suffix="order")
        shape = node.vector([0, channels // (block * block), height * block, width * block])
        return node.emit(Reshape(), order, shape)
    return node.emit(DepthToSpace(node.attrs["block_size"]), node.input(0))


def import_space_to_depth(node: ImportNode) -> Value:
    """(N, C, b H, b W) to (N, b b C, H, W)."""
    data, block = node.input(0), node.attrs["block_size"]
    sizes = _sizes_of_integers(node, data)
    if sizes is not None and block > 0 and sizes[1] % block == sizes[2] % block == 0:
        channels, height, width = sizes[0], sizes[1] // block, sizes[2] // block
        apart = node.step(Reshape(), data, node.vector([0, channels, height, block, width, block]), suffix="apart")
        order = node.step(Transpose((0, 3, 5, 1, 2, 4)), apart, suffix="order")
        return node.emit(Reshape(), order, node.vector([0, channels * block * block, height, width]))
    return node.emit(SpaceToDepth(node.attrs["block_size"]), node.input(0))


IMPORTS: dict[str, ImportFunction] = {
    "depth_to_space": import_depth_to_space,
    "space_to_depth": import_space_to_depth,
    "Concat": import_concat,
    "stack": import_stack,
    "SliceChannel": import_slice_channel,
    "_split_v2": lambda node: split(node, node.input(0), node.attrs["axis"]),
    "slice": import_slice,
    "slice_axis": import_slice_axis,
    "slice_like": import_slice_like,
    "Crop": import_crop,
    "Pad": import_pad,
}
