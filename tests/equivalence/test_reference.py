"""The numpy reference evaluator against live MXNet, operator by operator."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from graphir.converters.mxnet.nnvm_json import read_symbol
from graphir.converters.mxnet.reference import supported
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.errors import GraphirError
from numpy.typing import NDArray

from tests.equivalence.case import Case
from tests.equivalence.live import Live, LiveError
from tests.equivalence.table import CASES, REFUSED

TOLERANCE = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-11}


class Oracle:
    """Live MXNet for cases: one process for plain operators, one with oneDNN."""

    def __init__(self) -> None:
        self._processes = {onednn: Live(onednn) for onednn in (False, True)}

    def __call__(self, case: Case) -> dict[str, NDArray[np.generic]]:
        """MXNet's outputs by name; skips without MXNet, unless GRAPHIR_REQUIRE_MXNET wants it."""
        try:
            return self._processes[case.onednn].run(case.symbol_json(), case.arrays())
        except ImportError as error:
            if os.environ.get("GRAPHIR_REQUIRE_MXNET"):
                pytest.fail(f"GRAPHIR_REQUIRE_MXNET is set: {error}")
            pytest.skip(f"live MXNet: {error}")

    def close(self) -> None:
        """End the processes."""
        for process in self._processes.values():
            process.__exit__()


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    found = Oracle()
    yield found
    found.close()


def distance(found: NDArray[np.generic], expected: NDArray[np.generic]) -> float:
    """The largest difference relative to the largest finite magnitude; infinite where only one is finite."""
    left, right = found.astype(np.float64), expected.astype(np.float64)
    if not np.array_equal(np.isfinite(left), np.isfinite(right)):
        return float("inf")
    odd = ~np.isfinite(right)
    if not np.array_equal(left[odd], right[odd], equal_nan=True):
        return float("inf")
    scale = max(float(np.abs(right[~odd]).max(initial=0.0)), 1e-30)
    return float(np.abs(left[~odd] - right[~odd]).max(initial=0.0)) / scale


@pytest.mark.live
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reference_equals_mxnet(case: Case, oracle: Oracle) -> None:
    expected = oracle(case)
    found = evaluate(read_symbol(case.symbol_json()), case.arrays())
    described = {name: (value.dtype, value.shape) for name, value in found.items()}
    assert described == {name: (value.dtype, value.shape) for name, value in expected.items()}
    tolerance = case.tolerance
    for name, value in expected.items():
        limit = TOLERANCE.get(str(value.dtype), 0.0) if tolerance is None else tolerance
        assert distance(found[name], value) <= limit, name


@pytest.mark.live
@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_mxnet_refuses(case: Case, oracle: Oracle) -> None:
    with pytest.raises(LiveError):
        oracle(case)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_reference_refuses(case: Case) -> None:
    with pytest.raises(GraphirError, match=case.node):
        evaluate(read_symbol(case.symbol_json()), case.arrays())


def test_every_reference_operator_has_a_case() -> None:
    gpu_only = {"CuDNNBatchNorm"}
    unnamed = {"_zeros_without_dtype"}
    assert set(supported()) - {case.op for case in CASES} - gpu_only - unnamed == set()


def test_names_are_unique() -> None:
    counts = Counter(case.name for case in (*CASES, *REFUSED))
    assert [name for name, count in counts.items() if count > 1] == []
