"""Batch normalization with stored and with computed statistics."""

from __future__ import annotations

from tests.tensorflow.case import Case, case, data, param


def fused(op: str, variant: str, *shape: int, channels: int = 3, dtype: str = "float32", **attrs: object) -> Case:
    """A FusedBatchNorm with drawn vectors."""
    attrs = {"is_training": False, **attrs}
    vectors = [param("scale", channels), param("offset", channels), param("mean", channels),
               param("variance", channels, kind="positive")]  # fmt: skip
    if attrs["is_training"]:
        vectors[2:] = [param("mean", 0), param("variance", 0)]
    return case(op, variant, data(*shape, dtype=dtype), *vectors, **attrs)  # type: ignore[arg-type]


CASES = (
    fused("FusedBatchNorm", "default", 2, 4, 5, 3),
    fused("FusedBatchNormV2", "epsilon", 2, 4, 5, 3, epsilon=0.01, U="float32"),
    fused("FusedBatchNormV3", "default", 2, 4, 5, 3, U="float32"),
    fused("FusedBatchNormV3", "float16", 2, 4, 5, 3, dtype="float16", U="float32"),
    fused("FusedBatchNormV3", "training", 2, 4, 5, 3, U="float32", is_training=True),
    fused("FusedBatchNormV3", "rank_5", 2, 3, 4, 5, 3, U="float32", data_format="NDHWC"),
)
REFUSED: tuple[Case, ...] = ()
