"""Random numbers. Each run draws anew; a `seed` (None: any) makes a runtime draw the same, but not two of them."""

from __future__ import annotations

from graphir.types import UNKNOWN, DType, TensorType

from .base import Operand, Operator, operator, refine, same_rank
from .dtypes import COMMON, FLOATS
from .traits import Rounding
from .work import Each


class _Random(Operator):
    """A tensor of `shape` and `dtype`."""

    rounding = Rounding.DRAWS
    shape: tuple[int, ...]
    dtype: DType = DType.FLOAT32

    def check_attributes(self) -> None:
        self.demand(min(self.shape, default=0) >= 0, "shape", "sizes of 0 or more")

    def infer(self) -> TensorType:
        return TensorType(self.dtype, self.shape)


class _RandomLike(Operator):
    """A tensor of the operand's shape, and of its dtype unless `dtype` states another."""

    inputs = ("X",)
    takes = (COMMON,)
    rounding = Rounding.DRAWS
    dtype: DType | None = None

    def infer(self, x: TensorType) -> TensorType:
        return TensorType(self.dtype or x.dtype, x.shape)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return (refine(operands[0], results[0].shape, None if self.dtype else results[0].dtype),)


class _Normal(Operator):
    """Numbers with a normal distribution."""

    scale: float

    def check_attributes(self) -> None:
        super().check_attributes()
        self.demand(self.scale >= 0, "scale", "a standard deviation of 0 or more")


class _Uniform(Operator):
    """Numbers spread evenly between two."""

    low: float
    high: float

    def check_attributes(self) -> None:
        super().check_attributes()
        self.demand(self.high >= self.low, "high", f"at least low, which is {self.low:g}")


@operator
class RandomNormal(_Normal, _Random):
    """Numbers with a normal distribution, of standard deviation `scale`. Source: ONNX RandomNormal-22."""

    shape: tuple[int, ...]
    dtype: DType = DType.FLOAT32
    mean: float = 0.0
    scale: float = 1.0
    seed: float | None = None


@operator
class RandomUniform(_Uniform, _Random):
    """Numbers spread evenly from `low` to `high`. Source: ONNX RandomUniform-22."""

    shape: tuple[int, ...]
    dtype: DType = DType.FLOAT32
    low: float = 0.0
    high: float = 1.0
    seed: float | None = None


@operator
class RandomNormalLike(_Normal, _RandomLike):
    """RandomNormal in the operand's shape, and dtype if none is stated. Source: ONNX RandomNormalLike-22."""

    dtype: DType | None = None
    mean: float = 0.0
    scale: float = 1.0
    seed: float | None = None


@operator
class RandomUniformLike(_Uniform, _RandomLike):
    """RandomUniform in the operand's shape, and dtype if none is stated. Source: ONNX RandomUniformLike-22."""

    dtype: DType | None = None
    low: float = 0.0
    high: float = 1.0
    seed: float | None = None


@operator
class Bernoulli(_RandomLike):
    """1 with the probability that the operand's element states, else 0. Source: ONNX Bernoulli-22."""

    takes = (FLOATS,)
    work = Each()
    dtype: DType | None = None
    seed: float | None = None


@operator
class Multinomial(Operator):
    """`sample_size` classes for each row of X (N, classes), which holds unnormalised log probabilities.

    Source: ONNX Multinomial-22.
    """

    inputs = ("X",)
    takes = (FLOATS,)
    rounding = Rounding.DRAWS
    dtype: DType = DType.INT32
    sample_size: int = 1
    seed: float | None = None

    def check_attributes(self) -> None:
        self.demand(self.dtype in (DType.INT32, DType.INT64), "dtype", "int32 or int64")
        self.demand(self.sample_size >= 0, "sample_size", "0 or more")

    def infer(self, x: TensorType) -> TensorType:
        shape = same_rank(x, 2, "X") or (UNKNOWN, UNKNOWN)
        return TensorType(self.dtype, (shape[0], self.sample_size))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        batch = UNKNOWN if results[0].shape is None else results[0].shape[0]
        return (refine(operands[0], (batch, UNKNOWN)),)


OPERATORS = (RandomNormal, RandomUniform, RandomNormalLike, RandomUniformLike, Bernoulli, Multinomial)
