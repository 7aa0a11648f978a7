"""Operators on images: decoding, cropping to a size, putting patches together, comparing two images."""

from __future__ import annotations

import enum

from graphir.errors import ShapeError
from graphir.padding import Explicit, window_size
from graphir.types import UNKNOWN, Dim, DType, Shape, TensorType, format_shape, product, unify_dim

from .base import Known, Operand, Operator, Values, normalize_axis, operator, refine, same_dtype, same_rank
from .counts import new_size
from .dtypes import COMMON, FLOATS, INDICES, INT64, UINT8
from .traits import COORDINATES, Rounding
from .windows import Windowed
from .work import Each, EachRead, Open


class PixelFormat(enum.Enum):
    """What the channels of an image hold."""

    RGB = "RGB"
    BGR = "BGR"
    GRAYSCALE = "Grayscale"


@operator
class ImageDecoder(Operator):
    """The image (H, W, channels), uint8, in the bytes of a file: a uint8 vector of BMP, JPEG, JPEG 2000, TIFF, PNG, ...

    Source: ONNX ImageDecoder-20.
    """

    inputs = ("encoded_stream",)
    counts = True
    outputs = ("image",)
    takes = (UINT8,)
    rounding, stays_wide = Rounding.ROUNDS, COORDINATES
    work = Open("what decoding takes depends on the bytes")
    pixel_format: PixelFormat = PixelFormat.RGB

    def infer(self, stream: TensorType) -> TensorType:
        if stream.dtype not in (None, DType.UINT8):
            raise ShapeError(f"encoded_stream is {stream.dtype}, expected uint8")
        same_rank(stream, 1, "encoded_stream")
        channels = 1 if self.pixel_format is PixelFormat.GRAYSCALE else 3
        return TensorType(DType.UINT8, (new_size("height"), new_size("width"), channels))


@operator
class CenterCropPad(Operator):
    """X with each of `axes` (empty: all) cut or filled with zeros on both sides to the size in the vector `shape`.

    Where the difference is odd, one more element is cut, or filled in, behind. Source: ONNX CenterCropPad-18.
    """

    inputs = ("X", "shape")
    takes = (COMMON, INDICES)
    reads = frozenset({1})
    rounding = Rounding.MOVES
    axes: tuple[int, ...] = ()

    def infer(self, x: TensorType, shape: TensorType, *, values: Values) -> TensorType:
        if x.shape is None:
            return x
        axes = self.axes or tuple(range(len(x.shape)))
        indices = [normalize_axis(axis, len(x.shape)) for axis in axes]
        stated = same_rank(shape, 1, "shape")
        if stated is not None and isinstance(stated[0], int) and stated[0] != len(indices):
            raise ShapeError(f"shape has {stated[0]} entries, expected one for each of {len(indices)} axes")
        sizes = (UNKNOWN,) * len(indices) if values[1] is None else values[1].dims()
        dims = list(x.shape)
        for index, size in zip(indices, sizes, strict=True):
            dims[index] = size
        return TensorType(x.dtype, tuple(dims))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return refine(operands[0], None, results[0].dtype), operands[1]


def _sizes(known: Known | None, operand: TensorType, name: str) -> Shape | None:
    """Return the elements of a vector of sizes; UNKNOWN ones if only their number is known."""
    if known is not None:
        return known.dims()
    shape = same_rank(operand, 1, name)
    return (UNKNOWN,) * shape[0] if shape is not None and isinstance(shape[0], int) else None


@operator
class Col2Im(Windowed):
    """The image (N, C, *image_shape) of its blocks (N, C * product of block_shape, blocks), which are added up.

    The inverse arrangement of a convolution's: blocks are enumerated in row-major order, `strides` apart, with
    `dilations` inside, over an image with `padding`. Both shapes are vectors. Source: ONNX Col2Im-18.
    """

    inputs = ("X", "image_shape", "block_shape")
    takes = (COMMON, INT64, INT64)
    reads = frozenset({1, 2})
    rounding = Rounding.ROUNDS
    work = EachRead()
    strides: tuple[int, ...] = ()
    dilations: tuple[int, ...] = ()
    padding: Explicit = Explicit()

    def infer(self, x: TensorType, image_shape: TensorType, block_shape: TensorType, *, values: Values) -> TensorType:
        data = same_rank(x, 3, "X") or (UNKNOWN,) * 3
        image = _sizes(values[1], image_shape, "image_shape")
        block = _sizes(values[2], block_shape, "block_shape")
        if image is None or block is None:
            return TensorType(x.dtype, None if image is None else (data[0], UNKNOWN, *image))
        if len(image) != len(block):
            raise ShapeError(f"image_shape has {len(image)} entries and block_shape {len(block)}")
        elements = product(block)
        if isinstance(elements, int) and isinstance(data[1], int) and (elements < 1 or data[1] % elements):
            raise ShapeError(f"X has {data[1]} rows, which blocks of {format_shape(block)} do not divide")
        self._check_blocks(data[2], image, block)
        channels = data[1] // elements if isinstance(elements, int) else UNKNOWN
        return TensorType(x.dtype, (data[0], channels, *image))

    def _check_blocks(self, stated: Dim, image: Shape, block: Shape) -> None:
        rank = len(image)
        strides, dilations = self.strides or (1,) * rank, self.dilations or (1,) * rank
        pads = self.padding.pads or ((0, 0),) * rank
        if not len(strides) == len(dilations) == len(pads) == rank:
            raise ShapeError(f"strides, dilations and padding must each have {rank} entries")
        counts = [
            window_size(size, width, stride, dilation, pair) if isinstance(width, int) else UNKNOWN
            for size, width, stride, dilation, pair in zip(image, block, strides, dilations, pads, strict=True)
        ]
        count = product(counts)
        if isinstance(count, int) and isinstance(stated, int) and count != stated:
            raise ShapeError(f"X has {stated} blocks, but an image of {format_shape(image)} has {count}")

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        batch = UNKNOWN if results[0].shape is None else results[0].shape[0]
        return (refine(operands[0], (batch, UNKNOWN, UNKNOWN), results[0].dtype), *operands[1:])


@operator
class Correlation(Operator):
    """How alike the patches of two images (N, C, H, W) are, (N, shifts, H', W'): one channel for each shift.

    Patches of `kernel_size` x `kernel_size` elements (odd) lie `stride` apart in images with `pad` zeros around, as far
    from their border as any shift reaches. Those of B are shifted by up to `max_displacement` elements each way, in
    steps of `shift_stride`, one row of shifts after the other. The result is the mean over patch and channels of the
    products or, without `multiply`, of the absolute differences.

    An operator of the IR's own, for FlowNet. Source: MXNet 1.9's `Correlation`.
    """

    inputs = ("A", "B")
    takes = (FLOATS, FLOATS)
    rounding = Rounding.SUMS
    work = Each()  # the mean's division
    kernel_size: int = 1
    max_displacement: int = 1
    stride: int = 1
    shift_stride: int = 1
    pad: int = 0
    multiply: bool = True

    def check_attributes(self) -> None:
        self.demand(self.kernel_size > 0 and self.kernel_size % 2 == 1, "kernel_size", "an odd number")
        for name, least in (("max_displacement", 0), ("stride", 1), ("shift_stride", 1), ("pad", 0)):
            self.demand(getattr(self, name) >= least, name, f"{least} or more")

    def shifts(self) -> tuple[int, ...]:
        """By how much the second image is shifted along an axis.

        >>> Correlation(max_displacement=5, shift_stride=2).shifts()
        (-4, -2, 0, 2, 4)
        """
        most = self.max_displacement // self.shift_stride
        return tuple(count * self.shift_stride for count in range(-most, most + 1))

    def shift_count(self) -> int:
        """Return how many shifts along an axis there are."""
        return 2 * (self.max_displacement // self.shift_stride) + 1

    def _size(self, size: Dim) -> Dim:
        result = (size + 2 * (self.pad - self.max_displacement) - self.kernel_size) // self.stride + 1
        if isinstance(result, int) and result < 1:
            reach = f"{self.kernel_size} shifted by {self.max_displacement}"
            raise ShapeError(f"no patch of {reach} fits in the size {size}")
        return result

    def infer(self, a: TensorType, b: TensorType) -> TensorType:
        dtype = same_dtype(a, b)
        left = same_rank(a, 4, "A") or (UNKNOWN,) * 4
        right = same_rank(b, 4, "B") or (UNKNOWN,) * 4
        batch, _, *sizes = map(unify_dim, left, right)
        return TensorType(dtype, (batch, self.shift_count() ** 2, *map(self._size, sizes)))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        sizes = same_rank(results[0], 4, "Y") or (UNKNOWN,) * 4
        around = 2 * (self.max_displacement - self.pad) + self.kernel_size - 1
        wanted = (sizes[0], UNKNOWN, *(size + around if self.stride == 1 else UNKNOWN for size in sizes[2:]))
        dtype = same_dtype(*operands, results[0])
        a, b = (refine(operand, wanted, dtype) for operand in operands)
        return refine(a, None if b is None else b.shape), refine(b, None if a is None else a.shape)

    def macs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> Dim:
        channels = UNKNOWN if operands[0] is None or operands[0].shape is None else operands[0].shape[1]
        return results[0].elements() * channels * self.kernel_size**2


OPERATORS = (ImageDecoder, CenterCropPad, Col2Im, Correlation)
