"""Reductions, positions of extremes and top-k in torch."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from graphir.ops import reduction as ir
from tests.converters.pytorch.cases import Case, Check, Constant, uniform

i64 = partial(np.array, dtype=np.int64)
X = uniform(3, 5, 7)
POSITIVE = uniform(3, 5, 7, low=0.1)
TIES = np.round(uniform(4, 6, 5, low=-2, high=2))
REDUCTIONS: tuple[Any, ...] = (
    *(ir.ReduceSum, ir.ReduceMean, ir.ReduceMax, ir.ReduceMin, ir.ReduceProd, ir.ReduceL1, ir.ReduceL2),
    *(ir.ReduceLogSum, ir.ReduceLogSumExp, ir.ReduceSumSquare),
)
NUMPY: dict[Any, Any] = {ir.ReduceSum: np.sum, ir.ReduceMax: np.max, ir.ReduceMin: np.min, ir.ReduceProd: np.prod}
BIG = np.array([[0, 2**63, 5], [2**64 - 1, 1, 2**63 - 1]], np.uint64)
NANS = np.array([[1, np.nan, 3, -2], [np.nan] * 4, [0, 5, np.nan, -np.inf], [np.inf, 1, 2, 3]], np.float32)

ROWS = [
    *(Case(op(keepdims=keepdims), POSITIVE, Constant(i64([1])), batch=True) for op in REDUCTIONS
      for keepdims in (True, False)),
    *(Case(op(keepdims=keepdims), POSITIVE) for op in REDUCTIONS for keepdims in (True, False)),
    *(Case(op(keepdims=keepdims), POSITIVE, Constant(i64([-1, 1]))) for op in REDUCTIONS for keepdims in (True, False)),
    *(Case(op(noop_with_empty_axes=True), POSITIVE - 1) for op in REDUCTIONS if op is not ir.ReduceLogSum),
    *(Case(op(), np.float32(2.5)) for op in REDUCTIONS),
    *(Case(op(), POSITIVE, i64([-1, 0])) for op in REDUCTIONS),
    *(Case(op(keepdims=False), POSITIVE, i64([-1, 0])) for op in REDUCTIONS),
    Case(ir.ReduceProd(), np.ones((2, 3), np.int32), i64([1])),
    *(Case(ir.ReduceSum(noop_with_empty_axes=True), POSITIVE, axes) for axes in (i64([]), i64([1]))),
    *(Case(op(keepdims=False), uniform(3, 5, low=1, dtype=dtype), Constant(i64([1]))) for op in REDUCTIONS
      for dtype in ("int32", "float64") if (op, dtype) != (ir.ReduceLogSumExp, "int32")),
    *(Case(op(), uniform(3, 5, low=1, high=9, dtype="int64"), Constant(i64([0])), batch=True)
      for op in (ir.ReduceSum, ir.ReduceMax, ir.ReduceMin)),
    *(Case(op(), uniform(3, 5, low=0.1, dtype="float16"), Constant(i64([1]))) for op in (ir.ReduceSum, ir.ReduceMean)),
    Case(ir.ReduceMean(), np.array([[-7, 2], [3, -8]], np.int32), Constant(i64([1]))),
    *(Case(op(), BIG, Constant(i64([1])), expected=[NUMPY[op](BIG, 1, keepdims=True)]) for op in NUMPY),
    *(Case(op(keepdims=False), BIG.astype(np.uint32), expected=[NUMPY[op](BIG.astype(np.uint32), dtype=np.uint32)
                                                               if op in (ir.ReduceSum, ir.ReduceProd)
                                                               else NUMPY[op](BIG.astype(np.uint32))])
      for op in NUMPY),
    # Where there is NaN, ONNX's reference has NaN as numpy; onnxruntime skips some by their place.
    *(Case(op(), NANS, Constant(i64([1])), expected=[NUMPY[op](NANS, 1, keepdims=True)])
      for op in (ir.ReduceMax, ir.ReduceMin)),
    Case(ir.ArgMax(axis=1), NANS, expected=[NANS.argmax(1, keepdims=True)]),
    Case(ir.ArgMin(axis=1), NANS, expected=[NANS.argmin(1, keepdims=True)]),
    Case(ir.TopK(), NANS, Constant(i64([3]))),
    *(Case(op(), X > 0, Constant(i64([2])), expected=[NUMPY[op](X > 0, 2, keepdims=True)])
      for op in (ir.ReduceMax, ir.ReduceMin)),
    *(Case(op(), np.zeros((2, 0, 3), np.float32), Constant(i64([1])), expected=[np.full((2, 1, 3), value, np.float32)])
      for op, value in ((ir.ReduceMax, -np.inf), (ir.ReduceMin, np.inf), (ir.ReduceSum, 0), (ir.ReduceProd, 1),
                        (ir.ReduceL1, 0), (ir.ReduceL2, 0), (ir.ReduceLogSum, -np.inf), (ir.ReduceSumSquare, 0),
                        (ir.ReduceLogSumExp, -np.inf))),
    *(Case(op(keepdims=False), np.zeros((2, 0), dtype), Constant(i64([1])), expected=[np.full(2, value, dtype)])
      for op, dtype, value in ((ir.ReduceMax, "int8", -128), (ir.ReduceMin, "uint8", 255), (ir.ReduceMax, "bool", 0),
                               (ir.ReduceMin, "int64", 2**63 - 1))),
    Case(ir.ReduceLogSumExp(), np.array([[1000, 1001], [-np.inf, -np.inf]], np.float32), Constant(i64([1]))),
    Case(ir.ReduceMean(), X, Constant(i64([1, 2])), text="x.mean((1, 2), keepdim=True)"),
    Case(ir.ReduceSum(keepdims=False), X, text="x.sum()"),
    Case(ir.ReduceSum(keepdims=False), np.ones((3, 4), np.int32), Constant(i64([0])),
         text="x.sum(0, dtype=torch.int32)"),
    Case(ir.ReduceProd(), X, Constant(i64([0, 2])), text="x.prod(2, keepdim=True).prod(0, keepdim=True)"),
    Case(ir.ReduceL2(), X, Constant(i64([-1])), text="torch.linalg.vector_norm(x, dim=2, keepdim=True)"),
    *(Case(op(axis=axis, keepdims=axis > 0, select_last_index=last), TIES, batch=True)
      for op in (ir.ArgMax, ir.ArgMin) for axis in (0, -1, 1) for last in (False, True)),
    *(Case(op(axis=1), values) for op in (ir.ArgMax, ir.ArgMin)
      for values in (TIES.astype(np.int32), TIES.astype(np.float64), (TIES + 2).astype(np.uint8))),
    *(Case(op(axis=1), BIG, expected=[function(BIG, axis=1, keepdims=True)])
      for op, function in ((ir.ArgMax, np.argmax), (ir.ArgMin, np.argmin))),
    Case(ir.ArgMax(axis=1, keepdims=False), X, text="x.argmax(1)"),
    *(Case(ir.TopK(axis=axis, largest=largest), TIES, Constant(i64([3])), batch=axis != 0)
      for axis in (0, 1, -1) for largest in (True, False)),
    Case(ir.TopK(), TIES, i64([2])),
    Case(ir.TopK(axis=0), TIES[:, 0, 0].copy(), Constant(i64([4]))),
    Case(ir.TopK(), TIES.astype(np.int64), Constant(i64([5]))),
    Case(ir.TopK(sorted=False), X, Constant(i64([7])), expected=[np.sort(X)[..., ::-1], np.argsort(-X, kind="stable")]),
    Case(ir.TopK(), BIG, Constant(i64([2])), expected=[np.sort(BIG)[:, :-3:-1], i64([[1, 2], [0, 2]])]),
    Case(ir.TopK(), X, Constant(i64([3])), text="order = x.sort(descending=True, stable=True)"),
]  # fmt: skip


@pytest.mark.parametrize("case", ROWS, ids=str)
def test_numbers_and_text(case: Case, check: Check) -> None:
    check(case)
