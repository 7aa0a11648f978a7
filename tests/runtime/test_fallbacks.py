"""Which nodes run on another provider than the requested one, from what onnxruntime logs and records."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import onnxruntime
import pytest
from onnx import helper

from graphir.runtime import fallbacks
from graphir.runtime.fallbacks import find_fallbacks
from graphir.runtime.placement import PlacedNode
from tests.verification import models

FIRST, CPU = "WebGpuExecutionProvider", "CPUExecutionProvider"
PLACED = "2026-11-24 11:59:01.5 [V:onnxruntime:, session_state.cc:1353 VerifyEachNodeIsAssignedToAnEp] "
# What onnxruntime-webgpu 1.27.0 logs; the line of CUDA has its own words before "kernel".
LOG = f"""\
2026-11-24 11:59:01.5 [I:onnxruntime:, inference_session.cc:2313 Initialize] Initializing session.
[I:onnxruntime:, webgpu.cc:635] webgpu kernel not found in registries for Op type: Equal node name: /Eq
[I:onnxruntime:, cuda_execution_provider.cc:2] CUDA kernel not found in registries for Op type: Det node name:\x20
[I:onnxruntime:, fallback_cpu_capability.cc:89 operator()] Candidate for fallback CPU execution: /rnn/Gather
[I:onnxruntime:, fallback_cpu_capability.cc:89 operator()] Candidate for fallback CPU execution: /Eq
{PLACED}Node placements
{PLACED} Node(s) placed on [{CPU}]. Number of nodes: 4
{PLACED}  Gather (/rnn/Gather)
{PLACED}  Equal (/Eq)
{PLACED}  Det ()
{PLACED}  Size (a (b))
{PLACED} Node(s) placed on [{FIRST}]. Number of nodes: 2
{PLACED}  MatMul (product)
{PLACED}  Relu ()
"""
KERNEL = f"{FIRST} has no kernel for its operands"
SIZES = "it computes sizes, which onnxruntime leaves to the CPU"


class Logging:
    """A session that logs."""

    providers = (FIRST, CPU)
    log = LOG
    recorded: Sequence[PlacedNode] | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        os.write(2, self.log.encode())


def elsewhere(monkeypatch: pytest.MonkeyPatch, **facts: Any) -> fallbacks.Fallbacks:
    monkeypatch.setattr(fallbacks, "_Started", type("Made", (Logging,), facts))
    return find_fallbacks("model.onnx", "webgpu")


def test_nodes_and_reasons_of_a_log(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    found = elsewhere(monkeypatch)
    assert (found.first, found.counts) == (FIRST, {CPU: 4, FIRST: 2})
    assert [(item.node.name, item.node.operator, item.reason) for item in found.nodes] == [
        ("/rnn/Gather", "Gather", SIZES), ("/Eq", "Equal", KERNEL), ("", "Det", KERNEL), ("a (b)", "Size", ""),
    ]  # fmt: skip
    assert {item.node.provider for item in found.nodes} == {CPU}
    assert found.table_rows()[0] == ("Gather", "1", CPU, SIZES)
    assert capfd.readouterr().err == ""


def test_a_record_is_preferred(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts that a provider compiles are one node in the log."""
    nodes = [PlacedNode("/Eq", "Equal", CPU), PlacedNode("a", "Relu", FIRST), PlacedNode("b", "Relu", FIRST)]
    found = elsewhere(monkeypatch, recorded=nodes)
    assert found.counts == {CPU: 1, FIRST: 2}
    assert [(item.node.name, item.reason) for item in found.nodes] == [("/Eq", KERNEL)]


def test_one_provider_has_all(monkeypatch: pytest.MonkeyPatch) -> None:
    found = elsewhere(monkeypatch, log=f"{PLACED} All nodes placed on [{FIRST}]. Number of nodes: 11\n")
    assert (found.counts, list(found.nodes)) == ({FIRST: 11}, [])


def test_live_onnxruntime(capfd: pytest.CaptureFixture[str]) -> None:
    nodes = [helper.make_node("Det", ["x"], ["d"]), helper.make_node("Exp", ["d"], ["y"])]
    model = models.onnx_model(nodes, {"x": (1, [2, 2])}, {"y": (1, [])}, {})
    found = find_fallbacks(model.SerializeToString(), "cpu")
    assert (found.first, found.counts, list(found.nodes)) == (CPU, {CPU: 2}, [])
    assert onnxruntime.get_available_providers()
    assert capfd.readouterr().err == ""


def test_a_refusal_is_raised_and_standard_error_is_back(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Exception, match="onnxruntime refuses the model"):
        find_fallbacks(b"no model", "cpu")
    os.write(2, b"here")
    assert capfd.readouterr().err == "here"
