"""Operators that move elements without computing, in numpy (src/operator/tensor/matrix_op-inl.h).

Slicing, splitting, joining and padding are in shape_parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from graphir.converters.mxnet.reference.contract import (
    Array,
    Attributes,
    Reference,
    normalized_axes,
    normalized_axis,
    require,
)
from graphir.converters.mxnet.reference.shape_parts import OPERATORS as PARTS


def reshaped_shape(shape: Sequence[int], codes: Sequence[int], reverse: bool = False) -> tuple[int, ...]:
    """Return the shape that Reshape's codes mean.

    0 keeps the axis, -1 is whatever is left, -2 keeps all remaining axes, -3 joins the next two, -4 splits one axis
    into the next two entries (one of them may be -1). With reverse the codes are matched from the right.

    >>> reshaped_shape((2, 3, 4), (-4, 1, 2, -2)), reshaped_shape((10, 5, 4), (-1, 0), reverse=True)
    ((1, 2, 3, 4), (50, 4))
    """
    source, wanted = list(shape), list(codes)
    if reverse:
        source, wanted = source[::-1], wanted[::-1]
    result: list[int] = []
    position, unknown, index = 0, -1, 0
    while index < len(wanted):
        code = wanted[index]
        if code in (0, -3, -4):
            require(position < len(source), f"code {code} at {index} has no axis left in {tuple(shape)}")
        if code == 0:
            result.append(source[position])
            position += 1
        elif code == -1:
            require(unknown < 0, "-1 may appear once")
            unknown = len(result)
            result.append(1)
            position += 1
        elif code == -2:
            result.extend(source[position:])
            position = len(source)
        elif code == -3:
            require(position + 1 < len(source), f"code -3 at {index} wants two axes of {tuple(shape)}")
            result.append(source[position] * source[position + 1])
            position += 2
        elif code == -4:
            require(index + 2 < len(wanted), "code -4 wants two entries after it")
            first, second = wanted[index + 1], wanted[index + 2]
            require(first != -1 or second != -1, "the two entries after -4 may not both be -1")
            first = source[position] // second if first == -1 else first
            second = source[position] // first if second == -1 else second
            require(first * second == source[position], f"{source[position]} is not {first} x {second}")
            result.extend((first, second))
            position += 1
            index += 2
        else:
            require(code > 0, f"code {code} is unknown")
            result.append(code)
            position += 1
        index += 1
    if unknown >= 0:
        rest = int(np.prod(result, dtype=np.int64))
        total = int(np.prod(shape, dtype=np.int64))
        require(rest > 0 and total % rest == 0, f"{tuple(shape)} does not divide into {tuple(codes)}")
        result[unknown] = total // rest
    return tuple(result[::-1] if reverse else result)


def reshape(attrs: Attributes, data: Array) -> Array:
    """Reshape by the codes of `shape`; in the older `target_shape` 0 is what is left (keep_highest: axis 0 stays)."""
    codes = attrs.get("shape")
    if codes:
        return data.reshape(reshaped_shape(data.shape, codes, bool(attrs.get("reverse"))))
    target = list(attrs.get("target_shape") or ())
    require(bool(target), "neither shape nor target_shape is given")
    if attrs.get("keep_highest"):
        target[0] = data.shape[0]
    if 0 in target:
        known = int(np.prod([entry for entry in target if entry], dtype=np.int64))
        target[target.index(0)] = data.size // known
    return data.reshape(target)


def transpose(attrs: Attributes, data: Array) -> Array:
    """Return the axes in another order; reversed without `axes`."""
    axes = attrs.get("axes")
    require(not axes or min(axes) >= 0, f"axes {axes} may not be negative")
    return np.transpose(data, normalized_axes(axes, data.ndim) if axes else None)


def swap_axis(attrs: Attributes, data: Array) -> Array:
    """Two axes exchanged."""
    first, second = (normalized_axis(attrs.get(key, 0), data.ndim) for key in ("dim1", "dim2"))
    return np.swapaxes(data, first, second)


def squeeze(attrs: Attributes, data: Array) -> Array:
    """Without the axes of size 1, all or those named; if none is left the shape is (1,)."""
    axis = attrs.get("axis")
    if axis is None:
        axes = tuple(index for index, size in enumerate(data.shape) if size == 1)
    else:
        axes = normalized_axes((axis,) if isinstance(axis, int) else axis, data.ndim)
    require(all(data.shape[index] == 1 for index in axes), f"axes {axes} of {data.shape} are not all of size 1")
    result = np.squeeze(data, axes)
    return result.reshape(1) if result.ndim == 0 else result


def broadcast_to(attrs: Attributes, data: Array) -> Array:
    """Axes of size 1 stretched to `shape`, where 0 keeps the axis."""
    wanted = attrs["shape"]
    require(len(wanted) == data.ndim, f"shape {tuple(wanted)} for data of rank {data.ndim}")
    return stretched(data, tuple(size or old for size, old in zip(wanted, data.shape, strict=True)))


def stretched(data: Array, shape: tuple[int, ...]) -> Array:
    """Data broadcast to the shape, as an array of its own."""
    return np.array(np.broadcast_to(data, shape))


def broadcast_axis(attrs: Attributes, data: Array) -> Array:
    """Return the named axes of size 1 stretched to the named sizes."""
    axes, sizes = (attrs.get(key) or () for key in ("axis", "size"))
    axes = (axes,) if isinstance(axes, int) else axes
    sizes = (sizes,) if isinstance(sizes, int) else sizes
    require(len(axes) == len(sizes), f"{len(axes)} axes and {len(sizes)} sizes")
    wanted = list(data.shape)
    for axis, size in zip(normalized_axes(axes, data.ndim), sizes, strict=True):
        require(data.shape[axis] == 1, f"axis {axis} has size {data.shape[axis]}, expected 1")
        wanted[axis] = size
    return stretched(data, tuple(wanted))


def broadcast_like(attrs: Attributes, data: Array, like: Array) -> Array:
    """Data stretched to the shape of `like`, or only lhs_axes to the sizes of its rhs_axes."""
    left, right = attrs.get("lhs_axes"), attrs.get("rhs_axes")
    if left is None or right is None:
        require(data.ndim == like.ndim, f"ranks {data.ndim} and {like.ndim} must be equal")
        return stretched(data, like.shape)
    require(len(left) == len(right), "lhs_axes and rhs_axes go together")
    wanted = list(data.shape)
    for axis, other in zip(
        normalized_axes(left or (), data.ndim), normalized_axes(right or (), like.ndim), strict=True
    ):
        wanted[axis] = like.shape[other]
    return stretched(data, tuple(wanted))


def repeat(attrs: Attributes, data: Array) -> Array:
    """Return each element repeated along axis (of the flattened array for None)."""
    require(attrs["repeats"] >= 0, f"repeats {attrs['repeats']}, expected 0 or more")
    if not attrs["repeats"]:
        return data.ravel()[:0]
    return np.repeat(data, attrs["repeats"], axis=attrs.get("axis"))


def reverse(attrs: Attributes, data: Array) -> Array:
    """Return the order of elements reversed along the axes, one after the other."""
    axes = attrs["axis"]
    for axis in (axes,) if isinstance(axes, int) else axes:
        data = np.flip(data, normalized_axis(axis, data.ndim))
    return data


def depth_to_space(attrs: Attributes, data: Array) -> Array:
    """(N, b b C, H, W) to (N, C, b H, b W): channel (i b + j) C + c goes to row offset i and column offset j."""
    block = int(attrs["block_size"])
    batch, channels, height, width = data.shape
    require(channels % (block * block) == 0, f"{channels} channels do not divide by block_size^2 = {block * block}")
    split = data.reshape(batch, block, block, channels // (block * block), height, width)
    return split.transpose(0, 3, 4, 1, 5, 2).reshape(batch, -1, height * block, width * block)


def space_to_depth(attrs: Attributes, data: Array) -> Array:
    """Return the inverse of depth_to_space."""
    block = int(attrs["block_size"])
    batch, channels, height, width = data.shape
    require(height % block == 0 and width % block == 0, f"{height} x {width} does not divide by block_size {block}")
    split = data.reshape(batch, channels, height // block, block, width // block, block)
    return split.transpose(0, 3, 5, 1, 2, 4).reshape(batch, -1, height // block, width // block)


def reshape_like(attrs: Attributes, data: Array, like: Array) -> Array:
    """Axes [lhs_begin, lhs_end) of data replaced by axes [rhs_begin, rhs_end) of like; all of both by default."""

    def bounds(side: str, rank: int) -> tuple[int, int]:
        begin, end = attrs.get(f"{side}_begin"), attrs.get(f"{side}_end")
        begin, end = begin or 0, rank if end is None else end
        return begin + rank if begin < 0 else begin, end + rank if end < 0 else end

    begin, end = bounds("lhs", data.ndim)
    taken = slice(*bounds("rhs", like.ndim))
    wanted = (*data.shape[:begin], *like.shape[taken], *data.shape[end:])
    require(int(np.prod(wanted)) == data.size, f"{data.shape} does not reshape to {wanted}")
    return data.reshape(wanted)


def diagonal(attrs: Attributes, data: Array) -> Array:
    """Return the k-th diagonal of the two axes; a vector becomes a diagonal matrix."""
    k = int(attrs.get("k", 0))
    if data.ndim == 1:
        return np.diag(data, k)
    result = np.array(np.diagonal(data, k, attrs.get("axis1", 0), attrs.get("axis2", 1)))
    require(bool(result.shape[-1]), f"the diagonal {k} of {data.shape} is empty")
    return result


OPERATORS: Mapping[str, Reference] = {
    **PARTS,
    "Flatten": lambda attrs, data: data.reshape(data.shape[0], -1),
    "Reshape": reshape,
    "SwapAxis": swap_axis,
    "broadcast_axis": broadcast_axis,
    "broadcast_like": broadcast_like,
    "broadcast_to": broadcast_to,
    "depth_to_space": depth_to_space,
    "diag": diagonal,
    "expand_dims": lambda attrs, data: np.expand_dims(data, normalized_axis(attrs["axis"], data.ndim + 1)),
    "repeat": repeat,
    "reshape_like": reshape_like,
    "reverse": reverse,
    "shape_array": lambda attrs, data: np.array(data.shape, np.int64),
    "size_array": lambda attrs, data: np.array([data.size], np.int64),
    "space_to_depth": space_to_depth,
    "squeeze": squeeze,
    "tile": lambda attrs, data: np.tile(data, attrs["reps"]),
    "transpose": transpose,
}
