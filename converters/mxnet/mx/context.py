"""Devices by name. Arrays lie in main memory whatever their device; it chooses where onnxruntime runs a network."""

from __future__ import annotations

import threading
import warnings
from dataclasses import dataclass
from functools import cache
from typing import NoReturn

from graphir.converters.mxnet.mx.base import MXNetError

_KINDS = {"cpu": 1, "gpu": 2, "cpu_pinned": 3, "cpu_shared": 5}
_entered = threading.local()


@dataclass(frozen=True, init=False)
class Context:
    """A device: its kind (`cpu`, `gpu`) and number, written `cpu(0)`.

    In a `with` statement it is the device of what is made there without one. Raises KeyError for a kind that MXNet
    does not have.
    """

    device_type: str
    device_id: int

    def __init__(self, device_type: str | Context = "cpu", device_id: int = 0) -> None:
        given = device_type
        kind, number = (given.device_type, given.device_id) if isinstance(given, Context) else (given, device_id)
        if kind not in _KINDS:
            raise KeyError(kind)
        object.__setattr__(self, "device_type", kind)
        object.__setattr__(self, "device_id", number)

    @property
    def device_typeid(self) -> int:
        """MXNet's number of the kind."""
        return _KINDS[self.device_type]

    def __str__(self) -> str:
        return f"{self.device_type}({self.device_id})"

    __repr__ = __str__

    def __enter__(self) -> Context:
        _stack().append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _stack().pop()

    def empty_cache(self) -> None:
        """Nothing: no memory of a device is held."""


def _stack() -> list[Context]:
    if not hasattr(_entered, "stack"):
        _entered.stack = []
    stack: list[Context] = _entered.stack
    return stack


def current_context() -> Context:
    """Return the device of the innermost `with` statement, `cpu(0)` outside of all."""
    stack = _stack()
    return stack[-1] if stack else Context("cpu", 0)


def cpu(device_id: int = 0) -> Context:
    """Return the context of a CPU."""
    return Context("cpu", device_id)


def cpu_pinned(device_id: int = 0) -> Context:
    """Return the context of memory that a GPU reads fast; here main memory like any other."""
    return Context("cpu_pinned", device_id)


def gpu(device_id: int = 0) -> Context:
    """Return the context of a GPU. That there is one is checked when an array is made on it or a network is bound to
    it."""
    return Context("gpu", device_id)


def num_gpus() -> int:
    """Return the number of GPUs that onnxruntime can use: those of CUDA, or 1 where another of its providers runs on a
    GPU."""
    from graphir.runtime.providers import count_cuda_devices, gpu_provider

    name = gpu_provider()
    return count_cuda_devices() if name == "cuda" else int(name is not None)


def gpu_memory_info(device_id: int = 0) -> NoReturn:
    """Raise MXNetError: onnxruntime does not report the memory of a GPU."""
    raise MXNetError(f"the memory of gpu({device_id}) is not known here; nvidia-smi reports it")


def check_device(ctx: Context) -> Context:
    """Return the context. Raises MXNetError for a GPU that is not there."""
    if ctx.device_type == "gpu" and not 0 <= ctx.device_id < (count := num_gpus()):
        from graphir.runtime.providers import GPU_HINT

        raise MXNetError(f"{ctx} was asked for, but there are {count} GPUs that onnxruntime can use; use mx.cpu(). "
                         f"If the machine has a GPU, {GPU_HINT}")  # fmt: skip
    return ctx


def context_of(ctx: object) -> Context:
    """Return the device that an argument names: a Context, the first of a list, or without one the current.

    Of several it warns, once in a process. Raises TypeError for anything else, and MXNetError for a GPU that is
    not there.
    """
    if isinstance(ctx, list | tuple) and ctx and all(isinstance(part, Context) for part in ctx):
        if len(ctx) > 1:
            _warn_of_one_device()
        ctx = ctx[0]
    if ctx is None:
        ctx = current_context()
    if not isinstance(ctx, Context):
        raise TypeError(f"expected a Context, such as mx.cpu(), got {ctx!r}")
    return check_device(ctx)


@cache
def _warn_of_one_device() -> None:
    warnings.warn("several contexts are given; a network runs on the first of them here", stacklevel=4)


def provider(ctx: Context) -> str:
    """Return what onnxruntime runs on for a device. Raises MXNetError for a GPU that is not there."""
    from graphir.runtime.providers import gpu_provider

    if ctx.device_type != "gpu":
        return "cpu"
    number, name = check_device(ctx).device_id, gpu_provider()
    return f"{name}:{number}" if name == "cuda" else str(name)


__all__ = ["Context", "check_device", "context_of", "cpu", "cpu_pinned", "current_context", "gpu",
           "gpu_memory_info", "num_gpus", "provider"]  # fmt: skip
