"""Rules of detection operators."""

from __future__ import annotations

from graphir.ops.detection import BoxNMS, MultiBoxDetection, NonMaxSuppression, RoiAlign
from tests.ops.harness import backward, bad, good

ALIGN = RoiAlign(output_height=7, output_width=5)

GOOD = (
    (NonMaxSuppression(), "f[2,9,4] f[2,3,9]", "i[new:count,3]"),
    (NonMaxSuppression(), "f[N,K,4] f[N,3,K] s:10 f[] f[]", "i[new:count,3]"),
    (NonMaxSuppression(), "f[...] f[...] - f[]", "i[new:count,3]"),
    (ALIGN, "f[2,3,8,9] f[6,4] i[6]", "f[6,3,7,5]"),
    (ALIGN, "f[N,C,H,W] f[R,4] i[?]", "f[R,C,7,5]"),
    (ALIGN, "f[...] f[...] i[6]", "f[6,?,7,5]"),
    (BoxNMS(), "f[2,9,6]", "f[2,9,6]"),
    (BoxNMS(score_index=0, coord_start=1), "d[N,K,5]", "d[N,K,5]"),
    (BoxNMS(), "h[...]", "h[?,?,?]"),
    (MultiBoxDetection(), "f[2,4,9] f[2,36] f[1,9,4]", "f[2,9,6]"),
    (MultiBoxDetection(), "f[N,4,?] f[N,36] f[1,?,4]", "f[N,9,6]"),
    (MultiBoxDetection(), "f[...] f[...] f[1,K,4]", "f[?,K,6]"),
)
test_results = good(GOOD)


BAD = (
    (NonMaxSuppression(), "f[2,9,4] f[2,3,8]", "boxes .* and scores .* differ in the number of boxes"),
    (NonMaxSuppression(), "f[2,9,4] f[3,9]", "scores has the shape .* expected 3 axes"),
    (NonMaxSuppression(), "f[2,9,5] f[2,3,9]", "boxes has the shape .* expected 4 numbers a box"),
    (ALIGN, "f[3,8,9] f[6,4] i[6]", "X has the shape .* expected 4 axes"),
    (ALIGN, "f[2,3,8,9] f[6,5] i[6]", "rois has the shape .* expected 4 numbers a region"),
    (ALIGN, "f[2,3,8,9] f[6,4] i[5]", "rois .* and batch_indices .* differ in the number of regions"),
    (ALIGN, "f[2,3,8,9] d[6,4] i[6]", "dtypes float32 and float64 differ"),
    (BoxNMS(), "f[9,6]", "data has the shape .* expected 3 axes"),
    (BoxNMS(), "f[2,9,5]", "expected at least 6 columns"),
    (BoxNMS(id_index=6), "f[2,9,6]", "expected at least 7 columns"),
    (MultiBoxDetection(), "f[2,4,9] f[2,35] f[1,9,4]", "loc_pred has the shape .* expected 4 numbers for each anchor"),
    (MultiBoxDetection(), "f[2,4,9] f[2,32] f[1,9,4]", "scores for 9 anchors, loc_pred .* has 8"),
    (MultiBoxDetection(), "f[2,4,9] f[2,36] f[1,8,4]", "scores for 9 anchors, anchor .* has 8"),
    (MultiBoxDetection(), "f[2,4,9] f[3,36] f[1,9,4]", "cls_prob .* and loc_pred .* differ in the batch"),
)
test_refused = bad(BAD)


BACKWARD = (
    (ALIGN, "[...] [...] i[...]", "f[6,3,7,5]", "f[?,3,?,?] f[6,4] i[6]"),
    (BoxNMS(), "[?,?,6]", "f[2,9,?]", "f[2,9,6]"),
    (MultiBoxDetection(), "[?,4,9] [...] [...]", "f[2,?,6]", "f[2,4,9] f[2,36] f[1,9,4]"),
    (MultiBoxDetection(), "[...] [N,?] [1,K,4]", "[...]", "[N,?,K] [N,4*K] [1,K,4]"),
)
test_operands = backward(BACKWARD)
