"""How a comparison is graded: the limits that hold for two models, whichever value is compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from .compare import Comparison, compare, within_a_step
from .layouts import laid_out, laid_out_inside

Array = NDArray[Any]


@dataclass(frozen=True)
class Limits:
    rtol: float | None
    atol: float | None
    step: float = 0.0
    elsewhere: bool = False
    quantized: bool = False

    def compare(self, name: str, reference: Array, candidate: Array, floor: float) -> Comparison:
        candidate, _ = laid_out(candidate, reference)
        return self._compare(name, reference, candidate, floor)

    def compare_inside(self, name: str, reference: Array, candidate: Array, floor: float) -> Comparison:
        """The same for a value that is no output, and has the layout that suits its model."""
        return self._compare(name, reference, laid_out_inside(candidate, reference), floor)

    def compare_as_is(self, name: str, reference: Array, candidate: Array) -> Comparison:
        """The same for axes that are known to be in order, without a measured floor."""
        return self._compare(name, reference, candidate, 0.0)

    def _compare(self, name: str, reference: Array, candidate: Array, floor: float) -> Comparison:
        found = compare(
            name, reference, candidate, floor=floor, rtol=self.rtol, atol=self.atol, step=self.step,
            elsewhere=self.elsewhere,
        )  # fmt: skip
        stated = self.rtol is not None or self.atol is not None
        return within_a_step(found, reference, candidate) if self.quantized and not stated else found


__all__ = ["Limits"]
