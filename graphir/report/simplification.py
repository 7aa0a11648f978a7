"""What a simplification saved: a record, and the same as text and as JSON."""

from __future__ import annotations

from typing import Any

from graphir.structure.look import Style, paint
from graphir.structure.printed import Printed
from graphir.structure.record import record

from .benchmark import BenchmarkReport
from .conversion import ConversionReport
from .text import table, wrapped


@record
class Measured:
    """One number of a model, before and after; of open sizes an expression, None where it is not known."""

    what: str
    before: int | str | None
    after: int | str | None


@record
class SimplificationReport(Printed):
    """What was written, with its proof and what was done to it (`conversion`), and what that saved: `measured` and
    `timing`, of which `untimed` says why there is none."""

    conversion: ConversionReport
    measured: list[Measured]
    timing: BenchmarkReport | None
    untimed: str = ""

    @property
    def exit_code(self) -> int:
        """Return 0, or what the verification says."""
        verification = self.conversion.verification
        return 0 if verification is None else verification.exit_code

    def to_text(self, *, verbose: bool = False) -> str:
        """Return the report for a terminal."""
        rows = [(row.what, *map(_shown, (row.before, row.after))) for row in self.measured]
        lines = [table(("", "before", "after"), [*rows, *self._times()], right=(1, 2))]
        if self.timing is None:
            lines.append(wrapped(f"latency: not measured: {self.untimed}"))
        for pair in self.timing.pairs if self.timing is not None else ():
            ratio = pair.ratio
            interval = "" if ratio.low is None else f" ({ratio.low:.2f} to {ratio.high:.2f})"
            lines.append(wrapped(f"latency, 1 thread: {ratio.value:.2f} times{interval}: {ratio.verdict}"))
        if self.conversion.verification is None:
            lines.append(paint("not verified", Style.BAD))
        return "\n".join([self.conversion.to_text(verbose=verbose), "", *lines])

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            **self.conversion.to_json(),
            "measured": {row.what: {"before": row.before, "after": row.after} for row in self.measured},
            "timing": None if self.timing is None else self.timing.to_json(),
            "untimed": self.untimed,
        }

    def _times(self) -> list[tuple[str, str, str]]:
        rows = [] if self.timing is None else self.timing.rows
        times = [f"{1000 * row.latency.p50:.3g} ms" for row in rows]
        return [("latency", times[0], times[1])] if len(times) == 2 else []


def _shown(number: int | str | None) -> str:
    return "?" if number is None else f"{number:,}" if isinstance(number, int) else number
