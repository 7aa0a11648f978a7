"""ONNX's order of padding: all begins, then all ends."""

from __future__ import annotations

from typing import Any

from graphir.padding import Explicit, Padding, SameMode


def pad_attributes(padding: Padding) -> dict[str, Any]:
    """`pads` for numbers, `auto_pad` for a policy; nothing for zeros, which are ONNX's default.

    >>> pad_attributes(Explicit(((1, 2), (3, 4))))
    {'pads': (1, 3, 2, 4)}
    """
    if isinstance(padding, Explicit):
        if padding.is_zero:
            return {}
        return {"pads": tuple(pair[0] for pair in padding.pads) + tuple(pair[1] for pair in padding.pads)}
    return {"auto_pad": "SAME_UPPER" if padding.mode is SameMode.UPPER else "SAME_LOWER"}


def unless_all(values: tuple[int, ...], default: int) -> tuple[int, ...] | None:
    """Return the values, or None if every one is the default."""
    return values if any(value != default for value in values) else None
