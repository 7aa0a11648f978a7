"""Devices by name. Arrays lie in main memory whatever their device; it chooses where onnxruntime runs a network."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from graphir.errors import ProviderError

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
    found: list[Context] = _entered.stack
    return found


def current_context() -> Context:
    """The device of the innermost `with` statement, `cpu(0)` outside of all."""
    stack = _stack()
    return stack[-1] if stack else Context("cpu", 0)


def cpu(device_id: int = 0) -> Context:
    """The context of a CPU."""
    return Context("cpu", device_id)


def cpu_pinned(device_id: int = 0) -> Context:
    """The context of memory that a GPU reads fast; here main memory like any other."""
    return Context("cpu_pinned", device_id)


def gpu(device_id: int = 0) -> Context:
    """The context of a GPU. That there is one is asked when a network is bound to it."""
    return Context("gpu", device_id)


def num_gpus() -> int:
    """How many GPUs onnxruntime's CUDA provider can use; 0 without that provider."""
    from graphir.runtime.providers import PROVIDERS, import_onnxruntime

    runtime = import_onnxruntime()
    if PROVIDERS["cuda"] not in runtime.get_available_providers():
        return 0
    devices: list[Any] = getattr(runtime, "get_ep_devices", list)()
    return sum(device.ep_name == PROVIDERS["cuda"] for device in devices) or 1


def context_of(ctx: object) -> Context:
    """The device that an argument names: a Context, one in a list, or without one the current. Raises TypeError."""
    if isinstance(ctx, list | tuple) and len(ctx) == 1:
        ctx = ctx[0]
    if ctx is None:
        return current_context()
    if not isinstance(ctx, Context):
        several = " (one device runs a network here; several split a batch for training)"
        raise TypeError(f"expected a Context, got {ctx!r}{several if isinstance(ctx, list | tuple) else ''}")
    return ctx


def provider(ctx: Context) -> str:
    """What onnxruntime runs on for a device. Raises ProviderError for a GPU where the installed one has no CUDA."""
    if ctx.device_type != "gpu":
        return "cpu"
    from graphir.runtime.providers import provider_names

    try:
        provider_names("cuda")
    except ProviderError as error:
        raise ProviderError(f"the network was bound to {ctx}: {error}; without a GPU bind it to mx.cpu()") from error
    return f"cuda:{ctx.device_id}"


__all__ = ["Context", "context_of", "cpu", "cpu_pinned", "current_context", "gpu", "num_gpus", "provider"]
