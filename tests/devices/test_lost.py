"""A device that goes away: an error that names it, for every provider that is known by what its libraries say."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnxruntime
import pytest

from graphir.converters.session import Session
from graphir.errors import DeviceLost, ProviderError, RunError
from graphir.runtime.providers import Choice, parse_provider, runtime_error
from tests.devices.device import PROVIDER, need_device

FEEDS = {"data": np.ones((2, 3), np.float32)}
GONE = [
    ("cuda:1", "CUDA failure 719: unspecified launch failure ; GPU=1", "CUDAExecutionProvider (device_id 1)"),
    ("cuda", "CUDA failure 999: unknown error ; GPU=0", "CUDAExecutionProvider (device_id 0)"),
    ("migraphx", "HIP failure 700: an illegal memory access", "MIGraphXExecutionProvider (device_id 0)"),
    ("directml", "887A0005 The GPU device instance has been suspended.", "DmlExecutionProvider (device_id 0)"),
    ("webgpu", "Failed to download data from buffer: [Device] is lost.", "WebGpuExecutionProvider"),
    ("webgpu", "vkQueueSubmit failed with VK_ERROR_DEVICE_LOST", "WebGpuExecutionProvider"),
    ("openvino:GPU", "[GPU] clFinish: CL_DEVICE_NOT_AVAILABLE", "OpenVINOExecutionProvider (device_type GPU)"),
    ("openvino:NPU", "ZE_RESULT_ERROR_DEVICE_LOST", "OpenVINOExecutionProvider (device_type NPU)"),
]  # fmt: skip
STAYS = ["CUDA failure 2: out of memory", "CUDA failure 701: too many resources", "CUDNN failure 9"]
PROGRAM = """
import sys
from pathlib import Path
from graphir.converters.session import Session
from graphir.errors import DeviceLost
from tests.devices.test_sessions import network, X

session = Session(network(), providers="webgpu")
bound = session.prepared({"data": X}, bound=True)
session.run({"data": X}), bound()
Path(sys.argv[1]).touch()

def start():
    Session(network(), providers="webgpu").run({"data": X})

for run in (lambda: session.run({"data": X}), bound.outputs, start):
    try:
        run()
    except DeviceLost as error:
        assert str(error).startswith("the device of WebGpuExecutionProvider is lost; start a new process"), error
    else:
        raise SystemExit("it ran")
assert Session(network(), providers="cpu").run({"data": X})
print("lost three times, the CPU runs")
"""


def choice(text: str) -> Choice:
    return Choice(*parse_provider(text))


@pytest.mark.parametrize(("provider", "text", "name"), GONE)
def test_what_libraries_say_of_a_lost_device(provider: str, text: str, name: str) -> None:
    error = runtime_error("failed to run", RuntimeError(text), choice(provider).device)
    assert isinstance(error, DeviceLost)
    assert isinstance(error, ProviderError)
    assert str(error).startswith(f"the device of {name} is lost; start a new process")
    assert text in str(error)


@pytest.mark.parametrize("text", STAYS)
def test_other_failures_of_a_device(text: str) -> None:
    assert not isinstance(runtime_error("failed to run", RuntimeError(text), choice("cuda").device), DeviceLost)


def test_the_cpu_is_not_lost() -> None:
    assert choice("cpu").device == ""
    assert not isinstance(runtime_error("failed to run", RuntimeError("device is lost"), ""), DeviceLost)


class Dying:
    """onnxruntime's session on a device that is gone when it runs."""

    def __init__(self, real: Any) -> None:
        self.real = real

    def __call__(self, source: Any, options: Any, providers: Any, **rest: Any) -> Any:
        session = self.real(source, options, providers=["CPUExecutionProvider"], **rest)

        def run(*arguments: Any) -> Any:
            raise RuntimeError("CUDA failure 719: unspecified launch failure")

        names = ["get_inputs", "get_outputs", "get_overridable_initializers"]
        parts = {name: getattr(session, name) for name in names}
        placed = [SimpleNamespace(ep_name="CUDAExecutionProvider", get_nodes=lambda: [
            SimpleNamespace(name="n", domain="", op_type="MatMul")])]  # fmt: skip
        return SimpleNamespace(
            **parts, run=run, get_providers=lambda: ["CUDAExecutionProvider", "CPUExecutionProvider"],
            get_provider_graph_assignment_info=lambda: placed,
        )  # fmt: skip

    get_provider_graph_assignment_info = True


def test_a_run_says_which_device(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.devices.test_sessions import network

    available = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: available)
    monkeypatch.setattr(onnxruntime, "InferenceSession", Dying(onnxruntime.InferenceSession))
    session = Session(network(), providers="cuda:1")
    runs: list[Callable[[], Any]] = [lambda: session.run(FEEDS), session.prepared(FEEDS, bound=False)]
    for run in runs:
        with pytest.raises(DeviceLost, match=r"CUDAExecutionProvider \(device_id 1\) is lost") as caught:
            run()
        assert not isinstance(caught.value, RunError)


@pytest.mark.gpu
@pytest.mark.skipif(PROVIDER != "webgpu", reason="a Vulkan driver stands in for the one that loses its device")
def test_a_driver_that_loses_its_device(tmp_path: Path) -> None:
    need_device()
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler for a Vulkan driver that loses its device")
    driver = Path(os.environ["VK_ICD_FILENAMES"])
    library = driver.parent / json.loads(driver.read_text())["ICD"]["library_path"]
    source, shim, manifest = Path(__file__).with_name("lost.c"), tmp_path / "lost.so", tmp_path / "lost.json"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True)
    facts = {"library_path": str(shim), "api_version": "1.0.5"}
    manifest.write_text(json.dumps({"file_format_version": "1.0.0", "ICD": facts}))
    gone = tmp_path / "gone"
    own = {"VK_ICD_FILENAMES": str(manifest), "GRAPHIR_DRIVER": str(library), "GRAPHIR_LOST": str(gone)}
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(gone)], env={**os.environ, **own}, check=False, capture_output=True,
        text=True, timeout=300, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert (result.returncode, result.stdout) == (0, "lost three times, the CPU runs\n"), result.stderr
