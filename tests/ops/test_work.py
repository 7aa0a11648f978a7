"""What operators compute: every one states it, as a count or with the reason why there is none."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from graphir.ops import operator_table
from graphir.ops.activation import Dropout, Relu, Softmax
from graphir.ops.base import Operator
from graphir.ops.convolution import Conv, DeformConv
from graphir.ops.detection import NonMaxSuppression, RoiAlign
from graphir.ops.elementwise import Add, Cast, Identity, Mean, Neg, Sum, Where
from graphir.ops.linear import Det, Einsum, Gemm, MatMul
from graphir.ops.normalization import LRN, BatchNormalization, LayerNormalization
from graphir.ops.pooling import AveragePool, GlobalAveragePool, LpPool, MaxPool
from graphir.ops.recurrent import GRU, LSTM, RNN
from graphir.ops.reduction import ReduceL2, ReduceLogSumExp, ReduceSum, TopK
from graphir.ops.resize import AffineGrid, Resize, ResizeMode
from graphir.ops.shape import Transpose
from graphir.ops.signal import DFT
from graphir.ops.work import Each, EachRead, Nothing
from graphir.types import UNKNOWN, DType, symbol
from tests.ops.rule import types

N = symbol("N")


@pytest.mark.parametrize("name", sorted(operator_table()))
def test_every_operator_states_its_work(name: str) -> None:
    work = operator_table()[name].work
    assert work is not None, f"{name} states no work: a count, or Nothing or Open with the reason"
    if isinstance(work, Nothing):
        assert len(work.why) > 10
    elif isinstance(work, Each | EachRead):
        assert work.count > 0


@pytest.mark.parametrize("name", sorted(operator_table()))
def test_only_macs_means_that_there_are_some(name: str) -> None:
    cls = operator_table()[name]
    assert cls.work is not None
    if "multiply-accumulates" in cls.work.why:
        assert cls.macs is not Operator.macs


@pytest.mark.parametrize(
    ("op", "operands", "results", "steps"),
    [
        (Relu(), "f[2,3]", "f[2,3]", 6),
        (Relu(), "f[N,3]", "f[N,3]", 3 * N),
        (Softmax(), "f[2,3]", "f[2,3]", 30),
        (Dropout(), "f[2,3]", "f[2,3]", 0),
        (Identity(), "f[2,3]", "f[2,3]", 0),
        (Neg(), "f[2,3]", "f[2,3]", 6),
        (Cast(to=DType.FLOAT32), "i[2]", "f[2]", 0),
        (Where(), "b[2] f[2] f[2]", "f[2]", 0),
        (Add(), "f[2,1] f[1,3]", "f[2,3]", 6),
        (Sum(), "f[2] f[2] f[2]", "f[2]", 4),
        (Sum(), "f[2]", "f[2]", 0),
        (Mean(), "f[2] f[2] f[2]", "f[2]", 6),
        (Conv(), "f[1,2,5,5] f[4,2,3,3]", "f[1,4,3,3]", 0),
        (Conv(), "f[1,2,5,5] f[4,2,3,3] f[4]", "f[1,4,3,3]", 36),
        (DeformConv(), "f[1,2,5,5] f[4,2,3,3] f[1,18,3,3]", "f[1,4,3,3]", 2 * 81 * 7),
        (Gemm(), "f[2,3] f[3,4]", "f[2,4]", 0),
        (Gemm(), "f[2,3] f[3,4] f[4]", "f[2,4]", 8),
        (Gemm(alpha=2.0, beta=0.5), "f[2,3] f[3,4] f[4]", "f[2,4]", 24),
        (MatMul(), "f[2,3] f[3,4]", "f[2,4]", 0),
        (Einsum("ij->i"), "f[2,3]", "f[2]", 6),
        (Einsum("ij->ji"), "f[2,3]", "f[3,2]", 0),
        (Einsum("ij,jk->ik"), "f[2,3] f[3,4]", "f[2,4]", 0),
        (Det(), "f[3,3]", "f[]", 5),
        (BatchNormalization(), "f[2,3] f[3] f[3] f[3] f[3]", "f[2,3]", 12),
        (LayerNormalization(), "f[2,3] f[3]", "f[2,3]", 42),
        (LRN(size=5), "f[1,7,2,2]", "f[1,7,2,2]", 28 * 9),
        (MaxPool(kernel_shape=(2, 3)), "f[1,1,4,6]", "f[1,1,3,4]", 12 * 5),
        (AveragePool(kernel_shape=(2, 3)), "f[1,1,4,6]", "f[1,1,3,4]", 12 * 6),
        (LpPool(kernel_shape=(2, 3)), "f[1,1,4,6]", "f[1,1,3,4]", 12 * 12),
        (GlobalAveragePool(), "f[1,2,4,6]", "f[1,2,1,1]", 48),
        (RNN(hidden_size=5), "f[7,2,3] f[1,5,3] f[1,5,5]", "f[7,1,2,5] f[1,2,5]", 70 * 2),
        (GRU(hidden_size=5), "f[7,2,3] f[1,15,3] f[1,15,5] f[1,30]", "f[7,1,2,5] f[1,2,5]", 70 * 17),
        (LSTM(hidden_size=5), "f[7,2,3] f[1,20,3] f[1,20,5] f[1,40]", "f[7,1,2,5] f[1,2,5] f[1,2,5]", 70 * 21),
        (ReduceSum(), "f[2,3]", "f[1,1]", 6),
        (ReduceL2(), "f[2,3]", "f[1,1]", 12),
        (ReduceLogSumExp(), "f[2,3]", "f[1,1]", 24),
        (TopK(), "f[9] i[1]", "f[2] i[2]", UNKNOWN),
        (NonMaxSuppression(), "f[1,9,4] f[1,2,9]", "i[?,3]", UNKNOWN),
        (RoiAlign(sampling_ratio=2), "f[1,3,9,9] f[4,4] i[4]", "f[4,3,1,1]", 12 * 4 * 8),
        (RoiAlign(), "f[1,3,9,9] f[4,4] i[4]", "f[4,3,1,1]", UNKNOWN),
        (Resize(factors=(1.0, 1.0, 2.0, 2.0)), "f[1,1,4,4]", "f[1,1,8,8]", 0),
        (Resize(mode=ResizeMode.LINEAR, factors=(1.0, 1.0, 2.0, 2.0)), "f[1,1,4,4]", "f[1,1,8,8]", 64 * 7),
        (Resize(mode=ResizeMode.CUBIC, factors=(1.0, 1.0, 1.0, 2.0)), "f[1,1,4,4]", "f[1,1,4,8]", 32 * 7),
        (Transpose(), "f[2,3]", "f[3,2]", 0),
        (DFT(), "f[1,8,2]", "f[1,8,2]", 5 * 8 * 3),
    ],
)  # fmt: skip
def test_steps(op: Operator, operands: str, results: str, steps: Any) -> None:
    assert op.work is not None
    assert op.work.steps(op, types(operands), types(results)) == steps  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("op", "operands", "results", "macs"),
    [
        (Einsum("ij->ji"), "f[2,3]", "f[3,2]", 0),
        (Einsum("i,i,i->"), "f[5] f[5] f[5]", "f[]", 10),
        (Det(), "f[4,3,3]", "f[4]", 4 * 5),
        (AffineGrid(), "f[2,2,3] i[4]", "f[2,5,6,2]", 2 * 5 * 6 * 2 * 3),
    ],
)  # fmt: skip
def test_macs(op: Operator, operands: str, results: str, macs: Any) -> None:
    assert op.macs(types(operands), types(results)) == macs  # type: ignore[arg-type]


def test_the_functions_have_docstrings_that_say_what_they_count() -> None:
    from graphir.ops import steps

    counting = [function for name, function in vars(steps).items() if name.startswith("of_")]
    assert counting
    assert all(inspect.getdoc(function) for function in counting)
