"""Rules of reductions, positions of extremes and TopK."""

from __future__ import annotations

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
from tests.ops.harness import backward, bad, good, propagated

REDUCTIONS = (
    *(ReduceL1, ReduceL2, ReduceLogSum, ReduceLogSumExp, ReduceMax, ReduceMean, ReduceMin, ReduceProd, ReduceSum),
    ReduceSumSquare,
)
GOOD = (
    *((cls(keepdims=False), "f[2,N,4] i:1", "f[2,4]") for cls in REDUCTIONS),
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
test_results = good(GOOD)


BAD = (
    *((cls(), "f[2,3] i:2", "axis 2 does not exist in a tensor of rank 2") for cls in REDUCTIONS),
    (ArgMin(axis=2), "f[2,3]", "axis 2 does not exist"),
    (ReduceSum(), "f[2,3] i:2", "axis 2 does not exist in a tensor of rank 2"),
    (ReduceSum(), "f[2,3] i:1,-1", "name an axis of .* twice"),
    (ArgMax(axis=-3), "f[2,3]", "axis -3 does not exist"),
    (TopK(), "f[2,3] i:4", "K is 4, but axis 1 of .* has 3 elements"),
    (TopK(axis=2), "f[2,3] i:1", "axis 2 does not exist"),
)
test_refused = bad(BAD)


BACKWARD = (
    (ReduceSum(), "[...] i:1", "f[2,1]", "f[?,?] i:1"),
    (ReduceSum(keepdims=False), "[...]", "f[2]", "f[...]"),
    (ArgMax(axis=1), "f[...]", "i[2,1,4]", "f[2,?,4]"),
    (ArgMin(axis=-1, keepdims=False), "f[?,?]", "i[2]", "f[2,?]"),
    (TopK(), "[...] [1]", "f[2,3] i[2,3]", "f[2,?] i[1]"),
)
test_operands = backward(BACKWARD)


FOLLOWED = (
    (ReduceProd(keepdims=False), "i:2,N,4", "s:8*N"),
    (ReduceProd(), "i:2,3 i:0", "i:6"),
    (ReduceSum(keepdims=False), "i:2,N,4", "s:N+6"),
    (ReduceMax(keepdims=False), "i:2,7,4", "s:7"),
    (ReduceMin(), "i:2,7,4", "i:2"),
    (ReduceSum(noop_with_empty_axes=True), "i:2,7", "i:2,7"),
    (ReduceSum(), "s:3", "s:3"),
)
test_elements = propagated(FOLLOWED)
