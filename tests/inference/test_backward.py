"""Backward rules: what operands must be, given the results, and the elements that the rule reads."""

from __future__ import annotations

import pytest

from graphir.errors import ShapeError
from graphir.inference.rules import infer_operands
from graphir.ops import creation, indexing, reduction
from graphir.ops import elementwise as ew
from graphir.ops.base import Operator
from graphir.ops.convolution import Conv, ConvTranspose, DeformConv
from graphir.ops.pooling import AveragePool, MaxPool
from graphir.ops.shape import Expand, Pad, Reshape, Squeeze, Tile, Unsqueeze
from graphir.ops.shape_parts import DepthToSpace, Slice, SpaceToDepth, Split
from graphir.padding import Explicit, Same, symmetric
from tests.ops.rule import stated, types


def backward(op: Operator, operands: str, results: str) -> str:
    """What the first operand must be."""
    found = infer_operands(op, types(operands), types(results), tuple(map(stated, operands.split())))  # type: ignore[arg-type]
    return str(found[0])


ROWS = [
    # operator, operands, results, what the first operand must be
    (Reshape(), "[2,3,?] i:6,4", "f[6,4]", "float32[2, 3, 4]"),
    (Reshape(), "[?,3,4] i:0,-1", "f[5,12]", "float32[5, 3, 4]"),
    (Reshape(), "[?,?,4] i:0,-1", "f[5,12]", "float32[5, 3, 4]"),
    (Reshape(), "[?,?] i:-1,4", "f[6,4]", "float32[?, ?]"),
    (Reshape(), "[...] i:6,4", "f[6,4]", "float32[...]"),
    (Reshape(), "[2,?] i[2]", "f[?,4]", "float32[2, ?]"),
    (Reshape(), "[?,3] i[2]", "f[4,6]", "float32[8, 3]"),
    (Expand(), "[...] i:2,3", "f[2,3]", "float32[...]"),
    (Squeeze(), "[...] i:0,2", "f[3,4]", "float32[1, 3, 1, 4]"),
    (Squeeze(), "[...] i:-1", "f[3,N]", "float32[3, N, 1]"),
    (Squeeze(), "[...] -", "f[3]", "float32[...]"), (Squeeze(), "[...] i[1]", "f[3]", "float32[...]"),
    (Unsqueeze(), "[...] i:0,-1", "f[1,3,4,1]", "float32[3, 4]"),
    (Unsqueeze(), "[?] i:0", "f[1,N]", "float32[N]"), (Unsqueeze(), "[...] i[1]", "f[1,3]", "float32[...]"),
    (Tile(), "[...] i:2,3", "f[4,9]", "float32[2, 3]"), (Tile(), "[...] i:1,2", "f[N,2*M]", "float32[N, M]"),
    (Tile(), "[...] i[2]", "f[4,9]", "float32[?, ?]"), (Tile(), "[...] i:1,2", "f[N,M]", "float32[N, ?]"),
    (Pad(), "[...] i:0,1,0,2", "f[4,9]", "float32[4, 6]"), (Pad(), "[...] i:1,1 - i:1", "f[N,9]", "float32[N, 7]"),
    (Pad(), "[...] i[4]", "f[4,9]", "float32[?, ?]"), (Pad(), "[?,?] i:1,1 - i:-1", "f[N,H+2]", "float32[N, H]"),
    (Slice(), "[...] i:1 i:3 i:1", "f[5,2,N]", "float32[5, ?, N]"),
    (Slice(), "[...] i[1] i[1] i[1]", "f[5,2]", "float32[?, ?]"),
    (Slice(), "[...] i:0,0 i:1,1", "f[1,1,7]", "float32[?, ?, 7]"),
    (Split(2, 1), "[...] i:2,3", "f[4,2] f[...]", "float32[4, 5]"),
    (Split(2, 1), "[...]", "f[4,2] f[...]", "float32[4, ?]"), (Split(2, 1), "[...]", "f[4,2] f[4,2]", "float32[4, 4]"),
    (reduction.ReduceSum(), "[...] i:1", "f[4,1,N]", "float32[4, ?, N]"),
    (reduction.ReduceSum(keepdims=False), "[...] i:-2", "f[4,N]", "float32[4, ?, N]"),
    (reduction.ReduceSum(keepdims=False), "[...]", "f[]", "float32[...]"),
    (reduction.ReduceMean(), "[...] i[1]", "f[4,1]", "float32[?, ?]"),
    (Conv((3, 3), (1, 1), (), symmetric((1, 1))), "[...] f[4,2,3,3]", "f[N,4,H,5]", "float32[N, 2, H, 5]"),
    (Conv((3, 3), (1, 2), (2, 1)), "[...] f[4,2,3,3]", "f[1,4,5,5]", "float32[1, 2, 9, ?]"),
    (Conv((), (1,), (), Same()), "[...] f[4,2,3]", "f[1,4,5]", "float32[1, 2, 5]"),
    (ConvTranspose((4, 4), (2, 2), (), symmetric((1, 1))), "[...] f[3,2,4,4]", "f[1,2,8,N]", "float32[1, 3, 4, ?]"),
    (ConvTranspose((3,), (3,), output_padding=(1,)), "[...] f[3,2,3]", "f[1,2,10]", "float32[1, 3, 3]"),
    (ConvTranspose((3,), (2,), output_shape=(9,)), "[...] f[3,2,3]", "f[1,2,9]", "float32[1, 3, ?]"),
    (MaxPool((3,), (1,), (), symmetric((1,))), "[...]", "f[1,2,N] i[1,2,N]", "float32[1, 2, N]"),
    (MaxPool((3,), (2,)), "[...]", "f[1,2,4] i[1,2,4]", "float32[1, 2, ?]"),
    (AveragePool((3,), (1,), (), Explicit(), True), "[...]", "f[1,2,4]", "float32[1, 2, ?]"),
    (DepthToSpace(2), "[...]", "f[1,3,8,6]", "float32[1, 12, 4, 3]"),
    (SpaceToDepth(2), "[...]", "f[1,12,4,N]", "float32[1, 3, 8, 2*N]"),
    (ew.Where(), "[...] [...] d[3]", "[...]", "bool[...]"),
    (ew.Where(), "[?,?] f[] f[1,3]", "f[2,3]", "bool[2, ?]"),
    (ew.Add(), "[?,?] f[1,3]", "f[2,3]", "float32[2, ?]"), (ew.Mul(), "[...] f[3]", "f[N,3]", "float32[N, ?]"),
    (ew.Mul(), "[...] f[]", "f[2,N]", "float32[2, N]"), (ew.Add(), "[...] f[1,1]", "f[2,3]", "float32[...]"),
    (ew.Add(), "[?] f[2,1]", "f[2,3]", "float32[3]"), (ew.Add(), "[?] f[...]", "f[2,3]", "float32[?]"),
    (ew.Sum(), "[?,?] f[1] f[1,1]", "f[2,3]", "float32[2, 3]"),
    (ew.Sum(), "[?,?] f[1] f[2,1]", "f[2,3]", "float32[?, 3]"),
    (ew.Max(), "[...]", "f[2,3]", "float32[2, 3]"), (ew.Equal(), "[...] f[1,3]", "b[2,3]", "float32[...]"),
    (ew.Equal(), "[?,?] f[1,3]", "b[2,3]", "float32[2, ?]"),
    (indexing.OneHot(1), "[...] s:5 f[2]", "f[2,5,N]", "?[2, N]"),
    (indexing.OneHot(), "[...] s:5 [...]", "f[...]", "?[...]"),
    (indexing.GatherND(), "[...] [...]", "h[2]", "float16[...]"),
    (indexing.Compress(1), "[...] [...]", "f[2,?,N]", "float32[2, ?, N]"),
    (indexing.Compress(), "[...] [...]", "f[2]", "float32[...]"),
    (creation.Range(), "[...] i[] [...]", "[...]", "int64[]"),
    (creation.ConstantOfShape(), "[...]", "f[2,3]", "int64[2]"),
    (DeformConv((3, 3)), "[...] [4,2,3,3] [...]", "f[1,4,5,6]", "float32[1, 2, 7, 8]"),
    (ew.Pow(same_shape=True), "[...] [...]", "f[2,N]", "float32[2, N]"),
    (ew.Pow(), "[...] [...]", "f[2,N]", "float32[...]"),
]  # fmt: skip


def test_all_operands_of_a_deformable_convolution() -> None:
    found = infer_operands(
        DeformConv((3, 3), offset_group=2), types("[...] [4,2,3,3] [...] - [...]"), types("f[1,4,5,6]"), (None,) * 5  # type: ignore[arg-type]
    )
    assert list(map(str, found)) == [
        "float32[1, 2, 7, 8]", "float32[4, 2, 3, 3]", "float32[1, 36, 5, 6]", "None", "float32[1, 18, 5, 6]"
    ]  # fmt: skip


@pytest.mark.parametrize(("op", "operands", "results", "expected"), ROWS)
def test_what_the_first_operand_must_be(op: Operator, operands: str, results: str, expected: str) -> None:
    assert backward(op, operands, results) == expected


BAD = [
    (Tile(), "[...] i:2,2", "f[4,9]", "9 is no multiple of the 2 repeats"),
    (Reshape(), "[2,3] i:0,-1", "f[5,12]", "2 and 5 differ"),
    (ConvTranspose((3,), (2,)), "[...] f[3,2,3]", "f[1,2,10]", "no size of spatial axis 0 gives 10"),
    (DepthToSpace(2), "[...]", "f[1,3,7,6]", "7 does not divide by 2"),
    (SpaceToDepth(2), "[...]", "f[1,6,4,4]", "6 does not divide by 4"),
    (Squeeze(), "[2,3] i:0", "f[3]", "2 and 1 differ"),
    (Pad(), "[4,5] i:0,1,0,2", "f[4,9]", "5 and 6 differ"),
    (reduction.ReduceSum(), "[3,2] i:1", "f[4,1]", "3 and 4 differ"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "operands", "results", "text"), BAD)
def test_what_no_operand_gives(op: Operator, operands: str, results: str, text: str) -> None:
    with pytest.raises(ShapeError, match=text):
        backward(op, operands, results)
