"""What the library says of one model, or of two side by side, without running them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphir.structure.printed import Printed
from graphir.structure.record import record

if TYPE_CHECKING:
    from graphir.analysis.diff import Difference
    from graphir.analysis.padding_audit import PaddingAudit
    from graphir.analysis.shape_comparison import ShapePair
    from graphir.analysis.summary import Summary
    from graphir.analysis.windows import SlidingWindow
    from graphir.graph import Graph


@record
class SummaryReport(Printed):
    """The layers of a model with parameters and MACs; `found` holds them, `title` says what was read."""

    title: str
    graph: Graph
    found: Summary

    def to_text(self, *, verbose: bool = False, width: int | None = None) -> str:
        """Return one line a layer and the totals, in `width` columns (None: as many as it takes)."""
        from graphir.structure.look import look, of_width

        from .summary import input_rows, summary_text

        with of_width(look().width if width is None else width):
            return f"{self.title}\n\n{summary_text(self.found, input_rows(self.graph))}"

    def to_json(self) -> dict[str, Any]:
        """Layers and totals as plain data."""
        from .summary import summary_json

        return summary_json(self.found)


@record
class ValuesReport(Printed):
    """The type of every value of a model. It is true where each of them is known, in numbers or in symbols."""

    title: str
    graph: Graph

    def __bool__(self) -> bool:
        from .shapes import count_known

        return not count_known(self.graph)["unknown"]

    def to_text(self, *, verbose: bool = False) -> str:
        """Return one line a value, and how many are known."""
        from .shapes import values_text

        return f"{self.title}\n\n{values_text(self.graph)}"

    def to_json(self) -> dict[str, Any]:
        """Return values and counts as plain data."""
        from .shapes import count_known, values

        return {"values": values(self.graph), "summary": count_known(self.graph)}


@record
class ShapesReport(Printed):
    """The shapes of two models layer by layer. It is true where no two layers that belong together differ."""

    titles: tuple[str, str]
    pairs: tuple[ShapePair, ...]

    def __bool__(self) -> bool:
        from .shapes import agree

        return agree(self.pairs)

    def to_text(self, *, verbose: bool = False) -> str:
        """Return the outcome, and a table of the layers that differ, with `verbose` of all."""
        from .shapes import shapes_text

        return shapes_text(self.pairs, *self.titles, verbose=verbose)

    def to_json(self) -> dict[str, Any]:
        """Return the pairs as plain data."""
        from .shapes import shapes_json

        return shapes_json(self.pairs)


@record
class WindowsReport(Printed):
    """What every convolution and pooling of a model pads."""

    title: str
    windows: tuple[SlidingWindow, ...]

    def to_text(self, *, verbose: bool = False) -> str:
        """Return one line a window, and how many there are of what."""
        from .padding import windows_text

        return f"{self.title}\n\n{windows_text(self.windows)}"

    def to_json(self) -> dict[str, Any]:
        """Return the windows as plain data."""
        from .padding import windows_json

        return {"windows": windows_json(self.windows)}

    def to_html(self) -> str:
        """Return the windows as a page."""
        from .padding_html import windows_html

        return windows_html(self.windows, self.title)


@record
class PaddingReport(Printed):
    """What the windows of two models pad, side by side; the first is taken to be right. It is true if they agree."""

    titles: tuple[str, str]
    audit: PaddingAudit

    def __bool__(self) -> bool:
        return self.audit.agrees

    def to_text(self, *, verbose: bool = False) -> str:
        """Return the verdict, each disagreement with its sentence and its fix, and with `verbose` every pair."""
        from .padding import audit_text

        return audit_text(self.audit, *self.titles, verbose=verbose)

    def to_json(self) -> dict[str, Any]:
        """Return the audit as plain data."""
        from .padding import audit_json

        return audit_json(self.audit)

    def to_html(self) -> str:
        """Return the audit as a page."""
        from .padding_html import audit_html

        return audit_html(self.audit, *self.titles)


@record
class DiffReport(Printed):
    """What differs between two models as graphs. It is true if nothing does."""

    titles: tuple[str, str]
    found: Difference

    def __bool__(self) -> bool:
        return self.found.is_equal

    def to_text(self, *, verbose: bool = False) -> str:
        """Return the verdict, what differs in sentences, and with `verbose` both models side by side."""
        from .diff import diff_text

        return diff_text(self.found, *self.titles, verbose=verbose)

    def to_json(self) -> dict[str, Any]:
        """Return the difference as plain data."""
        from .diff import diff_json

        return diff_json(self.found)

    def to_html(self) -> str:
        """Return the difference as a page."""
        from .diff_html import diff_html

        return diff_html(self.found, *self.titles)
