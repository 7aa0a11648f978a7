"""Whether a CUDA device can be used by the tests that are marked `gpu`, and what to say if none can."""

from __future__ import annotations

import os
import subprocess

import onnxruntime
import pytest

from graphir.runtime.providers import PROVIDERS

REQUIRE = "GRAPHIR_REQUIRE_GPU"


def missing() -> str:
    """Why there is no CUDA device to run on, "" if there is one."""
    if PROVIDERS["cuda"] not in onnxruntime.get_available_providers():
        return "the installed onnxruntime is built without CUDA"
    try:
        found = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "no CUDA device: nvidia-smi does not run"
    return "" if found.strip() else "no CUDA device: nvidia-smi lists none"


def need_gpu() -> None:
    """Skip the test that asks, or with GRAPHIR_REQUIRE_GPU=1 fail it, where there is no CUDA device."""
    reason = missing()
    if reason and os.environ.get(REQUIRE) == "1":
        pytest.fail(f"{REQUIRE}=1, but {reason}")
    if reason:
        pytest.skip(f"{reason}; nothing was run on a GPU ({REQUIRE}=1 makes this a failure)")


def is_asked(expression: str) -> bool:
    """Whether pytest's `-m` asks for what is marked `gpu`.

    >>> is_asked("gpu"), is_asked("gpu and not slow"), is_asked("not gpu"), is_asked("")
    (True, True, False, False)
    """
    words = expression.replace("(", " ").replace(")", " ").split()
    return any(word == "gpu" and words[max(place - 1, 0)] != "not" for place, word in enumerate(words))


__all__ = ["REQUIRE", "is_asked", "missing", "need_gpu"]
