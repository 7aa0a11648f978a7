"""Operators that rearrange elements: reshaping, reordering axes, stretching and repeating."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphir.converters.kernel.refusals import NeedsShape
from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.sizes import Axes, Entry, Tail, axis_of, reshape, shape_vector, static_size
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.base import normalize_axis
from graphir.ops.creation import ConstantOfShape
from graphir.ops.elementwise import Identity
from graphir.ops.indexing import Gather, GatherND, ScatterND
from graphir.ops.shape import Expand, Flatten, Reshape, Shape, Size, Squeeze, Tile, Transpose, Unsqueeze
from graphir.ops.shape_parts import BEYOND, Slice
from graphir.types import Dim, DType, Unknown


def rank_if_known(node: ImportNode, value: Value) -> int | None:
    try:
        return node.rank(value)
    except NeedsShape:
        return None


class CodeWalk:
    """Reshape's codes matched against the data's axes from one side; `entries` is the shape that they mean."""

    def __init__(self, node: ImportNode, data: Value, rank: int | None, reverse: bool) -> None:
        self.node = node
        self.data = data
        self.rank = rank
        self.reverse = reverse
        self.entries: list[Entry] = []
        self.position = 0
        self.at_end = False

    def take(self, code: int, count: int) -> Axes:
        """Return the next axes of the data."""
        if self.at_end or (self.rank is not None and self.position + count > self.rank):
            self.node.refuse(f"code {code} at axis {self.position} has no axis left in {self.data.type}")
        begin = self.position
        self.position += count
        if self.reverse:
            assert self.rank is not None
            begin = self.rank - begin - count
        return Axes(self.data, begin, begin + count)

    def take_rest(self) -> None:
        """All that is left."""
        if self.rank is None:
            self.entries.append(Tail(self.data, self.position))
        else:
            while self.position < self.rank:
                self.entries.append(self.take(-2, 1))
        self.at_end = True

    def split(self, code: int, first: int, second: int) -> None:
        """One axis becomes two, one of which may be -1."""
        axis = self.take(code, 1)
        size = axis.static()
        if (first, second) == (-1, -1) or 0 in (first, second):
            self.node.refuse(f"code {code} splits an axis into {first} x {second}")
        stated = first * second if -1 not in (first, second) else max(first, second)
        if size is not None and (size % stated or (-1 not in (first, second) and size != stated)):
            self.node.refuse(f"code {code} splits an axis of {size} into {first} x {second}")
        open_part = Axes(self.data, axis.begin, axis.end, stated)
        self.entries.append(open_part if first == -1 else first)
        self.entries.append(open_part if second == -1 else second)


def _entries(node: ImportNode, data: Value, codes: tuple[int, ...], reverse: bool) -> list[Entry]:
    """Return what Reshape's codes mean. 0, -1 and numbers alone need not know the data's rank."""
    rank: int | None = data.rank
    if reverse:
        rank = node.rank(data)
    elif rank is None and min(codes) < -1:
        rank = rank_if_known(node, data)
    walk = CodeWalk(node, data, rank, reverse)
    wanted = list(reversed(codes)) if reverse else list(codes)
    index = 0
    while index < len(wanted):
        code = wanted[index]
        if code == 0:
            walk.entries.append(walk.take(0, 1))
        elif code == -2:
            walk.take_rest()
        elif code == -3:
            walk.entries.append(walk.take(-3, 2))
        elif code == -4:
            if index + 2 >= len(wanted):
                node.refuse("code -4 wants two entries after it")
            walk.split(-4, wanted[index + 1], wanted[index + 2])
            index += 2
        elif code >= -1:
            walk.entries.append(code)
            walk.position += 1
        else:
            node.refuse(f"code {code} of shape {codes} is unknown")
        index += 1
    if walk.entries.count(-1) > 1:
        node.refuse(f"shape {codes} holds -1 twice")
    return walk.entries[::-1] if reverse else walk.entries


def by_codes(node: ImportNode, data: Value, codes: tuple[int, ...], *, reverse: bool) -> Value:
    """Return the node's result: the data in the shape that Reshape's codes mean."""
    return reshape(node, data, _entries(node, data, codes, reverse))


def import_reshape(node: ImportNode) -> Value:
    """Reshape by codes: 0 keeps an axis, -1 is what is left, -2 all the rest, -3 joins two axes, -4 splits one."""
    data, codes = node.input(0), node.attrs["shape"]
    if codes:
        return by_codes(node, data, codes, reverse=node.attrs["reverse"])
    target = list(node.attrs["target_shape"] or ())
    if not target:
        node.refuse("neither shape nor target_shape is given")
    keep = node.attrs["keep_highest"]
    open_places = [index for index, size in enumerate(target) if size == 0 and not (keep and index == 0)]
    if len(open_places) > 1:
        node.refuse(f"target_shape {tuple(target)} leaves more than one size open")
    for index in open_places:
        target[index] = -1
    node.decide(
        DecisionKind.LEGACY_ATTRIBUTE, f"target_shape {node.attrs['target_shape']} became the shape {tuple(target)}"
    )
    entries: list[Entry] = [axis_of(data, 0) if keep else target[0], *target[1:]]
    return reshape(node, data, entries)


def import_flatten(node: ImportNode) -> Value:
    """(N, the rest); a matrix is one already."""
    data = node.input(0)
    return data if data.rank == 2 else node.emit(Flatten(), data)


def import_transpose(node: ImportNode) -> Value:
    """Return the axes in another order, reversed without `axes`."""
    axes = node.attrs["axes"] or ()
    if axes and min(axes) < 0:
        node.refuse(f"axes {axes} may not be negative")
    return node.emit(Transpose(tuple(axes)), node.input(0))


def import_swap_axis(node: ImportNode) -> Value:
    """Two axes exchanged."""
    data = node.input(0)
    rank = node.rank(data)
    first, second = (normalize_axis(node.attrs[key], rank) for key in ("dim1", "dim2"))
    if first == second:
        return data
    perm = list(range(rank))
    perm[first], perm[second] = second, first
    return node.emit(Transpose(tuple(perm)), data)


def import_squeeze(node: ImportNode) -> Value:
    """Without the named axes of size 1, or all of them; if none is left the shape is (1,)."""
    data, axes = node.input(0), node.attrs["axis"]
    if axes is None:
        shape: tuple[Dim, ...] = node.shape(data)
        if not node.settles and any(isinstance(size, Unknown) for size in shape):
            return node.emit(Squeeze(), data)
        axes = tuple(axis for axis, size in enumerate(shape) if size == 1)
        if not all(isinstance(size, int) for size in shape):
            node.decide(
                DecisionKind.SQUEEZE, f"axes {list(axes)} are dropped; open sizes of {data.type} count as more than 1"
            )
    if not axes:
        return data
    if data.rank == len(axes):
        return node.emit(Reshape(), data, node.vector([1]))
    return node.emit(Squeeze(), data, node.vector(axes))


def _stretched(node: ImportNode, data: Value, entries: list[Entry]) -> Value:
    """Axes of size 1 stretched to the entries; the others keep their size."""
    for axis, entry in enumerate(entries):
        size = static_size(data, axis)
        wanted = entry.static() if isinstance(entry, Axes) else entry
        if size is not None and isinstance(wanted, int) and size not in (1, wanted) and entry != axis_of(data, axis):
            node.refuse(f"axis {axis} has size {size}, expected 1 or {wanted}")
    kept = [1 if entry == axis_of(data, axis) else entry for axis, entry in enumerate(entries)]
    return node.emit(Expand(), data, shape_vector(node, kept))


def import_broadcast_to(node: ImportNode) -> Value:
    """Axes of size 1 stretched to `shape`, where 0 keeps the axis."""
    data, wanted = node.input(0), node.attrs["shape"]
    if data.rank is not None and data.rank != len(wanted):
        node.refuse(f"shape {wanted} for data {data.type} of another rank")
    return _stretched(node, data, [size or axis_of(data, axis) for axis, size in enumerate(wanted)])


def import_broadcast_axis(node: ImportNode) -> Value:
    """Return the named axes of size 1 stretched to the named sizes."""
    data = node.input(0)
    axes, sizes = node.attrs["axis"] or (), node.attrs["size"] or ()
    rank = node.rank(data)
    if len(axes) != len(sizes):
        node.refuse(f"{len(axes)} axes and {len(sizes)} sizes")
    entries: list[Entry] = [axis_of(data, axis) for axis in range(rank)]
    for axis, size in zip(axes, sizes, strict=True):
        index = normalize_axis(axis, rank)
        if static_size(data, index) not in (None, 1):
            node.refuse(f"axis {axis} of {data.type} is not of size 1")
        entries[index] = size
    return _stretched(node, data, entries)


def import_broadcast_like(node: ImportNode) -> Value:
    """Data stretched to the shape of the other input, or only lhs_axes to the sizes of its rhs_axes."""
    data, like = node.input(0), node.input(1)
    left, right = node.attrs["lhs_axes"], node.attrs["rhs_axes"]
    if left is None or right is None:  # one of them alone says nothing
        if data.rank is not None and like.rank is not None and data.rank != like.rank:
            node.refuse(f"{data.type} and {like.type} differ in rank")
        if like.rank is None:
            return node.emit(Expand(), data, node.step(Shape(), like))
        return _stretched(node, data, [axis_of(like, axis) for axis in range(like.rank)])
    if len(left) != len(right):
        node.refuse("lhs_axes and rhs_axes go together")
    rank, other = node.rank(data), node.rank(like)
    entries: list[Entry] = [axis_of(data, axis) for axis in range(rank)]
    for axis, index in zip(left, right, strict=True):
        entries[normalize_axis(axis, rank)] = axis_of(like, normalize_axis(index, other))
    return _stretched(node, data, entries)


def import_tile(node: ImportNode) -> Value:
    """Data repeated as a whole: as numpy.tile, with missing axes in front on either side."""
    data, times = node.input(0), tuple(node.attrs["reps"] or ())
    rank = node.rank(data)
    if len(times) > rank:
        data = node.step(Unsqueeze(), data, node.vector(range(len(times) - rank)))
    return node.emit(Tile(), data, node.vector((1,) * (rank - len(times)) + times))


def import_repeat(node: ImportNode) -> Value:
    """Return each element repeated along an axis, or each of the flattened data: looked up where the size is known."""
    data, count, axis = node.input(0), node.attrs["repeats"], node.attrs["axis"]
    if axis is None or not count:  # nothing at all is a vector, whatever the axis
        data, axis = node.step(Reshape(), data, node.vector([-1]), suffix="flat"), 0
    if count < 0:
        node.refuse(f"repeats {count}, expected 0 or more")
    if not count:
        return node.emit(Gather(axis), data, node.vector([]))
    rank = node.rank(data)
    place = normalize_axis(axis, rank)
    size = static_size(data, place)
    if size is not None:
        node.charge(size * count, "the positions to repeat")
        chosen = [index // count for index in range(size * count)]
        return node.emit(Gather(place), data, node.vector(chosen))
    times = [1] * (rank + 1)
    times[place + 1] = count
    apart = node.step(Unsqueeze(), data, node.vector([place + 1]))
    tiled = node.step(Tile(), apart, node.vector(times))
    entries: list[Entry] = [axis_of(tiled, index) for index in range(place)]
    entries += [-1, *(axis_of(tiled, index + 1) for index in range(place + 1, rank))]
    return reshape(node, tiled, entries)


def import_reverse(node: ImportNode) -> Value:
    """Return the order of elements reversed along the axes."""
    stated = [axis % node.rank(node.input(0)) if axis < 0 else axis for axis in node.attrs["axis"]]
    axes = [axis for axis in dict.fromkeys(stated) if stated.count(axis) % 2]  # twice is not at all
    if not axes:
        return node.emit(Identity(), node.input(0))
    return node.emit(Slice(), node.input(0), *turned(node, axes))


def turned(node: ImportNode, axes: Sequence[int]) -> tuple[Value, Value, Value, Value]:
    """Return the operands with which Slice turns the axes around."""
    back = node.vector([-1] * len(axes))
    return back, node.vector([-BEYOND] * len(axes)), node.vector(axes), back


def import_reshape_like(node: ImportNode) -> Value:
    """Return the axes [lhs_begin, lhs_end) of data replaced by the axes [rhs_begin, rhs_end) of the other input."""
    data, like = node.input(0), node.input(1)
    attrs = node.attrs
    if all(attrs[f"{side}_{end}"] is None for side in ("lhs", "rhs") for end in ("begin", "end")):
        if like.rank is None:
            return node.emit(Reshape(), data, node.step(Shape(), like))
        return reshape(node, data, [axis_of(like, axis) for axis in range(like.rank)])
    begin, end = _bounds(node, "lhs", node.rank(data))
    first, last = _bounds(node, "rhs", node.rank(like))
    entries: list[Entry] = [axis_of(data, axis) for axis in range(begin)]
    entries += [axis_of(like, axis) for axis in range(first, last)]
    entries += [axis_of(data, axis) for axis in range(end, node.rank(data))]
    return reshape(node, data, entries)


def _bounds(node: ImportNode, side: str, rank: int) -> tuple[int, int]:
    begin, end = node.attrs[f"{side}_begin"] or 0, node.attrs[f"{side}_end"]
    first, last = begin % rank if -rank <= begin < 0 else begin, rank if end is None else end
    last += rank if last < 0 else 0
    if not 0 <= first <= last <= rank:
        node.refuse(f"{side}_begin {begin} and {side}_end {end} are no range of {rank} axes")
    return first, last


def import_diag(node: ImportNode) -> Value:
    """Return the k-th diagonal of two axes, last in the result; a vector becomes a diagonal matrix."""
    data, k = node.input(0), node.attrs["k"]
    rank = node.rank(data)
    if rank == 1:
        return diagonal_matrix(node, data, k)
    first, second = (normalize_axis(node.attrs[key], rank) for key in ("axis1", "axis2"))
    if first == second:
        node.refuse(f"axis1 and axis2 are both axis {first}")
    rows, columns = node.sizes(data, (first, second))
    if min(rows + min(k, 0), columns - max(k, 0)) < 1:
        node.refuse(f"diagonal {k} of {rows} x {columns} is empty")
    return diagonal(node, data, k, (first, second))


def diagonal_matrix(node: ImportNode, vector: Value, k: int) -> Value:
    """Return a square matrix of zeros with the vector on diagonal k."""
    (size,) = node.sizes(vector)
    node.charge(2 * size, "the places of its diagonal")
    indices = np.arange(size)[:, None] + [max(-k, 0), max(k, 0)]
    side = node.vector([size + abs(k)] * 2)
    zeros = node.step(ConstantOfShape(0.0, vector.dtype or DType.FLOAT32), side)
    return node.emit(ScatterND(), zeros, node.constant(indices, DType.INT64), vector) if size else zeros


def diagonal(node: ImportNode, data: Value, k: int, axes: tuple[int, int]) -> Value:
    """Diagonal k, not an empty one, of two axes, which are the last one of the result."""
    first, second = axes
    rank = node.rank(data)
    rows, columns = node.sizes(data, axes)
    count = min(rows + min(k, 0), columns - max(k, 0))
    node.charge(2 * count, "the places of its diagonal")
    places = np.arange(count)[:, None] + [max(-k, 0), max(k, 0)]
    indices = node.constant(places, DType.INT64)
    rest = [axis for axis in range(rank) if axis not in (first, second)]
    if [first, second, *rest] != list(range(rank)):
        data = node.step(Transpose((first, second, *rest)), data)
    if not rest:
        return node.emit(GatherND(), data, indices)
    result = node.step(GatherND(), data, indices)
    return node.emit(Transpose((*range(1, rank - 1), 0)), result)


IMPORTS: dict[str, ImportFunction] = {
    "Reshape": import_reshape,
    "Flatten": import_flatten,
    "transpose": import_transpose,
    "SwapAxis": import_swap_axis,
    "expand_dims": lambda node: node.emit(Unsqueeze(), node.input(0), node.vector([node.attrs["axis"]])),
    "squeeze": import_squeeze,
    "broadcast_to": import_broadcast_to,
    "broadcast_axis": import_broadcast_axis,
    "broadcast_like": import_broadcast_like,
    "tile": import_tile,
    "repeat": import_repeat,
    "reverse": import_reverse,
    "reshape_like": import_reshape_like,
    "shape_array": lambda node: node.emit(Shape(), node.input(0)),
    "size_array": lambda node: node.emit(Unsqueeze(), node.step(Size(), node.input(0)), node.vector([0])),
    "diag": import_diag,
}
