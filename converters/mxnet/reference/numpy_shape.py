"""NumPy-style operators that rearrange, join and split arrays, in numpy (src/operator/numpy/np_matrix_op.cc)."""

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
from graphir.converters.mxnet.reference.shape_parts import split_v2


def resolved(shape: Sequence[int], codes: Sequence[int], reverse: bool = False) -> tuple[int, ...]:
    """Return the shape that the codes of _npx_reshape mean, -1 standing where it stood.

    -2 keeps the axis, -3 drops one of size 1, -4 keeps all that are left, -5 joins two, -6 splits one into the next two
    entries (one of them may be -1). With reverse both are matched from the right, so that -6 follows its entries.

    >>> resolved((2, 3, 4), (-6, 1, -1, -4)), resolved((8, 3, 3, 3, 4, 4), (-4, -5), True)
    ((1, 2, 3, 4), (8, 3, 3, 3, 16))
    """
    if reverse:
        return resolved(shape[::-1], codes[::-1])[::-1]
    left, result = list(shape), list[int]()
    entries = iter(codes)
    for code in entries:
        require(code >= -6, f"code {code} is unknown")
        require(code in (-4, -1) or code >= 0 or len(left) >= (2 if code == -5 else 1), f"code {code} has no axis")
        if code >= -1:
            result.append(code)
            left = left[1:]
        elif code == -4:
            result.extend(left)
            left = []
        elif code == -2:
            result.append(left.pop(0))
        elif code == -3:
            require(left.pop(0) == 1, "-3 drops an axis that is not of size 1")
        elif code == -5:
            result.append(left.pop(0) * left.pop(0))
        else:
            first, second = next(entries, 0), next(entries, 0)
            size = left.pop(0)
            require((first, second) != (-1, -1), "both sizes of -6 are -1")
            first = size // second if first == -1 else first
            second = size // first if second == -1 else second
            require(first * second == size, f"{size} is not {first} x {second}")
            result.extend((first, second))
    return tuple(result)


def reshape(attrs: Attributes, data: Array) -> Array:
    """Return the elements in the shape that the codes of `newshape` mean; `order` means nothing."""
    codes = attrs["newshape"]
    plain = min(codes, default=0) >= 0
    shape = tuple(codes) if plain else resolved(data.shape, codes, bool(attrs.get("reverse")))
    return data.reshape(shape)


def transpose(attrs: Attributes, data: Array) -> Array:
    """Return the axes in another order; reversed where none is stated."""
    axes = attrs.get("axes")
    return np.transpose(data, None if axes is None else normalized_axes(axes, data.ndim))


def squeeze(attrs: Attributes, data: Array) -> Array:
    """Without the axes of size 1, all of them or those that are named, once or twice."""
    axes = attrs.get("axis")
    if axes is None:
        return np.squeeze(data)
    if data.ndim == 0:
        require(tuple(axes) in ((0,), (-1,)), f"axis {axes} of a scalar")
        return data
    return np.squeeze(data, tuple({normalized_axis(axis, data.ndim) for axis in axes}))


def roll(attrs: Attributes, data: Array) -> Array:
    """Return the elements moved along the axes, or all in a row without them."""
    shift, axis = attrs.get("shift"), attrs.get("axis")
    require(shift is not None and (len(shift) == 1 or (axis is not None and len(axis) == len(shift))), f"shift {shift}")
    assert shift is not None
    if axis is not None:
        axis = normalized_axes(axis, data.ndim)
    return np.roll(data, shift[0] if len(shift) == 1 else shift, axis)


def atleast_3d(attrs: Attributes, *inputs: Array) -> tuple[Array, ...]:
    """Return every array with three axes or more: (N) as (1, N, 1), (M, N) as (M, N, 1)."""
    return tuple(np.atleast_3d(each) for each in inputs)


def flip(attrs: Attributes, data: Array) -> Array:
    """Reversed along the axes one after the other, along all without them. Negative axes are refused."""
    axes = attrs.get("axis")
    if axes is None:
        return np.flip(data)
    require(all(0 <= axis < data.ndim for axis in axes), f"axis {axes} of {data.ndim} axes")
    for axis in axes:
        data = np.flip(data, axis)
    return data


def rot90(attrs: Attributes, data: Array) -> Array:
    """Return a plane turned k times by 90 degrees from its first axis toward the second."""
    axes = attrs.get("axes") or ()
    require(len(axes) == 2, f"axes {axes}, expected two")
    first, second = normalized_axes(axes, data.ndim)
    return np.rot90(data, int(attrs.get("k", 1)), (first, second))


def broadcast_to(attrs: Attributes, data: Array) -> Array:
    """Broadcast to `shape`, in which -2 stands for a size of the data's."""
    wanted = attrs.get("shape") or ()
    more = len(wanted) - data.ndim
    require(more >= 0, f"{wanted} has fewer axes than {data.shape}")
    shape = [data.shape[index - more] if size == -2 and index >= more else size for index, size in enumerate(wanted)]
    return np.array(np.broadcast_to(data, shape))


def _alike(inputs: tuple[Array, ...]) -> None:
    require(len({each.dtype for each in inputs}) == 1, "the arrays are of several dtypes")


def concatenate(attrs: Attributes, *inputs: Array) -> Array:
    """Joined along `axis`; all elements in a row where it is None."""
    _alike(inputs)
    return np.concatenate(inputs, attrs.get("axis", 0))


def stack(attrs: Attributes, *inputs: Array) -> Array:
    """Joined along a new axis."""
    _alike(inputs)
    return np.stack(inputs, attrs.get("axis", 0))


def vstack(attrs: Attributes, *inputs: Array) -> Array:
    """Joined along the first of two axes or more."""
    _alike(inputs)
    return np.vstack(inputs)


def hstack(attrs: Attributes, *inputs: Array) -> Array:
    """Joined along the second axis, vectors end to end."""
    _alike(inputs)
    return np.hstack(inputs)


def dstack(attrs: Attributes, *inputs: Array) -> Array:
    """Joined along the third axis."""
    _alike(inputs)
    return np.dstack(inputs)


def column_stack(attrs: Attributes, *inputs: Array) -> Array:
    """Vectors as columns, joined along the second axis."""
    _alike(inputs)
    columns = [each.reshape(-1, 1) if each.ndim < 2 else each for each in inputs]
    return np.concatenate(columns, 1)


def hsplit(attrs: Attributes, data: Array) -> tuple[Array, ...]:
    """Parts along the second axis, of a vector along its only one."""
    require(data.ndim > 0, "a scalar")
    return split_v2({**attrs, "axis": min(data.ndim - 1, 1)}, data)


def dsplit(attrs: Attributes, data: Array) -> tuple[Array, ...]:
    """Parts along the third axis, where that is the one that is stated."""
    require(data.ndim >= 3, f"{data.ndim} axes, expected 3 or more")
    require(normalized_axis(attrs.get("axis", 1), data.ndim) == 2, "an axis that is not the third one")
    return split_v2({**attrs, "axis": 2}, data)


OPERATORS: Mapping[str, Reference] = {
    "_np_atleast_1d": lambda attrs, *inputs: tuple(np.atleast_1d(each) for each in inputs),
    "_np_atleast_2d": lambda attrs, *inputs: tuple(np.atleast_2d(each) for each in inputs),
    "_np_atleast_3d": atleast_3d,
    "_np_moveaxis": lambda attrs, data: np.moveaxis(data, attrs["source"], attrs["destination"]),
    "_np_roll": roll,
    "_np_squeeze": squeeze,
    "_np_transpose": transpose,
    "_npi_broadcast_to": broadcast_to,
    "_npi_flip": flip,
    "_npi_rot90": rot90,
    "_npx_reshape": reshape,
    "_npi_column_stack": column_stack,
    "_npi_concatenate": concatenate,
    "_npi_dsplit": dsplit,
    "_npi_dstack": dstack,
    "_npi_hsplit": hsplit,
    "_npi_hstack": hstack,
    "_npi_stack": stack,
    "_npi_vstack": vstack,
}
