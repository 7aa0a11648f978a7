"""Rules of the losses."""

from __future__ import annotations

from graphir.ops.losses import LossReduction, NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss
from tests.ops.harness import bad, good
from tests.ops.rule import backwards

EACH = LossReduction.NONE

GOOD = (
    (NegativeLogLikelihoodLoss(), ("float32[N,5]", "int64[N]"), ["float32[]"]),
    (NegativeLogLikelihoodLoss(EACH), ("float32[N,5,4]", "int64[N,4]", "float32[5]"), ["float32[N, 4]"]),
    (NegativeLogLikelihoodLoss(EACH), ("float32[...]", "int32[3,?]"), ["float32[3, ?]"]),
    (SoftmaxCrossEntropyLoss(), ("float32[N,5]", "int64[N]"), ["float32[]", "float32[N, 5]"]),
    (SoftmaxCrossEntropyLoss(EACH), ("float32[N,5,4]", "int64[?,?]"), ["float32[N, 4]", "float32[N, 5, 4]"]),
    (SoftmaxCrossEntropyLoss(LossReduction.SUM), ("float32[...]", "int64[...]"), ["float32[]", "float32[...]"]),
)

BAD = (
    (NegativeLogLikelihoodLoss(), ("float32[5]", "int64[5]"), "expected .N, C"),
    (NegativeLogLikelihoodLoss(), ("float32[3,5]", "float32[3]"), "the labels are float32"),
    (NegativeLogLikelihoodLoss(), ("float32[3,5]", "int64[4]"), "expected .3."),
    (SoftmaxCrossEntropyLoss(), ("float32[3,5]", "int64[3]", "float32[4]"), "one for each of 5 classes"),
    (SoftmaxCrossEntropyLoss(), ("float32[3,5]", "int64[3]", "float32[5,1]"), "one for each of 5 classes"),
    (SoftmaxCrossEntropyLoss(), ("float32[3,5]", "int64[3]", "float64[5]"), "float32 and float64 differ"),
)
test_results = good(GOOD)
test_refused = bad(BAD)


def test_infers_backwards() -> None:
    found = backwards(NegativeLogLikelihoodLoss(), ("float32[N,5,4]", "int64[...]", "?[...]"), ("float32[]",))
    assert found == ["float32[N, 5, 4]", "int64[N, 4]", "float32[5]"]
