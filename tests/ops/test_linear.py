"""Rules of matrix products."""

from __future__ import annotations

from graphir.ops.linear import Det, Einsum, Gemm, MatMul, MatMulInteger
from graphir.types import symbol
from tests.ops.harness import backward, bad, good, macs

GOOD = (
    (Gemm(), "f[2,3] f[3,4]", "f[2,4]"),
    (Gemm(transA=True), "f[3,2] f[3,4]", "f[2,4]"),
    (Gemm(transB=True), "f[2,3] f[4,3] f[4]", "f[2,4]"),
    (Gemm(transB=True), "f[N,3] f[4,3] f[4]", "f[N,4]"),
    (Gemm(transB=True), "f[...] f[4,?]", "f[?,4]"),
    (Gemm(), "f[...] f[...]", "f[?,?]"),
    (Gemm(), "f[2,3] f[3,4] -", "f[2,4]"),
    (Gemm(), "f[2,3] f[3,4] f[...]", "f[2,4]"),
    (Gemm(), "f[2,3] f[3,4] f[2,1]", "f[2,4]"),
    (MatMul(), "f[2,3] f[3,4]", "f[2,4]"),
    (MatMul(), "f[3] f[3,4]", "f[4]"),
    (MatMul(), "f[2,3] f[3]", "f[2]"),
    (MatMul(), "f[3] f[3]", "f[]"),
    (MatMul(), "f[N,2,3] f[3,4]", "f[N,2,4]"),
    (MatMul(), "f[5,1,2,3] f[6,3,4]", "f[5,6,2,4]"),
    (MatMul(), "f[N,T,?] f[N,3,T]", "f[N,T,T]"),
    (MatMul(), "f[...] f[3,4]", "f[...]"),
    (MatMulInteger(), "u[2,3] q[3,4] u[] q[4]", "j[2,4]"),
    (Einsum("ij,jk->ik"), "f[2,3] f[3,N]", "f[2,N]"),
    (Einsum("ij,jk"), "f[2,3] f[3,4]", "f[2,4]"),
    (Einsum("abk,kcd->abcd"), "f[2,3,4] f[4,5,6]", "f[2,3,5,6]"),
    (Einsum("...ij,...jk->...ik"), "f[7,2,3] f[3,4]", "f[7,2,4]"),
    (Einsum("ii->i"), "f[3,3]", "f[3]"),
    (Einsum("ij->"), "f[3,4]", "f[]"),
    (Einsum("ij,jk->ik"), "f[...] f[3,4]", "f[?,4]"),
    (Einsum("...i->..."), "f[...]", "f[...]"),
    (Einsum("ij,ij->ij"), "f[1,3] f[N,3]", "f[N,3]"),
    (Einsum("ij,ij->ij"), "f[?,3] f[1,1]", "f[?,3]"),
    (Det(), "f[3,3]", "f[]"),
    (Det(), "f[N,3,?]", "f[N]"),
    (Det(), "f[...]", "f[...]"),
)
test_results = good(GOOD)


BAD = (
    (Gemm(), "f[2,3] f[4,5]", "do not multiply: 3 columns meet 4 rows"),
    (Gemm(transB=True), "f[2,3] f[3,4]", "do not multiply"),
    (Gemm(), "f[2,3,1] f[3,4]", "A has the shape .* expected 2 axes"),
    (Gemm(), "f[2,3] f[3,4] f[3]", "does not broadcast"),
    (Gemm(), "f[1,3] f[3,4] f[2,4]", "does not broadcast"),
    (Gemm(), "f[2,3] d[3,4]", "dtypes float32 and float64 differ"),
    (MatMul(), "f[2,3] f[2,3]", "do not multiply: 3 columns meet 2 rows"),
    (MatMul(), "f[] f[2,3]", "a scalar is no matrix"),
    (MatMul(), "f[2,3,4] f[3,4,5]", "do not broadcast"),
    (MatMulInteger(), "f[2,3] q[3,4]", "A is float32, expected int8 or uint8"),
    (Einsum("ij,jk->ik"), "f[2,3]", "2 terms, found 1 operands"),
    (Einsum("ij,jk->ik"), "f[2,3] f[4,5]", "label j is both 3 and 4"),
    (Einsum("ij->i"), "f[2]", "operand 0 has the shape"),
    (Einsum("ij->k"), "f[2,3]", "label k is in no operand"),
    (Det(), "f[2,3]", "expected square matrices"),
    (Det(), "f[2]", "expected square matrices"),
)
test_refused = bad(BAD)


BACKWARD = (
    (Gemm(transB=True), "f[100,100] [10,?] [10]", "f[100,10]", "f[100,100] f[10,100] f[10]"),
    (Gemm(), "f[?,3] f[...]", "f[2,4]", "f[2,3] f[3,4]"),
    (Gemm(transA=True), "f[...] f[3,4]", "f[N,4]", "f[3,N] f[3,4]"),
    (MatMul(), "f[N,T,8] [?,?]", "f[N,T,4]", "f[N,T,8] f[8,4]"),
    (MatMul(), "f[N,?] f[3]", "f[N]", "f[N,3] f[3]"),
    (Einsum("ij,jk->ik"), "f[...] [3,4]", "f[2,4]", "f[?,?] f[3,4]"),
    (Det(), "f[...]", "f[7]", "f[7,?,?]"),
)
test_operands = backward(BACKWARD)


MACS = (
    (Gemm(transB=True), "f[2,3] f[4,3]", 24),
    (Gemm(), "f[N,3] f[3,4]", 12 * symbol("N")),
    (MatMul(), "f[5,2,3] f[3,4]", 120),
    (Einsum("abk,kc->abc"), "f[2,3,4] f[4,5]", 120),
)
test_macs = macs(MACS)
