"""Every operator case on CUDA, TF32 off, against the numpy reference: `pytest -m gpu`.

The cases are thousands: without `-m gpu` one skip stands for all of them. A case whose operators have no CUDA kernel is
skipped and says so, one of which at least a node runs on CUDA is compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.onnx import to_model
from graphir.errors import ProviderError
from graphir.runtime.session import OnnxSession
from tests.equivalence.case import Case
from tests.equivalence.test_onnx import SUPPORTED, distance, has_no_kernel, imported, tolerance
from tests.gpu import is_asked, need_gpu

OPSET = 17
# A GPU adds products in another order and by other algorithms than the CPU does, for which the tolerances were
# measured. How much that is was not measured yet: this is room for it, to be settled by the first run on a GPU.
TIMES = 10.0
NO_NODE = "runs no node of the model"
NOT_ASKED = pytest.param(None, marks=pytest.mark.skip(reason="the equivalence suite on CUDA is run by: pytest -m gpu"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """All cases where they are asked for."""
    if metafunc.function.__name__ == "test_cuda_equals_reference":
        if is_asked(metafunc.config.option.markexpr):
            metafunc.parametrize("case", SUPPORTED, ids=lambda case: case.name)
        else:
            metafunc.parametrize("case", [NOT_ASKED], ids=["all"])


def check_on(case: Case, providers: str) -> None:
    """Fail where a case gives other types or numbers on a provider than the reference says."""
    expected = list(evaluate(read_symbol(case.symbol_json()), case.arrays()).values())
    graph, feeds = imported(case)
    model = to_model(graph, opset=max(OPSET, case.least_opset))
    if has_no_kernel(model):
        pytest.skip("onnxruntime has no kernel for it at this opset")
    try:
        session = OnnxSession(model.SerializeToString(), providers=providers)
    except ProviderError as error:
        if NO_NODE not in str(error):
            raise
        pytest.skip("CUDA has no kernel for it: all of it would run on the CPU")
    found: list[Any] = list(session.run(feeds).values())
    assert [(value.dtype, value.shape) for value in found] == [(value.dtype, value.shape) for value in expected]
    for value, wanted in zip(found, expected, strict=True):
        limit = max(tolerance(graph, wanted.dtype), case.tolerance or 0.0)
        assert distance(np.asarray(value), wanted) <= TIMES * limit


@pytest.mark.gpu
def test_cuda_equals_reference(case: Case) -> None:
    need_gpu()
    check_on(case, "cuda")


@pytest.mark.parametrize("case", SUPPORTED[::500], ids=lambda case: case.name)
def test_the_suite_itself(case: Case) -> None:
    """What is run on CUDA, on the CPU: the suite has no fault of its own."""
    check_on(case, "cpu")


def test_a_wrong_result_fails_the_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    case = next(case for case in SUPPORTED if case.op == "FullyConnected")
    real = OnnxSession.run
    monkeypatch.setattr(OnnxSession, "run", lambda *given: {k: v * v.dtype.type(1.01) for k, v in real(*given).items()})
    with pytest.raises(AssertionError):
        check_on(case, "cpu")
