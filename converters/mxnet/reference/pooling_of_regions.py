"""Poolings of regions that ONNX has no operator for, in numpy: cell by cell."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, require


def away(number: float) -> float:
    """Return the nearest whole number, halves away from 0 as C rounds them."""
    return math.copysign(math.floor(abs(number) + 0.5), number)


def group_of(place: int, group: int, cells: int) -> int:
    """Return which part of the channels a cell reads."""
    return min(max(place * group // cells, 0), group - 1)


def psroi_pooling(attrs: Attributes, data: Array, rois: Array) -> Array:
    """Return the mean of each cell (R, output_dim, pooled, pooled) in its own channels of the region's image."""
    cells, outputs = int(attrs["pooled_size"]), int(attrs["output_dim"])
    group = int(attrs.get("group_size", 0)) or cells
    require(rois.ndim == 2 and rois.shape[1] == 5 and data.ndim == 4, f"{data.shape} and {rois.shape}")
    require(data.shape[1] >= outputs * group * group, f"{data.shape[1]} channels for {outputs} outputs")
    single, (height, width) = rois.dtype.type, data.shape[2:]
    scale, result = single(np.float32(attrs["spatial_scale"])), np.zeros((len(rois), outputs, cells, cells), data.dtype)
    for region, row in enumerate(rois):
        image = data[int(row[0])][: outputs * group * group].reshape(outputs, group, group, height, width)
        left, top = (single(away(number)) * scale for number in row[1:3])
        right, bottom = (single(away(number) + 1) * scale for number in row[3:5])
        down = max(bottom - top, single(0.1)) / single(cells)
        across = max(right - left, single(0.1)) / single(cells)
        for y, x in itertools.product(range(cells), range(cells)):
            rows = slice(*(_cut(edge, height) for edge in (_floor(y, down, top), _ceil(y + 1, down, top))))
            columns = slice(*(_cut(edge, width) for edge in (_floor(x, across, left), _ceil(x + 1, across, left))))
            part = image[:, group_of(y, group, cells), group_of(x, group, cells), rows, columns]
            if part.shape[1] and part.shape[2]:
                result[region, :, y, x] = part.astype(np.float64).mean(axis=(1, 2))
    return result


def _floor(place: int, size: np.floating, start: np.floating) -> int:  # type: ignore[type-arg]
    return math.floor(type(size)(place) * size + start)


def _ceil(place: int, size: np.floating, start: np.floating) -> int:  # type: ignore[type-arg]
    return math.ceil(type(size)(place) * size + start)


def _cut(edge: int, size: int) -> int:
    return min(max(edge, 0), size)


def deformable_psroi_pooling(attrs: Attributes, data: Array, rois: Array, trans: Array | None = None) -> Array:
    """Return the same of samples, which offsets (R, 2 * classes, part, part) in sizes of the region move."""
    cells, outputs, group = (int(attrs[name]) for name in ("pooled_size", "output_dim", "group_size"))
    parts, samples = int(attrs.get("part_size", 0)) or cells, int(attrs.get("sample_per_part", 1))
    require(group > 0, f"group_size {group}, with which MXNet reads before its arrays")
    require(data.shape[1] >= outputs * group * group, f"{data.shape[1]} channels for {outputs} outputs")
    moves = None if attrs.get("no_trans") else trans
    classes = 1 if moves is None else moves.shape[1] // 2
    require(moves is None or moves.shape[2:] == (parts, parts), f"offsets {getattr(moves, 'shape', ())}, {parts} parts")
    (height, width), result = data.shape[2:], np.zeros((len(rois), outputs, cells, cells), data.dtype)
    for region, row in enumerate(rois):
        image = data[int(row[0])][: outputs * group * group].reshape(outputs, group, group, height, width)
        scale = float(np.float32(attrs["spatial_scale"]))
        left, top = (away(number) * scale - 0.5 for number in row[1:3])
        right, bottom = ((away(number) + 1) * scale - 0.5 for number in row[3:5])
        tall, wide = max(bottom - top, 0.1), max(right - left, 0.1)
        for output, y, x in itertools.product(range(outputs), range(cells), range(cells)):
            across, down = x * wide / cells + left, y * tall / cells + top
            if moves is not None:
                kind = output // (outputs // classes)
                move = moves[region, 2 * kind : 2 * kind + 2, y * parts // cells, x * parts // cells]
                across += float(move[0]) * float(np.float32(attrs.get("trans_std", 0))) * wide
                down += float(move[1]) * float(np.float32(attrs.get("trans_std", 0))) * tall
            plane = image[output, group_of(y, group, cells), group_of(x, group, cells)]
            values = [
                _sample(plane, down + i * tall / cells / samples, across + j * wide / cells / samples)
                for i, j in itertools.product(range(samples), range(samples))
            ]
            kept = [value for value in values if value is not None]
            result[region, output, y, x] = sum(kept) / len(kept) if kept else 0
    return result


def _sample(plane: Array, y: float, x: float) -> float | None:
    """A plane read between its pixels; None more than half a pixel outside."""
    height, width = plane.shape
    if not (-0.5 <= x <= width - 0.5 and -0.5 <= y <= height - 0.5):
        return None
    y, x = min(max(y, 0.0), height - 1.0), min(max(x, 0.0), width - 1.0)
    top, left, bottom, right = math.floor(y), math.floor(x), math.ceil(y), math.ceil(x)
    upper = plane[top, left] * (1 - (x - left)) + plane[top, right] * (x - left)
    lower = plane[bottom, left] * (1 - (x - left)) + plane[bottom, right] * (x - left)
    return float(upper * (1 - (y - top)) + lower * (y - top))


def rotated_roi_align(attrs: Attributes, data: Array, rois: Array) -> Array:
    """Return the mean of samples in each cell of turned regions (R, 6): image, centre, width, height, degrees."""
    require(rois.ndim == 2 and rois.shape[1] == 6 and data.ndim == 4, f"{data.shape} and {rois.shape}")
    (rows, columns), scale = attrs["pooled_size"], float(np.float32(attrs["spatial_scale"]))
    ratio = int(attrs.get("sampling_ratio", -1))
    result = np.zeros((len(rois), data.shape[1], rows, columns), data.dtype)
    for region, row in enumerate(rois):
        center_x, center_y = (float(number) * scale for number in row[1:3])
        wide, tall = (max(number * row.dtype.type(scale), row.dtype.type(1)) for number in row[3:5])
        # Rounded as the sizes are: a cell of 2.0000001 has three samples.
        down = ratio if ratio > 0 else math.ceil(tall / row.dtype.type(rows))
        across = ratio if ratio > 0 else math.ceil(wide / row.dtype.type(columns))
        wide, tall, angle = float(wide), float(tall), float(row[5]) * math.pi / 180
        for y, x in itertools.product(range(rows), range(columns)):
            total = np.zeros(data.shape[1])
            for i, j in itertools.product(range(down), range(across)):
                place_y = -tall / 2 + (y + (i + 0.5) / down) * tall / rows
                place_x = -wide / 2 + (x + (j + 0.5) / across) * wide / columns
                total += _pixel(
                    data[int(row[0])],
                    place_y * math.cos(angle) - place_x * math.sin(angle) + center_y,
                    place_x * math.cos(angle) + place_y * math.sin(angle) + center_x,
                )
            result[region, :, y, x] = total / (down * across)
    return result


def _pixel(image: Array, y: float, x: float) -> Array:
    """All channels read between pixels; 0 more than a pixel outside."""
    height, width = image.shape[1:]
    if not (-1 <= y <= height and -1 <= x <= width):
        return np.zeros(len(image))
    y, x = min(max(y, 0.0), height - 1.0), min(max(x, 0.0), width - 1.0)
    top, left = math.floor(y), math.floor(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    upper = image[:, top, left] * (1 - (x - left)) + image[:, top, right] * (x - left)
    lower = image[:, bottom, left] * (1 - (x - left)) + image[:, bottom, right] * (x - left)
    return np.asarray(upper * (1 - (y - top)) + lower * (y - top))


OPERATORS: Mapping[str, Reference] = {
    "_contrib_DeformablePSROIPooling": deformable_psroi_pooling,
    "_contrib_PSROIPooling": psroi_pooling,
    "_contrib_RROIAlign": rotated_roi_align,
}
