"""Running ONNX models with onnxruntime."""

from __future__ import annotations

from .session import OnnxSession

__all__ = ["OnnxSession"]
