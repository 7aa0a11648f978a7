"""Every operator case through import, export and live MXNet, against live TensorFlow, where MXNet can say it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from graphir.converters.mxnet import to_symbol
from graphir.converters.tensorflow import load
from graphir.errors import UnsupportedOpError
from tests.equivalence.live import LivePair
from tests.equivalence.test_onnx import distance
from tests.requirements import needing
from tests.tensorflow.case import Case
from tests.tensorflow.conftest import Oracle
from tests.tensorflow.table import CASES

pytestmark = pytest.mark.live

# Cases whose results have no fixed size, or whose attributes are computed; of bits, of branches of other shapes.
UNWRITTEN = {
    "Bitcast-float_to_int", "CombinedNonMaxSuppression-default", "CombinedNonMaxSuppression-few",
    "CombinedNonMaxSuppression-no_clip", "CombinedNonMaxSuppression-own_boxes",
    "CombinedNonMaxSuppression-pad_per_class", "CombinedNonMaxSuppression-threshold",
    "DynamicPartition-DynamicStitch-default", "DynamicPartition-default", "DynamicPartition-matrix",
    "If-shapes-differ-default", "ListDiff-computed", "ListDiff-int64", "NonMaxSuppression-attributes",
    "NonMaxSuppression-default", "NonMaxSuppressionV2-computed", "NonMaxSuppressionV2-default",
    "NonMaxSuppressionV3-at_threshold", "NonMaxSuppressionV3-default", "NonMaxSuppressionV3-float16",
    "NonMaxSuppressionV3-none_left", "NonMaxSuppressionV3-random", "NonMaxSuppressionV4-cut",
    "NonMaxSuppressionV4-default", "NonMaxSuppressionV4-padded", "NonMaxSuppressionV5-default",
    "NonMaxSuppressionV5-padded", "NonMaxSuppressionV5-scores", "PadV2-value", "Range-float16-default",
    "Slice-fed_size-default", "Unique-default", "Unique-int64", "UniqueV2-flat", "UniqueV2-rows",
    "UniqueV2-vector_axis", "UniqueWithCounts-default", "UniqueWithCountsV2-default", "Where-matrix",
    "Where-nothing", "Where-vector", "boolean-mask-default",
}  # fmt: skip
REASONS = r"computed|fixed size|depends on the data|no Where selects|bits of"
TOLERANCE = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-9}


@pytest.fixture(scope="module")
def mxnet_live() -> Iterator[LivePair]:
    """Live MXNet in processes of its own."""
    with LivePair() as live:
        yield live


@pytest.mark.one_of(8)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_mxnet_equals_tensorflow(case: Case, tensorflow: Oracle, mxnet_live: LivePair) -> None:
    if case.mxnet_lacks:
        pytest.skip(case.mxnet_lacks)
    graph = load(case.graph(), outputs=case.outputs)
    if case.name in UNWRITTEN:
        with pytest.raises(UnsupportedOpError, match=REASONS):
            to_symbol(graph)
        return
    symbol, params = to_symbol(graph)
    arrays = {name.partition(":")[2]: array for name, array in params.items()} | case.feeds()
    with needing("MXNet"):
        found = list(mxnet_live.run(symbol, arrays).values())
    for value, wanted in zip(found, tensorflow(case), strict=True):
        limit = TOLERANCE.get(str(wanted.dtype), 0.0) if case.tolerance is None else case.tolerance
        assert value.shape in (wanted.shape, wanted.shape or (1,))
        assert distance(value.reshape(wanted.shape), wanted) <= limit
