"""How much each element of an axis counts in each element of the resized axis: matrices, in pure numpy.

Positions are computed in float32 (the symmetric ones are rounded to it), as onnxruntime does it: it decides between two
neighbours that are equally near.
Source: ONNX Resize-19.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphir.arrays import Array
from graphir.ops.resize import Coordinates, NearestMode, Resize, ResizeMode
from graphir.safety.limits import charge_elements

ONE, HALF = np.float32(1), np.float32(0.5)


@dataclass(frozen=True)
class Axis:
    """One axis that is resized: both sizes, the factor between them, and for TF_CROP_AND_RESIZE what is read."""

    size: int
    wanted: int
    factor: float
    begin: float = 0.0
    end: float = 1.0

    @property
    def is_kept(self) -> bool:
        """Whether nothing happens on this axis."""
        return self.size == self.wanted and self.factor == 1 and (self.begin, self.end) == (0, 1)


def origins(axis: Axis, coordinates: Coordinates) -> Array:
    """The position in the axis that each element of the result is taken from, float32."""
    charge_elements(axis.wanted, f"the places of {axis.wanted} elements of a resize")
    indices = np.arange(axis.wanted, dtype=np.float32)
    factor, size, wanted = np.float32(axis.factor), np.float32(axis.size), np.float32(axis.wanted)
    last = size - ONE
    match coordinates:
        case Coordinates.ASYMMETRIC:
            return indices / factor
        case Coordinates.ALIGN_CORNERS:
            return indices * last / (wanted - ONE) if axis.wanted > 1 else indices * np.float32(0)
        case Coordinates.PYTORCH_HALF_PIXEL if axis.wanted == 1:
            return indices * np.float32(0)
        case Coordinates.HALF_PIXEL_SYMMETRIC:
            offset = float(size / np.float32(2) * (ONE - wanted / (factor * size)))
            return (offset + (indices.astype(np.float64) + 0.5) / float(factor) - 0.5).astype(np.float32)
        case Coordinates.TF_CROP_AND_RESIZE:
            begin, end = np.float32(axis.begin), np.float32(axis.end)
            if axis.wanted == 1:
                return HALF * (begin + end) * last + indices
            return begin * last + indices * (end - begin) * last / (wanted - ONE)
    return (indices + HALF) / factor - HALF


def outside(axis: Axis, coordinates: Coordinates) -> Array:
    """Which elements of the result lie outside of the axis, and are the extrapolation value."""
    if coordinates is not Coordinates.TF_CROP_AND_RESIZE:
        return np.zeros(axis.wanted, bool)
    indices = origins(axis, coordinates)
    result: Array = (indices < 0) | (indices > axis.size - 1)
    return result


def nearest(axis: Axis, op: Resize) -> Array:
    """The index of the element that each element of the result is, int64."""
    indices = origins(axis, op.coordinates)
    match op.nearest_mode:
        case NearestMode.FLOOR:
            result = np.floor(indices)
        case NearestMode.CEIL:
            result = np.ceil(indices)
        case NearestMode.ROUND_PREFER_FLOOR:
            result = np.ceil(indices - HALF)
        case NearestMode.ROUND_PREFER_CEIL:
            result = np.floor(indices + HALF)
    limited: Array = np.clip(result, 0, axis.size - 1).astype(np.int64)
    return limited


def matrix(axis: Axis, op: Resize) -> Array:
    """The weights (wanted, size) of linear or cubic interpolation, float64; rows outside of the axis are 0."""
    charge_elements(axis.wanted * axis.size, f"the weights of a resize of {axis.size} elements to {axis.wanted}")
    indices = origins(axis, op.coordinates).astype(np.float64)
    stretched = 1 / axis.factor if op.antialias and axis.factor < 1 else 1.0
    reach = stretched * (1 if op.mode is ResizeMode.LINEAR else 2)
    if op.mode is ResizeMode.LINEAR and not op.antialias:
        indices = np.clip(indices, 0, axis.size - 1)
    first = np.floor(indices - reach).astype(np.int64)
    steps = np.arange(int(np.ceil(2 * reach)) + 2)
    neighbours = first[:, None] + steps[None, :]
    distances = (neighbours - indices[:, None]) / stretched
    weights = _triangle(distances) if op.mode is ResizeMode.LINEAR else _cubic(distances, op.cubic_coeff_a)
    inside = (neighbours >= 0) & (neighbours < axis.size)
    if op.exclude_outside:
        weights = np.where(inside, weights, 0.0)
    if op.exclude_outside or op.antialias:
        weights = weights / weights.sum(axis=1, keepdims=True)
    result = np.zeros((axis.wanted, axis.size))
    rows = np.broadcast_to(np.arange(axis.wanted)[:, None], neighbours.shape)
    np.add.at(result, (rows, np.clip(neighbours, 0, axis.size - 1)), weights)
    result[outside(axis, op.coordinates)] = 0.0
    return result


def _triangle(distances: Array) -> Array:
    result: Array = np.clip(1 - np.abs(distances), 0, 1)
    return result


def _cubic(distances: Array, a: float) -> Array:
    """Keys' cubic convolution kernel. Source: https://en.wikipedia.org/wiki/Bicubic_interpolation."""
    x = np.abs(distances)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    result: Array = np.where(x <= 1, near, np.where(x < 2, far, 0.0))
    return result
