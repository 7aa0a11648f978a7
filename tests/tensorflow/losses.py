"""Losses and their gradients: labels as distributions and as numbers of classes."""

from __future__ import annotations

from tests.tensorflow.case import Case, case, data

BOTH = (0, 1)
DENSE, SPARSE = "SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits"
CASES: tuple[Case, ...] = (
    case(DENSE, "loss", data(3, 5), data(3, 5, kind="positive")),
    case(DENSE, "both", data(3, 5, kind="scale:4"), data(3, 5, kind="positive"), slots=BOTH),
    case(DENSE, "gradient", data(4, 3), data(4, 3, kind="positive"), slots=(1,)),
    case(DENSE, "one_row_of_labels", data(3, 5), data(1, 5, kind="positive"), slots=BOTH),
    case(DENSE, "one_row_of_features", data(1, 5), data(3, 5, kind="positive"), slots=BOTH),
    case(DENSE, "one_column_of_features", data(3, 1), data(3, 5, kind="positive"), slots=BOTH, open_axes="batch"),
    case(DENSE, "one_column_of_labels", data(3, 5), data(3, 1, kind="positive"), slots=BOTH),
    case(DENSE, "float64", data(3, 5, dtype="float64"), data(3, 5, dtype="float64", kind="positive"), slots=BOTH),
    case(DENSE, "float16", data(3, 5, dtype="float16"), data(3, 5, dtype="float16", kind="positive"), slots=BOTH),
    case(SPARSE, "loss", data(4, 5), data(4, dtype="int64", kind="indices:5")),
    case(SPARSE, "int32", data(4, 5), data(4, dtype="int32", kind="indices:5")),
    case(SPARSE, "both", data(4, 5, kind="scale:4"), data(4, dtype="int32", kind="indices:5"), slots=BOTH),
    case(SPARSE, "gradient", data(4, 5), data(4, dtype="int64", kind="indices:5"), slots=(1,)),
    case(SPARSE, "float64", data(4, 5, dtype="float64"), data(4, dtype="int64", kind="indices:5"), slots=BOTH),
)
REFUSED: tuple[Case, ...] = ()
