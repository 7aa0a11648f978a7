"""The operator cases of the equivalence suite on a device, against the numpy reference: `pytest -m gpu tests/devices`.

`placed/NAME.json` lists the cases of which the provider runs nodes, with these nodes' operators, and EXCEPTIONS those
whose results differ: `python -m tests.devices.survey --write` finds both. A case that is listed must run there, with
the same operators on the device, and equal the reference; one that is no longer placed there fails. Of a provider
without such a list all cases run, and those that have no kernel are skipped.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import pytest

from graphir.errors import GraphirError
from graphir.runtime.session import OnnxSession
from tests.devices.case_on_device import NoKernel, check_result, run_case
from tests.devices.device import PROVIDER, ROW, is_requested, need_device
from tests.devices.exceptions import exception_of
from tests.devices.lists import placed_operators
from tests.equivalence.case import Case
from tests.equivalence.test_onnx import SUPPORTED

# What the lists hold at least: MXNet's operators with a case on the device.
LEAST_OPERATORS = {"webgpu": 380, "openvino": 345}
NOT_REQUESTED = pytest.param(None, marks=pytest.mark.skip(reason="the equivalence suite on a device: pytest -m gpu"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The provider's cases where they are requested."""
    if metafunc.function.__name__ == "test_device_equals_reference":
        placed = placed_operators(ROW.name)
        if not is_requested(metafunc.config.option.markexpr):
            metafunc.parametrize("case", [NOT_REQUESTED], ids=["all"])
        else:
            cases = [case for case in SUPPORTED if placed is None or case.name in placed]
            row = pytest.mark.one_of(8, by="case.op")
            metafunc.parametrize("case", [pytest.param(case, marks=row, id=case.name) for case in cases])


@pytest.mark.gpu
def test_device_equals_reference(case: Case) -> None:
    need_device()
    reason = exception_of(ROW.name, case)
    placed = placed_operators(ROW.name)
    expected: AbstractContextManager[object] = nullcontext()
    if reason is not None:
        expected = pytest.raises((AssertionError, GraphirError))
    with expected:
        try:
            result = run_case(case, PROVIDER)
        except NoKernel as error:
            if placed is None:
                pytest.skip(str(error))
            raise
        if placed is not None:
            assert result.on_device == placed[case.name]
        check_result(result)


@pytest.mark.parametrize("name, least", LEAST_OPERATORS.items())
def test_operators_on_the_device(name: str, least: int) -> None:
    """Enough operators have a case that runs on the device and equals the reference there."""
    placed = placed_operators(name) or {}
    right = {case.op for case in SUPPORTED if case.name in placed and exception_of(name, case) is None}
    assert len(right) >= least
    assert not set(placed) - {case.name for case in SUPPORTED}


@pytest.mark.parametrize("case", SUPPORTED[::500], ids=lambda case: case.name)
def test_the_suite_itself(case: Case) -> None:
    """What is run on a device, on the CPU: the suite has no fault of its own."""
    check_result(run_case(case, "cpu"))


def test_a_wrong_result_fails_the_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    case = next(case for case in SUPPORTED if case.op == "FullyConnected")
    real = OnnxSession.run
    monkeypatch.setattr(OnnxSession, "run", lambda *given: {k: v * v.dtype.type(1.01) for k, v in real(*given).items()})
    with pytest.raises(AssertionError):
        check_result(run_case(case, "cpu"))
