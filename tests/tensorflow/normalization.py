"""Batch normalization with stored and with computed statistics, normalization across channels."""

from __future__ import annotations

from tests.tensorflow.case import Case, case, data, param


def fused(op: str, variant: str, *shape: int, channels: int = 3, dtype: str = "float32", **attrs: object) -> Case:
    """A FusedBatchNorm with drawn vectors."""
    attrs = {"is_training": False, **attrs}
    vectors = [param("scale", channels), param("offset", channels), param("mean", channels),
               param("variance", channels, kind="positive")]  # fmt: skip
    if attrs["is_training"]:
        vectors[2:] = [param("mean", 0), param("variance", 0)]
    return case(op, variant, data(*shape, dtype=dtype), *vectors, **attrs)


CASES = (
    fused("FusedBatchNorm", "default", 2, 4, 5, 3),
    fused("FusedBatchNormV2", "epsilon", 2, 4, 5, 3, epsilon=0.01, U="float32"),
    fused("FusedBatchNormV3", "default", 2, 4, 5, 3, U="float32"),
    fused("FusedBatchNormV3", "float16", 2, 4, 5, 3, dtype="float16", U="float32"),
    fused("FusedBatchNormV3", "training", 2, 4, 5, 3, U="float32", is_training=True),
    fused("FusedBatchNormV3", "rank_5", 2, 3, 4, 5, 3, U="float32", data_format="NDHWC"),
    case("LRN", "default", data(2, 3, 4, 13)),
    case("LRN", "few_channels", data(2, 3, 4, 7)),
    case("LRN", "attributes", data(1, 4, 3, 9), depth_radius=2, bias=2.0, alpha=0.3, beta=0.75),
    case("LRN", "one_channel", data(2, 3, 4, 1), depth_radius=0, alpha=0.1),
    case("LRN", "float16", data(1, 2, 3, 5, dtype="float16"), depth_radius=1),
)  # fmt: skip
REFUSED: tuple[Case, ...] = ()
