"""Convolutions over channel-first tensors: (batch, channels, spatial...), 1-D to 3-D and beyond."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from graphir.errors import ShapeError
from graphir.padding import Explicit, Padding, check_window, data_sizes, resolve, window_size
from graphir.types import UNKNOWN, Dim, Shape, TensorType, ceildiv, format_shape, product, unify_dim, unify_shape

from .base import Operand, family, operator, refine, same_dtype
from .dtypes import FLOATS
from .steps import of_bias, of_deformed
from .traits import COORDINATES, Rounding
from .windows import Windowed
from .work import Counted


def _spatial(name: str, values: tuple[int, ...], rank: int, default: int) -> tuple[int, ...]:
    """Return one value for each spatial axis; an empty tuple means the default on all. Raises ShapeError."""
    if not values:
        return (default,) * rank
    if len(values) != rank:
        raise ShapeError(f"{name} has {len(values)} entries, expected one for each of {rank} spatial axes")
    return values


def _kernel(stated: tuple[int, ...], weight: Shape | None) -> tuple[Dim, ...] | None:
    """Return the kernel's spatial shape, from the attribute and the weight's shape. Raises ShapeError if they
    differ."""
    if weight is None:
        return stated or None
    if len(weight) < 3:
        expected = "two axes of channels and at least one spatial axis"
        raise ShapeError(f"W has the shape {format_shape(weight)}, expected {expected}")
    if not stated:
        return weight[2:]
    if len(stated) != len(weight) - 2:
        raise ShapeError(f"W has the shape {format_shape(weight)}, expected {len(stated)} spatial axes")
    try:
        return tuple(map(unify_dim, stated, weight[2:]))
    except ShapeError:
        raise ShapeError(f"W has the shape {format_shape(weight)}, expected the kernel {list(stated)}") from None


@family
class _Convolution(Windowed):
    """What convolutions share with their transposes: X with W, plus B if given, whose types tell each other's.

    `reads_rows` says that W's first axis is that of X's channels, not that of the filters.
    """

    inputs = ("X", "W", "B?")
    takes = (FLOATS, FLOATS, FLOATS)
    rounding = Rounding.PRODUCTS
    work = Counted(of_bias)
    reads_rows: ClassVar[bool] = False
    kernel_shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    dilations: tuple[int, ...] = ()
    padding: Padding = Explicit()
    group: int = 1

    @abstractmethod
    def data_sizes(self, sizes: Shape, kernel: tuple[Dim, ...]) -> tuple[Dim, ...]:
        """Return the spatial sizes of X that give these, where they follow. Raises ShapeError where none does."""

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        x, w = operands[0], operands[1]
        assert x is not None
        assert w is not None
        result = results[0]
        dtype = same_dtype(*operands, result)
        rank = len(self.kernel_shape) or (len(w.shape) - 2 if w.shape else None)
        if rank is None and x.shape is not None:
            rank = len(x.shape) - 2
        if rank is None:
            return tuple(refine(operand, None, dtype) for operand in operands)
        channels = x.shape[1] if x.shape is not None else UNKNOWN
        batch, filters = result.shape[:2] if result.shape is not None else (UNKNOWN, UNKNOWN)
        if w.shape is not None and self.reads_rows:
            channels = unify_dim(channels, w.shape[0])
        elif w.shape is not None:
            filters = unify_dim(filters, w.shape[0])
            channels = unify_dim(channels, w.shape[1] * self.group)
        kernel = self.kernel_shape or (w.shape[2:] if w.shape is not None else (UNKNOWN,) * rank)
        sizes: Shape = (UNKNOWN,) * rank
        if result.shape is not None and len(result.shape) == rank + 2:
            sizes = self.data_sizes(result.shape[2:], kernel)
        rows, columns = (channels, filters) if self.reads_rows else (filters, channels)
        wanted = [
            refine(x, (batch, channels, *sizes), dtype),
            refine(w, (rows, columns // self.group, *kernel), dtype),
        ]
        return (*wanted, *(refine(bias, (filters,), dtype) for bias in operands[2:]))


@operator
class Conv(_Convolution):
    """Convolution (cross-correlation) of X (N, C, D...) with W (M, C/group, K...), plus B (M) if given.

    Output: (N, M, windows...), where an axis has `(D + before + after - ((K-1)*dilation + 1)) // stride + 1` windows,
    or `ceil(D / stride)` under SAME. `kernel_shape` may be left empty if W's shape is known. Empty `strides` and
    `dilations` mean 1, an empty explicit padding 0. Source: ONNX Conv-22.
    """

    def infer(self, x: TensorType, w: TensorType, b: Operand = None) -> TensorType:
        dtype = same_dtype(x, w, b)
        kernel = _kernel(self.kernel_shape, w.shape)
        if kernel is None or (x.shape is None and w.shape is None):
            return TensorType(dtype, None)
        rank = len(kernel)
        if x.shape is None:
            return TensorType(dtype, (UNKNOWN, w.shape[0] if w.shape else UNKNOWN, *(UNKNOWN,) * rank))
        if len(x.shape) != rank + 2:
            raise ShapeError(f"X has the shape {format_shape(x.shape)}, expected {rank + 2} axes")
        filters: Dim = UNKNOWN
        if w.shape is not None:
            filters = w.shape[0]
            self._check_channels(x.shape[1], w.shape)
        if b is not None and b.shape is not None:
            if len(b.shape) != 1:
                raise ShapeError(f"B has the shape {format_shape(b.shape)}, expected one axis of {filters}")
            filters = unify_dim(filters, b.shape[0])
        return TensorType(dtype, (x.shape[0], filters, *self.windows(x.shape[2:], kernel)))

    def shape_of(self, *operands: Operand) -> Shape | None:
        """Return the result's shape, whatever the dtypes of the operands. Raises ShapeError."""
        plain = (operand if operand is None else TensorType(None, operand.shape) for operand in operands)
        return self.infer(*plain).shape  # type: ignore[arg-type]

    def _check_channels(self, channels: Dim, weight: Shape) -> None:
        expected = weight[1] * self.group
        if isinstance(channels, int) and isinstance(expected, int) and channels != expected:
            raise ShapeError(
                f"X has {channels} channels, but W {format_shape(weight)} in {self.group} group(s) takes {expected}"
            )
        if isinstance(weight[0], int) and weight[0] % self.group:
            raise ShapeError(f"{weight[0]} filters cannot be divided into {self.group} groups")

    def windows(self, sizes: Shape, kernel: tuple[Dim, ...]) -> tuple[Dim, ...]:
        """Return the output's spatial sizes. Raises ShapeError where no window fits."""
        rank = len(sizes)
        strides = _spatial("strides", self.strides, rank, 1)
        dilations = _spatial("dilations", self.dilations, rank, 1)
        if not isinstance(self.padding, Explicit):
            for width, stride, dilation in zip(kernel, strides, dilations, strict=True):
                check_window(width, stride, dilation)
            return tuple(map(ceildiv, sizes, strides))
        pads = self.padding.pads or ((0, 0),) * rank
        if len(pads) != rank:
            raise ShapeError(f"padding has {len(pads)} pairs, expected one for each of {rank} spatial axes")
        counts = []
        for size, width, stride, dilation, pair in zip(sizes, kernel, strides, dilations, pads, strict=True):
            if isinstance(width, int):
                windows = window_size(size, width, stride, dilation, pair)
            else:
                windows = (size + sum(pair) - (width - 1) * dilation - 1) // stride + 1
            if isinstance(windows, int) and windows < 1:
                raise ShapeError(
                    f"no window fits: size {size}, kernel {width}, dilation {dilation}, padding {pair}"
                )
            counts.append(windows)
        return tuple(counts)

    def data_sizes(self, sizes: Shape, kernel: tuple[Dim, ...]) -> tuple[Dim, ...]:
        return data_sizes(sizes, kernel, self.strides, self.dilations, self.padding)

    def macs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> Dim:
        w = operands[1]
        if w is None or w.shape is None or results[0].shape is None:
            return UNKNOWN
        return product(results[0].shape) * product(w.shape[1:])

    def resolved(self, sizes: Shape, kernel: tuple[int, ...]) -> Explicit | None:
        """Return the padding as numbers for these spatial sizes; None where SAME needs a size that is not known."""
        rank = len(kernel)
        return resolve(
            self.padding,
            sizes,
            kernel,
            _spatial("strides", self.strides, rank, 1),
            _spatial("dilations", self.dilations, rank, 1),
        )


@operator
class ConvTranspose(_Convolution):
    """Transposed convolution of X (N, C, D...) with W (C, M/group, K...), plus B (M) if given.

    An axis of the output has `stride * (D - 1) + output_padding + (K-1)*dilation + 1 - before - after` elements; a
    given `output_shape` (spatial axes only) fixes it, and the padding follows from it. Source: ONNX ConvTranspose-22.
    """

    reads_rows = True
    output_padding: tuple[int, ...] = ()
    output_shape: tuple[int, ...] = ()
    spatial = (*Windowed.spatial, "output_shape")

    def check_attributes(self) -> None:
        super().check_attributes()
        rank = max(len(self.kernel_shape), len(self.strides), len(self.dilations), len(self.output_shape))
        extra = self.output_padding
        fits = not rank or len(extra) == rank
        good = not extra or (fits and min(extra) >= 0)
        self.demand(good, "output_padding", "one entry of 0 or more for each spatial axis")

    def infer(self, x: TensorType, w: TensorType, b: Operand = None) -> TensorType:
        dtype = same_dtype(x, w, b)
        kernel = _kernel(self.kernel_shape, w.shape)
        if kernel is None or (x.shape is None and w.shape is None):
            return TensorType(dtype, None)
        rank = len(kernel)
        filters: Dim = w.shape[1] * self.group if w.shape is not None else UNKNOWN
        if b is not None and b.shape is not None and len(b.shape) == 1:
            filters = unify_dim(filters, b.shape[0])
        if x.shape is None:
            return TensorType(dtype, (UNKNOWN, filters, *(UNKNOWN,) * rank))
        if len(x.shape) != rank + 2:
            raise ShapeError(f"X has the shape {format_shape(x.shape)}, expected {rank + 2} axes")
        if w.shape is not None:
            try:
                unify_dim(x.shape[1], w.shape[0])
            except ShapeError:
                raise ShapeError(
                    f"X has {x.shape[1]} channels, but W {format_shape(w.shape)} takes {w.shape[0]}"
                ) from None
        return TensorType(dtype, (x.shape[0], filters, *self._sizes(x.shape[2:], kernel)))

    def _sizes(self, sizes: Shape, kernel: tuple[Dim, ...]) -> tuple[Dim, ...]:
        rank = len(sizes)
        for field, default in (("strides", 1), ("dilations", 1), ("output_padding", 0)):
            _spatial(field, getattr(self, field), rank, default)
        if self.output_shape:
            return _spatial("output_shape", self.output_shape, rank, 1)
        if not isinstance(self.padding, Explicit):
            strides = _spatial("strides", self.strides, rank, 1)
            return tuple(size * stride for size, stride in zip(sizes, strides, strict=True))
        results = []
        for axis, size in enumerate(sizes):
            whole = self._size(axis, size, kernel)
            if isinstance(whole, int) and whole < 1:
                raise ShapeError(f"nothing is left of spatial axis {axis}: the output would have {whole} elements")
            results.append(whole)
        return tuple(results)

    def _size(self, axis: int, size: Dim, kernel: tuple[Dim, ...]) -> Dim:
        """Return the output's size on a spatial axis under explicit padding, which may be below 1. Raises
        ShapeError."""
        rank = len(kernel)
        assert isinstance(self.padding, Explicit)
        pads = self.padding.pads or ((0, 0),) * rank
        if len(pads) != rank:
            raise ShapeError(f"padding has {len(pads)} pairs, expected one for each of {rank} spatial axes")
        stride = _spatial("strides", self.strides, rank, 1)[axis]
        extra = _spatial("output_padding", self.output_padding, rank, 0)[axis]
        spread = (kernel[axis] - 1) * _spatial("dilations", self.dilations, rank, 1)[axis] + 1
        return (size - 1) * stride + extra + spread - sum(pads[axis])

    def data_sizes(self, sizes: Shape, kernel: tuple[Dim, ...]) -> tuple[Dim, ...]:
        rank = len(sizes)
        if self.output_shape or not isinstance(self.padding, Explicit):
            return (UNKNOWN,) * rank
        results: list[Dim] = []
        for axis, size in enumerate(sizes):
            stride = _spatial("strides", self.strides, rank, 1)[axis]
            steps = size - self._size(axis, 1, kernel)
            if isinstance(steps, int) and (steps < -stride or steps % stride):
                raise ShapeError(f"no size of spatial axis {axis} gives {size} with the stride {stride}")
            results.append(steps // stride + 1 if isinstance(steps, int) or stride == 1 else UNKNOWN)
        return tuple(results)

    def macs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> Dim:
        x, w = operands[0], operands[1]
        if x is None or w is None or w.shape is None or x.shape is None:
            return UNKNOWN
        return product(x.shape) * product(w.shape[1:])


@operator
class DeformConv(Windowed):
    """Conv whose kernels look at places that are moved by `offset`, between elements by bilinear interpolation.

    X (N, C, D...), W (M, C/group, K...), B (M), and for each window and each element of the kernel `offset` (N,
    offset_group * product of K * axes, windows...), in units of elements, and a factor in `mask` (N, offset_group *
    product of K, windows...).
    Channels are divided into `offset_group` groups that move together. Source: ONNX DeformConv-22.
    """

    inputs = ("X", "W", "offset", "B?", "mask?")
    takes = (FLOATS, FLOATS, FLOATS, FLOATS, FLOATS)
    rounding, stays_wide = Rounding.PRODUCTS, COORDINATES
    work = Counted(of_deformed)
    kernel_shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    dilations: tuple[int, ...] = ()
    padding: Explicit = Explicit()
    group: int = 1
    offset_group: int = 1

    def check_attributes(self) -> None:
        super().check_attributes()
        self.demand(self.offset_group >= 1, "offset_group", "1 or more")

    def infer(
        self, x: TensorType, w: TensorType, offset: TensorType, b: Operand = None, mask: Operand = None
    ) -> TensorType:
        dtype = same_dtype(x, w, offset, b, mask)
        shape = self.conv().shape_of(x, w, b)
        if shape is None:
            return TensorType(dtype, None)
        kernel = _kernel(self.kernel_shape, w.shape) or (UNKNOWN,) * (len(shape) - 2)
        count = product(kernel) * self.offset_group
        dims = self._per_window(shape, offset, count * len(kernel), "offset")
        if mask is not None:
            dims = self._per_window(dims, mask, count, "mask")
        return TensorType(dtype, dims)

    def conv(self) -> Conv:
        """Return the convolution with the same attributes whose kernels stay in place."""
        return Conv(self.kernel_shape, self.strides, self.dilations, self.padding, self.group)

    def _per_window(self, result: Shape, operand: TensorType, channels: Dim, name: str) -> Shape:
        """Return what is known of the result, given an operand with `channels` numbers for each window. Raises
        ShapeError."""
        expected = (result[0], channels, *result[2:])
        try:
            dims = unify_shape(expected, operand.shape)
        except ShapeError:
            raise ShapeError(
                f"{name} has the shape {format_shape(operand.shape)}, expected {format_shape(expected)}"
            ) from None
        assert dims is not None
        return (dims[0], result[1], *dims[2:])

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        x, w, offset, bias, mask = (*operands, None, None)[:5]
        dtype = same_dtype(*operands, results[0])
        types = self.conv().infer_inputs((x, w, bias), results)
        shape, weight = results[0].shape, types[1]
        moved = masked = None
        if shape is not None and weight is not None and weight.shape is not None:
            count = product(weight.shape[2:]) * self.offset_group
            moved = (shape[0], count * (len(shape) - 2), *shape[2:])
            masked = (shape[0], count, *shape[2:])
        wanted = (types[0], types[1], refine(offset, moved, dtype), types[2], refine(mask, masked, dtype))
        return wanted[: len(operands)]

    def macs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> Dim:
        return self.conv().macs(operands[:2], results)


OPERATORS = (Conv, ConvTranspose, DeformConv)
