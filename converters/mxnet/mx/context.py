"""Devices by name. Nothing is placed on them: arrays lie in main memory, and onnxruntime chooses where it runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Context:
    """A device: its kind (`cpu`, `gpu`) and number, written `cpu(0)`."""

    device_type: str = "cpu"
    device_id: int = 0

    def __str__(self) -> str:
        return f"{self.device_type}({self.device_id})"

    __repr__ = __str__


def cpu(device_id: int = 0) -> Context:
    """The context of a CPU."""
    return Context("cpu", device_id)


def gpu(device_id: int = 0) -> Context:
    """The context of a GPU."""
    return Context("gpu", device_id)


def current_context() -> Context:
    """The device where nothing says another: the CPU."""
    return cpu()


__all__ = ["Context", "cpu", "current_context", "gpu"]
