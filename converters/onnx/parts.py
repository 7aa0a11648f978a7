"""What a session does with a model that onnxruntime refuses for an operator of a plugin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def in_parts(source: str | bytes, start: Callable[[bytes], Any]) -> Any | None:
    """Return what runs a model with operators of plugins; None for a model without any."""
    from graphir.converters.onnx.plugged import PluggedSession, plugged_model

    model = plugged_model(source)
    return None if model is None else PluggedSession(model, start)
