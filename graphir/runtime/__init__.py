"""Running graphs with onnxruntime and comparing them."""

from __future__ import annotations

from .session import Session

__all__ = ["Session"]
