"""What every operator that moves a window over spatial axes demands of its attributes."""

from __future__ import annotations

from typing import ClassVar

from graphir.padding import Explicit

from .base import Operator


class Windowed(Operator):
    """An operator whose spatial attributes have one entry for each spatial axis, or none, which means the default."""

    spatial: ClassVar[tuple[str, ...]] = ("kernel_shape", "strides", "dilations")

    def check_attributes(self) -> None:
        fields = self.__dict__
        rank = 0
        for name in self.spatial:
            entries: tuple[int, ...] = fields.get(name, ())
            if entries:
                rank = rank or len(entries)
                if len(entries) != rank or min(entries) < 1:
                    self.demand(min(entries) >= 1, name, "every entry to be 1 or more")
                    self.demand(False, name, f"one entry for each of {rank} spatial axes")
        padding = fields.get("padding")
        if rank and isinstance(padding, Explicit) and padding.pads:
            self.demand(len(padding.pads) == rank, "padding", f"one pair for each of {rank} spatial axes")
        group = fields.get("group", 1)
        if group < 1:
            self.demand(False, "group", "1 or more")
