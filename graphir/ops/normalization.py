"""Normalizations over tensors (batch, channels, spatial...), at inference."""

from __future__ import annotations

from typing import ClassVar

from graphir.errors import ShapeError
from graphir.types import UNKNOWN, Dim, DType, Shape, TensorType, format_shape, unify_dim

from .base import Operand, Operator, like_result, normalize_axis, operator, refine, same_dtype
from .broadcasting import broadcast
from .dtypes import FLOATS, DTypes
from .steps import of_lrn
from .traits import Rounding
from .work import Counted, Each


class _Elementwise(Operator):
    """What the normalizations share: the first result has the type of the first operand."""

    rounding = Rounding.STATISTICS
    inputs: ClassVar[tuple[str, ...]] = ("X",)
    infer_inputs = like_result


def _float(x: TensorType) -> None:
    if x.dtype is not None and not x.dtype.is_float:
        raise ShapeError(f"X is {x.dtype}, expected a floating point dtype")


class _PerChannel(_Elementwise):
    """Normalizations whose further operands are vectors with one element for each channel of X (N, C, D...)."""

    takes: ClassVar[tuple[DTypes, ...]] = (FLOATS, FLOATS, FLOATS)
    least_axes: ClassVar[int] = 2
    one_dtype: ClassVar[bool] = True

    def _channels(self, x: TensorType, vectors: dict[str, Operand]) -> Dim:
        """Return the number of channels. Raises ShapeError where X or a vector does not fit."""
        _float(x)
        channels: Dim = UNKNOWN
        if x.shape is not None:
            if len(x.shape) < self.least_axes:
                raise ShapeError(f"X has the shape {format_shape(x.shape)}, expected at least {self.least_axes} axes")
            channels = x.shape[1]
        for name, vector in vectors.items():
            if vector is None or vector.shape is None:
                continue
            if len(vector.shape) != 1:
                raise ShapeError(f"{name} has the shape {format_shape(vector.shape)}, expected one axis of {channels}")
            try:
                channels = unify_dim(channels, vector.shape[0])
            except ShapeError:
                size = vector.shape[0]
                raise ShapeError(f"{name} has {size} elements, expected one for each of {channels} channels") from None
        return channels

    def _with_channels(self, x: TensorType, channels: Dim) -> TensorType:
        if x.shape is None or x.shape[1] == channels:
            return x
        return TensorType(x.dtype, (x.shape[0], channels, *x.shape[2:]))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        dtype = same_dtype(*operands, results[0]) if self.one_dtype else None
        x = refine(operands[0], results[0].shape, dtype or results[0].dtype)
        assert x is not None
        channels = self._channels(x, dict(zip(self.inputs[1:], operands[1:], strict=False)))
        return self._with_channels(x, channels), *(refine(vector, (channels,), dtype) for vector in operands[1:])


@operator
class BatchNormalization(_PerChannel):
    """(X - input_mean) / sqrt(input_var + epsilon) * scale + B for each channel of X (N, C, D...).

    The vectors (C,) may have another dtype than X. Only the inference mode; `momentum` is kept for those who train,
    and `fixed_statistics`, with which training neither uses nor changes those of its batches.
    Source: ONNX BatchNormalization-15.
    """

    inputs = ("X", "scale", "B", "input_mean", "input_var")
    takes = (FLOATS, FLOATS, FLOATS, FLOATS, FLOATS)
    one_dtype = False
    stays_wide = ""
    work = Each(2)  # a product and a sum: the statistics are constants
    epsilon: float = 1e-5
    momentum: float = 0.9
    fixed_statistics: bool = False

    def infer(
        self, x: TensorType, scale: TensorType, b: TensorType, mean: TensorType, variance: TensorType
    ) -> TensorType:
        vectors: dict[str, Operand] = {"scale": scale, "B": b, "input_mean": mean, "input_var": variance}
        same_dtype(scale, b)
        same_dtype(mean, variance)
        return self._with_channels(x, self._channels(x, vectors))


@operator
class InstanceNormalization(_PerChannel):
    """(X - mean) / sqrt(variance + epsilon) * scale + B, from the statistics of each sample's channels.

    X is (N, C, D...) with at least one spatial axis, scale and B are (C,). Source: ONNX InstanceNormalization-22.
    """

    inputs = ("X", "scale", "B")
    least_axes = 3
    work = Each(7)
    epsilon: float = 1e-5

    def infer(self, x: TensorType, scale: TensorType, b: TensorType) -> TensorType:
        dtype = same_dtype(x, scale, b)
        result = self._with_channels(x, self._channels(x, {"scale": scale, "B": b}))
        return TensorType(dtype, result.shape)


@operator
class GroupNormalization(_PerChannel):
    """(X - mean) / sqrt(variance + epsilon) * scale + bias, from the statistics of each sample's groups of channels.

    X is (N, C, D...), scale and bias are (C,), a group is C / num_groups neighbouring channels. `stash_type` is the
    dtype that statistics are computed in. Source: ONNX GroupNormalization-21.
    """

    inputs = ("X", "scale", "bias")
    work = Each(7)
    num_groups: int
    epsilon: float = 1e-5
    stash_type: DType = DType.FLOAT32

    def check_attributes(self) -> None:
        self.demand(self.num_groups >= 1, "num_groups", "1 or more")

    def infer(self, x: TensorType, scale: TensorType, bias: TensorType) -> TensorType:
        dtype = same_dtype(x, scale, bias)
        channels = self._channels(x, {"scale": scale, "bias": bias})
        if isinstance(channels, int) and channels % self.num_groups:
            raise ShapeError(f"{channels} channels cannot be divided into {self.num_groups} groups")
        return TensorType(dtype, self._with_channels(x, channels).shape)


def _trailing_shapes(x: TensorType, axis: int) -> tuple[Shape | None, Shape | None]:
    """X's axes from `axis` on, and X's shape with these reduced to 1."""
    if x.shape is None:
        return None, None
    first = normalize_axis(axis, len(x.shape))
    return x.shape[first:], (*x.shape[:first], *(1,) * (len(x.shape) - first))


def _fits(name: str, operand: Operand, x: TensorType) -> None:
    """Raise ShapeError unless the operand broadcasts to X's shape and does not extend it."""
    if operand is None or operand.shape is None or x.shape is None:
        return
    shape = broadcast(x.shape, operand.shape)
    assert shape is not None
    pairs = zip(x.shape, shape, strict=False)
    grown = any(isinstance(size, int) and isinstance(wide, int) and size != wide for size, wide in pairs)
    if len(shape) != len(x.shape) or grown:
        raise ShapeError(f"{name} {format_shape(operand.shape)} does not broadcast to X {format_shape(x.shape)}")


def _if_absent(operand: Operand, shape: Shape | None, dtype: DType | None) -> Operand:
    """Return the operand's type; its shape is `shape` where nothing is known of it, as it may also broadcast."""
    if operand is None:
        return None
    return refine(operand, shape if operand.shape is None else None, dtype)


@operator
class LayerNormalization(_Elementwise):
    """(X - mean) / sqrt(variance + epsilon) * Scale + B, from the statistics over the axes from `axis` to the last.

    Scale and B broadcast to X. Further results are the mean and 1 / sqrt(variance + epsilon), the axes kept as 1, both
    in `stash_type`, in which the statistics are computed. Source: ONNX LayerNormalization-17.
    """

    inputs = ("X", "Scale", "B?")
    outputs = ("Y", "Mean", "InvStdDev")
    takes = (FLOATS, FLOATS, FLOATS)
    work = Each(7)
    axis: int = -1
    epsilon: float = 1e-5
    stash_type: DType = DType.FLOAT32

    def infer(self, x: TensorType, scale: TensorType, b: Operand = None) -> tuple[TensorType, ...]:
        _float(x)
        dtype = same_dtype(x, scale, b)
        _, reduced = _trailing_shapes(x, self.axis)
        _fits("Scale", scale, x)
        _fits("B", b, x)
        statistic = TensorType(self.stash_type, reduced)
        return TensorType(dtype, x.shape), statistic, statistic

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        dtype = same_dtype(*operands, results[0])
        x = refine(operands[0], results[0].shape, dtype)
        assert x is not None
        trailing, _ = _trailing_shapes(x, self.axis)
        return x, *(_if_absent(operand, trailing, dtype) for operand in operands[1:])


@operator
class RMSNormalization(_Elementwise):
    """X / sqrt(mean of X^2 + epsilon) * scale, the mean over the axes from `axis` to the last.

    The scale broadcasts to X; `stash_type` is the dtype that the mean is computed in. Source: ONNX RMSNormalization-23.
    """

    inputs = ("X", "scale")
    takes = (FLOATS, FLOATS)
    work = Each(4)
    axis: int = -1
    epsilon: float = 1e-5
    stash_type: DType = DType.FLOAT32

    def infer(self, x: TensorType, scale: TensorType) -> TensorType:
        _float(x)
        dtype = same_dtype(x, scale)
        _trailing_shapes(x, self.axis)
        _fits("scale", scale, x)
        return TensorType(dtype, x.shape)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        dtype = same_dtype(*operands, results[0])
        x = refine(operands[0], results[0].shape, dtype)
        assert x is not None
        return x, _if_absent(operands[1], _trailing_shapes(x, self.axis)[0], dtype)


@operator
class LRN(_Elementwise):
    """X / (bias + alpha / size * sum of X^2) ^ beta, the sum over `size` channels of X (N, C, D...) around each one.

    The channels are floor((size - 1) / 2) before to ceil((size - 1) / 2) behind. Source: ONNX LRN-13.
    """

    takes = (FLOATS,)
    work = Counted(of_lrn)
    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    bias: float = 1.0

    def check_attributes(self) -> None:
        self.demand(self.size >= 1, "size", "at least 1")

    def infer(self, x: TensorType) -> TensorType:
        _float(x)
        if x.shape is not None and len(x.shape) < 2:
            raise ShapeError(f"X has the shape {format_shape(x.shape)}, expected at least 2 axes")
        return x


@operator
class LpNormalization(_Elementwise):
    """X divided by its p-norm along `axis`; p is 1 or 2. Source: ONNX LpNormalization-22."""

    takes = (FLOATS,)
    work = Each(3)
    axis: int = -1
    p: int = 2

    def check_attributes(self) -> None:
        self.demand(self.p in (1, 2), "p", "1 or 2")

    def infer(self, x: TensorType) -> TensorType:
        _float(x)
        if x.shape is not None:
            normalize_axis(self.axis, len(x.shape))
        return x


@operator
class MeanVarianceNormalization(_Elementwise):
    """(X - mean) / sqrt(variance), both over `axes`. Source: ONNX MeanVarianceNormalization-13."""

    takes = (FLOATS,)
    work = Each(5)
    axes: tuple[int, ...] = (0, 2, 3)

    def infer(self, x: TensorType) -> TensorType:
        _float(x)
        if x.shape is not None:
            for axis in self.axes:
                normalize_axis(axis, len(x.shape))
        return x


OPERATORS = (
    *(BatchNormalization, InstanceNormalization, GroupNormalization, LayerNormalization, RMSNormalization, LRN),
    *(LpNormalization, MeanVarianceNormalization),
)
