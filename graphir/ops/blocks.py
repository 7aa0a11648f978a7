"""Operators that trade blocks of an image's rows and columns for channels."""

from __future__ import annotations

import enum
from typing import Any

from graphir.errors import ShapeError
from graphir.types import UNKNOWN, Dim, TensorType, format_shape

from .base import Operand, Operator, operator, refine
from .dtypes import COMMON


class DepthOrder(enum.Enum):
    """The order of the channels that hold blocks: offsets before the depth (DCR), or the depth before them (CRD)."""

    DCR = "DCR"
    CRD = "CRD"


@operator
class DepthToSpace(Operator):
    """(N, C * b * b, H, W) to (N, C, H * b, W * b) with b `blocksize`. Source: ONNX DepthToSpace-13."""

    inputs = ("X",)
    takes = (COMMON,)
    blocksize: int
    mode: DepthOrder = DepthOrder.DCR

    def check_attributes(self) -> None:
        self.demand(self.blocksize >= 1, "blocksize", "1 or more")

    def infer(self, x: TensorType) -> TensorType:
        if x.shape is None:
            return TensorType(x.dtype, (UNKNOWN,) * 4)
        batch, channels, height, width = _image(x)
        area = self.blocksize * self.blocksize
        if isinstance(channels, int) and channels % area:
            raise ShapeError(f"{channels} channels do not divide by blocksize^2 = {area}")
        return TensorType(x.dtype, (batch, channels // area, height * self.blocksize, width * self.blocksize))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        block, shape = self.blocksize, results[0].shape
        if shape is None or len(shape) != 4:
            return (refine(operands[0], (UNKNOWN,) * 4, results[0].dtype),)
        batch, depth, height, width = shape
        wanted = (batch, depth * (block * block), _part(height, block), _part(width, block))
        return (refine(operands[0], wanted, results[0].dtype),)


@operator
class SpaceToDepth(Operator):
    """(N, C, H, W) to (N, b * b * C, H / b, W / b) with b `blocksize`. Source: ONNX SpaceToDepth-28."""

    inputs = ("X",)
    takes = (COMMON,)
    blocksize: int
    mode: DepthOrder = DepthOrder.DCR

    def check_attributes(self) -> None:
        self.demand(self.blocksize >= 1, "blocksize", "1 or more")

    def infer(self, x: TensorType) -> TensorType:
        if x.shape is None:
            return TensorType(x.dtype, (UNKNOWN,) * 4)
        batch, channels, height, width = _image(x)
        block = self.blocksize
        if any(isinstance(size, int) and size % block for size in (height, width)):
            raise ShapeError(f"{height} x {width} does not divide by blocksize {block}")
        return TensorType(x.dtype, (batch, channels * (block * block), height // block, width // block))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        block, shape = self.blocksize, results[0].shape
        if shape is None or len(shape) != 4:
            return (refine(operands[0], (UNKNOWN,) * 4, results[0].dtype),)
        batch, channels, height, width = shape
        wanted = (batch, _part(channels, block * block), height * block, width * block)
        return (refine(operands[0], wanted, results[0].dtype),)


def _part(size: Dim, count: int) -> Dim:
    """The size of one of `count` equal parts. Raises ShapeError for a number that has none."""
    if isinstance(size, int) and size % count:
        raise ShapeError(f"{size} does not divide by {count}")
    return size // count if isinstance(size, int) or size == (size // count) * count else UNKNOWN


def _image(x: TensorType) -> tuple[Any, Any, Any, Any]:
    if x.shape is None or len(x.shape) != 4:
        raise ShapeError(f"X has the shape {format_shape(x.shape)}, expected 4 axes")
    return x.shape


__all__ = ["DepthOrder", "DepthToSpace", "SpaceToDepth"]
