"""Elements by index, condition or value, and running sums in torch."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from graphir.graph import Graph
from graphir.ops import indexing as ir
from graphir.ops.elementwise import Clip
from graphir.ops.indexing import Reduction
from graphir.types import DType, TensorType, symbol
from tests.converters.pytorch.cases import Case, Check, Constant, uniform
from tests.converters.pytorch.running import need_torch, run_module

i32, i64 = partial(np.array, dtype=np.int32), partial(np.array, dtype=np.int64)
f32 = partial(np.array, dtype=np.float32)
X = uniform(5, 4, 6)
MATRIX = uniform(5, 3)
BIG = np.array([[0, 2**63, 5], [2**64 - 1, 1, 2**63 - 1]], np.uint64)
WITH_ZEROS = np.round(uniform(3, 4, 2)) * (uniform(3, 4, 2, seed=1) > 0)
VECTORS = i64([[0, 1], [-1, -2], [4, 0]])
COPIES = f32([[2, 1, 0, 0], [2, 1, 0, 0], [2, 1, 1, 3], [0, 0, 0, 0], [2, 1, 0, 0]])


def taken(op: Any, indices: Any, axis: int = 0) -> Any:
    """The elements of BIG for dtypes that onnxruntime does not take."""
    return (np.take_along_axis if op is ir.GatherElements else np.take)(BIG, indices, axis)


ROWS = [
    *(Case(ir.Gather(axis=axis), X, indices, batch=batch)
      for axis in (0, 1, -1) for indices in (i64([0, -1, 2]), i64([[3, 1], [-2, 0]]), i64(2), i32([1, 1, 0]))
      for batch in (False, True) if not (batch and indices.shape)),
    *(Case(ir.Gather(axis=axis), X, Constant(indices), text=text) for axis, indices, text in (
        (0, i64(2), "x[2]"), (1, i64(-1), "x[:, -1]"), (2, i64(0), "x[..., 0]"), (1, i64([1, 2, 3]), "x[:, 1:4]"),
        (0, i64([0, 2, 4]), "x[:5:2]"), (2, i64([5, 0, -1]), "x[..., [5, 0, -1]]"),
        (1, i64([[0, 1], [2, -3]]), "x[:, self.c]"), (0, i64(np.arange(20) % 5), "x[self.c]"), (0, i64([1]), "x[[1]]"),
        (0, i64([[]]), "x[self.c]"), (1, i64([2, 1, 0]), "x[:, [2, 1, 0]]"),
    )),
    Case(ir.Gather(), Constant(MATRIX), i64([[0, 4, 2], [1, 3, 0]]), batch=True, text="nn.Embedding(5, 3)"),
    Case(ir.Gather(), Constant(MATRIX), i64([[0, -1, 2], [-5, 3, -2]]), batch=True, text="self.y(x % 5)"),
    Case(ir.Gather(), Constant(MATRIX.astype(np.float16)), i32([0, 4]), text="dtype=torch.float16"),
    Case(ir.Gather(axis=1), Constant(MATRIX), i64([0, -1])),
    Case(ir.Gather(), Constant(MATRIX.astype(np.int64)), i64([0, -1])),
    Case(ir.Gather(), Constant(MATRIX[:, 0].copy()), i64([0, -1])),
    Case(ir.Gather(), BIG, i64([1, -1]), expected=[taken(ir.Gather, i64([1, -1]))]),
    Case(ir.Gather(), X > 0, i64([1, -1])),
    *(Case(ir.GatherElements(axis=axis), X[:3, :3], indices, batch=axis != 0) for axis in (0, 1, -1)
      for indices in (i64(np.arange(54).reshape(3, 3, 6) % 3), i32(np.arange(54).reshape(3, 3, 6) % 5 % 3 - 3))),
    Case(ir.GatherElements(axis=1), X, Constant(i64(np.arange(20).reshape(5, 4, 1) % 4)), text="x.gather(1, self.c)"),
    Case(ir.GatherElements(axis=1), BIG, i64([[2, -1], [0, 1]]), expected=[taken(ir.GatherElements, i64([[2, -1], [0,
         1]]), 1)]),
    Case(ir.GatherND(), X, VECTORS, text="in0[in1.unbind(-1)]"),
    Case(ir.GatherND(), X, Constant(VECTORS), batch=True),
    Case(ir.GatherND(), X, i64([[[0], [-1]]])),
    Case(ir.GatherND(), MATRIX, i64([1, -1])),
    *(Case(ir.GatherND(batch_dims=dims), X, i64(np.arange(120).reshape(5, 4, 3, 2)[..., :1] % 4), batch=True)
      for dims in (1, 2)),
    Case(ir.GatherND(batch_dims=1), X, i64([[0, 5], [1, 4], [-2, 3], [3, -2], [0, 0]])),
    *(Case(ir.ScatterElements(axis=axis, reduction=reduction), X, indices, uniform(3, 4, 6, seed=3)[:2, :2, :3])
      for axis in (0, -1) for reduction in (Reduction.ADD, Reduction.MUL, Reduction.MAX, Reduction.MIN)
      for indices in (i64(np.arange(12).reshape(2, 2, 3) % 4 - 2), i32(np.arange(12).reshape(2, 2, 3) % 3))),
    *(Case(ir.ScatterElements(axis=1), X, indices, uniform(5, 2, 6, seed=3))
      for indices in (i64(np.tile([[0], [3]], (5, 1, 6))), i32(np.tile([[-1], [1]], (5, 1, 6))))),
    Case(ir.ScatterElements(axis=1), MATRIX, Constant(i64([[0], [1]])), uniform(2, 1), batch=False,
         text="in0.scatter(1, self.c, in2)"),
    Case(ir.ScatterElements(reduction=Reduction.ADD), (MATRIX * 9).astype(np.int32), i64([[0, 0, 1], [0, 0, -1]]),
         i32([[1, 2, 3]] * 2)),
    *(Case(ir.ScatterND(reduction=reduction), X, indices, uniform(*indices.shape[:-1], *X.shape[indices.shape[-1]:],
         seed=4))
      for reduction in Reduction for indices in (VECTORS, i64([[[3]], [[-2]]]), i64([[0, -1, 2], [1, 1, -1]]))),
    Case(ir.ScatterND(reduction=Reduction.ADD), MATRIX, i64([[1], [1]]), uniform(2, 3), text="accumulate=True"),
    Case(ir.ScatterND(reduction=Reduction.MUL), MATRIX, Constant(i64([[1], [1]])), uniform(2, 3), batch=False),
    Case(ir.ScatterElements(axis=1), X, i64(np.tile([[0], [-1]], (5, 1, 6))), uniform(5, 2, 6), batch=True),
    Case(ir.ScatterND(), X, i64([[[1, 0]], [[-1, 2]], [[0, 1]]]), uniform(3, 1, 6), batch=True,
         closed=(1, 2)),
    Case(ir.ScatterND(), X > 0, VECTORS, uniform(3, 6) > 0),
    *(Case(ir.OneHot(axis=axis), indices, Constant(i64([4])), values) for axis in (-1, 0, 1)
      for indices in (i64([[0, 3], [-1, 4]]), i32([[-4, -5], [2, 7]])) for values in (f32([2, 5]), Constant(f32([0,
           1])))),
    Case(ir.OneHot(), i64([0, 2]), Constant(i64(3)), Constant(i64([0, 1])), batch=True,
         text="one_hot(x, 3).to(torch.int64)"),
    Case(ir.OneHot(), f32([0, 2, -1]), Constant(f32([3])), f32([0, 1])),
    Case(ir.OneHot(), i64([0, 2]), i64([3]), f32([-1, 1])),
    Case(ir.OneHot(), i64(2), Constant(i64([3])), Constant(np.array([False, True])), expected=[np.array([False, False,
         True])]),
    Case(ir.Compress(axis=1), X, np.array([True, False, True, True]), text="in0[:, in1]"),
    Case(ir.Compress(axis=-1), X, np.array([True, False, True])),
    Case(ir.Compress(), X, np.array([False, True, True])),
    Case(ir.Compress(), X[0, 0].copy(), np.array([False, True, True, False, True, True])),
    Case(ir.Compress(axis=0), X, np.array([True] * 5), batch=True),
    *(Case(ir.NonZero(), values) for values in (WITH_ZEROS, WITH_ZEROS > 0, WITH_ZEROS.astype(np.int64), f32(3),
         f32(0), f32([0, 0]))),
    Case(ir.NonZero(), WITH_ZEROS, batch=True, text="x.nonzero().T"),
    Case(ir.NonZero(), BIG, expected=[np.array(np.nonzero(BIG))]),
    *(Case(ir.Unique(axis=axis, sorted=is_sorted), values) for is_sorted in (True, False)
      for axis, values in ((None, f32([2, 1, 1, 3, 4, 3])), (None, COPIES), (0, COPIES), (1, COPIES), (-1, COPIES[:,
           :, None].repeat(2, 2)), (None, i64([[5, -1], [5, 2]])))),
    *(Case(ir.Unique(axis), COPIES, batch=True) for axis in (None, 0)),
    Case(ir.CumProd(), f32([[2, 3, 1]] * 3), Constant(i64(0)), batch=True,
         expected=[f32([[2, 3, 1], [4, 9, 1], [8, 27, 1]])]),
    *(Case(op(exclusive=exclusive, reverse=reverse), X, axis, batch=batch) for op in (ir.CumSum,)
      for exclusive in (False, True) for reverse in (False, True)
      for axis, batch in ((Constant(i64(0)), False), (Constant(i32(-1)), True), (i64(1), True))),
    *(Case(op(exclusive=exclusive, reverse=reverse), f32([[1, 2, 3], [4, 5, 6]]), Constant(i64(1)),
         expected=[f32(expected)])
      for op in (ir.CumProd,) for exclusive, reverse, expected in (
          (False, False, [[1, 2, 6], [4, 20, 120]]), (True, False, [[1, 1, 2], [1, 4, 20]]),
          (False, True, [[6, 6, 3], [120, 30, 6]]), (True, True, [[6, 3, 1], [30, 6, 1]]))),
    Case(ir.CumSum(), i32([[1, 2], [3, 4]]), Constant(i64(1)), text="x.cumsum(1, dtype=torch.int32)"),
    Case(ir.CumSum(exclusive=True), np.zeros((2, 0), np.float32), Constant(i64(1)), expected=[np.zeros((2, 0),
         np.float32)]),
    Case(ir.CumSum(), BIG, Constant(i64(1)), expected=[np.cumsum(BIG, 1)]),
    Case(ir.CumSum(exclusive=True), f32([1, np.inf, 3]), Constant(i64(0)), expected=[f32([0, 1, np.inf])]),
]  # fmt: skip


@pytest.mark.parametrize("case", ROWS, ids=str)
def test_numbers_and_text(case: Case, check: Check) -> None:
    check(case)


def lookup(*, clipped: bool) -> Graph:
    """A table with computed indices, limited to the table or not."""
    graph = Graph("lookup")
    indices = graph.add_input("ids", TensorType(DType.INT64, (symbol("N"),)))
    if clipped:
        indices = graph.add(Clip(), indices, graph.constant(i64(0)), graph.constant(i64(4)))
    graph.set_outputs([graph.add(ir.Gather(), graph.constant(MATRIX), indices)])
    return graph


def test_indices_below_0_count_from_the_end_unless_they_are_clipped() -> None:
    need_torch()
    graph = lookup(clipped=False)
    results, _ = run_module(graph, [i64([-1, 0])])
    np.testing.assert_array_equal(results[0], MATRIX[[-1, 0]])
    graph = lookup(clipped=True)
    found, text = run_module(graph, [i64([-7, 2, 9])])
    np.testing.assert_array_equal(found[0], MATRIX[[0, 2, 4]])
    assert "(x.clamp(0, 4))" in text
    assert not graph.decisions
