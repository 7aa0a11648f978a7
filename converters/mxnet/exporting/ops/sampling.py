"""Reading images at computed places: BilinearSampler where it says it, else lookups of each place's neighbours."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from graphir.arrays import Array
from graphir.converters.mxnet.exporting.context import AnyNode, Entry, ExportNode, row, table
from graphir.converters.mxnet.exporting.ops.steps import computing, emit_as, wide
from graphir.ops.resize import AffineGrid, GridSample, SampleMode, SamplePadding
from graphir.types import DType

CUBIC = -0.75
# Keys' kernel at distances t + 1, t, 1 - t and 2 - t, as polynomials of t, the highest power first.
CUBIC_WEIGHTS = (
    (CUBIC, -2 * CUBIC, CUBIC, 0.0),
    (CUBIC + 2, -(CUBIC + 3), 0.0, 1.0),
    (-(CUBIC + 2), 2 * CUBIC + 3, -CUBIC, 0.0),
    (-CUBIC, CUBIC, 0.0, 0.0),
)
CHANNELS_LAST = (0, 2, 3, 1)



def export_grid_sample(node: ExportNode[GridSample]) -> None:
    """BilinearSampler of two axes; other ways between elements, and other numbers of axes, by lookups."""
    op = node.op
    rank = node.rank()
    spatial = node.shape()[2:]
    plain = op.align_corners and op.padding_mode is SamplePadding.ZEROS
    regular = all(isinstance(size, int) and size > 1 for size in spatial) or plain
    if rank == 4 and op.mode is SampleMode.LINEAR and regular and 1 not in spatial:
        _sample_bilinear(node)
    elif op.mode is SampleMode.CUBIC and rank != 4:
        node.refuse(f"cubic sampling over {rank - 2} axes; over two it can be written")
    else:
        _sample_by_lookups(node)


def _sample_bilinear(node: ExportNode[GridSample]) -> None:
    """BilinearSampler: corners aligned, zeros outside; other rules are said in the grid."""
    op = node.op
    grid = _grid_channels_first(node)
    if op.padding_mode is SamplePadding.REFLECTION:
        grid = _reflected(node, grid, 1.0)
    if not op.align_corners:
        height, width = node.fixed(node.shape()[2:], node.input(0).name)
        factors = np.array([width / (width - 1), height / (height - 1)]).reshape(1, 2, 1, 1)
        grid = node.step("broadcast_mul", grid, node.constant(factors, computing(node), "factors"), suffix="centres")
    if op.padding_mode is not SamplePadding.ZEROS:
        grid = node.step("clip", grid, suffix="inside", a_min=-1.0, a_max=1.0)
    emit_as(node, node.step("BilinearSampler", wide(node, 0), grid), computing(node))


def _grid_channels_first(node: AnyNode) -> Entry:
    """Return the grid as (N, 2, H, W), as which it may have been made."""
    grid = wide(node, 1)
    record = node.export.nodes[grid[0]]
    if record.op == "transpose" and record.attrs.get("axes") == str(CHANNELS_LAST):
        return record.inputs[0]
    return node.step("transpose", grid, suffix="grid", axes=(0, 3, 1, 2))


def _reflected(node: AnyNode, entry: Entry, edge: float) -> Entry:
    """Numbers reflected at -edge and edge until they lie between: a triangle of period 4 * edge."""
    around = node.step("_mod_scalar", node.step("_minus_scalar", entry, scalar=edge), scalar=4 * edge)
    distance = node.step("abs", node.step("_minus_scalar", around, suffix="turned", scalar=2 * edge))
    return node.step("_minus_scalar", distance, suffix="reflected", scalar=edge)


def _sample_by_lookups(node: ExportNode[GridSample]) -> None:
    """The weighted sum of the neighbours of each place, each looked up in a table of all elements."""
    channels, *sizes = node.fixed(node.shape()[1:], node.input(0).name)
    wanted = node.fixed((node.result.shape or ())[2:], "the result")
    grid = node.step("Reshape", wide(node, 1), suffix="places", shape=(0, -1, len(sizes)))
    axes = []
    for axis, size in enumerate(sizes):
        index = len(sizes) - 1 - axis
        column = node.step("slice_axis", grid, suffix=f"column{axis}", axis=2, begin=index, end=index + 1)
        numbers = node.step("Reshape", column, suffix=f"numbers{axis}", shape=(0, -1))
        axes.append(_neighbours(node, numbers, size))
    table = lookup_table(node, wide(node, 0), channels, len(sizes))
    result = None
    for taps in itertools.product(*axes):
        part = looked_up(node, table, [tap[0] for tap in taps], sizes)
        weights = [tap[1] for tap in taps if tap[1] is not None]
        if weights:
            weight = weights[0]
            for other in weights[1:]:
                weight = node.step("elemwise_mul", weight, other, suffix="weight")
            part = node.step("broadcast_mul", part, node.step("expand_dims", weight, suffix="each", axis=2))
        result = part if result is None else node.step("elemwise_add", result, part, suffix="total")
    assert result is not None
    turned = node.step("transpose", result, suffix="channels", axes=(0, 2, 1))
    emit_as(node, node.step("Reshape", turned, suffix="sampled", shape=(0, channels, *wanted)), computing(node))


def lookup_table(node: AnyNode, data: Entry, channels: int, spatial: int) -> Entry:
    """Data (N, C, D...) with so many spatial axes as rows of channels, (N * D..., C)."""
    last = node.step("transpose", data, suffix="rows", axes=(0, *range(2, 2 + spatial), 1))
    return node.step("Reshape", last, suffix="table", shape=(-1, channels))


def looked_up(node: AnyNode, table: Entry, indices: Sequence[Entry], sizes: Sequence[int]) -> Entry:
    """Return the rows (N, places, C) of a table at int32 indices (N, places), one for each axis."""
    flat = indices[0]
    for size, index in zip(sizes[1:], indices[1:], strict=True):
        flat = node.step("elemwise_add", node.step("_mul_scalar", flat, suffix="line", scalar=size), index)
    images = node.export.cast(node.step("_contrib_arange_like", flat, suffix="images", axis=0), DType.INT32)
    starts = node.step("_mul_scalar", images, suffix="starts", scalar=int(np.prod(sizes)))
    row = node.step("broadcast_add", flat, node.step("expand_dims", starts, axis=1), suffix="row")
    return node.step("take", table, row, suffix="looked_up", axis=0, mode="clip")


Tap = tuple[Entry, Entry | None]


def _neighbours(node: ExportNode[GridSample], numbers: Entry, size: int) -> list[Tap]:
    """Return the index of each neighbour on one axis and its weight (None for 1), from positions in [-1, 1]."""
    op = node.op
    half = (size - 1) / 2 if op.align_corners else size / 2
    indices = node.step("_mul_scalar", numbers, suffix="scaled", scalar=half)
    indices = node.step("_plus_scalar", indices, suffix="place", scalar=(size - 1) / 2)
    if op.mode is SampleMode.NEAREST:
        return [_index(node, node.step("_npi_around", indices, decimals=0), None, size)]
    if op.mode is not SampleMode.CUBIC or op.padding_mode is not SamplePadding.BORDER:
        indices = _within(node, indices, size)
    floor = node.step("floor", indices)
    part = node.step("elemwise_sub", indices, floor, suffix="part")
    if op.mode is SampleMode.LINEAR:
        rest = node.step("_rminus_scalar", part, suffix="rest", scalar=1.0)
        weights, first = [rest, part], 0
    else:
        weights, first = [_polynomial(node, part, factors) for factors in CUBIC_WEIGHTS], -1
    result = []
    for index, weight in enumerate(weights, first):
        moved = floor if index == 0 else node.step("_plus_scalar", floor, suffix="neighbour", scalar=index)
        result.append(_index(node, moved, weight, size))
    return result


def _within(node: ExportNode[GridSample], places: Entry, size: int) -> Entry:
    """Places outside of the axis brought into it, unless zeros are read there."""
    mode = node.op.padding_mode
    if mode is SamplePadding.ZEROS:
        return places
    if mode is SamplePadding.BORDER:
        return node.step("clip", places, suffix="within", a_min=0, a_max=size - 1)
    edge = (size - 1) / 2 if node.op.align_corners else size / 2
    if edge == 0:
        return node.step("zeros_like", places)
    middle = (size - 1) / 2
    moved = _reflected(node, node.step("_minus_scalar", places, suffix="moved", scalar=middle), edge)
    return node.step("_plus_scalar", moved, suffix="within", scalar=middle)


def _index(node: ExportNode[GridSample], places: Entry, weight: Entry | None, size: int) -> Tap:
    """Whole places as indices; a place outside has no weight, or is brought into the axis."""
    if node.op.padding_mode is SamplePadding.ZEROS:
        above = node.step("_greater_equal_scalar", places, suffix="above", scalar=0)
        inside = node.step("elemwise_mul", above, node.step("_lesser_scalar", places, suffix="below", scalar=size))
        weight = inside if weight is None else node.step("elemwise_mul", weight, inside, suffix="counted")
    places = _within(node, places, size)
    limited = node.step("clip", places, suffix="limited", a_min=0, a_max=size - 1)
    return node.step("Cast", limited, suffix="index", dtype="int32"), weight


def _polynomial(node: AnyNode, entry: Entry, factors: Sequence[float]) -> Entry:
    result = node.step("_mul_scalar", entry, suffix="power", scalar=factors[0])
    for factor in factors[1:-1]:
        raised = node.step("_plus_scalar", result, suffix="sum", scalar=factor) if factor else result
        result = node.step("elemwise_mul", raised, entry, suffix="power")
    return node.step("_plus_scalar", result, suffix="sum", scalar=factors[-1]) if factors[-1] else result


def export_affine_grid(node: ExportNode[AffineGrid]) -> None:
    """GridGenerator of images whose corners are aligned; else the product of the matrices and the places."""
    op = node.op
    wanted = node.numbers(1)
    assert wanted is not None
    sizes = wanted[2:]
    if op.align_corners and len(sizes) == 2 and min(sizes) > 1 and computing(node) is DType.FLOAT32:
        rows = node.step("Reshape", wide(node, 0), suffix="rows", shape=(0, -1))
        grid = node.step("GridGenerator", rows, transform_type="affine", target_shape=sizes)
        emit_as(node, node.step("transpose", grid, suffix="grid", axes=CHANNELS_LAST), DType.FLOAT32)
        return
    node.charge(math.prod(sizes) * (len(sizes) + 1), "its grid")
    axes = [_regular(size, op.align_corners) for size in sizes]
    indices = [axis.reshape(-1) for axis in np.meshgrid(*axes, indexing="ij")][::-1]
    points = np.stack([*indices, np.ones(indices[0].size)])
    constant = node.constant(points, computing(node), "places")
    moved = node.step("dot", wide(node, 0), constant, suffix="moved")
    turned = node.step("transpose", moved, suffix="rows", axes=(0, 2, 1))
    emit_as(node, node.step("Reshape", turned, suffix="grid", shape=(0, *sizes, len(sizes))), computing(node))


def _regular(size: int, aligned: bool) -> Array:
    """Where the centres of `size` elements lie in [-1, 1], the outer ones at its ends if aligned."""
    if aligned:
        return np.linspace(-1, 1, size)
    return (np.arange(size) * 2 + 1) / size - 1


EXPORTS = table(row(GridSample, export_grid_sample), row(AffineGrid, export_affine_grid))
