"""What convolutions and poolings share: a window over some axes, and a layout of the data."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from graphir.converters.mxnet.mx.gluon.layer import Layer

Sizes = int | Sequence[int]
LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


class Windowed(Layer):
    """A layer with a window over `AXES` axes, channels behind the batch (`NCHW`) or last (`NHWC`)."""

    AXES = 0

    def _prepare(self, arguments: SimpleNamespace) -> None:
        plain = LAYOUTS[self.AXES]
        last = plain[0] + plain[2:] + "C"
        if arguments.layout not in (plain, last):
            raise AssertionError(f"the layout is {arguments.layout!r}, expected {plain!r} or {last!r}")

    def _sizes(self, name: str, value: Sizes) -> tuple[int, ...]:
        """Return one size for each axis. Raises AssertionError for another number of them."""
        sizes = (value,) * self.AXES if isinstance(value, int) else tuple(value)
        if len(sizes) != self.AXES:
            raise AssertionError(f"{name} must be a number, or a list of {self.AXES} ints, found {value!r}")
        return sizes


def each_axis(axes: int, size: int) -> Any:
    """Return MXNet's default for a size along each axis: a number for one axis, else a tuple."""
    return size if axes == 1 else (size,) * axes
