"""What onnxruntime runs on: names of providers, and which nodes went where."""

from __future__ import annotations

import ctypes
import io
import os
import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

from graphir.errors import ProviderError, VerificationError
from graphir.extras import install_hint
from graphir.safety.arguments import expect_items
from graphir.safety.json_text import read_json
from graphir.structure.names import similar_names
from graphir.structure.record import record

PROVIDERS = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "tensorrt": "TensorrtExecutionProvider",
}
# Where a provider runs what it has no kernel for, before the CPU.
BEHIND = {PROVIDERS["tensorrt"]: PROVIDERS["cuda"]}
# What turns TF32 off in all of NVIDIA's libraries, for a whole process; TensorRT's provider has no other switch.
TF32_VARIABLE = "NVIDIA_TF32_OVERRIDE"
# What keeps onnxruntime from collecting and sending how it is used; 0 lets it.
TELEMETRY_VARIABLE = "ORT_DISABLE_TELEMETRY"
NUMBERED = re.compile(r":(\d{1,4})$")
INSTALL = f"install one of: {install_hint('cpu')}, {install_hint('gpu')}"

GPU_HINT = (
    "a GPU needs onnxruntime-gpu in place of onnxruntime (pip uninstall onnxruntime: they share a module): "
    f"{install_hint('gpu')}"
)


def import_onnxruntime() -> Any:
    """The onnxruntime module, quiet below errors. Raises ProviderError saying what to install."""
    # Builds with telemetry write a number of this machine and what is run below the home folder from their import on.
    os.environ.setdefault(TELEMETRY_VARIABLE, "1")
    try:
        import onnxruntime
    except ImportError as error:
        raise ProviderError(f"onnxruntime is not installed; {INSTALL}") from error
    onnxruntime.set_default_logger_severity(3)
    return onnxruntime


class OutOfRuntimeMemory(VerificationError):
    """onnxruntime was refused memory."""


def ran_out_of_memory(text: str) -> bool:
    """Return whether onnxruntime's message says that an allocation failed: its own words and C++'s."""
    return "bad allocation" in text or "bad_alloc" in text or "Failed to allocate memory" in text


def told_by(error: Exception) -> str:
    """What onnxruntime says of an error, on one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines)[:600] if lines else type(error).__name__


def runtime_error(verb: str, error: Exception) -> VerificationError:
    """Return the error for what onnxruntime says where it refuses a model or fails to run it."""
    text = told_by(error)
    kind = OutOfRuntimeMemory if ran_out_of_memory(text) else VerificationError
    return kind(f"onnxruntime {verb} the model: {text}")


def provider_names(providers: str | Sequence[str]) -> list[str]:
    """onnxruntime's names for what was asked: `auto`, `cpu`, `cuda`, a provider's own name, or several of them.
    `cuda:1` is `cuda` on the GPU of that number.

    `auto` is CUDA where the installed onnxruntime has it, else the CPU. Behind TensorRT come CUDA and the CPU, for the
    nodes that it does not take. Raises ProviderError for one that is missing.
    """
    if not isinstance(providers, str):
        providers = expect_items(providers, str, "providers", "the name of a provider")
    available = import_onnxruntime().get_available_providers()
    if providers == "auto":
        cuda = PROVIDERS["cuda"]
        if cuda not in available:
            return [PROVIDERS["cpu"]]
        _load_cuda()
        return [cuda, PROVIDERS["cpu"]]
    asked = [providers] if isinstance(providers, str) else list(providers)
    plain = [NUMBERED.sub("", name) for name in asked]
    names = list(dict.fromkeys(PROVIDERS.get(name.lower(), name) for name in plain))
    for name in names:
        if name not in available:
            hint = f"; {GPU_HINT}" if name in (PROVIDERS["cuda"], PROVIDERS["tensorrt"]) else ""
            known = "" if name in PROVIDERS.values() else similar_names(name, [*PROVIDERS, *available])
            raise ProviderError(f"{name} was asked for, but onnxruntime has only {', '.join(available)}{hint}{known}")
    for name in [held for held in names if BEHIND.get(held) in available]:
        if BEHIND[name] not in names:
            names.insert(names.index(name) + 1, BEHIND[name])
    if PROVIDERS["cpu"] not in names:
        names.append(PROVIDERS["cpu"])
    if PROVIDERS["cuda"] in names:
        _load_cuda()
    return names


@cache
def _load_cuda() -> None:
    """Load CUDA's and cuDNN's libraries from the packages that the extra `gpu` installs, once: the system's loader does
    not look there. What is missing is said when a session does not start, so what this prints is not shown."""
    load = getattr(import_onnxruntime(), "preload_dlls", None)  # onnxruntime has it from 1.21 on
    if load is not None:
        with redirect_stdout(io.StringIO()):
            load()


@cache
def count_cuda_devices() -> int:
    """Return the number of GPUs that NVIDIA's driver shows to this process; 0 without a driver."""
    try:
        driver = ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    failed = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    return 0 if failed else count.value


def device_number(providers: str | Sequence[str]) -> int:
    """The number of the GPU in what was asked (`cuda:1`), 0 without one.

    >>> device_number("cuda:1"), device_number(["cuda", "cpu"])
    (1, 0)
    """
    asked = [providers] if isinstance(providers, str) else list(providers)
    numbers = [int(found[1]) for name in asked if (found := NUMBERED.search(name))]
    return numbers[0] if numbers else 0


def provider_settings(names: Sequence[str], *, tf32: bool, device: int) -> dict[str, dict[str, int]]:
    """The options of the providers that have some. TF32 is off unless it is asked for: on CUDA by an option, for
    TensorRT by `NVIDIA_TF32_OVERRIDE`, which is set for the process, since it is read once.

    Raises ProviderError where the environment says the opposite of what is asked.
    """
    settings = {PROVIDERS["cuda"]: {"use_tf32": int(tf32), "device_id": device},
                PROVIDERS["tensorrt"]: {"device_id": device}}  # fmt: skip
    found = {name: settings[name] for name in names if name in settings}
    said = os.environ.get(TF32_VARIABLE)
    if found and tf32 and said == "0":
        raise ProviderError(f"TF32 was asked for, but {TF32_VARIABLE}=0 turns it off in this process")
    if PROVIDERS["tensorrt"] in found and not tf32:
        if said not in (None, "0"):
            raise ProviderError(
                f"TensorRT rounds to TF32 unless {TF32_VARIABLE} is 0, and it is {said!r}: unset it, or ask for TF32"
            )
        os.environ[TF32_VARIABLE] = "0"
    return found


def check_running(asked: Sequence[str], running: Sequence[str], placement: dict[str, int] | None) -> None:
    """Raise ProviderError for a provider that was asked for and did not start, or if the first runs no node."""
    lost = [name for name in asked if name not in running]
    if lost:
        raise ProviderError(
            f"{', '.join(lost)} was asked for but did not start (running: {', '.join(running)}); "
            "check the driver and the CUDA and cuDNN libraries"
        )
    if not placement:
        return
    first = asked[0]
    if first != PROVIDERS["cpu"] and first not in placement:
        shown = ", ".join(f"{count} on {name}" for name, count in placement.items())
        raise ProviderError(f"{first} was asked for but runs no node of the model ({shown})")


@record
class PlacedNode:
    """A node as onnxruntime runs it, after its optimisations: its name, which may be empty, its operator (with a domain
    that is not ONNX's) and the provider that it was assigned to."""

    name: str
    operator: str
    provider: str


class Placement:
    """Which nodes run on which provider, from onnxruntime's record of the assignment or, before version 1.24 or so
    where there is none, from the profile of a run."""

    def __init__(self, runtime: Any, options: Any) -> None:
        self._recorded = hasattr(runtime.InferenceSession, "get_provider_graph_assignment_info")
        self._nodes: list[PlacedNode] | None = None
        if self._recorded:
            options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        else:
            self._folder = tempfile.TemporaryDirectory(prefix="graphir-", ignore_cleanup_errors=True)
            options.enable_profiling = True
            options.profile_file_prefix = os.path.join(self._folder.name, "profile")

    def at_start(self, session: Any) -> dict[str, int] | None:
        """The counts, None if they are known only after a run."""
        if self._recorded and self._nodes is None:
            self._nodes = [
                PlacedNode(node.name, f"{node.domain}.{node.op_type}".removeprefix("."), part.ep_name)
                for part in session.get_provider_graph_assignment_info()
                for node in part.get_nodes()
            ]
        return None if self._nodes is None else _counted(self._nodes)

    def after_run(self, session: Any) -> dict[str, int]:
        """The counts. Raises ProviderError if there was no run to learn them from."""
        if self._nodes is None:
            nodes: dict[tuple[str, str], PlacedNode] = {}
            for event in read_json(Path(session.end_profiling()).read_bytes()):
                about = event.get("args", {})
                provider = about.get("provider")
                if event.get("cat") == "Node" and provider:
                    name = event["name"].removesuffix("_kernel_time")
                    nodes[provider, name] = PlacedNode(name, about.get("op_name", ""), provider)
            if not nodes:
                raise ProviderError("this onnxruntime tells which provider runs what only after a run")
            self._nodes = list(nodes.values())
        return _counted(self._nodes)

    def nodes(self) -> list[PlacedNode]:
        """The nodes, once one of the others has counted them."""
        return list(self._nodes or ())


def _counted(nodes: Sequence[PlacedNode]) -> dict[str, int]:
    return dict(Counter(node.provider for node in nodes))


__all__ = [
    "PROVIDERS", "TF32_VARIABLE", "OutOfRuntimeMemory", "PlacedNode", "Placement", "check_running", "device_number",
    "import_onnxruntime", "provider_names", "provider_settings", "ran_out_of_memory", "runtime_error", "told_by",
]  # fmt: skip
