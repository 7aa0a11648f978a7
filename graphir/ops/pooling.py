"""Pooling over the spatial axes of channel-first tensors: (batch, channels, spatial...)."""

from __future__ import annotations

from dataclasses import replace

from graphir.errors import ShapeError
from graphir.padding import Explicit, Padding, data_sizes, window_size
from graphir.types import UNKNOWN, Dim, DType, Shape, TensorType, ceildiv, format_shape, unify_shape

from .base import Operand, Operator, Values, family, operator, refine, same_dtype, same_rank
from .dtypes import BYTES, FLOATS, INT64
from .steps import of_average, of_largest, of_norm
from .traits import COORDINATES, ORDER_LOST, DecisionTrait, Rounding
from .windows import Windowed
from .work import Counted, EachRead, Open


@family
class _WindowPool(Windowed):
    """What the windowed poolings share: the shape rule."""

    inputs = ("X",)
    takes = (FLOATS,)
    kernel_shape: tuple[int, ...]
    strides: tuple[int, ...] = ()
    dilations: tuple[int, ...] = ()
    padding: Padding = Explicit()
    ceil_mode: bool = False

    def check_attributes(self) -> None:
        super().check_attributes()
        self.demand(bool(self.kernel_shape), "kernel_shape", "one entry for each spatial axis")

    def infer(self, x: TensorType) -> TensorType | tuple[TensorType, ...]:
        if x.shape is None:
            return TensorType(x.dtype, (UNKNOWN,) * (len(self.kernel_shape) + 2))
        if len(x.shape) != len(self.kernel_shape) + 2:
            raise ShapeError(
                f"X has the shape {format_shape(x.shape)}, expected {len(self.kernel_shape) + 2} axes for the kernel "
                f"{list(self.kernel_shape)}"
            )
        return TensorType(x.dtype, (*x.shape[:2], *self.windows(x.shape[2:])))

    def windows(self, sizes: Shape) -> tuple[Dim, ...]:
        """Return the output's spatial sizes. Raises ShapeError where no window fits."""
        rank = len(self.kernel_shape)
        strides = self.strides or (1,) * rank
        dilations = self.dilations or (1,) * rank
        if not isinstance(self.padding, Explicit):
            return tuple(map(ceildiv, sizes, strides))
        pads = self.padding.pads or ((0, 0),) * rank
        counts = []
        for axis, size in enumerate(sizes):
            width = self.kernel_shape[axis]
            windows = window_size(
                size, width, strides[axis], dilations[axis], pads[axis], ceil_mode=self.ceil_mode
            )
            if isinstance(windows, int) and windows < 1:
                raise ShapeError(f"no window fits on spatial axis {axis}: size {size}, kernel {width}, "
                                 f"padding {pads[axis]}")
            counts.append(windows)
        return tuple(counts)

    def rounds_up(self, sizes: Shape) -> bool:
        """Return whether ceil mode gives a window more than there would be without it. Raises ShapeError where none
        fits."""
        counts = self.windows(sizes)
        try:
            return counts != replace(self, ceil_mode=False).windows(sizes)
        except ShapeError:  # without it there is none at all
            return True

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        rank, shape = len(self.kernel_shape), results[0].shape
        if shape is None or len(shape) != rank + 2:
            return (refine(operands[0], (UNKNOWN,) * (rank + 2), results[0].dtype),)
        if self.ceil_mode:
            return (refine(operands[0], (*shape[:2], *(UNKNOWN,) * rank), results[0].dtype),)
        sizes = data_sizes(shape[2:], self.kernel_shape, self.strides, self.dilations, self.padding)
        return (refine(operands[0], (*shape[:2], *sizes), results[0].dtype),)


@operator
class MaxPool(_WindowPool):
    """The largest element of each window of X (N, C, D...). Padding counts as smaller than every number.

    The second result, where it is used, holds the flat index of each maximum in X (int64), in row-major order, or with
    `storage_order` 1 in column-major order of the spatial axes. Source: ONNX MaxPool-22.
    """

    outputs = ("Y", "Indices")
    takes = (FLOATS | BYTES,)
    rounding, decides, nonexpansive = Rounding.EXACT, DecisionTrait.LIMITS, True
    work = Counted(of_largest)
    storage_order: int = 0

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        pooled = super().infer(x)
        assert isinstance(pooled, TensorType)
        return pooled, TensorType(DType.INT64, pooled.shape)


@operator
class AveragePool(_WindowPool):
    """The mean of each window of X (N, C, D...).

    The divisor is the number of elements in the window that lie in the data, with `count_include_pad` also those in the
    stated padding (but never those that ceil mode adds behind it). Source: ONNX AveragePool-22.
    """

    rounding, stays_wide, nonexpansive = Rounding.SUMS, "", True
    work = Counted(of_average)
    count_include_pad: bool = False


@operator
class LpPool(_WindowPool):
    """The p-norm of each window of X (N, C, D...): `(sum |x|^p)^(1/p)`. Source: ONNX LpPool-22."""

    rounding = Rounding.SUMS
    work = Counted(of_norm)
    p: int = 2


class _GlobalPool(Operator):
    """What the global poolings share: each spatial axis shrinks to 1."""

    inputs = ("X",)
    takes = (FLOATS,)

    def infer(self, x: TensorType) -> TensorType:
        if x.shape is None:
            return x
        if len(x.shape) < 3:
            raise ShapeError(f"X has the shape {format_shape(x.shape)}, expected at least 3 axes")
        return TensorType(x.dtype, (*x.shape[:2], *(1,) * (len(x.shape) - 2)))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        shape = results[0].shape
        wanted = None if shape is None else (*shape[:2], *(UNKNOWN,) * (len(shape) - 2))
        return (refine(operands[0], wanted, same_dtype(*operands, results[0])),)


@operator
class GlobalMaxPool(_GlobalPool):
    """The largest element of each channel of X (N, C, D...). Source: ONNX GlobalMaxPool-22."""

    rounding, decides, nonexpansive = Rounding.EXACT, DecisionTrait.LIMITS, True
    work = EachRead()


@operator
class GlobalAveragePool(_GlobalPool):
    """The mean of each channel of X (N, C, D...). Source: ONNX GlobalAveragePool-22."""

    rounding, stays_wide, nonexpansive = Rounding.SUMS, "", True
    work = EachRead()


@operator
class GlobalLpPool(_GlobalPool):
    """The p-norm of each channel of X (N, C, D...). Source: ONNX GlobalLpPool-22."""

    rounding = Rounding.SUMS
    work = EachRead(2)
    p: int = 2


@operator
class MaxRoiPool(Operator):
    """The maximum of each of `pooled_shape` cells of each region of interest of X (N, C, H, W).

    `rois` (R, 5) holds batch index, x1, y1, x2, y2 in units that `spatial_scale` brings to X's; ends are included,
    scaled corners rounded. Result: (R, C, *pooled_shape). Source: ONNX MaxRoiPool-22.
    """

    inputs = ("X", "rois")
    takes = (FLOATS, FLOATS)
    rounding, decides, stays_wide = Rounding.EXACT, DecisionTrait.STEPS, COORDINATES
    work = Open("how many elements a cell has depends on the boxes")
    pooled_shape: tuple[int, ...]
    spatial_scale: float = 1.0

    def check_attributes(self) -> None:
        shape = self.pooled_shape
        self.demand(len(shape) == 2 and min(shape) >= 1, "pooled_shape", "two sizes of 1 or more")

    def infer(self, x: TensorType, rois: TensorType) -> TensorType:
        data = same_rank(x, 4, "X") or (UNKNOWN,) * 4
        regions = same_rank(rois, 2, "rois") or (UNKNOWN,) * 2
        if isinstance(regions[1], int) and regions[1] != 5:
            raise ShapeError(f"rois has the shape {format_shape(rois.shape)}, expected 5 columns")
        return TensorType(same_dtype(x, rois), (regions[0], data[1], *self.pooled_shape))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        dtype = same_dtype(*operands, results[0])
        shape = results[0].shape or (UNKNOWN,) * 4
        return (
            refine(operands[0], (UNKNOWN, shape[1], UNKNOWN, UNKNOWN), dtype),
            refine(operands[1], (shape[0], 5), dtype),
        )


@operator
class MaxUnpool(Windowed):
    """Zeros with the elements of X (N, C, D...) at the places that `I` states: flat indices as MaxPool gives them.

    The vector `output_shape` fixes the result's shape; without it an axis has `stride * (D - 1) + K - before - after`
    elements. Source: ONNX MaxUnpool-22.
    """

    inputs = ("X", "I", "output_shape?")
    takes = (FLOATS, INT64, INT64)
    reads = frozenset({2})
    rounding, stays_wide = Rounding.MOVES, ORDER_LOST
    kernel_shape: tuple[int, ...]
    strides: tuple[int, ...] = ()
    padding: Explicit = Explicit()

    def check_attributes(self) -> None:
        super().check_attributes()
        self.demand(bool(self.kernel_shape), "kernel_shape", "one entry for each spatial axis")

    def infer(
        self, x: TensorType, indices: TensorType, output_shape: Operand = None, *, values: Values
    ) -> TensorType:
        if indices.dtype not in (None, DType.INT64):
            raise ShapeError(f"I is {indices.dtype}, expected int64")
        rank = len(self.kernel_shape)
        shape = unify_shape(same_rank(x, rank + 2, "X"), same_rank(indices, rank + 2, "I"))
        if output_shape is not None:
            stated = values[2].dims() if values[2] is not None else (UNKNOWN,) * (rank + 2)
            if len(stated) != rank + 2:
                raise ShapeError(f"output_shape has {len(stated)} entries, expected {rank + 2}")
            return TensorType(x.dtype, stated)
        strides, pads = self.strides or (1,) * rank, self.padding.pads or ((0, 0),) * rank
        if shape is None:
            return TensorType(x.dtype, (UNKNOWN,) * (rank + 2))
        sizes = [
            (size - 1) * stride + width - sum(pair)
            for size, stride, width, pair in zip(shape[2:], strides, self.kernel_shape, pads, strict=True)
        ]
        return TensorType(x.dtype, (*shape[:2], *sizes))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        x, indices = operands[:2]
        shape = unify_shape(None if x is None else x.shape, None if indices is None else indices.shape)
        return (refine(x, shape, results[0].dtype), refine(indices, shape, DType.INT64), *operands[2:])


OPERATORS = (MaxPool, AveragePool, LpPool, GlobalMaxPool, GlobalAveragePool, GlobalLpPool, MaxRoiPool, MaxUnpool)
