"""The numpy reference evaluator against live MXNet, operator by operator."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference import supported
from graphir.converters.mxnet.reference.elementwise_unary import ERF_ONE, ERF_STEPS, erf
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.mxnet.schema.registry import mxnet2_operators
from graphir.errors import GraphirError, VerificationError
from graphir.runtime.machine import has_exact_8_bit_products
from tests.equivalence.case import Case
from tests.equivalence.live import Live, LiveError
from tests.equivalence.table import CASES, REFUSED, thinned
from tests.requirements import needing

TOLERANCE = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-11}


class Oracle:
    """Live MXNet for cases: one process for plain operators, one with oneDNN."""

    def __init__(self) -> None:
        self._processes = {onednn: Live(onednn) for onednn in (False, True)}

    def __call__(self, case: Case) -> dict[str, NDArray[np.generic]]:
        """MXNet's outputs by name; skips without MXNet, unless GRAPHIR_REQUIRE_MXNET wants it."""
        with needing("MXNet"):
            return self._processes[case.onednn].run(case.symbol_json(), case.arrays())

    def close(self) -> None:
        """End the processes."""
        for process in self._processes.values():
            process.__exit__()

# Half of a weight of up to 127 is rounded by at most 1/2, which is a step of 1 in 127 for each term of a sum; where the
# terms' errors have both signs, some hundredths of the largest sum remain.
HALVED_WEIGHTS = 0.05
HAS_VNNI = has_exact_8_bit_products()


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    """Live MXNet for the module."""
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
@pytest.mark.parametrize("case", thinned(CASES))
def test_reference_equals_mxnet(case: Case, oracle: Oracle) -> None:
    expected = oracle(case)
    found = evaluate(read_symbol(case.symbol_json()), case.arrays())
    described = {name: (value.dtype, value.shape) for name, value in found.items()}
    assert described == {name: (value.dtype, value.shape) for name, value in expected.items()}
    tolerance = case.tolerance
    for name, value in expected.items():
        limit = TOLERANCE.get(str(value.dtype), 0.0) if tolerance is None else tolerance
        limit = max(limit, HALVED_WEIGHTS) if case.halved_weights and not HAS_VNNI else limit
        assert distance(found[name], value) <= limit, name


@pytest.mark.live
@pytest.mark.one_of(8, by="case.op")
@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_mxnet_refuses(case: Case, oracle: Oracle) -> None:
    with pytest.raises(LiveError):
        oracle(case)


@pytest.mark.one_of(8, by="case.op")
@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_reference_refuses(case: Case) -> None:
    with pytest.raises(GraphirError, match=case.node):
        evaluate(read_symbol(case.symbol_json()), case.arrays())


TWO_LAYERS = """{
 "nodes": [
  {"op": "null", "name": "data", "inputs": []},
  {"op": "null", "name": "fc_weight", "inputs": []},
  {"op": "FullyConnected", "name": "fc", "attrs": {"num_hidden": "2", "no_bias": "True"},
   "inputs": [[0, 0, 0], [1, 0, 0]]},
  {"op": "Activation", "name": "act", "attrs": {"act_type": "relu"}, "inputs": [[2, 0, 0]]},
  {"op": "Activation", "name": "act", "attrs": {"act_type": "sigmoid"}, "inputs": [[3, 0, 0]]},
  {"op": "null", "name": "softmax_label", "inputs": []},
  {"op": "Reshape", "name": "labels", "attrs": {"shape": "(-1,)"}, "inputs": [[5, 0, 0]]},
  {"op": "SoftmaxOutput", "name": "softmax", "inputs": [[4, 0, 0], [6, 0, 0]]}
 ],
 "arg_nodes": [0, 1, 5], "heads": [[7, 0, 0], [3, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}"""

ARRAYS = {"data": np.ones((1, 3), np.float32), "fc_weight": np.ones((2, 3), np.float32)}


def test_heads_are_named_and_labels_may_be_absent() -> None:
    found = evaluate(read_symbol(TWO_LAYERS), ARRAYS)
    assert list(found) == ["softmax_output", "act_output"]
    assert found["act_output"].tolist() == [[3.0, 3.0]]


def test_internals_are_all_there_in_order_and_repeated_names_are_numbered() -> None:
    found = evaluate(read_symbol(TWO_LAYERS), ARRAYS, internals=True)
    assert list(found) == ["fc_output", "act_output", "act_output#2", "softmax_output"]
    labels = {"softmax_label": np.zeros((1, 1), np.float32)}
    assert "labels_output" in evaluate(read_symbol(TWO_LAYERS), ARRAYS | labels, internals=True)


def test_outputs_may_be_chosen() -> None:
    assert list(evaluate(read_symbol(TWO_LAYERS), ARRAYS, outputs=["act_output#2"])) == ["act_output#2"]
    with pytest.raises(VerificationError, match="'act1_output'"):
        evaluate(read_symbol(TWO_LAYERS), ARRAYS, outputs=["act1_output"])


def test_missing_arrays_are_all_named() -> None:
    with pytest.raises(VerificationError, match="data, fc_weight"):
        evaluate(read_symbol(TWO_LAYERS), {})


def test_a_refusal_names_the_node() -> None:
    with pytest.raises(VerificationError, match=r"node 'fc' \(FullyConnected\).*weight \(2, 4\), expected \(2, 3\)"):
        evaluate(read_symbol(TWO_LAYERS), ARRAYS | {"fc_weight": np.ones((2, 4), np.float32)})


def test_an_initial_state_takes_the_batch_size_of_the_data() -> None:
    symbol = """{"nodes": [
      {"op": "null", "name": "data", "inputs": []},
      {"op": "_zeros", "name": "begin", "attrs": {"shape": "(0, 3)"}, "inputs": []},
      {"op": "elemwise_add", "name": "sum", "inputs": [[0, 0, 0], [1, 0, 0]]}],
      "arg_nodes": [0], "heads": [[2, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}"""
    data = np.arange(12, dtype=np.float32).reshape(4, 3)
    assert np.array_equal(evaluate(read_symbol(symbol), {"data": data})["sum_output"], data)


def test_every_reference_operator_has_a_case() -> None:
    gpu_only = {"CuDNNBatchNorm", "_contrib_count_sketch", "_contrib_fft", "_contrib_ifft"}
    unnamed = {"_zeros_without_dtype"}
    with_symbols_inside = {"_cond", "_foreach", "_while_loop"}  # tests/converters/mxnet/test_control_flow.py has them
    in_place = {  # MXNet runs them on no input; test_assignment.py and test_import_masks.py have them
        "_npi_boolean_mask_assign_scalar",
        "_npi_boolean_mask_assign_tensor",
        "_scatter_set_nd",
    }
    elsewhere = {"_npi_bincount", "_copyto"} | mxnet2_operators()  # test_counts.py; tests/converters/mxnet/two
    sparse_only = {"_contrib_getnnz", "_sparse_retain"}  # tests/converters/mxnet/rare/test_import_sparse.py has them
    without = sparse_only | gpu_only | unnamed | with_symbols_inside | in_place | elsewhere
    assert set(supported()) - {case.op for case in CASES} - without == set()


def test_names_are_unique() -> None:
    counts = Counter(case.name for case in (*CASES, *REFUSED))
    assert [name for name, count in counts.items() if count > 1] == []


def test_erf_of_arrays_is_that_of_numbers() -> None:
    """Between the points of its table, beyond them, and at both ends of float64's range."""
    drawn = np.random.Generator(np.random.PCG64(1)).standard_normal(5000)
    lines = [np.linspace(-7, 7, 20001), 10.0 ** np.linspace(-320, 2, 2001), [0.5 / ERF_STEPS, ERF_ONE, np.inf, -np.inf]]
    data = np.concatenate([drawn, *lines])
    expected = np.array([math.erf(value) for value in data])
    np.testing.assert_allclose(erf(data), expected, rtol=5e-16, atol=1e-323)
    np.testing.assert_array_equal(erf(-data), -erf(data))
    assert np.isnan(erf(np.array([np.nan, 0.5]))).tolist() == [True, False]
    assert np.signbit(erf(np.array([-0.0]))).all()
    assert erf(np.zeros((0, 3), np.float32)).shape == (0, 3)
