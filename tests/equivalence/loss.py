"""Cases of loss heads, which at inference compute predictions."""

from __future__ import annotations

from tests.equivalence.case import Case, case, data, label

CASES: tuple[Case, ...] = (
    case("SoftmaxOutput", "2d", data(3, 5), label(3)),
    case("SoftmaxOutput", "2d_training_attributes", data(3, 5), label(3), grad_scale=0.5, ignore_label=1.0,
         use_ignore=True, normalization="valid", smooth_alpha=0.1),
    case("SoftmaxOutput", "flattened_3d", data(2, 3, 4), label(2, 3)),
    case("SoftmaxOutput", "flattened_4d", data(2, 3, 2, 2), label(2, 3, 2)),
    case("SoftmaxOutput", "multi_output_4d", data(2, 3, 4, 4), label(2, 4, 4), multi_output=True),
    case("SoftmaxOutput", "multi_output_3d", data(2, 3, 4), label(2, 4), multi_output=True),
    case("SoftmaxOutput", "preserve_shape_3d", data(2, 3, 4), label(2, 3), preserve_shape=True),
    case("SoftmaxOutput", "large_logits", data(3, 5, kind="scale:300"), label(3)),
    case("LinearRegressionOutput", "plain", data(3, 5), label(3, 5)),
    case("LogisticRegressionOutput", "plain", data(3, 5), label(3, 5)),
    case("MAERegressionOutput", "plain", data(3, 5), label(3, 5)),
    case("SVMOutput", "plain", data(3, 5), label(3), margin=0.5, use_linear=True),
    case("MakeLoss", "plain", data(3, 5), grad_scale=2.0, normalization="batch"),
    case("make_loss", "plain", data(3, 5)),
    case("SoftmaxOutput", "trailing_ones", data(2, 3, 1, 1), label(2, 3, 1)),
    case("SoftmaxOutput", "float16", data(3, 5, dtype="float16"), label(3, dtype="float16")),
    case("SoftmaxOutput", "float64", data(3, 5, dtype="float64"), label(3, dtype="float64")),
    case("SoftmaxOutput", "multi_output_5d", data(2, 3, 2, 2, 2), label(2, 2, 2, 2), multi_output=True),
    case("SoftmaxOutput", "multi_output_2d", data(2, 3), label(2), multi_output=True),
    case("SoftmaxOutput", "preserve_shape_4d", data(2, 3, 4, 2), label(2, 3, 4), preserve_shape=True),
    case("SoftmaxOutput", "one_axis", data(3), label(3)),
    case("LogisticRegressionOutput", "float16_3d", data(2, 3, 2, dtype="float16"), label(2, 3, 2, dtype="float16")),
    case("LinearRegressionOutput", "flat_label", data(3, 1), label(3)),
    case("smooth_l1", "float16", data(3, 4, dtype="float16", kind="scale:2")),
    case("smooth_l1", "float64_scalar_3", data(3, 4, dtype="float64"), scalar=3.0),
    case("smooth_l1", "int32", data(3, 4, dtype="int32")),
    case("softmax_cross_entropy", "plain", data(3, 5), label(3)),
    case("softmax_cross_entropy", "certain", data(3, 5, kind="scale:50"), label(3)),
)  # fmt: skip

REFUSED: tuple[Case, ...] = ()
