"""Every error that graphir raises on purpose, on one page.

All of them derive from `GraphirError`, so one `except` catches what graphir refuses and nothing else. A message says
what was found, what was expected, where, and what to do about it. The cause, where there is one, is chained.
"""

from __future__ import annotations

from collections.abc import Iterable

from graphir.structure.record import record

from .safety.foreign_text import one_line, printable


class GraphirError(Exception):
    """The base of everything that graphir raises on purpose.

    Its text holds names from files; control characters in them are shown as escapes, so that printing it is safe.
    """

    def __str__(self) -> str:
        return printable(super().__str__())


class ArgumentError(GraphirError, TypeError):
    """A function was given something of a kind that it does not take."""


class OutOfMemory(GraphirError):
    """There is not enough memory for the request."""


class FormatError(GraphirError):
    """A file is not what it claims to be.

    `offset` is the byte at which reading stopped, `json_path` the place inside a JSON document; either may be None.
    """

    def __init__(
        self, message: str, *, path: object = None, offset: int | None = None, json_path: str | None = None
    ) -> None:
        prefix = "" if path is None else f"{path}: "
        where = "" if json_path is None else f" (at {json_path})"
        where += "" if offset is None else f" (at byte {offset})"
        super().__init__(f"{prefix}{message}{where}")
        self.path = path
        self.offset = offset
        self.json_path = json_path


class LimitError(FormatError):
    """A file asks for more than it holds, and for more than the limits allow; see `graphir.safety.limits`."""


class GraphError(GraphirError):
    """A change would make a graph invalid: a duplicate name, a cycle, erasing what is used."""


class ShapeError(GraphirError):
    """Two statements about a shape or dtype contradict each other, or an operator refuses its operands."""


class OperatorError(ArgumentError, ShapeError):
    """An operator was given an attribute that it does not have, or one of a kind or value that it cannot have."""


class ImportFailure(GraphirError):
    """A source model cannot become a graph."""


class ExportFailure(GraphirError):
    """A graph cannot be expressed in the target format, or the target cannot be written."""


class VerificationError(GraphirError):
    """A verification could not be carried out (not: it was carried out and the models differ)."""


class RunError(GraphirError, ValueError):
    """A model cannot be run, or not on what it was given."""


class ProviderError(GraphirError):
    """A requested execution provider is missing or did not run."""


class DeviceLost(ProviderError):
    """The device of a provider went away: it was removed, reset, or its driver ended."""


@record
class Gap:
    """One operator that cannot be converted: its name, why, and the nodes that use it."""

    operator: str
    reason: str
    nodes: tuple[str, ...]

    def __str__(self) -> str:
        shown = ", ".join(map(one_line, self.nodes[:5])) + (", ..." if len(self.nodes) > 5 else "")
        plural = "node" if len(self.nodes) == 1 else "nodes"
        return f"{one_line(self.operator)}: {len(self.nodes)} {plural} ({shown}): {printable(self.reason)}"


class UnsupportedOpError(ImportFailure, ExportFailure):
    """Operators that cannot be converted: all of them at once, in `gaps`; what else is wrong is in `problems`."""

    def __init__(self, message: str, gaps: Iterable[Gap], problems: Iterable[str] = ()) -> None:
        self.gaps = tuple(gaps)
        self.problems = tuple(problems)
        lines = [message, *(f"  {gap}" for gap in self.gaps), *(f"  {problem}" for problem in self.problems)]
        super().__init__("\n".join(lines))
