"""`graphir providers`, and plugins that bring a provider."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnxruntime
import pytest

from graphir.errors import ProviderError
from graphir.runtime import plugins
from graphir.runtime.providers import choose_providers

from .conftest import Command

WEBGPU = "WebGpuExecutionProvider"
PACKAGE = f"def get_ep_names(): return [{WEBGPU!r}]\ndef get_library_path(): return 'lib.so'\n"


def test_the_cpu_runs_and_what_is_not_here_says_how_to_get_it(graphir: Command) -> None:
    rows = {row["name"]: row["here"] for row in json.loads(graphir("providers", "--json").out)["providers"]}
    assert rows["cpu"] == "runs"
    assert rows["migraphx"].startswith("not here: pip install onnxruntime-migraphx")


def test_a_provider_that_does_not_start_says_why(graphir: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        onnxruntime, "get_available_providers", lambda: ["DmlExecutionProvider", "CPUExecutionProvider"]
    )
    rows = {row["name"]: row["here"] for row in json.loads(graphir("providers", "--json").out)["providers"]}
    assert rows["directml"].startswith("does not run: DmlExecutionProvider was asked for but did not start")


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """A package onnxruntime-ep-made, for an onnxruntime that takes whatever it registers; what it is told."""
    (tmp_path / "onnxruntime_ep_made.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(str(tmp_path))
    told: dict[str, Any] = {"devices": []}
    monkeypatch.setattr(
        onnxruntime, "register_execution_provider_library", lambda *given: told.update(library=given), raising=False
    )
    monkeypatch.setattr(onnxruntime, "get_ep_devices", lambda: told["devices"], raising=False)
    plugins.installed_plugins.cache_clear()
    yield told
    plugins.installed_plugins.cache_clear()
    sys.modules.pop("onnxruntime_ep_made", None)


def test_a_plugin_is_found_and_its_devices_are_taken(plugin: dict[str, Any]) -> None:
    device = SimpleNamespace(ep_name=WEBGPU)
    plugin["devices"] = [device, SimpleNamespace(ep_name="CPUExecutionProvider")]
    first, cpu = choose_providers("webgpu:low-power")
    assert (first.row.runtime_name, first.devices, cpu.devices) == (WEBGPU, (device,), ())
    assert plugin["library"] == ("onnxruntime_ep_made", "lib.so")


def test_a_plugin_without_a_device_says_so(plugin: dict[str, Any], graphir: Command) -> None:
    reason = "the plugin onnxruntime_ep_made finds no device here"
    with pytest.raises(ProviderError, match=reason):
        choose_providers("webgpu")
    rows = {row["name"]: row["here"] for row in json.loads(graphir("providers", "--json").out)["providers"]}
    assert rows["webgpu"] == f"not here: {reason}"


def test_a_plugin_that_does_not_load_says_so(plugin: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "onnxruntime_ep_made.py").write_text("import no_such_library\n")
    (found,) = plugins.installed_plugins()
    assert found.reason == "the plugin onnxruntime_ep_made does not load: No module named 'no_such_library'"
