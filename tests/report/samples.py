"""Reports with made-up numbers."""

from __future__ import annotations

from graphir.verification.numbers.compare import Comparison
from graphir.verification.report import VerificationReport
from graphir.verification.verdict import Verdict


def comparison(name: str, *, relative: float = 1e-7, passes: bool = True) -> Comparison:
    """A comparison of a 2x10 value."""
    verdict = Verdict.NOISE if passes else Verdict.BROKEN
    return Comparison(name, (2, 10), 1.0, relative, relative, 1e-7, 1e-5, verdict, "" if passes else "they differ")


def verification(*, passes: bool) -> VerificationReport:
    """A report about one output."""
    return VerificationReport(
        reference="the reference",
        candidate="the candidate",
        feeds={"data": "float32[2, 3]"},
        outputs=[comparison("out", relative=1e-7 if passes else 0.5, passes=passes)],
        seconds=0.25,
    )
