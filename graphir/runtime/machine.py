"""What a measured time depends on besides the model: the processor, how busy it is, and versions."""

from __future__ import annotations

import os
import platform
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from graphir.safety.children import find_program, run_program

SECONDS_FOR_A_PROGRAM = 10
CPU_INFO = Path("/proc/cpuinfo")


def machine_facts(*, gpu: bool = False) -> dict[str, Any]:
    """Names, counts and versions as plain data: `cores` are those of the machine, `usable_cores` what this process may
    use, `load` the runnable processes of the last minute (None where the system does not tell). With `gpu` also the
    NVIDIA devices and their driver as nvidia-smi names them."""
    import numpy as np

    from graphir import __version__

    from .providers import import_onnxruntime

    facts: dict[str, Any] = {
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "usable_cores": usable_cores(),
        "load": load(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "onnxruntime": import_onnxruntime().__version__,
        "graphir": __version__,
    }
    if gpu:
        facts["gpus"] = gpu_names()
    return facts


def cpu_name() -> str:
    """Return the processor as the system calls it, else its architecture."""
    with suppress(OSError):
        for line in CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() in ("model name", "Model") and value.strip():
                return value.strip()
    if platform.system() == "Darwin":
        return _program_output("sysctl", "-n", "machdep.cpu.brand_string") or platform.machine()
    return platform.processor() or platform.machine()


@cache
def has_exact_8_bit_products() -> bool:
    """Return whether the processor adds products of uint8 and int8 exactly, by VNNI or Arm's dot product.

    Without such instructions oneDNN and onnxruntime add them in pairs that saturate at int16. False where the system
    does not list the processor's instructions.
    """
    if platform.machine() in ("arm64", "aarch64"):
        return True
    return not {"avx512_vnni", "avx_vnni"}.isdisjoint(processor_flags())


def processor_flags() -> frozenset[str]:
    """Return the words of the system's list of processors, such as names of instruction sets; none without a list."""
    with suppress(OSError):
        return frozenset(CPU_INFO.read_text(encoding="utf-8", errors="replace").split())
    return frozenset()


def gpu_names() -> list[str]:
    """Return NVIDIA devices with their drivers; none where nvidia-smi does not run."""
    return _program_output("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader").splitlines()


def usable_cores() -> int | None:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def load() -> float | None:
    """Return the number of runnable processes, the mean of the last minute."""
    try:
        return round(os.getloadavg()[0], 2)
    except (AttributeError, OSError):
        return None


def _program_output(*command: str) -> str:
    path = find_program(command[0])
    if path is None:
        return ""
    try:
        done = run_program(path, *command[1:], text=True, timeout=SECONDS_FOR_A_PROGRAM, check=True)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ""
    return str(done.stdout).strip()
