"""Every operator case through import, export and live MXNet, against live TensorFlow, where MXNet can say it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from graphir.converters.mxnet import to_symbol
from graphir.converters.tensorflow import load
from graphir.errors import UnsupportedOpError
from tests.equivalence.live import Live
from tests.equivalence.test_onnx import distance
from tests.tensorflow.case import Case
from tests.tensorflow.conftest import Oracle
from tests.tensorflow.table import CASES

pytestmark = pytest.mark.live

TOLERANCE = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-9}


@pytest.fixture(scope="module")
def mxnet_live() -> Iterator[Live]:
    """Live MXNet in its own process."""
    with Live(onednn=False) as live:
        yield live


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_mxnet_equals_tensorflow(case: Case, tensorflow: Oracle, mxnet_live: Live) -> None:
    if case.mxnet_lacks:
        pytest.skip(case.mxnet_lacks)
    graph = load(case.graph(), outputs=case.outputs)
    try:
        symbol, params = to_symbol(graph)
    except UnsupportedOpError as error:
        pytest.skip(f"MXNet cannot say it: {error}")
    arrays = {name.partition(":")[2]: array for name, array in params.items()} | case.feeds()
    try:
        found = list(mxnet_live.run(symbol, arrays).values())
    except ImportError as error:
        if os.environ.get("GRAPHIR_REQUIRE_MXNET"):
            pytest.fail(f"live MXNet cannot be imported: {error}")
        pytest.skip(f"live MXNet cannot be imported: {error}")
    for value, wanted in zip(found, tensorflow(case), strict=True):
        limit = TOLERANCE.get(str(wanted.dtype), 0.0) if case.tolerance is None else case.tolerance
        assert value.shape in (wanted.shape, wanted.shape or (1,))
        assert distance(value.reshape(wanted.shape), wanted) <= limit
