"""Images resized as OpenCV does it, which is what MXNet resizes them with.

A pixel of the result is a sum of pixels of the image on each axis, its indices and weights those of `image_sums`. For
uint8 OpenCV computes in whole numbers, weights being multiples of 1 / 2048, or in float32 (`image_sums`), and so does
what is written here: the bytes are the same.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.rare.image_processing import dtype_of
from graphir.converters.mxnet.importing.rare.image_sums import (
    AREA,
    AREA_OF_FEW,
    CUBIC,
    LANCZOS,
    LINEAR,
    NEAREST,
    UNIT,
    Array,
    ImageAxis,
    areas,
    cubic,
    matrix,
    nearest,
    neighbours,
)  # fmt: skip
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops.creation import Range
from graphir.ops.indexing import Gather
from graphir.ops.linear import MatMul
from graphir.ops.resize import Coordinates, Resize, ResizeMode
from graphir.ops.shape import Reshape, Shape, Squeeze, Transpose, Unsqueeze
from graphir.ops.shape_parts import Concat
from graphir.types import UNKNOWN, DType, TensorType

DTYPES = (DType.UINT8, DType.FLOAT32, DType.FLOAT64)


def import_image_resize(node: ImportNode) -> Value:
    """_image_resize: `size` is the width and height, or one of both; one with `keep_ratio` is the shorter side's."""
    attrs = node.attrs
    stated = tuple(attrs["size"] or ())
    if len(stated) not in (1, 2) or None in stated or min(stated) < 1:
        node.refuse(f"size {list(stated)}, expected one or two numbers of 1 or more")
    rank = node.rank(0)
    if rank not in (3, 4):
        node.refuse(f"{node.input(0).name} has {rank} axes, expected an image (H, W, C) or a batch of them")
    if len(stated) == 1 and attrs["keep_ratio"]:
        return _resized(node, *_keeping_ratio(node, rank, stated[0]))
    return _resized(node, *_axes(node, rank, (stated[-1], stated[0])))


def import_cv_resize(node: ImportNode) -> Value:
    """_cvimresize: one image (H, W, C) resized to `h` rows and `w` columns."""
    data = node.input(0)
    if data.rank not in (None, 3):
        node.refuse(f"{data.name} is {data.type}, expected one image (H, W, C)")
    node.graph.refine(data, TensorType(None, (UNKNOWN,) * 3))
    wanted = node.attrs["h"], node.attrs["w"]
    if min(wanted) < 1:
        node.refuse(f"h {wanted[0]} and w {wanted[1]}, expected 1 or more")
    return _resized(node, *_axes(node, 3, wanted))


def _axes(node: ImportNode, rank: int, wanted: tuple[int, int]) -> tuple[ImageAxis, ImageAxis]:
    result = [node.sizes_if_known(0, (axis,)) for axis in (rank - 3, rank - 2)]
    height, width = (None if size is None else size[0] for size in result)
    return ImageAxis(rank - 3, height, wanted[0]), ImageAxis(rank - 2, width, wanted[1])


def _keeping_ratio(node: ImportNode, rank: int, short: int) -> tuple[ImageAxis, ImageAxis]:
    """The shorter side becomes `short`, the other one is cut to a whole number."""
    axes = (rank - 3, rank - 2)
    known = node.sizes_if_known(0, axes)
    if known is not None:
        tall, wide = known
        wanted = (short * tall // wide, short) if tall > wide else (short, short * wide // tall)
        return _axes(node, rank, wanted)
    height, width = (
        node.step(Shape(start=axis, end=axis + 1), node.input(0), suffix=suffix)
        for axis, suffix in zip(axes, ("height", "width"), strict=True)
    )
    least = node.step(ew.Min(), height, width, suffix="shorter")
    length = node.vector([short])
    sizes = [
        node.step(ew.Div(), node.step(ew.Mul(), size, length, suffix="scaled"), least, suffix="size")
        for size in (height, width)
    ]
    return ImageAxis(axes[0], None, None, height, sizes[0]), ImageAxis(axes[1], None, None, width, sizes[1])


def _resized(node: ImportNode, rows: ImageAxis, columns: ImageAxis) -> Value:
    data, method = node.input(0), node.attrs["interp"]
    dtype = dtype_of(node, data)
    if dtype not in DTYPES and not (dtype is DType.INT32 and method == NEAREST):
        node.refuse(f"{data.name} is {data.type}; MXNet resizes images of uint8, float32 and float64 only")
    if any(number is not None and number < 1 for axis in (rows, columns) for number in (axis.size, axis.wanted)):
        node.refuse(f"an image of {data.type}, {rows.wanted} x {columns.wanted} wanted: neither may have no pixels")
    if method not in (NEAREST, LINEAR, CUBIC, AREA, LANCZOS):
        node.refuse(f"interp {method}, expected 0 to 4")
    if method == NEAREST:
        return _by_places(node, data, rows, columns)
    if method == LINEAR and dtype is DType.UINT8:
        if rows.known and columns.known and _halves(node, rows, columns) and _channels(node) not in (1, 3, 4):
            return _by_matrices(node, data, rows, columns, AREA, dtype)
        return _linear_bytes(node, data, rows, columns)
    if method == LINEAR:
        return _linear_floats(node, data, rows, columns)
    if not (rows.known and columns.known):
        node.sizes(data, (rows.axis, columns.axis))
    if method == AREA and any((axis.wanted or 0) > (axis.size or 0) for axis in (rows, columns)):
        method = AREA_OF_FEW
    of_bytes = OF_BYTES.get(method) if dtype is DType.UINT8 else None
    return of_bytes(node, data, rows, columns) if of_bytes else _by_matrices(node, data, rows, columns, method, dtype)


def _areas_of_bytes(node: ImportNode, data: Value, rows: ImageAxis, columns: ImageAxis) -> Value:
    channels = _channels(node)
    if _halves(node, rows, columns):
        if channels is None:
            node.decide(DecisionKind.ROUNDING, f"{data.name} is taken to have 2 channels: of 1, 3 or 4 halves go up")
        elif channels in (1, 3, 4):
            return _by_matrices(node, data, rows, columns, AREA, DType.UINT8)
    result = areas(node, data, rows, columns)
    if result is not None:
        return result
    node.decide(
        DecisionKind.ROUNDING,
        "a byte is made of so many that they are summed as in exact arithmetic; OpenCV sums them in float32, so that "
        "one in some thousands can be 1 higher or lower",
    )
    return _by_matrices(node, data, rows, columns, AREA, DType.UINT8)


def _cubic_of_bytes(node: ImportNode, data: Value, rows: ImageAxis, columns: ImageAxis) -> Value:
    channels = _channels(node)
    node.decide(
        DecisionKind.ROUNDING,
        "bytes half way between two are rounded as on x86-64, where OpenCV sums rows in float32; on other processors "
        "one in some thousands can be 1 higher or lower"
        + (", and so can the last ones of a row, as the number of channels is not known" if channels is None else ""),
    )
    return cubic(node, data, rows, columns, channels)


OF_BYTES: dict[int, Callable[[ImportNode, Value, ImageAxis, ImageAxis], Value]] = {
    AREA: _areas_of_bytes,
    AREA_OF_FEW: lambda node, data, rows, columns: _linear_bytes(node, data, rows, columns, AREA_OF_FEW),
    CUBIC: _cubic_of_bytes,
}


def _halves(node: ImportNode, rows: ImageAxis, columns: ImageAxis) -> bool:
    return all(axis.size == 2 * (axis.wanted or 0) for axis in (rows, columns))


def _channels(node: ImportNode) -> int | None:
    result = node.sizes_if_known(0, (node.rank(0) - 1,))
    return result[0] if result else None


def _by_places(node: ImportNode, data: Value, rows: ImageAxis, columns: ImageAxis) -> Value:
    """Every pixel is one of the image."""
    channels = _channels(node)
    if dtype_of(node, data) is DType.UINT8 and channels is not None and channels > 4 and channels % 4 and channels != 6:
        node.decide(
            DecisionKind.UNDEFINED_ELEMENTS,
            f"channels from {channels // 4 * 4} on are taken from the image as the others are; OpenCV, by which MXNet "
            "resizes, copies bytes by fours and leaves them undefined",
        )
    stored = node.step(Gather(rows.axis), data, _nearest(node, rows), suffix="rows")
    return node.emit(Gather(columns.axis), stored, _nearest(node, columns))


def _nearest(node: ImportNode, axis: ImageAxis) -> Value:
    if axis.size is not None and axis.wanted is not None:
        node.charge(axis.wanted, "its places")
        return node.constant(nearest(axis.size, axis.wanted), DType.INT64)
    scale, last, indices = _scale(node, axis)
    indices = node.cast(node.step(ew.Mul(), indices, scale, suffix="places"), DType.INT64, suffix="indices")
    return node.step(ew.Min(), indices, last, suffix="inside")


def _scale(node: ImportNode, axis: ImageAxis) -> tuple[Value, Value, Value]:
    """Of an axis whose size is known at run time only: pixels a pixel, its last place, the places of the result."""
    size, wanted = _sizes(node, axis)
    last = node.step(ew.Sub(), size, node.vector([1]), suffix="last")
    size, double = (node.cast(value, DType.FLOAT64, suffix="double") for value in (size, wanted))
    one = node.constant([1.0], DType.FLOAT64)
    scale = node.step(ew.Div(), one, node.step(ew.Div(), double, size, suffix="ratio"), suffix="scale")
    zero, step = node.constant(0, DType.INT64), node.constant(1, DType.INT64)
    count = node.constant(axis.wanted, DType.INT64) if axis.wanted else node.step(Squeeze(), wanted, node.vector([0]))
    indices = node.step(Range(), zero, count, step, suffix="places")
    return scale, last, node.cast(indices, DType.FLOAT64, suffix="places")


def _sizes(node: ImportNode, axis: ImageAxis) -> tuple[Value, Value]:
    size = axis.size_value
    if size is None:
        size = node.step(Shape(start=axis.axis, end=axis.axis + 1), node.input(0), suffix="size")
    return size, axis.wanted_value or node.vector([axis.wanted or 0])


def _linear_floats(node: ImportNode, data: Value, rows: ImageAxis, columns: ImageAxis) -> Value:
    """Between two pixels of each axis: what ONNX's Resize does, channels first."""
    single = rows.axis == 0
    if single:
        data = node.step(Unsqueeze(), data, node.vector([0]), suffix="batch")
    turned = node.step(Transpose((0, 3, 1, 2)), data, suffix="planes")
    if rows.wanted is not None and columns.wanted is not None:
        sizes = node.vector([rows.wanted, columns.wanted])
    else:
        sizes = node.step(Concat(0), _sizes(node, rows)[1], _sizes(node, columns)[1], suffix="sizes")
    op = Resize(ResizeMode.LINEAR, Coordinates.HALF_PIXEL, axes=(2, 3))
    resized = node.step(op, turned, None, None, sizes, suffix="resized")
    if not single:
        return node.emit(Transpose((0, 2, 3, 1)), resized)
    return node.emit(Squeeze(), node.step(Transpose((0, 2, 3, 1)), resized, suffix="pixels"), node.vector([0]))


def _linear_bytes(node: ImportNode, data: Value, rows: ImageAxis, columns: ImageAxis, method: int = LINEAR) -> Value:
    """Between two pixels of each axis, in whole numbers as OpenCV rounds them."""
    across = _blended(node, data, columns, (-1, 1), method)
    total = node.step(ew.Add(), *across, suffix="columns")
    coarse = node.step(ew.Div(), total, node.constant(16, DType.INT32), suffix="coarse")
    down = [
        node.step(ew.Div(), part, node.constant(1 << 16, DType.INT32), suffix="part")
        for part in _blended(node, coarse, rows, (-1, 1, 1), method)
    ]
    summed = node.step(ew.Add(), *down, suffix="rows")
    total = node.step(ew.Add(), summed, node.constant(2, DType.INT32), suffix="rounded")
    return node.emit(ew.Cast(DType.UINT8), node.step(ew.Div(), total, node.constant(4, DType.INT32), suffix="whole"))


def _blended(node: ImportNode, data: Value, axis: ImageAxis, shape: tuple[int, ...], method: int) -> list[Value]:
    """Both neighbours of every pixel of the result on an axis, each times its weight."""
    rows = len(shape) == 3
    if axis.size is not None and axis.wanted is not None:
        node.charge(axis.wanted * 4, "its weights")
        places, weights = neighbours(axis.size, axis.wanted, method, rows=rows)
        indices = [node.constant(places[:, side], DType.INT64) for side in (0, 1)]
        whole = np.rint(weights * np.float32(UNIT)).astype(np.int32)
        factors = [node.constant(whole[:, side].reshape(shape)) for side in (0, 1)]
    else:
        indices, shares = _open_neighbours(node, axis, rows=rows)
        unit = node.constant(float(UNIT), DType.FLOAT32)
        factors = [
            node.step(Reshape(), node.cast(node.step(ew.Round(), node.step(ew.Mul(), weight, unit)), DType.INT32),
                      node.vector(shape), suffix="weight")
            for weight in shares
        ]  # fmt: skip
    result = [node.step(Gather(axis.axis), data, index, suffix="neighbour") for index in indices]
    if data.dtype is DType.UINT8:
        result = [node.cast(value, DType.INT32, suffix="numbers") for value in result]
    pairs = zip(result, factors, strict=True)
    return [node.step(ew.Mul(), value, factor, suffix="weighted") for value, factor in pairs]


def _open_neighbours(node: ImportNode, axis: ImageAxis, *, rows: bool) -> tuple[list[Value], list[Value]]:
    """`neighbours` for a size that is known at run time only: indices and weights of the two sides."""
    scale, last, indices = _scale(node, axis)
    half = node.constant(0.5, DType.FLOAT64)
    middle = node.step(ew.Mul(), node.step(ew.Add(), indices, half, suffix="middle"), scale, suffix="scaled")
    place = node.cast(node.step(ew.Sub(), middle, half, suffix="moved"), DType.FLOAT32, suffix="place")
    floor = node.step(ew.Floor(), place)
    weight = node.step(ew.Sub(), place, floor, suffix="fraction")
    index = node.cast(floor, DType.INT64, suffix="index")
    zero, one = node.constant(0, DType.INT64), node.constant(1, DType.INT64)
    if not rows:
        before, behind = node.step(ew.Less(), index, zero), node.step(ew.GreaterOrEqual(), index, last)
        outside = node.step(ew.Or(), before, behind, suffix="outside")
        weight = node.step(ew.Where(), outside, node.constant(0.0, DType.FLOAT32), weight, suffix="weight")
    sides = []
    for side in (index, node.step(ew.Add(), index, one, suffix="next")):
        sides.append(node.step(ew.Min(), node.step(ew.Max(), side, zero, suffix="inside"), last, suffix="inside"))
    return sides, [node.step(ew.Sub(), node.constant(1.0, DType.FLOAT32), weight, suffix="rest"), weight]


def _by_matrices(
    node: ImportNode, data: Value, rows: ImageAxis, columns: ImageAxis, method: int, dtype: DType
) -> Value:
    """Sums of more than two pixels: a matrix of weights for each axis."""
    bytes_, double = dtype is DType.UINT8, dtype is DType.FLOAT64
    tall, wide = (_weights(node, axis, method, whole=bytes_ and method != AREA) for axis in (rows, columns))
    tall = tall.astype(np.float64 if double or bytes_ else np.float32)
    wide = wide.astype(np.float64 if double else np.float32)
    if bytes_:
        data = node.cast(data, DType.FLOAT32, suffix="numbers")
    rank = rows.axis + 3
    leading = tuple(range(rank - 3))
    planes = node.step(Transpose((*leading, rank - 1, rank - 3, rank - 2)), data, suffix="planes")
    across = node.step(MatMul(), planes, node.constant(wide.T), suffix="columns")
    if bytes_:
        across = node.cast(across, DType.FLOAT64, suffix="double")
    total = node.step(MatMul(), node.constant(tall), across, suffix="rows")
    back = (*leading, rank - 2, rank - 1, rank - 3)
    if not bytes_:
        return node.emit(Transpose(back), total)
    # OpenCV rounds multiples of 1 / 2048^2 half up, areas half to even.
    if method == AREA and not (_halves(node, rows, columns) and _channels(node) in (1, 3, 4)):
        total = node.step(ew.Round(), total, suffix="rounded")
    else:
        if method != AREA:
            total = node.step(ew.Div(), total, node.constant(float(UNIT * UNIT), DType.FLOAT64), suffix="scaled")
        raised = node.step(ew.Add(), total, node.constant(0.5, DType.FLOAT64), suffix="raised")
        total = node.step(ew.Floor(), raised, suffix="rounded")
    limits = node.constant(0.0, DType.FLOAT64), node.constant(255.0, DType.FLOAT64)
    total = node.step(ew.Clip(), total, *limits, suffix="limited")
    return node.emit(ew.Cast(DType.UINT8), node.step(Transpose(back), total, suffix="pixels"))


def _weights(node: ImportNode, axis: ImageAxis, method: int, *, whole: bool) -> Array:
    assert axis.size is not None
    assert axis.wanted is not None
    node.charge(axis.size * axis.wanted, "its weights")
    return matrix(axis.size, axis.wanted, method, whole=whole)


IMPORTS: dict[str, ImportFunction] = {"_cvimresize": import_cv_resize, "_image_resize": import_image_resize}
