"""Rules of reductions, positions of extremes and TopK."""

from __future__ import annotations

import pytest

from graphir.errors import ShapeError
from graphir.ops.base import Operator
from graphir.ops.reduction import (
    ArgMax,
    ArgMin,
    ReduceL1,
    ReduceL2,
    ReduceLogSum,
    ReduceLogSumExp,
    ReduceMax,
    ReduceMean,
    ReduceMin,
    ReduceProd,
    ReduceSum,
    ReduceSumSquare,
    TopK,
)
from tests.ops.rows import backward, followed, forward, known, types

GOOD = (
    (ReduceSum(), "f[2,N,4]", "f[1,1,1]"),
    (ReduceSum(keepdims=False), "f[2,N,4]", "f[]"),
    (ReduceSum(keepdims=False), "f[...]", "f[]"),
    (ReduceSum(), "f[...]", "f[...]"),
    (ReduceMean(), "f[N,3,H,W] i:2,3", "f[N,3,1,1]"),
    (ReduceMean(keepdims=False), "f[N,3,H,W] i:-1,1", "f[N,H]"),
    (ReduceMax(keepdims=False), "f[...] i:1", "f[...]"),
    (ReduceMin(), "f[2,3] i[1]", "f[?,?]"),
    (ReduceMin(keepdims=False), "f[2,3] i[1]", "f[?]"),
    (ReduceMin(keepdims=False), "f[2,3] i[?]", "f[...]"),
    (ReduceSum(noop_with_empty_axes=True), "f[2,3]", "f[2,3]"),
    (ReduceSum(noop_with_empty_axes=True), "f[2,3] i:", "f[2,3]"),
    (ReduceSum(), "f[2,3] i:", "f[1,1]"),
    (ReduceL2(), "f[2,3] -", "f[1,1]"),
    (ArgMax(axis=1), "f[2,N,4]", "i[2,1,4]"),
    (ArgMin(axis=-1, keepdims=False), "f[2,3,N]", "i[2,3]"),
    (ArgMax(), "f[...]", "i[...]"),
    (TopK(), "f[2,5] i:3", "f[2,3] i[2,3]"),
    (TopK(axis=0), "f[N,5] i:3", "f[3,5] i[3,5]"),
    (TopK(), "f[2,5] i[1]", "f[2,?] i[2,?]"),
    (TopK(), "f[2,N] i:N", "f[2,N] i[2,N]"),
    (TopK(), "f[...] i:3", "f[...] i[...]"),
)


@pytest.mark.parametrize(("op", "operands", "results"), GOOD)
def test_results(op: Operator, operands: str, results: str) -> None:
    assert forward(op, operands) == types(results)


BAD = (
    (ReduceSum(), "f[2,3] i:2", "axis 2 does not exist in a tensor of rank 2"),
    (ReduceSum(), "f[2,3] i:1,-1", "name an axis of .* twice"),
    (ArgMax(axis=-3), "f[2,3]", "axis -3 does not exist"),
    (TopK(), "f[2,3] i:4", "K is 4, but axis 1 of .* has 3 elements"),
    (TopK(axis=2), "f[2,3] i:1", "axis 2 does not exist"),
)


@pytest.mark.parametrize(("op", "operands", "text"), BAD)
def test_refused(op: Operator, operands: str, text: str) -> None:
    with pytest.raises(ShapeError, match=text):
        forward(op, operands)


BACKWARD = (
    (ReduceSum(), "[...] i:1", "f[2,1]", "f[?,?] i:1"),
    (ReduceSum(keepdims=False), "[...]", "f[2]", "f[...]"),
    (ArgMax(axis=1), "f[...]", "i[2,1,4]", "f[2,?,4]"),
    (ArgMin(axis=-1, keepdims=False), "f[?,?]", "i[2]", "f[2,?]"),
    (TopK(), "[...] [1]", "f[2,3] i[2,3]", "f[2,?] i[1]"),
)


@pytest.mark.parametrize(("op", "operands", "results", "wanted"), BACKWARD)
def test_operands(op: Operator, operands: str, results: str, wanted: str) -> None:
    assert backward(op, operands, results) == types(wanted)


FOLLOWED = (
    (ReduceProd(keepdims=False), "i:2,N,4", "s:8*N"),
    (ReduceProd(), "i:2,3 i:0", "i:6"),
    (ReduceSum(keepdims=False), "i:2,N,4", "s:N+6"),
    (ReduceMax(keepdims=False), "i:2,7,4", "s:7"),
    (ReduceMin(), "i:2,7,4", "i:2"),
    (ReduceSum(noop_with_empty_axes=True), "i:2,7", "i:2,7"),
    (ReduceSum(), "s:3", "s:3"),
)


@pytest.mark.parametrize(("op", "operands", "result"), FOLLOWED)
def test_known_elements(op: Operator, operands: str, result: str) -> None:
    assert followed(op, operands) == (known(result),)


@pytest.mark.parametrize("cls", [ReduceL1, ReduceLogSum, ReduceLogSumExp, ReduceSumSquare])
def test_every_reduction_shares_the_rule(cls: type[Operator]) -> None:
    assert forward(cls(keepdims=False), "f[2,N,4] i:1") == types("f[2,4]")
