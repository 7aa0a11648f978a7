"""Operators of MXNet's NumPy-style interface that rearrange elements: sizes of 0 and tensors without axes are what they
are, whatever shape semantics the symbol states."""

from __future__ import annotations

from collections.abc import Sequence

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops.shape import CodeWalk, rank_if_known, turned
from graphir.converters.mxnet.importing.sizes import (
    Axes,
    Entry,
    axis_of,
    axis_size,
    reshape,
    shape_vector,
    static_size,
)
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.elementwise import Identity, Max, Mod, Sub
from graphir.ops.shape import Expand, Reshape, Squeeze, Transpose, Unsqueeze
from graphir.ops.shape_parts import BEYOND, Concat, Slice
from graphir.types import UNKNOWN, Dim, TensorType, Unknown

# The codes of _npx_reshape.
OPEN, COPY, DROP, REST, JOIN, SPLIT = -1, -2, -3, -4, -5, -6


class _NumpyCodes(CodeWalk):
    """The codes of _npx_reshape: -1 what is left, -2 an axis as it is, -3 an axis of size 1 dropped, -4 all the rest,
    -5 two axes joined, -6 one split into the next two entries; all others are sizes."""

    def drop(self) -> None:
        axis = self.take(DROP, 1)
        size = axis.static()
        if size not in (None, 1):
            self.node.refuse(f"code {DROP} drops axis {axis.begin} of {self.data.type}, which is not of size 1")
        if self.rank is not None:
            shape: list[Dim] = [UNKNOWN] * self.rank
            shape[axis.begin] = 1
            self.node.graph.refine(self.data, TensorType(None, tuple(shape)))

    def one(self, code: int) -> None:
        """A code that stands alone, or a size."""
        if code == COPY:
            self.entries.append(self.take(code, 1))
        elif code == DROP:
            self.drop()
        elif code == REST:
            self.take_rest()
        elif code == JOIN:
            self.entries.append(self.take(code, 2))
        elif code >= OPEN:
            self.entries.append(code)
            self.position += 1
        else:
            self.node.refuse(f"code {code} is unknown")


def _entries(node: ImportNode, data: Value, codes: tuple[int, ...], reverse: bool) -> list[Entry]:
    """Return what the codes mean. Numbers, -1 and codes from the left need not know the data's rank."""
    rank: int | None = data.rank
    if rank is None and min(codes, default=0) < OPEN:
        rank = node.rank(data) if reverse else rank_if_known(node, data)
    walk = _NumpyCodes(node, data, rank, reverse)
    wanted = list(reversed(codes)) if reverse else list(codes)
    index = 0
    while index < len(wanted):
        if wanted[index] != SPLIT:
            walk.one(wanted[index])
            index += 1
            continue
        if index + 2 >= len(wanted):
            node.refuse(f"code {SPLIT} wants two entries {'before' if reverse else 'after'} it")
        walk.split(SPLIT, wanted[index + 1], wanted[index + 2])
        index += 3
    if walk.entries.count(OPEN) > 1:
        node.refuse(f"newshape {codes} holds -1 twice")
    return walk.entries[::-1] if reverse else walk.entries


def import_reshape(node: ImportNode) -> Value:
    """Reshape by the codes of _npx_reshape. MXNet takes no notice of the attribute `order`."""
    data = node.input(0)
    entries = _entries(node, data, node.attrs["newshape"], node.attrs["reverse"])
    sizes = [entry.static() if isinstance(entry, Axes) else entry for entry in entries]
    empty = [index for index, size in enumerate(sizes) if size == 0 and entries[index] != axis_of(data, index)]
    if 0 in sizes and OPEN in sizes:
        node.refuse(f"newshape {node.attrs['newshape']} has a size of 0, beside which -1 can be anything")
    if not empty:
        return reshape(node, data, entries)
    if sizes.count(0) == 1 and data.shape is not None and 0 in data.shape:
        entries[empty[0]] = OPEN
        return reshape(node, data, entries)
    return node.emit(Reshape(allowzero=True), data, shape_vector(node, entries))


def import_transpose(node: ImportNode) -> Value:
    """Return the axes in another order, reversed without `axes`; negative ones count from the end."""
    data, axes = node.input(0), node.attrs["axes"]
    if axes is None:
        return node.emit(Transpose(), data)
    indices = [node.axis(axis, len(axes)) for axis in axes]
    if data.rank not in (None, len(indices)) or len(set(indices)) != len(indices):
        node.refuse(f"axes {axes} are no order of the axes of {data.type}")
    return node.emit(Transpose(tuple(indices)) if indices else Identity(), data)


def import_squeeze(node: ImportNode) -> Value:
    """Without the named axes of size 1, or all of them, down to none."""
    data, axes = node.input(0), node.attrs["axis"]
    if data.rank == 0:
        if axes not in (None, (0,), (-1,)):
            node.refuse(f"axis {axes} of a tensor without axes")
        return data
    if axes is None:
        shape: tuple[Dim, ...] = node.shape(data)
        if not node.settles and any(isinstance(size, Unknown) for size in shape):
            return node.emit(Squeeze(), data)
        indices = [axis for axis, size in enumerate(shape) if size == 1]
        if not all(isinstance(size, int) for size in shape):
            node.decide(
                DecisionKind.SQUEEZE, f"axes {indices} are dropped; open sizes of {data.type} count as more than 1"
            )
    else:
        rank = node.rank(data) if axes else 0
        indices = sorted({node.axis(axis, rank) for axis in axes})
    return node.emit(Squeeze(), data, node.vector(indices)) if indices else data


def import_moveaxis(node: ImportNode) -> Value:
    """Return the axes `source` at the places `destination`; the others stay in order."""
    data = node.input(0)
    rank = node.rank(data)
    source, destination = (
        [node.axis(axis, rank) for axis in node.attrs[name]] for name in ("source", "destination")
    )
    if len(source) != len(destination) or len(set(source)) != len(source) or len(set(destination)) != len(destination):
        node.refuse(f"source {node.attrs['source']} and destination {node.attrs['destination']} are not one to one")
    moved = dict(zip(destination, source, strict=True))
    others = iter([axis for axis in range(rank) if axis not in source])
    perm = tuple([moved[index] if index in moved else next(others) for index in range(rank)])
    return data if perm == tuple(range(rank)) else node.emit(Transpose(perm), data)


def import_roll(node: ImportNode) -> Value:
    """Return the elements moved `shift` places along axes, those that leave at one end entering at the other; without
    axis those of the flattened data."""
    data, shifts, axes = node.input(0), node.attrs["shift"], node.attrs["axis"]
    if shifts is None:
        node.refuse("shift is not given")
    if axes is None:
        if len(shifts) != 1:
            node.refuse(f"shift {shifts} without axis, expected one number")
        if data.rank == 0 or 0 in (data.shape or ()):
            return data
        if data.rank == 1:
            return _rolled(node, data, shifts[0], 0)
        flat = node.step(Reshape(), data, node.vector([-1]), suffix="flat")
        result = _rolled(node, flat, shifts[0], 0)
        return reshape(node, result, [axis_of(data, axis) for axis in range(node.rank(data))])
    rank = node.rank(data)
    indices = [node.axis(axis, rank) for axis in axes]
    if len(set(indices)) != len(indices) or (len(shifts) != len(indices) and len(shifts) != 1):
        node.refuse(f"shift {shifts} along axis {axes} of {data.type}, expected one number an axis, each axis once")
    result = data
    for axis, shift in zip(indices, shifts if len(shifts) == len(indices) else shifts * len(indices), strict=True):
        result = _rolled(node, result, shift, axis)
    return result


def _rolled(node: ImportNode, data: Value, shift: int, axis: int) -> Value:
    size = static_size(data, axis)
    if size == 0 or (size is not None and shift % size == 0):
        return data
    axes = node.vector([axis])
    if size is not None:
        cut = node.vector([size - shift % size])
    else:
        count = node.step(Unsqueeze(), axis_size(node, data, axis), node.vector([0]))
        some = node.step(Max(), count, node.vector([1]))
        cut = node.step(Sub(), count, node.step(Mod(), node.vector([shift]), some))
    entering = node.step(Slice(), data, cut, node.vector([BEYOND]), axes)
    staying = node.step(Slice(), data, node.vector([0]), cut, axes)
    result = node.step(Concat(axis), entering, staying, suffix="rolled")
    node.graph.refine(result, data.type)
    return result


def new_axes(node: ImportNode, data: Value, axes: Sequence[int]) -> Value:
    """Return the data with new axes of size 1."""
    return node.step(Unsqueeze(), data, node.vector(axes)) if axes else data


def of_one_axis(node: ImportNode, data: Value) -> Value:
    """Return a tensor without axes as a vector."""
    return new_axes(node, data, [0] if node.rank(data) == 0 else [])


def of_two_axes(node: ImportNode, data: Value) -> Value:
    """Vectors as rows, a tensor without axes as a matrix."""
    return new_axes(node, data, {0: [0, 1], 1: [0]}.get(node.rank(data), []))


def of_three_axes(node: ImportNode, data: Value) -> Value:
    """(N) as (1, N, 1), (M, N) as (M, N, 1)."""
    return new_axes(node, data, {0: [0, 1, 2], 1: [0, 2], 2: [2]}.get(node.rank(data), []))


def import_flip(node: ImportNode) -> Value:
    """Return the order of elements reversed along the axes, all of them without `axis`."""
    data, stated = node.input(0), node.attrs["axis"]
    rank = node.rank(data)
    chosen = range(rank) if stated is None else stated
    if any(not 0 <= axis < rank for axis in chosen):
        node.refuse(f"axis {stated} of {data.type}, expected numbers from 0 to {rank - 1}")
    axes = [axis for axis in dict.fromkeys(chosen) if stated is None or stated.count(axis) % 2]
    return node.emit(Slice(), data, *turned(node, axes)) if axes else data


def import_rot90(node: ImportNode) -> Value:
    """Return the plane of two axes turned by 90 degrees k times, from the first one toward the second."""
    data, k, stated = node.input(0), node.attrs["k"] % 4, node.attrs["axes"] or ()
    rank = node.rank(data)
    axes = [node.axis(axis, rank) for axis in stated]
    if len(axes) != 2 or axes[0] == axes[1]:
        node.refuse(f"axes {stated}, expected two axes of {data.type}")
    if k == 0:
        return data
    if k == 2:
        return node.emit(Slice(), data, *turned(node, sorted(axes)))
    perm = list(range(rank))
    perm[axes[0]], perm[axes[1]] = axes[1], axes[0]
    if k == 1:
        return node.emit(Transpose(tuple(perm)), node.step(Slice(), data, *turned(node, axes[1:])))
    return node.emit(Slice(), node.step(Transpose(tuple(perm)), data), *turned(node, axes[1:]))


def import_broadcast_to(node: ImportNode) -> Value:
    """Axes of size 1 stretched to `shape`, whose last entries are those of the data; -2 keeps a size."""
    data, wanted = node.input(0), node.attrs["shape"]
    more = len(wanted) - node.rank(data)
    if more < 0:
        node.refuse(f"shape {wanted} has fewer axes than {data.type}")
    sizes = []
    for index, size in enumerate(wanted):
        have = static_size(data, index - more) if index >= more else 1
        if size != -2 and have not in (None, 1, size):
            node.refuse(f"axis {index - more} has size {have}, expected 1 or {size}")
        if size < 0 and (size != -2 or index < more):
            node.refuse(f"{size} in the shape {wanted} is no size")
        sizes.append(1 if size == -2 else size)
    return node.emit(Expand(), data, node.vector(sizes))


IMPORTS: dict[str, ImportFunction] = {
    "_np_atleast_1d": lambda node: [of_one_axis(node, data) for data in node.inputs],
    "_np_atleast_2d": lambda node: [of_two_axes(node, data) for data in node.inputs],
    "_np_atleast_3d": lambda node: [of_three_axes(node, data) for data in node.inputs],
    "_np_moveaxis": import_moveaxis,
    "_np_roll": import_roll,
    "_np_squeeze": import_squeeze,
    "_np_transpose": import_transpose,
    "_npi_broadcast_to": import_broadcast_to,
    "_npi_flip": import_flip,
    "_npi_rot90": import_rot90,
    "_npx_reshape": import_reshape,
}
