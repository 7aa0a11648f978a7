"""Operators that trade blocks of an image's rows and columns for channels."""

from __future__ import annotations

import enum
from abc import abstractmethod
from typing import Any

from graphir.errors import ShapeError
from graphir.types import UNKNOWN, Dim, Shape, TensorType, format_shape

from .base import Operand, Operator, family, operator, refine
from .dtypes import COMMON
from .traits import Rounding


class DepthOrder(enum.Enum):
    """The order of the channels that hold blocks: offsets before the depth (DCR), or the depth before them (CRD)."""

    DCR = "DCR"
    CRD = "CRD"


Image = tuple[Any, Any, Any, Any]


@family
class _Blocks(Operator):
    """What both directions share: the shape of the one image follows from that of the other."""

    inputs = ("X",)
    takes = (COMMON,)
    rounding = Rounding.MOVES
    blocksize: int

    def check_attributes(self) -> None:
        self.demand(self.blocksize >= 1, "blocksize", "1 or more")

    @abstractmethod
    def _result(self, image: Image) -> Shape:
        """Return the result's shape."""

    @abstractmethod
    def _operand(self, image: Image) -> Shape:
        """Return the operand's shape by the result's."""

    def infer(self, x: TensorType) -> TensorType:
        if x.shape is None:
            return TensorType(x.dtype, (UNKNOWN,) * 4)
        return TensorType(x.dtype, self._result(_image(x)))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        result = results[0]
        known = result.shape is not None and len(result.shape) == 4
        wanted = self._operand(_image(result)) if known else (UNKNOWN,) * 4
        return (refine(operands[0], wanted, result.dtype),)


@operator
class DepthToSpace(_Blocks):
    """(N, C * b * b, H, W) to (N, C, H * b, W * b) with b `blocksize`. Source: ONNX DepthToSpace-13."""

    mode: DepthOrder = DepthOrder.DCR

    def _result(self, image: Image) -> Shape:
        batch, channels, height, width = image
        area = self.blocksize * self.blocksize
        if isinstance(channels, int) and channels % area:
            raise ShapeError(f"{channels} channels do not divide by blocksize^2 = {area}")
        return batch, channels // area, height * self.blocksize, width * self.blocksize

    def _operand(self, image: Image) -> Shape:
        batch, depth, height, width = image
        return batch, depth * self.blocksize**2, _part(height, self.blocksize), _part(width, self.blocksize)


@operator
class SpaceToDepth(_Blocks):
    """(N, C, H, W) to (N, b * b * C, H / b, W / b) with b `blocksize`. Source: ONNX SpaceToDepth-28."""

    mode: DepthOrder = DepthOrder.DCR

    def _result(self, image: Image) -> Shape:
        batch, channels, height, width = image
        block = self.blocksize
        if any(isinstance(size, int) and size % block for size in (height, width)):
            raise ShapeError(f"{height} x {width} does not divide by blocksize {block}")
        return batch, channels * block**2, height // block, width // block

    def _operand(self, image: Image) -> Shape:
        batch, channels, height, width = image
        return batch, _part(channels, self.blocksize**2), height * self.blocksize, width * self.blocksize


def _part(size: Dim, count: int) -> Dim:
    """Return the size of one of `count` equal parts. Raises ShapeError for a number that has none."""
    if isinstance(size, int) and size % count:
        raise ShapeError(f"{size} does not divide by {count}")
    return size // count if isinstance(size, int) or size == (size // count) * count else UNKNOWN


def _image(x: TensorType) -> Image:
    if x.shape is None or len(x.shape) != 4:
        raise ShapeError(f"X has the shape {format_shape(x.shape)}, expected 4 axes")
    return x.shape
