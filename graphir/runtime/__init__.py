"""Running graphs with onnxruntime and comparing them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .session import OnnxSession


def __getattr__(name: str) -> Any:
    if name != "OnnxSession":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .session import OnnxSession

    return OnnxSession


__all__ = ["OnnxSession"]
