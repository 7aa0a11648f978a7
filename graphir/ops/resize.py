"""Resizing and sampling of spatial axes."""

from __future__ import annotations

import enum
import math
import struct
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from graphir.errors import ShapeError
from graphir.types import UNKNOWN, Dim, DType, Shape, TensorType, Unknown, format_shape, unify_dim

from .base import Operand, Operator, Values, elements_of, normalize_axis, operator, refine, same_rank
from .dtypes import COMMON, FLOAT32, FLOATS, INT64
from .steps import of_grid, of_resize
from .traits import COORDINATES, Rounding
from .work import ONLY_MACS, Counted

LARGEST_FLOAT32 = 3.4028234e38
MAX_DENOMINATOR = 64
CHECKED = 4096


class ResizeMode(enum.Enum):
    """The interpolation between samples."""

    NEAREST = "nearest"
    LINEAR = "linear"
    CUBIC = "cubic"


class Coordinates(enum.Enum):
    """The mapping from an output index to a position of the input. The names are ONNX's."""

    HALF_PIXEL = "half_pixel"
    HALF_PIXEL_SYMMETRIC = "half_pixel_symmetric"
    PYTORCH_HALF_PIXEL = "pytorch_half_pixel"
    ALIGN_CORNERS = "align_corners"
    ASYMMETRIC = "asymmetric"
    TF_CROP_AND_RESIZE = "tf_crop_and_resize"


class NearestMode(enum.Enum):
    """The rounding that selects the nearest neighbour."""

    ROUND_PREFER_FLOOR = "round_prefer_floor"
    ROUND_PREFER_CEIL = "round_prefer_ceil"
    FLOOR = "floor"
    CEIL = "ceil"


class AspectPolicy(enum.Enum):
    """The meaning of `sizes`: exact sizes, or bounds that keep the aspect ratio."""

    STRETCH = "stretch"
    NOT_LARGER = "not_larger"
    NOT_SMALLER = "not_smaller"


@operator
class Resize(Operator):
    """X resampled along `axes` (empty: all) to the int64 vector `sizes`, or by factors.

    Constant factors are the attribute `factors`, from which shapes follow; computed factors are the operand
    `scales`. The output has `floor(size * factor)` elements on an axis. `roi` is for TF_CROP_AND_RESIZE only.
    Source: ONNX Resize-19.
    """

    inputs = ("X", "roi?", "scales?", "sizes?")
    takes = (COMMON, FLOATS - {DType.BFLOAT16}, FLOAT32, INT64)
    reads = frozenset({2, 3})
    rounding = Rounding.PLACES
    work = Counted(of_resize, "how many samples an element is made of depends on the sizes")
    mode: ResizeMode = ResizeMode.NEAREST
    coordinates: Coordinates = Coordinates.HALF_PIXEL
    nearest_mode: NearestMode = NearestMode.ROUND_PREFER_FLOOR
    factors: tuple[float, ...] = ()
    axes: tuple[int, ...] = ()
    antialias: bool = False
    cubic_coeff_a: float = -0.75
    exclude_outside: bool = False
    extrapolation_value: float = 0.0
    keep_aspect_ratio_policy: AspectPolicy = AspectPolicy.STRETCH

    def infer(
        self,
        x: TensorType,
        roi: Operand = None,
        scales: Operand = None,
        sizes: Operand = None,
        *,
        values: Values,
    ) -> TensorType:
        if sum((bool(self.factors), scales is not None, sizes is not None)) != 1:
            raise ShapeError("exactly one of factors, scales and sizes must be given")
        for operand, what in ((roi, "roi"), (scales, "scales"), (sizes, "sizes")):
            if operand is not None:
                same_rank(operand, 1, what)
        if x.shape is None:
            return x
        rank = len(x.shape)
        axes = [normalize_axis(axis, rank) for axis in self.axes or range(rank)]
        known = [elements_of(values, slot) for slot in (2, 3)]
        factors = self.factors or (() if known[0] is None else known[0].elements)
        wanted = None if known[1] is None else known[1].dims()
        for given in (factors, wanted):
            if given and len(given) != len(axes):
                raise ShapeError(f"{len(given)} sizes or factors for {len(axes)} axes of {format_shape(x.shape)}")
        if roi is not None and roi.shape:
            unify_dim(roi.shape[0], 2 * len(axes))
        dims = list(x.shape)
        if wanted is not None and self.keep_aspect_ratio_policy is not AspectPolicy.STRETCH:
            wanted = _in_proportion([dims[axis] for axis in axes], wanted, self.keep_aspect_ratio_policy)
        for index, axis in enumerate(axes):
            if factors:
                factor = factors[index]
                dims[axis] = scaled(dims[axis], factor) if isinstance(factor, int | float) else UNKNOWN
            else:
                dims[axis] = UNKNOWN if wanted is None else wanted[index]
        return TensorType(x.dtype, tuple(dims))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        shape = results[0].shape
        wanted: Shape | None = None
        if shape is not None:
            axes = [normalize_axis(axis, len(shape)) for axis in self.axes or range(len(shape))]
            changed = {
                axis for index, axis in enumerate(axes) if not (self.factors and self.factors[index] == 1)
            }
            wanted = tuple([UNKNOWN if axis in changed else dim for axis, dim in enumerate(shape)])
        return (refine(operands[0], wanted, results[0].dtype), *operands[1:])


def scaled(size: Dim, factor: float) -> Dim:
    """Return `floor(size * factor)`; for a number, in float32 as runtimes compute it.

    Raises ShapeError for a factor that is not positive or not a float32 number.

    >>> scaled(5, 1.5), scaled(7, 2.0)
    (7, 14)
    """
    if not 0 < factor <= LARGEST_FLOAT32:
        raise ShapeError(f"the factor {factor} makes no size of {size}, expected a positive number")
    if factor == 1 or isinstance(size, Unknown):
        return size
    if isinstance(size, int):
        if factor * size > LARGEST_FLOAT32:
            raise ShapeError(f"the size {size} times {factor} is no size")
        return int(_float32(_float32(factor) * size))
    ratio = _exact_ratio(factor)
    return UNKNOWN if ratio is None else size * ratio.numerator // ratio.denominator


@lru_cache
def _exact_ratio(factor: float) -> Fraction | None:
    """Return the fraction that equals the factor in float32 for all sizes up to 4096, None if there is none."""
    ratio = Fraction(factor).limit_denominator(MAX_DENOMINATOR)
    single = _float32(factor)
    fits = all(
        int(_float32(single * size)) == size * ratio.numerator // ratio.denominator for size in range(1, CHECKED + 1)
    )
    return ratio if fits else None


def _in_proportion(sizes: Sequence[Dim], wanted: Sequence[Dim], policy: AspectPolicy) -> tuple[Dim, ...]:
    """Return the sizes scaled by one factor: the smallest (or largest) that reaches one of the bounds.

    The product is float32 and rounded half up, as runtimes compute it.

    >>> _in_proportion((2, 4), (7, 8), AspectPolicy.NOT_LARGER)
    (4, 8)
    """
    pairs = [
        (size, bound)
        for size, bound in zip(sizes, wanted, strict=True)
        if isinstance(size, int) and isinstance(bound, int) and size > 0
    ]
    if len(pairs) < len(sizes) or not pairs:
        return (UNKNOWN,) * len(sizes)
    factors = [_float32(bound / size) for size, bound in pairs]
    factor = min(factors) if policy is AspectPolicy.NOT_LARGER else max(factors)
    return tuple([math.floor(_float32(factor * size) + 0.5) for size, _ in pairs])


def _float32(number: float) -> float:
    rounded: float = struct.unpack("f", struct.pack("f", number))[0]
    return rounded


class SampleMode(enum.Enum):
    """The interpolation of GridSample between samples."""

    LINEAR = "linear"
    NEAREST = "nearest"
    CUBIC = "cubic"


class SamplePadding(enum.Enum):
    """The values that GridSample reads outside of X."""

    ZEROS = "zeros"
    BORDER = "border"
    REFLECTION = "reflection"


@operator
class GridSample(Operator):
    """X (N, C, D...) read at the positions of grid (N, D_out..., number of D), of which the last axis is x, y(, z).

    -1 and 1 are the outer elements' centres with `align_corners`, else their outer edges.
    Source: ONNX GridSample-22.
    """

    inputs = ("X", "grid")
    takes = (COMMON, FLOATS)
    rounding, stays_wide = Rounding.ROUNDS, COORDINATES
    work = Counted(of_grid)
    mode: SampleMode = SampleMode.LINEAR
    padding_mode: SamplePadding = SamplePadding.ZEROS
    align_corners: bool = False

    def infer(self, x: TensorType, grid: TensorType) -> TensorType:
        rank = x.rank if x.rank is not None else grid.rank
        if rank is None:
            return TensorType(x.dtype, None)
        data = same_rank(x, rank, "X") or (UNKNOWN,) * rank
        sizes = same_rank(grid, rank, "grid") or (UNKNOWN,) * rank
        if rank < 3 or (isinstance(sizes[-1], int) and sizes[-1] != rank - 2):
            raise ShapeError(
                f"grid {format_shape(grid.shape)} does not fit X {format_shape(x.shape)}: its last axis must have "
                f"{rank - 2} elements"
            )
        left, right = data[0], sizes[0]
        if isinstance(left, int) and isinstance(right, int) and left != right:
            raise ShapeError(f"batch {left} of X {x} differs from {right} of grid {grid}")
        batch = left if isinstance(left, int) or isinstance(right, Unknown) else right
        return TensorType(x.dtype, (batch, data[1], *sizes[1:-1]))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        shape = results[0].shape
        if shape is None:
            return (refine(operands[0], None, results[0].dtype), operands[1])
        spatial = len(shape) - 2
        return (
            refine(operands[0], (*shape[:2], *(UNKNOWN,) * spatial), results[0].dtype),
            refine(operands[1], (shape[0], *shape[2:], spatial)),
        )


@operator
class AffineGrid(Operator):
    """The grid (N, D..., number of D) for GridSample that the matrices theta (N, D, D + 1) make of regular positions.

    `size` is the int64 vector (N, C, D...) of the image that the grid is for. Source: ONNX AffineGrid-20.
    """

    inputs = ("theta", "size")
    outputs = ("grid",)
    takes = (FLOATS, INT64)
    reads = frozenset({1})
    rounding, stays_wide = Rounding.ROUNDS, COORDINATES
    work = ONLY_MACS
    align_corners: bool = False

    def infer(self, theta: TensorType, size: TensorType, *, values: Values) -> TensorType:
        same_rank(theta, 3, "theta")
        wanted = values[1]
        if wanted is None:
            count = size.shape[0] if size.shape else UNKNOWN
            batch = UNKNOWN if theta.shape is None else theta.shape[0]
            dims = (batch, *(UNKNOWN,) * (count - 2), count - 2) if isinstance(count, int) else None
            return TensorType(theta.dtype, dims)
        dims = wanted.dims()
        if len(dims) not in (4, 5):
            raise ShapeError(f"size {list(dims)} has {len(dims)} entries, expected 4 or 5")
        return TensorType(theta.dtype, (dims[0], *dims[2:], len(dims) - 2))

    def macs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> Dim:
        """Return a row of theta for each number of the grid."""
        shape = results[0].shape
        return UNKNOWN if shape is None else results[0].elements() * (shape[-1] + 1)


def factors_of_axes(factors: Sequence[float], axes: Sequence[int], rank: int) -> tuple[float, ...]:
    """Return a factor for each of `rank` axes, 1 where none is given."""
    result = [1.0] * rank
    for index, axis in enumerate(axes or range(rank)):
        result[normalize_axis(axis, rank)] = factors[index]
    return tuple(result)


OPERATORS = (Resize, GridSample, AffineGrid)
