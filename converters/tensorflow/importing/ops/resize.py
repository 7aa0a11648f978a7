"""Resizing images (N, H, W, C) on both spatial axes.

Positions, with `scale` = old / new in float32: x * scale; x * (old - 1) / (new - 1) under `align_corners`;
(x + 0.5) * scale - 0.5 under `half_pixel_centers`. Source: `tf.raw_ops.ResizeBilinear` and its like.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphir.converters.tensorflow.importing.context import ImportFunction, ImportNode
from graphir.converters.tensorflow.importing.layout import Layout, channels_first, finish
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.indexing import Gather
from graphir.ops.linear import MatMul
from graphir.ops.pooling import AveragePool
from graphir.ops.resize import Coordinates, NearestMode, Resize, ResizeMode
from graphir.types import DType, Sym, TensorType

LAYOUT = Layout(2, channels_last=True)
AXES = (2, 3)
MOST_FACTOR = 64


def _coordinates(node: ImportNode) -> Coordinates:
    """Return where an element of the result comes from. Refuses what TensorFlow refuses."""
    aligned, centers = node.attrs["align_corners"], node.attrs.get("half_pixel_centers", False)
    if aligned and centers:
        node.refuse("align_corners and half_pixel_centers exclude each other; TensorFlow refuses both at once")
    if aligned:
        return Coordinates.ALIGN_CORNERS
    return Coordinates.HALF_PIXEL if centers else Coordinates.ASYMMETRIC


def _resize(
    node: ImportNode, data: Value, mode: ResizeMode, nearest: NearestMode, *, cubic: float = -0.75, inner: bool = False
) -> Value:
    """Return the node's result by one Resize, by whole factors where the new sizes are such multiples of open ones."""
    coordinates = _coordinates(node)
    factors = _whole_factors(node)
    op = Resize(
        mode,
        coordinates,
        nearest,
        factors=factors,
        axes=AXES,
        cubic_coeff_a=cubic,
        exclude_outside=inner,
    )
    if factors:
        return finish(node, LAYOUT, op, channels_first(node, LAYOUT, data))
    node.graph.refine(node.input(1), TensorType(None, (2,)))
    sizes = node.int64(node.input(1))
    return finish(node, LAYOUT, op, channels_first(node, LAYOUT, data), None, None, sizes)


def _whole_factors(node: ImportNode) -> tuple[float, ...]:
    """Return the factors, if sizes are open and the new ones are known to be whole multiples of them; empty
    otherwise."""
    known, shape = node.input(1).known, node.input(0).shape
    if known is None or shape is None or len(shape) != 4 or len(known.elements) != 2:
        return ()
    factors: list[float] = []
    for old, new in zip(shape[1:3], known.elements, strict=True):
        if not isinstance(old, Sym) or not isinstance(new, Sym):
            return ()
        factor = next((count for count in range(1, MOST_FACTOR + 1) if old * count == new), None)
        if factor is None:
            return ()
        factors.append(float(factor))
    return tuple(factors)


def import_resize_bicubic(node: ImportNode) -> Value:
    """ResizeBicubic: Keys' cubic of -0.75, or of -0.5 without what is outside under `half_pixel_centers`.

    By a matrix of weights on each axis where the image is made smaller on one, which onnxruntime (1.31) cannot do where
    its optimisations bring channels last.
    """
    old, new = node.sizes_if_known(node.input(0), (1, 2)), node.known(1)
    if old is not None and new is not None and any(size > count for size, count in zip(old, new, strict=True)):
        coordinates = _coordinates(node)
        _charge_weights(node, old, new)
        weights = [_cubic_weights(coordinates, *pair) for pair in zip(old, new, strict=True)]
        return _apply_weights(node, node.cast(node.input(0), DType.FLOAT32, "float"), *weights)
    node.decide(
        DecisionKind.PRECISION, "TensorFlow rounds the positions of a bicubic resize to 1/1024, here they are exact"
    )
    keys = bool(node.attrs["half_pixel_centers"])
    return _resize(
        node,
        node.cast(node.input(0), DType.FLOAT32, "float"),
        ResizeMode.CUBIC,
        NearestMode.ROUND_PREFER_FLOOR,
        cubic=-0.5 if keys else -0.75,
        inner=keys,
    )


def import_resize_nearest(node: ImportNode) -> Value:
    """ResizeNearestNeighbor; by Gather where TensorFlow's float32 arithmetic reaches other elements than Resize may.

    Resize's positions are x / (new / old), in exact arithmetic or, as onnxruntime has it, in float32.
    """
    data, coordinates = node.input(0), _coordinates(node)
    old, new = node.sizes_if_known(data, (1, 2)), node.known(1)
    if old is not None and new is not None and len(new) == 2:
        node.charge_table(3 * sum(new))
        indices = [nearest_indices(coordinates, *pair) for pair in zip(old, new, strict=True)]
        exact, divided = (
            [function(coordinates, *pair) for pair in zip(old, new, strict=True)]
            for function in (_exact_indices, _divided_indices)
        )
        if indices != exact or indices != divided:
            node.decide(
                DecisionKind.ROUNDING, "elements are picked as TensorFlow's float32 positions round, unlike Resize's"
            )
            rows = node.step(Gather(axis=1), data, node.vector(indices[0]), suffix="rows")
            return node.emit(Gather(axis=2), rows, node.vector(indices[1]))
    else:
        node.decide(
            DecisionKind.ROUNDING, "sizes are open: positions are taken as exact, TensorFlow rounds them to float32"
        )
    nearest = NearestMode.FLOOR if coordinates is Coordinates.ASYMMETRIC else NearestMode.ROUND_PREFER_CEIL
    return _resize(node, data, ResizeMode.NEAREST, nearest)


def nearest_indices(coordinates: Coordinates, old: int, new: int) -> list[int]:
    """Return which of `old` elements each of `new` is, in float32 as TensorFlow computes it.

    >>> nearest_indices(Coordinates.ASYMMETRIC, 3, 5), nearest_indices(Coordinates.HALF_PIXEL, 3, 5)
    ([0, 0, 1, 1, 2], [0, 0, 1, 2, 2])
    """
    import numpy as np

    single = np.float32
    aligned = coordinates is Coordinates.ALIGN_CORNERS and new > 1
    scale = single(old - 1) / single(new - 1) if aligned else single(old) / single(new)
    shift = single(0.5) if coordinates is Coordinates.HALF_PIXEL else single(0)
    positions = (np.arange(new, dtype=np.float32) + shift) * scale
    if coordinates is Coordinates.ALIGN_CORNERS:
        fraction = positions - np.floor(positions)
        indices = np.floor(positions) + (fraction >= single(0.5))
    else:
        indices = np.floor(positions)
    return [int(index) for index in np.clip(indices, 0, max(old - 1, 0))]


def _exact_indices(coordinates: Coordinates, old: int, new: int) -> list[int]:
    """Return the nearest indices in exact arithmetic: halves up."""
    if coordinates is Coordinates.ALIGN_CORNERS:
        if new == 1:
            return [0]
        return [(2 * index * (old - 1) + new - 1) // (2 * (new - 1)) for index in range(new)]
    if coordinates is Coordinates.HALF_PIXEL:
        return [(2 * index + 1) * old // (2 * new) for index in range(new)]
    return [index * old // new for index in range(new)]


def _divided_indices(coordinates: Coordinates, old: int, new: int) -> list[int]:
    """Return the nearest indices by a division by the factor in float32, as Resize states the position."""
    if coordinates is Coordinates.ALIGN_CORNERS:
        return _exact_indices(coordinates, old, new)
    if not old:
        return [0] * new
    import numpy as np

    single = np.float32
    shift = single(0.5) if coordinates is Coordinates.HALF_PIXEL else single(0)
    positions = (np.arange(new, dtype=np.float32) + shift) / (single(new) / single(old)) - shift
    whole = np.floor(positions)
    indices = whole + (positions - whole >= single(0.5)) if shift else whole
    return [int(index) for index in np.clip(indices, 0, max(old - 1, 0))]


def import_resize_area(node: ImportNode) -> Value:
    """ResizeArea: the mean of the part of the image that an element covers.

    By AveragePool where whole elements are covered, else by a matrix of weights on each axis.
    """
    data = node.cast(node.input(0), DType.FLOAT32, "float")
    old, new = node.sizes(node.input(0), (1, 2)), node.integers(1, "the new sizes")
    aligned = bool(node.attrs["align_corners"])
    if not aligned and all(size % count == 0 for size, count in zip(old, new, strict=True)):
        kernel = tuple(size // count for size, count in zip(old, new, strict=True))
        return finish(node, LAYOUT, AveragePool(kernel, kernel), channels_first(node, LAYOUT, data))
    _charge_weights(node, old, new)
    return _apply_weights(node, data, *(_area_weights(*pair, aligned) for pair in zip(old, new, strict=True)))


def _charge_weights(node: ImportNode, old: Sequence[int], new: Sequence[int]) -> None:
    """Count two matrices (new, old); finding where a row's weights lie costs more than the row."""
    node.charge_table(sum(count * (size + 8) for size, count in zip(old, new, strict=True)))


def _apply_weights(node: ImportNode, data: Value, rows: list[Sequence[float]], columns: list[Sequence[float]]) -> Value:
    """Return the images multiplied by the weights (new, old) of both axes."""
    first = channels_first(node, LAYOUT, data)
    left = node.constant(rows, DType.FLOAT32)
    right = node.constant([list(column) for column in zip(*columns, strict=True)], DType.FLOAT32)
    return finish(node, LAYOUT, MatMul(), node.step(MatMul(), left, first, suffix="rows"), right)


def _cubic_weights(coordinates: Coordinates, old: int, new: int) -> list[Sequence[float]]:
    """Return how much each of `old` elements counts for each of `new` by a cubic, at positions rounded to 1/1024.

    Neighbours outside are those at the edge; under half_pixel_centers they do not count. Source: TensorFlow's
    core/kernels/image/resize_bicubic_op.cc.
    """
    import numpy as np

    single, keys = np.float32, coordinates is Coordinates.HALF_PIXEL
    aligned = coordinates is Coordinates.ALIGN_CORNERS and new > 1
    scale = single(old - 1) / single(new - 1) if aligned else single(old) / single(new)
    shift, sharpness = single(0.5 if keys else 0), -0.5 if keys else -0.75
    rows: list[Sequence[float]] = []
    for index in range(new):
        position = (single(index) + shift) * scale - shift
        first = int(np.floor(position))
        part = float(np.rint((position - single(first)) * single(1024))) / 1024
        weights = [0.0] * old
        for offset in range(-1, 3):
            weight, source = _keys_cubic(abs(part - offset), sharpness), first + offset
            if not keys or 0 <= source < old:
                weights[min(max(source, 0), old - 1)] += weight
        total = sum(weights) if keys else 1.0
        rows.append([weight / total for weight in weights])
    return rows


def _keys_cubic(distance: float, sharpness: float) -> float:
    """Return Keys' convolution kernel: two cubics, from 0 to 1 and on to 2.

    >>> [_keys_cubic(distance, -0.5) for distance in (0, 0.5, 1, 1.5, 2)]
    [1.0, 0.5625, 0.0, -0.0625, 0.0]
    """
    if distance <= 1:
        return ((sharpness + 2) * distance - (sharpness + 3)) * distance * distance + 1.0
    return ((sharpness * distance - 5 * sharpness) * distance + 8 * sharpness) * distance - 4 * sharpness


def _area_weights(old: int, new: int, aligned: bool) -> list[Sequence[float]]:
    """Return how much of each of `old` elements is in each of `new`, shares of 1.

    Each covers [x * scale, (x + 1) * scale), and what lies behind the last element counts as that.
    """
    import numpy as np

    if old == 1:
        return [[1.0]] * new
    single = np.float32
    scale = single(old - 1) / single(new - 1) if aligned and new > 1 else single(old) / single(new)
    rows = []
    for index in range(new):
        begin, end = single(index) * scale, single(index + 1) * scale
        weights = [0.0] * old
        for source in range(int(np.floor(begin)), int(np.ceil(end))):
            part = min(float(end), source + 1.0) - max(float(begin), float(source))
            weights[min(source, old - 1)] += part / float(scale)
        rows.append(weights)
    return rows  # type: ignore[return-value]


IMPORTS: dict[str, ImportFunction] = {
    "ResizeArea": import_resize_area,
    "ResizeBicubic": import_resize_bicubic,
    "ResizeBilinear": lambda node: _resize(
        node, node.cast(node.input(0), DType.FLOAT32, "float"), ResizeMode.LINEAR, NearestMode.ROUND_PREFER_FLOOR
    ),
    "ResizeNearestNeighbor": import_resize_nearest,
}
