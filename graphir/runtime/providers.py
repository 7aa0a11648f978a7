"""What onnxruntime runs on: the table of providers, and which of them a session uses."""

from __future__ import annotations

import ctypes
import io
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from functools import cache
from types import MappingProxyType
from typing import Any

from graphir.errors import DeviceLost, ProviderError, VerificationError
from graphir.extras import install_hint
from graphir.safety.arguments import expect_items
from graphir.structure.names import similar_names
from graphir.structure.record import record

from .plugins import plugin_devices, plugin_reasons

GPU_HINT = (
    "a GPU needs onnxruntime-gpu in place of onnxruntime (pip uninstall onnxruntime: they share a module): "
    f"{install_hint('gpu')}"
)


@record
class Provider:
    """What onnxruntime can run on, a row of the table: what users write, onnxruntime's name, and how it is installed.

    `option` is its option that takes a device, `devices` those that have names (without any they are numbers), `device`
    the one that is meant without one. `exact` are the options under which float32 stays float32, `tf32` the one that
    lets it be rounded. Nodes that it does not take run on those `behind` it, then on the CPU. Outputs stay in its
    `memory`. One that reads its options among the session's has their `prefix`, and ignores in silence what is none of
    its `options`. `records` says whether onnxruntime's record of the assignment names the nodes of one that reorders a
    model's layouts first, and one that `gives_reasons` logs why it does not take a node. Sessions
    of one that `runs_in_turn` fail where several threads of a process run some.
    """

    name: str
    runtime_name: str
    install: str = ""
    option: str = ""
    devices: tuple[str, ...] = ()
    device: str = ""
    exact: Mapping[str, str] = MappingProxyType({})
    tf32: str = ""
    behind: tuple[str, ...] = ()
    memory: str = "cpu"
    is_gpu: bool = False
    prefix: str = ""
    options: tuple[str, ...] = ()
    records: bool = True
    gives_reasons: bool = True
    runs_in_turn: bool = False


def _package(name: str) -> str:
    return f"pip install {name}, in place of onnxruntime: they share a module"


TABLE = (
    Provider("cpu", "CPUExecutionProvider", install_hint("cpu")),
    Provider("cuda", "CUDAExecutionProvider", GPU_HINT, "device_id", device="0", tf32="use_tf32",
             memory="cuda", is_gpu=True),
    Provider("tensorrt", "TensorrtExecutionProvider", GPU_HINT, "device_id", device="0",
             behind=("CUDAExecutionProvider",), memory="cuda", is_gpu=True, gives_reasons=False),
    Provider("directml", "DmlExecutionProvider", _package("onnxruntime-directml (Windows)"), "device_id", device="0",
             memory="dml", is_gpu=True),
    Provider("migraphx", "MIGraphXExecutionProvider", _package("onnxruntime-migraphx (ROCm)"), "device_id", device="0",
             is_gpu=True),
    Provider("rocm", "ROCMExecutionProvider", _package("onnxruntime-rocm"), "device_id", device="0", memory="cuda",
             is_gpu=True),
    # onnxruntime 1.27's record of WebGPU lists the Transposes that it adds, not the nodes that it takes.
    Provider("webgpu", "WebGpuExecutionProvider", _package("onnxruntime-webgpu"), "powerPreference",
             ("high-performance", "low-power"), memory="webgpu", is_gpu=True, prefix="ep.webgpuexecutionprovider.",
             options=("powerPreference", "dawnBackendType", "deviceId", "enableGraphCapture", "enableInt64",
                      "forceCpuNodeNames", "preferredLayout", "storageBufferCacheMode", "validationMode"),
             records=False, runs_in_turn=True),
    # Where the processor has products of bfloat16, OpenVINO takes them for float32 unless it is told not to.
    Provider("openvino", "OpenVINOExecutionProvider", _package("onnxruntime-openvino"), "device_type",
             ("CPU", "GPU", "NPU"), "CPU", MappingProxyType({"precision": "FP32"}), gives_reasons=False),
    Provider("coreml", "CoreMLExecutionProvider", "onnxruntime for macOS has it", "MLComputeUnits",
             ("ALL", "CPUOnly", "CPUAndGPU", "CPUAndNeuralEngine"),
             exact=MappingProxyType({"ModelFormat": "MLProgram", "AllowLowPrecisionAccumulationOnGPU": "0"})),
    Provider("qnn", "QNNExecutionProvider", _package("onnxruntime-qnn"), "backend_type", ("cpu", "gpu", "htp"), "htp",
             MappingProxyType({"enable_htp_fp16_precision": "0"})),
)  # fmt: skip
PROVIDERS = {row.name: row.runtime_name for row in TABLE}
ROWS = {word.lower(): row for row in TABLE for word in (row.name, row.runtime_name)}
SUFFIX = "ExecutionProvider"
# What turns TF32 off in all of NVIDIA's libraries, for a whole process; TensorRT's provider has no other switch.
TF32_VARIABLE = "NVIDIA_TF32_OVERRIDE"
# What keeps onnxruntime from collecting and sending how it is used; 0 lets it.
TELEMETRY_VARIABLE = "ORT_DISABLE_TELEMETRY"
# What the devices' libraries say when one is gone: WebGPU, Vulkan, DirectX, OpenCL, Level Zero; the errors of CUDA and
# HIP after which a process cannot use the device again (uncorrectable memory errors, failed and timed out kernels).
LOST = re.compile(
    r"device\]? is lost|device lost|DEVICE_LOST|DEVICE_REMOVED|DEVICE_NOT_AVAILABLE|887A00(?:05|06|07|20)"
    r"|(?:CUDA|HIP) failure (?:214|700|702|709|710|71[4-9]|999)\b", re.IGNORECASE,
)  # fmt: skip
LONGEST = 600
# The first version that takes tensors of every type of ONNX.
OLDEST = (1, 20)
INSTALL = f"install one of: {install_hint('cpu')}, {install_hint('gpu')}"


def import_onnxruntime() -> Any:
    """Return the onnxruntime module, which logs errors only. Raises ProviderError with the package to install where it
    is missing or too old."""
    # Builds with telemetry write a number of this machine and what is run below the home folder from their import on.
    os.environ.setdefault(TELEMETRY_VARIABLE, "1")
    try:
        import onnxruntime
    except ImportError as error:
        raise ProviderError(f"onnxruntime is not installed; {INSTALL}") from error
    version = onnxruntime.__version__
    if tuple(map(int, version.split(".")[:2])) < OLDEST:
        raise ProviderError(f"found onnxruntime {version}, expected {'.'.join(map(str, OLDEST))} or newer; {INSTALL}")
    onnxruntime.set_default_logger_severity(3)
    return onnxruntime


class OutOfRuntimeMemory(VerificationError):
    """onnxruntime was refused memory."""


class RunFailed(VerificationError):
    """onnxruntime has loaded a model and ends its run on these inputs with an error."""


def ran_out_of_memory(text: str) -> bool:
    """Return whether onnxruntime's message says that an allocation failed: its own words and C++'s."""
    return "bad allocation" in text or "bad_alloc" in text or "Failed to allocate memory" in text


def told_by(error: Exception) -> str:
    """Return what onnxruntime says of an error, on one line. Of a long text the middle is left out: the reason of a
    device stands at its end, behind the functions that it came through."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = " ".join(lines) or type(error).__name__
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 3]} ... {text[-2 * LONGEST // 3 :]}"


def runtime_error(
    verb: str, error: Exception, device: str = "", what: str = "", kind: type[VerificationError] = VerificationError
) -> VerificationError | DeviceLost:
    """Return the error, of a `kind`, for what onnxruntime says where it refuses a model or fails to run it on a
    `device`; `what` it is, where there are several."""
    text, what = told_by(error), what or "the model"
    if device and LOST.search(text):
        return DeviceLost(
            f"the device of {device} is lost; start a new process, since no session of this one runs on it again. "
            f"onnxruntime {verb} {what}: {text}"
        )
    kind = OutOfRuntimeMemory if ran_out_of_memory(text) else kind
    return kind(f"onnxruntime {verb} {what}: {text}")


@record
class Choice:
    """A provider with the options that a session passes to it, and the devices of one that a plugin brings."""

    row: Provider
    options: Mapping[str, str]
    devices: tuple[Any, ...] = ()

    @property
    def named(self) -> Any:
        """The provider as `InferenceSession` takes it, with the options that it reads there."""
        name, options = self.row.runtime_name, dict(self.options)
        return (name, options) if options and not self.row.prefix else name

    @property
    def device(self) -> str:
        """The provider and its device in words; "" for the CPU, which does not go away."""
        device = self.options.get(self.row.option, "")
        label = self.row.runtime_name if self.row.name != "cpu" else ""
        return label + (f" ({self.row.option} {device})" if label and device else "")

    @property
    def entries(self) -> dict[str, str]:
        """The options that the provider reads among those of the session."""
        return {self.row.prefix + key: value for key, value in self.options.items()} if self.row.prefix else {}


def parse_provider(text: str) -> tuple[Provider, dict[str, str]]:
    """Return the row and the options of `NAME[:DEVICE][,KEY=VALUE...]`.

    >>> row, options = parse_provider("cuda:1,cudnn_conv_algo_search=HEURISTIC")
    >>> row.runtime_name, options
    ('CUDAExecutionProvider', {'device_id': '1', 'cudnn_conv_algo_search': 'HEURISTIC'})

    NAME may be onnxruntime's, also of a provider that has no row. Raises ProviderError for a name, a device or an
    option that there is not.
    """
    first, *pairs = text.split(",")
    name, colon, device = first.partition(":")
    row = ROWS.get(name.lower())
    if row is None and not name.endswith(SUFFIX):
        names = ", ".join(row.name for row in TABLE)
        raise ProviderError(
            f"{name!r} is no provider; write one of {names} or onnxruntime's name of another, as in cuda:1 or "
            f"openvino:CPU,num_of_threads=2{similar_names(name, PROVIDERS)}"
        )
    row = row or Provider(name.removesuffix(SUFFIX).lower(), name, option="device_id")
    options = {row.option: device or row.device} if row.option and (device or row.device) else {}
    is_known = device.partition(".")[0] in row.devices if row.devices else device.isdecimal()
    if colon and not is_known:
        raise ProviderError(f"{text}: {device!r} is no device of {name}; {_devices_of(row)}")
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise ProviderError(f"{text}: {pair!r} is no option; write KEY=VALUE, as in {row.option or 'device_id'}=0")
        if row.options and key not in row.options:
            raise ProviderError(f"{text}: {name} has no option {key}; it has {', '.join(row.options)}")
        options[key] = value
    return row, options


def _devices_of(row: Provider) -> str:
    if row.devices:
        return f"it has {', '.join(row.devices)}"
    return "its devices have numbers, as in :0" if row.option else "it has no devices"


def available_providers() -> list[str]:
    """onnxruntime's names of the providers that it has, built in or by a plugin that has a device here."""
    return list(dict.fromkeys([*import_onnxruntime().get_available_providers(), *plugin_devices()]))


def choose_providers(providers: str | Sequence[str], *, tf32: bool = False) -> list[Choice]:
    """Return what to run on, in order: `auto`, or one or several of what `parse_provider` takes.

    `auto` is CUDA where the installed onnxruntime has it, else the CPU. The CPU comes last, for nodes that nothing
    before it takes. Raises ProviderError for one that is missing, and where the environment contradicts `tf32`.
    """
    if not isinstance(providers, str):
        providers = expect_items(providers, str, "providers", "the name of a provider")
    built_in = import_onnxruntime().get_available_providers()
    if providers == "auto":
        providers = "cuda" if PROVIDERS["cuda"] in built_in else "cpu"
    requests = [parse_provider(text) for text in ([providers] if isinstance(providers, str) else providers)]
    rows = {row.runtime_name: (row, options) for row, options in reversed(requests)}
    ordered = list(dict.fromkeys(row.runtime_name for row, _ in requests))
    for name in [name for name in ordered if any(behind in built_in for behind in rows[name][0].behind)]:
        for behind in rows[name][0].behind:
            rows.setdefault(behind, (ROWS[behind.lower()], {"device_id": rows[name][1]["device_id"]}))
            if behind not in ordered:
                ordered.insert(ordered.index(name) + 1, behind)
    ordered += [] if PROVIDERS["cpu"] in ordered else [PROVIDERS["cpu"]]
    rows.setdefault(PROVIDERS["cpu"], (TABLE[0], {}))
    plugged = {} if set(ordered) <= set(built_in) else plugin_devices()
    for name in ordered:
        if name not in built_in and name not in plugged:
            raise ProviderError(_missing_reason(rows[name][0], built_in))
    if PROVIDERS["cuda"] in ordered:
        _load_cuda()
    return [
        Choice(row, _with_precision(row, options, tf32), () if name in built_in else plugged[name])
        for name, (row, options) in ((name, rows[name]) for name in ordered)
    ]


def _missing_reason(row: Provider, built_in: Sequence[str]) -> str:
    text = f"{row.runtime_name} was asked for, but onnxruntime has only {', '.join(built_in)}"
    reason = plugin_reasons().get(row.runtime_name, "")
    return text + (f"; {reason}" if reason else "") + (f"; {row.install}" if row.install else "")


def provider_names(providers: str | Sequence[str]) -> list[str]:
    """Return onnxruntime's names of what was asked for; see `choose_providers`."""
    return [choice.row.runtime_name for choice in choose_providers(providers)]


def _with_precision(row: Provider, options: Mapping[str, str], tf32: bool) -> dict[str, str]:
    """Return a provider's options with those under which float32 stays float32; a stated one stays as it is.

    TF32 is turned off for TensorRT by a variable for the process, which is read once.
    """
    is_nvidias = PROVIDERS["cuda"] in (row.runtime_name, *row.behind)
    value = os.environ.get(TF32_VARIABLE)
    if is_nvidias and tf32 and value == "0":
        raise ProviderError(f"TF32 was asked for, but {TF32_VARIABLE}=0 turns it off in this process")
    if is_nvidias and not row.tf32 and not tf32:
        if value not in (None, "0"):
            raise ProviderError(
                f"TensorRT rounds to TF32 unless {TF32_VARIABLE} is 0, and it is {value!r}: unset it, or ask for TF32"
            )
        os.environ[TF32_VARIABLE] = "0"
    return {**row.exact, **({row.tf32: str(int(tf32))} if row.tf32 else {}), **options}


@cache
def _load_cuda() -> None:
    """Load CUDA's and cuDNN's libraries from the packages that the extra `gpu` installs, once: the system's loader does
    not look there. What is missing is said when a session does not start, so what this prints is not shown."""
    load = getattr(import_onnxruntime(), "preload_dlls", None)  # onnxruntime has it from 1.21 on
    if load is not None:
        with redirect_stdout(io.StringIO()):
            load()


def gpu_provider() -> str | None:
    """Return the first provider of the table that runs on a GPU and is available, None without any."""
    available = available_providers()
    return next((row.name for row in TABLE if row.is_gpu and row.runtime_name in available), None)


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
