"""Rules of functions that ONNX lacks."""

from __future__ import annotations

from graphir.ops.special_functions import ErfInv, Gamma, LogGamma
from tests.ops.harness import backward, bad, good

GOOD = (
    (ErfInv(), "f[2,N]", "f[2,N]"),
    (Gamma(), "d[...]", "d[...]"),
    (LogGamma(), "h[]", "h[]"),
)
test_results = good(GOOD)

BAD = (
    (ErfInv(), "i[2]", "X is int64, expected one of"),
    (Gamma(), "b[2]", "X is bool, expected one of"),
    (LogGamma(), "j[2]", "X is int32, expected one of"),
)
test_refused = bad(BAD)

BACKWARD = ((Gamma(), "f[...]", "f[2,3]", "f[2,3]"),)
test_operands = backward(BACKWARD)
