"""Spectra of signals, and the windows and filters that go with them."""

from __future__ import annotations

from graphir.errors import ShapeError
from graphir.types import UNKNOWN, Dim, DType, Shape, TensorType, dim_max, format_shape

from .base import Operand, Operator, Values, family, normalize_axis, operator, refine, same_rank
from .dtypes import FLOATS, INDICES, INT64
from .steps import of_dft, of_stft
from .traits import ANGLES, Rounding
from .work import Counted, Each


def _size(values: Values, slot: int) -> Dim:
    """Return the element of a scalar operand, UNKNOWN if it is not known."""
    known = values[slot] if slot < len(values) else None
    return UNKNOWN if known is None else known.dims()[0]


@family
class Window(Operator):
    """A vector of `size` weights, a scalar operand; not `periodic`, it is the symmetric one."""

    inputs = ("size",)
    takes = (INDICES,)
    reads = frozenset({0})
    rounding, stays_wide = Rounding.ROUNDS, ANGLES
    work = Each(4)
    output_datatype: DType = DType.FLOAT32
    periodic: bool = True

    def infer(self, size: TensorType, *, values: Values) -> TensorType:
        if size.shape:
            raise ShapeError(f"size has the shape {format_shape(size.shape)}, expected a scalar")
        count = _size(values, 0)
        if isinstance(count, int) and count < 0:
            raise ShapeError(f"a window of {count} elements")
        return TensorType(self.output_datatype, (count,))


@operator
class HannWindow(Window):
    """0.5 - 0.5 cos(2 pi n / N) for n < `size`, where N is the size, less 1 if not `periodic`.

    Source: ONNX HannWindow-17.
    """


@operator
class HammingWindow(Window):
    """25/46 - 21/46 cos(2 pi n / N) for n < `size`, where N is the size, less 1 if not `periodic`.

    Source: ONNX HammingWindow-17.
    """


@operator
class BlackmanWindow(Window):
    """0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N) for n < `size`, where N is the size, less 1 if not `periodic`.

    Source: ONNX BlackmanWindow-17.
    """

    work = Each(7)


@operator
class MelWeightMatrix(Operator):
    """The weights (dft_length // 2 + 1, num_mel_bins) that turn a spectrum into one on the mel scale. All are scalars.

    Frequencies are in Hertz. Source: ONNX MelWeightMatrix-17.
    """

    inputs = ("num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz")
    takes = (INDICES, INDICES, INDICES, FLOATS, FLOATS)
    reads = frozenset({0, 1})
    rounding, stays_wide = Rounding.ROUNDS, ANGLES
    work = Each(4)
    output_datatype: DType = DType.FLOAT32

    def infer(self, *operands: TensorType, values: Values) -> TensorType:
        for name, operand in zip(self.inputs, operands, strict=True):
            if any(isinstance(size, int) and size != 1 for size in operand.shape or ()):
                raise ShapeError(f"{name} has the shape {format_shape(operand.shape)}, expected one element")
        return TensorType(self.output_datatype, (_size(values, 1) // 2 + 1, _size(values, 0)))


def _check_parts(shape: Shape, what: str) -> None:
    if isinstance(shape[-1], int) and shape[-1] not in (1, 2):
        raise ShapeError(f"{what} has the shape {format_shape(shape)}, expected 1 (real) or 2 (complex) behind")


@operator
class DFT(Operator):
    """The discrete Fourier transform along `axis` (a scalar, -2 if absent); the last axis holds real, imaginary part.

    The signal is cut or filled with zeros to `dft_length`. With `onesided` only the first half of a real signal's
    spectrum (n // 2 + 1 places) is given, or, if `inverse`, taken; that gives a real signal.
    Source: ONNX DFT-20.
    """

    inputs = ("input", "dft_length?", "axis?")
    outputs = ("output",)
    takes = (FLOATS, INDICES, INT64)
    reads = frozenset({1, 2})
    rounding = Rounding.SPECTRA
    work = Counted(of_dft)
    inverse: bool = False
    onesided: bool = False

    def infer(self, x: TensorType, length: Operand = None, axis: Operand = None, *, values: Values) -> TensorType:
        if x.shape is None:
            return TensorType(x.dtype, None)
        if len(x.shape) < 2:
            raise ShapeError(f"input has the shape {format_shape(x.shape)}, expected at least 2 axes")
        _check_parts(x.shape, "input")
        parts = 1 if self.inverse and self.onesided else 2
        stated = -2 if axis is None else _size(values, 2)
        if not isinstance(stated, int):
            same = length is None and not self.onesided
            return TensorType(x.dtype, (*(x.shape[:-1] if same else (UNKNOWN,) * (len(x.shape) - 1)), parts))
        index = normalize_axis(stated, len(x.shape))
        if index == len(x.shape) - 1:
            raise ShapeError(f"axis {stated} is the one of real and imaginary part")
        size = x.shape[index] if length is None else _size(values, 1)
        if self.onesided and self.inverse:
            size = (size - 1) * 2 if length is None else size
        elif self.onesided:
            size = size // 2 + 1
        return TensorType(x.dtype, (*x.shape[:index], size, *x.shape[index + 1 : -1], parts))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return (refine(operands[0], None, results[0].dtype), *operands[1:])


@operator
class STFT(Operator):
    """The spectra of windows of a signal (N, length, 1 or 2), one every `frame_step` (a scalar).

    A window has `frame_length` (a scalar) elements, or `window`'s, whose weights it is multiplied with. Result:
    (N, windows, places, 2); `onesided` gives frame_length // 2 + 1 places, for real signals. Source: ONNX STFT-17.
    """

    inputs = ("signal", "frame_step", "window?", "frame_length?")
    outputs = ("output",)
    takes = (FLOATS, INDICES, FLOATS, INDICES)
    reads = frozenset({1, 3})
    rounding = Rounding.SPECTRA
    work = Counted(of_stft)
    onesided: bool = True

    def infer(
        self,
        signal: TensorType,
        step: TensorType,
        window: Operand = None,
        frame_length: Operand = None,
        *,
        values: Values,
    ) -> TensorType:
        length = _size(values, 3)
        if window is not None and frame_length is None:
            length = (same_rank(window, 1, "window") or (UNKNOWN,))[0]
        bins = length // 2 + 1 if self.onesided else length
        shape = same_rank(signal, 3, "signal")
        if shape is None:
            return TensorType(signal.dtype, (UNKNOWN, UNKNOWN, bins, 2))
        _check_parts(shape, "signal")
        stride = _size(values, 1)
        if isinstance(stride, int) and stride < 1:
            raise ShapeError(f"a frame_step of {stride}")
        count = dim_max((shape[1] - length) // stride + 1, 0) if isinstance(stride, int) else UNKNOWN
        return TensorType(signal.dtype, (shape[0], count, bins, 2))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        batch = UNKNOWN if results[0].shape is None else results[0].shape[0]
        types = [refine(operands[0], (batch, UNKNOWN, UNKNOWN), results[0].dtype), operands[1]]
        return (*types, *(refine(operand, None, results[0].dtype) for operand in operands[2:3]), *operands[3:])


OPERATORS = (HannWindow, HammingWindow, BlackmanWindow, MelWeightMatrix, DFT, STFT)
