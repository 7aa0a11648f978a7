"""Operators on the bits of numbers, and conversions whose target is not stated as a number's value."""

from __future__ import annotations

import enum

from graphir.errors import ShapeError
from graphir.types import DType, TensorType

from .base import Operand, Operator, like_result, operator, refine, same_dtype
from .broadcasting import broadcast
from .dtypes import CONVERTIBLE, INTEGERS
from .traits import DecisionTrait, Elementwise, Rounding
from .work import Each


class ShiftDirection(enum.Enum):
    """Which way bits move: LEFT makes numbers greater."""

    LEFT = "LEFT"
    RIGHT = "RIGHT"


def _integer(*operands: TensorType) -> DType | None:
    """Return the operands' common dtype. Raises ShapeError unless it holds integers."""
    dtype = same_dtype(*operands)
    if dtype is not None and not dtype.is_integer:
        raise ShapeError(f"the operands are {dtype}, expected integers")
    return dtype


class _Bitwise(Operator):
    """Two integer operands of one dtype that broadcast."""

    inputs = ("A", "B")
    outputs = ("C",)
    takes = (INTEGERS, INTEGERS)
    rounding, decides, elementwise = Rounding.EXACT, DecisionTrait.NOTHING, Elementwise.BROADCAST
    work = Each()

    def infer(self, a: TensorType, b: TensorType) -> TensorType:
        return TensorType(_integer(a, b), broadcast(a.shape, b.shape))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        dtype = same_dtype(*operands, results[0])
        return tuple(refine(operand, None, dtype) for operand in operands)


@operator
class BitwiseAnd(_Bitwise):
    """A & B, bit by bit; the operands broadcast. Source: ONNX BitwiseAnd-18."""


@operator
class BitwiseOr(_Bitwise):
    """A | B, bit by bit; the operands broadcast. Source: ONNX BitwiseOr-18."""


@operator
class BitwiseXor(_Bitwise):
    """A ^ B, bit by bit; the operands broadcast. Source: ONNX BitwiseXor-18."""


@operator
class BitShift(_Bitwise):
    """X with its bits moved by Y places; to the right, signed numbers keep their sign. Source: ONNX BitShift-28."""

    inputs = ("X", "Y")
    outputs = ("Z",)
    direction: ShiftDirection


@operator
class BitwiseNot(Operator):
    """~X, bit by bit. Source: ONNX BitwiseNot-18."""

    inputs = ("X",)
    takes = (INTEGERS,)
    rounding, decides, elementwise = Rounding.EXACT, DecisionTrait.NOTHING, Elementwise.ALONE
    work = Each()
    infer_inputs = like_result

    def infer(self, x: TensorType) -> TensorType:
        return TensorType(_integer(x), x.shape)


@operator
class BitCast(Operator):
    """The bits of X read as `to`, a dtype of the same width. Source: ONNX BitCast-26."""

    inputs = ("X",)
    rounding, stays_wide = Rounding.HOLDS, "it takes the bits of float32"
    to: DType

    def check_attributes(self) -> None:
        self.demand(self.to is not DType.STRING, "to", "a dtype that is made of bits")

    def infer(self, x: TensorType) -> TensorType:
        if x.dtype is DType.STRING:
            raise ShapeError("texts have no bits to be read as something else")
        if x.dtype is not None and x.dtype.bits != self.to.bits:
            raise ShapeError(f"X is {x.dtype} of {x.dtype.bits} bits, but {self.to} has {self.to.bits}")
        return TensorType(self.to, x.shape)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return (refine(operands[0], results[0].shape),)


class RoundMode(enum.Enum):
    """How a cast to float8e8m0 rounds."""

    UP = "up"
    DOWN = "down"
    NEAREST = "nearest"


@operator
class CastLike(Operator):
    """X converted to the dtype of `target_type`.

    `saturate` keeps numbers out of range at the largest of an 8-bit float; `round_mode` is for float8e8m0.
    Source: ONNX CastLike-25.
    """

    inputs = ("X", "target_type")
    takes = (CONVERTIBLE, CONVERTIBLE)
    rounding, stays_wide = Rounding.HOLDS, "it takes over another value's element type"
    saturate: bool = True
    round_mode: RoundMode = RoundMode.UP

    def infer(self, x: TensorType, target_type: TensorType) -> TensorType:
        return TensorType(target_type.dtype, x.shape)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return refine(operands[0], results[0].shape), refine(operands[1], None, results[0].dtype)


OPERATORS = (BitwiseAnd, BitwiseOr, BitwiseXor, BitShift, BitwiseNot, BitCast, CastLike)
