"""What moves, repeats, joins and cuts elements, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphir.graph import Graph
from graphir.ops.blocks import DepthOrder, DepthToSpace, SpaceToDepth
from graphir.ops.elementwise import Sub
from graphir.ops.extent import Pad, PadMode, Tile
from graphir.ops.shape import Expand, Flatten, Reshape, Shape, Size, Squeeze, Transpose, Unsqueeze
from graphir.ops.shape_parts import Concat, ReverseSequence, Split, Trilu
from graphir.ops.slicing import BEYOND, Slice
from graphir.types import DType, TensorType, symbol
from tests.converters.pytorch.cases import Case, Check, Constant, uniform

EDGE, REFLECT, WRAP = Pad(PadMode.EDGE), Pad(PadMode.REFLECT), Pad(PadMode.WRAP)
X = uniform(3, 4, 5)
IMAGE = uniform(2, 3, 4, 5)


def ints(*numbers: int) -> Constant:
    """A constant int64 vector."""
    return Constant(np.array(numbers, np.int64))


def computed(*numbers: int) -> Any:
    """The same as an input of the graph."""
    return np.array(numbers, np.int64)


SHAPES = [
    Case(Split(axis=2, num_outputs=2), uniform(3, 2, 1), ints(1, 0), text="x.split((1, 0), dim=2)"),
    Case(Split(axis=0, num_outputs=4), uniform(5, 2), ints(2, 2, 1, 0), text="x.split((2, 2, 1, 0))"),
    Case(Transpose(), X, batch=True, text="x.transpose(0, 2)"),
    Case(Transpose((1, 2, 0)), X, text="x.permute(1, 2, 0)"),
    Case(Transpose((0, 1, 2)), X),
    Case(Transpose(), np.float32(2)),
    Case(Expand(), uniform(3, 1), ints(2, 1, 4), text="x.expand(2, 3, 4)"),
    Case(Expand(), uniform(3, 1), computed(2, 1, 4)),
    Case(Expand(), uniform(2, 3, 1), computed(3, 4)),
    Case(Expand(), uniform(3, 1), ints(1, 5), batch=True, text="x.expand(n, 5)"),
    Case(Expand(), np.float32(2), ints(2, 2)),
    Case(Expand(), uniform(1, 1, dtype="int32"), ints(0, 1)),
    Case(Size(), X, batch=True, text="torch.tensor(x.numel(), device=device)"),
    Case(Size(), uniform(2), batch=True),
    Case(Size(), uniform(0, 3), batch=True),
    Case(Reshape(), X, ints(3, -1), text="x.flatten(1)"),
    Case(Reshape(), uniform(0, 3, 2, 3), ints(-1, 2), text="x.reshape(-1, 2)"),
    Case(Reshape(), X, computed(4, -1, 3)),
    Case(Reshape(), IMAGE, ints(0, -1, 4, 5), batch=True),
    Case(Reshape(True), uniform(0, 3, 2), ints(3, 0), text="x.reshape(3, 0)"),
    Case(Flatten(), IMAGE, batch=True, text="x.flatten(1)"),
    Case(Flatten(0), X),
    Case(Flatten(-2), IMAGE, batch=True),
    Case(Flatten(4), IMAGE),
    Case(Shape(), X, batch=True),
    Case(Shape(1), IMAGE),
    Case(Shape(-3, -1), X, batch=True),
    Case(Squeeze(), uniform(2, 1, 3, 1), ints(1, -1), text="x.squeeze((1, 3))"),
    Case(Squeeze(), uniform(2, 1, 3, 1), computed(-1)),
    Case(Squeeze(), uniform(2, 1, 3, 1)),
    Case(Squeeze(), uniform(2, 1, 3, 1), batch=True, text="x.squeeze()"),
    Case(Unsqueeze(), X, ints(0, -1), text="x.unsqueeze(0).unsqueeze(4)"),
    Case(Unsqueeze(), X, ints(1, -2), batch=True),
    Case(Unsqueeze(), X, computed(-1, 1)),
    Case(Unsqueeze(), np.float32(2), ints(0)),
]
EXTENTS = [
    Case(Tile(), X, ints(2, 1, 3), text="x.repeat(2, 1, 3)"),
    Case(Tile(), X, computed(1, 2, 0)),
    Case(Tile(), uniform(3, 4, dtype="int64"), ints(1, 2), batch=True),
    Case(Pad(), IMAGE, ints(0, 0, 1, 2, 0, 0, 3, 0), text="F.pad(x, (2, 0, 1, 3))"),
    Case(Pad(), IMAGE, ints(0, 1, -1, 0, 0, 0, 2, -2), Constant(np.float32(0.5)), batch=True,
         text="F.pad(x, (0, -2, -1, 2, 1, 0), value=0.5)"),
    Case(Pad(), X, ints(1, 2), np.float32(-1.5), ints(-1)),
    Case(Pad(), X, computed(1, 0, -1, 2, -1, 0), np.float32(2)),
    Case(Pad(), X, computed(1, 0, 2, 3), None, computed(2, 0)),
    Case(Pad(), uniform(3, 4, dtype="int32"), ints(1, 0, 0, 2), Constant(np.int32(7))),
    Case(Pad(), uniform(3, 4) > 0, ints(1, 0, 0, 2), Constant(np.bool_(True)), batch=True),
    Case(REFLECT, IMAGE, ints(0, 0, 1, 2, 0, 0, 3, 0), text='F.pad(x, (2, 0, 1, 3), mode="reflect")'),
    Case(REFLECT, IMAGE, ints(1, 0, 1, 2, 0, 2, 3, 0)),
    Case(REFLECT, IMAGE, ints(1, 1, 2, 2, 0, 2, 3, 0), batch=True),
    Case(REFLECT, uniform(2, 3), ints(5, 9), None, ints(1),
         expected=[np.pad(uniform(2, 3), ((0, 0), (5, 9)), "reflect")],
         text='pad_axes(x, [5, 9], axes=[1], mode="reflect")'),
    Case(REFLECT, uniform(2, 1), ints(2, 1), None, ints(1), expected=[uniform(2, 1).repeat(4, 1)]),
    Case(REFLECT, uniform(4, 5, dtype="int32"), ints(1, 2, 0, 1)),
    Case(REFLECT, X, computed(0, 1, 2, 1, 2, 0)),
    Case(EDGE, IMAGE, ints(0, 0, 1, 0, 0, 0, 3, 0), text='F.pad(x, (0, 0, 1, 3), mode="replicate")'),
    Case(EDGE, X, ints(2, -1, 7, 0, 1, 8), batch=True),
    Case(EDGE, uniform(5), ints(2, 3)),
    Case(EDGE, uniform(3, 4, dtype="float16"), ints(0, 2, 0, 1)),
    Case(WRAP, uniform(1, 4, 5), ints(0, 0, 2, 0, 0, 5), text='F.pad(x, (2, 5), mode="circular")'),
    Case(WRAP, X, ints(0, 2, 0, 0, 1, 0)),
    Case(WRAP, X, ints(1, 2, 0, 1, 0, 3), batch=True),
]  # fmt: skip
PARTS = [
    Case(Concat(1), X, X + 1, text="torch.cat((in0, in1), dim=1)"),
    Case(Concat(0), X, Constant(np.ones((2, 4, 5), np.float32))),
    Case(Concat(-1), uniform(2, 0, dtype="int64"), uniform(2, 3, dtype="int64"), batch=True),
    Case(Concat(1), X),
    Case(Split(2, 1), X, text="chunk(2, dim=1)"),
    Case(Split(3, -1), X, text="chunk(3, dim=-1)"),
    Case(Split(2, 0), uniform(4, 3), batch=True, text="chunk(2)"),
    Case(Split(3, 1), X, ints(1, 0, 3), text="split((1, 0, 3), dim=1)"),
    Case(Split(2, 1), X, computed(3, 1)),
    Case(Split(1, 1), X),
    Case(Split(2, 2), X, ints(3, 2), batch=True, text="chunk(2, dim=2)"),
    Case(Trilu(), X, text="x.triu()"),
    Case(Trilu(False), X, Constant(np.int64(-1)), batch=True, text="x.tril(-1)"),
    Case(Trilu(), X, np.array(2), text="in0.triu(in1.item())"),
    Case(Trilu(False), uniform(3, 4, low=0, high=90, dtype="int32"), np.array(-7)),
    Case(ReverseSequence(0, 1), X, computed(1, 4, 2), text="reverse_sequence(in0, in1, 0, 1)"),
    Case(ReverseSequence(), X, ints(3, 1, 2, 2), batch=True),
    Case(ReverseSequence(1, 0), uniform(3, 2, dtype="int64"), computed(2, 3)),
]
SLICES = [
    Case(Slice(), X, ints(1, -2), ints(BEYOND, BEYOND), ints(0, 2), text="x[1:, :, -2:]"),
    Case(Slice(), IMAGE, ints(1), ints(9), ints(3), ints(2), batch=True, text="x[..., 1:9:2]"),
    Case(Slice(), X, ints(0, 1), ints(2, -1), text="x[:2, 1:-1]"),
    Case(Slice(), X, ints(-1), ints(-BEYOND), ints(1), ints(-1), text="x.flip(1)"),
    Case(Slice(), X, ints(-2, 3), ints(-9, 0), ints(2, 1), ints(-2, -1), text="x.flip(2, 1)[:, "),
    Case(Slice(), X, ints(-9), ints(-12), ints(2), ints(-1)),
    Case(Slice(), X, ints(9, 1), ints(0, 1), ints(0, 1), ints(-1, -1), batch=True),
    Case(Slice(), X, ints(-3), ints(-9), ints(0), ints(-1), batch=True),
    Case(Slice(), X, computed(1, -2), computed(3, 9), ints(0, 2)),
    Case(Slice(), X, computed(-1, 9), computed(-9, 1), computed(0, 2), computed(-1, -3)),
    Case(Slice(), X, computed(2), ints(2)),
    Case(Slice(), uniform(4, 5, dtype="int32"), ints(0), ints(BEYOND), ints(1)),
]
BLOCKS = [
    Case(DepthToSpace(2), uniform(2, 8, 3, 4), text="depth_to_space(x, 2)"),
    Case(DepthToSpace(2, DepthOrder.CRD), uniform(2, 8, 3, 4), batch=True, text="F.pixel_shuffle(x, 2)"),
    Case(DepthToSpace(3), uniform(1, 18, 1, 2)),
    Case(SpaceToDepth(2), uniform(2, 3, 4, 6), batch=True, text="space_to_depth(x, 2)"),
    Case(SpaceToDepth(2, DepthOrder.CRD), uniform(2, 3, 4, 6), batch=True),
    Case(SpaceToDepth(3), uniform(1, 2, 3, 6)),
    Case(SpaceToDepth(2), uniform(1, 1, 4, 2)),
]


@pytest.mark.parametrize("case", [*SHAPES, *EXTENTS, *PARTS, *SLICES, *BLOCKS], ids=str)
def test_moves(case: Case, check: Check) -> None:
    check(case)


class ComputedBounds(Case):
    """x[:n - 1] and x[-n + 1::2] of an open size n, which the graph computes from the shape."""

    def graph(self) -> Graph:
        graph = Graph("case")
        x = graph.add_input("in0", TensorType(DType.FLOAT32, (symbol("N"), 4)))
        n = graph.add(Shape(end=1), x)
        one, two, zero = (graph.constant(np.array([number]), name="c") for number in (1, 2, 0))
        end, start = graph.add(Sub(), n, one), graph.add(Sub(), one, n)
        far = graph.constant(np.array([BEYOND]), name="c")
        first = graph.add(Slice(), x, zero, end)
        second = graph.add(Slice(), x, start, far, zero, two)
        graph.set_outputs([first, second])
        return graph


def test_bounds_that_follow_from_sizes(check: Check) -> None:
    text = check(ComputedBounds(Slice(), uniform(5, 4)))
    assert "x[: n - 1]" in text
    assert "x[-n + 1 :: 2]" in text
