"""Where a session runs: what onnxruntime is asked for, and what is known of each node. No GPU is needed here: where one
would be asked for, onnxruntime's own class stands behind one that notes what it was given."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime
import pytest

from graphir import verify
from graphir.converters.session import Session
from graphir.errors import ProviderError
from graphir.report.verification import verification_json
from graphir.runtime import providers
from graphir.runtime import session as module
from graphir.runtime.placement import PlacedNode, Placement
from graphir.runtime.prepared import prepared_binding
from graphir.runtime.providers import (
    PROVIDERS,
    TF32_VARIABLE,
    choose_providers,
    parse_provider,
    provider_names,
    told_by,
)
from graphir.safety import isolation
from tests.verification import models

from .test_session import Unrecorded

CPU, *ALL = PROVIDERS.values()
CUDA, TENSORRT, WEBGPU, OPENVINO = (PROVIDERS[name] for name in ("cuda", "tensorrt", "webgpu", "openvino"))
FEEDS = {"data": np.ones((2, 3, 8, 8), np.float32)}


@pytest.fixture(autouse=True)
def _no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """What these tests start is no device: forks stay allowed."""
    monkeypatch.setattr(isolation, "_may_fork", True)


@pytest.fixture
def all_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [*ALL, "XnnpackExecutionProvider", CPU])
    monkeypatch.setenv(TF32_VARIABLE, "0")
    monkeypatch.delenv(TF32_VARIABLE)


@pytest.mark.usefixtures("all_there")
@pytest.mark.parametrize("asked, names", [
    ("cpu", [CPU]),
    ("cuda", [CUDA, CPU]),
    ("cuda:1", [CUDA, CPU]),
    ("tensorrt", [TENSORRT, CUDA, CPU]),
    ("TensorRT", [TENSORRT, CUDA, CPU]),
    (["tensorrt", "cpu"], [TENSORRT, CUDA, CPU]),
    (["cuda", "tensorrt"], [CUDA, TENSORRT, CPU]),
    ("auto", [CUDA, CPU]),
])  # fmt: skip
def test_names(asked: str | Sequence[str], names: list[str]) -> None:
    assert provider_names(asked) == names


@pytest.mark.usefixtures("all_there")
@pytest.mark.parametrize("asked, loads", [("cpu", 0), ("auto", 1), ("cuda", 1), ("tensorrt", 1)])
def test_libraries_of_the_extra_are_loaded_once(
    asked: str, loads: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[None] = []
    monkeypatch.setattr(onnxruntime, "preload_dlls", lambda: seen.append(print("Failed to load libcudnn")))
    providers._load_cuda.cache_clear()
    for _ in range(2):
        provider_names(asked)
    assert (len(seen), capsys.readouterr().out) == (loads, "")
    providers._load_cuda.cache_clear()


def test_tensorrt_without_cuda_has_the_cpu_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [TENSORRT, CPU])
    assert provider_names("tensorrt") == [TENSORRT, CPU]


def test_tensorrt_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [CUDA, CPU])
    with pytest.raises(ProviderError, match="TensorrtExecutionProvider was asked for, but onnxruntime has only CUDA"):
        Session(models.net_graph(), providers="tensorrt")


@pytest.mark.usefixtures("all_there")
@pytest.mark.parametrize("asked, tf32, said, settings, after", [
    ("cpu", False, None, {CPU: {}}, None),
    ("cuda:1", False, None, {CUDA: {"use_tf32": "0", "device_id": "1"}, CPU: {}}, None),
    ("cuda:1", True, None, {CUDA: {"use_tf32": "1", "device_id": "1"}, CPU: {}}, None),
    ("cuda:1", False, "1", {CUDA: {"use_tf32": "0", "device_id": "1"}, CPU: {}}, "1"),
    ("cuda,use_tf32=1,arena_extend_strategy=kSameAsRequested", False, None,
     {CUDA: {"use_tf32": "1", "device_id": "0", "arena_extend_strategy": "kSameAsRequested"}, CPU: {}}, None),
    ("tensorrt:1", False, None,
     {TENSORRT: {"device_id": "1"}, CUDA: {"use_tf32": "0", "device_id": "1"}, CPU: {}}, "0"),
    ("tensorrt:1", True, None,
     {TENSORRT: {"device_id": "1"}, CUDA: {"use_tf32": "1", "device_id": "1"}, CPU: {}}, None),
    ("tensorrt", False, "0", {TENSORRT: {"device_id": "0"}, CUDA: {"use_tf32": "0", "device_id": "0"}, CPU: {}}, "0"),
    ("openvino", False, None, {OPENVINO: {"precision": "FP32", "device_type": "CPU"}, CPU: {}}, None),
    ("openvino:GPU.1,precision=FP16", False, None, {OPENVINO: {"precision": "FP16", "device_type": "GPU.1"}, CPU: {}},
     None),
    ("webgpu", False, None, {WEBGPU: {}, CPU: {}}, None),
    ("webgpu:low-power,forceCpuNodeNames=conv0", False, None,
     {WEBGPU: {"powerPreference": "low-power", "forceCpuNodeNames": "conv0"}, CPU: {}}, None),
    ("XnnpackExecutionProvider,threads=2", False, None, {"XnnpackExecutionProvider": {"threads": "2"}, CPU: {}}, None),
])  # fmt: skip
def test_options(
    monkeypatch: pytest.MonkeyPatch, asked: str, tf32: bool, said: str | None, settings: object, after: object
) -> None:
    if said is not None:
        monkeypatch.setenv(TF32_VARIABLE, said)
    assert {choice.row.runtime_name: choice.options for choice in choose_providers(asked, tf32=tf32)} == settings
    assert os.environ.get(TF32_VARIABLE) == after


@pytest.mark.parametrize("asked, message", [
    ("tpu", "'tpu' is no provider; write one of cpu, cuda, .* or onnxruntime's name of another"),
    ("cuad", "there is cuda"),
    ("cuda:one", "'one' is no device of cuda; its devices have numbers, as in :0"),
    ("cuda:", "'' is no device of cuda"),
    ("openvino:TPU", "'TPU' is no device of openvino; it has CPU, GPU, NPU"),
    ("cuda,fast", "'fast' is no option; write KEY=VALUE, as in device_id=0"),
    ("webgpu,fast=1", "webgpu has no option fast; it has powerPreference, dawnBackendType"),
])  # fmt: skip
def test_what_is_no_provider(asked: str, message: str) -> None:
    with pytest.raises(ProviderError, match=message):
        parse_provider(asked)


@pytest.mark.usefixtures("all_there")
@pytest.mark.parametrize("asked, tf32, said, message", [
    ("cuda", True, "0", "TF32 was asked for, but NVIDIA_TF32_OVERRIDE=0 turns it off"),
    ("tensorrt", True, "0", "TF32 was asked for, but"),
    ("tensorrt", False, "1", "TensorRT rounds to TF32 unless NVIDIA_TF32_OVERRIDE is 0, and it is '1'"),
])  # fmt: skip
def test_settings_that_contradict_the_environment(
    monkeypatch: pytest.MonkeyPatch, asked: str, tf32: bool, said: str, message: str
) -> None:
    monkeypatch.setenv(TF32_VARIABLE, said)
    with pytest.raises(ProviderError, match=message):
        choose_providers(asked, tf32=tf32)


class Noted:
    """onnxruntime's session on the CPU, which says what it was asked to run on."""

    given: Any = None
    real = onnxruntime.InferenceSession

    def __new__(cls, source: Any, options: Any, providers: Any, **rest: Any) -> Any:
        if providers != [CPU]:
            Noted.given = (providers, rest)
            return Pretending(cls.real(source, options, providers=[CPU]), [name for name, *_ in map(_pair, providers)])
        return cls.real(source, options, providers=providers)

    @staticmethod
    def get_provider_graph_assignment_info() -> None:
        """What tells that onnxruntime records it."""


def _pair(provider: Any) -> tuple[Any, ...]:
    return provider if isinstance(provider, tuple) else (provider,)


class Pretending:
    """A session that says that all but its last node run on the first provider."""

    def __init__(self, session: Any, providers: list[str]) -> None:
        self._session = session
        self._providers = providers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def get_providers(self) -> list[str]:
        return self._providers

    def get_provider_graph_assignment_info(self) -> list[Any]:
        *parts, last = self._session.get_provider_graph_assignment_info()
        return [*(Part(part, self._providers[0]) for part in parts), last]


class Part:
    """Nodes on another provider."""

    def __init__(self, part: Any, provider: str) -> None:
        self.get_nodes = part.get_nodes
        self.ep_name = provider


@pytest.mark.usefixtures("all_there")
@pytest.mark.parametrize("asked, given", [
    ("cuda", [(CUDA, {"use_tf32": "0", "device_id": "0"}), CPU]),
    ("cuda:2", [(CUDA, {"use_tf32": "0", "device_id": "2"}), CPU]),
    ("tensorrt", [(TENSORRT, {"device_id": "0"}), (CUDA, {"use_tf32": "0", "device_id": "0"}), CPU]),
])  # fmt: skip
def test_what_onnxruntime_is_asked_for(monkeypatch: pytest.MonkeyPatch, asked: str, given: object) -> None:
    monkeypatch.setattr(onnxruntime, "InferenceSession", Noted)
    session = Session(models.net_graph(), providers=asked)
    assert Noted.given == (given, {"enable_fallback": 0})
    counts = session.placement()
    assert list(counts) == [PROVIDERS[asked.partition(":")[0]], CPU]
    assert sum(counts.values()) == len(session.nodes())


def test_the_provider_of_every_node() -> None:
    session = Session(models.net_graph(), providers="cpu", optimize=False)
    nodes = session.nodes()
    assert nodes[0] == PlacedNode("conv0", "Conv", CPU)
    assert {node.provider for node in nodes} == {CPU}
    assert session.placement() == {CPU: len(nodes)}


def test_the_provider_of_every_node_from_a_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Placement", lambda runtime, options, **_: Placement(Unrecorded, options))
    session = Session(models.net_graph(), providers="cpu", optimize=False)
    session.run(FEEDS)
    assert PlacedNode("conv0", "Conv", CPU) in session.nodes()
    assert session.placement() == {CPU: len(session.nodes())}


class Binding:
    """What a session's binding is told."""

    def __init__(self) -> None:
        self.said: list[Any] = []

    def bind_ortvalue_input(self, name: str, value: Any) -> None:
        self.said.append((name, value))

    def copy_outputs_to_cpu(self) -> list[Any]:
        return []

    def bind_output(self, name: str, device: str, number: int) -> None:
        self.said.append((name, device, number))


@pytest.mark.parametrize(
    "place, device", [((CUDA, 1), ("cuda", 1)), ((TENSORRT, 2), ("cuda", 2)), ((WEBGPU, 0), ("webgpu", 0)),
                      ((CPU, 3), ("cpu", 0))]
)
def test_what_is_bound_lies_on_the_gpu_of_that_number(
    monkeypatch: pytest.MonkeyPatch, place: tuple[str, int], device: tuple[str, int]
) -> None:
    class Values:
        @staticmethod
        def ortvalue_from_numpy(array: Any) -> Any:
            return array is FEEDS["data"]

    binding = Binding()
    monkeypatch.setattr(onnxruntime, "OrtValue", Values)

    class Held:
        @staticmethod
        def io_binding() -> Binding:
            return binding

    made = prepared_binding(Held, ["y"], {"x": FEEDS["data"]}, place)
    assert binding.said == [("x", True), ("y", *device)]
    assert (made.device, made.bound) == (device[0], True)


def test_binding_on_the_cpu_gives_what_a_run_gives() -> None:
    session = Session(models.net_graph(), providers="cpu")
    plain: Mapping[str, Any] = session.run(FEEDS)
    bound = session.prepared(FEEDS, bound=True)
    assert bound.bound
    for name, array in zip(session.outputs, bound.outputs(), strict=True):
        np.testing.assert_array_equal(array, plain[name])


class Wrong(Pretending):
    """A device whose softmax is off by a tenth."""

    def run(self, names: Any, feeds: Any, *rest: Any) -> Any:
        return [array * np.float32(1.1) for array in self._session.run(names, feeds)]


@pytest.mark.usefixtures("all_there")
@pytest.mark.parametrize("device, said", [
    (Pretending, ["CUDA and the CPU agree to the last bit", "TF32 was off; with it the outputs agree to the last bit"]),
    (Wrong, ["CUDA and the CPU differ by 1.0e-01 of an output's scale at most (softmax_output)",
             "on the CPU the same file is equal within rounding: what differs is what CUDA computes, not the model",
             "TF32 was off; with it the outputs agree to the last bit"]),
])  # fmt: skip
def test_what_a_device_does_is_said(monkeypatch: pytest.MonkeyPatch, device: Any, said: list[str]) -> None:
    monkeypatch.setattr(onnxruntime, "InferenceSession", Noted)
    monkeypatch.setitem(globals(), "Pretending", device)
    report = verify(models.net_graph(), models.net_graph(), providers="cuda", rtol=1e-4)
    assert report.ok is (device is not Wrong)
    elsewhere, *notes = [note for note in report.notes if "CPU" in note or "TF32" in note]
    count = len(report.placement)
    assert elsewhere == f"1 of {count} nodes run on {CPU}, not on {CUDA}: {report.placement[-1].operator}"
    assert notes == said
    assert {node.provider for node in report.placement} == {CUDA, CPU}
    document = verification_json(report)
    assert document["providers"] == {CUDA: len(report.placement) - 1, CPU: 1}
    assert document["nodes"][0] == {"name": report.placement[0].name, "operator": "Conv", "provider": CUDA}
    assert "on CUDA (" in report.candidate


def test_nothing_is_said_of_the_cpu() -> None:
    report = verify(models.net_graph(), models.net_graph())
    assert not [note for note in report.notes if "CPU" in note or "TF32" in note]
    document = verification_json(report)
    assert document["providers"] == {CPU: len(report.placement)}
    assert document["nodes"] == []


def test_the_end_of_a_long_error_is_kept() -> None:
    text = told_by(RuntimeError("refused: " + "function " * 200 + "\nthe reason"))
    assert text.startswith("refused: ")
    assert " ... " in text
    assert text.endswith("the reason")
    assert len(text) < 700
