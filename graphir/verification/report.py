"""What came out of a comparison of two models."""

from __future__ import annotations

from dataclasses import dataclass, field

from .compare import Comparison, Verdict


@dataclass
class VerificationReport:
    """The result of a verification: who was compared with whom, on what, and what came out.

    `layers` is filled by a layer-by-layer verification; `first_divergence` is the first of them beyond noise. `notes`
    say what the numbers do not: outputs that were not compared, names that differ.
    """

    reference: str
    candidate: str
    feeds: dict[str, str]
    outputs: list[Comparison]
    layers: list[Comparison] = field(default_factory=list)
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all outputs."""
        order = list(Verdict)
        return max((found.verdict for found in self.outputs), key=order.index, default=Verdict.IDENTICAL)

    @property
    def ok(self) -> bool:
        """Whether every output is identical or differs by rounding only."""
        return self.verdict.passes

    @property
    def first_divergence(self) -> Comparison | None:
        """The first layer whose difference is more than rounding."""
        return next((layer for layer in self.layers if not layer.verdict.passes), None)


__all__ = ["VerificationReport"]
