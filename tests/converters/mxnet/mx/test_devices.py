"""Devices that are not there, and several where one runs."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from graphir.converters.mxnet import mx
from graphir.runtime import providers


class Driver:
    """NVIDIA's driver as a library: it starts, or does not, and counts."""

    def __init__(self, code: int, devices: int) -> None:
        self.code = code
        self.devices = devices

    def cuInit(self, flags: int) -> int:
        return self.code

    def cuDeviceGetCount(self, count: Any) -> int:
        count._obj.value = self.devices
        return 0


@pytest.fixture
def with_driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Driver | None, bool], None]]:
    """Set the driver of the machine, None for none, and whether onnxruntime has its CUDA provider."""

    def install(driver: Driver | None, has_provider: bool) -> None:
        def load(name: str) -> Driver:
            if driver is None:
                raise OSError(f"{name}: cannot open shared object file")
            return driver

        runtime = providers.import_onnxruntime()
        names = ["CUDAExecutionProvider"] * has_provider + ["CPUExecutionProvider"]
        monkeypatch.setattr(runtime, "get_available_providers", lambda: names)
        monkeypatch.setattr(ctypes, "CDLL", load)
        providers.count_cuda_devices.cache_clear()

    yield install
    providers.count_cuda_devices.cache_clear()


@pytest.mark.parametrize(
    ("driver", "has_provider", "count"),
    [
        pytest.param(None, True, 0, id="no driver"),
        pytest.param(Driver(100, 0), True, 0, id="a driver without a GPU"),
        pytest.param(Driver(0, 0), True, 0, id="no GPU is visible"),
        pytest.param(Driver(0, 2), True, 2, id="two GPUs"),
        pytest.param(Driver(0, 2), False, 0, id="onnxruntime without CUDA"),
    ],
)
def test_counts_what_can_run(
    driver: Driver | None, has_provider: bool, count: int, with_driver: Callable[[Driver | None, bool], None]
) -> None:
    with_driver(driver, has_provider)
    assert mx.context.num_gpus() == count


def dense() -> Any:
    return mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")


ABSENT: dict[str, Callable[[], Any]] = {
    "array": lambda: mx.nd.array([0], ctx=mx.gpu()),
    "zeros": lambda: mx.nd.zeros((2,), ctx=mx.gpu(1)),
    "random": lambda: mx.nd.random.normal(0, 1, shape=(2,), ctx=mx.gpu()),
    "as_in_context": lambda: mx.nd.ones((2,)).as_in_context(mx.gpu()),
    "copyto": lambda: mx.nd.ones((2,)).copyto(mx.gpu()),
    "simple_bind": lambda: dense().simple_bind(mx.gpu(), data=(2, 3)),
    "bind": lambda: dense().bind(mx.gpu(), [mx.nd.ones((2, 3)), mx.nd.ones((2, 3)), mx.nd.ones((2,))]),
    "Module": lambda: mx.mod.Module(dense(), label_names=None, context=mx.gpu()),
    "gluon": lambda: mx.gluon.nn.Dense(2, in_units=3).initialize(ctx=mx.gpu()),
    "with": lambda: mx.gpu().__enter__() and mx.nd.ones((2,)),
}


@pytest.mark.parametrize("call", ABSENT)
def test_a_gpu_that_is_absent(call: str, with_driver: Callable[[Driver | None, bool], None]) -> None:
    with_driver(None, True)
    try:
        with pytest.raises(mx.MXNetError, match=r"gpu\(\d\) was asked for, but there are 0 GPUs"):
            ABSENT[call]()
    finally:
        mx.context._stack().clear()


def test_a_script_falls_back_to_the_cpu(with_driver: Callable[[Driver | None, bool], None]) -> None:
    with_driver(None, True)
    try:
        mx.nd.array([0], ctx=mx.gpu())
        chosen = mx.gpu()
    except mx.base.MXNetError:
        chosen = mx.cpu()
    assert chosen == mx.cpu()


def test_arrays_are_on_a_gpu_that_is_there(with_driver: Callable[[Driver | None, bool], None]) -> None:
    with_driver(Driver(0, 2), True)
    assert mx.nd.array([0], ctx=mx.gpu(1)).context == mx.gpu(1)
    with pytest.raises(mx.MXNetError, match=r"gpu\(2\) was asked for, but there are 2 GPUs"):
        mx.nd.array([0], ctx=mx.gpu(2))


SEVERAL = """
import warnings
from graphir.converters.mxnet import mx
net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    for _ in range(3):
        module = mx.mod.Module(net, label_names=None, context=[mx.cpu(0), mx.cpu(1)])
    module.bind([("data", (4, 3))], for_training=False)
    module.init_params(mx.init.One())
    module.forward(mx.io.DataBatch([mx.nd.ones((4, 3))]), is_train=False)
print([str(held.message) for held in told], module.get_outputs()[0].asnumpy().tolist())
print(len(module.get_outputs(merge_multi_context=False)[0]))
"""


def test_of_several_contexts_the_first_runs_and_it_is_said_once() -> None:
    done = subprocess.run([sys.executable, "-c", SEVERAL], capture_output=True, text=True, check=True)
    told = "several contexts are given; a network runs on the first of them here"
    assert done.stdout.splitlines() == [f"{[told]} {[[3.0, 3.0]] * 4}", "1"]


def test_a_list_of_no_contexts_is_refused() -> None:
    with warnings.catch_warnings(), pytest.raises(TypeError, match="expected a Context"):
        mx.nd.ones((2,), ctx=[])
