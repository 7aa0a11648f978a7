"""Rules of matrices' factors."""

from __future__ import annotations

from graphir.ops.factorization import LQ, SVD, Cholesky, Inverse, SignLogDet, Solve, SymmetricEigen, TriangularSolve
from graphir.types import symbol
from tests.ops.harness import backward, bad, good, macs

N = symbol("N")

GOOD = (
    (Cholesky(), "f[3,3]", "f[3,3]"),
    (Cholesky(lower=False), "d[N,3,?]", "d[N,3,3]"),
    (Cholesky(), "f[...]", "f[...]"),
    (Inverse(), "f[2,N,3,3]", "f[2,N,3,3]"),
    (TriangularSolve(), "f[3,3] f[3,4]", "f[3,4]"),
    (TriangularSolve(rightside=True), "f[N,3,3] f[N,4,3]", "f[N,4,3]"),
    (TriangularSolve(lower=False, transpose=True), "d[2,3,3] d[2,3,1]", "d[2,3,1]"),
    (TriangularSolve(), "f[...] f[3,4]", "f[3,4]"),
    (Solve(), "f[3,3] f[3,4]", "f[3,4]"),
    (Solve(), "f[N,3,3] f[N,?,2]", "f[N,3,2]"),
    (SignLogDet(), "f[3,3]", "f[] f[]"),
    (SignLogDet(), "d[N,2,2]", "d[N] d[N]"),
    (SignLogDet(), "f[...]", "f[...] f[...]"),
    (LQ(), "f[2,3]", "f[2,3] f[2,2]"),
    (LQ(), "d[N,3,3]", "d[N,3,3] d[N,3,3]"),
    (SymmetricEigen(), "f[3,3]", "f[3,3] f[3]"),
    (SymmetricEigen(), "d[N,2,2]", "d[N,2,2] d[N,2]"),
    (SVD(), "f[2,3]", "f[2,2] f[2] f[2,3]"),
    (SVD(), "d[N,2,2]", "d[N,2,2] d[N,2] d[N,2,2]"),
)
test_results = good(GOOD)

BAD = (
    (Cholesky(), "f[2,3]", "expected square matrices"),
    (Cholesky(), "f[2]", "expected matrices"),
    (Cholesky(), "h[2,2]", "A is float16, expected one of float32, float64"),
    (Inverse(), "f[2,3]", "expected square matrices"),
    (TriangularSolve(), "f[3,3] f[2,4]", "do not fit"),
    (TriangularSolve(rightside=True), "f[3,3] f[3,4]", "do not fit"),
    (TriangularSolve(), "f[2,3,3] f[3,4]", "do not fit"),
    (TriangularSolve(), "f[3,3] d[3,4]", "dtypes float32 and float64 differ"),
    (Solve(), "f[3,3] f[3]", "B has the shape .* expected matrices"),
    (Solve(), "f[2,3,3] f[1,3,4]", "do not fit"),
    (SignLogDet(), "f[2,3]", "expected square matrices"),
    (LQ(), "f[3,2]", "expected not more rows than columns"),
    (SymmetricEigen(), "f[3,2]", "expected square matrices"),
    (SVD(), "f[3,2]", "expected not more rows than columns"),
)
test_refused = bad(BAD)

BACKWARD = (
    (Cholesky(), "f[...]", "f[2,2]", "f[2,2]"),
    (TriangularSolve(), "f[...] f[...]", "f[3,4]", "f[3,3] f[3,4]"),
    (TriangularSolve(rightside=True), "f[...] f[...]", "f[3,4]", "f[4,4] f[3,4]"),
    (Solve(), "[?,?] f[...]", "f[3,4]", "f[3,3] f[3,4]"),
    (SignLogDet(), "f[...]", "f[7] f[7]", "f[7,?,?]"),
    (LQ(), "f[...]", "f[2,3] f[2,2]", "f[2,3]"),
    (SVD(), "f[...]", "f[2,2] f[2] f[2,3]", "f[2,3]"),
)
test_operands = backward(BACKWARD)

MACS = (
    (Cholesky(), "f[4,4]", 10),
    (Inverse(), "f[N,2,2]", 8 * N),
    (TriangularSolve(), "f[3,3] f[3,4]", 12),
    (Solve(), "f[3,3] f[3,1]", 11),
    (SignLogDet(), "f[2,3,3]", 10),
    (LQ(), "f[2,3]", 60),
)
test_macs = macs(MACS)
